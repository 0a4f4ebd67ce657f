#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "support/data_dirs.hpp"
#include "veloce/text/json_schema.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

struct Case {
  const char* schema;
  std::vector<const char*> yes, no;
};

void check(const Case& c) {
  auto gbnf = schema_to_grammar(std::string_view(c.schema));
  REQUIRE_MESSAGE(gbnf, c.schema << ": " << gbnf.status().message());
  auto g = Grammar::parse(*gbnf);
  REQUIRE_MESSAGE(g, g.status().message() << "\n" << *gbnf);
  for (const char* text : c.yes)
    CHECK_MESSAGE((*g)->matches(text), c.schema << " should accept " << text << "\n" << *gbnf);
  for (const char* text : c.no)
    CHECK_MESSAGE(!(*g)->matches(text), c.schema << " should refuse " << text << "\n" << *gbnf);
}

std::string error_of(const char* schema) {
  auto g = schema_to_grammar(std::string_view(schema));
  return g ? "" : g.status().message();
}

}  // namespace

TEST_CASE("each keyword is enforced") {
  const Case cases[] = {
      {"{}", {"1", "\"a\"", "{}", "[1, {\"a\":null}]"}, {"", "a", "[1,]"}},
      {"true", {"[]"}, {"["}},
      {R"({"type":"object"})", {"{}", R"({"a":[1]})"}, {"[]", "1"}},
      {R"({"type":"array"})", {"[]", "[1,\"a\"]"}, {"{}"}},
      {R"({"type":"string"})",
       {R"("a\n\u00e9\ud83d\ude00é")", R"("")"},
       {R"("\ud83d")", R"("\x")", "\"\n\"", "\"a"}},
      {R"({"type":"string","nullable":true})", {"null", "\"a\""}, {"1"}},
      {R"({"type":["integer","null"]})", {"null", "-12"}, {"1.5", "\"\"", "01"}},
      {R"({"type":"number"})", {"1.5e10", "-0.5"}, {".5", "1.", "+1"}},
      // Order of members, optional ones, closed by default.
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"integer"}},"required":["b"]})",
       {R"({"b":1})", R"({"a":1,"b":2})", R"({ "a": 1, "b": 2, "c": 3 })", "{\n  \"b\": 1\n}"},
       {R"({})", R"({"a":1})", R"({"b":1,"a":2})", R"({"b":1,"d":2})", R"({"b":1,})",
        R"({,"b":1})"}},
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}}})",
       {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
       {R"({"b":1,"a":2})"}},
      {R"({"properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"boolean"}})",
       {"{}", R"({"a":1,"b":true,"ab":false})", R"({"b":true})", R"({"":true})"},
       {R"({"a":true})", R"({"b":1})", R"({"b":true,"a":1})", R"({"\u0061":true})"}},
      {R"({"type":"object","required":["k"]})",
       {R"({"k":1})", R"({"k":1,"z":[]})"},
       {"{}", R"({"z":1})"}},
      {R"({"type":"object","properties":{"a":false,"b":{"type":"null"}}})",
       {"{}", R"({"b":null})"},
       {R"({"a":1})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"},"minProperties":1,"maxProperties":2})",
       {R"({"a":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"a":1,"b":2,"c":3})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"},"propertyNames":{"enum":["x","y"]}})",
       {"{}", R"({"x":1,"y":2})"},
       {R"({"z":1})"}},
      {R"({"type":"object","patternProperties":{"^n_[a-z]+$":{"type":"integer"}},"additionalProperties":false})",
       {"{}", R"({"n_a":1})"},
       {R"({"m":1})", R"({"n_a":"x"})"}},
      {R"({"type":"object","properties":{"a":{},"b":{}},"minProperties":1})",
       {R"({"b":1})"},
       {"{}"}},
      // Arrays.
      {R"({"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":3})",
       {"[1,2]", "[ 1, 2, 3 ]"},
       {"[1]", "[1,2,3,4]", "[1,2,]"}},
      {R"({"items":{"type":"null"},"maxItems":0})", {"[]"}, {"[null]"}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}]})",
       {"[1,\"a\"]"},
       {"[1]", "[\"a\",1]", "[1,\"a\",2]"}},
      {R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"},"minItems":1,"maxItems":3})",
       {"[1]", "[1,\"a\"]", "[1,\"a\",null]"},
       {"[]", "[1,null]", "[1,\"a\",null,null]"}},
      {R"({"type":"array","items":[{"const":1},{"const":2}],"additionalItems":{"const":3},"minItems":3})",
       {"[1,2,3]", "[1,2,3,3]"},
       {"[1,2]", "[1,2,4]"}},
      // Values.
      {R"({"enum":["a",1,null,{"k":[1,2]}]})",
       {"\"a\"", "1", "null", R"({"k":[1,2]})", R"({ "k": [1, 2] })"},
       {"2", "\"b\""}},
      {R"({"const":{"a":""}})", {R"({"a":""})"}, {"{}"}},
      {R"({"enum":[1,5,9,"x"],"type":"integer","minimum":4})", {"5", "9"}, {"1", "\"x\""}},
      // Strings.
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("é\u00e9😀")", R"("\ud83d\ude00x")"},
       {R"("a")", R"("abcd")"}},
      {R"({"type":"string","minLength":2500,"maxLength":4600})", {}, {"\"a\""}},
      {R"({"pattern":"^\\d{3}-[A-Z\"\\\\]+(?:\\.x)?$"})",
       {R"("123-AB")", R"("123-\"\\.x")"},
       {R"("12-A")", R"("123-a")", R"("123-")"}},
      {R"({"pattern":"b+"})", {R"("abc")", R"("b")"}, {R"("ac")", R"("")"}},
      {R"({"pattern":"^[\\w.]+$","maxLength":0,"type":"integer"})", {"1"}, {"\"a\""}},
      {R"({"pattern":"^[a-z]{2,4}$","minLength":1,"maxLength":10})", {R"("abc")"}, {R"("a")"}},
      {R"({"format":"date"})",
       {"\"2024-02-29\"", "\"2023-12-31\""},
       {"\"2023-02-29\"", "\"2023-13-01\"", "\"2023-04-31\"", "\"1900-02-29\""}},
      {R"({"format":"time"})",
       {"\"23:59:59Z\"", "\"00:00:00.5+01:30\""},
       {"\"24:00:00Z\"", "\"12:00\""}},
      {R"({"format":"date-time"})", {"\"2000-02-29T12:00:00Z\""}, {"\"2000-02-29 12:00:00Z\""}},
      {R"({"format":"duration"})",
       {"\"P1DT2H\"", "\"P3W\"", "\"PT1M\""},
       {"\"P\"", "\"1D\"", "\"PT\""}},
      {R"({"format":"uuid"})", {"\"123e4567-e89b-12d3-a456-426614174000\""}, {"\"123e4567\""}},
      {R"({"format":"uuid4"})",
       {"\"123e4567-e89b-42d3-a456-426614174000\""},
       {"\"123e4567-e89b-12d3-a456-426614174000\""}},
      {R"({"format":"email"})", {"\"a.b+c@ex-ample.org\""}, {"\"a@\"", "\"a b@c\""}},
      {R"({"format":"ipv4"})",
       {"\"192.168.0.255\""},
       {"\"256.1.1.1\"", "\"1.1.1\"", "\"01.1.1.1\""}},
      {R"({"format":"ipv6"})",
       {"\"::1\"", "\"fe80::1:2\"", "\"1:2:3:4:5:6:7:8\"", "\"::\""},
       {"\"1:2\"", "\":::\"", "\"1::2::3\""}},
      {R"({"format":"uri","minLength":1,"maxLength":2083})",
       {"\"https://a.b/c?d=%20#e\""},
       {"\"a b\"", "\"%zz\""}},
      {R"({"format":"hostname"})", {"\"a-b.example\""}, {"\"-a\"", "\"a_b\""}},
      // Numbers.
      {R"({"type":"integer","format":"int32"})",
       {"2147483647", "-2147483648"},
       {"2147483648", "-2147483649"}},
      {R"({"type":"integer","minimum":0,"exclusiveMinimum":true})", {"1"}, {"0", "-1"}},
      {R"({"type":"integer","minimum":9007199254740993})",
       {"9007199254740993"},
       {"9007199254740992"}},
      {R"({"type":"number","minimum":-1,"maximum":1})",
       {"-1", "0", "0.999", "-0.5", "1.0"},
       {"1.01", "-1.1", "2", "-10"}},
      {R"({"type":"number","multipleOf":0.01})", {"1", "1.2", "1.25", "-3.10"}, {"1.255"}},
      {R"({"type":"integer","multipleOf":6})", {"0", "12", "-126", "6000"}, {"7", "-1", "13"}},
      // Combinations.
      {R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":1}]})",
       {"1", "\"a\""},
       {"\"ab\"", "null"}},
      {R"({"oneOf":[{"const":1},{"const":2}]})", {"1", "2"}, {"3"}},
      {R"({"oneOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}},{"type":"null"}]})",
       {"\"a\"", "[1]", "null"},
       {"1"}},
      {R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"integer"}},"required":["kind","x"]},
                    {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]})",
       {R"({"kind":"a","x":1})", R"({"kind":"b"})"},
       {R"({"kind":"b","x":1})", R"({"kind":"a"})"}},
      {R"({"oneOf":[{"$ref":"#/$defs/leaf"},{"$ref":"#/$defs/node"}],"$defs":{
            "leaf":{"type":"object","properties":{"t":{"$ref":"#/$defs/l"}},"required":["t"]},"l":{"enum":["leaf"]},
            "node":{"type":"object","properties":{"t":{"const":"node"},"next":{"$ref":"#"}},"required":["t","next"]}}})",
       {R"({"t":"node","next":{"t":"leaf"}})"},
       {R"({"t":"node"})", R"({"t":"node","next":null})"}},
      {R"({"oneOf":[{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false},
                    {"type":"object","properties":{"b":{}},"required":["b"],"additionalProperties":false}]})",
       {R"({"a":1})", R"({"b":1})"},
       {R"({"a":1,"b":1})"}},
      {R"({"oneOf":[{"type":"integer","maximum":0},{"type":"number","exclusiveMinimum":0}]})",
       {"-1", "0", "0.5"},
       {"-0.5"}},
      {R"({"oneOf":[{"type":"string","maxLength":2},{"type":"string","minLength":3,"maxLength":4}]})",
       {R"("ab")", R"("abcd")"},
       {R"("abcde")"}},
      // Exactly one of some properties.
      {R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"},"c":{"type":"null"}},"oneOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"b":1,"c":null})"},
       {"{}", R"({"c":null})", R"({"a":1,"b":1})"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{"type":"null"}}}]})",
       {R"({"a":1})", R"({"a":1,"b":null})"},
       {R"({"b":null})", R"({"a":1,"c":1})"}},
      {R"({"allOf":[{"enum":[1,2,3]},{"enum":[2,3,4]}],"minimum":3,"type":"integer"})",
       {"3"},
       {"2", "4", "1"}},
      {R"({"type":"object","properties":{"k":{"type":"string"}},"anyOf":[{"required":["k"]},{"required":["m"],"properties":{"m":{"const":1}}}]})",
       {R"({"k":"x"})", R"({"k":"x","m":1})", R"({"m":1})"},
       {"{}"}},
      {R"({"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"null"}}})", {"null"}, {"1"}},
      {R"({"$ref":"#/$defs/x/anyOf/1","$defs":{"x":{"anyOf":[{"const":1},{"const":2}]}}})",
       {"2"},
       {"1"}},
      {R"({"$ref":"#/definitions/n","description":"d","nullable":true,"definitions":{"n":{"type":"integer"}}})",
       {"1", "null"},
       {"\"a\""}},
      {R"({"type":"object","properties":{"value":{"type":"string"},"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["value","next"],"additionalProperties":false})",
       {R"({"value":"a","next":{"value":"b","next":null}})"},
       {R"({"value":"a","next":{}})", R"({"value":"a"})"}},
      // A property may be called as the rules are.
      {R"({"type":"object","properties":{"string":{"type":"object","properties":{"space":{"type":"string"},"root":{"type":"integer"}}},"value":{}}})",
       {R"({"string":{"space":" ","root":1},"value":[{}]})"},
       {R"({"string":"a"})"}},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("what isn't enforced is refused with the path and the keyword") {
  struct Refused {
    const char *schema, *path, *word;
  };
  const Refused cases[] = {
      {R"({"properties":{"a":{"not":{}}}})", "#/properties/a", "'not'"},
      {R"({"if":{},"then":{}})", "#:", "'if'"},
      {R"({"items":{"type":"array","uniqueItems":true}})", "#/items", "'uniqueItems'"},
      {R"({"type":"array","contains":{}})", "#:", "'contains'"},
      {R"({"type":"object","dependentRequired":{"a":["b"]}})", "#:", "'dependentRequired'"},
      {R"({"type":"object","properties":{"a":{}},"patternProperties":{"b":{}}})",
       "#:", "'patternProperties'"},
      {R"({"type":"object","unevaluatedProperties":true})", "#:", "'unevaluatedProperties'"},
      {R"({"$ref":"other.json"})", "#:", "only local references"},
      {R"({"properties":{"a":{"$ref":"#/$defs/none"}}})", "#/properties/a", "points to nothing"},
      {R"j({"type":"string","pattern":"(?=a)"})j", "#:", "'pattern'"},
      {R"({"type":"string","pattern":"a\\b"})", "#:", "'\\b' isn't supported"},
      {R"({"type":"string","pattern":"^a*$","maxLength":3})", "#:", "'maxLength'"},
      {R"({"type":"string","format":"iri"})", "#:", "\"iri\" isn't supported"},
      {R"({"type":"number","multipleOf":0.3})", "#:", "'multipleOf'"},
      {R"({"type":"integer","multipleOf":3,"minimum":1})", "#:", "'multipleOf'"},
      {R"({"allOf":[{"pattern":"a"},{"pattern":"b"}]})", "#:", "'pattern'"},
      {R"({"type":"strin"})", "#:", "\"strin\""},
      {R"({"type":[]})", "#:", "'type'"},
      {R"({"type":"string","minLength":-1})", "#:", "'minLength'"},
      {R"({"type":"string","maxLength":"3"})", "#:", "'maxLength'"},
      {R"({"type":"integer","minimum":"3"})", "#:", "'minimum'"},
      {R"({"enum":[]})", "#:", "'enum'"},
      {R"({"anyOf":{}})", "#:", "'anyOf'"},
      {R"({"properties":[]})", "#:", "'properties'"},
      {R"({"required":"a"})", "#:", "'required'"},
      {R"({"properties":{"a":3}})", "#/properties/a", "must be an object or a boolean"},
      {"3", "#:", "must be an object or a boolean"},
      {"false", "#:", "no document satisfies"},
      {R"({"type":"integer","minimum":5,"maximum":4})", "#:", "no document satisfies"},
      {R"({"type":"object","properties":{"a":false},"required":["a"]})",
       "#:", "no document satisfies"},
      {R"({"allOf":[{"type":"string"},{"type":"null"}]})", "#:", "no document satisfies"},
      {R"({"$ref":"#"})", "#:", "leads back here"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"const":1}]},"b":{"$ref":"#/$defs/a"}}})",
       "#/$defs/", "leads back here"},
      {"{", "schema", "not valid JSON"},
      // Branches of a oneOf that may both accept.
      {R"({"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}}})", "#/properties/a",
       "'oneOf'"},
      {R"({"oneOf":[{"type":"string"},{"type":"null"},{"const":"a"}]})", "#:", "branches 0 and 2"},
      {R"({"oneOf":[{"type":"object","properties":{"a":{}}},{"type":"object","properties":{"b":{}}}]})",
       "#:", "'oneOf'"},
      {R"({"oneOf":[{"type":"object","properties":{"k":{"const":1}}},{"type":"object","properties":{"k":{"const":2}}}]})",
       "#:", "'oneOf'"},
      {R"({"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"type":"string"}]})",
       "#:", "'oneOf'"},
      {R"({"type":"object","oneOf":[{"required":["a"],"properties":{"a":{}}},{"required":["b"]}]})",
       "#:", "'oneOf'"},
      {R"({"oneOf":[{"type":"string","nullable":true},{"type":"null"}]})", "#:", "'oneOf'"},
      {R"({"oneOf":[{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":true},{"type":"object","properties":{"b":{}},"required":["b"]}]})",
       "#:", "'oneOf'"},
      // Every other keyword that narrows.
      {R"({"properties":{"a":{"type":"object","minProperties":2,"properties":{"x":{},"y":{},"z":{}}}}})",
       "#/properties/a", "'minProperties'"},
      {R"({"type":"object","dependentSchemas":{"a":{"required":["b"]}}})",
       "#:", "'dependentSchemas'"},
      {R"({"then":{"minLength":1}})", "#:", "'then'"},
      {R"({"type":"object","properties":{"a":{}},"propertyNames":{"maxLength":2}})",
       "#:", "'propertyNames'"},
      {R"({"type":"array","minContains":2})", "#:", "'minContains'"},
      {R"({"type":"string","format":"uri-template"})", "#:", "\"uri-template\""},
      // A definition that makes many others known before its own fault is met.
      {R"({"$ref":"#/$defs/a_long_name_of_a_definition","$defs":{"a_long_name_of_a_definition":{"anyOf":
          [{"$ref":"#/$defs/1"},{"$ref":"#/$defs/2"},{"$ref":"#/$defs/3"},{"$ref":"#/$defs/4"},{"$ref":"#/$defs/5"},
           {"$ref":"#/$defs/6"},{"$ref":"#/$defs/7"},{"$ref":"#/$defs/8"},{"then":{}}]},
          "1":{},"2":{},"3":{},"4":{},"5":{},"6":{},"7":{},"8":{}}})",
       "#/$defs/a_long_name_of_a_definition/anyOf/8", "'then'"},
  };
  for (const Refused& r : cases) {
    const std::string message = error_of(r.schema);
    CHECK_MESSAGE(message.find(r.path) != std::string::npos, r.schema << ": " << message);
    CHECK_MESSAGE(message.find(r.word) != std::string::npos, r.schema << ": " << message);
  }
  const auto endless = compile_schema(nlohmann::ordered_json::parse(
      R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"));
  CHECK(endless.status().message().find("can never finish") != std::string::npos);
}

TEST_CASE("lengths beyond GBNF's own bound are exact") {
  const auto g = compile_schema(
      nlohmann::ordered_json::parse(R"({"type":"string","minLength":2500,"maxLength":6100})"));
  REQUIRE(g);
  struct Length {
    std::size_t characters;
    bool fits;
  };
  for (const Length& l : {Length{2499, false}, Length{2500, true}, Length{4000, true},
                          Length{6100, true}, Length{6101, false}}) {
    const std::string text = "\"" + std::string(l.characters, 'x') + "\"";
    CHECK_MESSAGE((*g)->matches(text) == l.fits, l.characters);
  }
}

TEST_CASE("several schemas share one grammar, with rules of the caller's own") {
  SchemaOptions options;
  options.compact = true;
  options.prefix = "s-";
  SchemaGrammar both(options);
  REQUIRE(
      both.add(nlohmann::ordered_json::parse(
                   R"({"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]})"),
               "first")
          .ok());
  REQUIRE(
      both.add(
              nlohmann::ordered_json::parse(
                  R"({"$ref":"#/$defs/q","$defs":{"q":{"type":"array","items":{"$ref":"#/$defs/q"}}}})"),
              "second")
          .ok());
  const auto g =
      Grammar::parse(both.text() + "root ::= \"f(\" first \")\" | \"g(\" second \")\"\n");
  REQUIRE_MESSAGE(g, g.status().message());
  CHECK((*g)->matches(R"(f({"x":1}))"));
  CHECK((*g)->matches("g([[],[[]]])"));
  CHECK_FALSE((*g)->matches(R"(f({"x": 1}))"));
  CHECK((*Grammar::parse(json_object_grammar()))->matches(R"({"a": [1, "b"]})"));
}

