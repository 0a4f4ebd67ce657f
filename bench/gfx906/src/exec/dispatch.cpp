// Sets up dispatches and their work-groups as the HSA ABI describes.
#include "exec/dispatch.hpp"

#include <algorithm>

#include "decode/program.hpp"

namespace gfx906 {
namespace {

uint32_t round_up(uint32_t v, uint32_t to) {
  return (v + to - 1) / to * to;
}

constexpr uint32_t kLeastStack = 16384;

Status bad(const Dispatch& d, const std::string& what) {
  return Status(Code::kInvalidArgument, "dispatch of " + d.kernel->info().name + ": " + what);
}

std::string triple(const std::array<uint32_t, 3>& v) {
  return std::to_string(v[0]) + " x " + std::to_string(v[1]) + " x " + std::to_string(v[2]);
}

template <class T>
void store(uint8_t* base, uint32_t offset, uint32_t size, T value) {
  uint64_t wide = static_cast<uint64_t>(value);
  std::memcpy(base + offset, &wide, std::min<uint32_t>(size, 8));
}

uint32_t grid_dims(const Dispatch& d) {
  return d.grid_dims ? d.grid_dims : d.grid[2] > 1 ? 3 : d.grid[1] > 1 ? 2 : 1;
}

uint64_t hidden_value(const ArgInfo& a, const DispatchState& s) {
  const Dispatch& d = *s.dispatch;
  const auto at = [](ArgKind k, ArgKind first) {
    return static_cast<size_t>(k) - static_cast<size_t>(first);
  };
  switch (a.kind) {
    case ArgKind::kHiddenBlockCountX:
    case ArgKind::kHiddenBlockCountY:
    case ArgKind::kHiddenBlockCountZ: {
      const size_t k = at(a.kind, ArgKind::kHiddenBlockCountX);
      return d.grid[k] / d.block[k];
    }
    case ArgKind::kHiddenGroupSizeX:
    case ArgKind::kHiddenGroupSizeY:
    case ArgKind::kHiddenGroupSizeZ:
      return d.block[at(a.kind, ArgKind::kHiddenGroupSizeX)];
    case ArgKind::kHiddenRemainderX:
    case ArgKind::kHiddenRemainderY:
    case ArgKind::kHiddenRemainderZ: {
      const size_t k = at(a.kind, ArgKind::kHiddenRemainderX);
      return d.grid[k] % d.block[k];
    }
    case ArgKind::kHiddenGridDims:
      return grid_dims(d);
    case ArgKind::kHiddenPrintfBuffer:
      return d.printf_buffer;
    case ArgKind::kHiddenHostcallBuffer:
      return d.hostcall_buffer;
    case ArgKind::kHiddenDefaultQueue:
      return d.default_queue;
    case ArgKind::kHiddenCompletionAction:
      return d.completion_action;
    case ArgKind::kHiddenMultigridSyncArg:
      return d.multigrid_sync;
    case ArgKind::kHiddenHeapV1:
      return d.heap;
    case ArgKind::kHiddenDynamicLdsSize:
      return d.dynamic_lds;
    case ArgKind::kHiddenPrivateBase:
      return kPrivateAperture >> 32;
    case ArgKind::kHiddenSharedBase:
      return kSharedAperture >> 32;
    case ArgKind::kHiddenQueuePtr:
      return d.queue;
    default:
      return 0;  // global offsets, hidden_none
  }
}

void make_kernarg(DispatchState& s) {
  const Dispatch& d = *s.dispatch;
  const KernelInfo& k = d.kernel->info();
  const size_t size =
      round_up(std::max<uint32_t>(k.kernarg_size, static_cast<uint32_t>(d.kernarg.size())), 64) +
      64;
  s.kernarg = aligned_array<uint8_t>(size);
  std::memset(s.kernarg.get(), 0, size);
  if (!d.kernarg.empty()) std::memcpy(s.kernarg.get(), d.kernarg.data(), d.kernarg.size());
  for (const ArgInfo& a : k.args) {
    if (is_hidden(a.kind) && size_t{a.offset} + a.size <= size)
      store(s.kernarg.get(), a.offset, a.size, hidden_value(a, s));
  }
}

// The dispatch packet a kernel may read its sizes from.
void make_packet(DispatchState& s) {
  const Dispatch& d = *s.dispatch;
  uint8_t* p = s.packet.data();
  store(p, 2, 2, grid_dims(d));
  for (uint32_t k = 0; k < 3; ++k) {
    store(p, 4 + 2 * k, 2, d.block[k]);
    store(p, 12 + 4 * k, 4, d.grid[k]);
  }
  store(p, 24, 4, s.scratch_per_lane);
  store(p, 28, 4, s.lds_bytes);
  store(p, 32, 8, d.kernel->info().descriptor_address);
  store(p, 40, 8, reinterpret_cast<uint64_t>(s.kernarg.get()));
}

Status check_sizes(const Dispatch& d) {
  const KernelInfo& k = d.kernel->info();
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (d.block[i] == 0 || d.grid[i] == 0 || d.block[i] > 1024) {
      return bad(d, "grid " + triple(d.grid) + ", block " + triple(d.block) + " work-items");
    }
    threads *= d.block[i];
  }
  if (threads > 1024)
    return bad(d, "block " + triple(d.block) + " has " + std::to_string(threads) +
                      " work-items, 1024 is the most");
  if (threads > k.max_workgroup_size) {
    return bad(d, "block " + triple(d.block) +
                      " has more work-items than the kernel was built for (" +
                      std::to_string(k.max_workgroup_size) + ")");
  }
  if (k.required_workgroup_size[0] && k.required_workgroup_size != d.block) {
    return bad(d, "block " + triple(d.block) + ", the kernel requires " +
                      triple(k.required_workgroup_size));
  }
  if (uint64_t{k.lds_size} + d.dynamic_lds > 65536) {
    return bad(d, "LDS of " + std::to_string(uint64_t{k.lds_size} + d.dynamic_lds) +
                      " bytes, a work-group has 65536");
  }
  if (k.scratch_size > kMostScratch) {
    return bad(d, "scratch of " + std::to_string(k.scratch_size) + " bytes, a work-item has " +
                      std::to_string(kMostScratch));
  }
  if (k.kernarg_size > kMostArguments)
    return bad(d, "arguments of " + std::to_string(k.kernarg_size) + " bytes");
  if (k.wavefront_size != 64)
    return bad(d, "built for waves of " + std::to_string(k.wavefront_size));
  return {};
}

}  // namespace

