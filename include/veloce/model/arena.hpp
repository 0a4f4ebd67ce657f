// A block of zeroed memory from the operating system, taken whole and given back whole. Pages that
// were never written take no memory, so the state of sequences that are not in use costs nothing
// but address space.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <string>
#include <utility>

#include "veloce/core/status.hpp"

namespace veloce::model {

class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Arena() {
    if (data_) ::munmap(data_, size_);
  }

  // `what` names the use in the error.
  static Result<Arena> create(std::size_t bytes, const std::string& what) {
    Arena a;
    a.size_ = bytes == 0 ? 64 : (bytes + 63) / 64 * 64;
    void* p = ::mmap(nullptr, a.size_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
      return Status(Code::kOutOfMemory,
                    "cannot take " + std::to_string(bytes) + " bytes for " + what);
    a.data_ = static_cast<std::byte*>(p);
    ::madvise(p, a.size_, MADV_HUGEPAGE);  // best effort: fewer TLB misses in the weights' stream
    return a;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  // Gives the pages of a range back; they read as zero again.
  void release(std::size_t begin, std::size_t end) {
    constexpr std::size_t kPage = 4096;
    begin = (begin + kPage - 1) / kPage * kPage;
    end = end / kPage * kPage;
    if (begin < end) ::madvise(data_ + begin, end - begin, MADV_DONTNEED);
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace veloce::model
