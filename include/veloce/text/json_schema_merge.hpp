// Brings a schema into alternatives without $ref, allOf, anyOf and oneOf at their top: `allOf`, and
// keywords that stand beside a reference or alternatives, are merged keyword by keyword so that the
// result accepts what all parts accept. A combination that can't be merged exactly is an error that
// names the keyword. oneOf is anyOf where its branches exclude each other
// (json_schema_disjoint.hpp), or where each asks for one property (then without the others'); other
// oneOfs are errors: that exactly one branch matches can't be enforced while writing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "veloce/core/status.hpp"
#include "veloce/text/json_schema_disjoint.hpp"

namespace veloce::text::schema {

using Json = nlohmann::ordered_json;

inline const Json* member(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

// Keywords that say nothing about which documents are valid.
inline bool is_annotation(std::string_view key) {
  static constexpr std::string_view kKnown[] = {"title",
                                                "description",
                                                "default",
                                                "examples",
                                                "example",
                                                "deprecated",
                                                "readOnly",
                                                "writeOnly",
                                                "$comment",
                                                "$id",
                                                "$schema",
                                                "$anchor",
                                                "$defs",
                                                "definitions",
                                                "$vocabulary",
                                                "discriminator",
                                                "contentEncoding",
                                                "contentMediaType",
                                                "contentSchema",
                                                "externalDocs",
                                                "xml",
                                                "id",
                                                "strict",
                                                "name"};
  return std::find(std::begin(kKnown), std::end(kKnown), key) != std::end(kKnown) ||
         key.substr(0, 2) == "x-";
}

inline bool is_combinator(std::string_view key) {
  return key == "$ref" || key == "allOf" || key == "anyOf" || key == "oneOf";
}

// Are there keywords beside the combinators that say something?
inline bool has_own_keywords(const Json& schema) {
  for (const auto& [key, value] : schema.items()) {
    if (!is_annotation(key) && !is_combinator(key)) return true;
  }
  return false;
}

class SchemaMerger {
 public:
  static constexpr std::size_t kMostAlternatives = 256;
  static constexpr int kDeepest = 48;
  static constexpr std::size_t kMostWork = 20000;

  explicit SchemaMerger(const Json& root) : root_(root) {}

  // The schema a local reference points to.
  Result<const Json*> resolve(const Json& ref, const std::string& path) const {
    if (!ref.is_string())
      return Status(Code::kInvalidArgument, "schema: " + path + ": '$ref' must be a string");
    const std::string& text = ref.get_ref<const std::string&>();
    auto bad = [&](const std::string& why) {
      return Status(Code::kInvalidArgument, "schema: " + path + ": '$ref' \"" + text + "\" " + why);
    };
    if (text.empty() || text[0] != '#')
      return bad("isn't supported: only local references (\"#/…\") are");
    const Json* at = &root_;
    if (text.size() == 1) return at;
    if (text[1] != '/') return bad("isn't supported: anchors aren't, only \"#/…\"");
    std::size_t begin = 2;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find('/', begin), text.size());
      const std::string key = unescape(text.substr(begin, end - begin));
      if (at->is_object()) {
        at = member(*at, key);
      } else if (at->is_array()) {
        const bool digits = !key.empty() && key.size() < 9 &&
                            key.find_first_not_of("0123456789") == std::string::npos;
        const std::size_t index = digits ? std::stoul(key) : at->size();
        at = index < at->size() ? &(*at)[index] : nullptr;
      } else {
        at = nullptr;
      }
      if (at == nullptr) return bad("points to nothing ('" + key + "' isn't there)");
      begin = end + 1;
    }
    return at;
  }

  // Can a oneOf of these schemas, with nothing beside it, be written as their alternatives?
  Status check_one_of(const Json& list, const std::string& path) {
    work_ = 0;
    [[maybe_unused]] const auto unused = expand_one_of({Json::object()}, list, path, 0);
    return std::exchange(status_, Status());
  }
  static bool is_exclusive_choice(const Json& schema) {
    const Json* one = member(schema, "oneOf");
    return one && one->is_array() && requires_one_each(*one);
  }

  // The alternatives of `schema`, none with combinators at its top; none at all: nothing is valid.
  Result<std::vector<Json>> expand(const Json& schema, const std::string& path) {
    work_ = 0;
    std::vector<Json> out = expand(schema, path, 0);
    if (!status_.ok()) return std::exchange(status_, Status());
    return out;
  }

