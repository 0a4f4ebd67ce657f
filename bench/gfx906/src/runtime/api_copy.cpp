// Copies and fills.
#include <algorithm>
#include <cstring>

#include "api.hpp"
#include "memory.hpp"
#include "module.hpp"
#include "trace.hpp"

namespace gfx906::rt {
namespace {

// Pageable sources up to this size are copied aside when the call is made, as the driver stages
// them.
constexpr size_t kStagedBytes = size_t{1} << 20;

class StagedCopyWork : public WorkOf<StagedCopyWork, hipGraphNodeTypeMemcpy> {
 public:
  std::shared_ptr<CopyWork> inner;
  std::vector<uint8_t> staged;
  hipError_t run(WorkReport& report) override { return inner->run(report); }
};

bool inside(const void* base, size_t bytes) {
  const auto found = AddressMap::instance().find(base);
  if (!found || found->kind == MemoryKind::kVirtual)
    return true;  // a virtual range may span several mappings
  return bytes <= found->size - (reinterpret_cast<uintptr_t>(base) - found->base);
}

size_t extent_bytes(const CopyRequest& r, size_t pitch, size_t slice) {
  return (r.depth - 1) * slice + (r.height - 1) * pitch + r.width;
}

hipError_t wait_for(const Ticket& ticket, Stream& stream) {
  if (!ticket.queue) return hipSuccess;
  ticket.wait();
  host_waits_until(ticket.model_end());
  return stream.card().fault.load();
}

CopyRequest linear(void* target, const void* source, size_t bytes, hipMemcpyKind kind) {
  CopyRequest r;
  r.target = target;
  r.source = source;
  r.width = bytes;
  r.kind = kind;
  return r;
}

CopyRequest rows(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                 size_t width, size_t height, hipMemcpyKind kind) {
  CopyRequest r = linear(target, source, width, kind);
  r.height = height;
  r.target_pitch = target_pitch;
  r.source_pitch = source_pitch;
  return r;
}

hipError_t from_2d(const hip_Memcpy2D* p, CopyRequest& r) {
  if (p == nullptr || p->dstArray != nullptr || p->srcArray != nullptr) return hipErrorInvalidValue;
  auto* to = static_cast<uint8_t*>(p->dstDevice ? p->dstDevice : p->dstHost);
  const auto* from = static_cast<const uint8_t*>(p->srcDevice ? p->srcDevice : p->srcHost);
  if (to == nullptr || from == nullptr) return hipErrorInvalidValue;
  r = rows(to + p->dstY * p->dstPitch + p->dstXInBytes, p->dstPitch,
           from + p->srcY * p->srcPitch + p->srcXInBytes, p->srcPitch, p->WidthInBytes, p->Height,
           hipMemcpyDefault);
  return hipSuccess;
}

// HIP_MEMCPY3D of either release: the members have the same names.
template <class Params>
hipError_t from_3d(const Params& p, CopyRequest& r) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return hipErrorNotSupported;
  auto* to = static_cast<uint8_t*>(p.dstDevice ? p.dstDevice : p.dstHost);
  const auto* from = static_cast<const uint8_t*>(p.srcDevice ? p.srcDevice : p.srcHost);
  if (to == nullptr || from == nullptr) return hipErrorInvalidValue;
  const size_t to_slice = size_t{p.dstPitch} * p.dstHeight,
               from_slice = size_t{p.srcPitch} * p.srcHeight;
  r = rows(to + p.dstZ * to_slice + size_t{p.dstY} * p.dstPitch + p.dstXInBytes, p.dstPitch,
           from + p.srcZ * from_slice + size_t{p.srcY} * p.srcPitch + p.srcXInBytes, p.srcPitch,
           p.WidthInBytes, p.Height, hipMemcpyDefault);
  r.depth = p.Depth;
  r.target_slice = to_slice;
  r.source_slice = from_slice;
  return hipSuccess;
}

hipError_t driver_copy_3d(const void* params, hipStream_t stream, bool async) {
  return api([&] {
    if (params == nullptr) return hipErrorInvalidValue;
    CopyRequest r;
    const hipError_t error = kHipMajor >= 6 ? from_3d(*static_cast<const HIP_MEMCPY3D*>(params), r)
                                            : from_3d(*static_cast<const Memcpy3D5*>(params), r);
    return error != hipSuccess ? error : copy(r, stream, async);
  });
}

hipError_t fill(void* target, uint32_t value, unsigned element, size_t width, size_t height,
                size_t pitch, hipStream_t handle, bool async, size_t depth = 1, size_t slice = 0) {
  hipMemsetParams params{target, element, height, pitch, value, width};
  if (width == 0 || height == 0 || depth == 0) return hipSuccess;
  std::shared_ptr<FillWork> work;
  if (const hipError_t error = make_fill(params, work); error != hipSuccess) return error;
  work->depth = depth;
  work->slice = slice;
  if (!inside(target, (depth - 1) * slice + (height - 1) * pitch + width * element))
    return hipErrorInvalidValue;
  Stream* stream = Stream::resolve(handle);
  if (stream == nullptr) return hipErrorInvalidHandle;
  if (!async) {
    if (const hipError_t error = check_no_capture(); error != hipSuccess) return error;
  }
  Ticket ticket;
  const hipError_t error = submit(*stream, std::move(work), &ticket);
  return error != hipSuccess || async ? error : wait_for(ticket, *stream);
}

hipError_t symbol_range(const void* symbol, size_t bytes, size_t offset, uint8_t*& address) {
  void* base = nullptr;
  size_t size = 0;
  if (const hipError_t error = symbol_memory(symbol, base, size); error != hipSuccess) return error;
  if (offset > size || bytes > size - offset) return hipErrorInvalidValue;
  address = static_cast<uint8_t*>(base) + offset;
  return hipSuccess;
}

hipStream_t per_thread(hipStream_t stream) {
  return stream == nullptr ? reinterpret_cast<hipStream_t>(kStreamPerThreadHandle) : stream;
}

}  // namespace

