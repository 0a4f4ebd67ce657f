// Objects and arrays of a JSON schema as GBNF. Members come in the order in which the schema names
// them, as OpenAI's strict mode writes them; those that aren't named come last.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "veloce/text/json_schema_compiler.hpp"

namespace veloce::text::schema {

// Fills in what `additionalProperties`, `patternProperties` and `propertyNames` say. `extra.value`
// empty: nothing more.
inline bool SchemaCompiler::read_extra(const Json& schema, const std::string& path, Extra& extra) {
  const Json* additional = member(schema, "additionalProperties");
  const Json* patterns = member(schema, "patternProperties");
  const bool named = has(schema, "properties");
  if (patterns && patterns->is_object() && patterns->empty()) patterns = nullptr;
  if (patterns) {
    const bool closed = !additional || *additional == false;
    if (!patterns->is_object() || patterns->size() != 1 || named || !closed ||
        has(schema, "propertyNames")) {
      unsupported(path, "patternProperties",
                  "is only supported with one pattern and nothing beside it");
      return false;
    }
    const std::string at = below(path, "patternProperties");
    extra.key = patterned(Json(patterns->begin().key()), Json::object(), 0, kAny, at);
    extra.value = visit(*patterns->begin(), below(at, patterns->begin().key()));
    return status_.ok();
  }
  const bool closed_by_word = has(schema, "unevaluatedProperties") && !additional;
  if (additional) {
    extra.value = visit(*additional, below(path, "additionalProperties"));
  } else if (!named && !closed_by_word) {
    extra.value = rules_.any();
  }
  extra.key = rules_.string();
  if (const Json* names = member(schema, "propertyNames"); names && extra.value) {
    if (named) {
      unsupported(path, "propertyNames", "beside 'properties' isn't supported");
      return false;
    }
    Json both = Json::object();
    both["allOf"] = Json::array({Json::object({{"type", "string"}}), *names});
    extra.key = visit(both, below(path, "propertyNames"));
    if (!extra.key) extra.value.reset();
  } else if (names && named) {
    unsupported(path, "propertyNames", "beside 'properties' isn't supported");
  }
  return status_.ok();
}

inline bool SchemaCompiler::read_properties(const Json& schema, const std::string& path,
                                            std::vector<Property>& out, Extra& extra) {
  static const Json kNone = Json::object(), kEmptyList = Json::array();
  const Json* properties = member(schema, "properties");
  const Json* required = member(schema, "required");
  if (properties && !properties->is_object())
    return fail(path, "'properties' must be an object"), false;
  if (required && !required->is_array())
    return fail(path, "'required' must be a list of names"), false;
  if (!read_extra(schema, path, extra)) return false;
  std::vector<std::string> wanted;
  std::set<std::string> needed;
  for (const Json& name : required ? *required : kEmptyList) {
    if (!name.is_string()) return fail(path, "'required' must be a list of names"), false;
    if (needed.insert(name.get<std::string>()).second) wanted.push_back(name.get<std::string>());
  }
  for (const auto& [name, value] : (properties ? *properties : kNone).items()) {
    const Term term = visit(value, below(below(path, "properties"), name));
    if (!status_.ok()) return false;
    const bool must = needed.erase(name) != 0;
    if (!term && must) return false;  // a member that must be there and can't
    std::string key;
    if (!json_quoted(name, key)) return fail(path, "a property's name isn't valid UTF-8"), false;
    out.push_back({name, term ? pair(gbnf_literal(key), *term) : "", must});
  }
  // Required but not described: it is an additional property that must be there.
  for (const std::string& name : wanted) {
    if (needed.count(name) == 0) continue;
    if (has(schema, "patternProperties") || has(schema, "propertyNames")) {
      unsupported(path, "required",
                  "of a name that 'properties' doesn't describe isn't supported here");
      return false;
    }
    // Closed only because nothing was said: the standard leaves its value free.
    if (!extra.value &&
        (has(schema, "additionalProperties") || has(schema, "unevaluatedProperties")))
      return false;
    std::string key;
    if (!json_quoted(name, key)) return fail(path, "a required name isn't valid UTF-8"), false;
    out.push_back({name, pair(gbnf_literal(key), extra.value ? *extra.value : rules_.any()), true});
  }
  return true;
}

// Keys other than `names`: for each way to leave the names' common trie, the characters so far and
// one that leaves. Characters have one spelling each here, so that no escape can spell a known
// name.
inline std::string SchemaCompiler::other_keys(const std::vector<std::string>& names,
                                              const std::string& path) {
  constexpr std::size_t kMostBytes = 65536;
  std::map<std::string, std::pair<std::vector<CodeRange>, bool>>
      prefixes;  // -> next characters, is a name
  std::size_t bytes = 0;
  prefixes[""];
  for (const std::string& name : names) {
    for (std::size_t at = 0; at < name.size();) {
      const std::string before = name.substr(0, at);
      std::uint32_t cp = 0;
      if (!read_utf8(name, at, cp)) break;
      prefixes[before].first.push_back({cp, cp});
      if (prefixes.emplace(name.substr(0, at), std::pair<std::vector<CodeRange>, bool>{}).second)
        bytes += at;
    }
    prefixes[name].second = true;
    if (bytes > kMostBytes) {
      unsupported(path, "additionalProperties",
                  "beside so many or so long property names isn't supported");
      return "\"\"";
    }
  }
  const std::string any = rules_.rule_for("key-char", json_class(complement_of({})));
  std::string body;
  for (const auto& [prefix, node] : prefixes) {
    std::string spelled;
    (void)json_quoted(prefix, spelled);
    const std::string inside = spelled.substr(1, spelled.size() - 2);
    if (!body.empty()) body += " | ";
    if (!inside.empty()) body += gbnf_literal(inside) + " ";
    body +=
        "(" + json_class(complement_of(node.first)) + " " + any + "*)" + (node.second ? "" : "?");
  }
  return rules_.rule_for("other-key", "\"\\\"\" (" + body + ") \"\\\"\"");
}

inline bool SchemaCompiler::limit_properties(const Json& schema, const std::string& path,
                                             const std::vector<Property>& properties, Extra& extra,
                                             bool& may_be_empty) {
  const std::uint64_t min = count(schema, "minProperties", 0, path),
                      max = count(schema, "maxProperties", kAny, path);
  if (!status_.ok()) return false;
  std::uint64_t required = 0, possible = 0;
  for (const Property& p : properties) {
    required += p.required;
    possible += !p.pair.empty();
  }
  if (min > max || max < required || (!extra.value && min > possible)) return false;
  const bool fixed = required == possible;
  if (max != kAny && (extra.value || max < possible)) {
    if (!fixed)
      return unsupported(path, "maxProperties", "beside optional properties isn't supported"),
             false;
    extra.max = max - required;
  }
  if (min > required) {
    if (fixed) {
      extra.min = min - required;
    } else if (min == 1) {
      may_be_empty = false;
    } else {
      return unsupported(path, "minProperties", "beside optional properties isn't supported"),
             false;
    }
  }
  return true;
}

// The members between the braces, if there are any.
inline std::string SchemaCompiler::members_text(const std::vector<Property>& properties,
                                                const Extra& extra, bool& may_be_empty,
                                                const std::string& path) {
  const std::string comma = "\",\" " + rules_.space() + " ";
  std::string more;  // an additional member
  if (extra.value && extra.max > 0)
    more = rules_.rule_for("member", pair(*extra.key, *extra.value));
  auto after_first = [&](std::uint64_t taken) -> std::string {
    if (more.empty() || extra.max <= taken) return "";
    const std::uint64_t least = extra.min > taken ? extra.min - taken : 0;
    return rules_.repeat("(" + comma + more + ")", least,
                         extra.max == kAny ? kAny : extra.max - taken, extra.max == kAny);
  };
  std::vector<const Property*> list;
  for (const Property& p : properties) {
    if (!p.pair.empty()) list.push_back(&p);
  }
  const auto first_required = static_cast<std::size_t>(
      std::find_if(list.begin(), list.end(), [](const Property* p) { return p->required; }) -
      list.begin());
  const std::size_t optional = static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [](const Property* p) { return !p->required; }));
  // What may follow member i, from the last to the first. With several optional members each rest
  // is a rule of its own, so that the text grows with their number and not with its square.
  std::vector<std::string> rest(list.size() + 1);
  rest[list.size()] = after_first(0);
  for (std::size_t i = list.size(); i-- > 0;) {
    rest[i] = list[i]->required ? comma + list[i]->pair : "(" + comma + list[i]->pair + ")?";
    if (!rest[i + 1].empty()) rest[i] += " " + rest[i + 1];
    if (optional > 1) rest[i] = rules_.rule_for(std::string(hint(path)) + "-rest", rest[i]);
  }
  std::string body;
  for (std::size_t i = 0; i <= first_required && i < list.size(); ++i) {
    body += (body.empty() ? "" : " | ") + list[i]->pair;
    if (!rest[i + 1].empty()) body += " " + rest[i + 1];
  }
  const bool none_required = first_required == list.size();
  if (none_required && !more.empty()) {
    body += (body.empty() ? "" : " | ") + more;
    if (const std::string tail = after_first(1); !tail.empty()) body += " " + tail;
  }
  may_be_empty = may_be_empty && none_required && extra.min == 0;
  return body;
}

