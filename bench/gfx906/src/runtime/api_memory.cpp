// Allocation, host memory, pointer queries.
#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "memory.hpp"
#include "pool.hpp"

using namespace gfx906::rt;

namespace {

constexpr size_t kPitchAlign = 256;

hipError_t allocate(void** out, size_t bytes, MemoryKind kind, unsigned flags) {
  if (out == nullptr) return hipErrorInvalidValue;
  *out = nullptr;
  if (const hipError_t error = check_no_capture(); error != hipSuccess) return error;
  if (bytes == 0) return hipSuccess;
  *out = AddressMap::instance().allocate(bytes, kind, current_card_index(), flags);
  return *out == nullptr ? hipErrorOutOfMemory : hipSuccess;
}

// Freeing waits for the card, since work in flight may use the memory.
hipError_t release(void* base, bool host) {
  if (base == nullptr) return hipSuccess;
  if (const hipError_t error = check_no_capture(); error != hipSuccess) return error;
  const auto found = AddressMap::instance().find(base);
  if (!found || found->base != reinterpret_cast<uintptr_t>(base)) {
    return host ? hipErrorInvalidValue : hipErrorInvalidDevicePointer;
  }
  const bool is_host = found->kind == MemoryKind::kPinnedHost;
  if (!found->mapped() || found->kind == MemoryKind::kVirtual || (host && !is_host))
    return hipErrorInvalidValue;
  for (Card* c : cards()) {
    if (is_host || found->kind == MemoryKind::kManaged || c->index() == found->card)
      (void)synchronize_card(*c);
  }
  return free_memory(base) ? hipSuccess : hipErrorInvalidValue;
}

size_t pitch_of(size_t width) {
  return (width + kPitchAlign - 1) / kPitchAlign * kPitchAlign;
}

int memory_type(MemoryKind kind) {
  const bool six = kHipMajor >= 6;
  switch (kind) {
    case MemoryKind::kPinnedHost:
    case MemoryKind::kRegisteredHost:
      return six ? 1 : 0;
    case MemoryKind::kManaged:
      return six ? 3 : 1;
    default:
      return six ? 2 : 1;
  }
}

hipError_t attributes_of(hipPointerAttribute_t* out, const void* pointer) {
  if (out == nullptr || pointer == nullptr) return hipErrorInvalidValue;
  std::memset(out, 0, sizeof *out);
  const auto found = AddressMap::instance().find(pointer);
  if (!found) {
    // HIP 6 answers "unregistered"; HIP 5 has no such type and fails.
    if (kHipMajor < 6) return hipErrorInvalidValue;
    out->device = -2;
    return hipSuccess;
  }
  const bool host =
      found->kind == MemoryKind::kPinnedHost || found->kind == MemoryKind::kRegisteredHost;
  out->type = memory_type(found->kind);
  out->device = found->card;
  out->devicePointer = const_cast<void*>(pointer);
  out->hostPointer =
      host || found->kind == MemoryKind::kManaged ? const_cast<void*>(pointer) : nullptr;
  out->isManaged = found->kind == MemoryKind::kManaged;
  out->allocationFlags = found->flags;
  return hipSuccess;
}

// hipPointerGetAttribute's numbers.
hipError_t attribute_of(void* data, int attribute, void* pointer) {
  if (data == nullptr) return hipErrorInvalidValue;
  const auto found = AddressMap::instance().find(pointer);
  if (!found) return hipErrorInvalidValue;
  hipPointerAttribute_t a;
  if (const hipError_t error = attributes_of(&a, pointer); error != hipSuccess) return error;
  auto put = [data](auto value) {
    std::memcpy(data, &value, sizeof value);
    return hipSuccess;
  };
  switch (attribute) {
    case 2:
      return put(static_cast<unsigned>(a.type));
    case 3:
      return put(pointer);
    case 4:
      return put(a.hostPointer);
    case 6:
      return put(static_cast<unsigned>(0));  // synchronous memory operations: not asked for
    case 7:
      return put(static_cast<unsigned>(found->id));
    case 8:
      return put(static_cast<unsigned>(a.isManaged));
    case 9:
      return put(static_cast<int>(found->card));
    case 10:
      return put(static_cast<unsigned>(0));
    case 11:
      return put(reinterpret_cast<void*>(found->base));
    case 12:
      return put(static_cast<unsigned>(found->size));
    case 13:
      return put(static_cast<unsigned>(1));
    case 14:
      return put(static_cast<unsigned>(0));
    case 15:
      return put(static_cast<unsigned>(0));
    case 16:
      return put(static_cast<unsigned>(3));
    case 17:
      return put(found->pool);
    default:
      return hipErrorInvalidValue;
  }
}

}  // namespace

