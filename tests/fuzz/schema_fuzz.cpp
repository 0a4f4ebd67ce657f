// Fuzzes JSON schemas: the input is one; what it compiles to must be a grammar, or too large for
// one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "veloce/text/grammar.hpp"
#include "veloce/text/json_schema.hpp"

using namespace veloce;
using namespace veloce::text;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto gbnf = schema_to_grammar(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!gbnf) {
    if (gbnf.status().message().empty()) std::abort();
    return 0;
  }
  GrammarLimits limits;
  limits.max_compile_work = 2000000;
  limits.max_states = 50000;
  const auto grammar = Grammar::parse(*gbnf, limits);
  if (!grammar && grammar.status().message().empty()) std::abort();
  // A schema's grammar may be too large, but it is never malformed.
  if (!grammar && grammar.status().message().starts_with("grammar: line ") &&
      grammar.status().message().find("more than") == std::string::npos) {
    std::abort();
  }
  return 0;
}
