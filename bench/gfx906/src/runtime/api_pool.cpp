// Stream-ordered allocation and the virtual memory interface.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "api.hpp"
#include "memory.hpp"
#include "pool.hpp"

using namespace gfx906::rt;

namespace {

constexpr size_t kGranularity = 4096;

std::mutex pool_mutex;
std::set<MemPool*>& made_pools() {
  static auto* pools = new std::set<MemPool*>;
  return *pools;
}

bool is_pool(MemPool* pool) {
  for (Card* c : cards()) {
    if (c->default_pool == pool) return true;
  }
  const std::lock_guard lock(pool_mutex);
  return made_pools().count(pool) == 1;
}

hipError_t allocate_from(MemPool& pool, void** out, size_t bytes, hipStream_t handle) {
  if (out == nullptr) return hipErrorInvalidValue;
  *out = nullptr;
  Stream* stream = Stream::resolve(handle);
  if (stream == nullptr) return hipErrorInvalidHandle;
  if (bytes == 0) return hipSuccess;
  if (pool.props.maxSize != 0 && pool.used.load() + bytes > pool.props.maxSize)
    return hipErrorOutOfMemory;
  *out = AddressMap::instance().allocate(bytes, MemoryKind::kDevice, pool.card, 0, &pool);
  if (*out == nullptr) {
    // What earlier frees will give back may be enough.
    (void)synchronize_card(*card(pool.card));
    *out = AddressMap::instance().allocate(bytes, MemoryKind::kDevice, pool.card, 0, &pool);
  }
  if (*out == nullptr) return hipErrorOutOfMemory;
  pool.note_allocated(bytes);
  if (!capturing(*stream)) return hipSuccess;
  auto work = std::make_shared<AllocWork>();
  work->params.bytesize = bytes;
  work->params.dptr = *out;
  work->params.poolProps = pool.props;
  const std::lock_guard lock(capture_mutex());
  if (stream->capture) {
    Capture& capture = *stream->capture;
    work->card = stream->card().index();
    auto& front = capture.frontier[stream];
    front = {capture.graph->add(std::move(work), front)};
    capture.graph->memory.push_back(*out);
  }
  return hipSuccess;
}

struct Mapping {
  PhysicalMemory* memory;
  size_t size;
};
std::mutex virtual_mutex;
std::map<uintptr_t, size_t>& reservations() {
  static auto* map = new std::map<uintptr_t, size_t>;
  return *map;
}
std::map<uintptr_t, Mapping>& mappings() {
  static auto* map = new std::map<uintptr_t, Mapping>;
  return *map;
}
std::set<PhysicalMemory*>& physical() {
  static auto* set = new std::set<PhysicalMemory*>;
  return *set;
}

void drop_physical(PhysicalMemory* memory) {
  if (--memory->references > 0) return;
  close(memory->file);
  physical().erase(memory);
  delete memory;
}

// The properties as the program's release lays them out. false: a null pointer.
bool read_props(const void* given, hipMemAllocationProp& props) {
  if (given == nullptr) return false;
  props = {};
  if (kHipMajor >= 6) {
    std::memcpy(&props, given, sizeof props);
    return true;
  }
  MemAllocationProp5 old;
  std::memcpy(&old, given, sizeof old);
  props.type = old.type;
  props.requestedHandleType = old.requestedHandleType;
  props.location = old.location;
  props.win32HandleMetaData = old.win32HandleMetaData;
  props.allocFlags.compressionType = old.compressionType;
  props.allocFlags.usage = old.usage;
  return true;
}

void write_props(const hipMemAllocationProp& props, void* out) {
  if (kHipMajor >= 6) {
    std::memcpy(out, &props, sizeof props);
    return;
  }
  const MemAllocationProp5 old{props.allocFlags.compressionType, props.location,
                               props.requestedHandleType,        props.type,
                               props.allocFlags.usage,           props.win32HandleMetaData};
  std::memcpy(out, &old, sizeof old);
}

bool reserved(uintptr_t start, size_t bytes) {
  auto it = reservations().upper_bound(start);
  if (it == reservations().begin()) return false;
  --it;
  return start + bytes <= it->first + it->second;
}

}  // namespace

