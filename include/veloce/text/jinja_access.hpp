// Attributes, items and slices, under the rules of jinja2's immutable sandbox.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_ops.hpp"
#include "veloce/text/jinja_string_methods.hpp"

namespace veloce::text::jinja {

namespace detail {

inline Value make_view(Runtime& rt, const Value& dict, ViewObject::What what, Args& args) {
  bind(rt, "view", args, 0, {});
  if (!rt.reserve(sizeof(ViewObject))) return {};
  auto object = std::make_shared<ViewObject>();
  note_child(*object, dict);
  if (!check_depth(rt, *object)) return {};
  object->dict = dict;
  object->what = what;
  object->charge(rt.memory(), sizeof(ViewObject));
  return Value::object(Kind::kView, std::move(object));
}
inline Value count_items(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "count", args, 1, {""});
  std::int64_t n = 0;
  for (const Value& item : self.items()) n += rt.step() && equal_counted(rt, item, a[0]) ? 1 : 0;
  return Value::integer(n);
}
inline Value index_items(Runtime& rt, const Value& self, Args& args) {
  const auto a = bind(rt, "index", args, 1, {"", "", ""});
  const std::int64_t size = std::int64_t(self.items().size());
  const auto clamp = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const std::int64_t end = clamp(int_argument(rt, a[2], size));
  for (std::int64_t i = clamp(int_argument(rt, a[1], 0)); i < end; ++i)
    if (rt.step() && equal_counted(rt, self.items()[std::size_t(i)], a[0]))
      return Value::integer(i);
  return value_error(rt, repr(rt, a[0]) + " is not in list");
}

inline constexpr MethodEntry kListMethods[] = {
    {"copy",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "copy", args, 0, {});
       return make_list(rt, self.items());
     }},
    {"count", count_items},
    {"index", index_items},
};
inline constexpr MethodEntry kTupleMethods[] = {{"count", count_items}, {"index", index_items}};
inline constexpr MethodEntry kDictMethods[] = {
    {"copy",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "copy", args, 0, {});
       return make_dict(rt, self.get<DictObject>().dict);
     }},
    {"get",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       const auto a = bind(rt, "get", args, 1, {"", ""});
       if (rt.failed() || !check_hashable(rt, a[0])) return {};
       const Value* found = self.get<DictObject>().dict.find(a[0]);
       if (found != nullptr) return *found;
       return a[1].is_missing() ? Value::none() : a[1];
     }},
    {"items",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return make_view(rt, self, ViewObject::What::kItems, args);
     }},
    {"keys",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return make_view(rt, self, ViewObject::What::kKeys, args);
     }},
    {"values",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       return make_view(rt, self, ViewObject::What::kValues, args);
     }},
};
inline constexpr MethodEntry kIntMethods[] = {
    {"bit_count",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "bit_count", args, 0, {});
       BigInt v = to_big(self);
       std::int64_t n = 0;
       for (char c : magnitude_digits(make_big(rt, v.negative() ? -v : v), 2, false))
         n += c == '1' ? 1 : 0;
       return Value::integer(n);
     }},
    {"bit_length",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "bit_length", args, 0, {});
       return Value::integer(std::int64_t(to_big(self).bit_length()));
     }},
    {"conjugate",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "conjugate", args, 0, {});
       return add(rt, self, Value::integer(0));
     }},
};
inline constexpr MethodEntry kFloatMethods[] = {
    {"is_integer",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "is_integer", args, 0, {});
       return Value::boolean(std::isfinite(self.as_float()) &&
                             self.as_float() == std::floor(self.as_float()));
     }},
};
inline constexpr MethodEntry kCyclerMethods[] = {
    {"next",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "next", args, 0, {});
       CyclerObject& cycler = self.get<CyclerObject>();
       const Value out = cycler.items[cycler.next];
       cycler.next = (cycler.next + 1) % cycler.items.size();
       return out;
     }},
    {"reset",
     [](Runtime& rt, const Value& self, Args& args) -> Value {
       bind(rt, "reset", args, 0, {});
       self.get<CyclerObject>().next = 0;
       return Value::none();
     }},
};

// What would change the object: hidden by the sandbox.
inline constexpr std::string_view kListMutators[] = {"append", "clear",  "extend",  "insert",
                                                     "pop",    "remove", "reverse", "sort"};
inline constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault",
                                                     "update"};
// Names every Python object has; with two underscores in front the sandbox hides them.
inline constexpr std::string_view kInternals[] = {
    "__class__",   "__delattr__", "__dir__",           "__doc__",         "__eq__",
    "__format__",  "__ge__",      "__getattribute__",  "__getstate__",    "__gt__",
    "__hash__",    "__init__",    "__init_subclass__", "__le__",          "__lt__",
    "__ne__",      "__new__",     "__reduce__",        "__reduce_ex__",   "__repr__",
    "__setattr__", "__sizeof__",  "__str__",           "__subclasshook__"};

// And those of everything with a length.
inline constexpr std::string_view kContainerInternals[] = {
    "__len__", "__getitem__", "__contains__", "__iter__", "__add__", "__mul__", "__rmul__"};

