// The key/value part of a GGUF file, with typed access whose errors say which file, which key, what
// was expected and what was found. Reading is generous where nothing can go wrong: an integer key
// may be stored in any integer type that holds the value, a float key as f32 or f64.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "veloce/core/status.hpp"
#include "veloce/gguf/value.hpp"

namespace veloce::gguf {

// Indices of `items` in the order of key_of(item). Sorting, not hashing: the cost of hostile names
// stays n log n.
template <class T, class KeyOf>
std::vector<std::uint32_t> sorted_index(const std::vector<T>& items, KeyOf key_of) {
  std::vector<std::uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key_of(items[a]) < key_of(items[b]); });
  return index;
}

class Metadata {
 public:
  struct Entry {
    std::string_view key;
    Value value;
  };

  Metadata() = default;
  // `file` is what messages call the file. Two entries with one key: find() gives one of them; the
  // loader refuses that.
  Metadata(std::string file, std::vector<Entry> entries)
      : file_(std::move(file)),
        entries_(std::move(entries)),
        index_(sorted_index(entries_, key_of)) {}

  // In the order of the file.
  std::span<const Entry> entries() const { return entries_; }
  // Indices of entries() in the order of their keys.
  std::span<const std::uint32_t> by_key() const { return index_; }
  const std::string& file() const { return file_; }

  const Value* find(std::string_view key) const {
    const auto at =
        std::lower_bound(index_.begin(), index_.end(), key,
                         [&](std::uint32_t i, std::string_view k) { return entries_[i].key < k; });
    return at != index_.end() && entries_[*at].key == key ? &entries_[*at].value : nullptr;
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // The value as a T: bool, any integer type (the value must fit), float or double,
  // std::string_view (into the file) or std::string. kNotFound when the key is missing, kCorrupt
  // when it is of another kind or does not fit.
  template <class T>
  Result<T> get(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) return missing(key, expected<T>());
    if (auto converted = convert<T>(*value)) return *std::move(converted);
    return mismatch(key, expected<T>(), *value);
  }

  // The same, but a missing key gives `fallback`. A key of the wrong kind is still an error.
  template <class T>
  Result<T> get_or(std::string_view key, std::type_identity_t<T> fallback) const {
    return has(key) ? get<T>(key) : Result<T>(std::move(fallback));
  }

  // get<T> and a check that low <= value <= high (a NaN is outside).
  template <class T>
  Result<T> get_in(std::string_view key, std::type_identity_t<T> low,
                   std::type_identity_t<T> high) const {
    Result<T> value = get<T>(key);
    if (value && !(*value >= low && *value <= high))
      return mismatch(key, "a value from " + std::to_string(low) + " to " + std::to_string(high),
                      *find(key));
    return value;
  }
  template <class T>
  Result<T> get_in_or(std::string_view key, std::type_identity_t<T> low,
                      std::type_identity_t<T> high, std::type_identity_t<T> fallback) const {
    return has(key) ? get_in<T>(key, low, high) : Result<T>(fallback);
  }

  Result<std::uint64_t> get_u64(std::string_view key) const { return get<std::uint64_t>(key); }
  Result<std::int64_t> get_i64(std::string_view key) const { return get<std::int64_t>(key); }
  Result<double> get_f64(std::string_view key) const { return get<double>(key); }
  Result<bool> get_bool(std::string_view key) const { return get<bool>(key); }
  Result<std::string_view> get_string(std::string_view key) const {
    return get<std::string_view>(key);
  }

  // Arrays. The string views point into the file.
  Result<std::vector<std::string_view>> get_string_array(std::string_view key) const;
  Result<std::vector<float>> get_float_array(std::string_view key) const;
  Result<std::vector<std::int64_t>> get_int_array(std::string_view key) const;
  Result<std::vector<bool>> get_bool_array(std::string_view key) const;

  // A hyper-parameter that may be one integer for all layers or an array with one for each: always
  // `layers` values.
  Result<std::vector<std::int64_t>> get_int_per_layer(std::string_view key,
                                                      std::size_t layers) const;