 private:
  static std::string unescape(const std::string& key) {
    std::string out;
    for (std::size_t i = 0; i < key.size(); ++i) {
      if (key[i] == '~' && i + 1 < key.size() && (key[i + 1] == '0' || key[i + 1] == '1')) {
        out += key[++i] == '0' ? '~' : '/';
      } else if (key[i] == '%' && i + 2 < key.size() &&
                 std::isxdigit(static_cast<unsigned char>(key[i + 1])) &&
                 std::isxdigit(static_cast<unsigned char>(key[i + 2]))) {
        out += static_cast<char>(std::stoi(key.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else {
        out += key[i];
      }
    }
    return out;
  }

  void fail(const std::string& path, const std::string& what) {
    if (status_.ok()) status_ = Status(Code::kInvalidArgument, "schema: " + path + ": " + what);
  }

  std::vector<Json> expand(const Json& schema, const std::string& path, int depth) {
    if (depth > kDeepest)
      fail(path, "combinations nested more than " + std::to_string(kDeepest) +
                     " deep (does it refer to itself?)");
    if (++work_ > kMostWork) fail(path, "too many combinations");
    if (!status_.ok()) return {};
    if (schema.is_boolean())
      return schema.get<bool>() ? std::vector<Json>{Json::object()} : std::vector<Json>{};
    if (!schema.is_object())
      return fail(path, "a schema must be an object or a boolean"), std::vector<Json>{};
    Json own = Json::object();
    for (const auto& [key, value] : schema.items()) {
      if (!is_combinator(key) && key != "$defs" && key != "definitions") own[key] = value;
    }
    std::vector<Json> out{std::move(own)};
    if (const Json* ref = member(schema, "$ref")) {
      auto target = resolve(*ref, path);
      if (!target) return status_ = target.status(), std::vector<Json>{};
      out = combine(out, expand(**target, ref->get<std::string>(), depth + 1), path);
    }
    if (const Json* all = member(schema, "allOf"); all && check_list(*all, path, "allOf")) {
      for (std::size_t i = 0; i < all->size() && status_.ok(); ++i) {
        out =
            combine(out, expand((*all)[i], path + "/allOf/" + std::to_string(i), depth + 1), path);
      }
    }
    if (const Json* any = member(schema, "anyOf"); any && check_list(*any, path, "anyOf")) {
      std::vector<Json> branches;
      for (std::size_t i = 0; i < any->size() && status_.ok(); ++i) {
        auto part = expand((*any)[i], path + "/anyOf/" + std::to_string(i), depth + 1);
        branches.insert(branches.end(), part.begin(), part.end());
      }
      out = combine(out, branches, path);
    }
    if (const Json* one = member(schema, "oneOf"); one && check_list(*one, path, "oneOf"))
      out = expand_one_of(out, *one, path, depth);
    return out;
  }

  // `own` with each of the branches, no two of which may accept the same document then.
  std::vector<Json> expand_one_of(const std::vector<Json>& own, const Json& list,
                                  const std::string& path, int depth) {
    const Json one = requires_one_each(list) ? exclusive(list) : list;
    std::vector<Json> out;
    std::vector<std::size_t> branch_of;
    for (std::size_t i = 0; i < one.size() && status_.ok(); ++i) {
      auto part =
          combine(own, expand(one[i], path + "/oneOf/" + std::to_string(i), depth + 1), path);
      out.insert(out.end(), part.begin(), part.end());
      branch_of.resize(out.size(), i);
    }
    constexpr std::size_t kMostComparisons = 400000;
    DisjointTest test([this](const Json& s) { return quietly_expanded(s); }, kMostComparisons);
    for (std::size_t i = 0; i < out.size() && status_.ok(); ++i) {
      for (std::size_t j = i + 1; j < out.size() && status_.ok(); ++j) {
        if (branch_of[i] == branch_of[j] || test.disjoint(out[i], out[j])) continue;
        status_ = Status(Code::kUnsupported,
                         "schema: " + path + ": 'oneOf' can't be enforced: branches " +
                             std::to_string(branch_of[i]) + " and " + std::to_string(branch_of[j]) +
                             " may accept the same document; tell them apart by type or by a "
                             "property with different "
                             "'const' values, or use 'anyOf'");
      }
    }
    return out;
  }

  // "Exactly one of these properties": each branch is {"required": [name]}.
  static bool requires_one_each(const Json& list) {
    return std::all_of(list.begin(), list.end(), [](const Json& branch) {
      const Json* required =
          branch.is_object() && branch.size() == 1 ? member(branch, "required") : nullptr;
      return required && required->is_array() && required->size() == 1 &&
             (*required)[0].is_string();
    });
  }
  static Json exclusive(const Json& list) {
    Json out = list;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = 0; j < list.size(); ++j)
        if (i != j) out[i]["properties"][list[j]["required"][0].get<std::string>()] = false;
    }
    return out;
  }

  std::optional<std::vector<Json>> quietly_expanded(const Json& schema) {
    std::vector<Json> out = expand(schema, "#", kDeepest / 2);
    if (!status_.ok()) return status_ = Status(), std::nullopt;
    return out;
  }

  bool check_list(const Json& list, const std::string& path, const char* name) {
    if (list.is_array() && !list.empty()) return true;
    fail(path, std::string("'") + name + "' must be a list of schemas, not empty");
    return false;
  }

  std::vector<Json> combine(const std::vector<Json>& a, const std::vector<Json>& b,
                            const std::string& path) {
    std::vector<Json> out;
    if (a.size() * b.size() > kMostAlternatives)
      fail(path,
           "more than " + std::to_string(kMostAlternatives) + " combinations of alternatives");
    for (const Json& x : a) {
      for (const Json& y : b) {
        if (!status_.ok()) return out;
        work_ += 1 + x.size() + y.size();
        if (auto both = merge(x, y, path)) out.push_back(*std::move(both));
      }
    }
    return out;
  }

  // What both accept; nothing if that is clearly empty.
  std::optional<Json> merge(const Json& a, const Json& b, const std::string& path) {
    Json out = a;
    bool never = false;
    for (const auto& [key, value] : b.items()) {
      if (is_annotation(key)) {
        if (!member(out, key)) out[key] = value;
        continue;
      }
      const Json* present = member(out, key);
      if (key == "properties" || key == "additionalProperties") continue;  // together, below
      if (!present) {
        out[key] = value;
      } else if (*present != value) {
        out[key] = merge_keyword(key, *present, value, path, never);
      }
      if (never || !status_.ok()) return std::nullopt;
    }
    merge_objects(a, b, out, path);
    merge_values(out, never);
    if (never || !status_.ok()) return std::nullopt;
    return out;
  }

  static double number_or(const Json& v, double otherwise) {
    return v.is_number() ? v.get<double>() : otherwise;
  }

  Json merge_keyword(const std::string& key, const Json& a, const Json& b, const std::string& path,
                     bool& never) {
    if (key == "type") return merge_types(a, b, never);
    if (key == "required" && a.is_array() && b.is_array()) {
      Json out = a;
      for (const Json& name : b) {
        if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
      }
      return out;
    }
    if (key == "enum" && a.is_array() && b.is_array()) {
      Json out = Json::array();
      for (const Json& v : a) {
        if (std::find(b.begin(), b.end(), v) != b.end()) out.push_back(v);
      }
      never = out.empty();
      return out;
    }
    if (key == "const") {
      never = true;  // they differ
      return a;
    }
    const bool lower = key == "minimum" || key == "exclusiveMinimum" || key.rfind("min", 0) == 0;
    const bool upper = key == "maximum" || key == "exclusiveMaximum" || key.rfind("max", 0) == 0;
    if ((lower || upper) && a.is_number() && b.is_number()) {
      return (number_or(a, 0) < number_or(b, 0)) == lower ? b : a;
    }
    if ((key == "items" || key == "propertyNames") && !a.is_array() && !b.is_array())
      return both_of(a, b);
    if (key == "nullable" && a.is_boolean() && b.is_boolean())
      return a.get<bool>() && b.get<bool>();
    fail(path, "two different '" + key + "' can't be combined");
    return a;
  }

  static Json both_of(const Json& a, const Json& b) {
    if (a == b) return a;
    Json out = Json::object();
    out["allOf"] = Json::array({a, b});
    return out;
  }

  static Json merge_types(const Json& a, const Json& b, bool& never) {
    auto list = [](const Json& t) { return t.is_array() ? t : Json::array({t}); };
    Json out = Json::array();
    for (const Json& x : list(a)) {
      for (const Json& y : list(b)) {
        if (x == y || (x == "integer" && y == "number")) out.push_back(x);
        if (x == "number" && y == "integer") out.push_back(y);
      }
    }
    never = out.empty();
    return out.size() == 1 ? out[0] : out;
  }

  // A property that only one side names must satisfy the other side's additionalProperties, where
  // that is written.
  void merge_objects(const Json& a, const Json& b, Json& out, const std::string& path) {
    const Json* pa = member(a, "properties");
    const Json* pb = member(b, "properties");
    const Json* xa = member(a, "additionalProperties");
    const Json* xb = member(b, "additionalProperties");
    if (pb == nullptr && xb == nullptr) return;
    if ((pa && !pa->is_object()) || (pb && !pb->is_object()))
      return fail(path, "'properties' must be an object");
    if ((xa && member(b, "patternProperties")) || (xb && member(a, "patternProperties"))) {
      return fail(
          path,
          "'patternProperties' can't be combined with 'additionalProperties' of another part");
    }
    if (pa || pb) {
      Json merged = Json::object();
      static const Json kNone = Json::object();
      const Json& left = pa ? *pa : kNone;
      const Json& right = pb ? *pb : kNone;
      for (const auto& [name, value] : left.items()) {
        const Json* other = member(right, name);
        merged[name] = other ? both_of(value, *other) : xb ? both_of(value, *xb) : value;
      }
      for (const auto& [name, value] : right.items()) {
        if (!member(left, name)) merged[name] = xa ? both_of(value, *xa) : value;
      }
      out["properties"] = std::move(merged);
    }
    // One side silent: silent is open in the standard, so the other side's word holds. (Properties
    // given and nothing said anywhere: closed, as for a single schema.)
    if (xa && xb) {
      out["additionalProperties"] = both_of(*xa, *xb);
    } else if (xb) {
      out["additionalProperties"] = *xb;
    }
  }

  // A const beside an enum picks from it.
  static void merge_values(Json& out, bool& never) {
    const Json* one = member(out, "const");
    const Json* list = member(out, "enum");
    if (!one || !list || !list->is_array()) return;
    if (std::find(list->begin(), list->end(), *one) == list->end()) never = true;
    out.erase("enum");
  }

  const Json& root_;
  std::size_t work_ = 0;
  Status status_;
};

}  // namespace veloce::text::schema
