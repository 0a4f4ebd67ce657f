// Errors without exceptions: every fallible function of the library returns Status or Result<T>.
//
// Three kinds of error are kept apart. Template misuse is a concept or a static_assert. A wrong
// call (shape, null, range) and the outside world (file, memory, device) are both a Status whose
// message names the thing, the field and the value, so that an app can print it as it is.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace veloce {

enum class Code {
  kOk,
  kInvalidArgument,  // the caller's mistake: a flag, a request, a shape
  kNotFound,         // no such file, key or tensor
  kCorrupt,          // a file or message contradicts its format
  kUnsupported,      // well-formed, but this build cannot do it
  kOutOfMemory,      // more memory than there is or than is allowed
  kIo,               // the operating system said no
  kCancelled,        // the caller asked to stop
  kInternal,         // a broken invariant of our own
};

// Success, or a code with a message for people.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  explicit operator bool() const { return code_ == Code::kOk; }
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A value, or the Status that says why there is none (never an ok Status).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok() && "a Result without a value needs an error");
  }

  explicit operator bool() const { return value_.has_value(); }
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace veloce
