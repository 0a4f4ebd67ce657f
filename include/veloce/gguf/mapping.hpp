// A regular file mapped read-only into memory, and the memory advice that goes with it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "veloce/core/status.hpp"

namespace veloce::gguf {

// Owns the mapping and the descriptor. The bytes keep their address when the Mapping is moved. A
// file that someone shortens while it is mapped raises SIGBUS on access, as with any mapping;
// unchanged() tells before that.
class Mapping {
 public:
  // Refuses anything but a regular file at once: a pipe or a device is never waited for.
  static Result<Mapping> open(const std::string& path);

  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    Mapping taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Mapping() {
    if (data_ != nullptr) ::munmap(data_, size_);
    if (fd_ >= 0) ::close(fd_);
  }

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // An error when the file's size or modification time is no longer what it was when it was mapped.
  Status unchanged() const;

  // Copies a range of the mapping's bytes from the file itself: no page of the mapping becomes
  // resident, and a file that was shortened gives an error (kIo) instead of SIGBUS.
  Status read(const std::byte* begin, std::span<std::byte> out) const;

  // Drops the resident pages that lie wholly inside the range; they are read again when touched.
  void drop(const std::byte* begin, std::uint64_t bytes) const {
    advise(begin, bytes, MADV_DONTNEED, false);
  }
  // Asks the kernel to read the range ahead.
  void prefetch(const std::byte* begin, std::uint64_t bytes) const {
    advise(begin, bytes, MADV_WILLNEED, true);
  }

 private:
  struct Identity {
    std::int64_t size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Identity&) const = default;
  };
  Mapping(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  const std::byte* bytes_begin() const { return static_cast<const std::byte*>(data_); }
  void swap(Mapping& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(fd_, other.fd_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(identity_, other.identity_);
  }
  static Identity identity_of(const struct stat& info) {
    return {std::int64_t(info.st_size), std::int64_t(info.st_mtim.tv_sec),
            std::int64_t(info.st_mtim.tv_nsec)};
  }
  void advise(const std::byte* begin, std::uint64_t bytes, int advice,
              bool whole_pages_around) const;

  std::string path_;
  int fd_ = -1;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  Identity identity_;
};

namespace detail {

inline Status os_error(const std::string& path, const char* action) {
  const int code = errno;
  return {code == ENOENT ? Code::kNotFound : Code::kIo,
          path + ": cannot " + action + ": " + std::strerror(code)};
}

inline const char* file_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

}  // namespace detail

inline Result<Mapping> Mapping::open(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return Status(Code::kInvalidArgument, "a file name contains a NUL byte");
  struct stat info {};
  // Asked before opening too, because opening a device can have effects of its own.
  if (::stat(path.c_str(), &info) != 0) return detail::os_error(path, "open");
  if (!S_ISREG(info.st_mode))
    return Status(Code::kInvalidArgument,
                  path + ": is " + detail::file_kind(info.st_mode) + ", not a file");
  Mapping mapping(path, ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (mapping.fd_ < 0) return detail::os_error(path, "open");
  if (::fstat(mapping.fd_, &info) != 0) return detail::os_error(path, "examine");
  if (!S_ISREG(info.st_mode))
    return Status(Code::kInvalidArgument,
                  path + ": is " + detail::file_kind(info.st_mode) + ", not a file");
  mapping.identity_ = identity_of(info);
  mapping.size_ = std::size_t(info.st_size);
  if (mapping.size_ == 0) return mapping;
  void* data = ::mmap(nullptr, mapping.size_, PROT_READ, MAP_PRIVATE, mapping.fd_, 0);
  if (data == MAP_FAILED) return detail::os_error(path, "map");
  mapping.data_ = data;
  return mapping;
}

inline Status Mapping::unchanged() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return detail::os_error(path_, "examine");
  const Identity now = identity_of(info);
  if (now == identity_) return {};
  return {Code::kIo, path_ + ": the file was changed while it was in use (it had " +
                         std::to_string(identity_.size) + " bytes, now " +
                         std::to_string(now.size) + ")"};
}

inline Status Mapping::read(const std::byte* begin, std::span<std::byte> out) const {
  std::uint64_t offset = std::uint64_t(begin - bytes_begin());
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_, out.data(), out.size(), off_t(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return detail::os_error(path_, "read");
    if (got == 0)
      return {Code::kIo, path_ + ": ends before byte " + std::to_string(offset) +
                             ": it was shortened while it was in use"};
    offset += std::uint64_t(got);
    out = out.subspan(std::size_t(got));
  }
  return {};
}

inline void Mapping::advise(const std::byte* begin, std::uint64_t bytes, int advice,
                            bool whole_pages_around) const {
  if (data_ == nullptr || begin < bytes_begin() || begin > bytes_begin() + size_) return;
  const std::uint64_t first = std::uint64_t(begin - bytes_begin());
  if (bytes > size_ - first) return;
  // The mapping begins on a page, so pages can be counted from its start.
  const std::uint64_t page = std::uint64_t(::sysconf(_SC_PAGESIZE));
  const std::uint64_t from =
      whole_pages_around ? first / page * page : (first + page - 1) / page * page;
  std::uint64_t to = first + bytes;
  // The last page of the file belongs to nobody else, so it may go too.
  if (!whole_pages_around && to != size_) to = to / page * page;
  if (from < to) ::madvise(static_cast<std::byte*>(data_) + from, to - from, advice);
}

}  // namespace veloce::gguf
