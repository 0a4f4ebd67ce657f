// The filters of the language (`x | upper`), by name; those over sequences are here.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_filters_text.hpp"
#include "veloce/text/jinja_tests.hpp"

namespace veloce::text::jinja {

// The filter of a name, or null.
const FilterEntry* find_filter(std::string_view name);

namespace detail {

// "a.b.0" as a path of items; a whole number is one item; none is the value itself.
class AttributePath {
 public:
  AttributePath(Runtime& rt, const Value& attribute) {
    if (attribute.is_missing() || attribute.is_none()) return;
    if (!attribute.is_string()) {
      parts_.push_back(attribute);
      return;
    }
    for (std::string_view part : split_on(attribute.text(), ".", kNoLimit, false)) {
      std::int64_t index = 0;
      const auto result = std::from_chars(part.data(), part.data() + part.size(), index);
      const bool digits = !part.empty() && part[0] != '-' && result.ec == std::errc() &&
                          result.ptr == part.data() + part.size();
      parts_.push_back(digits ? Value::integer(index) : make_string(rt, std::string(part)));
    }
  }
  Value get(Runtime& rt, Value v, const Value& fallback = Value::missing()) const {
    for (const Value& part : parts_) {
      if (!rt.step()) return {};
      v = get_item(rt, v, part);
      if (v.is_undefined() && !fallback.is_missing() && !fallback.is_none()) v = fallback;
    }
    return v;
  }

 private:
  std::vector<Value> parts_;
};

inline Value fold_case(Runtime& rt, const Value& v) {
  return v.is_string() ? make_string(rt, to_case(v.text(), Case::kLower)) : v;
}
inline bool flag(const Value& v, bool fallback) {
  return v.is_missing() ? fallback : truthy(v);
}

inline Value filter_default(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "default", args, 0, {"default_value", "boolean"});
  if (v.is_undefined() || (flag(a[1], false) && !truthy(v)))
    return a[0].is_missing() ? make_string(rt, "") : a[0];
  return v;
}
inline Value filter_attr(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "attr", args, 1, {"name"});
  if (rt.failed()) return {};
  const std::string name = str(rt, a[0]);
  if (v.is_undefined()) return undefined_error(rt, v);
  const Value out = v.is(Kind::kLoop) || v.is(Kind::kMacro) ? object_attribute(rt, v, name)
                                                            : python_attribute(rt, v, name);
  return out.is_missing() ? no_attribute(rt, v, name) : out;
}
inline Value filter_length(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "length", args, 0, {});
  if (v.is(Kind::kLoop)) return object_attribute(rt, v, "length");
  const std::int64_t n = length_of(v);
  if (n < 0)
    return type_error(rt, std::string("object of type '") + type_name(v) + "' has no len()");
  return Value::integer(n);
}
inline Value filter_list(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "list", args, 0, {});
  std::vector<Value> items;
  return collect(rt, v, items) ? make_list(rt, std::move(items)) : Value();
}
inline Value filter_first(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "first", args, 0, {});
  if (v.is(Kind::kIterator)) {
    IteratorObject& it = v.get<IteratorObject>();
    if (it.next < it.items.size()) return it.items[it.next++];
    return make_undefined(rt, "No first item, sequence was empty.");
  }
  if (v.is_sequence() && !v.items().empty()) return v.items().front();
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  return items.empty() ? make_undefined(rt, "No first item, sequence was empty.") : items.front();
}
inline Value filter_last(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "last", args, 0, {});
  if (v.is(Kind::kIterator))
    return type_error(rt, std::string("'") + type_name(v) + "' object is not reversible");
  if (v.is_undefined()) return make_undefined(rt, "No last item, sequence was empty.");
  if (v.is_sequence() && !v.items().empty()) return v.items().back();
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  return items.empty() ? make_undefined(rt, "No last item, sequence was empty.") : items.back();
}
inline Value filter_random(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "random", args, 0, {});
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  if (items.empty()) return make_undefined(rt, "No random item, sequence was empty.");
  std::tm now = rt.now();
  const std::uint64_t seed = std::uint64_t(std::mktime(&now)) * 0x9E3779B97F4A7C15u;
  return items[std::size_t((seed >> 33) % items.size())];
}
inline Value filter_reverse(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "reverse", args, 0, {});
  if (v.is_string())
    return get_slice(rt, v, Value::missing(), Value::missing(), Value::integer(-1));
  std::vector<Value> items;
  if (!is_iterable(v)) return raise(rt, "FilterArgumentError", "argument must be iterable");
  if (!collect(rt, v, items)) return {};
  std::reverse(items.begin(), items.end());
  if (v.is(Kind::kIterator) || v.is_undefined()) return make_list(rt, std::move(items));
  return make_iterator(rt, std::move(items), "list_reverseiterator");
}
inline Value filter_join(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "join", args, 0, {"d", "attribute"});
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  const std::string separator = a[0].is_missing() ? "" : str(rt, a[0]);
  const AttributePath path(rt, a[1]);
  std::string out;
  for (std::size_t i = 0; i < items.size() && rt.step(); ++i) {
    if (i > 0) out += separator;
    append_str(rt, path.get(rt, items[i]), out);
    if (out.size() > rt.limits().max_memory) rt.limit("a text grows beyond the memory limit");
  }
  return make_string(rt, std::move(out));
}

