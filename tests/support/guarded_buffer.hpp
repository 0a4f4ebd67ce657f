// Memory that ends exactly where an unreadable page begins: a read or write past the end faults at
// once, without a sanitizer and at full speed. For tests of kernels.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace veloce::test {

class GuardedBytes {
 public:
  GuardedBytes() = default;
  // `alignment` of the start; where it does not divide the size, up to alignment - 1 bytes behind
  // the end stay readable.
  explicit GuardedBytes(std::size_t bytes, std::size_t alignment = 1) : bytes_(bytes) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + alignment - 1) / alignment * alignment,
                      body = (used + page - 1) / page * page;
    size_ = body + 2 * page;
    void* p = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(p);
    // A page in front as well, for what runs backwards.
    if (mprotect(base_, page, PROT_NONE) != 0 ||
        mprotect(base_ + page + body, page, PROT_NONE) != 0)
      std::abort();
    data_ = base_ + page + body - used;
  }
  GuardedBytes(GuardedBytes&& other) noexcept { swap(other); }
  GuardedBytes& operator=(GuardedBytes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GuardedBytes() {
    if (base_) munmap(base_, size_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  void swap(GuardedBytes& other) {
    std::swap(base_, other.base_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(bytes_, other.bytes_);
  }
  std::byte *base_ = nullptr, *data_ = nullptr;
  std::size_t size_ = 0, bytes_ = 0;
};

// The same as an array of T, zeroed.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(std::size_t count) : bytes_(count * sizeof(T), alignof(T)), count_(count) {}
  template <class Range>
  static Guarded of(const Range& values) {
    Guarded g(std::size(values));
    std::size_t i = 0;
    for (const auto& v : values) g[i++] = v;
    return g;
  }

  T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }

 private:
  GuardedBytes bytes_;
  std::size_t count_ = 0;
};

}  // namespace veloce::test
