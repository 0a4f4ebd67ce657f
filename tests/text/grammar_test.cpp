#include "veloce/text/grammar.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar_random.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

std::shared_ptr<const Grammar> parsed(std::string_view gbnf) {
  auto g = Grammar::parse(gbnf);
  REQUIRE_MESSAGE(g, g.status().message() << " in " << std::string(gbnf));
  return *g;
}

std::string error_of(std::string_view gbnf) {
  auto g = Grammar::parse(gbnf);
  return g ? "" : g.status().message();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::shared_ptr<const VocabularyIndex> vocabulary_of(std::vector<VocabularyToken> tokens) {
  auto v = VocabularyIndex::create(std::move(tokens));
  REQUIRE(v);
  return *v;
}

// The mask must say what allowed() says of each token.
void check_mask(GrammarState& state, const std::string& context) {
  const VocabularyIndex& v = state.masks().vocabulary();
  std::vector<std::uint32_t> bits(v.mask_words());
  REQUIRE(state.fill_mask(bits).ok());
  for (std::uint32_t t = 0; t < v.size(); ++t) {
    const bool in_mask = (bits[t / 32] >> (t % 32) & 1u) != 0;
    CHECK_MESSAGE(in_mask == state.allowed(t),
                  context << ": token " << t << " '" << std::string(v.bytes(t)) << "'");
  }
}

// Whole letters, pairs, and pieces of multi-byte letters.
std::vector<VocabularyToken> small_vocabulary() {
  std::vector<VocabularyToken> tokens;
  std::vector<std::string> letters;
  for (const char32_t c : test::alphabet()) letters.push_back(test::to_utf8(std::u32string(1, c)));
  for (const std::string& a : letters) {
    tokens.push_back({a, false});
    if (a.size() > 1) tokens.push_back({a.substr(0, 1), false});
    for (std::size_t k = 1; k < a.size(); ++k) tokens.push_back({a.substr(k), false});
    for (const std::string& b : letters) {
      tokens.push_back({a + b, false});
      if (b.size() > 1) tokens.push_back({a + b.substr(0, 2), false});
      tokens.push_back({a + b + letters[tokens.size() % letters.size()], false});
    }
  }
  tokens.push_back({"", false});
  tokens.push_back({std::string("\0a", 2), false});
  tokens.push_back({"", true});
  tokens.push_back({"a", true});
  return tokens;
}

}  // namespace