hipError_t check_copy(const CopyRequest& r) {
  if (r.target == nullptr || r.source == nullptr) return hipErrorInvalidValue;
  const int kind = r.kind;
  if ((kind < 0 || kind > hipMemcpyDefault) && kind != hipMemcpyDeviceToDeviceNoCU) {
    return hipErrorInvalidMemcpyDirection;
  }
  if (r.height > 1 && (r.width > r.target_pitch || r.width > r.source_pitch))
    return hipErrorInvalidPitchValue;
  if (!inside(r.target, extent_bytes(r, r.target_pitch, r.target_slice)) ||
      !inside(r.source, extent_bytes(r, r.source_pitch, r.source_slice))) {
    return hipErrorInvalidValue;
  }
  return hipSuccess;
}

std::shared_ptr<CopyWork> make_copy(const CopyRequest& r) {
  auto work = std::make_shared<CopyWork>();
  work->target = r.target;
  work->source = r.source;
  work->width = r.width;
  work->height = r.height;
  work->depth = r.depth;
  work->target_pitch = r.target_pitch;
  work->source_pitch = r.source_pitch;
  work->target_slice = r.target_slice;
  work->source_slice = r.source_slice;
  work->kind = r.kind;
  return work;
}

hipError_t request_of(const hipMemcpy3DParms& p, CopyRequest& r) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return hipErrorNotSupported;
  const size_t from_slice = p.srcPtr.pitch * p.srcPtr.ysize,
               to_slice = p.dstPtr.pitch * p.dstPtr.ysize;
  if (p.srcPtr.ptr == nullptr || p.dstPtr.ptr == nullptr) return hipErrorInvalidValue;
  r = rows(static_cast<uint8_t*>(p.dstPtr.ptr) + p.dstPos.z * to_slice +
               p.dstPos.y * p.dstPtr.pitch + p.dstPos.x,
           p.dstPtr.pitch,
           static_cast<uint8_t*>(p.srcPtr.ptr) + p.srcPos.z * from_slice +
               p.srcPos.y * p.srcPtr.pitch + p.srcPos.x,
           p.srcPtr.pitch, p.extent.width, p.extent.height, p.kind);
  r.depth = p.extent.depth;
  r.target_slice = to_slice;
  r.source_slice = from_slice;
  return hipSuccess;
}