Status prepare(DispatchState& s, const Dispatch& d) {
  if (!d.kernel) return Status(Code::kInvalidArgument, "dispatch: no kernel");
  if (const Status c = check_sizes(d); !c) return c;
  const KernelInfo& k = d.kernel->info();
  s.dispatch = &d;
  const Result<const Program*> program = d.kernel->code_object().program_at(k.entry_address);
  if (!program) return program.status();
  s.program = *program;
  s.entry = s.program->at(k.entry_address);
  if (!s.entry)
    return Status(Code::kCorrupt, "kernel " + k.name + ": its entry is no instruction's start");
  if (s.program->max_vgpr() > k.vgpr_alloc) {
    return Status(Code::kCorrupt, "kernel " + k.name + ": its code names VGPR " +
                                      std::to_string(s.program->max_vgpr() - 1) +
                                      ", its descriptor allocates " + std::to_string(k.vgpr_alloc));
  }
  s.total = 1;
  for (int i = 0; i < 3; ++i) {
    s.groups[i] = (d.grid[i] - 1) / d.block[i] + 1;
    s.total *= s.groups[i];
  }
  s.lds_bytes = k.lds_size + d.dynamic_lds;
  // A kernel with a stack of unknown depth gets what was asked for it, at least more than the real
  // runtime's default.
  const uint32_t stack = k.dynamic_stack ? std::clamp(d.stack_bytes, kLeastStack, kMostScratch) : 0;
  s.scratch_per_lane = std::min(round_up(k.scratch_size + stack, 16), kMostScratch);
  const uint32_t threads = d.block[0] * d.block[1] * d.block[2];
  const uint64_t limit =
      uint64_t{std::max(1u, occupancy(k, threads, d.dynamic_lds).groups_per_cu)} * d.compute_units;
  s.resident_limit = d.cooperative ? ~0u : static_cast<uint32_t>(std::min<uint64_t>(limit, ~0u));
  make_kernarg(s);
  make_packet(s);
  return {};
}

