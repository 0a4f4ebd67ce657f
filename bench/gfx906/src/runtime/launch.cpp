#include "launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../exec/dispatch.hpp"
#include "../machine.hpp"
#include "graph.hpp"
#include "hooks.hpp"
#include "hostcall.hpp"
#include "trace.hpp"

namespace gfx906::rt {

// What cooperative groups find behind hidden_multigrid_sync_arg: a barrier word pair of the grid
// (and of all grids of a multi-device launch), the grid's place among them and its group count. The
// layout is the device library's.
struct MultiGridSync {
  struct Barrier {
    uint32_t arrived = 0, generation = 0;
  };
  struct Info {
    Barrier* all_grids = nullptr;
    uint32_t grid_index = 0, grids = 1;
    uint64_t items_before = 0, items_total = 0;
    Barrier own;
    uint32_t groups = 0;
  } info;
  Barrier shared;
};

namespace {

constexpr uint32_t kMaxLds = 65536;

uint32_t groups_along(const KernelWork& work, size_t axis) {
  return (work.grid[axis] + work.block[axis] - 1) / work.block[axis];
}

hipError_t check_configuration(const LaunchRequest& request, const KernelInfo& info,
                               KernelWork& work) {
  uint64_t threads = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (request.grid[i] == 0 || request.block[i] == 0) return hipErrorInvalidConfiguration;
    const uint64_t items =
        request.in_items ? request.grid[i] : uint64_t{request.grid[i]} * request.block[i];
    if (items > UINT32_MAX) return hipErrorInvalidConfiguration;
    work.grid[i] = static_cast<uint32_t>(items);
    work.block[i] = request.block[i];
    threads *= request.block[i];
  }
  if (threads > 1024) return hipErrorInvalidConfiguration;
  if (threads > info.max_workgroup_size) {
    complain("kernel " + info.name + ": " + std::to_string(threads) +
             " threads a block, but it was compiled for at most " +
             std::to_string(info.max_workgroup_size));
    return hipErrorLaunchFailure;
  }
  if (request.dynamic_lds + info.lds_size > kMaxLds) return hipErrorInvalidValue;
  if (request.cooperative) {
    const Occupancy fit =
        occupancy(info, static_cast<uint32_t>(threads), static_cast<uint32_t>(request.dynamic_lds));
    const uint64_t groups =
        uint64_t{groups_along(work, 0)} * groups_along(work, 1) * groups_along(work, 2);
    if (groups > uint64_t{fit.groups_per_cu} * 60) return hipErrorCooperativeLaunchTooLarge;
  }
  return hipSuccess;
}

// The packed form: pairs of a key and a value, ended by HIP_LAUNCH_PARAM_END.
hipError_t packed_arguments(void** extra, const void*& buffer, size_t& bytes) {
  for (int i = 0; i < 8; i += 2) {
    const auto key = reinterpret_cast<uintptr_t>(extra[i]);
    if (key == kLaunchParamEnd)
      return buffer != nullptr || bytes == 0 ? hipSuccess : hipErrorInvalidValue;
    if (key == kLaunchParamBufferPointer) {
      buffer = extra[i + 1];
    } else if (key == kLaunchParamBufferSize) {
      std::memcpy(&bytes, extra[i + 1], sizeof bytes);
    } else {
      return hipErrorInvalidValue;
    }
  }
  return hipErrorInvalidValue;
}

hipError_t lay_out_arguments(const LaunchRequest& request, const KernelInfo& info,
                             KernelWork& work) {
  if (info.explicit_kernarg_size > kMostArguments) {
    complain("kernel " + info.name + ": its metadata gives it " +
             std::to_string(info.explicit_kernarg_size) + " bytes of arguments");
    return hipErrorInvalidImage;
  }
  work.kernarg.assign(info.explicit_kernarg_size, 0);
  if (request.extra != nullptr) {
    const void* buffer = nullptr;
    size_t bytes = 0;
    if (const hipError_t error = packed_arguments(request.extra, buffer, bytes);
        error != hipSuccess)
      return error;
    // A program may pack the hidden part too; the runtime's own values go there.
    if (bytes != 0) std::memcpy(work.kernarg.data(), buffer, std::min(bytes, work.kernarg.size()));
    return hipSuccess;
  }
  size_t index = 0;
  for (const ArgInfo& arg : info.args) {
    if (is_hidden(arg.kind)) continue;
    if (request.arguments == nullptr || request.arguments[index] == nullptr)
      return hipErrorInvalidValue;
    if (size_t{arg.offset} + arg.size > work.kernarg.size()) return hipErrorInvalidImage;
    std::memcpy(work.kernarg.data() + arg.offset, request.arguments[index], arg.size);
    ++index;
  }
  return hipSuccess;
}

void describe(const KernelWork& work, const RunStats& stats, WorkReport& report) {
  char text[320];
  const KernelInfo& info = work.loaded.kernel->info();
  std::snprintf(text, sizeof text,
                "\"groups\":[%u,%u,%u],\"block\":[%u,%u,%u],\"lds\":%u,\"vgpr\":%u,\"sgpr\":%u,"
                "\"scratch\":%u,"
                "\"wave_instructions\":%llu",
                groups_along(work, 0), groups_along(work, 1), groups_along(work, 2), work.block[0],
                work.block[1], work.block[2], info.lds_size + work.dynamic_lds, info.vgpr_count,
                info.sgpr_count, info.scratch_size,
                static_cast<unsigned long long>(stats.wave_instructions));
  report.detail = text;
  report.name = work.function->pretty_name();
  report.category = "kernel";
}

}  // namespace

