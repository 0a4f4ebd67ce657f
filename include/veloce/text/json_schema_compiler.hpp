// One JSON schema document turned into GBNF rules; json_schema.hpp has the entry points and says
// what is supported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema_format.hpp"
#include "veloce/text/json_schema_merge.hpp"
#include "veloce/text/json_schema_number.hpp"
#include "veloce/text/json_schema_pattern.hpp"
#include "veloce/text/json_schema_rules.hpp"
#include "veloce/text/json_schema_text.hpp"

namespace veloce::text::schema {

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, RuleSet& rules, std::size_t max_enum_values)
      : root_(root), rules_(rules), max_enum_values_(max_enum_values), merger_(root) {}

  // Defines rule `name` (reserved by the caller) for the whole document.
  Status compile(const std::string& name) { return compile_part(root_, "#", name); }

  // … for a schema whose references point into the document.
  Status compile_part(const Json& schema, const std::string& path, const std::string& name) {
    if (&schema == &root_) references_.emplace("#", References{name, 0});
    holders_.push_back({path, {}});
    define(name, schema, path);
    while (status_.ok() && !queue_.empty()) {
      const Waiting next = std::move(queue_.back());
      queue_.pop_back();
      holder_ = next.holder;
      // A copy of the path: holders_ grows meanwhile.
      define(next.name, *next.schema, std::string(holders_[holder_].path));
    }
    check_direct_cycles();
    if (status_.ok() && rules_.full()) {
      fail("#", "the schema's grammar exceeds " + std::to_string(rules_.max_bytes()) + " bytes");
    }
    return status_;
  }

 private:
  // A sub-schema's GBNF, always one term; nothing: no document is valid (or an error, then status_
  // says so).
  using Term = std::optional<std::string>;

  struct References {
    std::string rule;
    std::size_t holder;
  };
  struct Waiting {
    const Json* schema;
    std::string name;
    std::size_t holder;
  };
  struct Holder {  // a schema that a rule of its own is made of
    std::string path;
    std::vector<std::size_t> direct;  // references outside any object or array
  };

  void fail(const std::string& path, const std::string& what) {
    if (status_.ok()) status_ = Status(Code::kInvalidArgument, "schema: " + path + ": " + what);
  }
  void unsupported(const std::string& path, const std::string& keyword, const std::string& why) {
    if (status_.ok()) {
      status_ = Status(Code::kUnsupported, "schema: " + path + ": '" + keyword + "' " + why);
    }
  }

  void define(const std::string& name, const Json& schema, const std::string& path) {
    const Term term = visit(schema, path);
    if (!status_.ok()) return;
    if (!term) return fail(path, "no document satisfies this schema");
    rules_.define(name, *term);
  }

  static std::string below(const std::string& path, std::string_view key) {
    std::string out = path + "/";
    for (const char c : key.substr(0, 80)) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
    return out;
  }

  // The last step of the path, as a name for rules.
  static std::string_view hint(std::string_view path) {
    return path == "#" ? std::string_view("document") : path.substr(path.rfind('/') + 1);
  }

  Term either(std::vector<std::string> branches, const std::string& path) {
    std::string body;
    std::vector<std::string> seen;
    for (std::string& branch : branches) {
      if (std::find(seen.begin(), seen.end(), branch) != seen.end()) continue;
      body += (body.empty() ? "" : " | ") + branch;
      seen.push_back(std::move(branch));
    }
    if (seen.empty()) return std::nullopt;
    return seen.size() == 1 ? seen[0] : rules_.rule_for(hint(path), body);
  }

  Term visit(const Json& schema, const std::string& path) {
    if (rules_.full())
      fail(path, "the schema's grammar exceeds " + std::to_string(rules_.max_bytes()) + " bytes");
    if (!status_.ok()) return std::nullopt;
    if (schema.is_boolean()) return schema.get<bool>() ? Term(rules_.any()) : std::nullopt;
    if (!schema.is_object())
      return fail(path, "a schema must be an object or a boolean"), std::nullopt;
    int combinators = 0;
    for (const char* key : {"$ref", "allOf", "anyOf", "oneOf"})
      combinators += member(schema, key) != nullptr;
    if (combinators == 0) return flat(schema, path);
    if (combinators == 1 && !has_own_keywords(schema) &&
        !SchemaMerger::is_exclusive_choice(schema)) {
      if (const Json* ref = member(schema, "$ref")) return reference(*ref, path);
      for (const char* key : {"anyOf", "oneOf"}) {
        const Json* list = member(schema, key);
        if (!list) continue;
        if (!list->is_array() || list->empty()) {
          return fail(path, std::string("'") + key + "' must be a list of schemas, not empty"),
                 std::nullopt;
        }
        if (std::string_view(key) == "oneOf") status_ = merger_.check_one_of(*list, path);
        if (!status_.ok()) return std::nullopt;
        std::vector<std::string> branches;
        for (std::size_t i = 0; i < list->size(); ++i) {
          if (Term term = visit((*list)[i], path + "/" + key + "/" + std::to_string(i)))
            branches.push_back(*std::move(term));
          if (!status_.ok()) return std::nullopt;
        }
        return either(std::move(branches), path);
      }
      const Json* all = member(schema, "allOf");
      if (all && all->is_array() && all->size() == 1) return visit((*all)[0], path + "/allOf/0");
    }
    auto alternatives = merger_.expand(schema, path);
    if (!alternatives) return status_ = alternatives.status(), std::nullopt;
    std::vector<std::string> branches;
    for (const Json& alternative : *alternatives) {
      if (Term term = flat(alternative, path)) branches.push_back(*std::move(term));
      if (!status_.ok()) return std::nullopt;
    }
    return either(std::move(branches), path);
  }

  // Each target becomes one rule, made later: recursion in the schema is recursion in the grammar.
  Term reference(const Json& ref, const std::string& path) {
    auto target = merger_.resolve(ref, path);
    if (!target) return status_ = target.status(), std::nullopt;
    const std::string pointer = ref.get<std::string>();
    auto [it, added] = references_.emplace(pointer, References{});
    if (added) {
      constexpr std::size_t kMostReferences = 10000;
      if (references_.size() > kMostReferences)
        return fail(path, "more than 10000 different references"), std::nullopt;
      it->second = {rules_.unique_name(hint(pointer)), holders_.size()};
      holders_.push_back({pointer, {}});
      queue_.push_back({*target, it->second.rule, it->second.holder});
    }
    if (containers_ == 0) holders_[holder_].direct.push_back(it->second.holder);
    return it->second.rule;
  }

  // A reference that leads back to itself with nothing around it describes nothing.
  void check_direct_cycles() {
    std::vector<std::uint8_t> colour(holders_.size(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> path;
    for (std::size_t start = 0; start < holders_.size() && status_.ok(); ++start) {
      if (colour[start] == 0) path.push_back({start, 0});
      while (!path.empty()) {
        auto& [at, next] = path.back();
        colour[at] = 1;
        if (next == holders_[at].direct.size()) {
          colour[at] = 2;
          path.pop_back();
          continue;
        }
        const std::size_t to = holders_[at].direct[next++];
        if (colour[to] == 1) {
          fail(holders_[to].path, "'$ref' leads back here with no object or array in between");
          return;
        }
        if (colour[to] == 0) path.push_back({to, 0});
      }
    }
  }

  // --- a schema without combinators ---
  Term flat(const Json& schema, const std::string& path) {
    check_keywords(schema, path);
    if (!status_.ok()) return std::nullopt;
    std::vector<std::string> branches;
    if (const Json* nullable = member(schema, "nullable")) {
      if (!nullable->is_boolean()) return fail(path, "'nullable' must be a boolean"), std::nullopt;
      if (nullable->get<bool>()) branches.push_back(rules_.null());
    }
    if (member(schema, "enum") || member(schema, "const")) {
      if (Term values = enumeration(schema, path)) branches.push_back(*std::move(values));
      return status_.ok() ? either(std::move(branches), path) : std::nullopt;
    }
    const std::vector<std::string> types = types_of(schema, path);
    if (!status_.ok()) return std::nullopt;
    if (types.empty()) return rules_.any();
    for (const std::string& type : types) {
      if (Term term = typed(type, schema, path)) branches.push_back(*std::move(term));
      if (!status_.ok()) return std::nullopt;
    }
    return either(std::move(branches), path);
  }

  void check_keywords(const Json& schema, const std::string& path) {
    static constexpr std::string_view kRefused[] = {"not",
                                                    "if",
                                                    "then",
                                                    "else",
                                                    "dependentSchemas",
                                                    "dependentRequired",
                                                    "dependencies",
                                                    "$dynamicRef",
                                                    "$recursiveRef"};
    for (const auto& [key, value] : schema.items()) {
      if (std::find(std::begin(kRefused), std::end(kRefused), key) != std::end(kRefused)) {
        const bool empty = value.is_object() && value.empty() && key.rfind("depend", 0) == 0;
        if (!empty) unsupported(path, key, "isn't supported: a grammar can't enforce it");
      }
      if (key == "unevaluatedProperties" && value != false)
        unsupported(path, key, "is only supported as false");
      if (key == "unevaluatedItems" && !(value == false && member(schema, "prefixItems"))) {
        unsupported(path, key, "is only supported as false beside 'prefixItems'");
      }
    }
  }

  static bool any_of_keys(const Json& schema, std::initializer_list<const char*> keys) {
    return std::any_of(keys.begin(), keys.end(),
                       [&](const char* key) { return member(schema, key) != nullptr; });
  }

  // The types asked for; where none are, those that the keywords speak of; none: any value.
  std::vector<std::string> types_of(const Json& schema, const std::string& path) {
    static constexpr std::string_view kTypes[] = {"null",   "boolean", "object", "array",
                                                  "number", "integer", "string"};
    std::vector<std::string> out;
    if (const Json* type = member(schema, "type")) {
      const Json list = type->is_array() ? *type : Json::array({*type});
      for (const Json& t : list) {
        const std::string name = t.is_string() ? t.get<std::string>() : "";
        if (std::find(std::begin(kTypes), std::end(kTypes), name) == std::end(kTypes)) {
          fail(path, "'type' " +
                         t.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80) +
                         " isn't one of null, boolean, object, array, number, integer, string");
          return {};
        }
        out.push_back(name);
      }
      if (out.empty()) fail(path, "'type' must not be an empty list");
      if (std::find(out.begin(), out.end(), "number") != out.end()) std::erase(out, "integer");
      return out;
    }
    if (any_of_keys(schema,
                    {"properties", "required", "additionalProperties", "patternProperties",
                     "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"})) {
      out.push_back("object");
    }
    if (any_of_keys(schema, {"items", "prefixItems", "minItems", "maxItems", "uniqueItems",
                             "contains", "additionalItems"})) {
      out.push_back("array");
    }
    if (any_of_keys(schema, {"pattern", "format", "minLength", "maxLength"}))
      out.push_back("string");
    if (any_of_keys(schema,
                    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})) {
      out.push_back("number");
    }
    return out;
  }

  Term typed(const std::string& type, const Json& schema, const std::string& path) {
    if (type == "null") return rules_.null();
    if (type == "boolean") return rules_.boolean();
    if (type == "string") return string(schema, path);
    if (type == "integer" || type == "number") return numeric(schema, path, type == "integer");
    constexpr int kDeepest = 100;
    if (containers_ >= kDeepest)
      return fail(path, "objects and arrays nested more than 100 deep"), std::nullopt;
    ++containers_;
    Term term = type == "object" ? object(schema, path) : array(schema, path);
    --containers_;
    return term;
  }

  // --- enum and const ---
  Term enumeration(const Json& schema, const std::string& path) {
    std::vector<const Json*> values;
    const Json* list = member(schema, "enum");
    const Json* one = member(schema, "const");
    if (list && (!list->is_array() || list->empty())) {
      return fail(path, "'enum' must be a list, not empty"), std::nullopt;
    }
    if (list && list->size() > max_enum_values_) {
      return fail(path, "'enum' has " + std::to_string(list->size()) + " values, the limit is " +
                            std::to_string(max_enum_values_)),
             std::nullopt;
    }
    if (one) {
      if (list && std::find(list->begin(), list->end(), *one) == list->end()) return std::nullopt;
      values.push_back(one);
    } else {
      for (const Json& value : *list) values.push_back(&value);
    }
    // Other keywords beside it leave the values that satisfy them, which their own grammar decides.
    Json rest = Json::object();
    bool constrained = false;
    for (const auto& [key, value] : schema.items()) {
      if (is_annotation(key) || key == "enum" || key == "const" || key == "nullable") continue;
      rest[key] = value;
      constrained = true;
    }
    std::shared_ptr<const Grammar> filter;
    if (constrained) {
      RuleSet own("", rules_.max_bytes(), "\"\"");
      own.reserve("root");
      SchemaCompiler inner(root_, own, max_enum_values_);
      if (Status s = inner.compile_part(rest, path, "root"); !s.ok())
        return status_ = s, std::nullopt;
      auto grammar = Grammar::parse(own.text());
      if (!grammar) return fail(path, grammar.status().message()), std::nullopt;
      filter = *std::move(grammar);
    }
    std::string body;
    for (const Json* value : values) {
      std::string compact;
      if (!write_value(*value, compact, ""))
        return fail(path, "a value isn't valid UTF-8"), std::nullopt;
      if (filter && !filter->matches(compact)) continue;
      std::string spaced;
      (void)write_value(*value, spaced, rules_.space());
      body += (body.empty() ? "" : " | ") + spaced_literal(spaced);
    }
    if (body.empty()) return std::nullopt;
    return rules_.rule_for(hint(path), body);
  }

  // A value as JSON text; `space`, unless empty, is put as "\x01" where white space may stand.
  static bool write_value(const Json& value, std::string& out, const std::string& space) {
    const char* gap = space.empty() ? "" : "\x01";
    if (value.is_string()) return json_quoted(value.get_ref<const std::string&>(), out);
    if (value.is_object() || value.is_array()) {
      out += value.is_object() ? "{" : "[";
      out += gap;
      bool first = true;
      for (auto it = value.begin(); it != value.end(); ++it) {
        if (!first) out += std::string(",") + gap;
        first = false;
        if (value.is_object()) {
          if (!json_quoted(it.key(), out)) return false;
          out += std::string(gap) + ":" + gap;
        }
        if (!write_value(*it, out, space)) return false;
      }
      if (!first) out += gap;
      out += value.is_object() ? "}" : "]";
      return true;
    }
    out += value.dump();
    return true;
  }

  std::string spaced_literal(const std::string& text) {
    std::string out;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\x01', begin), text.size());
      if (end > begin)
        out += (out.empty() ? "" : " ") +
               gbnf_literal(std::string_view(text).substr(begin, end - begin));
      if (end < text.size()) out += " " + rules_.space();
      begin = end + 1;
    }
    return out;
  }

  // --- keyword values ---
  bool has(const Json& schema, const char* key) const { return member(schema, key) != nullptr; }

  std::uint64_t count(const Json& schema, const char* key, std::uint64_t otherwise,
                      const std::string& path) {
    constexpr std::uint64_t kMost = 4000000;
    const Json* value = member(schema, key);
    if (!value) return otherwise;
    const bool whole = value->is_number_float() && value->get<double>() >= 0 &&
                       value->get<double>() <= 9e15 &&
                       value->get<double>() ==
                           static_cast<double>(static_cast<std::uint64_t>(value->get<double>()));
    if (!value->is_number_unsigned() && !whole &&
        !(value->is_number_integer() && value->get<std::int64_t>() >= 0)) {
      return fail(path, std::string("'") + key + "' must be a whole number, not negative"),
             otherwise;
    }
    const std::uint64_t n =
        whole ? static_cast<std::uint64_t>(value->get<double>()) : value->get<std::uint64_t>();
    if (n > kMost) return unsupported(path, key, "of more than 4000000 isn't supported"), otherwise;
    return n;
  }

  static constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

  // --- strings ---
  Term string(const Json& schema, const std::string& path) {
    const std::uint64_t min = count(schema, "minLength", 0, path),
                        max = count(schema, "maxLength", kAny, path);
    if (!status_.ok() || min > max) return std::nullopt;
    if (const Json* pattern = member(schema, "pattern"))
      return patterned(*pattern, schema, min, max, path);
    if (const Json* format = member(schema, "format")) {
      if (!format->is_string()) return fail(path, "'format' must be a string"), std::nullopt;
      const std::string& name = format->get_ref<const std::string&>();
      static constexpr std::string_view kHints[] = {"password", "binary", "textarea",
                                                    "markdown", "html",   "multiline"};
      if (std::find(std::begin(kHints), std::end(kHints), name) == std::end(kHints)) {
        return formatted(name, min, max, path);
      }
    }
    if (min == 0 && max == kAny) return rules_.string();
    const std::string body = rules_.repeat(rules_.character(), min, max, max == kAny);
    return rules_.rule_for(hint(path), "\"\\\"\" " + body + " \"\\\"\"");
  }

  Term patterned(const Json& pattern, const Json& schema, std::uint64_t min, std::uint64_t max,
                 const std::string& path) {
    if (!pattern.is_string()) return fail(path, "'pattern' must be a string"), std::nullopt;
    if (has(schema, "format"))
      return unsupported(path, "format", "beside 'pattern' isn't supported"), std::nullopt;
    auto text = PatternTranslator(pattern.get_ref<const std::string&>()).run();
    if (!text)
      return unsupported(path, "pattern", "can't be enforced: " + text.status().message()),
             std::nullopt;
    if (text->min_length > max || (text->max_length != kUnbounded && text->max_length < min))
      return std::nullopt;
    if (min > text->min_length) {
      return unsupported(path, "minLength", "beside a 'pattern' that allows less isn't supported"),
             std::nullopt;
    }
    if (max != kAny && (text->max_length == kUnbounded || max < text->max_length)) {
      return unsupported(path, "maxLength", "beside a 'pattern' that allows more isn't supported"),
             std::nullopt;
    }
    return rules_.rule_for(hint(path), "\"\\\"\" (" + text->gbnf + ") \"\\\"\"");
  }

  Term formatted(const std::string& name, std::uint64_t min, std::uint64_t max,
                 const std::string& path) {
    std::string body = format_gbnf(name);
    if (body.empty())
      return unsupported(path, "format", "\"" + name.substr(0, 80) + "\" isn't supported"),
             std::nullopt;
    if (name == "uri" && max != kAny && max >= 64) {
      // Its tail counted in threes (the length of a percent escape) stays within the limit.
      body.pop_back();
      body += "{1," + std::to_string(std::min<std::uint64_t>((max - 32) / 3, 2000)) + "}";
      max = kAny;
    }
    if (min > (name == "byte" ? 0u : 3u) && !(name == "byte" && min == 0)) {
      return unsupported(path, "minLength", "beside 'format' isn't supported"), std::nullopt;
    }
    if (max != kAny && max < 320)
      return unsupported(path, "maxLength", "beside 'format' isn't supported"), std::nullopt;
    if (max != kAny && (name == "byte" || name == "email")) {
      return unsupported(path, "maxLength", "beside 'format' isn't supported"), std::nullopt;
    }
    return rules_.rule_for(name, "\"\\\"\" (" + body + ") \"\\\"\"");
  }

  // --- numbers ---
  std::optional<Bound> bound(const Json& schema, const char* plain, const char* exclusive,
                             bool lower, const std::string& path) {
    std::optional<Bound> out;
    auto read = [&](const char* key, const Json& value, bool excluded) {
      std::optional<Decimal> d;
      if (value.is_number()) d = parse_decimal(value.dump());
      if (!d) return fail(path, std::string("'") + key + "' must be a number of at most 60 digits");
      const int order = out ? compare(*d, out->value) : 0;
      if (!out || (lower ? order > 0 : order < 0) || (order == 0 && excluded))
        out = Bound{*std::move(d), excluded};
    };
    const Json* open = member(schema, exclusive);
    const bool old_style = open && open->is_boolean();  // draft 4: a flag on the plain bound
    if (const Json* value = member(schema, plain))
      read(plain, *value, old_style && open->get<bool>());
    if (open && !old_style) read(exclusive, *open, true);
    return out;
  }

  Term numeric(const Json& schema, const std::string& path, bool integer) {
    std::optional<Bound> min = bound(schema, "minimum", "exclusiveMinimum", true, path);
    std::optional<Bound> max = bound(schema, "maximum", "exclusiveMaximum", false, path);
    if (const Json* format = member(schema, "format");
        format && format->is_string() && !has(schema, "pattern")) {
      machine_bounds(format->get_ref<const std::string&>(), min, max);
    }
    if (!status_.ok()) return std::nullopt;
    if (const Json* divisor = member(schema, "multipleOf")) {
      if (!divisor->is_number() || divisor->get<double>() <= 0) {
        return fail(path, "'multipleOf' must be a number above zero"), std::nullopt;
      }
      const bool trivial = integer && *divisor == 1;
      if (!trivial) {
        if (min || max)
          return unsupported(path, "multipleOf", "beside bounds isn't supported"), std::nullopt;
        return multiple_of(*divisor, integer, path);
      }
    }
    if (!min && !max) return integer ? rules_.integer() : rules_.number();
    const std::string body = integer ? integer_range(min, max) : number_range(min, max);
    if (body.empty()) return std::nullopt;
    return rules_.rule_for(hint(path), body);
  }

  static void machine_bounds(const std::string& format, std::optional<Bound>& min,
                             std::optional<Bound>& max) {
    struct Width {
      const char *name, *low, *high;
    };
    static constexpr Width kWidths[] = {{"int8", "-128", "127"},
                                        {"uint8", "0", "255"},
                                        {"int16", "-32768", "32767"},
                                        {"uint16", "0", "65535"},
                                        {"int32", "-2147483648", "2147483647"},
                                        {"uint32", "0", "4294967295"},
                                        {"int64", "-9223372036854775808", "9223372036854775807"},
                                        {"uint64", "0", "18446744073709551615"}};
    for (const Width& width : kWidths) {
      if (format != width.name) continue;
      const Decimal low = *parse_decimal(width.low), high = *parse_decimal(width.high);
      if (!min || compare(low, min->value) > 0) min = Bound{low, false};
      if (!max || compare(high, max->value) < 0) max = Bound{high, false};
    }
  }

  // Small whole divisors by the remainder of the digits read so far; powers of ten by where the
  // point may stand.
  Term multiple_of(const Json& divisor, bool integer, const std::string& path) {
    const auto d = parse_decimal(divisor.dump());
    const std::string& f = d ? d->fraction : "";
    if (d && !integer && d->whole == "0" && f.find_first_not_of('0') == f.size() - 1 &&
        f.back() == '1') {
      return rules_.rule_for(hint(path), "\"-\"? (\"0\" | [1-9] [0-9]{0,15}) (\".\" [0-9]{1," +
                                             std::to_string(f.size()) + "})?");
    }
    constexpr int kLargest = 100;
    const int n = d && f.empty() && d->whole.size() <= 3 ? std::stoi(d->whole) : 0;
    if (n == 0 || n > kLargest) {
      return unsupported(path, "multipleOf",
                         "is only supported for whole numbers up to 100, and for 0.1, 0.01, …"),
             std::nullopt;
    }
    const std::string zero_tail = integer ? "" : " (\".\" \"0\"{1,16})?";
    std::vector<std::string> names;
    for (int r = 0; r < n; ++r)
      names.push_back(rules_.unique_name("rest-" + std::to_string(r) + "-of-" + std::to_string(n)));
    auto digits = [&](int r, int first) {
      std::string body;
      for (int digit = first; digit <= 9; ++digit) {
        body += (body.empty() ? "" : " | ") + gbnf_literal(std::to_string(digit)) + " " +
                names[static_cast<std::size_t>((10 * r + digit) % n)];
      }
      return body;
    };
    for (int r = 0; r < n; ++r)
      rules_.define(names[static_cast<std::size_t>(r)], digits(r, 0) + (r == 0 ? " | \"\"" : ""));
    return rules_.rule_for(hint(path), "\"-\"? (\"0\" | " + digits(0, 1) + ")" + zero_tail);
  }

  Term object(const Json& schema, const std::string& path);
  Term array(const Json& schema, const std::string& path);

  struct Property {
    std::string name, pair;  // pair: key, colon and value
    bool required = false;
  };
  struct Extra {  // properties that aren't named
    Term key, value;
    std::uint64_t min = 0, max = kAny;
  };
  bool read_properties(const Json& schema, const std::string& path, std::vector<Property>& out,
                       Extra& extra);
  bool read_extra(const Json& schema, const std::string& path, Extra& extra);
  bool limit_properties(const Json& schema, const std::string& path,
                        const std::vector<Property>& properties, Extra& extra, bool& may_be_empty);
  std::string other_keys(const std::vector<std::string>& names, const std::string& path);
  std::string pair(const std::string& key, const std::string& value) {
    return key + " " + rules_.space() + " \":\" " + rules_.space() + " " + value;
  }
  std::string members_text(const std::vector<Property>& properties, const Extra& extra,
                           bool& may_be_empty, const std::string& path);

  const Json& root_;
  RuleSet& rules_;
  std::size_t max_enum_values_;
  SchemaMerger merger_;
  std::unordered_map<std::string, References> references_;
  std::vector<Waiting> queue_;
  std::vector<Holder> holders_;
  std::size_t holder_ = 0;
  int containers_ = 0;
  Status status_;
};

}  // namespace veloce::text::schema
