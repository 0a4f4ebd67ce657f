// Functions every template can call: range, dict, namespace, cycler, joiner, raise_exception,
// strftime_now.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_ops.hpp"

namespace veloce::text::jinja {

struct GlobalEntry {
  const char* name;
  Function function;
};

namespace detail {

inline Value make_range(Runtime& rt, Args& args) {
  const auto a = bind(rt, "range", args, 1, {"", "", ""});
  if (rt.failed()) return {};
  auto range = std::make_shared<RangeObject>();
  const auto first = index_of(rt, a[0]);
  if (!first) return {};
  if (a[1].is_missing()) {
    range->stop = *first;
  } else {
    const auto stop = index_of(rt, a[1]);
    const auto step = a[2].is_missing() ? std::optional<std::int64_t>(1) : index_of(rt, a[2]);
    if (!stop || !step) return {};
    range->start = *first, range->stop = *stop, range->step = *step;
  }
  if (range->step == 0) return value_error(rt, "range() arg 3 must not be zero");
  const std::int64_t n = range->count();
  if (n > kMaxRange || n < 0)
    return raise(rt, "OverflowError",
                 "Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                     std::to_string(kMaxRange) + ").");
  range->charge(rt.memory(), sizeof(RangeObject));
  return Value::object(Kind::kRange, std::move(range));
}

// What dict() and namespace() take: a mapping or pairs, and names.
inline bool fill_dict(Runtime& rt, Args& args, Dict& out) {
  if (args.positional.size() > 1) return type_error(rt, "dict expected at most 1 argument"), false;
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is_dict()) {
      out = source.get<DictObject>().dict;
    } else {
      std::vector<Value> pairs;
      if (!collect(rt, source, pairs)) return false;
      for (const Value& pair : pairs) {
        std::vector<Value> parts;
        if (!collect(rt, pair, parts)) return false;
        if (parts.size() != 2)
          return value_error(rt, "dictionary update sequence element must have length 2"), false;
        if (!check_hashable(rt, parts[0])) return false;
        out.set(parts[0], parts[1]);
      }
    }
  }
  for (auto& [name, v] : args.named) out.set(make_string(rt, name), v);
  return !rt.failed();
}
inline Value make_dict_global(Runtime& rt, Args& args) {
  Dict out;
  return fill_dict(rt, args, out) ? make_dict(rt, std::move(out)) : Value();
}
inline Value make_namespace(Runtime& rt, Args& args) {
  auto object = std::make_shared<NamespaceObject>();
  if (!fill_dict(rt, args, object->dict)) return {};
  const std::size_t bytes = sizeof(NamespaceObject) + 64 + dict_bytes(object->dict);
  if (!rt.reserve(bytes)) return {};
  object->charge(rt.memory(), bytes);
  // A namespace can hold itself: the rendering lets go of its contents at the end.
  rt.keep(object, [](void* p) {
    const Dict contents = std::exchange(static_cast<NamespaceObject*>(p)->dict, {});
  });
  return Value::object(Kind::kNamespace, std::move(object));
}
inline Value make_cycler(Runtime& rt, Args& args) {
  if (!args.named.empty()) return type_error(rt, "cycler takes no keyword arguments");
  if (args.positional.empty())
    return raise(rt, "RuntimeError", "at least one item has to be provided");
  auto object = std::make_shared<CyclerObject>();
  for (const Value& v : args.positional) note_child(*object, v);
  if (!check_depth(rt, *object)) return {};
  object->items = args.positional;
  object->charge(rt.memory(), sizeof(CyclerObject) + object->items.size() * sizeof(Value));
  return Value::object(Kind::kCycler, std::move(object));
}
inline Value make_joiner(Runtime& rt, Args& args) {
  const auto a = bind(rt, "joiner", args, 0, {"sep"});
  auto object = std::make_shared<JoinerObject>();
  object->separator = a[0].is_missing() ? make_string(rt, ", ") : a[0];
  note_child(*object, object->separator);
  if (!check_depth(rt, *object)) return {};
  object->charge(rt.memory(), sizeof(JoinerObject));
  return Value::object(Kind::kJoiner, std::move(object));
}
inline Value raise_exception(Runtime& rt, Args& args) {
  const auto a = bind(rt, "raise_exception", args, 1, {"message"});
  if (rt.failed()) return {};
  const std::string message = str(rt, a[0]);
  // An error whose text is empty would tell nobody anything; the message is often an undefined
  // name.
  rt.fail(ErrorKind::kRaise, "TemplateError",
          message.empty() ? "raised without a message" : message);
  return {};
}
inline Value strftime_now(Runtime& rt, Args& args) {
  const auto a = bind(rt, "strftime_now", args, 1, {"format"});
  if (rt.failed()) return {};
  if (!a[0].is_string())
    return type_error(rt, std::string("strftime() argument 1 must be str, not ") + type_name(a[0]));
  // %f (microseconds; the clock gives whole seconds), %z and %Z (no zone) are Python's, the rest
  // the C library's.
  std::string format;
  const std::string& text = a[0].text();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 1 < text.size()) {
      const char c = text[++i];
      if (c == 'f')
        format += "000000";
      else if (c != 'z' && c != 'Z')
        format += std::string("%") + c;
    } else {
      format += text[i];
    }
  }
  if (format.empty()) return make_string(rt, "");
  if (!rt.reserve(format.size() * 40)) return {};
  std::string out(format.size() * 40 + 100, '\0');
  const std::tm now = rt.now();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  out.resize(std::strftime(out.data(), out.size(), format.c_str(), &now));
#pragma GCC diagnostic pop
  return make_string(rt, std::move(out));
}

inline constexpr GlobalEntry kGlobals[] = {
    {"cycler", make_cycler},        {"dict", make_dict_global},           {"joiner", make_joiner},
    {"namespace", make_namespace},  {"raise_exception", raise_exception}, {"range", make_range},
    {"strftime_now", strftime_now},
};

}  // namespace detail

inline const GlobalEntry* find_global(std::string_view name) {
  for (const GlobalEntry& entry : detail::kGlobals)
    if (entry.name == name) return &entry;
  return nullptr;
}

}  // namespace veloce::text::jinja
