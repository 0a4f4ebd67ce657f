// The thin shim over the GPU runtimes: HIP's and CUDA's spelling of the same few calls. Only here.
// For units compiled by a GPU compiler (hipcc for gfx906, nvcc to execute the same kernels on
// NVIDIA cards).
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "veloce/config.hpp"
#include "veloce/core/status.hpp"

#if !defined(VELOCE_GPU_COMPILER)
#error "gpu/runtime.hpp needs hipcc or nvcc; host units include the other headers of gpu/"
#endif

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define VELOCE_GPU_API(name) hip##name
#else
#include <cuda_runtime.h>
#define VELOCE_GPU_API(name) cuda##name
#endif

namespace veloce::gpu {

using RuntimeError = VELOCE_GPU_API(Error_t);

// Success, or kIo / kOutOfMemory with the runtime's own words for what failed.
inline Status check(RuntimeError error, const char* what) {
  if (error == VELOCE_GPU_API(Success)) return {};
  const bool memory = error == VELOCE_GPU_API(ErrorMemoryAllocation);
  return Status(memory ? Code::kOutOfMemory : Code::kIo,
                std::string(what) + ": " + VELOCE_GPU_API(GetErrorString)(error));
}

// Cards that can be used; 0 where there is none or no driver.
inline int device_count() {
  int n = 0;
  return VELOCE_GPU_API(GetDeviceCount)(&n) == VELOCE_GPU_API(Success) ? n : 0;
}

// Device memory, owned.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
  }
  Buffer& operator=(Buffer&& other) noexcept {
    void* data = data_;
    const std::size_t size = size_;
    data_ = other.data_;
    size_ = other.size_;
    other.data_ = data;
    other.size_ = size;
    return *this;
  }
  ~Buffer() {
    if (data_) (void)VELOCE_GPU_API(Free)(data_);
  }

  static Result<Buffer> create(std::size_t bytes) {
    Buffer b;
    b.size_ = bytes;
    if (Status s = check(VELOCE_GPU_API(Malloc)(&b.data_, bytes), "device memory"); !s) return s;
    return Result<Buffer>(std::move(b));
  }
  void* data() const { return data_; }
  std::size_t size() const { return size_; }

  Status upload(const void* from, std::size_t bytes) {
    return check(VELOCE_GPU_API(Memcpy)(data_, from, bytes, VELOCE_GPU_API(MemcpyHostToDevice)),
                 "copy to the device");
  }
  Status download(void* to, std::size_t bytes) const {
    return check(VELOCE_GPU_API(Memcpy)(to, data_, bytes, VELOCE_GPU_API(MemcpyDeviceToHost)),
                 "copy from the device");
  }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// The error of a kernel launch just made, without waiting for the kernel.
inline Status launched(const char* kernel) {
  return check(VELOCE_GPU_API(GetLastError)(), kernel);
}

// Waits for all work on the current card.
inline Status synchronize() {
  return check(VELOCE_GPU_API(DeviceSynchronize)(), "synchronize");
}

}  // namespace veloce::gpu