TEST_CASE("the corpus judged by jsonschema") {
  std::ifstream in(test::source_dir() / "tests/text/schema_corpus.json");
  std::stringstream text;
  text << in.rdbuf();
  const auto corpus = nlohmann::ordered_json::parse(text.str(), nullptr, false);
  REQUIRE(corpus.is_array());
  int accepted = 0, refused = 0;
  for (const auto& entry : corpus) {
    const auto gbnf = schema_to_grammar(entry["schema"]);
    if (!gbnf) {
      // Nothing satisfies it: jsonschema must agree.
      CHECK_MESSAGE(gbnf.status().message().find("no document satisfies") != std::string::npos,
                    gbnf.status().message());
      CHECK(entry["yes"].empty());
      continue;
    }
    const auto g = Grammar::parse(*gbnf);
    REQUIRE_MESSAGE(g, g.status().message() << "\n" << *gbnf);
    for (const auto& document : entry["yes"]) {
      CHECK_MESSAGE((*g)->matches(document.get<std::string>()),
                    entry["schema"].dump() << " should accept " << document.get<std::string>());
      ++accepted;
    }
    for (const auto& document : entry["no"]) {
      CHECK_MESSAGE(!(*g)->matches(document.get<std::string>()),
                    entry["schema"].dump() << " should refuse " << document.get<std::string>());
      ++refused;
    }
  }
  MESSAGE(accepted << " accepted, " << refused << " refused");
  CHECK(accepted > 1000);
  CHECK(refused > 1000);
}
