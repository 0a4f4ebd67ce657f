// Streams of bytes and tokens: whatever the cuts, only whole characters come out, and all of them.
#include "veloce/text/detokenize.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace veloce;
using text::Utf8Stream;

namespace {

// One U+FFFD for each byte that belongs to no character.
std::string repaired(const std::string& bytes) {
  return text::to_utf8(text::code_points(bytes));
}

std::string random_bytes(std::mt19937& engine) {
  static const std::vector<std::string> parts = {
      "a",    " ",    "\u00e9",   "\u4e2d",   "\U0001F600", "\xC3", "\xE4\xB8", "\xF0\x9F\x98",
      "\x80", "\xFF", "\xED\xA0", "\xE0\x80", "\xF4\x90",   "\xC0", "\xF0"};
  std::string out;
  for (std::uint32_t n = engine() % 12; n > 0; --n) out += parts[engine() % parts.size()];
  return out;
}

}  // namespace

TEST_CASE("any cuts give the same text") {
  std::mt19937 engine(41);
  for (int round = 0; round < 5000; ++round) {
    const std::string bytes = random_bytes(engine);
    Utf8Stream stream;
    std::string out;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t n = 1 + engine() % 3;
      const std::string part = stream.push(std::string_view(bytes).substr(at, n));
      REQUIRE(text::is_valid_utf8(part));
      REQUIRE(stream.pending().size() <= 3);
      out += part;
      at += n;
    }
    out += stream.finish();
    REQUIRE(out == repaired(bytes));
    CHECK(stream.pending().empty());
  }
}

TEST_CASE("a character is sent as soon as it is whole, and not before") {
  Utf8Stream stream;
  CHECK(stream.push("\xF0") == "");
  CHECK(stream.push("\x9F\x98") == "");
  CHECK(stream.push("\x80x") == "\U0001F600x");
  CHECK(stream.push("\xE4") == "");
  CHECK(stream.push("y") == "\uFFFDy");              // it never becomes one
  CHECK(stream.push("\xED\xA0") == "\uFFFD\uFFFD");  // a surrogate: known to be wrong at once
  CHECK(stream.push("\xC3") == "");
  CHECK(stream.finish() == "\uFFFD");
}

TEST_CASE("tokens that split characters") {
  text::VocabularyData data;
  data.model = "gpt2";
  data.pre = "gpt-2";
  std::vector<std::string> texts;
  for (int b = 0; b < 256; ++b)
    texts.push_back(text::ByteAlphabet::get().character(static_cast<unsigned char>(b)));
  texts.push_back("ab");
  texts.push_back("<|end|>");
  data.tokens.assign(texts.begin(), texts.end());
  data.merges = {"a b"};
  data.types.assign(258, 1);
  data.types[257] = 3;
  const auto tokenizer = text::Tokenizer::create(data);
  REQUIRE(tokenizer);
  text::StreamDetokenizer stream(*tokenizer), special(*tokenizer, true);
  std::string out, with_special;
  for (std::int32_t id : {256, 0xF0, 0x9F, 257, 0x98, 0x80, 0x20, 0xE4}) {
    out += stream.push(id);
    with_special += special.push(id);
  }
  CHECK(out == "ab\U0001F600 ");
  CHECK(stream.pending() == "\xE4");
  CHECK(stream.finish() == "\uFFFD");
  CHECK(with_special == "ab\uFFFD\uFFFD<|end|>\uFFFD\uFFFD ");
}

TEST_CASE("the space in front of an SPM text") {
  text::VocabularyData data;
  data.model = "llama";
  data.tokens = {"<unk>", "<s>", "</s>", "\u2581a", "\u2581b"};
  data.types = {2, 3, 3, 1, 1};
  const auto tokenizer = text::Tokenizer::create(data);
  REQUIRE(tokenizer);
  text::StreamDetokenizer whole(*tokenizer, false, true), continued(*tokenizer);
  std::string a, b;
  for (std::int32_t id : {1, 3, 4}) {
    a += whole.push(id);
    b += continued.push(id);
  }
  CHECK(a == "a b");
  CHECK(b == " a b");
  CHECK(tokenizer->decode(std::vector<std::int32_t>{1, 3, 4}, true, false) == "a b");
}

TEST_CASE("NFC") {
  const auto nfc = [](std::u32string_view s) { return text::nfc(s); };
  CHECK(nfc(U"e\u0301") == U"\u00e9");
  CHECK(nfc(U"\u1100\u1161\u11a8") == U"\uac01");    // Hangul
  CHECK(nfc(U"\u212b") == U"\u00c5");                // a singleton
  CHECK(nfc(U"\u0958") == U"\u0915\u093c");          // excluded from composition
  CHECK(nfc(U"q\u0307\u0323") == U"q\u0323\u0307");  // marks in order
  CHECK(nfc(U"a\u0327\u0301") == U"\u00e1\u0327");   // composes across a mark of another class
  CHECK(nfc(U"\u0301a") == U"\u0301a");
  CHECK(nfc(U"\uf900") == U"\u8c48");
  std::mt19937 engine(43);
  for (int i = 0; i < 2000; ++i) {
    std::u32string s;
    for (std::uint32_t n = engine() % 8; n > 0; --n)
      s += char32_t(engine() % 3 ? 0x300 + engine() % 0x60 : 0x41 + engine() % 0x200);
    REQUIRE(nfc(nfc(s)) == nfc(s));
  }
}
