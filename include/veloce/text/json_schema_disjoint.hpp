// Whether two schemas can accept the same document: `oneOf` is enforceable by a grammar exactly
// where its branches exclude each other. The test is sound and not complete: "no" means that it was
// not proven.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace veloce::text::schema {

class DisjointTest {
 public:
  using Json = nlohmann::ordered_json;
  // The alternatives of a schema, none with combinators at its top; nothing where they can't be
  // had.
  using Expand = std::function<std::optional<std::vector<Json>>(const Json&)>;

  DisjointTest(Expand expand, std::size_t most_work)
      : expand_(std::move(expand)), left_(most_work) {}

  // True if no text written for `a` is valid under `b`, nor the other way round. Both without
  // combinators at their top.
  bool disjoint(const Json& a, const Json& b, int depth = 0) {
    constexpr int kDeepest = 8;
    if (depth > kDeepest || left_ == 0) return false;
    --left_;
    return refuses(b, a, depth) && refuses(a, b, depth);
  }

 private:
  enum Type : unsigned {
    kNull = 1,
    kBoolean = 2,
    kObject = 4,
    kArray = 8,
    kString = 16,
    kInteger = 32,
    kFraction = 64,
    kAll = 127
  };

  static const Json* find(const Json& object, std::string_view key) {
    const auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
  }
  static unsigned named(const Json& name) {
    if (!name.is_string()) return kAll;
    const std::string& n = name.get_ref<const std::string&>();
    return n == "null"      ? kNull
           : n == "boolean" ? kBoolean
           : n == "object"  ? kObject
           : n == "array"   ? kArray
           : n == "string"  ? kString
           : n == "integer" ? kInteger
           : n == "number"  ? kInteger | kFraction
                            : static_cast<unsigned>(kAll);
  }
  static unsigned type_of(const Json& value) {
    if (value.is_number())
      return value.is_number_float() && std::floor(value.get<double>()) != value.get<double>()
                 ? kFraction
                 : kInteger;
    return value.is_null()      ? kNull
           : value.is_boolean() ? kBoolean
           : value.is_object()  ? kObject
           : value.is_array()   ? kArray
                                : kString;
  }
  // Types that the standard lets the schema accept.
  static unsigned types(const Json& s) {
    unsigned out = kAll;
    if (const Json* type = find(s, "type")) {
      out = 0;
      for (const Json& t : type->is_array() ? *type : Json::array({*type})) out |= named(t);
    }
    const Json* nullable = find(s, "nullable");
    return nullable && *nullable == true ? out | kNull : out;
  }
  static std::optional<std::vector<Json>> values(const Json& s) {
    if (const Json* one = find(s, "const")) return std::vector<Json>{*one};
    const Json* list = find(s, "enum");
    if (!list || !list->is_array()) return std::nullopt;
    std::vector<Json> out(list->begin(), list->end());
    const Json* nullable = find(s, "nullable");
    if (nullable && *nullable == true) out.push_back(nullptr);
    return out;
  }

  // Does `s` refuse this value?
  bool refuses_value(const Json& s, const Json& value) {
    const unsigned type = type_of(value);
    if ((types(s) & type) == 0) return true;
    if (const auto own = values(s)) return std::find(own->begin(), own->end(), value) == own->end();
    if (type & (kInteger | kFraction)) {
      const double v = value.get<double>();
      return outside(s, v);
    }
    if (type != kObject) return false;
    const Json* required = find(s, "required");
    return required && required->is_array() &&
           std::any_of(required->begin(), required->end(), [&](const Json& name) {
             return name.is_string() && !value.contains(name.get<std::string>());
           });
  }
  static double limit(const Json& s, const char* key, double otherwise) {
    const Json* value = find(s, key);
    return value && value->is_number() ? value->get<double>() : otherwise;
  }
  static bool outside(const Json& s, double v) {
    return v < limit(s, "minimum", v) || v > limit(s, "maximum", v) ||
           v <= limit(s, "exclusiveMinimum", std::nextafter(v, -INFINITY)) ||
           v >= limit(s, "exclusiveMaximum", std::nextafter(v, INFINITY));
  }
  // All that `low_of` accepts of a type lies above what the other accepts. Whole counts.
  static bool above(const Json& low_of, const Json& high_of, const char* low, const char* high) {
    return limit(low_of, low, 0) > limit(high_of, high, INFINITY);
  }
  static bool numbers_apart(const Json& a, const Json& b) {
    const auto over = [](const Json& low_of, const Json& high_of) {
      const double low = limit(low_of, "minimum", -INFINITY),
                   open_low = limit(low_of, "exclusiveMinimum", -INFINITY);
      const double high = limit(high_of, "maximum", INFINITY),
                   open_high = limit(high_of, "exclusiveMaximum", INFINITY);
      return low > high || low >= open_high || open_low >= high || open_low >= open_high;
    };
    return over(a, b) || over(b, a);
  }