hipError_t copy(const CopyRequest& request, hipStream_t handle, bool async) {
  if (request.width == 0 || request.height == 0 || request.depth == 0) return hipSuccess;
  if (const hipError_t error = check_copy(request); error != hipSuccess) return error;
  Stream* stream = Stream::resolve(handle);
  if (stream == nullptr) return hipErrorInvalidHandle;
  auto work = make_copy(request);
  if (!async) {
    if (const hipError_t error = check_no_capture(); error != hipSuccess) return error;
  }
  Ticket ticket;
  if (async && !capturing(*stream)) {
    const size_t source_bytes = extent_bytes(request, request.source_pitch, request.source_slice);
    if (is_pageable(request.source) && !is_pageable(request.target) &&
        source_bytes <= kStagedBytes) {
      auto staged = std::make_shared<StagedCopyWork>();
      const auto* from = static_cast<const uint8_t*>(request.source);
      staged->staged.assign(from, from + source_bytes);
      work->source = staged->staged.data();
      staged->inner = std::move(work);
      return submit(*stream, std::move(staged));
    }
    async = !is_pageable(request.source) && !is_pageable(request.target);
  }
  const hipError_t error = submit(*stream, std::move(work), &ticket);
  return error != hipSuccess || async ? error : wait_for(ticket, *stream);
}

hipError_t make_fill(const hipMemsetParams& p, std::shared_ptr<FillWork>& work) {
  if (p.dst == nullptr) return hipErrorInvalidValue;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return hipErrorInvalidValue;
  if (p.height > 1 && p.pitch < p.width * p.elementSize) return hipErrorInvalidValue;
  work = std::make_shared<FillWork>();
  work->target = p.dst;
  work->value = p.value;
  work->element = p.elementSize;
  work->width = p.width;
  work->height = p.height;
  work->pitch = p.pitch;
  return hipSuccess;
}

hipError_t symbol_memory(const void* symbol, void*& address, size_t& bytes) {
  HostVariable variable;
  if (symbol == nullptr || !Registry::instance().variable(symbol, variable))
    return hipErrorInvalidSymbol;
  if (variable.managed != nullptr) {
    address = variable.managed;
    bytes = variable.bytes;
    return hipSuccess;
  }
  const hipError_t error =
      variable.module->variable(current_card_index(), variable.name, address, bytes);
  return error == hipErrorNotFound ? hipErrorInvalidSymbol : error;
}

}  // namespace gfx906::rt

using namespace gfx906::rt;

GFX906_HIP hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return api([&] { return copy(linear(to, from, bytes, kind), nullptr, false); });
}
GFX906_HIP hipError_t hipMemcpy_spt(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return api([&] { return copy(linear(to, from, bytes, kind), per_thread(nullptr), false); });
}
GFX906_HIP hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t s) {
  return api([&] { return copy(linear(to, from, bytes, kind), s, true); });
}
GFX906_HIP hipError_t hipMemcpyAsync_spt(void* to, const void* from, size_t bytes,
                                         hipMemcpyKind kind, hipStream_t s) {
  return hipMemcpyAsync(to, from, bytes, kind, per_thread(s));
}
GFX906_HIP hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes,
                                          hipMemcpyKind kind, hipStream_t s) {
  return api([&] { return copy(linear(to, from, bytes, kind), s, false); });
}
GFX906_HIP hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
GFX906_HIP hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}
GFX906_HIP hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
GFX906_HIP hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes,
                                         hipStream_t s) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, s);
}
GFX906_HIP hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t s) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, s);
}
GFX906_HIP hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t s) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, s);
}

GFX906_HIP hipError_t hipMemcpyPeer(void* to, int to_card, const void* from, int from_card,
                                    size_t bytes) {
  return api([&] {
    if (card(to_card) == nullptr || card(from_card) == nullptr) return hipErrorInvalidDevice;
    return copy(linear(to, from, bytes, hipMemcpyDeviceToDevice), nullptr, false);
  });
}
GFX906_HIP hipError_t hipMemcpyPeerAsync(void* to, int to_card, const void* from, int from_card,
                                         size_t bytes, hipStream_t s) {
  return api([&] {
    if (card(to_card) == nullptr || card(from_card) == nullptr) return hipErrorInvalidDevice;
    return copy(linear(to, from, bytes, hipMemcpyDeviceToDevice), s, true);
  });
}