template <class Table>
inline bool listed(const Table& table, std::string_view name) {
  return std::find(std::begin(table), std::end(table), name) != std::end(table);
}
template <std::size_t N>
inline const MethodEntry* find_method_entry(const MethodEntry (&table)[N], std::string_view name) {
  for (const MethodEntry& entry : table)
    if (entry.name == name) return &entry;
  return nullptr;
}
inline const MethodEntry* method_of(const Value& v, std::string_view name) {
  switch (v.kind()) {
    case Kind::kString:
      return find_method_entry(kStringMethods, name);
    case Kind::kList:
      return find_method_entry(kListMethods, name);
    case Kind::kTuple:
      return find_method_entry(kTupleMethods, name);
    case Kind::kDict:
      return find_method_entry(kDictMethods, name);
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBigInt:
      return find_method_entry(kIntMethods, name);
    case Kind::kFloat:
      return find_method_entry(kFloatMethods, name);
    case Kind::kCycler:
      return find_method_entry(kCyclerMethods, name);
    default:
      return nullptr;
  }
}

inline Value no_attribute(Runtime& rt, const Value& object, std::string_view name) {
  const std::string who = object.is_none() ? "None" : std::string(type_name(object)) + " object";
  return make_undefined(rt, "'" + who + "' has no attribute " + string_repr(name));
}
inline Value unsafe_attribute(Runtime& rt, const Value& object, std::string_view name) {
  return make_undefined(rt,
                        "access to attribute " + string_repr(name) + " of '" + type_name(object) +
                            "' object is unsafe.",
                        true);
}

// getattr(object, name) as Python has it; missing if there is no such attribute.
inline Value python_attribute(Runtime& rt, const Value& object, std::string_view name) {
  if (object.is(Kind::kNamespace)) {
    const Value* found = object.get<NamespaceObject>().dict.find(name);
    if (found != nullptr) return *found;
    return name == "__class__" ? unsafe_attribute(rt, object, name) : Value::missing();
  }
  if (const MethodEntry* entry = method_of(object, name))
    return make_method(rt, object, entry->name, entry->method);
  const bool container = object.is_string() || object.is_sequence() || object.is_dict();
  if (name.starts_with("__") &&
      (listed(kInternals, name) || (container && listed(kContainerInternals, name))))
    return unsafe_attribute(rt, object, name);
  if ((object.is(Kind::kList) && listed(kListMutators, name)) ||
      (object.is_dict() && listed(kDictMutators, name)))
    return unsafe_attribute(rt, object, name);
  if (object.is_integral() || object.is(Kind::kFloat)) {
    if (name == "real") return object.is(Kind::kBool) ? Value::integer(object.as_int()) : object;
    if (name == "imag") return object.is(Kind::kFloat) ? Value::number(0) : Value::integer(0);
    if (object.is_integral() && name == "numerator") return add(rt, object, Value::integer(0));
    if (object.is_integral() && name == "denominator") return Value::integer(1);
  }
  if (object.is(Kind::kTuple) && object.get<ListObject>().group) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (object.is(Kind::kRange)) {
    const RangeObject& range = object.get<RangeObject>();
    if (name == "start") return Value::integer(range.start);
    if (name == "stop") return Value::integer(range.stop);
    if (name == "step") return Value::integer(range.step);
  }
  if (object.is(Kind::kCycler)) {
    const CyclerObject& cycler = object.get<CyclerObject>();
    if (name == "current") return cycler.items[cycler.next];
    if (name == "pos") return Value::integer(std::int64_t(cycler.next));
    if (name == "items") return make_tuple(rt, cycler.items);
  }
  if (object.is(Kind::kJoiner)) {
    if (name == "sep") return object.get<JoinerObject>().separator;
    if (name == "used") return Value::boolean(object.get<JoinerObject>().used);
  }
  return Value::missing();
}

// object[key] as Python has it; missing where that is a TypeError or LookupError.
inline Value python_item(Runtime& rt, const Value& object, const Value& key) {
  if (object.is_dict()) {
    if (!rt.step(weight_of(key)) || !hashable(key)) return Value::missing();
    const Value* found = object.get<DictObject>().dict.find(key);
    return found != nullptr ? *found : Value::missing();
  }
  const bool indexable = object.is_sequence() || object.is_string() || object.is(Kind::kRange);
  if (!indexable || !key.is_small_int()) return Value::missing();
  const std::int64_t size = length_of(object);
  const std::int64_t i = key.as_int() < 0 ? key.as_int() + size : key.as_int();
  if (i < 0 || i >= size) return Value::missing();
  if (object.is_sequence()) return object.items()[std::size_t(i)];
  if (object.is(Kind::kRange))
    return Value::integer(object.get<RangeObject>().start + i * object.get<RangeObject>().step);
  const std::string& text = object.text();
  const bool ascii = text.size() == object.text_length();
  if (!ascii && !rt.step(text.size() / 64)) return {};
  const std::size_t at = ascii ? std::size_t(i) : offset_of(text, std::size_t(i));
  return like(object, make_string(rt, text.substr(at, std::size_t(utf8_length(
                                                          static_cast<unsigned char>(text[at]))))));
}

}  // namespace detail