inline SchemaCompiler::Term SchemaCompiler::object(const Json& schema, const std::string& path) {
  std::vector<Property> properties;
  Extra extra;
  bool may_be_empty = true;
  if (!read_properties(schema, path, properties, extra)) return std::nullopt;
  if (!limit_properties(schema, path, properties, extra, may_be_empty)) return std::nullopt;
  const bool plain = properties.empty() && extra.value == rules_.any() &&
                     extra.key == rules_.string() && extra.min == 0 && extra.max == kAny &&
                     may_be_empty;
  if (plain) return rules_.object();
  if (extra.value && !properties.empty()) {
    std::vector<std::string> names;
    for (const Property& p : properties) names.push_back(p.name);
    extra.key = other_keys(names, path);
    if (!status_.ok()) return std::nullopt;
  }
  const std::string space = rules_.space();
  const std::string members = members_text(properties, extra, may_be_empty, path);
  if (members.empty()) {
    if (!may_be_empty) return std::nullopt;
    return rules_.rule_for(hint(path), "\"{\" " + space + " \"}\"");
  }
  return rules_.rule_for(hint(path), "\"{\" " + space + " ((" + members + ") " + space + ")" +
                                         (may_be_empty ? "?" : "") + " \"}\"");
}

inline SchemaCompiler::Term SchemaCompiler::array(const Json& schema, const std::string& path) {
  for (const char* key : {"contains", "minContains", "maxContains"}) {
    if (has(schema, key))
      return unsupported(path, key, "isn't supported: a grammar can't enforce it"), std::nullopt;
  }
  if (const Json* unique = member(schema, "uniqueItems"); unique && *unique != false) {
    return unsupported(path, "uniqueItems", "isn't supported: a grammar can't enforce it"),
           std::nullopt;
  }
  const Json* prefix = member(schema, "prefixItems");
  const Json* items = member(schema, "items");
  const Json* others = items;
  if (!prefix && items &&
      items->is_array()) {  // before 2020: a list is a tuple, and additionalItems what follows
    prefix = items;
    others = member(schema, "additionalItems");
  }
  if (prefix && !prefix->is_array())
    return fail(path, "'prefixItems' must be a list of schemas"), std::nullopt;
  const std::uint64_t fixed = prefix ? prefix->size() : 0;
  std::uint64_t min = count(schema, "minItems", fixed, path),
                max = count(schema, "maxItems", kAny, path);
  if (!status_.ok()) return std::nullopt;
  if (!has(schema, "minItems")) min = std::min(min, max);
  // A tuple of which nothing is said beyond its own items ends with them, as the usual servers have
  // it.
  Term item;
  if (others) {
    item = visit(*others, below(path, others == items ? "items" : "additionalItems"));
  } else if (!prefix) {
    item = rules_.any();
  }
  if (!status_.ok()) return std::nullopt;
  const std::string space = rules_.space(), comma = "\",\" " + space + " ";
  std::vector<std::string> terms;
  for (std::uint64_t i = 0; i < fixed; ++i) {
    const Term term = visit((*prefix)[i], below(below(path, "prefixItems"), std::to_string(i)));
    if (!status_.ok()) return std::nullopt;
    if (!term) break;  // no value fits here: the array ends before
    terms.push_back(*term);
  }
  const bool open = item && terms.size() == fixed;
  if (!open) max = std::min<std::uint64_t>(max, terms.size());
  if (min > max) return std::nullopt;
  if (!prefix && min == 0 && max == kAny && item == rules_.any()) return rules_.array();
  // From the last place to the first: what may follow once `i` items are there.
  std::string rest;
  if (open && max > fixed) {
    const std::uint64_t least = min > fixed ? min - fixed : 0;
    const std::uint64_t lead = fixed == 0 ? 1 : 0;  // the first item has no comma
    rest = rules_.repeat("(" + comma + *item + ")", least > lead ? least - lead : 0,
                         max == kAny ? kAny : max - fixed - lead, max == kAny);
    if (lead == 1) rest = *item + " " + rest;
  }
  for (std::size_t i = terms.size(); i-- > 0;) {
    if (i >= max) continue;
    std::string at = (i > 0 ? comma : std::string()) + terms[i];
    if (!rest.empty()) at += " " + rest;
    if (i > 0 && i >= min) at = "(" + rules_.rule_for(std::string(hint(path)) + "-rest", at) + ")?";
    rest = std::move(at);
  }
  if (rest.empty()) return rules_.rule_for(hint(path), "\"[\" " + space + " \"]\"");
  return rules_.rule_for(hint(path), "\"[\" " + space + " (" + rest + " " + space + ")" +
                                         (min == 0 ? "?" : "") + " \"]\"");
}

}  // namespace veloce::text::schema
