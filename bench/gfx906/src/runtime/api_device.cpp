// Devices, contexts, limits, peer access.
#include <cstdio>
#include <cstring>

#include "../exec/dispatch.hpp"
#include "api.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "properties.hpp"

using namespace gfx906::rt;

namespace {

// A context is a card: the handle is its Card object.
Card* card_of_context(hipCtx_t context) {
  for (Card* c : cards()) {
    if (c == context) return c;
  }
  return nullptr;
}

thread_local std::vector<int> context_stack;

}  // namespace

GFX906_HIP hipError_t hipGetDeviceCount(int* count) {
  if (count == nullptr) return finish(hipErrorInvalidValue);
  *count = static_cast<int>(cards().size());
  return finish(cards().empty() ? hipErrorNoDevice : hipSuccess);
}
GFX906_HIP hipError_t hipGetDevice(int* device) {
  return api([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    *device = current_card_index();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipSetDevice(int device) {
  return api([&] { return set_current_card(device) ? hipSuccess : hipErrorInvalidDevice; });
}
GFX906_HIP hipError_t hipSetValidDevices(int* list, int count) {
  return api([&] {
    if (count < 0 || (count > 0 && list == nullptr)) return hipErrorInvalidValue;
    for (int i = 0; i < count; ++i) {
      if (card(list[i]) == nullptr) return hipErrorInvalidDevice;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return api([&] {
    if (device == nullptr) return hipErrorInvalidValue;
    if (card(ordinal) == nullptr) return hipErrorInvalidDevice;
    *device = ordinal;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetAttribute(int* value, int attribute, int device) {
  return api([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    return attribute_value(device, attribute, *value) ? hipSuccess : hipErrorInvalidValue;
  });
}
// The layout of HIP 5 under the name that HIP 6 kept for old programs as well.
GFX906_HIP hipError_t hipGetDeviceProperties(DeviceProp5* p, int device) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    fill_properties(device, *p);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGetDevicePropertiesR0000(DeviceProp5* p, int device) {
  return hipGetDeviceProperties(p, device);
}
GFX906_HIP hipError_t hipGetDevicePropertiesR0600(DeviceProp6* p, int device) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    fill_properties(device, *p);
    return hipSuccess;
  });
}
// All cards are alike, so the first fits any wish.
static hipError_t choose(int* device, const void* wish) {
  return api([&] {
    if (device == nullptr || wish == nullptr) return hipErrorInvalidValue;
    *device = 0;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipChooseDevice(int* device, const void* wish) {
  return choose(device, wish);
}
GFX906_HIP hipError_t hipChooseDeviceR0000(int* device, const void* wish) {
  return choose(device, wish);
}
GFX906_HIP hipError_t hipChooseDeviceR0600(int* device, const void* wish) {
  return choose(device, wish);
}

GFX906_HIP hipError_t hipDeviceGetName(char* name, int bytes, hipDevice_t device) {
  return api([&] {
    if (name == nullptr || bytes <= 0) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    std::snprintf(name, static_cast<size_t>(bytes), "%s", kCardName);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
  return api([&] {
    if (uuid == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *uuid = uuid_of(device);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return api([&] {
    if (bytes == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *bytes = usable_card_memory();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
  return api([&] {
    if (major == nullptr || minor == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *major = 9;
    *minor = 0;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetPCIBusId(char* text, int bytes, int device) {
  return api([&] {
    if (text == nullptr || bytes < 13) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    std::snprintf(text, static_cast<size_t>(bytes), "0000:%02x:00.0", pci_bus(device) & 0xff);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
  return api([&] {
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    if (device == nullptr || text == nullptr) return hipErrorInvalidValue;
    if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3)
      return hipErrorInvalidValue;
    for (const Card* c : cards()) {
      if (domain == 0 && slot == 0 && static_cast<int>(bus) == pci_bus(c->index())) {
        *device = c->index();
        return hipSuccess;
      }
    }
    return hipErrorInvalidDevice;
  });
}

GFX906_HIP hipError_t hipDeviceSynchronize() {
  return api([&] {
    if (const hipError_t error = check_no_capture(); error != hipSuccess) return error;
    return synchronize_card(current_card());
  });
}
GFX906_HIP hipError_t hipDeviceReset() {
  return api([&] {
    Card& c = current_card();
    (void)synchronize_card(c);
    // The memory of the card goes, its streams stay usable as in the driver's primary context.
    for (const Allocation& a : AddressMap::instance().all()) {
      if (a.kind == MemoryKind::kDevice && a.card == c.index())
        free_memory(reinterpret_cast<void*>(a.base));
    }
    c.fault = hipSuccess;
    const std::lock_guard lock(c.mutex);
    c.peers.clear();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGetDeviceFlags(unsigned* flags) {
  return api([&] {
    if (flags == nullptr) return hipErrorInvalidValue;
    *flags = current_card().flags;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipSetDeviceFlags(unsigned flags) {
  return api([&] {
    constexpr unsigned kKnown = 0x1f;
    if ((flags & ~kKnown) != 0) return hipErrorInvalidValue;
    current_card().flags = flags;
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  return api([&] {
    if (value == nullptr) return hipErrorInvalidValue;
    const auto& limits = current_card().limits;
    if (limit < 0 || limit >= static_cast<int>(limits.size())) return hipErrorUnsupportedLimit;
    *value = limits[static_cast<size_t>(limit)];
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceSetLimit(int limit, size_t value) {
  return api([&] {
    auto& limits = current_card().limits;
    if (limit < 0 || limit >= static_cast<int>(limits.size())) return hipErrorUnsupportedLimit;
    if (limit == 0 && value > gfx906::kMostScratch) return hipErrorInvalidValue;
    limits[static_cast<size_t>(limit)] = value;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceGetCacheConfig(int* config) {
  return api([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = 0;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceSetCacheConfig(int config) {
  return api([&] { return config >= 0 && config <= 3 ? hipSuccess : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipDeviceGetSharedMemConfig(int* config) {
  return api([&] {
    if (config == nullptr) return hipErrorInvalidValue;
    *config = 1;  // banks of four bytes
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceSetSharedMemConfig(int config) {
  return api([&] { return config >= 0 && config <= 2 ? hipSuccess : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&] {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return api([&] {
    if (can == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr || card(peer) == nullptr) return hipErrorInvalidDevice;
    *can = device != peer;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
  return api([&] {
    Card& c = current_card();
    if (flags != 0) return hipErrorInvalidValue;
    if (card(peer) == nullptr || peer == c.index()) return hipErrorInvalidDevice;
    const std::lock_guard lock(c.mutex);
    return c.peers.insert(peer).second ? hipSuccess : hipErrorPeerAccessAlreadyEnabled;
  });
}
GFX906_HIP hipError_t hipDeviceDisablePeerAccess(int peer) {
  return api([&] {
    Card& c = current_card();
    if (card(peer) == nullptr || peer == c.index()) return hipErrorInvalidDevice;
    const std::lock_guard lock(c.mutex);
    return c.peers.erase(peer) == 1 ? hipSuccess : hipErrorPeerAccessNotEnabled;
  });
}
GFX906_HIP hipError_t hipDeviceGetP2PAttribute(int* value, int attribute, int from, int to) {
  return api([&] {
    if (value == nullptr || from == to) return hipErrorInvalidValue;
    if (card(from) == nullptr || card(to) == nullptr) return hipErrorInvalidDevice;
    switch (attribute) {
      case 0:
        *value = 0;
        return hipSuccess;  // performance rank
      case 1:
        *value = 1;
        return hipSuccess;  // access
      case 2:
        *value = 0;
        return hipSuccess;  // native atomics: not over PCIe
      case 3:
        *value = 0;
        return hipSuccess;  // arrays
      default:
        return hipErrorInvalidValue;
    }
  });
}
GFX906_HIP hipError_t hipExtGetLinkTypeAndHopCount(int from, int to, uint32_t* type,
                                                   uint32_t* hops) {
  return api([&] {
    if (type == nullptr || hops == nullptr || from == to) return hipErrorInvalidValue;
    if (card(from) == nullptr || card(to) == nullptr) return hipErrorInvalidDevice;
    *type = 2;  // PCIe
    *hops = 2;
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipCtxCreate(hipCtx_t* context, unsigned flags, hipDevice_t device) {
  return api([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    if (!set_current_card(device)) return hipErrorInvalidDevice;
    card(device)->flags = flags;
    context_stack.push_back(device);
    *context = card(device);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipCtxDestroy(hipCtx_t context) {
  return api(
      [&] { return card_of_context(context) != nullptr ? hipSuccess : hipErrorInvalidValue; });
}
GFX906_HIP hipError_t hipCtxPushCurrent(hipCtx_t context) {
  return api([&] {
    Card* c = card_of_context(context);
    if (c == nullptr) return hipErrorInvalidContext;
    context_stack.push_back(c->index());
    set_current_card(c->index());
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipCtxPopCurrent(hipCtx_t* context) {
  return api([&] {
    if (context_stack.empty()) return hipErrorInvalidContext;
    if (context != nullptr) *context = card(context_stack.back());
    context_stack.pop_back();
    set_current_card(context_stack.empty() ? 0 : context_stack.back());
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipCtxSetCurrent(hipCtx_t context) {
  return api([&] {
    Card* c = card_of_context(context);
    if (c == nullptr) return context == nullptr ? hipSuccess : hipErrorInvalidContext;
    set_current_card(c->index());
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipCtxGetCurrent(hipCtx_t* context) {
  return api([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    *context = &current_card();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipCtxGetDevice(hipDevice_t* device) {
  return hipGetDevice(device);
}
GFX906_HIP hipError_t hipCtxSynchronize() {
  return hipDeviceSynchronize();
}
GFX906_HIP hipError_t hipCtxGetFlags(unsigned* flags) {
  return hipGetDeviceFlags(flags);
}
GFX906_HIP hipError_t hipCtxGetCacheConfig(int* config) {
  return hipDeviceGetCacheConfig(config);
}
GFX906_HIP hipError_t hipCtxSetCacheConfig(int config) {
  return hipDeviceSetCacheConfig(config);
}
GFX906_HIP hipError_t hipCtxGetSharedMemConfig(int* config) {
  return hipDeviceGetSharedMemConfig(config);
}
GFX906_HIP hipError_t hipCtxSetSharedMemConfig(int config) {
  return hipDeviceSetSharedMemConfig(config);
}
GFX906_HIP hipError_t hipCtxEnablePeerAccess(hipCtx_t context, unsigned flags) {
  Card* c = card_of_context(context);
  return c == nullptr ? finish(hipErrorInvalidContext)
                      : hipDeviceEnablePeerAccess(c->index(), flags);
}
GFX906_HIP hipError_t hipCtxDisablePeerAccess(hipCtx_t context) {
  Card* c = card_of_context(context);
  return c == nullptr ? finish(hipErrorInvalidContext) : hipDeviceDisablePeerAccess(c->index());
}
GFX906_HIP hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
  return api([&] {
    if (context == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *context = card(device);
    return hipSuccess;
  });
}
static hipError_t known_device(hipDevice_t device) {
  return api([&] { return card(device) != nullptr ? hipSuccess : hipErrorInvalidDevice; });
}
GFX906_HIP hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
  return known_device(device);
}
GFX906_HIP hipError_t hipDevicePrimaryCtxReset(hipDevice_t device) {
  return known_device(device);
}
GFX906_HIP hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t device, unsigned) {
  return known_device(device);
}
GFX906_HIP hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags,
                                                  int* active) {
  return api([&] {
    if (flags == nullptr || active == nullptr) return hipErrorInvalidValue;
    if (card(device) == nullptr) return hipErrorInvalidDevice;
    *flags = card(device)->flags;
    *active = 1;
    return hipSuccess;
  });
}