// The loop's own attributes; in jinja_interpreter.hpp, which knows loops and macros. Missing if
// there is none such.
Value object_attribute(Runtime& rt, const Value& object, std::string_view name);

// object.name of a template: the attribute, else the item; undefined if there is neither.
inline Value get_attribute(Runtime& rt, const Value& object, std::string_view name) {
  if (object.is_undefined()) return undefined_error(rt, object);
  Value out = object.is(Kind::kLoop) || object.is(Kind::kMacro)
                  ? object_attribute(rt, object, name)
                  : detail::python_attribute(rt, object, name);
  if (!out.is_missing()) return out;
  if (object.is_dict()) {
    const Value* found = object.get<DictObject>().dict.find(name);
    if (found != nullptr) return *found;
  }
  return detail::no_attribute(rt, object, name);
}

// object[key] of a template: the item, else (for a text) the attribute; undefined if there is
// neither.
inline Value get_item(Runtime& rt, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(rt, object);
  Value out = detail::python_item(rt, object, key);
  if (!out.is_missing()) return out;
  if (key.is_string()) {
    out = object.is(Kind::kLoop) || object.is(Kind::kMacro)
              ? object_attribute(rt, object, key.text())
              : detail::python_attribute(rt, object, key.text());
    if (!out.is_missing()) return out;
    return detail::no_attribute(rt, object, key.text());
  }
  return make_undefined(rt,
                        std::string(type_name(object)) + " object has no element " + repr(rt, key));
}

// object[start:stop:step]; missing or none parts are left open.
inline Value get_slice(Runtime& rt, const Value& object, const Value& start, const Value& stop,
                       const Value& step) {
  if (object.is_undefined()) return undefined_error(rt, object);
  if (!object.is_sequence() && !object.is_string() && !object.is(Kind::kRange))
    return type_error(rt, std::string("'") + type_name(object) + "' object is not subscriptable");
  const std::int64_t size = length_of(object);
  for (const Value* part : {&start, &stop, &step})
    if (!part->is_missing() && !part->is_none() && !part->is_small_int())
      return type_error(rt, "slice indices must be integers or None");
  const auto given = [](const Value& v) { return !v.is_missing() && !v.is_none(); };
  const std::int64_t stride = given(step) ? step.as_int() : 1;
  if (stride == 0) return value_error(rt, "slice step cannot be zero");
  const std::int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? size - 1 : size;
  const auto clamp = [&](const Value& v, std::int64_t fallback) {
    if (!given(v)) return fallback;
    const std::int64_t i = v.as_int() < 0 ? v.as_int() + size : v.as_int();
    return std::clamp(i, low, high);
  };
  const std::int64_t from = clamp(start, stride < 0 ? high : low),
                     to = clamp(stop, stride < 0 ? low : high);
  const std::int64_t span = stride > 0 ? to - from : from - to;
  const std::uint64_t magnitude = stride > 0 ? std::uint64_t(stride) : ~std::uint64_t(stride) + 1;
  const std::int64_t count = span <= 0 ? 0 : std::int64_t(std::uint64_t(span - 1) / magnitude) + 1;
  if (object.is(Kind::kRange)) {
    const RangeObject& range = object.get<RangeObject>();
    auto out = std::make_shared<RangeObject>();
    out->start = range.start + from * range.step;
    // One element or none: any step will do, and the product may not fit.
    out->step = count <= 1 ? range.step : range.step * stride;
    out->stop = count <= 1 ? out->start + count * (range.step > 0 ? 1 : -1)
                           : out->start + count * out->step;
    out->charge(rt.memory(), sizeof(RangeObject));
    return Value::object(Kind::kRange, std::move(out));
  }
  if (object.is_sequence()) {
    std::vector<Value> out;
    if (!rt.step(std::uint64_t(count) / 8) || !rt.reserve(std::uint64_t(count) * sizeof(Value)))
      return {};
    out.reserve(std::size_t(count));
    for (std::int64_t i = 0; i < count; ++i)
      out.push_back(object.items()[std::size_t(from + i * stride)]);
    return make_list(rt, std::move(out), object.kind());
  }
  const std::string& text = object.text();
  if (stride == 1) {
    const bool ascii = text.size() == object.text_length();
    const std::size_t a = ascii ? std::size_t(from) : offset_of(text, std::size_t(from));
    const std::string_view tail = std::string_view(text).substr(a);
    const std::size_t n = ascii ? std::size_t(count) : offset_of(tail, std::size_t(count));
    if (!ascii && !rt.step(text.size() / 64)) return {};
    return detail::text_result(rt, object, std::string(tail.substr(0, n)));
  }
  if (!rt.step(text.size() / 8)) return {};
  const std::u32string points = code_points(text);
  std::string out;
  for (std::int64_t i = 0; i < count; ++i) append_utf8(out, points[std::size_t(from + i * stride)]);
  return detail::text_result(rt, object, std::move(out));
}

}  // namespace veloce::text::jinja
