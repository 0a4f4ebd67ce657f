// Errors without exceptions for the gfx906 simulator: every fallible function returns Status or
// Result<T>. The message names the thing, the field and the value, so that a tool can print it as
// it is.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace gfx906 {

enum class Code {
  kOk,
  kInvalidArgument,  // the caller's mistake: a launch size, a null pointer
  kNotFound,         // no such kernel, symbol or target in the file
  kCorrupt,          // a file contradicts its format
  kUnsupported,      // well-formed, but this simulator cannot do it (an unknown instruction)
  kOutOfMemory,
  kIo,
  kFault,  // the kernel itself failed: a memory fault, a trap, an illegal register
  kCancelled,
};

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
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
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

}  // namespace gfx906