namespace {

// Grows an array to at least n elements; contents are not kept.
template <class T>
void ensure(AlignedArray<T>& a, size_t& capacity, size_t n) {
  if (capacity >= n) return;
  a = aligned_array<T>(n);
  std::memset(static_cast<void*>(a.get()), 0, n * sizeof(T));
  capacity = n;
}

void init_scalars(WaveView& w, const GroupState& g, const DispatchState& s) {
  const KernelInfo& k = s.dispatch->kernel->info();
  const uint64_t scratch = reinterpret_cast<uint64_t>(w.scratch);
  uint32_t r = 0;
  const auto put64 = [&](uint64_t v) {
    w.sgpr[r++] = static_cast<uint32_t>(v);
    w.sgpr[r++] = static_cast<uint32_t>(v >> 32);
  };
  const uint32_t p = k.code_properties;
  if (p & 1) {  // scratch resource: swizzled dwords, 64 lanes, no bound
    w.sgpr[r++] = static_cast<uint32_t>(scratch);
    w.sgpr[r++] = static_cast<uint32_t>(scratch >> 32) | 1u << 31;
    w.sgpr[r++] = ~0u;
    w.sgpr[r++] = 1u << 19 | 3u << 21 | 1u << 23;
  }
  if (p & 2) put64(reinterpret_cast<uint64_t>(s.packet.data()));
  if (p & 4) put64(s.dispatch->queue);
  if (p & 8) put64(reinterpret_cast<uint64_t>(s.kernarg.get()));
  if (p & 16) put64(s.dispatch->dispatch_id);
  if (p & 32) put64(scratch);
  if (p & 64) w.sgpr[r++] = s.scratch_per_lane;
  r = std::max(r, k.pgm_rsrc2 >> 1 & 31);
  for (int i = 0; i < 3; ++i) {
    if (k.pgm_rsrc2 >> (7 + i) & 1) w.sgpr[r++] = g.id.id[i];
  }
  if (k.pgm_rsrc2 >> 10 & 1)
    w.sgpr[r++] = static_cast<uint32_t>(g.waves.size()) | (w.index == 0 ? 1u << 31 : 0u);
  if (k.pgm_rsrc2 & 1) w.sgpr[r++] = 0;  // the resource already points at this wave's part
  w.write64(kFlatScratch, scratch);
}

// Work-item numbers, and EXEC for the last wave of a group that does not fill it.
void init_lanes(WaveView& w, const DispatchState& s, const std::array<uint32_t, 3>& size) {
  const uint32_t ids = s.dispatch->kernel->info().pgm_rsrc2 >> 11 & 3;
  const uint32_t threads = size[0] * size[1] * size[2];
  uint64_t exec = 0;
  for (uint32_t l = 0; l < 64; ++l) {
    const uint32_t flat = w.index * 64 + l;
    if (flat < threads) exec |= 1ull << l;
    w.vgpr[l] = flat % size[0];
    if (ids > 0) w.vgpr[64 + l] = flat / size[0] % size[1];
    if (ids > 1) w.vgpr[128 + l] = flat / (size[0] * size[1]);
  }
  w.write64(kExec, exec);
}

}  // namespace