GFX906_HIP hipError_t hipMalloc(void** out, size_t bytes) {
  return api([&] { return allocate(out, bytes, MemoryKind::kDevice, 0); });
}
GFX906_HIP hipError_t hipExtMallocWithFlags(void** out, size_t bytes, unsigned flags) {
  return api([&] {
    // Default, fine-grained, signal memory, uncached, contiguous.
    if (flags > 4) return hipErrorInvalidValue;
    return allocate(out, bytes, MemoryKind::kDevice, flags);
  });
}
GFX906_HIP hipError_t hipMallocManaged(void** out, size_t bytes, unsigned flags) {
  return api([&] {
    if (flags != 1 && flags != 2) return hipErrorInvalidValue;
    if (bytes == 0) return hipErrorInvalidValue;
    return allocate(out, bytes, MemoryKind::kManaged, flags);
  });
}
GFX906_HIP hipError_t hipHostMalloc(void** out, size_t bytes, unsigned flags) {
  return api([&] { return allocate(out, bytes, MemoryKind::kPinnedHost, flags); });
}
GFX906_HIP hipError_t hipHostAlloc(void** out, size_t bytes, unsigned flags) {
  return hipHostMalloc(out, bytes, flags);
}
GFX906_HIP hipError_t hipMallocHost(void** out, size_t bytes) {
  return hipHostMalloc(out, bytes, 0);
}
GFX906_HIP hipError_t hipMemAllocHost(void** out, size_t bytes) {
  return hipHostMalloc(out, bytes, 0);
}
GFX906_HIP hipError_t hipMallocPitch(void** out, size_t* pitch, size_t width, size_t height) {
  return api([&] {
    if (pitch == nullptr) return hipErrorInvalidValue;
    *pitch = pitch_of(width);
    if (height != 0 && *pitch > SIZE_MAX / height) return hipErrorOutOfMemory;
    return allocate(out, *pitch * height, MemoryKind::kDevice, 0);
  });
}
GFX906_HIP hipError_t hipMemAllocPitch(hipDeviceptr_t* out, size_t* pitch, size_t width,
                                       size_t height, unsigned element) {
  if (element != 4 && element != 8 && element != 16) return finish(hipErrorInvalidValue);
  return hipMallocPitch(out, pitch, width, height);
}
GFX906_HIP hipError_t hipMalloc3D(hipPitchedPtr* out, hipExtent extent) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    const size_t pitch = pitch_of(extent.width);
    void* base = nullptr;
    const hipError_t error =
        allocate(&base, pitch * extent.height * extent.depth, MemoryKind::kDevice, 0);
    *out = {base, pitch, extent.width, extent.height};
    return error;
  });
}
GFX906_HIP hipError_t hipFree(void* base) {
  return api([&] { return release(base, false); });
}
GFX906_HIP hipError_t hipHostFree(void* base) {
  return api([&] { return release(base, true); });
}
GFX906_HIP hipError_t hipFreeHost(void* base) {
  return hipHostFree(base);
}

