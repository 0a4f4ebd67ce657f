// The values of a template: Python's, as far as templates can see them. Lists and dicts never
// change once made (the sandbox forbids it), so values are shared freely; only namespaces,
// iterators and cyclers have state.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_bigint.hpp"
#include "veloce/text/jinja_runtime.hpp"
#include "veloce/text/unicode.hpp"

namespace veloce::text::jinja {

enum class Kind : std::uint8_t {
  kMissing,  // internal: an argument not given, a variable not set
  kUndefined,
  kNone,
  kBool,
  kInt,
  kBigInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kView,  // keys, values or items of a dict
  kRange,
  kIterator,  // what lazy filters give: can be read once
  kNamespace,
  kFunction,
  kMethod,
  kMacro,
  kLoop,
  kCycler,
  kJoiner,
};

// What a value of the heap kinds points to. Its bytes are counted against the rendering's memory
// while it lives. Depth and weight say how deep it nests and how much work visiting all of it is
// (saturating), so that comparing, hashing and destroying are bounded before they start, also where
// one list holds another many times.
struct Object {
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() {
    if (account != nullptr) account->live -= bytes;
  }
  void charge(MemoryAccount* to, std::size_t n) {
    account = to;
    bytes = n;
    account->live += n;
  }
  MemoryAccount* account = nullptr;
  std::size_t bytes = 0;
  int depth = 0;
  std::uint64_t weight = 1;
};

class Value {
 public:
  Value() = default;  // undefined
  static Value missing() { return Value(Kind::kMissing); }
  static Value none() { return Value(Kind::kNone); }
  static Value boolean(bool v) {
    Value out(Kind::kBool);
    out.scalar_.integer = v ? 1 : 0;
    return out;
  }
  static Value integer(std::int64_t v) {
    Value out(Kind::kInt);
    out.scalar_.integer = v;
    return out;
  }
  static Value number(double v) {
    Value out(Kind::kFloat);
    out.scalar_.real = v;
    return out;
  }
  static Value object(Kind kind, std::shared_ptr<Object> object) {
    Value out(kind);
    out.object_ = std::move(object);
    return out;
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_missing() const { return kind_ == Kind::kMissing; }
  bool is_undefined() const { return kind_ == Kind::kUndefined; }
  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_string() const { return kind_ == Kind::kString; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_integral() const {
    return kind_ == Kind::kBool || kind_ == Kind::kInt || kind_ == Kind::kBigInt;
  }
  bool is_small_int() const { return kind_ == Kind::kBool || kind_ == Kind::kInt; }
  bool is_number() const { return is_integral() || kind_ == Kind::kFloat; }

  bool as_bool() const { return scalar_.integer != 0; }
  std::int64_t as_int() const { return scalar_.integer; }  // of a bool too
  double as_float() const { return scalar_.real; }
  const std::string& text() const;
  std::size_t text_length() const;  // code points
  const std::vector<Value>& items() const;
  template <class T>
  T& get() const {
    return static_cast<T&>(*object_);
  }
  const Object* identity() const { return object_.get(); }
  const std::shared_ptr<Object>& shared() const { return object_; }

  // A string marked safe for HTML (jinja2's Markup).
  bool markup() const { return markup_; }
  Value with_markup(bool on) const {
    Value out = *this;
    out.markup_ = on;
    return out;
  }

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::kUndefined;
  bool markup_ = false;
  union {
    std::int64_t integer;
    double real;
  } scalar_{0};
  std::shared_ptr<Object> object_;
};

struct UndefinedObject : Object {
  std::string message;
  bool security = false;
};
struct StringObject : Object {
  std::string text;
  std::size_t length = 0;  // code points
};
struct BigIntObject : Object {
  BigInt value;
};
struct ListObject : Object {
  std::vector<Value> items;
  bool group = false;  // a (grouper, list) pair of the filter groupby
};

bool equal(const Value& a, const Value& b);
std::size_t hash_value(const Value& v);

// Insertion-ordered map with Python's idea of equal keys (1 == 1.0 == true).
class Dict {
 public:
  struct Entry {
    Value key, value;
  };
  std::size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  const Value* find(const Value& key) const {
    const std::size_t at = locate(key, hash_value(key));
    return at == kNone ? nullptr : &entries_[at].value;
  }
  const Value* find(std::string_view key) const {
    const std::size_t hash = std::hash<std::string_view>{}(key);
    return lookup(hash, [&](const Value& k) { return k.is_string() && k.text() == key; });
  }
  // A key already there keeps its place.
  void set(Value key, Value value) {
    const std::size_t hash = hash_value(key);
    const std::size_t at = locate(key, hash);
    if (at != kNone) {
      entries_[at].value = std::move(value);
      return;
    }
    entries_.push_back({std::move(key), std::move(value)});
    hashes_.push_back(hash);
    if (entries_.size() > kLinear) index(hash);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t(0), kLinear = 8;

  template <class Same>
  const Value* lookup(std::size_t hash, Same same) const {
    const std::size_t at = probe(hash, same);
    return at == kNone ? nullptr : &entries_[at].value;
  }
  std::size_t locate(const Value& key, std::size_t hash) const {
    return probe(hash, [&](const Value& k) { return equal(k, key); });
  }
  template <class Same>
  std::size_t probe(std::size_t hash, Same same) const {
    if (slots_.empty()) {
      for (std::size_t i = 0; i < entries_.size(); ++i)
        if (hashes_[i] == hash && same(entries_[i].key)) return i;
      return kNone;
    }
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t s = hash & mask; slots_[s] != 0; s = (s + 1) & mask) {
      const std::size_t i = slots_[s] - 1;
      if (hashes_[i] == hash && same(entries_[i].key)) return i;
    }
    return kNone;
  }
  void index(std::size_t hash) {
    if (entries_.size() * 2 > slots_.size()) {
      slots_.assign(slots_.empty() ? 32 : slots_.size() * 2, 0);
      for (std::size_t i = 0; i < hashes_.size(); ++i) place(hashes_[i], i);
    } else {
      place(hash, entries_.size() - 1);
    }
  }
  void place(std::size_t hash, std::size_t entry) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t s = hash & mask;
    while (slots_[s] != 0) s = (s + 1) & mask;
    slots_[s] = std::uint32_t(entry + 1);
  }

  std::vector<Entry> entries_;
  std::vector<std::size_t> hashes_;
  std::vector<std::uint32_t> slots_;  // entry + 1; open addressing
};

struct DictObject : Object {
  Dict dict;
};
struct ViewObject : Object {
  enum class What : std::uint8_t { kKeys, kValues, kItems };
  What what = What::kKeys;
  Value dict;
};
struct RangeObject : Object {
  std::int64_t start = 0, stop = 0, step = 1;
  std::int64_t count() const {  // bounded by kMaxRange when made
    if (step > 0 ? start >= stop : start <= stop) return 0;
    const std::uint64_t span = step > 0 ? std::uint64_t(stop) - std::uint64_t(start)
                                        : std::uint64_t(start) - std::uint64_t(stop);
    const std::uint64_t stride = step > 0 ? std::uint64_t(step) : ~std::uint64_t(step) + 1;
    return std::int64_t((span - 1) / stride + 1);
  }
};
struct IteratorObject : Object {
  std::vector<Value> items;
  std::size_t next = 0;
  const char* type_name = "generator";
};
struct NamespaceObject : Object {
  Dict dict;
};
struct CyclerObject : Object {
  std::vector<Value> items;
  std::size_t next = 0;
};
struct JoinerObject : Object {
  Value separator;
  bool used = false;
};

// Arguments of a call.
struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  bool empty() const { return positional.empty() && named.empty(); }
  const Value* find(std::string_view name) const {
    for (const auto& [key, value] : named)
      if (key == name) return &value;
    return nullptr;
  }
};

using Function = Value (*)(Runtime&, Args&);
using Method = Value (*)(Runtime&, const Value& self, Args&);

struct FunctionObject : Object {
  const char* name = "";
  Function function = nullptr;
};
struct MethodObject : Object {
  Value self;
  std::string_view name;  // of a static table
  Method method = nullptr;
};

inline const std::string& Value::text() const {
  return get<StringObject>().text;
}
inline std::size_t Value::text_length() const {
  return get<StringObject>().length;
}
inline const std::vector<Value>& Value::items() const {
  return get<ListObject>().items;
}

// ---- Python's names of types, and errors ----

inline const char* type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return v.markup() ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kView:
      return "dict_view";
    case Kind::kRange:
      return "range";
    case Kind::kIterator:
      return v.get<IteratorObject>().type_name;
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kFunction:
      return "function";
    case Kind::kMethod:
      return "builtin_function_or_method";
    case Kind::kMacro:
      return "Macro";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

// Each records an error and gives an undefined value to return.
inline Value raise(Runtime& rt, const char* exception, std::string message) {
  rt.fail(ErrorKind::kRuntime, exception, std::move(message));
  return {};
}
inline Value type_error(Runtime& rt, std::string message) {
  return raise(rt, "TypeError", std::move(message));
}
inline Value value_error(Runtime& rt, std::string message) {
  return raise(rt, "ValueError", std::move(message));
}
inline Value undefined_error(Runtime& rt, const Value& v) {
  const auto* info = static_cast<const UndefinedObject*>(v.identity());
  const bool security = info != nullptr && info->security;
  rt.fail(security ? ErrorKind::kSecurity : ErrorKind::kUndefined,
          security ? "SecurityError" : "UndefinedError",
          info != nullptr ? info->message : "value is undefined");
  return {};
}

// ---- making values ----

inline std::size_t count_code_points(std::string_view text) {
  std::size_t n = 0;
  for (char c : text) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return n;
}

// A string outside of any rendering (a constant of the template); valid UTF-8.
inline Value constant_string(std::string text) {
  auto object = std::make_shared<StringObject>();
  object->length = count_code_points(text);
  object->text = std::move(text);
  return Value::object(Kind::kString, std::move(object));
}
inline Value make_string(Runtime& rt, std::string text) {
  if (!rt.reserve(text.size() + sizeof(StringObject))) return {};
  auto object = std::make_shared<StringObject>();
  object->length = count_code_points(text);
  object->text = std::move(text);
  object->charge(rt.memory(), object->text.size() + sizeof(StringObject));
  return Value::object(Kind::kString, std::move(object));
}
inline Value make_undefined(Runtime& rt, std::string message, bool security = false) {
  if (!rt.reserve(message.size() + sizeof(UndefinedObject))) return {};
  auto object = std::make_shared<UndefinedObject>();
  object->message = std::move(message);
  object->security = security;
  object->charge(rt.memory(), object->message.size() + sizeof(UndefinedObject));
  return Value::object(Kind::kUndefined, std::move(object));
}
// A whole number in its smallest form.
inline Value make_big(Runtime& rt, BigInt v) {
  if (const auto small = v.to_int64()) return Value::integer(*small);
  if (v.too_large()) {
    rt.limit("a whole number grows beyond " + std::to_string(BigInt::kMaxLimbs * 32) + " bits");
    return {};
  }
  auto object = std::make_shared<BigIntObject>();
  object->value = std::move(v);
  object->charge(rt.memory(), sizeof(BigIntObject) + object->value.limb_count() * 4);
  return Value::object(Kind::kBigInt, std::move(object));
}
inline BigInt to_big(const Value& v) {
  return v.is(Kind::kBigInt) ? v.get<BigIntObject>().value : BigInt(v.as_int());
}

namespace detail {
inline std::uint64_t weight_of(const Value& v) {
  return v.identity() == nullptr ? 1
         : v.is_string()         ? 1 + v.text().size() / 16
                                 : v.identity()->weight;
}
inline void note_child(Object& object, const Value& child) {
  constexpr std::uint64_t kSaturated = std::uint64_t(1) << 50;
  object.depth =
      std::max(object.depth, (child.identity() == nullptr ? 0 : child.identity()->depth) + 1);
  object.weight = std::min(kSaturated, object.weight + weight_of(child));
}
inline bool check_depth(Runtime& rt, const Object& object) {
  if (object.depth <= rt.limits().max_value_depth) return true;
  rt.limit("values nest deeper than " + std::to_string(rt.limits().max_value_depth));
  return false;
}
}  // namespace detail

inline Value make_list(Runtime& rt, std::vector<Value> items, Kind kind = Kind::kList) {
  const std::size_t bytes = items.size() * sizeof(Value) + sizeof(ListObject);
  if (!rt.reserve(bytes)) return {};
  auto object = std::make_shared<ListObject>();
  for (const Value& item : items) detail::note_child(*object, item);
  if (!detail::check_depth(rt, *object)) return {};
  object->items = std::move(items);
  object->charge(rt.memory(), bytes);
  return Value::object(kind, std::move(object));
}
inline Value make_tuple(Runtime& rt, std::vector<Value> items) {
  return make_list(rt, std::move(items), Kind::kTuple);
}

inline std::size_t dict_bytes(const Dict& dict) {
  return dict.size() * (sizeof(Dict::Entry) + 16) + sizeof(DictObject);
}
inline Value make_dict(Runtime& rt, Dict dict) {
  const std::size_t bytes = dict_bytes(dict);
  if (!rt.reserve(bytes)) return {};
  auto object = std::make_shared<DictObject>();
  for (const Dict::Entry& e : dict.entries()) {
    detail::note_child(*object, e.key);
    detail::note_child(*object, e.value);
  }
  if (!detail::check_depth(rt, *object)) return {};
  object->dict = std::move(dict);
  object->charge(rt.memory(), bytes);
  return Value::object(Kind::kDict, std::move(object));
}
inline Value make_iterator(Runtime& rt, std::vector<Value> items, const char* name = "generator") {
  const std::size_t bytes = items.size() * sizeof(Value) + sizeof(IteratorObject);
  if (!rt.reserve(bytes)) return {};
  auto object = std::make_shared<IteratorObject>();
  for (const Value& item : items) detail::note_child(*object, item);
  if (!detail::check_depth(rt, *object)) return {};
  object->items = std::move(items);
  object->type_name = name;
  object->charge(rt.memory(), bytes);
  return Value::object(Kind::kIterator, std::move(object));
}
inline Value make_method(Runtime& rt, const Value& self, std::string_view name, Method method) {
  if (!rt.reserve(sizeof(MethodObject))) return {};
  auto object = std::make_shared<MethodObject>();
  detail::note_child(*object, self);
  if (!detail::check_depth(rt, *object)) return {};
  object->self = self;
  object->name = name;
  object->method = method;
  object->charge(rt.memory(), sizeof(MethodObject));
  return Value::object(Kind::kMethod, std::move(object));
}
inline Value make_function(const char* name, Function function) {
  auto object = std::make_shared<FunctionObject>();
  object->name = name;
  object->function = function;
  return Value::object(Kind::kFunction, std::move(object));
}

// ---- equality and hashing; their cost is bounded by the operands' weight ----

inline double to_double(const Value& v) {
  if (v.is(Kind::kFloat)) return v.as_float();
  if (v.is(Kind::kBigInt)) return v.get<BigIntObject>().value.to_double();
  return double(v.as_int());
}

// -1, 0, 1; 2 if unordered (NaN).
inline int compare_numbers(const Value& a, const Value& b) {
  if (a.is_small_int() && b.is_small_int())
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  if (a.is_integral() && b.is_integral()) {
    const auto c = to_big(a) <=> to_big(b);
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  // A double against a whole number: long double holds 64 bits of either exactly.
  const auto wide = [](const Value& v) {
    return v.is_small_int() ? static_cast<long double>(v.as_int())
                            : static_cast<long double>(to_double(v));
  };
  const long double x = wide(a), y = wide(b);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y ? 1 : 0;
}

inline bool equal_items(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!equal(a[i], b[i])) return false;
  return true;
}

inline bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
    case Kind::kMissing:
    case Kind::kUndefined:
      return true;
    case Kind::kString:
      return a.identity() == b.identity() || a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
      return a.identity() == b.identity() || equal_items(a.items(), b.items());
    case Kind::kDict: {
      if (a.identity() == b.identity()) return true;
      const Dict& x = a.get<DictObject>().dict;
      const Dict& y = b.get<DictObject>().dict;
      if (x.size() != y.size()) return false;
      for (const Dict::Entry& e : x.entries()) {
        const Value* other = y.find(e.key);
        if (other == nullptr || !equal(e.value, *other)) return false;
      }
      return true;
    }
    case Kind::kRange: {
      const RangeObject& x = a.get<RangeObject>();
      const RangeObject& y = b.get<RangeObject>();
      const std::int64_t n = x.count();
      return n == y.count() && (n == 0 || (x.start == y.start && (n == 1 || x.step == y.step)));
    }
    default:
      return a.identity() == b.identity();
  }
}