inline Value filter_sort(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "sort", args, 0, {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  std::vector<AttributePath> paths;
  if (a[2].is_string()) {
    for (std::string_view part : split_on(a[2].text(), ",", kNoLimit, false))
      paths.emplace_back(rt, make_string(rt, std::string(part)));
  } else {
    paths.emplace_back(rt, a[2]);
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      const Value part = path.get(rt, item);
      key.push_back(flag(a[1], false) ? part : fold_case(rt, part));
    }
    keys.push_back(make_list(rt, std::move(key)));
    if (rt.failed()) return {};
  }
  std::vector<Value> out;
  for (std::size_t i : sorted_order(rt, keys, flag(a[0], false))) out.push_back(items[i]);
  return make_list(rt, std::move(out));
}
inline Value filter_dictsort(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "dictsort", args, 0, {"case_sensitive", "by", "reverse"});
  const std::string by = a[1].is_missing() ? "key" : str(rt, a[1]);
  if (by != "key" && by != "value")
    return raise(rt, "FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  if (v.is_undefined()) return undefined_error(rt, v);
  if (!v.is_dict())
    return raise(rt, "AttributeError",
                 std::string("'") + type_name(v) + "' object has no attribute 'items'");
  const auto& entries = v.get<DictObject>().dict.entries();
  std::vector<Value> keys, out;
  for (const Dict::Entry& e : entries) {
    const Value& part = by == "key" ? e.key : e.value;
    keys.push_back(flag(a[0], false) ? part : fold_case(rt, part));
  }
  for (std::size_t i : sorted_order(rt, keys, flag(a[2], false)))
    out.push_back(make_tuple(rt, {entries[i].key, entries[i].value}));
  return make_list(rt, std::move(out));
}
inline Value filter_items(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "items", args, 0, {});
  std::vector<Value> out;
  if (v.is_dict()) {
    for (const Dict::Entry& e : v.get<DictObject>().dict.entries())
      out.push_back(make_tuple(rt, {e.key, e.value}));
  } else if (!v.is_undefined()) {
    return type_error(rt, "Can only get item pairs from a mapping.");
  }
  return make_iterator(rt, std::move(out));
}
inline Value filter_unique(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "unique", args, 0, {"case_sensitive", "attribute"});
  std::vector<Value> items, out;
  if (!collect(rt, v, items)) return {};
  const AttributePath path(rt, a[1]);
  Dict seen;
  for (const Value& item : items) {
    Value key = path.get(rt, item);
    if (!flag(a[0], false)) key = fold_case(rt, key);
    if (rt.failed() || !check_hashable(rt, key)) return {};
    if (seen.find(key) != nullptr) continue;
    seen.set(key, Value::none());
    out.push_back(item);
  }
  return make_iterator(rt, std::move(out));
}
inline Value extreme(Runtime& rt, const Value& v, Args& args, int wanted) {
  const auto a = bind(rt, wanted < 0 ? "min" : "max", args, 0, {"case_sensitive", "attribute"});
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  if (items.empty()) return make_undefined(rt, "No aggregated item, sequence was empty.");
  const AttributePath path(rt, a[1]);
  const auto key_of = [&](const Value& item) {
    const Value key = path.get(rt, item);
    return flag(a[0], false) ? key : fold_case(rt, key);
  };
  Value best = items[0], best_key = key_of(items[0]);
  for (std::size_t i = 1; i < items.size() && !rt.failed(); ++i) {
    const Value key = key_of(items[i]);
    if (compare(rt, key, best_key, wanted < 0 ? "<" : ">") == wanted)
      best = items[i], best_key = key;
  }
  return best;
}
inline Value filter_sum(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "sum", args, 0, {"attribute", "start"});
  std::vector<Value> items;
  if (!collect(rt, v, items)) return {};
  const AttributePath path(rt, a[0]);
  Value total = a[1].is_missing() ? Value::integer(0) : a[1];
  if (total.is_string())
    return type_error(rt, "sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items) {
    if (!rt.step()) return {};
    total = add(rt, total, path.get(rt, item));
  }
  return total;
}
inline Value filter_batch(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "batch", args, 1, {"linecount", "fill_with"});
  std::vector<Value> items, out, row;
  if (!collect(rt, v, items)) return {};
  const std::int64_t size = int_argument(rt, a[0], 1);
  for (const Value& item : items) {
    if (std::int64_t(row.size()) == size) {
      out.push_back(make_list(rt, std::move(row)));
      row.clear();
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (!a[1].is_missing() && !a[1].is_none() && std::int64_t(row.size()) < size) {
      if (!rt.reserve(std::uint64_t(size) * sizeof(Value))) return {};
      row.resize(std::size_t(size), a[1]);
    }
    out.push_back(make_list(rt, std::move(row)));
  }
  return make_iterator(rt, std::move(out));
}
inline Value filter_slice(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "slice", args, 1, {"slices", "fill_with"});
  std::vector<Value> items, out;
  if (!collect(rt, v, items)) return {};
  const std::int64_t slices = int_argument(rt, a[0], 1), size = std::int64_t(items.size());
  if (rt.failed()) return {};
  if (slices == 0) return raise(rt, "ZeroDivisionError", "integer division or modulo by zero");
  if (slices > 0 && !rt.reserve(std::uint64_t(slices) * sizeof(Value))) return {};
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < slices && rt.step(); ++i) {
    const bool extra = i < size % slices;
    const std::int64_t end = at + size / slices + (extra ? 1 : 0);
    std::vector<Value> part(items.begin() + at, items.begin() + end);
    if (!a[1].is_missing() && !a[1].is_none() && !extra) part.push_back(a[1]);
    out.push_back(make_list(rt, std::move(part)));
    at = end;
  }
  return make_iterator(rt, std::move(out));
}
inline Value filter_groupby(Runtime& rt, const Value& v, Args& args) {
  const auto a = bind(rt, "groupby", args, 1, {"attribute", "default", "case_sensitive"});
  std::vector<Value> items, keys, out;
  if (rt.failed() || !collect(rt, v, items)) return {};
  const AttributePath path(rt, a[0]);
  const bool sensitive = flag(a[2], false);
  for (const Value& item : items) {
    const Value key = path.get(rt, item, a[1]);
    keys.push_back(sensitive ? key : fold_case(rt, key));
  }
  const auto order = sorted_order(rt, keys, false);
  for (std::size_t i = 0; i < order.size() && !rt.failed();) {
    std::vector<Value> group;
    const std::size_t first = order[i];
    for (; i < order.size() && equal_counted(rt, keys[order[i]], keys[first]); ++i)
      group.push_back(items[order[i]]);
    const Value grouper = path.get(rt, group.empty() ? items[first] : group[0], a[1]);
    const Value pair = make_tuple(rt, {grouper, make_list(rt, std::move(group))});
    if (rt.failed()) return {};
    pair.get<ListObject>().group = true;
    out.push_back(pair);
  }
  return make_list(rt, std::move(out));
}