hipError_t KernelWork::run(WorkReport& report) {
  static std::atomic<uint64_t> next_dispatch{1};
  Dispatch dispatch;
  dispatch.kernel = loaded.kernel;
  dispatch.grid = grid;
  dispatch.block = block;
  dispatch.kernarg = kernarg;
  dispatch.dynamic_lds = dynamic_lds;
  dispatch.stack_bytes = static_cast<uint32_t>(gfx906::rt::card(card)->limits[0]);
  dispatch.card = card;
  dispatch.cooperative = cooperative;
  dispatch.dispatch_id = next_dispatch++;
  // A cooperative launch on one card has no block to point at, but the device library tells it from
  // a plain launch by a value that is not 0.
  dispatch.multigrid_sync = grid_sync     ? reinterpret_cast<uint64_t>(&grid_sync->info)
                            : cooperative ? 1
                                          : 0;
  if (wants_hostcall) {
    Hostcall& hostcall = Hostcall::of_card(card);
    dispatch.hostcall_buffer = hostcall.buffer_address();
    dispatch.on_interrupt = [&hostcall](uint32_t) { hostcall.serve(); };
    if (wants_heap) dispatch.heap = hostcall.heap_address();
  }
  RunStats stats;
  const Status status = Executor::shared().run(dispatch, tools().observer, &stats);
  if (tools().estimate) {
    const double seconds = tools().estimate(in_graph);
    report.model_seconds = seconds < 0 ? kKernelFloorSeconds : seconds;
  }
  describe(*this, stats, report);
  if (status) return hipSuccess;
  complain("card " + std::to_string(card) + ": " + status.message());
  return status.code() == Code::kFault ? hipErrorIllegalAddress : hipErrorLaunchFailure;
}

hipKernelNodeParams KernelWork::params() {
  argument_pointers_.clear();
  for (const ArgInfo& arg : loaded.kernel->info().args) {
    if (!is_hidden(arg.kind)) argument_pointers_.push_back(kernarg.data() + arg.offset);
  }
  hipKernelNodeParams p{};
  p.func = const_cast<void*>(handle);
  p.blockDim = {block[0], block[1], block[2]};
  p.gridDim = {groups_along(*this, 0), groups_along(*this, 1), groups_along(*this, 2)};
  p.kernelParams = argument_pointers_.data();
  p.sharedMemBytes = dynamic_lds;
  return p;
}

