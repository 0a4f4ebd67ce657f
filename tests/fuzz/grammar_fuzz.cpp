// Fuzzes the grammar code: the first byte chooses between GBNF text, a JSON schema, a pattern and a
// trigger; what compiles is driven with masks and tokens, whose masks must agree with single
// checks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/text/grammar.hpp"
#include "veloce/text/grammar_lazy.hpp"
#include "veloce/text/json_schema.hpp"

using namespace veloce;
using namespace veloce::text;

namespace {

const std::shared_ptr<const VocabularyIndex>& vocabulary() {
  static const std::shared_ptr<const VocabularyIndex> kIndex = [] {
    std::vector<VocabularyToken> tokens{{"", true}, {"", false}};
    for (int b = 1; b < 256; ++b) tokens.push_back({std::string(1, static_cast<char>(b)), false});
    for (const char* t : {"{\"", "\":", "\",", "\"}", "[[", "aa", "ab", "\xC3\xA9", "\xE2\x82",
                          " \"", "\n  ", "12", "true"}) {
      tokens.push_back({t, false});
    }
    return *VocabularyIndex::create(std::move(tokens));
  }();
  return kIndex;
}

void drive(const std::shared_ptr<const Grammar>& grammar, std::string_view choices) {
  GrammarState state(GrammarMasks::create(grammar, vocabulary()));
  std::vector<std::uint32_t> bits(vocabulary()->mask_words());
  for (std::size_t i = 0; i < choices.size() && i < 24; ++i) {
    if (!state.fill_mask(bits).ok()) return;
    std::vector<std::uint32_t> allowed;
    for (std::uint32_t t = 0; t < vocabulary()->size(); ++t) {
      const bool in_mask = (bits[t / 32] >> (t % 32) & 1u) != 0;
      if (in_mask) allowed.push_back(t);
      if (i < 4 && in_mask != state.allowed(t)) std::abort();
    }
    if (allowed.empty() ||
        !state.accept(allowed[static_cast<std::uint8_t>(choices[i]) % allowed.size()]).ok())
      return;
    if (choices[i] == 'u') (void)state.undo(1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  GrammarLimits limits;
  limits.max_compile_work = 2000000;
  limits.max_states = 50000;
  std::string gbnf(text);
  switch (data[0] % 4) {
    case 0:
      break;
    case 1: {
      auto from_schema = schema_to_grammar(text);
      if (!from_schema) return 0;
      gbnf = *from_schema;
      break;
    }
    case 2: {
      auto pattern = schema::PatternTranslator(text).run();
      if (!pattern) return 0;
      gbnf = "root ::= " + pattern->gbnf + "\n";
      break;
    }
    default: {
      auto state = LazyGrammarState::create(
          GrammarMasks::create(*Grammar::parse("root ::= .*"), vocabulary()), {{}, {}, {gbnf}});
      for (std::size_t i = 0; state && i < text.size(); ++i) {
        if (!state->accept(static_cast<std::uint8_t>(text[i]) + 1u).ok()) break;
      }
      return 0;
    }
  }
  auto grammar = Grammar::parse(gbnf, limits);
  if (grammar) drive(*grammar, text);
  return 0;
}