// map('filter', args...) or map(attribute=..., default=...).
inline Value filter_map(Runtime& rt, const Value& v, Args& args) {
  std::vector<Value> items, out;
  if (!truthy(v)) return make_iterator(rt, {});
  if (!collect(rt, v, items)) return {};
  if (args.positional.empty() && args.find("attribute") != nullptr) {
    const auto a = bind(rt, "map", args, 0, {"attribute", "default"});
    const AttributePath path(rt, a[0]);
    for (const Value& item : items) out.push_back(path.get(rt, item, a[1]));
    return make_iterator(rt, std::move(out));
  }
  if (args.positional.empty())
    return raise(rt, "FilterArgumentError", "map requires a filter argument");
  const std::string name = str(rt, args.positional[0]);
  const FilterEntry* filter = find_filter(name);
  if (filter == nullptr)
    return raise(rt, "TemplateRuntimeError", "No filter named " + string_repr(name) + ".");
  Runtime::Depth depth(rt);
  for (const Value& item : items) {
    if (!rt.step()) return {};
    Args inner{{args.positional.begin() + 1, args.positional.end()}, args.named};
    out.push_back(filter->filter(rt, item, inner));
  }
  return make_iterator(rt, std::move(out));
}
// select, reject and, with an attribute first, selectattr and rejectattr.
inline Value select_items(Runtime& rt, const Value& v, Args& args, bool keep, bool by_attribute) {
  std::vector<Value> items, out;
  if (!truthy(v)) return make_iterator(rt, {});
  if (!collect(rt, v, items)) return {};
  const std::size_t first = by_attribute ? 1 : 0;
  if (args.positional.size() < first)
    return raise(rt, "FilterArgumentError", "Missing parameter for attribute name");
  const AttributePath path(rt, by_attribute ? args.positional[0] : Value::none());
  const TestEntry* test = nullptr;
  if (args.positional.size() > first) {
    const std::string name = str(rt, args.positional[first]);
    test = find_test(name);
    if (test == nullptr)
      return raise(rt, "TemplateRuntimeError", "No test named " + string_repr(name) + ".");
  }
  for (const Value& item : items) {
    if (!rt.step()) return {};
    const Value subject = path.get(rt, item);
    bool pass = false;
    if (test == nullptr) {
      pass = truthy(subject);
    } else {
      Args inner{{args.positional.begin() + std::ptrdiff_t(first) + 1, args.positional.end()},
                 args.named};
      pass = test->test(rt, subject, inner);
    }
    if (pass == keep) out.push_back(item);
  }
  return make_iterator(rt, std::move(out));
}
inline Value filter_escape(Runtime& rt, const Value& v, Args& args) {
  bind(rt, "escape", args, 0, {});
  return make_string(rt, escaped_text(rt, v)).with_markup(true);
}

