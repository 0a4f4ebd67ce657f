// JSON schema to grammar: what a model writes under it is a document the schema accepts.
//
//   auto gbnf = schema_to_grammar(schema);           // GBNF text with entry rule "root"
//   auto grammar = Grammar::parse(*gbnf);
//
// or SchemaGrammar, for several schemas in one grammar (the arguments of several tools, say), with
// rules of the caller's own around them.
//
// Enforced: type (one or a list), nullable, enum, const, properties, required,
// additionalProperties, patternProperties (one pattern, alone), propertyNames (without properties),
// minProperties, maxProperties, items, prefixItems, tuples by list, additionalItems, minItems,
// maxItems, minLength, maxLength, pattern, format (date, time, date-time, duration, uuid, uuid1–5,
// email, hostname, ipv4, ipv6, uri, byte; int8–uint64 of integers), minimum, maximum and their
// exclusive forms (exact, of numbers too: those are then written without exponent), multipleOf
// (whole up to 100, or 0.1, 0.01, …; alone), $ref within the document (recursive too), allOf,
// anyOf, oneOf (branches that exclude each other by type, by values, by numbers or lengths apart,
// by a property that one must have and the other can't, or by a property whose values do; also a
// list of
// {"required": [name]}: exactly one of them), and combinations of these. Refused, with the path and
// the keyword: everything else that would narrow what is valid (other oneOfs, not, if/then/else,
// contains, uniqueItems,
// dependent…, remote references, other formats and patterns, and combinations that can't be merged
// exactly). Ignored: annotations, and keywords no version of the standard knows.
//
// The text is a little narrower than the standard where a model would not miss it: objects with
// `properties` take no others unless additionalProperties says so; members come in the schema's
// order; a tuple is whole; numbers have at most 16 digits on each side of the point; white space is
// at most one space, or one or two newlines and 20 blanks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "veloce/core/status.hpp"
#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema_compiler.hpp"
#include "veloce/text/json_schema_containers.hpp"

namespace veloce::text {

struct SchemaOptions {
  bool compact = false;           // no white space between tokens of JSON
  std::string prefix;             // of all rule names but the one asked for (letters, digits, '-')
  std::size_t max_nesting = 128;  // of the schema document itself
  std::size_t max_values = 100000;           // JSON values in the document
  std::size_t max_enum_values = 10000;       // of one enum
  std::size_t max_grammar_bytes = 3u << 20;  // of the GBNF text
};

// Several schemas in one grammar.
class SchemaGrammar {
 public:
  explicit SchemaGrammar(SchemaOptions options = {})
      : options_(std::move(options)),
        rules_(options_.prefix, options_.max_grammar_bytes,
               options_.compact ? "\"\"" : "\" \" | \"\\n\"{1,2} [ \\t]{0,20} | \"\"") {}

  // Defines rule `name` (not defined before) as the schema's documents. References point into
  // `schema`. Errors: kInvalidArgument for a malformed, unsatisfiable or too large schema,
  // kUnsupported for a keyword that isn't enforced; the message names the path in the schema and
  // the keyword.
  Status add(const nlohmann::ordered_json& schema, const std::string& name) {
    if (Status s = check_size(schema); !s.ok()) return s;
    rules_.reserve(name);
    return schema::SchemaCompiler(schema, rules_, options_.max_enum_values).compile(name);
  }

  // Any JSON value, any JSON object, and the white space rule: their names, for the caller's own
  // rules.
  std::string any_value() { return rules_.any(); }
  std::string any_object() { return rules_.object(); }
  std::string space() { return rules_.space(); }

  // All rules so far, as GBNF; rules of the caller's own may be appended.
  const std::string& text() const { return rules_.text(); }

 private:
  // Without recursion: the rest of the compiler may then recurse on the document.
  Status check_size(const nlohmann::ordered_json& schema) const {
    std::vector<std::pair<const nlohmann::ordered_json*, std::size_t>> open{{&schema, 0}};
    std::size_t values = 0;
    while (!open.empty()) {
      const auto [value, depth] = open.back();
      open.pop_back();
      if (++values > options_.max_values) {
        return Status(Code::kInvalidArgument,
                      "schema: more than " + std::to_string(options_.max_values) + " values");
      }
      if (depth > options_.max_nesting) {
        return Status(Code::kInvalidArgument,
                      "schema: nested more than " + std::to_string(options_.max_nesting) + " deep");
      }
      if (!value->is_structured()) continue;
      for (const auto& child : *value) open.push_back({&child, depth + 1});
    }
    return {};
  }

  SchemaOptions options_;
  schema::RuleSet rules_;
};

// GBNF text whose rule "root" matches the schema's documents. Errors as in SchemaGrammar::add.
inline Result<std::string> schema_to_grammar(const nlohmann::ordered_json& schema,
                                             const SchemaOptions& options = {}) {
  SchemaGrammar grammar(options);
  if (Status s = grammar.add(schema, "root"); !s.ok()) return s;
  return grammar.text();
}

// The same from JSON text. Error as well: not JSON.
inline Result<std::string> schema_to_grammar(std::string_view text,
                                             const SchemaOptions& options = {}) {
  const auto schema = nlohmann::ordered_json::parse(text, nullptr, false);
  if (schema.is_discarded()) return Status(Code::kInvalidArgument, "schema: not valid JSON");
  return schema_to_grammar(schema, options);
}

// The grammar of any JSON object (`response_format: {"type": "json_object"}`).
inline std::string json_object_grammar() {
  SchemaGrammar grammar;
  const std::string object = grammar.any_object();
  return grammar.text() + "root ::= " + object + "\n";
}

// Ready to use. Errors of both steps.
inline Result<std::shared_ptr<const Grammar>> compile_schema(const nlohmann::ordered_json& schema,
                                                             const SchemaOptions& options = {}) {
  auto text = schema_to_grammar(schema, options);
  if (!text) return text.status();
  return Grammar::parse(*text);
}

}  // namespace veloce::text
