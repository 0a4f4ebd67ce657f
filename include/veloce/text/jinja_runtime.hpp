// The frame of one rendering: errors, limits and the clock. Errors are sticky: the first is kept,
// and every later step fails at once, so that code in between needs no checks of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace veloce::text::jinja {

enum class ErrorKind {
  kNone,
  kSyntax,     // the template itself; also an unknown filter, test or tag
  kUndefined,  // use of an undefined value
  kSecurity,   // the sandbox: lists and dicts cannot be changed, internals not seen
  kRaise,      // raise_exception(message)
  kRuntime,    // what Python would raise, by name in Error::exception; also a limit exceeded
               // ("LimitError")
};

constexpr const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kNone:
      return "none";
    case ErrorKind::kSyntax:
      return "syntax";
    case ErrorKind::kUndefined:
      return "undefined";
    case ErrorKind::kSecurity:
      return "security";
    case ErrorKind::kRaise:
      return "raise_exception";
    case ErrorKind::kRuntime:
      return "runtime";
  }
  return "unknown";
}

struct Error {
  ErrorKind kind = ErrorKind::kNone;
  std::string exception;  // Python's class name, e.g. "TypeError"
  std::string message;
  int line = 0;  // of the template, from 1; 0 if not known
};

// Bounds on the work of one rendering. What exceeds one is a runtime error "LimitError".
struct Limits {
  std::uint64_t max_steps = 20'000'000;  // nodes evaluated, plus a share for bytes handled
  std::size_t max_memory = 128u << 20;   // bytes of live values
  std::size_t max_output = 64u << 20;    // bytes of text
  int max_depth = 2000;                  // nested evaluations: macros, recursive loops, expressions
  int max_value_depth = 200;             // containers inside containers
};

// Local time, broken down, for strftime_now. Empty: the system's.
using Clock = std::function<std::tm()>;

// Bytes held by the values of a rendering.
struct MemoryAccount {
  std::size_t live = 0;
};

class Runtime {
 public:
  explicit Runtime(const Limits& limits, Clock clock = {})
      : limits_(limits), clock_(std::move(clock)) {}
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime() {
    for (const Kept& k : kept_) k.take_apart(k.object.get());
  }

  bool failed() const { return error_.kind != ErrorKind::kNone; }
  const Error& error() const { return error_; }
  const Limits& limits() const { return limits_; }
  MemoryAccount* memory() { return &memory_; }
  void set_line(int line) { line_ = line; }
  int line() const { return line_; }

  // Records the first error; later ones are ignored.
  void fail(ErrorKind kind, std::string exception, std::string message) {
    if (!failed()) error_ = {kind, std::move(exception), std::move(message), line_};
  }
  void limit(std::string message) { fail(ErrorKind::kRuntime, "LimitError", std::move(message)); }

  // Counts n units of work. False once anything has failed.
  bool step(std::uint64_t n = 1) {
    if (failed()) return false;
    steps_ += n;
    if (steps_ <= limits_.max_steps) return true;
    limit("the template takes more than " + std::to_string(limits_.max_steps) + " steps");
    return false;
  }
  // Asks for n more bytes of values and counts the work of filling them. False (and an error) if
  // that is too much.
  bool reserve(std::uint64_t n) {
    if (failed()) return false;
    if (n > limits_.max_memory || memory_.live + n > limits_.max_memory) {
      limit("the template needs more than " + std::to_string(limits_.max_memory) +
            " bytes of memory");
      return false;
    }
    return step(n / 256);
  }

  // Nested evaluation, as a guard: `Runtime::Depth d(rt); if (!d) return {};`.
  class Depth {
   public:
    explicit Depth(Runtime& rt) : rt_(rt) {
      if (++rt_.depth_ > rt_.limits_.max_depth)
        rt_.fail(ErrorKind::kRuntime, "RecursionError", "maximum recursion depth exceeded");
    }
    ~Depth() { --rt_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    explicit operator bool() const { return !rt_.failed(); }

   private:
    Runtime& rt_;
  };

  // Holds an object that may be part of a circle until the rendering ends; `take_apart` then breaks
  // the circle.
  void keep(std::shared_ptr<void> object, void (*take_apart)(void*)) {
    kept_.push_back({std::move(object), take_apart});
  }

  std::tm now() const {
    if (clock_) return clock_();
    const std::time_t seconds = std::time(nullptr);
    std::tm out{};
    localtime_r(&seconds, &out);
    return out;
  }

 private:
  struct Kept {
    std::shared_ptr<void> object;
    void (*take_apart)(void*);
  };

  Limits limits_;
  Clock clock_;
  MemoryAccount memory_;
  std::vector<Kept> kept_;
  Error error_;
  std::uint64_t steps_ = 0;
  int depth_ = 0;
  int line_ = 0;
};

}  // namespace veloce::text::jinja