inline std::size_t hash_value(const Value& v) {
  switch (v.kind()) {
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<std::int64_t>{}(v.as_int());
    case Kind::kBigInt:
      return std::hash<double>{}(to_double(v));
    case Kind::kFloat: {
      const double d = v.as_float();
      if (d == std::floor(d) && std::fabs(d) < 9e18)
        return std::hash<std::int64_t>{}(std::int64_t(d));
      return std::hash<double>{}(d);
    }
    case Kind::kString:
      return std::hash<std::string_view>{}(v.text());
    case Kind::kTuple: {
      std::size_t h = 0x9E3779B97F4A7C15u;
      for (const Value& item : v.items()) h = (h ^ hash_value(item)) * 0x100000001B3u;
      return h;
    }
    case Kind::kNone:
      return 0x51ED270B;
    default:
      return std::hash<const void*>{}(v.identity());
  }
}

inline bool hashable(const Value& v) {
  if (v.is(Kind::kList) || v.is_dict() || v.is(Kind::kView)) return false;
  if (v.is(Kind::kTuple))
    for (const Value& item : v.items())
      if (!hashable(item)) return false;
  return true;
}
// True if v can be a key; else a TypeError.
inline bool check_hashable(Runtime& rt, const Value& v) {
  if (!rt.step(detail::weight_of(v))) return false;
  if (hashable(v)) return true;
  type_error(rt, std::string("unhashable type: '") + type_name(v) + "'");
  return false;
}
// Equality with its cost counted.
inline bool equal_counted(Runtime& rt, const Value& a, const Value& b) {
  if (a.kind() != b.kind() && !(a.is_number() && b.is_number())) return false;
  return rt.step(std::min(detail::weight_of(a), detail::weight_of(b))) && equal(a, b);
}