GFX906_HIP hipError_t hipHostRegister(void* base, size_t bytes, unsigned flags) {
  return api([&] {
    if (base == nullptr || bytes == 0) return hipErrorInvalidValue;
    const bool fresh = AddressMap::instance().record(base, bytes, MemoryKind::kRegisteredHost,
                                                     current_card_index(), flags);
    return fresh ? hipSuccess : hipErrorHostMemoryAlreadyRegistered;
  });
}
GFX906_HIP hipError_t hipHostUnregister(void* base) {
  return api([&] {
    if (base == nullptr) return hipErrorInvalidValue;
    const auto found = AddressMap::instance().find(base);
    if (!found || found->kind != MemoryKind::kRegisteredHost ||
        found->base != reinterpret_cast<uintptr_t>(base)) {
      return hipErrorHostMemoryNotRegistered;
    }
    for (Card* c : cards()) (void)synchronize_card(*c);
    AddressMap::instance().release(base);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
  return api([&] {
    if (device == nullptr || host == nullptr || flags != 0) return hipErrorInvalidValue;
    if (!AddressMap::instance().find(host)) return hipErrorInvalidValue;
    *device = host;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  return api([&] {
    const auto found = AddressMap::instance().find(host);
    if (flags == nullptr || !found) return hipErrorInvalidValue;
    if (found->kind != MemoryKind::kPinnedHost && found->kind != MemoryKind::kRegisteredHost) {
      return hipErrorInvalidValue;
    }
    *flags = found->flags;
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipPointerGetAttributes(hipPointerAttribute_t* out, const void* pointer) {
  return api([&] { return attributes_of(out, pointer); });
}
GFX906_HIP hipError_t hipPointerGetAttribute(void* data, int attribute, hipDeviceptr_t pointer) {
  return api([&] { return attribute_of(data, attribute, pointer); });
}
GFX906_HIP hipError_t hipDrvPointerGetAttributes(unsigned count, int* attributes, void** data,
                                                 hipDeviceptr_t pointer) {
  return api([&] {
    if (attributes == nullptr || data == nullptr) return hipErrorInvalidValue;
    for (unsigned i = 0; i < count; ++i) (void)attribute_of(data[i], attributes[i], pointer);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipPointerSetAttribute(const void* value, int attribute,
                                             hipDeviceptr_t pointer) {
  return api([&] {
    // Only "synchronous memory operations" can be set, and copies of this runtime are ordered
    // anyway.
    if (value == nullptr || attribute != 6 || !AddressMap::instance().find(pointer))
      return hipErrorInvalidValue;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* bytes,
                                            hipDeviceptr_t pointer) {
  return api([&] {
    const auto found = AddressMap::instance().find(pointer);
    if (!found) return hipErrorInvalidDevicePointer;
    if (base != nullptr) *base = reinterpret_cast<void*>(found->base);
    if (bytes != nullptr) *bytes = found->size;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPtrGetInfo(void* pointer, size_t* bytes) {
  return api([&] {
    const auto found = AddressMap::instance().find(pointer);
    if (bytes == nullptr || !found) return hipErrorInvalidValue;
    *bytes = found->size;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemGetInfo(size_t* available, size_t* total) {
  return api([&] {
    if (available == nullptr || total == nullptr) return hipErrorInvalidValue;
    *total = usable_card_memory();
    *available = *total - std::min(*total, AddressMap::instance().used(current_card_index()));
    return hipSuccess;
  });
}

// Managed memory is host memory here, so advice and prefetching change nothing but are checked.
GFX906_HIP hipError_t hipMemAdvise(const void* base, size_t bytes, int advice, int device) {
  return api([&] {
    const bool known = (advice >= 1 && advice <= 6) || advice == 100 || advice == 101;
    if (base == nullptr || bytes == 0 || !known) return hipErrorInvalidValue;
    const bool about_card = advice == 3 || advice == 5 || advice == 6;
    if (about_card && device != -1 && card(device) == nullptr) return hipErrorInvalidDevice;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemPrefetchAsync(const void* base, size_t bytes, int device,
                                          hipStream_t stream) {
  return api([&] {
    if (base == nullptr || bytes == 0) return hipErrorInvalidValue;
    if (device != -1 && card(device) == nullptr) return hipErrorInvalidDevice;
    return Stream::resolve(stream) == nullptr ? hipErrorInvalidHandle : hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemRangeGetAttribute(void* data, size_t data_bytes, int attribute,
                                              const void* base, size_t bytes) {
  return api([&] {
    if (data == nullptr || data_bytes < sizeof(int) || base == nullptr || bytes == 0)
      return hipErrorInvalidValue;
    int value = -2;  // locations: none given (hipInvalidDeviceId)
    if (attribute == 1) value = 0;
    if (attribute == 100) value = 0;
    if (attribute != 100 && (attribute < 1 || attribute > 4)) return hipErrorInvalidValue;
    for (size_t at = 0; at + sizeof value <= data_bytes; at += sizeof value) {
      std::memcpy(static_cast<char*>(data) + at, &value, sizeof value);
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipMemRangeGetAttributes(void** data, size_t* data_bytes, int* attributes,
                                               size_t count, const void* base, size_t bytes) {
  if (data == nullptr || data_bytes == nullptr || attributes == nullptr)
    return finish(hipErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) {
    const hipError_t error =
        hipMemRangeGetAttribute(data[i], data_bytes[i], attributes[i], base, bytes);
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}
GFX906_HIP hipError_t hipStreamAttachMemAsync(hipStream_t stream, void* base, size_t, unsigned) {
  return api([&] {
    const auto found = AddressMap::instance().find(base);
    if (Stream::resolve(stream) == nullptr) return hipErrorInvalidHandle;
    return found && found->kind == MemoryKind::kManaged ? hipSuccess : hipErrorInvalidValue;
  });
}
