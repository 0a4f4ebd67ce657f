// How the ops' check() functions word a wrong call: the op, the field, its value, and what would be
// right.
#pragma once

#include <cstddef>
#include <string>

#include "veloce/core/status.hpp"

namespace veloce::detail {

// Collects the first thing wrong with an op's arguments, so that a check() reads as a list of
// rules.
class ArgChecker {
 public:
  explicit ArgChecker(const char* op) : op_(op) {}

  ArgChecker& not_null(const char* field, const void* p) {
    if (p == nullptr) fail(field, "null", "must point to data");
    return *this;
  }
  ArgChecker& at_least(const char* field, long long value, long long low) {
    if (value < low) fail(field, std::to_string(value), "must be at least " + std::to_string(low));
    return *this;
  }
  ArgChecker& at_most(const char* field, long long value, long long high, const std::string& of) {
    if (value > high)
      fail(field, std::to_string(value),
           "must be at most " + std::to_string(high) + " (" + of + ")");
    return *this;
  }
  ArgChecker& multiple(const char* field, long long value, long long of, const std::string& why) {
    if (value % of != 0)
      fail(field, std::to_string(value),
           "must be a multiple of " + std::to_string(of) + " (" + why + ")");
    return *this;
  }
  // A distance between rows: 0 stands for "next to each other".
  ArgChecker& stride(const char* field, std::size_t value, std::size_t row) {
    if (value != 0 && value < row)
      fail(field, std::to_string(value), "must be 0 or at least a row's " + std::to_string(row));
    return *this;
  }
  ArgChecker& finite(const char* field, float value) {
    if (!(value - value == 0.0f)) fail(field, std::to_string(value), "must be finite");
    return *this;
  }
  ArgChecker& rule(bool holds, const char* field, const std::string& value,
                   const std::string& why) {
    if (!holds) fail(field, value, why);
    return *this;
  }
  Status status() const { return status_; }

 private:
  void fail(const char* field, const std::string& value, const std::string& why) {
    if (status_.ok())
      status_ = Status(Code::kInvalidArgument,
                       std::string(op_) + ": " + field + " = " + value + ": " + why);
  }
  const char* op_;
  Status status_;
};

// The real distance between rows.
constexpr std::size_t stride_or(std::size_t stride, std::size_t row) {
  return stride == 0 ? row : stride;
}

}  // namespace veloce::detail