GFX906_HIP hipError_t hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                                  size_t width, size_t height, hipMemcpyKind kind) {
  return api([&] {
    return copy(rows(to, to_pitch, from, from_pitch, width, height, kind), nullptr, false);
  });
}
GFX906_HIP hipError_t hipMemcpy2D_spt(void* to, size_t to_pitch, const void* from,
                                      size_t from_pitch, size_t width, size_t height,
                                      hipMemcpyKind kind) {
  return api([&] {
    return copy(rows(to, to_pitch, from, from_pitch, width, height, kind), per_thread(nullptr),
                false);
  });
}
GFX906_HIP hipError_t hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                       size_t from_pitch, size_t width, size_t height,
                                       hipMemcpyKind kind, hipStream_t s) {
  return api(
      [&] { return copy(rows(to, to_pitch, from, from_pitch, width, height, kind), s, true); });
}
GFX906_HIP hipError_t hipMemcpy2DAsync_spt(void* to, size_t to_pitch, const void* from,
                                           size_t from_pitch, size_t width, size_t height,
                                           hipMemcpyKind kind, hipStream_t s) {
  return hipMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, per_thread(s));
}
GFX906_HIP hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) {
  return api([&] {
    CopyRequest r;
    const hipError_t error = from_2d(p, r);
    return error != hipSuccess ? error : copy(r, nullptr, false);
  });
}
GFX906_HIP hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) {
  return hipMemcpyParam2D(p);
}
GFX906_HIP hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t s) {
  return api([&] {
    CopyRequest r;
    const hipError_t error = from_2d(p, r);
    return error != hipSuccess ? error : copy(r, s, true);
  });
}
static hipError_t copy_3d(const hipMemcpy3DParms* p, hipStream_t s, bool async) {
  return api([&] {
    if (p == nullptr) return hipErrorInvalidValue;
    CopyRequest r;
    const hipError_t error = request_of(*p, r);
    return error != hipSuccess ? error : copy(r, s, async);
  });
}
GFX906_HIP hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) {
  return copy_3d(p, nullptr, false);
}
GFX906_HIP hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) {
  return copy_3d(p, per_thread(nullptr), false);
}
GFX906_HIP hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t s) {
  return copy_3d(p, s, true);
}
GFX906_HIP hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* p, hipStream_t s) {
  return copy_3d(p, per_thread(s), true);
}

GFX906_HIP hipError_t hipDrvMemcpy3D(const void* p) {
  return driver_copy_3d(p, nullptr, false);
}
GFX906_HIP hipError_t hipDrvMemcpy3DAsync(const void* p, hipStream_t s) {
  return driver_copy_3d(p, s, true);
}

GFX906_HIP hipError_t hipMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                             size_t offset, hipMemcpyKind kind, hipStream_t s) {
  return api([&] {
    uint8_t* address = nullptr;
    const hipError_t error = symbol_range(symbol, bytes, offset, address);
    return error != hipSuccess ? error : copy(linear(address, from, bytes, kind), s, true);
  });
}
GFX906_HIP hipError_t hipMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes,
                                               size_t offset, hipMemcpyKind kind, hipStream_t s) {
  return api([&] {
    uint8_t* address = nullptr;
    const hipError_t error = symbol_range(symbol, bytes, offset, address);
    return error != hipSuccess ? error : copy(linear(to, address, bytes, kind), s, true);
  });
}
GFX906_HIP hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                        size_t offset, hipMemcpyKind kind) {
  return api([&] {
    uint8_t* address = nullptr;
    const hipError_t error = symbol_range(symbol, bytes, offset, address);
    return error != hipSuccess ? error : copy(linear(address, from, bytes, kind), nullptr, false);
  });
}
GFX906_HIP hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                          hipMemcpyKind kind) {
  return api([&] {
    uint8_t* address = nullptr;
    const hipError_t error = symbol_range(symbol, bytes, offset, address);
    return error != hipSuccess ? error : copy(linear(to, address, bytes, kind), nullptr, false);
  });
}
GFX906_HIP hipError_t hipMemcpyToSymbol_spt(const void* symbol, const void* from, size_t bytes,
                                            size_t offset, hipMemcpyKind kind) {
  return hipMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
GFX906_HIP hipError_t hipMemcpyFromSymbol_spt(void* to, const void* symbol, size_t bytes,
                                              size_t offset, hipMemcpyKind kind) {
  return hipMemcpyFromSymbol(to, symbol, bytes, offset, kind);
}
GFX906_HIP hipError_t hipMemcpyToSymbolAsync_spt(const void* symbol, const void* from, size_t bytes,
                                                 size_t offset, hipMemcpyKind kind, hipStream_t s) {
  return hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, per_thread(s));
}
GFX906_HIP hipError_t hipMemcpyFromSymbolAsync_spt(void* to, const void* symbol, size_t bytes,
                                                   size_t offset, hipMemcpyKind kind,
                                                   hipStream_t s) {
  return hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, per_thread(s));
}
GFX906_HIP hipError_t hipGetSymbolAddress(void** address, const void* symbol) {
  return api([&] {
    size_t bytes = 0;
    return address == nullptr ? hipErrorInvalidValue : symbol_memory(symbol, *address, bytes);
  });
}
GFX906_HIP hipError_t hipGetSymbolSize(size_t* bytes, const void* symbol) {
  return api([&] {
    void* address = nullptr;
    return bytes == nullptr ? hipErrorInvalidValue : symbol_memory(symbol, address, *bytes);
  });
}