hipError_t make_kernel_work(const LaunchRequest& request, std::shared_ptr<KernelWork>& work) {
  Function* function = resolve_function(request.handle);
  if (function == nullptr) return hipErrorInvalidDeviceFunction;
  auto made = std::make_shared<KernelWork>();
  made->function = function;
  made->handle = request.handle;
  made->card = request.card;
  if (const hipError_t error = function->on(request.card, made->loaded); error != hipSuccess) {
    complain("kernel " + function->name() + " cannot be loaded onto card " +
             std::to_string(request.card) +
             (error == hipErrorNoBinaryForGpu
                  ? ": it was not built for gfx906:sramecc+:xnack- (hipcc --offload-arch=gfx906)"
                  : ""));
    return error;
  }
  const KernelInfo& info = made->loaded.kernel->info();
  if (const hipError_t error = check_configuration(request, info, *made); error != hipSuccess)
    return error;
  if (const hipError_t error = lay_out_arguments(request, info, *made); error != hipSuccess)
    return error;
  made->dynamic_lds = static_cast<uint32_t>(request.dynamic_lds);
  made->cooperative = request.cooperative;
  for (const ArgInfo& arg : info.args) {
    made->wants_hostcall |= arg.kind == ArgKind::kHiddenHostcallBuffer;
    made->wants_heap |= arg.kind == ArgKind::kHiddenHeapV1;
  }
  work = std::move(made);
  return hipSuccess;
}

hipError_t launch(LaunchRequest request, hipStream_t handle, hipEvent_t start, hipEvent_t stop) {
  Stream* stream = Stream::resolve(handle);
  if (stream == nullptr) return hipErrorInvalidHandle;
  request.card = stream->card().index();
  std::shared_ptr<KernelWork> work;
  if (const hipError_t error = make_kernel_work(request, work); error != hipSuccess) return error;
  if (start != nullptr) record_event(*start, *stream);
  const hipError_t error = submit(*stream, std::move(work));
  if (error == hipSuccess && stop != nullptr) record_event(*stop, *stream);
  return error;
}

hipError_t launch_on_all(const std::vector<LaunchRequest>& requests,
                         const std::vector<hipStream_t>& streams) {
  std::vector<std::shared_ptr<KernelWork>> works;
  std::vector<Stream*> targets;
  std::shared_ptr<MultiGridSync>
      first;  // its words are the barrier across grids; all launches keep it alive
  uint64_t items = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    LaunchRequest request = requests[i];
    Stream* stream = Stream::resolve(streams[i]);
    if (stream == nullptr) return hipErrorInvalidHandle;
    request.card = stream->card().index();
    std::shared_ptr<KernelWork> work;
    if (const hipError_t error = make_kernel_work(request, work); error != hipSuccess) return error;
    if (request.cooperative) {
      work->grid_sync = std::make_shared<MultiGridSync>();
      if (!first) first = work->grid_sync;
      work->also_alive = first;
      auto& info = work->grid_sync->info;
      info.all_grids = &first->shared;
      info.grid_index = static_cast<uint32_t>(i);
      info.grids = static_cast<uint32_t>(requests.size());
      info.items_before = items;
      info.groups = groups_along(*work, 0) * groups_along(*work, 1) * groups_along(*work, 2);
    }
    items += uint64_t{work->grid[0]} * work->grid[1] * work->grid[2];
    works.push_back(std::move(work));
    targets.push_back(stream);
  }
  for (size_t i = 0; i < works.size(); ++i) {
    if (works[i]->grid_sync) works[i]->grid_sync->info.items_total = items;
    if (const hipError_t error = submit(*targets[i], works[i]); error != hipSuccess) return error;
  }
  return hipSuccess;
}

}  // namespace gfx906::rt