TEST_CASE("every notation of GBNF means what it says") {
  struct Case {
    const char* gbnf;
    std::vector<const char*> yes, no;
  };
  const Case cases[] = {
      {"root ::= \"a\" | \"b\" \"c\"", {"a", "bc"}, {"", "b", "ac", "abc"}},
      {"root ::= [a-c] [^a-c\\n] .", {"ad\n", "c\xC3\xA9x"}, {"aab", "a\nx", "d", "ad"}},
      {"root ::= (\"a\" | \"b\"\n  | \"c\")* # comment\n", {"", "abcabc"}, {"abd"}},
      {"root ::=\n  \"a\" |\n  \"b\"", {"a", "b"}, {"ab"}},
      {"# first\n\nroot ::= x y?\nx ::= \"1\"+\r\ny ::= \"2\"{2}\n",
       {"1", "11122"},
       {"", "12", "222"}},
      {"root ::= \"a\"{2,} \"b\"{1,3}", {"aab", "aaaabbb"}, {"ab", "aabbbb"}},
      {"root ::= \"ab\"{2}", {"abab"}, {"abb", "ab"}},
      {"root ::= \"\\x41\\u00e9\\U0001F600\\n\\t\\\\\\\"\\[\\]\"",
       {"A\xC3\xA9\xF0\x9F\x98\x80\n\t\\\"[]"},
       {"A"}},
      {"root ::= [\\]\\[\\\\\\x2D-]+", {"][\\-"}, {"a"}},
      {"root ::= [\xE2\x82\xAC-\xE2\x82\xAF]",
       {"\xE2\x82\xAC", "\xE2\x82\xAE"},
       {"\xE2\x82\xB0", "\xE2\x82"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", "())"}},
      {"root ::= \"a\" root | \"a\"", {"a", "aaaaaaaaaaaaaaaa"}, {""}},
      {"root ::= e\ne ::= t (\"+\" t)*\nt ::= \"x\" | \"(\" e \")\"",
       {"x", "x+(x+x)+x"},
       {"x+", "(x", "+x"}},
      {"root ::= (\"a\"?){3} \"b\"", {"b", "aaab"}, {"aaaab"}},
      {"root ::= (\"a\"*){2,5} \"b\"", {"b", "aaaaaaaaab"}, {"a"}},
      {"root ::= [^\\x00-\\x1F]{9,12}",
       {"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9"},
       {"12345678", "1234567890123"}},
      {"root ::= \"\"", {""}, {"a"}},
      {"root ::= a a\na ::= b? b?\nb ::= \"x\"", {"", "xxxx"}, {"xxxxx"}},
      {"root ::= .",
       {"\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"},
       {"\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\xFF"}},
  };
  for (const Case& c : cases) {
    const auto g = parsed(c.gbnf);
    for (const char* text : c.yes)
      CHECK_MESSAGE(g->matches(text), c.gbnf << " should match " << text);
    for (const char* text : c.no)
      CHECK_MESSAGE(!g->matches(text), c.gbnf << " should not match " << text);
  }
}

TEST_CASE("a wrong grammar is an error that says where and why") {
  CHECK(has(error_of(""), "no rule named 'root'"));
  CHECK(has(error_of("root ::= x"), "'x' is used in line 1 but not defined"));
  CHECK(has(error_of("root ::= \"a\"\nroot ::= \"b\""), "already defined in line 1"));
  CHECK(has(error_of("root = \"a\""), "line 1, column 6: expected '::='"));
  CHECK(has(error_of("root ::= \"a"), "no closing '\"'"));
  CHECK(has(error_of("root ::= [a"), "no closing ']'"));
  CHECK(has(error_of("root ::= []"), "matches no character"));
  CHECK(has(error_of("root ::= [b-a]"), "runs backwards"));
  CHECK(has(error_of("root ::= \"\\q\""), "unknown escape"));
  CHECK(has(error_of("root ::= \"\\xZ1\""), "hexadecimal"));
  CHECK(has(error_of("root ::= \"\\uD800\""), "not a Unicode character"));
  CHECK(has(error_of("root ::= (\"a\""), "expected ')'"));
  CHECK(has(error_of("root ::= \"a\")"), "unexpected ')'"));
  CHECK(has(error_of("root ::= \"a\"{,3}"), "expected a number"));
  CHECK(has(error_of("root ::= \"a\"{3,2}"), "runs backwards"));
  CHECK(has(error_of("root ::= \"a\"{2001}"), "limit is 2000"));
  CHECK(has(error_of("root ::= *"), "unexpected '*'"));
  CHECK(has(error_of("root ::= \"\xC3\""), "not valid UTF-8"));
  CHECK(has(error_of("ro_t ::= \"a\""), "expected '::='"));
  CHECK(has(error_of("root ::= root \"a\" | \"a\""), "'root' (line 1) is left-recursive"));
  CHECK(has(error_of("root ::= x? root \"a\" | \"a\"\nx ::= \"\""), "left-recursive"));
  CHECK(has(error_of("root ::= a\na ::= b\nb ::= c* a \"x\" | \"y\"\nc ::= \"z\""),
            "left-recursive"));
  CHECK(has(error_of("root ::= \"a\" | x\nx ::= \"b\" x"), "'x' (line 2) can never finish"));
  CHECK(has(error_of("root ::= <nothing>"), "not exactly one token"));
  CHECK(has(error_of("root ::= <[12>"), "expected ']>'"));
  CHECK(has(error_of("root ::= !x"), "expected '<' after '!'"));
  // {m,n} with a large n has no upper bound, as in the usual servers.
  CHECK(parsed("root ::= \"a\"{1,5000}")->matches(std::string(9000, 'a')));
}

TEST_CASE("random grammars agree with a slow recogniser") {
  int compared = 0, matched = 0;
  for (std::uint32_t seed = 1; seed <= 1500; ++seed) {
    test::RandomGrammar random(seed);
    const std::string gbnf = random.gbnf();
    auto g = Grammar::parse(gbnf);
    if (!g) {
      const bool expected =
          has(g.status().message(), "left-recursive") || has(g.status().message(), "never finish");
      REQUIRE_MESSAGE(expected, gbnf << g.status().message());
      continue;
    }
    for (int i = 0; i < 24; ++i) {
      const std::u32string text = random.random_text();
      const bool yes = random.matches(text);
      REQUIRE_MESSAGE((*g)->matches(test::to_utf8(text)) == yes,
                      gbnf << "text '" << test::to_utf8(text) << "' seed " << seed);
      ++compared;
      matched += yes;
    }
  }
  MESSAGE(compared << " texts, " << matched << " of them sentences");
  CHECK(matched > 500);
}

TEST_CASE("masks, single checks and the slow recogniser agree along random walks") {
  const auto vocabulary = vocabulary_of(small_vocabulary());
  std::mt19937 random(7);
  for (std::uint32_t seed = 1; seed <= 250; ++seed) {
    test::RandomGrammar source(seed);
    const std::string gbnf = source.gbnf();
    auto g = Grammar::parse(gbnf);
    if (!g) continue;
    GrammarState state(GrammarMasks::create(*g, vocabulary));
    std::string text;
    for (int step = 0; step < 6; ++step) {
      check_mask(state, gbnf);
      std::vector<std::uint32_t> choices;
      for (std::uint32_t t = 0; t < vocabulary->size(); ++t) {
        if (state.allowed(t)) choices.push_back(t);
        // Where a token ends at a whole letter, the slow recogniser can tell.
        const std::string after = text + std::string(vocabulary->bytes(t));
        std::u32string letters;
        std::size_t at = 0;
        std::uint32_t cp = 0;
        while (read_utf8(after, at, cp)) letters += static_cast<char32_t>(cp);
        if (at != after.size() || vocabulary->end_of_generation(t) ||
            vocabulary->bytes(t).empty() || vocabulary->bytes(t)[0] == 0)
          continue;
        REQUIRE_MESSAGE(
            state.allowed(t) == source.viable(letters),
            gbnf << "after '" << text << "' token '" << std::string(vocabulary->bytes(t)) << "'");
      }
      if (choices.empty()) break;
      const std::uint32_t t = choices[random() % choices.size()];
      GrammarState copy = state;
      REQUIRE(state.accept(t).ok());
      if (vocabulary->end_of_generation(t)) {
        CHECK(state.ended());
        CHECK(g.status().ok());
        check_mask(state, gbnf);
        break;
      }
      text += vocabulary->bytes(t);
      // Going back and by another way leads to the same place.
      REQUIRE(state.undo(1).ok());
      check_mask(state, gbnf);
      REQUIRE(state.accept(t).ok());
      REQUIRE(copy.accept_text(vocabulary->bytes(t)).ok());
      CHECK(copy.is_complete() == state.is_complete());
      CHECK(copy.only_end_allowed() == state.only_end_allowed());
    }
  }
}

// Tokens with long common beginnings, so that the mask's walk meets whole subtrees: letters, signs,
// characters whole, halved and broken.
std::vector<VocabularyToken> bushy_vocabulary() {
  const std::vector<std::string> pieces = {"a",        "b",
                                           "Z",        "7",
                                           " ",        "\"",
                                           "\\",       "<",
                                           ".",        ",",
                                           "\n",       "\t",
                                           "\x01",     "\x7F",
                                           "\xC3\xA9", "\xC3",
                                           "\xA9",     "\xE2\x82\xAC",
                                           "\xE2\x82", "\xF0\x9F\x98\x80",
                                           "\xFF",     "\xED\xA0"};
  std::mt19937 random(11);
  std::vector<VocabularyToken> tokens{{"", true}};
  for (int i = 0; i < 6000; ++i) {
    std::string text;
    // The first pieces from few, so that subtrees are large; mostly of one kind.
    const std::size_t kinds = random() % 4 == 0 ? pieces.size() : 5;
    for (std::size_t n = 1 + random() % 7; n > 0; --n)
      text += pieces[text.empty() ? random() % 4 : random() % kinds];
    tokens.push_back({text, false});
  }
  for (const std::string& piece : pieces) tokens.push_back({piece, false});
  return tokens;
}

TEST_CASE("masks agree with single checks where whole subtrees of tokens are alike") {
  const auto vocabulary = vocabulary_of(bushy_vocabulary());
  const std::vector<std::string> grammars = {
      "root ::= \"a\" [^\"\\\\]* \"\\\"\" .*",
      "root ::= text \".\" text\ntext ::= [^<.]*",
      "root ::= [a-zA-Z0-9 ]* (\".\" [^\\n]*)?",
      "root ::= ([^\\x00-\\x1F] | \"\\t\")+",
      "root ::= [\\x80-\\U0010FFFFa]*",
      "root ::= [^\\u20ac]*",
      "root ::= [a-z \\u00e9]* [A-Z]",
      "root ::= .{0,300} \"7\"",
      "root ::= ([ab] | [^a]){100,200}",
      "root ::= item{3,150}\nitem ::= \"a\" [^b]{0,90} \"b\" | [bZ7 ]+",
      "root ::= ([a-z]* [a-z ]*)* \"7\" | .*",
  };
  std::mt19937 random(3);
  for (const std::string& gbnf : grammars) {
    GrammarState state(GrammarMasks::create(parsed(gbnf), vocabulary));
    for (int step = 0; step < 12; ++step) {
      check_mask(state, gbnf);
      std::vector<std::uint32_t> choices;
      for (std::uint32_t t = 1; t < vocabulary->size(); ++t)
        if (state.allowed(t)) choices.push_back(t);
      if (choices.empty()) break;
      REQUIRE(state.accept(choices[random() % choices.size()]).ok());
    }
  }
}

TEST_CASE("a token may end in the middle of a character") {
  const auto vocabulary = vocabulary_of({{"\xF0", false},
                                         {"\x9F\x98", false},
                                         {"\x80", false},
                                         {"\x81", false},
                                         {"x", false},
                                         {"", true}});
  GrammarState state(GrammarMasks::create(parsed("root ::= \"\\U0001F600\" \"x\""), vocabulary));
  CHECK(state.accept(0).ok());
  CHECK_FALSE(state.allowed(2));
  CHECK_FALSE(state.allowed(5));
  CHECK(state.accept(1).ok());
  CHECK_FALSE(state.allowed(3));
  CHECK(state.accept(2).ok());
  CHECK(state.accept(4).ok());
  CHECK(state.only_end_allowed());
  CHECK(state.accept(5).ok());
  CHECK(state.ended());
}

TEST_CASE("token terms match a token as a unit") {
  const auto vocabulary = vocabulary_of(
      {{"a", false}, {"b", false}, {"", false}, {"<think>", false}, {"ab", false}, {"", true}});
  const TokenResolver resolver = [](std::string_view text) -> std::optional<std::uint32_t> {
    if (text == "<think>") return 3;
    if (text == "ab") return 4;
    return std::nullopt;
  };
  auto g = Grammar::parse("root ::= <[2]> <think> !<[2]>* <ab>", {}, resolver);
  REQUIRE(g);
  GrammarState state(GrammarMasks::create(*g, vocabulary));
  auto allowed = [&] {
    std::string out;
    for (std::uint32_t t = 0; t < 6; ++t) out += state.allowed(t) ? '1' : '0';
    check_mask(state, "token terms");
    return out;
  };
  CHECK(allowed() == "001000");
  REQUIRE(state.accept(2).ok());
  CHECK(allowed() == "000100");
  REQUIRE(state.accept(3).ok());
  CHECK(allowed() == "110110");
  REQUIRE(state.accept(0).ok());
  REQUIRE(state.accept(4).ok());
  CHECK(state.is_complete());
  CHECK(allowed() == "110111");
  REQUIRE(state.accept(1).ok());
  CHECK_FALSE(state.is_complete());
}

TEST_CASE("misuse of a state is an error, not a crash") {
  const auto vocabulary = vocabulary_of({{"a", false}, {"b", false}, {"", true}});
  GrammarState state(GrammarMasks::create(parsed("root ::= \"a\"{2}"), vocabulary));
  CHECK_FALSE(state.allowed(3));
  CHECK_FALSE(state.allowed(0xFFFFFFFFu));
  CHECK_FALSE(state.accept(1).ok());
  CHECK_FALSE(state.accept(2).ok());
  CHECK_FALSE(state.undo(1).ok());
  CHECK_FALSE(state.fill_mask({}).ok());
  CHECK(has(state.accept_text("ab").message(), "byte 1"));
  CHECK(state.accept_text("a").ok());
  CHECK(state.accept(0).ok());
  CHECK(state.accept(2).ok());
  CHECK_FALSE(state.accept(0).ok());
  CHECK(state.accept(2).ok());
  CHECK(state.undo(1).ok());
  CHECK(state.ended());
  CHECK(state.undo(1).ok());
  CHECK_FALSE(state.ended());
  CHECK(state.undo(2).ok());
  CHECK_FALSE(VocabularyIndex::create({}));
}
