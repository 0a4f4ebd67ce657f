// One metadata value of a GGUF file: a scalar, a string, or an array of either, viewed where it
// lies in the file. Nothing is copied at load; arrays are decoded when asked for. Source:
// specs/gguf.md section 2.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/gguf/cursor.hpp"

namespace veloce::gguf {

// Value types with their ids in the file.
enum class Kind : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

inline constexpr std::uint32_t kKindCount = 13;

constexpr std::string_view kind_name(Kind kind) {
  constexpr std::string_view kNames[kKindCount] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                   "i32", "f32", "bool", "string", "array",
                                                   "u64", "i64", "f64"};
  return std::uint32_t(kind) < kKindCount ? kNames[std::uint32_t(kind)] : "unknown";
}

// Bytes of a scalar; 0 for strings and arrays, whose size is in the file.
constexpr std::uint32_t kind_bytes(Kind kind) {
  constexpr std::uint32_t kBytes[kKindCount] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return std::uint32_t(kind) < kKindCount ? kBytes[std::uint32_t(kind)] : 0;
}

// A view into the file: valid as long as the File it came from.
class Value {
 public:
  Value() = default;
  // `bytes`: a scalar's bytes, a string's characters, or an array's elements back to back. The
  // caller has checked that they are whole: an array of strings holds `count` lengths that stay
  // inside `bytes`.
  Value(Kind kind, Kind element, std::uint64_t count, std::span<const std::byte> bytes)
      : kind_(kind), element_(element), count_(count), bytes_(bytes) {}

  Kind kind() const { return kind_; }
  bool is_array() const { return kind_ == Kind::kArray; }
  Kind element_kind() const { return element_; }  // of an array; kind() otherwise
  std::uint64_t count() const { return count_; }  // elements of an array; 1 otherwise
  std::span<const std::byte> bytes() const { return bytes_; }

  // Element i (0 for a scalar) where it has the asked-for meaning; nothing when it is of another
  // kind, does not fit, or does not exist. Integers of any width are integers; f32 and f64 are
  // floats.
  std::optional<std::uint64_t> u64(std::uint64_t i = 0) const;
  std::optional<std::int64_t> i64(std::uint64_t i = 0) const;
  std::optional<double> f64(std::uint64_t i = 0) const;
  std::optional<bool> boolean(std::uint64_t i = 0) const;
  // A string; of an array use strings().
  std::optional<std::string_view> string() const;
  // All elements of an array of strings.
  std::optional<std::vector<std::string_view>> strings() const;

  // For messages: `i32 -7`, `string "abc"`, `array of 12 f32`.
  std::string describe() const;

 private:
  struct Integer {
    bool negative;
    std::uint64_t bits;  // two's complement
  };
  std::optional<Integer> integer(std::uint64_t i) const;
  const std::byte* at(std::uint64_t i) const;

  template <class T>
  static T load(const std::byte* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
  template <class T>
  static Integer widen(const std::byte* p) {
    const T value = load<T>(p);
    return {value < T(0), std::uint64_t(std::int64_t(value))};
  }

  Kind kind_ = Kind::kU8;
  Kind element_ = Kind::kU8;
  std::uint64_t count_ = 0;
  std::span<const std::byte> bytes_;
};

inline const std::byte* Value::at(std::uint64_t i) const {
  const std::uint32_t size = kind_bytes(element_);
  return size != 0 && i < count_ ? bytes_.data() + i * size : nullptr;
}

inline std::optional<Value::Integer> Value::integer(std::uint64_t i) const {
  const std::byte* p = at(i);
  if (p == nullptr) return std::nullopt;
  switch (element_) {
    case Kind::kU8:
      return widen<std::uint8_t>(p);
    case Kind::kI8:
      return widen<std::int8_t>(p);
    case Kind::kU16:
      return widen<std::uint16_t>(p);
    case Kind::kI16:
      return widen<std::int16_t>(p);
    case Kind::kU32:
      return widen<std::uint32_t>(p);
    case Kind::kI32:
      return widen<std::int32_t>(p);
    case Kind::kU64:
      return Integer{false, load<std::uint64_t>(p)};
    case Kind::kI64:
      return widen<std::int64_t>(p);
    default:
      return std::nullopt;
  }
}

inline std::optional<std::uint64_t> Value::u64(std::uint64_t i) const {
  const auto value = integer(i);
  if (!value || value->negative) return std::nullopt;
  return value->bits;
}

inline std::optional<std::int64_t> Value::i64(std::uint64_t i) const {
  const auto value = integer(i);
  if (!value || (!value->negative && value->bits > std::uint64_t(INT64_MAX))) return std::nullopt;
  return std::bit_cast<std::int64_t>(value->bits);
}

inline std::optional<double> Value::f64(std::uint64_t i) const {
  const std::byte* p = at(i);
  if (p == nullptr) return std::nullopt;
  if (element_ == Kind::kF32) return double(load<float>(p));
  if (element_ == Kind::kF64) return load<double>(p);
  return std::nullopt;
}

inline std::optional<bool> Value::boolean(std::uint64_t i) const {
  const std::byte* p = at(i);
  if (p == nullptr || element_ != Kind::kBool) return std::nullopt;
  return *p != std::byte{0};
}

inline std::optional<std::string_view> Value::string() const {
  if (kind_ != Kind::kString) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
}

inline std::optional<std::vector<std::string_view>> Value::strings() const {
  if (!is_array() || element_ != Kind::kString) return std::nullopt;
  std::vector<std::string_view> out(count_);
  Cursor cursor(bytes_);
  for (std::string_view& text : out)
    if (!cursor.read_string(text)) return std::nullopt;
  return out;
}

inline std::string Value::describe() const {
  if (is_array())
    return "array of " + std::to_string(count_) + " " + std::string(kind_name(element_));
  std::string kind = std::string(kind_name(kind_)) + " ";
  if (const auto text = string()) return kind + in_quotes(*text);
  if (const auto value = boolean()) return kind + (*value ? "true" : "false");
  if (const auto value = f64()) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", *value);
    return kind + digits;
  }
  if (const auto value = u64()) return kind + std::to_string(*value);
  if (const auto value = i64()) return kind + std::to_string(*value);
  return kind;
}

}  // namespace veloce::gguf
