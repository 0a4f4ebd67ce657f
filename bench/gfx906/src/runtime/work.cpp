#include "work.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "hooks.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "stream.hpp"
#include "trace.hpp"

namespace gfx906::rt {
namespace {

void note_write(const void* base, size_t bytes) {
  if (tools().memory) tools().memory->on_write(reinterpret_cast<uint64_t>(base), bytes);
}

const char* copy_name(int from, int to) {
  if (from < 0) return to < 0 ? "copy host to host" : "copy host to card";
  if (to < 0) return "copy card to host";
  return from == to ? "copy on card" : "copy card to card";
}

void fill_row(uint8_t* row, uint32_t value, unsigned element, size_t count) {
  if (element == 1) {
    std::memset(row, static_cast<int>(value & 0xff), count);
    return;
  }
  for (size_t i = 0; i < count; ++i) std::memcpy(row + i * element, &value, element);
}

template <class T>
T load(const void* address) {
  return __atomic_load_n(static_cast<const T*>(address), __ATOMIC_ACQUIRE);
}

bool satisfied(const MemOpWork::Op& op) {
  const bool wide = op.bytes == 8;
  const uint64_t have = (wide ? load<uint64_t>(op.address) : load<uint32_t>(op.address)) & op.mask;
  const uint64_t want = wide ? op.value : op.value & 0xffffffffu;
  const uint64_t full = wide ? ~uint64_t{0} : 0xffffffffu;
  switch (op.flags & 3) {
    case 0:
      return wide ? static_cast<int64_t>(have - want) >= 0 : static_cast<int32_t>(have - want) >= 0;
    case 1:
      return have == want;
    case 2:
      return (have & want) != 0;
    default:
      return (~(have | want) & full) != 0;
  }
}

}  // namespace

hipError_t CopyWork::run(WorkReport& report) {
  for (size_t z = 0; z < depth; ++z) {
    auto* to = static_cast<uint8_t*>(target) + z * target_slice;
    const auto* from = static_cast<const uint8_t*>(source) + z * source_slice;
    for (size_t y = 0; y < height; ++y) {
      std::memmove(to + y * target_pitch, from + y * source_pitch, width);
      note_write(to + y * target_pitch, width);
    }
  }
  report.category = "copy";
  report.bytes = uint64_t{width} * height * depth;
  report.source_card = card_of(source);
  report.target_card = card_of(target);
  report.name = copy_name(report.source_card, report.target_card);
  report.model_seconds = copy_model_seconds(report.bytes, report.source_card, report.target_card);
  return hipSuccess;
}

hipError_t FillWork::run(WorkReport& report) {
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      auto* row = static_cast<uint8_t*>(target) + z * slice + y * pitch;
      fill_row(row, value, element, width);
      note_write(row, width * element);
    }
  }
  report.category = "fill";
  report.name = "fill";
  report.bytes = uint64_t{width} * element * height * depth;
  report.model_seconds =
      kKernelFloorSeconds + static_cast<double>(report.bytes) / kDeviceBytesPerSecond;
  return hipSuccess;
}

hipError_t HostWork::run(WorkReport& report) {
  report.category = "host";
  report.name = "host function";
  if (callback != nullptr) {
    callback(stream, gfx906::rt::card(card)->fault.load(), params.userData);
  } else {
    params.fn(params.userData);
  }
  return hipSuccess;
}

hipError_t EventRecordWork::run(WorkReport&) {
  if (record) {
    record->host_time = std::chrono::steady_clock::now();
    record->stamped = true;
  }
  return hipSuccess;
}

hipError_t FreeWork::run(WorkReport&) {
  if (!keep) free_memory(pointer);
  return hipSuccess;
}

hipError_t MemOpWork::run(WorkReport& report) {
  report.category = "sync";
  report.name = "memory operation";
  for (const Op& op : ops) {
    if (!op.wait) {
      if (op.bytes == 8) {
        __atomic_store_n(static_cast<uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
      } else {
        __atomic_store_n(static_cast<uint32_t*>(op.address), static_cast<uint32_t>(op.value),
                         __ATOMIC_RELEASE);
      }
      note_write(op.address, op.bytes);
      continue;
    }
    while (!satisfied(op)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return hipSuccess;
}

bool free_memory(void* base) {
  auto& map = AddressMap::instance();
  const auto found = map.find(base);
  if (!found || found->base != reinterpret_cast<uintptr_t>(base)) return false;
  if (!map.release(base)) return false;
  if (found->pool != nullptr) found->pool->note_freed(found->size);
  return true;
}

}  // namespace gfx906::rt