void start_group(GroupState& g, DispatchState& s, uint64_t linear) {
  const Dispatch& d = *s.dispatch;
  const KernelInfo& k = d.kernel->info();
  g.dispatch = &s;
  g.error = {};
  g.id.linear = linear;
  g.id.id = {static_cast<uint32_t>(linear % s.groups[0]),
             static_cast<uint32_t>(linear / s.groups[0] % s.groups[1]),
             static_cast<uint32_t>(linear / s.groups[0] / s.groups[1])};
  std::array<uint32_t, 3> size;
  for (int i = 0; i < 3; ++i) size[i] = std::min(d.block[i], d.grid[i] - g.id.id[i] * d.block[i]);
  const uint32_t waves = (size[0] * size[1] * size[2] + 63) / 64;
  const size_t vgprs = size_t{std::max(k.vgpr_alloc, 4u)} * 64,
               scratch = size_t{s.scratch_per_lane} * 64;
  ensure(g.wave_memory, g.wave_capacity, waves * sizeof(WaveView));
  ensure(g.vgprs, g.vgpr_capacity, waves * vgprs);
  ensure(g.scratch, g.scratch_capacity, waves * scratch);
  ensure(g.lds, g.lds_capacity, round_up(s.lds_bytes, 64) + 64);
  g.lds_size = round_up(s.lds_bytes, 4);
  g.waves.clear();
  g.live = waves;
  g.at_barrier = 0;
  g.instructions = 0;
  for (uint32_t n = 0; n < waves; ++n) {
    auto* w = new (g.wave_memory.get() + n * sizeof(WaveView)) WaveView;
    w->index = n;
    w->vgpr = g.vgprs.get() + n * vgprs;
    w->vgpr_count = std::max(k.vgpr_alloc, 4u);
    w->group = &g;
    w->program = s.program;
    w->ip = s.entry;
    w->lds = g.lds.get();
    w->lds_size = g.lds_size;
    w->scratch = scratch ? g.scratch.get() + n * scratch : nullptr;
    w->scratch_size = scratch;
    w->mode = (k.pgm_rsrc1 >> 12 & 255) | (k.pgm_rsrc1 >> 21 & 1) << 8 |
              (k.pgm_rsrc1 >> 23 & 1) << 9 | (k.pgm_rsrc1 >> 26 & 1) << 23;
    g.waves.push_back(w);
  }
  for (WaveView* w : g.waves) {
    init_scalars(*w, g, s);
    init_lanes(*w, s, size);
  }
}

Occupancy occupancy(const KernelInfo& k, uint32_t threads, uint32_t dynamic_lds) {
  Occupancy o;
  const uint32_t waves = std::max(1u, (threads + 63) / 64);
  o.waves_per_simd = 10;
  o.limit = "waves";
  const uint32_t vgprs = round_up(std::max(1u, k.vgpr_alloc), 4), by_vgpr = 256 / vgprs;
  const uint32_t sgprs = round_up(std::max(1u, k.sgpr_alloc), 16), by_sgpr = 800 / sgprs;
  if (by_vgpr < o.waves_per_simd) o.waves_per_simd = by_vgpr, o.limit = "vgpr";
  if (by_sgpr < o.waves_per_simd) o.waves_per_simd = by_sgpr, o.limit = "sgpr";
  o.groups_per_cu = o.waves_per_simd * 4 / waves;
  if (waves > 1 && o.groups_per_cu > 16) o.groups_per_cu = 16, o.limit = "groups";
  const uint32_t lds = round_up(k.lds_size + dynamic_lds, 512);
  if (lds && 65536 / lds < o.groups_per_cu) o.groups_per_cu = 65536 / lds, o.limit = "lds";
  o.waves_per_simd = std::min<uint32_t>(o.waves_per_simd, (o.groups_per_cu * waves + 3) / 4);
  return o;
}

}  // namespace gfx906