inline constexpr FilterEntry kFilters[] = {
    {"abs", filter_abs},
    {"attr", filter_attr},
    {"batch", filter_batch},
    {"capitalize",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return text_filter(rt, v, args, capitalized);
     }},
    {"center", filter_center},
    {"count", filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", filter_dictsort},
    {"e", filter_escape},
    {"escape", filter_escape},
    {"filesizeformat", filter_filesizeformat},
    {"first", filter_first},
    {"float", filter_float},
    {"forceescape",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       bind(rt, "forceescape", args, 0, {});
       return make_string(rt, html_escape(str(rt, v))).with_markup(true);
     }},
    {"format", filter_format},
    {"from_json", filter_from_json},
    {"groupby", filter_groupby},
    {"indent", filter_indent},
    {"int", filter_int},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"lower",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return text_filter(rt, v, args, [](std::string_view t) { return to_case(t, Case::kLower); });
     }},
    {"map", filter_map},
    {"max",
     [](Runtime& rt, const Value& v, Args& args) -> Value { return extreme(rt, v, args, 1); }},
    {"min",
     [](Runtime& rt, const Value& v, Args& args) -> Value { return extreme(rt, v, args, -1); }},
    {"pprint", filter_pprint},
    {"random", filter_random},
    {"reject",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return select_items(rt, v, args, false, false);
     }},
    {"rejectattr",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return select_items(rt, v, args, false, true);
     }},
    {"replace", filter_string_replace},
    {"reverse", filter_reverse},
    {"round", filter_round},
    {"safe",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       bind(rt, "safe", args, 0, {});
       return str_value(rt, v).with_markup(true);
     }},
    {"select",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return select_items(rt, v, args, true, false);
     }},
    {"selectattr",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return select_items(rt, v, args, true, true);
     }},
    {"slice", filter_slice},
    {"sort", filter_sort},
    {"string",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       bind(rt, "string", args, 0, {});
       return str_value(rt, v);
     }},
    {"striptags", filter_striptags},
    {"sum", filter_sum},
    {"title",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return text_filter(rt, v, args, title_words);
     }},
    {"tojson", filter_tojson},
    {"trim", filter_trim},
    {"truncate", filter_truncate},
    {"unique", filter_unique},
    {"upper",
     [](Runtime& rt, const Value& v, Args& args) -> Value {
       return text_filter(rt, v, args, [](std::string_view t) { return to_case(t, Case::kUpper); });
     }},
    {"urlencode", filter_urlencode},
    {"wordcount", filter_wordcount},
    {"wordwrap", filter_wordwrap},
    {"xmlattr", filter_xmlattr},
};

}  // namespace detail

inline const FilterEntry* find_filter(std::string_view name) {
  for (const FilterEntry& entry : detail::kFilters)
    if (entry.name == name) return &entry;
  return nullptr;
}
inline bool is_filter_name(std::string_view name) {
  return find_filter(name) != nullptr;
}

}  // namespace veloce::text::jinja
