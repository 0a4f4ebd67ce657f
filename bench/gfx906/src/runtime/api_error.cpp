// Error names and texts, versions, and other calls that need no card.
#include <cstring>

#include "api.hpp"

using namespace gfx906::rt;

namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {0, "hipSuccess", "no error"},
    {1, "hipErrorInvalidValue", "invalid argument"},
    {2, "hipErrorOutOfMemory", "out of memory"},
    {3, "hipErrorNotInitialized", "initialization error"},
    {4, "hipErrorDeinitialized", "driver shutting down"},
    {5, "hipErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
    {6, "hipErrorProfilerNotInitialized", "profiler is not initialized"},
    {7, "hipErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "hipErrorProfilerAlreadyStopped", "profiler already stopped"},
    {9, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {12, "hipErrorInvalidPitchValue", "invalid pitch argument"},
    {13, "hipErrorInvalidSymbol", "invalid device symbol"},
    {17, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {21, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
    {52, "hipErrorMissingConfiguration", "__global__ function call is not configured"},
    {53, "hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"},
    {98, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {100, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {101, "hipErrorInvalidDevice", "invalid device ordinal"},
    {200, "hipErrorInvalidImage", "device kernel image is invalid"},
    {201, "hipErrorInvalidContext", "invalid device context"},
    {202, "hipErrorContextAlreadyCurrent", "context is already current context"},
    {205, "hipErrorMapFailed", "mapping of buffer object failed"},
    {206, "hipErrorUnmapFailed", "unmapping of buffer object failed"},
    {207, "hipErrorArrayIsMapped", "array is mapped"},
    {208, "hipErrorAlreadyMapped", "resource already mapped"},
    {209, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {210, "hipErrorAlreadyAcquired", "resource already acquired"},
    {211, "hipErrorNotMapped", "resource not mapped"},
    {212, "hipErrorNotMappedAsArray", "resource not mapped as array"},
    {213, "hipErrorNotMappedAsPointer", "resource not mapped as pointer"},
    {214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
    {215, "hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {216, "hipErrorContextAlreadyInUse",
     "exclusive-thread device already in use by a different thread"},
    {217, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {219, "hipErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
    {300, "hipErrorInvalidSource", "device kernel image is invalid"},
    {301, "hipErrorFileNotFound", "file not found"},
    {302, "hipErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {303, "hipErrorSharedObjectInitFailed", "shared object initialization failed"},
    {304, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {400, "hipErrorInvalidHandle", "invalid resource handle"},
    {401, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {500, "hipErrorNotFound", "named symbol not found"},
    {600, "hipErrorNotReady", "device not ready"},
    {700, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {701, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {704, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {705, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {708, "hipErrorSetOnActiveProcess", "cannot set while device is active in this process"},
    {709, "hipErrorContextIsDestroyed", "context is destroyed"},
    {710, "hipErrorAssert", "device-side assert triggered"},
    {712, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {713, "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {719, "hipErrorLaunchFailure", "unspecified launch failure"},
    {720, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {801, "hipErrorNotSupported", "operation not supported"},
    {900, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {901, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {902, "hipErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {903, "hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {904, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {905, "hipErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {906, "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {908, "hipErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "hipErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints "
     "specific to "
     "instantiated graph update"},
    {911, "hipErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {912, "hipErrorInvalidTexture", "invalid texture"},
    {999, "hipErrorUnknown", "unknown error"},
    {1052, "hipErrorRuntimeMemory", "runtime memory call returned error"},
    {1053, "hipErrorRuntimeOther", "runtime call other than memory returned error"},
    {1054, "hipErrorTbd", "to be determined/implemented"},
};

const ErrorText* find(int code) {
  for (const ErrorText& e : kErrors) {
    if (e.code == code) return &e;
  }
  return nullptr;
}

}  // namespace

GFX906_HIP const char* hipGetErrorName(hipError_t code) {
  const ErrorText* e = find(code);
  return e != nullptr ? e->name : "hipErrorUnknown";
}
GFX906_HIP const char* hipGetErrorString(hipError_t code) {
  const ErrorText* e = find(code);
  return e != nullptr ? e->text : "unknown error";
}
GFX906_HIP hipError_t hipDrvGetErrorName(hipError_t code, const char** text) {
  const ErrorText* e = find(code);
  if (text == nullptr || e == nullptr) return hipErrorInvalidValue;
  *text = e->name;
  return hipSuccess;
}
GFX906_HIP hipError_t hipDrvGetErrorString(hipError_t code, const char** text) {
  const ErrorText* e = find(code);
  if (text == nullptr || e == nullptr) return hipErrorInvalidValue;
  *text = e->text;
  return hipSuccess;
}
GFX906_HIP hipError_t hipGetLastError() {
  return take_last_error();
}
GFX906_HIP hipError_t hipExtGetLastError() {
  return take_last_error();
}
GFX906_HIP hipError_t hipPeekAtLastError() {
  return peek_last_error();
}

GFX906_HIP hipError_t hipInit(unsigned flags) {
  if (flags != 0) return finish(hipErrorInvalidValue);
  return finish(cards().empty() ? hipErrorNoDevice : hipSuccess);
}
// major * 10'000'000 + minor * 100'000 + patch: the releases whose interface the two libraries
// have.
static int version() {
  return kHipMajor >= 6 ? 60443484 : 50221153;
}
GFX906_HIP hipError_t hipRuntimeGetVersion(int* out) {
  if (out == nullptr) return finish(hipErrorInvalidValue);
  *out = version();
  return hipSuccess;
}
GFX906_HIP hipError_t hipDriverGetVersion(int* out) {
  return hipRuntimeGetVersion(out);
}

// Profiler control has nothing to control; programs that bracket their hot part with it should run.
GFX906_HIP hipError_t hipProfilerStart() {
  return hipSuccess;
}
GFX906_HIP hipError_t hipProfilerStop() {
  return hipSuccess;
}
GFX906_HIP const char* hipApiName(uint32_t) {
  return "unknown";
}

// The half-precision helpers that old compilers call.
static float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16, mantissa = h & 0x3ffu;
  const uint32_t exponent = (h >> 10) & 0x1f;
  uint32_t bits = sign;
  if (exponent == 31) {
    bits |= 0x7f800000u | (mantissa << 13);
  } else if (exponent != 0) {
    bits |= ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    uint32_t magnitude = 0;
    std::memcpy(&magnitude, &value, sizeof magnitude);
    bits |= magnitude;
  }
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
static uint16_t float_to_half(float f) {
  uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) {
    return static_cast<uint16_t>(
        sign | 0x7c00 | (magnitude > 0x7f800000u ? 0x200 | ((magnitude >> 13) & 0x3ff) : 0));
  }
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x38800000u) {
    // Adding 0.5 in a format whose last place is the denormal step rounds to nearest even.
    float value = 0;
    std::memcpy(&value, &magnitude, sizeof value);
    value += 0.5f;
    uint32_t rounded = 0;
    std::memcpy(&rounded, &value, sizeof rounded);
    return static_cast<uint16_t>(sign | (rounded - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
GFX906_HIP float __gnu_h2f_ieee(uint16_t h) {
  return half_to_float(h);
}
GFX906_HIP uint16_t __gnu_f2h_ieee(float f) {
  return float_to_half(f);
}