GFX906_HIP hipError_t hipMallocAsync(void** out, size_t bytes, hipStream_t stream) {
  return api([&] {
    Stream* s = Stream::resolve(stream);
    return s == nullptr ? hipErrorInvalidHandle
                        : allocate_from(*s->card().pool, out, bytes, stream);
  });
}
GFX906_HIP hipError_t hipMallocFromPoolAsync(void** out, size_t bytes, hipMemPool_t pool,
                                             hipStream_t stream) {
  return api([&] {
    return is_pool(pool) ? allocate_from(*pool, out, bytes, stream) : hipErrorInvalidValue;
  });
}
GFX906_HIP hipError_t hipFreeAsync(void* base, hipStream_t handle) {
  return api([&] {
    Stream* stream = Stream::resolve(handle);
    if (stream == nullptr) return hipErrorInvalidHandle;
    if (base == nullptr) return hipErrorInvalidValue;
    const auto found = AddressMap::instance().find(base);
    if (!found || found->base != reinterpret_cast<uintptr_t>(base)) return hipErrorInvalidValue;
    auto work = std::make_shared<FreeWork>();
    work->pointer = base;
    work->keep = capturing(*stream);
    return submit(*stream, std::move(work));
  });
}
GFX906_HIP hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int device) {
  return api([&] {
    if (pool == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *pool = card(device)->default_pool;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int device) {
  return api([&] {
    if (pool == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *pool = card(device)->pool;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceSetMemPool(int device, hipMemPool_t pool) {
  return api([&] {
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    if (!is_pool(pool) || pool->card != device) return hipErrorInvalidValue;
    card(device)->pool = pool;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps* props) {
  return api([&] {
    if (pool == nullptr || props == nullptr || props->allocType != 1 || props->location.type != 1) {
      return hipErrorInvalidValue;
    }
    if (props->handleTypes != 0) return hipErrorNotSupported;
    if (card(props->location.id) == nullptr) return hipErrorInvalidDevice;
    *pool = new MemPool(props->location.id);
    (*pool)->props = *props;
    const std::lock_guard lock(pool_mutex);
    made_pools().insert(*pool);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPoolDestroy(hipMemPool_t pool) {
  return api([&] {
    const std::lock_guard lock(pool_mutex);
    if (made_pools().erase(pool) != 1) return hipErrorInvalidValue;
    // Its allocations may still be freed later and settle their account, so the object stays.
    for (Card* c : cards()) {
      if (c->pool == pool) c->pool = c->default_pool;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPoolTrimTo(hipMemPool_t pool, size_t) {
  return api([&] { return is_pool(pool) ? hipSuccess : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipMemPoolSetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return api([&] {
    if (!is_pool(pool) || value == nullptr) return hipErrorInvalidValue;
    uint64_t wide = 0;
    int narrow = 0;
    std::memcpy(&narrow, value, sizeof narrow);
    if (attribute >= 4) std::memcpy(&wide, value, sizeof wide);
    switch (attribute) {
      case 1:
      case 2:
      case 3:
        pool->reuse[attribute - 1] = narrow;
        return hipSuccess;
      case 4:
        pool->release_threshold = wide;
        return hipSuccess;
      case 6:
      case 8:
        if (wide != 0) return hipErrorInvalidValue;  // the high marks can only be reset
        pool->used_high = pool->used.load();
        return hipSuccess;
      default:
        return hipErrorInvalidValue;
    }
  });
}
GFX906_HIP hipError_t hipMemPoolGetAttribute(hipMemPool_t pool, int attribute, void* value) {
  return api([&] {
    if (!is_pool(pool) || value == nullptr) return hipErrorInvalidValue;
    if (attribute >= 1 && attribute <= 3) {
      const int flag = pool->reuse[attribute - 1];
      std::memcpy(value, &flag, sizeof flag);
      return hipSuccess;
    }
    uint64_t wide = 0;
    switch (attribute) {
      case 4:
        wide = pool->release_threshold;
        break;
      case 5:
      case 7:
        wide = pool->used;
        break;
      case 6:
      case 8:
        wide = pool->used_high;
        break;
      default:
        return hipErrorInvalidValue;
    }
    std::memcpy(value, &wide, sizeof wide);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPoolSetAccess(hipMemPool_t pool, const hipMemAccessDesc* list,
                                          size_t count) {
  return api([&] {
    if (!is_pool(pool) || list == nullptr || count == 0) return hipErrorInvalidValue;
    const std::lock_guard lock(pool->mutex);
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != 1) return hipErrorInvalidValue;
      if (card(list[i].location.id) == nullptr) return hipErrorInvalidDevice;
      if (list[i].location.id == pool->card && list[i].flags == 0) return hipErrorInvalidDevice;
      pool->access[list[i].location.id] = list[i].flags;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPoolGetAccess(int* flags, hipMemPool_t pool, hipMemLocation* location) {
  return api([&] {
    if (flags == nullptr || location == nullptr || !is_pool(pool)) return hipErrorInvalidValue;
    const std::lock_guard lock(pool->mutex);
    auto it = pool->access.find(location->id);
    *flags = location->id == pool->card ? 3 : it == pool->access.end() ? 0 : it->second;
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipMemGetAllocationGranularity(size_t* granularity, const void* given, int) {
  return api([&] {
    hipMemAllocationProp props;
    if (granularity == nullptr || !read_props(given, props) || props.type != 1 ||
        props.location.type != 1) {
      return hipErrorInvalidValue;
    }
    *granularity = kGranularity;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemAddressReserve(void** out, size_t bytes, size_t alignment, void* wanted,
                                           unsigned long long flags) {
  return api([&] {
    const bool power = alignment == 0 || (alignment & (alignment - 1)) == 0;
    if (out == nullptr || bytes == 0 || bytes % kGranularity != 0 || flags != 0 || !power) {
      return hipErrorInvalidValue;
    }
    const size_t slack = alignment > kGranularity ? alignment : 0;
    if (bytes > SIZE_MAX - slack) return hipErrorOutOfMemory;
    void* base =
        mmap(wanted, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return hipErrorOutOfMemory;
    auto start = reinterpret_cast<uintptr_t>(base);
    if (slack != 0) {
      const uintptr_t aligned = (start + alignment - 1) / alignment * alignment;
      if (aligned != start) munmap(base, aligned - start);
      const uintptr_t end = start + bytes + slack;
      if (aligned + bytes != end)
        munmap(reinterpret_cast<void*>(aligned + bytes), end - aligned - bytes);
      start = aligned;
    }
    const std::lock_guard lock(virtual_mutex);
    reservations()[start] = bytes;
    *out = reinterpret_cast<void*>(start);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemAddressFree(void* base, size_t bytes) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    auto it = reservations().find(reinterpret_cast<uintptr_t>(base));
    if (it == reservations().end() || it->second != bytes) return hipErrorInvalidValue;
    auto mapped = mappings().lower_bound(it->first);
    if (mapped != mappings().end() && mapped->first < it->first + bytes)
      return hipErrorInvalidValue;
    munmap(base, bytes);
    reservations().erase(it);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemCreate(hipMemGenericAllocationHandle_t* handle, size_t bytes,
                                   const void* given, unsigned long long flags) {
  return api([&] {
    hipMemAllocationProp props;
    if (handle == nullptr || !read_props(given, props) || bytes == 0 || bytes % kGranularity != 0 ||
        flags != 0 || props.type != 1 || props.location.type != 1) {
      return hipErrorInvalidValue;
    }
    if (props.requestedHandleType != 0) return hipErrorNotSupported;
    if (card(props.location.id) == nullptr) return hipErrorInvalidDevice;
    if (AddressMap::instance().used(props.location.id) + bytes > usable_card_memory())
      return hipErrorOutOfMemory;
    const int file = memfd_create("gfx906-sim", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      if (file >= 0) close(file);
      return hipErrorOutOfMemory;
    }
    auto* memory = new PhysicalMemory;
    memory->file = file;
    memory->size = bytes;
    memory->props = props;
    const std::lock_guard lock(virtual_mutex);
    physical().insert(memory);
    *handle = memory;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    if (physical().count(handle) == 0) return hipErrorInvalidValue;
    drop_physical(handle);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemMap(void* base, size_t bytes, size_t offset,
                                hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    const auto start = reinterpret_cast<uintptr_t>(base);
    if (physical().count(handle) == 0 || flags != 0 || bytes == 0 || offset % kGranularity != 0 ||
        offset > handle->size || bytes > handle->size - offset || !reserved(start, bytes)) {
      return hipErrorInvalidValue;
    }
    // Without access until hipMemSetAccess.
    void* at = mmap(base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->file,
                    static_cast<off_t>(offset));
    if (at == MAP_FAILED) return hipErrorOutOfMemory;
    if (!AddressMap::instance().record(base, bytes, MemoryKind::kVirtual, handle->props.location.id,
                                       0)) {
      return hipErrorInvalidValue;
    }
    ++handle->references;
    mappings()[start] = {handle, bytes};
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemUnmap(void* base, size_t bytes) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    const auto start = reinterpret_cast<uintptr_t>(base);
    auto it = mappings().find(start);
    if (it == mappings().end()) return hipErrorInvalidValue;
    // One call may undo several neighbouring mappings, but only whole ones.
    uintptr_t at = start;
    while (at < start + bytes) {
      auto next = mappings().find(at);
      if (next == mappings().end() || at + next->second.size > start + bytes)
        return hipErrorInvalidValue;
      at += next->second.size;
    }
    for (at = start; at < start + bytes;) {
      auto next = mappings().find(at);
      const Mapping gone = next->second;
      AddressMap::instance().release(reinterpret_cast<void*>(at));
      mmap(reinterpret_cast<void*>(at), gone.size, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      mappings().erase(next);
      drop_physical(gone.memory);
      at += gone.size;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemSetAccess(void* base, size_t bytes, const hipMemAccessDesc* list,
                                      size_t count) {
  return api([&] {
    if (list == nullptr || count == 0) return hipErrorInvalidValue;
    const std::lock_guard lock(virtual_mutex);
    if (!reserved(reinterpret_cast<uintptr_t>(base), bytes)) return hipErrorInvalidValue;
    int protection = PROT_NONE;
    for (size_t i = 0; i < count; ++i) {
      if (list[i].location.type != 1 || card(list[i].location.id) == nullptr)
        return hipErrorInvalidValue;
      if (list[i].flags == 1) protection |= PROT_READ;
      if (list[i].flags == 3) protection |= PROT_READ | PROT_WRITE;
    }
    return mprotect(base, bytes, protection) == 0 ? hipSuccess : hipErrorInvalidValue;
  });
}
GFX906_HIP hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location,
                                      void* base) {
  return api([&] {
    const auto found = AddressMap::instance().find(base);
    if (flags == nullptr || location == nullptr || !found || found->kind != MemoryKind::kVirtual) {
      return hipErrorInvalidValue;
    }
    *flags = 3;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t
hipMemGetAllocationPropertiesFromHandle(void* props, hipMemGenericAllocationHandle_t handle) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    if (props == nullptr || physical().count(handle) == 0) return hipErrorInvalidValue;
    write_props(handle->props, props);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* handle,
                                                   void* base) {
  return api([&] {
    const std::lock_guard lock(virtual_mutex);
    auto it = mappings().upper_bound(reinterpret_cast<uintptr_t>(base));
    if (handle == nullptr || it == mappings().begin()) return hipErrorInvalidValue;
    --it;
    if (reinterpret_cast<uintptr_t>(base) >= it->first + it->second.size)
      return hipErrorInvalidValue;
    *handle = it->second.memory;
    ++(*handle)->references;
    return hipSuccess;
  });
}
