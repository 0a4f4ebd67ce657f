#include "api/fields.hpp"

#include <algorithm>
#include <cmath>

namespace veloce::serve {

const Json* Fields::find(std::string_view field) const {
  const auto found = object_.find(std::string(field));
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::wrong_type(std::string_view field, std::string_view expected, const Json& got) const {
  fail(field, "must be " + std::string(expected) + ", not " + got.type_name());
}

std::optional<std::int64_t> as_integer(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<bool> Fields::boolean(std::string_view field) const {
  const Json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) wrong_type(field, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::int64_t> Fields::integer(std::string_view field, std::int64_t low,
                                            std::int64_t high) const {
  const Json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_number()) wrong_type(field, "an integer", *value);
  const std::optional<std::int64_t> number = as_integer(*value);
  if (!number) fail(field, "must be an integer, but is " + dump_json(*value));
  if (*number < low || *number > high) {
    fail(field, "must be between " + std::to_string(low) + " and " + std::to_string(high) +
                    ", but is " + std::to_string(*number));
  }
  return number;
}

std::optional<double> Fields::number(std::string_view field) const {
  const Json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_number()) wrong_type(field, "a number", *value);
  return value->get<double>();
}

std::optional<std::string> Fields::string(std::string_view field) const {
  const Json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_string()) wrong_type(field, "a string", *value);
  return value->get<std::string>();
}

std::optional<std::string> Fields::choice(std::string_view field,
                                          std::initializer_list<std::string_view> names) const {
  std::optional<std::string> value = string(field);
  if (!value || std::find(names.begin(), names.end(), *value) != names.end()) return value;
  std::string list;
  for (const std::string_view name : names)
    list += (list.empty() ? "'" : ", '") + std::string(name) + '\'';
  fail(field, "must be one of " + list + ", but is '" + value->substr(0, 60) + "'");
}

std::optional<std::vector<std::string>> Fields::strings(std::string_view field) const {
  const Json* value = find(field);
  if (!value) return std::nullopt;
  if (value->is_string()) return std::vector<std::string>{value->get<std::string>()};
  if (!value->is_array()) wrong_type(field, "a string or an array of strings", *value);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Json& item = (*value)[i];
    if (!item.is_string())
      wrong_type(std::string(field) + '[' + std::to_string(i) + ']', "a string", item);
    out.push_back(item.get<std::string>());
  }
  return out;
}

const Json* Fields::object(std::string_view field) const {
  const Json* value = find(field);
  if (value && !value->is_object()) wrong_type(field, "an object", *value);
  return value;
}

const Json* Fields::array(std::string_view field) const {
  const Json* value = find(field);
  if (value && !value->is_array()) wrong_type(field, "an array", *value);
  return value;
}

const Json& Fields::required(std::string_view field) const {
  const Json* value = find(field);
  if (!value) fail(field, "is required");
  return *value;
}

std::string Fields::required_string(std::string_view field) const {
  [[maybe_unused]] const Json& present = required(field);
  return *string(field);
}

}  // namespace veloce::serve
