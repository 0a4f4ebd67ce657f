// Grammars and schemas written to hurt: each must be refused by name or handled, in bounded time
// and memory.
#include <doctest/doctest.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::shared_ptr<const VocabularyIndex> letters() {
  std::vector<VocabularyToken> tokens{{"", true}};
  for (char a = 'a'; a <= 'e'; ++a) {
    tokens.push_back({std::string(1, a), false});
    for (char b = 'a'; b <= 'e'; ++b) {
      tokens.push_back({std::string{a, b}, false});
      tokens.push_back({std::string(30, a) + b, false});
    }
  }
  return *VocabularyIndex::create(std::move(tokens));
}

// Processor time: a busy machine doesn't count.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Compiles and, if that succeeds, writes 200 tokens with a mask before each. Only time and survival
// are checked.
void survive(const std::string& gbnf) {
  const auto start = std::clock();
  auto g = Grammar::parse(gbnf);
  if (!g) {
    CHECK_FALSE(g.status().message().empty());
  } else {
    GrammarState state(GrammarMasks::create(*g, letters()));
    std::vector<std::uint32_t> bits(state.masks().vocabulary().mask_words());
    for (int step = 0; step < 200 && state.fill_mask(bits).ok(); ++step) {
      std::uint32_t token = 0;
      for (std::uint32_t t = 1; t < state.masks().vocabulary().size(); ++t) {
        if ((bits[t / 32] >> (t % 32) & 1u) != 0) token = t;
      }
      if (!state.accept(token).ok() || token == 0) break;
    }
  }
  const double seconds = seconds_since(start);
  CHECK_MESSAGE(seconds < 20, gbnf.substr(0, 60));
}

// Rules r0, r1, …: `body` with '@' for the next rule's name.
std::string chain(std::size_t rules, const std::string& body) {
  std::string out = "root ::= r0\n";
  for (std::size_t i = 0; i < rules; ++i) {
    out.append("r").append(std::to_string(i)).append(" ::= ");
    for (const char c : body) {
      if (c == '@') {
        out.append("r").append(std::to_string(i + 1));
      } else {
        out += c;
      }
    }
    out += '\n';
  }
  return out.append("r").append(std::to_string(rules)).append(" ::= \"a\"\n");
}

}  // namespace

TEST_CASE("hostile grammars are bounded") {
  survive("root ::= " + repeated("(", 100000));
  survive("root ::= " + repeated("(", 120) + "\"a\"" + repeated(")", 120));
  survive("root ::= " + repeated("(", 100) + "[a-e]" + repeated("){2000}", 100));
  survive("root ::= ((([a-e]{2000}){2000}){2000}){2000}");
  survive("root ::= ((([a-e]?){2000} \"x\"?){2000} [a-e]?){2000}");
  survive("root ::= (((\"\"{2000}){2000}){2000}){2000}");
  survive("root ::= [a-e]* [a-e]* [a-e]* [a-e]* [a-e]* [a-e]* [a-e]* \"x\"");
  survive("root ::= ([a-e] | [a-d] | [a-c])* [a-e]{200}");
  survive("root ::= [a-e]* \"a\" [a-e]{1999} \"z\"");
  survive("root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\" root | \"a\"");
  survive("root ::= s\ns ::= \"a\" s s | \"a\" s | \"a\"");
  survive("root ::= s\ns ::= t s | t\nt ::= \"a\" | \"a\" t | \"aa\" t t");
  survive(
      "root ::= x\nx ::= \"a\" x \"b\" | \"a\" x \"c\" | \"a\" y\ny ::= \"a\" x | \"a\" y y | "
      "\"a\"");
  survive("root ::= " + repeated("[a-e]? ", 3000) + "\"x\"");
  survive("root ::= " + repeated("\"a\" | ", 100000) + "\"b\"");
  survive(chain(15000, "@"));
  survive(chain(15000, "@ @"));
  survive(chain(15000, "\"b\"? @"));
  survive(chain(19000, "@ \"a\" | \"b\""));
  survive(chain(30000, "@"));
  survive("root ::= " + std::string(5u << 20, ' ') + "\"a\"");
  survive(repeated("\\", 1000));
  survive(std::string(1000, '\0'));
}

TEST_CASE("what is refused is refused by name") {
  CHECK(Grammar::parse("root ::= ((([a-e]{2000}){2000}){2000}){2000}")
            .ok());  // chains of calls: small
  const auto message = [](const std::string& gbnf) {
    return Grammar::parse(gbnf).status().message();
  };
  CHECK(message("root ::= " + repeated("(", 200)).find("128 nested parentheses") !=
        std::string::npos);
  CHECK(message(chain(30000, "@")).find("more than 20000 rules") != std::string::npos);
  CHECK(message("root ::= " + std::string(5u << 20, ' ')).find("the limit is 4194304") !=
        std::string::npos);
  GrammarLimits few;
  few.max_states = 1000;
  auto g = Grammar::parse("root ::= [a-e]{1500}", few);
  CHECK(g.status().message().find("more than 1000 states (rule 'root', line 1)") !=
        std::string::npos);
}