  // Does `judge` refuse every text that is written for `written`? A text is written with the types
  // that keywords speak of where no type is given, and without properties that nobody named; the
  // judge reads as the standard has it.
  bool refuses(const Json& judge, const Json& written, int depth) {
    const auto own = values(written), other = values(judge);
    if (own)
      return std::all_of(own->begin(), own->end(),
                         [&](const Json& v) { return refuses_value(judge, v); });
    if (other)
      return std::all_of(other->begin(), other->end(),
                         [&](const Json& v) { return refuses_value(written, v); });
    const unsigned common = types(written) & types(judge);
    for (unsigned type = 1; type <= kFraction; type <<= 1)
      if ((common & type) != 0 && !apart(type, judge, written, depth)) return false;
    return true;
  }
  bool apart(unsigned type, const Json& judge, const Json& written, int depth) {
    // A schema without a type writes none but those that its keywords speak of.
    const bool typed = find(written, "type") != nullptr;
    switch (type) {
      case kInteger:
      case kFraction:
        return (!typed && !speaks(written, kNumberWords)) ? anything_said(written)
                                                          : numbers_apart(judge, written);
      case kString:
        return (!typed && !speaks(written, kStringWords))
                   ? anything_said(written)
                   : above(judge, written, "minLength", "maxLength") ||
                         above(written, judge, "minLength", "maxLength");
      case kArray:
        return (!typed && !speaks(written, kArrayWords))
                   ? anything_said(written)
                   : above(judge, written, "minItems", "maxItems") ||
                         above(written, judge, "minItems", "maxItems");
      case kObject:
        return (!typed && !speaks(written, kObjectWords)) ? anything_said(written)
                                                          : objects_apart(judge, written, depth);
      default: {
        const Json* nullable = find(written, "nullable");
        const bool null_too = type == kNull && nullable && *nullable == true;
        return !typed && !null_too && anything_said(written);
      }
    }
  }
  static constexpr const char* kNumberWords[] = {"minimum", "maximum", "exclusiveMinimum",
                                                 "exclusiveMaximum", "multipleOf"};
  static constexpr const char* kStringWords[] = {"pattern", "format", "minLength", "maxLength"};
  static constexpr const char* kArrayWords[] = {"items", "prefixItems", "minItems", "maxItems",
                                                "additionalItems"};
  static constexpr const char* kObjectWords[] = {
      "properties",    "required",      "additionalProperties", "patternProperties",
      "propertyNames", "minProperties", "maxProperties",        "unevaluatedProperties"};
  template <std::size_t N>
  static bool speaks(const Json& s, const char* const (&words)[N]) {
    return std::any_of(std::begin(words), std::end(words),
                       [&](const char* word) { return find(s, word) != nullptr; });
  }
  static bool anything_said(const Json& s) {
    return speaks(s, kNumberWords) || speaks(s, kStringWords) || speaks(s, kArrayWords) ||
           speaks(s, kObjectWords);
  }

  static bool requires_name(const Json& s, const std::string& name) {
    const Json* required = find(s, "required");
    return required && required->is_array() &&
           std::find(required->begin(), required->end(), Json(name)) != required->end();
  }
  static const Json* property(const Json& s, const std::string& name) {
    const Json* properties = find(s, "properties");
    return properties && properties->is_object() ? find(*properties, name) : nullptr;
  }
  static bool closed(const Json& s) {
    const Json* more = find(s, "additionalProperties");
    const Json* rest = find(s, "unevaluatedProperties");
    return find(s, "patternProperties") == nullptr &&
           ((more && *more == false) || (!more && rest && *rest == false));
  }
  // No text written for `s` has that property.
  static bool never_writes(const Json& s, const std::string& name) {
    if (const Json* own = property(s, name)) return *own == false;
    if (requires_name(s, name)) return false;
    return closed(s) || (find(s, "properties") && !find(s, "additionalProperties") &&
                         !find(s, "patternProperties"));
  }

  bool objects_apart(const Json& judge, const Json& written, int depth) {
    std::vector<std::string> names;
    for (const Json* s : {&judge, &written}) {
      const Json* required = find(*s, "required");
      for (const Json& name : required && required->is_array() ? *required : Json::array())
        if (name.is_string()) names.push_back(name.get<std::string>());
    }
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      if (requires_name(judge, name) && never_writes(written, name)) return true;
      const Json* judged = property(judge, name);
      if (requires_name(written, name) && (judged ? *judged == false : closed(judge))) return true;
      const Json* own = property(written, name);
      return own && judged && values_apart(*own, *judged, depth + 1);
    });
  }
  static bool is_flat(const Json& s) {
    return s.is_object() && !find(s, "$ref") && !find(s, "allOf") && !find(s, "anyOf") &&
           !find(s, "oneOf");
  }
  bool values_apart(const Json& a, const Json& b, int depth) {
    if (left_ == 0) return false;
    --left_;
    if (is_flat(a) && is_flat(b)) return disjoint(a, b, depth);
    const auto left = expand_(a), right = expand_(b);
    if (!left || !right) return false;
    for (const Json& x : *left)
      for (const Json& y : *right)
        if (!disjoint(x, y, depth)) return false;
    return true;
  }

  Expand expand_;
  std::size_t left_;
};

}  // namespace veloce::text::schema
