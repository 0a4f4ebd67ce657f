#include "veloce/text/grammar_lazy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace veloce;
using namespace veloce::text;

namespace {

// One token a byte, then the end token (256) and one without text (257).
std::shared_ptr<GrammarMasks> byte_masks(const char* gbnf) {
  std::vector<VocabularyToken> tokens;
  for (int b = 0; b < 256; ++b) tokens.push_back({std::string(1, static_cast<char>(b)), false});
  tokens.push_back({"", true});
  tokens.push_back({"", false});
  tokens.push_back({" and <ca", false});
  auto grammar = Grammar::parse(gbnf);
  REQUIRE_MESSAGE(grammar, grammar.status().message());
  return GrammarMasks::create(*grammar, *VocabularyIndex::create(std::move(tokens)));
}

LazyGrammarState lazy(const char* gbnf, const GrammarTriggers& triggers) {
  auto state = LazyGrammarState::create(byte_masks(gbnf), triggers);
  REQUIRE_MESSAGE(state, state.status().message());
  return *std::move(state);
}

Status feed(LazyGrammarState& state, std::string_view text) {
  for (const char c : text) {
    if (Status s = state.accept(static_cast<std::uint8_t>(c)); !s.ok()) return s;
  }
  return {};
}

}  // namespace

TEST_CASE("a word wakes the grammar, from its own start on") {
  auto state = lazy("root ::= \"<call>\" [a-z]+ \"</call>\"", {{}, {"<call>"}, {}});
  REQUIRE(feed(state, "free text < <cal <<call").ok());
  CHECK_FALSE(state.active());
  CHECK(state.allowed('Z'));
  CHECK(state.allowed(256));
  auto copy = state;
  REQUIRE(state.accept('>').ok());
  CHECK(state.active());
  CHECK_FALSE(copy.active());
  CHECK_FALSE(state.allowed('Z'));
  CHECK_FALSE(state.allowed(256));
  CHECK(state.allowed('q'));
  REQUIRE(feed(state, "go</call>").ok());
  CHECK(state.allowed(256));
  std::vector<std::uint32_t> bits(9);
  REQUIRE(state.fill_mask(bits).ok());
  CHECK(bits[8] == 1u);
  CHECK_FALSE(LazyGrammarState(copy).fill_mask({}).ok());
  REQUIRE(copy.accept(258).ok());
  REQUIRE(feed(copy, "ll>").ok());
  CHECK(copy.active());
}

TEST_CASE("a token wakes the grammar") {
  auto state = lazy("root ::= <[257]> \"x\"", {{257}, {}, {}});
  REQUIRE(feed(state, "any").ok());
  REQUIRE(state.accept(257).ok());
  CHECK(state.active());
  CHECK(state.allowed('x'));
  CHECK_FALSE(state.allowed('y'));
}

TEST_CASE("patterns: groups, anchors, the earliest start") {
  auto grouped = lazy("root ::= \"{\" \"}\"", {{}, {}, {"\\s*json:\\s*(\\{)"}});
  REQUIRE(feed(grouped, "so, {json } json:  {").ok());
  CHECK(grouped.active());
  CHECK(grouped.allowed('}'));
  auto anchored = lazy("root ::= \"{\" \"}\"", {{}, {}, {"^\\s*(\\{)"}});
  REQUIRE(feed(anchored, "x {").ok());
  CHECK_FALSE(anchored.active());
  auto at_start = lazy("root ::= \"{\" \"}\"", {{}, {}, {"^\\s*(\\{)"}});
  REQUIRE(feed(at_start, "\n  {").ok());
  CHECK(at_start.active());
  auto reasoning = lazy("root ::= [0-9]+ \".\"", {{}, {}, {"^[^]*?</think>\\s*([0-9])"}});
  REQUIRE(feed(reasoning, "1 2 3 </think>\n 4").ok());
  CHECK(reasoning.active());
  CHECK(reasoning.allowed('.'));
  CHECK_FALSE(reasoning.allowed('x'));
  auto early = lazy("root ::= [ab]+ \"c\"", {{}, {"b"}, {"a[ab]*b"}});
  REQUIRE(feed(early, "xaab").ok());
  CHECK(early.active());
}

TEST_CASE("what can't trigger is refused; a grammar that refuses its trigger says so") {
  const auto refused = [](const GrammarTriggers& t) {
    auto state = LazyGrammarState::create(byte_masks("root ::= \"a\""), t);
    return state ? std::string() : state.status().message();
  };
  CHECK(refused({}).find("without triggers") != std::string::npos);
  CHECK(refused({{999}, {}, {}}).find("token 999") != std::string::npos);
  CHECK(refused({{}, {""}, {}}).find("empty word") != std::string::npos);
  CHECK(refused({{}, {"\xFF"}, {}}).find("UTF-8") != std::string::npos);
  CHECK(refused({{}, {}, {"(?=a)"}}).find("'(?=a)'") != std::string::npos);
  CHECK(refused({{}, {}, {"a$"}}).find("'$'") != std::string::npos);
  CHECK(refused({{}, {}, {"a|b(c)"}}).find("alternatives") != std::string::npos);
  auto state = lazy("root ::= \"a\"", {{}, {"b"}, {}});
  CHECK_FALSE(feed(state, "xb").ok());
}

TEST_CASE("a long text costs each byte once") {
  auto state = lazy("root ::= \"<call>\"", {{}, {"<call>"}, {"(a|b|ab)*c[ab]{20}d", ".*x.*y.*z"}});
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "abxcab<ca\n"[i * 7 % 10];
  REQUIRE(feed(state, text).ok());
  CHECK_FALSE(state.active());
}
