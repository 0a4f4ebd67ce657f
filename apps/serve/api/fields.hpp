// Reads the members of a request's object: absent and null are the same, a wrong type or range is a
// 400 that names the field.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"

namespace veloce::serve {

class Fields {
 public:
  // `path` is what messages put in front of a field's name, such as "messages[2].".
  explicit Fields(const Json& object, std::string path = {})
      : object_(object), path_(std::move(path)) {}

  const Json& object() const { return object_; }
  std::string name(std::string_view field) const { return path_ + std::string(field); }

  // Null when absent or null.
  const Json* find(std::string_view field) const;
  bool has(std::string_view field) const { return find(field) != nullptr; }

  std::optional<bool> boolean(std::string_view field) const;
  std::optional<std::int64_t> integer(
      std::string_view field, std::int64_t low = std::numeric_limits<std::int64_t>::min(),
      std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  std::optional<double> number(std::string_view field) const;
  std::optional<std::string> string(std::string_view field) const;
  // One of the names given.
  std::optional<std::string> choice(std::string_view field,
                                    std::initializer_list<std::string_view> names) const;
  // A string, or an array of strings.
  std::optional<std::vector<std::string>> strings(std::string_view field) const;
  const Json* object(std::string_view field) const;
  const Json* array(std::string_view field) const;

  const Json& required(std::string_view field) const;
  std::string required_string(std::string_view field) const;

  [[noreturn]] void fail(std::string_view field, const std::string& message) const {
    throw_field(name(field), message);
  }
  [[noreturn]] void wrong_type(std::string_view field, std::string_view expected,
                               const Json& got) const;

 private:
  const Json& object_;
  std::string path_;
};

// An integer if the value is a whole number (JSON has no integers of its own).
std::optional<std::int64_t> as_integer(const Json& value);

}  // namespace veloce::serve