GFX906_HIP hipError_t hipMemset(void* to, int value, size_t bytes) {
  return api(
      [&] { return fill(to, static_cast<uint32_t>(value), 1, bytes, 1, 0, nullptr, false); });
}
GFX906_HIP hipError_t hipMemset_spt(void* to, int value, size_t bytes) {
  return api([&] {
    return fill(to, static_cast<uint32_t>(value), 1, bytes, 1, 0, per_thread(nullptr), false);
  });
}
GFX906_HIP hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t s) {
  return api([&] { return fill(to, static_cast<uint32_t>(value), 1, bytes, 1, 0, s, true); });
}
GFX906_HIP hipError_t hipMemsetAsync_spt(void* to, int value, size_t bytes, hipStream_t s) {
  return hipMemsetAsync(to, value, bytes, per_thread(s));
}
GFX906_HIP hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return api([&] { return fill(to, value, 1, count, 1, 0, nullptr, false); });
}
GFX906_HIP hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                       hipStream_t s) {
  return api([&] { return fill(to, value, 1, count, 1, 0, s, true); });
}
GFX906_HIP hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return api([&] { return fill(to, value, 2, count, 1, 0, nullptr, false); });
}
GFX906_HIP hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                        hipStream_t s) {
  return api([&] { return fill(to, value, 2, count, 1, 0, s, true); });
}
GFX906_HIP hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return api(
      [&] { return fill(to, static_cast<uint32_t>(value), 4, count, 1, 0, nullptr, false); });
}
GFX906_HIP hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t s) {
  return api([&] { return fill(to, static_cast<uint32_t>(value), 4, count, 1, 0, s, true); });
}
GFX906_HIP hipError_t hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return api([&] {
    return fill(to, static_cast<uint32_t>(value), 1, width, height, pitch, nullptr, false);
  });
}
GFX906_HIP hipError_t hipMemset2D_spt(void* to, size_t pitch, int value, size_t width,
                                      size_t height) {
  return api([&] {
    return fill(to, static_cast<uint32_t>(value), 1, width, height, pitch, per_thread(nullptr),
                false);
  });
}
GFX906_HIP hipError_t hipMemset2DAsync(void* to, size_t pitch, int value, size_t width,
                                       size_t height, hipStream_t s) {
  return api(
      [&] { return fill(to, static_cast<uint32_t>(value), 1, width, height, pitch, s, true); });
}
GFX906_HIP hipError_t hipMemset2DAsync_spt(void* to, size_t pitch, int value, size_t width,
                                           size_t height, hipStream_t s) {
  return hipMemset2DAsync(to, pitch, value, width, height, per_thread(s));
}
static hipError_t fill_3d(const hipPitchedPtr& to, int value, const hipExtent& extent,
                          hipStream_t s, bool async) {
  return api([&] {
    return fill(to.ptr, static_cast<uint32_t>(value), 1, extent.width, extent.height, to.pitch, s,
                async, extent.depth, to.pitch * to.ysize);
  });
}
GFX906_HIP hipError_t hipMemset3D(hipPitchedPtr to, int value, hipExtent extent) {
  return fill_3d(to, value, extent, nullptr, false);
}
GFX906_HIP hipError_t hipMemset3D_spt(hipPitchedPtr to, int value, hipExtent extent) {
  return fill_3d(to, value, extent, per_thread(nullptr), false);
}
GFX906_HIP hipError_t hipMemset3DAsync(hipPitchedPtr to, int value, hipExtent extent,
                                       hipStream_t s) {
  return fill_3d(to, value, extent, s, true);
}
GFX906_HIP hipError_t hipMemset3DAsync_spt(hipPitchedPtr to, int value, hipExtent extent,
                                           hipStream_t s) {
  return fill_3d(to, value, extent, per_thread(s), true);
}