// ---- binding arguments ----

// Arguments in the order of `names`, missing where not given; a TypeError for a missing, doubled or
// unknown one.
inline std::vector<Value> bind(Runtime& rt, const char* function, Args& args, std::size_t required,
                               std::initializer_list<std::string_view> names) {
  std::vector<Value> out(names.size(), Value::missing());
  const std::string who = std::string(function) + "()";
  if (args.positional.size() > names.size())
    type_error(rt, who + " takes at most " + std::to_string(names.size()) + " arguments (" +
                       std::to_string(args.positional.size()) + " given)");
  for (std::size_t i = 0; i < args.positional.size() && i < out.size(); ++i)
    out[i] = args.positional[i];
  for (const auto& [key, value] : args.named) {
    std::size_t i = 0;
    while (i < names.size() && names.begin()[i] != key) ++i;
    if (i == names.size())
      type_error(rt, who + " got an unexpected keyword argument '" + key + "'");
    else if (!out[i].is_missing())
      type_error(rt, who + " got multiple values for argument '" + key + "'");
    else
      out[i] = value;
  }
  for (std::size_t i = 0; i < required; ++i)
    if (out[i].is_missing())
      type_error(rt, who + " missing required argument: '" + std::string(names.begin()[i]) + "'");
  return out;
}

}  // namespace veloce::text::jinja