  // Errors in the words of the getters, for checks of the caller's own.
  Status missing(std::string_view key, std::string_view expected) const {
    return {Code::kNotFound, file_ + ": key " + in_quotes(key) + " is missing (expected " +
                                 std::string(expected) + ")"};
  }
  Status mismatch(std::string_view key, std::string_view expected, const Value& actual) const {
    return {Code::kCorrupt, file_ + ": key " + in_quotes(key) + ": expected " +
                                std::string(expected) + ", found " + actual.describe()};
  }

 private:
  static std::string_view key_of(const Entry& entry) { return entry.key; }

  template <class T>
  static std::optional<T> convert(const Value& value);
  template <class T>
  static std::string expected();
  template <class T, class Get>
  Result<std::vector<T>> get_array(std::string_view key, std::string_view what,
                                   Get get_element) const;

  std::string file_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> index_;
};

template <class T>
std::optional<T> Metadata::convert(const Value& value) {
  if (value.is_array()) return std::nullopt;
  if constexpr (std::same_as<T, bool>) {
    return value.boolean();
  } else if constexpr (std::unsigned_integral<T>) {
    const auto wide = value.u64();
    if (!wide || *wide > std::numeric_limits<T>::max()) return std::nullopt;
    return T(*wide);
  } else if constexpr (std::signed_integral<T>) {
    const auto wide = value.i64();
    if (!wide || *wide < std::numeric_limits<T>::min() || *wide > std::numeric_limits<T>::max())
      return std::nullopt;
    return T(*wide);
  } else if constexpr (std::floating_point<T>) {
    const auto wide = value.f64();
    if (!wide) return std::nullopt;
    return T(*wide);
  } else {
    const auto text = value.string();
    if (!text) return std::nullopt;
    return T(*text);
  }
}

template <class T>
std::string Metadata::expected() {
  if constexpr (std::same_as<T, bool>) {
    return "a bool";
  } else if constexpr (std::integral<T>) {
    return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  } else if constexpr (std::floating_point<T>) {
    return "a float";
  } else {
    return "a string";
  }
}

template <class T, class Get>
Result<std::vector<T>> Metadata::get_array(std::string_view key, std::string_view what,
                                           Get get_element) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key, what);
  if (!value->is_array()) return mismatch(key, what, *value);
  std::vector<T> out;
  out.reserve(value->count());
  for (std::uint64_t i = 0; i < value->count(); ++i) {
    const auto element = get_element(*value, i);
    if (!element) return mismatch(key, what, *value);
    out.push_back(T(*element));
  }
  return out;
}

inline Result<std::vector<std::string_view>> Metadata::get_string_array(
    std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key, "an array of strings");
  if (auto strings = value->strings()) return *std::move(strings);
  return mismatch(key, "an array of strings", *value);
}

inline Result<std::vector<float>> Metadata::get_float_array(std::string_view key) const {
  return get_array<float>(key, "an array of floats",
                          [](const Value& v, std::uint64_t i) { return v.f64(i); });
}

inline Result<std::vector<std::int64_t>> Metadata::get_int_array(std::string_view key) const {
  return get_array<std::int64_t>(key, "an array of integers",
                                 [](const Value& v, std::uint64_t i) { return v.i64(i); });
}

inline Result<std::vector<bool>> Metadata::get_bool_array(std::string_view key) const {
  return get_array<bool>(key, "an array of bools",
                         [](const Value& v, std::uint64_t i) { return v.boolean(i); });
}

inline Result<std::vector<std::int64_t>> Metadata::get_int_per_layer(std::string_view key,
                                                                     std::size_t layers) const {
  const Value* value = find(key);
  if (value != nullptr && !value->is_array()) {
    const Result<std::int64_t> one = get<std::int64_t>(key);
    if (!one) return one.status();
    return std::vector<std::int64_t>(layers, *one);
  }
  Result<std::vector<std::int64_t>> each = get_int_array(key);
  if (each && each->size() != layers)
    return mismatch(key, "an integer or an array of " + std::to_string(layers) + " integers",
                    *value);
  return each;
}

}  // namespace veloce::gguf