TEST_CASE("deep nesting in the output is bounded by memory, not by the stack") {
  const auto g = *Grammar::parse("root ::= \"a\" root \"b\" | \"c\"");
  const std::size_t depth = 100000;
  CHECK(g->matches(std::string(depth, 'a') + "c" + std::string(depth, 'b')));
  CHECK_FALSE(g->matches(std::string(depth, 'a') + "c" + std::string(depth + 1, 'b')));
  // Right recursion needs no stack at all.
  CHECK((*Grammar::parse("root ::= \"a\" root | \"b\""))->matches(std::string(1000000, 'a') + "b"));
}

TEST_CASE("a long output keeps its memory, and taking back works across it") {
  const auto vocabulary = letters();
  GrammarState state(GrammarMasks::create(
      *Grammar::parse("root ::= item*\nitem ::= \"a\" (\"b\" | item)? \"c\""), vocabulary));
  for (int i = 0; i < 20000; ++i) {
    REQUIRE(state.accept_text("abc").ok());
    if (i % 1000 == 0) {
      GrammarState copy = state;
      REQUIRE(state.undo(1).ok());
      REQUIRE(state.accept_text("aabcc").ok());
      CHECK(copy.is_complete());
    }
  }
  CHECK(state.is_complete());
}

TEST_CASE("hostile schemas are bounded") {
  using Json = nlohmann::ordered_json;
  const auto try_schema = [](const Json& schema) {
    const auto start = std::clock();
    auto text = schema_to_grammar(schema);
    Status status = text.status();
    if (text) status = Grammar::parse(*text).status();
    CHECK_MESSAGE(seconds_since(start) < 20, status.message());
    return status.message();
  };
  Json deep = Json::object();
  for (int i = 0; i < 500; ++i) deep = Json{{"type", "array"}, {"items", deep}};
  CHECK(try_schema(deep).find("nested more than 128 deep") != std::string::npos);
  Json wide{{"type", "object"}, {"properties", Json::object()}};
  for (int i = 0; i < 3000; ++i)
    wide["properties"]["property" + std::to_string(i)] = Json{{"type", "string"}};
  CHECK(try_schema(wide).empty());
  wide["additionalProperties"] = true;
  (void)try_schema(wide);
  Json tangle{{"$defs", Json::object()}, {"$ref", "#/$defs/d0"}};
  for (int i = 0; i < 300; ++i) {
    const auto ref = [&](int k) {
      return Json{{"$ref", "#/$defs/d" + std::to_string((i + k) % 300)}};
    };
    tangle["$defs"]["d" + std::to_string(i)] = Json{{"allOf", {ref(1), ref(2)}}};
  }
  CHECK_FALSE(try_schema(tangle).empty());
  for (auto& [name, value] : tangle["$defs"].items())
    value = Json{{"anyOf", value["allOf"]}, {"type", "string"}};
  CHECK_FALSE(try_schema(tangle).empty());
  Json branches = Json::array();
  for (int i = 0; i < 30; ++i) branches.push_back(Json{{"minLength", i}});
  CHECK_FALSE(
      try_schema(
          Json{{"allOf", {{{"anyOf", branches}}, {{"anyOf", branches}}, {{"anyOf", branches}}}}})
          .empty());
  Json many = Json::array();
  for (int i = 0; i < 9000; ++i) many.push_back("value number " + std::to_string(i * 7919));
  CHECK(try_schema(Json{{"enum", many}}).empty());
  for (int i = 0; i < 3000; ++i) many.push_back(i);
  CHECK(try_schema(Json{{"enum", many}}).find("the limit is 10000") != std::string::npos);
  CHECK(try_schema(Json{{"type", "string"}, {"maxLength", 1000000}}).empty());
  CHECK(try_schema(Json{{"type", "array"},
                        {"items", {{"type", "string"}, {"maxLength", 4000}}},
                        {"maxItems", 4000}})
            .empty());
  CHECK_FALSE(try_schema(Json{{"type", "string"}, {"maxLength", 1e12}}).empty());
  (void)try_schema(Json{{"type", "string"}, {"pattern", "^((((a{2000}){2000}){2000}){2000})$"}});
  (void)try_schema(Json{{"type", "string"}, {"pattern", "(a|aa|aaa)*(b|bb)*(.*.*.*.*.*x){50}"}});
  CHECK_FALSE(try_schema(Json{{"type", "string"}, {"pattern", std::string(100000, '(')}}).empty());
  CHECK_FALSE(try_schema(Json{{"type", "integer"}, {"minimum", 1e300}}).empty());
}
