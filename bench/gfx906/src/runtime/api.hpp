// What the files that implement the exported functions share.
#pragma once

#include <new>

#include "card.hpp"
#include "graph.hpp"
#include "hip_abi.hpp"
#include "stream.hpp"
#include "trace.hpp"

namespace gfx906::rt {

// Runs the body of an API function: an error is remembered for hipGetLastError; without any card
// only hipErrorNoDevice comes back; running out of host memory is an error like others.
template <class Body>
hipError_t api(Body&& body) {
  if (cards().empty()) return finish(hipErrorNoDevice);
  const HostCall call;
  try {
    return finish(body());
  } catch (const std::bad_alloc&) {
    return finish(hipErrorOutOfMemory);
  }
}

// For calls that a capture in progress does not allow (they would synchronise or allocate):
// hipSuccess when none forbids it, else the capture is invalid and hipErrorStreamCaptureUnsupported
// comes back.
hipError_t check_no_capture();
// The number of captures in progress, to skip that check.
extern std::atomic<int> active_captures;

// hipThreadExchangeStreamCaptureMode's value of the calling thread.
int exchange_capture_mode(int mode);

// A copy described by a CopyWork without card; see api_copy.cpp.
struct CopyRequest {
  void* target = nullptr;
  const void* source = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t target_pitch = 0, source_pitch = 0, target_slice = 0, source_slice = 0;
  hipMemcpyKind kind = hipMemcpyDefault;
};
// Errors: hipErrorInvalidValue (a null pointer, a range over its allocation's end),
// hipErrorInvalidMemcpyDirection, hipErrorInvalidPitchValue.
hipError_t check_copy(const CopyRequest& request);
std::shared_ptr<CopyWork> make_copy(const CopyRequest& request);
hipError_t request_of(const hipMemcpy3DParms& params, CopyRequest& request);
hipError_t copy(const CopyRequest& request, hipStream_t stream, bool async);
// A host variable's memory on the current card.
hipError_t symbol_memory(const void* symbol, void*& address, size_t& bytes);

hipError_t make_fill(const hipMemsetParams& params, std::shared_ptr<FillWork>& work);

}  // namespace gfx906::rt
