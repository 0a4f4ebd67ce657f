// The tokenizer's parts against naive versions of their definitions, hostile vocabularies, and
// time.
#include "veloce/text/tokenizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/data_dirs.hpp"
#include "veloce/gguf/file.hpp"

using namespace veloce;
using text::Tokenizer;
using text::VocabularyData;
using Ids = std::vector<std::int32_t>;

namespace {

// A VocabularyData together with the texts it points to.
struct Made {
  std::vector<std::string> tokens, merges;
  VocabularyData data;

  Result<Tokenizer> make(text::TokenizerOptions options = {}) {
    data.tokens.assign(tokens.begin(), tokens.end());
    data.merges.assign(merges.begin(), merges.end());
    return Tokenizer::create(data, options);
  }
};

// Byte-level BPE: all bytes, then the given merges' results, then specials (type 3, or 4 if they
// begin with '#').
Made bpe(const std::vector<std::pair<std::string, std::string>>& merges,
         const std::vector<std::string>& specials = {}, const std::string& pre = "gpt-2") {
  Made m;
  m.data.model = "gpt2";
  m.data.pre = pre;
  for (int b = 0; b < 256; ++b)
    m.tokens.push_back(text::ByteAlphabet::get().character(static_cast<unsigned char>(b)));
  for (const auto& [left, right] : merges) {
    m.merges.push_back(left + " " + right);
    if (std::find(m.tokens.begin(), m.tokens.end(), left + right) == m.tokens.end())
      m.tokens.push_back(left + right);
  }
  m.data.types.assign(m.tokens.size(), 1);
  for (const std::string& special : specials) {
    m.tokens.push_back(special);
    m.data.types.push_back(special[0] == '#' ? 4 : 3);
  }
  return m;
}

std::string error_of(Made m) {
  const auto tokenizer = m.make();
  return tokenizer ? "" : tokenizer.status().message();
}

// Of this process, so that a busy machine does not count.
double seconds(const std::function<void()>& work) {
  const std::clock_t start = std::clock();
  work();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

std::string repeated(const std::string& unit, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += unit;
  return out;
}

}  // namespace

TEST_CASE("merging follows the definition: lowest rank, leftmost") {
  std::mt19937 engine(23);
  for (int round = 0; round < 30; ++round) {
    // Random merges over the letters a to c.
    std::vector<std::string> symbols = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    std::map<std::pair<std::string, std::string>, std::size_t> ranks;
    for (int i = 0; i < 14; ++i) {
      const std::string left = symbols[engine() % symbols.size()],
                        right = symbols[engine() % symbols.size()];
      if (left.size() + right.size() > 12) continue;
      ranks.emplace(std::make_pair(left, right), merges.size());
      merges.emplace_back(left, right);
      symbols.push_back(left + right);
    }
    if (merges.empty()) continue;
    Made m = bpe(merges);
    const auto tokenizer = m.make();
    REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
    for (std::size_t length : {1u, 2u, 5u, 31u, 32u, 33u, 60u, 200u}) {
      std::string word;
      for (std::size_t i = 0; i < length; ++i) word += char('a' + engine() % 3);
      std::vector<std::string> parts;
      for (char c : word) parts.emplace_back(1, c);
      for (;;) {
        std::size_t best = std::numeric_limits<std::size_t>::max(), at = 0;
        for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
          const auto it = ranks.find({parts[i], parts[i + 1]});
          if (it != ranks.end() && it->second < best) best = it->second, at = i;
        }
        if (best == std::numeric_limits<std::size_t>::max()) break;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + std::ptrdiff_t(at) + 1);
      }
      Ids want;
      for (const std::string& part : parts) want.push_back(tokenizer->vocabulary().find(part));
      const Ids got = tokenizer->encode(word, false, false);
      REQUIRE(got == want);
      CHECK(tokenizer->decode(got, false, false) == word);
    }
  }
}

TEST_CASE("a merge whose result is no token falls apart into bytes") {
  Made m = bpe({{"a", "b"}, {"ab", "c"}});
  m.tokens[257] = "other";  // "abc" is no longer a token
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  CHECK(tokenizer->encode("abc", false, false) == Ids{'a', 'b', 'c'});
  CHECK(tokenizer->encode("ab", false, false) == Ids{256});
  CHECK_FALSE(tokenizer->warnings().empty());
}

TEST_CASE("scores: highest first, leftmost among equals, bytes for the rest") {
  std::mt19937 engine(29);
  for (int round = 0; round < 30; ++round) {
    Made m;
    m.data.model = "llama";
    m.tokens = {"<unk>", "<s>", "</s>", "a", "b", "\u2581", "\u00e9"};
    m.data.types = {2, 3, 3, 1, 1, 1, 1};
    const std::vector<std::string> units = {"a", "b", "\u2581", "\u00e9"};
    for (int i = 0; i < 25; ++i) {
      std::string t;
      for (std::uint32_t n = 2 + engine() % 4; n > 0; --n) t += units[engine() % 4];
      if (std::find(m.tokens.begin(), m.tokens.end(), t) == m.tokens.end()) m.tokens.push_back(t);
    }
    m.data.types.resize(m.tokens.size(), 1);
    for (int b = 0; b < 256; ++b) {
      constexpr char kHex[] = "0123456789ABCDEF";
      m.tokens.push_back(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">");
      m.data.types.push_back(6);
    }
    for (std::size_t i = 0; i < m.tokens.size(); ++i) m.data.scores.push_back(-float(engine() % 6));
    const auto tokenizer = m.make();
    REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
    const auto& v = tokenizer->vocabulary();
    for (int i = 0; i < 20; ++i) {
      std::vector<std::string> parts = {"\u2581"};
      std::string input;
      for (std::uint32_t n = 1 + engine() % 40; n > 0; --n) {
        const std::string unit = engine() % 9 == 0 ? "z" : units[engine() % 4];
        parts.push_back(unit);
        input += unit == "\u2581" ? " " : unit;
      }
      for (;;) {
        float best = -1e9f;
        std::size_t at = parts.size();
        for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
          const std::int32_t id = v.find(parts[k] + parts[k + 1]);
          if (id >= 0 && v.score(id) > best) best = v.score(id), at = k;
        }
        if (at == parts.size()) break;
        parts[at] += parts[at + 1];
        parts.erase(parts.begin() + std::ptrdiff_t(at) + 1);
      }
      Ids want = {1};
      for (const std::string& part : parts)
        want.push_back(part == "z" ? v.find("<0x7A>") : v.find(part));
      const Ids got = tokenizer->encode(input, true, false);
      REQUIRE(got == want);
      CHECK(tokenizer->decode(got, true, false) == input);
    }
  }
}

TEST_CASE("special tokens are taken longest first, as if token by token") {
  std::mt19937 engine(31);
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> chosen;
    for (int i = 0; i < 8; ++i) {
      std::string t = engine() % 2 ? "#" : "<";
      for (std::uint32_t n = 1 + engine() % 5; n > 0; --n) t += "<#>"[engine() % 3];
      chosen.insert(t);
    }
    const std::vector<std::string> specials(chosen.begin(), chosen.end());
    Made m = bpe({{"a", "b"}}, specials);
    const auto tokenizer = m.make();
    REQUIRE(tokenizer);
    for (bool parse : {false, true}) {
      std::vector<std::int32_t> order;
      for (std::int32_t id = 257; id < tokenizer->size(); ++id)
        if (parse || m.data.types[std::size_t(id)] == 4) order.push_back(id);
      std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return m.tokens[std::size_t(a)].size() > m.tokens[std::size_t(b)].size();
      });
      std::string input;
      for (std::uint32_t n = engine() % 60; n > 0; --n) input += "<#>x"[engine() % 4];
      // The definition: raw parts, split again and again.
      struct Part {
        std::string text;
        std::int32_t id;
      };
      std::vector<Part> parts = {{input, -1}};
      for (std::int32_t id : order) {
        std::vector<Part> next;
        for (const Part& part : parts) {
          if (part.id >= 0) {
            next.push_back(part);
            continue;
          }
          std::size_t at = 0;
          const std::string& t = m.tokens[std::size_t(id)];
          for (std::size_t found; (found = part.text.find(t, at)) != std::string::npos;
               at = found + t.size()) {
            if (found > at) next.push_back({part.text.substr(at, found - at), -1});
            next.push_back({t, id});
          }
          if (at < part.text.size()) next.push_back({part.text.substr(at), -1});
        }
        parts = next;
      }
      Ids want;
      for (const Part& part : parts) {
        if (part.id >= 0)
          want.push_back(part.id);
        else
          for (char c : part.text) want.push_back(tokenizer->vocabulary().find(std::string(1, c)));
      }
      REQUIRE(tokenizer->encode(input, false, parse) == want);
    }
  }
}

TEST_CASE("pieces and decoding by type") {
  Made m = bpe({{"\u0120", "a"}}, {"<|im_end|>", "#tool", "<unused7>", "<|x|>"});
  m.data.special[std::size_t(text::Special::kBos)] = 260;
  m.data.special[std::size_t(text::Special::kEos)] = 257;
  m.data.add_bos = m.data.add_eos = true;
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  CHECK(tokenizer->piece(256, false) == " a");
  CHECK(tokenizer->piece(257, false) == "");
  CHECK(tokenizer->piece(257, true) == "<|im_end|>");
  CHECK(tokenizer->piece(258, false) == "#tool");
  CHECK(tokenizer->piece(259, true) == "");  // a control token called unused
  CHECK(tokenizer->piece(-1, true) == "");
  CHECK(tokenizer->piece(100000, true) == "");
  CHECK(tokenizer->piece(0xC3, false) == "\xC3");
  CHECK(tokenizer->is_eog(257));
  CHECK_FALSE(tokenizer->is_eog(260));
  const Ids ids = tokenizer->encode("x a", true, false);
  CHECK(ids.front() == 260);
  CHECK(ids.back() == 257);
  CHECK(tokenizer->decode(ids, true, false) == "x a");
  CHECK(tokenizer->decode(ids, false, true) == "<|x|>x a<|im_end|>");
  CHECK(tokenizer->encode("", false, false).empty());
  CHECK(tokenizer->encode("", true, false) == Ids{260, 257});
}

TEST_CASE("which tokens end a generation") {
  const auto eog = [](const std::vector<std::string>& specials, bool parity = false) {
    Made m = bpe({{"<", "/"}, {"s", ">"}, {"</", "s>"}}, specials);
    const auto tokenizer = m.make({.peer_parity = parity});
    REQUIRE(tokenizer);
    std::set<std::string> texts;
    for (std::int32_t id : tokenizer->vocabulary().eog())
      texts.emplace(tokenizer->vocabulary().text(id));
    return texts;
  };
  using Texts = std::set<std::string>;
  CHECK(eog({"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) ==
        Texts{"<|im_end|>", "<|endoftext|>"});
  CHECK(eog({"<|end|>", "<|call|>"}) == Texts{"<|end|>", "<|call|>"});
  CHECK(eog({"<|end|>", "<|call|>", "<|return|>"}) == Texts{"<|call|>", "<|return|>"});
  CHECK(eog({"<|fim_pad|>", "<|fim_prefix|>", "<|file_sep|>"}) ==
        Texts{"<|fim_pad|>", "<|file_sep|>"});
  // "</s>" here is a word made by merges, as in Qwen2, where it is HTML.
  CHECK(eog({"<|x|>"}).empty());
  CHECK(eog({"<|x|>"}, true).count("</s>") == 1);
}

TEST_CASE("an end marker typed as an ordinary token is a control token all the same") {
  Made m = bpe({{"a", "b"}}, {"<|eot_id|>"});
  m.data.types.back() = 1;
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  CHECK(tokenizer->piece(257, false) == "");
  CHECK(tokenizer->encode("<|eot_id|>", false, true) == Ids{257});
  CHECK(tokenizer->encode("<|eot_id|>", false, false).size() == 10);
}

TEST_CASE("ignore_merges takes a whole word that is a token") {
  for (const char* pre : {"llama-bpe", "glm4"}) {
    Made m = bpe({{"a", "b"}}, {}, pre);
    m.tokens.push_back("bab");
    m.data.types.push_back(1);
    const auto tokenizer = m.make();
    REQUIRE(tokenizer);
    const Ids whole = {257}, merged = {'b', 256};
    CHECK(tokenizer->encode("bab", false, false) ==
          (std::string(pre) == "llama-bpe" ? whole : merged));
  }
}

TEST_CASE("invalid UTF-8 becomes U+FFFD, a byte at a time") {
  Made m = bpe({{"a", "b"}});
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  const std::string r = "\xEF\xBF\xBD";
  const std::map<std::string, std::string> cases = {
      {"\xFF", r},         {"a\xC3", "a" + r},          {"\xE4\xB8", r + r},
      {"\xC0\xAF", r + r}, {"\xED\xA0\x80", r + r + r}, {"\xF4\x90\x80\x80", r + r + r + r},
      {"\x80x", r + "x"}};
  for (const auto& entry : cases)
    CHECK(tokenizer->decode(tokenizer->encode(entry.first, false, false), false, false) ==
          entry.second);
}

TEST_CASE("clean_spaces") {
  CHECK(text::clean_spaces("a ? b ! c . d , e") == "a? b! c. d, e");
  CHECK(text::clean_spaces("it 's I 'm we 're you 've he 'd") == "it's I'm we're you've he 'd");
  CHECK(text::clean_spaces("a ' b") == "a'b");
  CHECK(text::clean_spaces(" ") == " ");
}

TEST_CASE("vocabularies that contradict themselves are refused by name") {
  Made good = bpe({{"a", "b"}});
  CHECK(error_of(good) == "");
  const auto has = [](const std::string& message, std::initializer_list<const char*> parts) {
    for (const char* part : parts)
      CHECK_MESSAGE(message.find(part) != std::string::npos, message, " / ", part);
  };
  Made m = good;
  m.data.model = "bert";
  has(error_of(m), {"tokenizer.ggml.model", "bert"});
  m = good;
  m.data.pre = "no-such";
  has(error_of(m), {"tokenizer.ggml.pre", "no-such"});
  m = good;
  m.tokens.clear();
  has(error_of(m), {"tokenizer.ggml.tokens"});
  m = good;
  m.merges.clear();
  has(error_of(m), {"tokenizer.ggml.merges"});
  for (const char* merge : {"", "ab", " ab", "ab ", "a"}) {
    m = good;
    m.merges.push_back(merge);
    has(error_of(m), {"tokenizer.ggml.merges[1]"});
  }
  m = good;
  m.tokens[40] = "a";
  has(error_of(m), {"tokenizer.ggml.tokens[97]", "40"});
  m = good;
  m.tokens.push_back(std::string(9u << 20, 'x'));
  m.data.types.push_back(4);
  has(error_of(m), {"tokenizer.ggml.tokens", "9437184"});
  m = good;
  m.data.types.pop_back();
  has(error_of(m), {"tokenizer.ggml.token_type", "256", "257"});
  m = good;
  m.data.types[9] = 77;
  has(error_of(m), {"tokenizer.ggml.token_type[9]", "77"});
  m = good;
  m.data.scores.assign(3, 0.0f);
  has(error_of(m), {"tokenizer.ggml.scores", "3", "257"});
  m = good;
  m.data.model = "llama";
  m.data.scores.assign(257, 0.0f);
  m.data.scores[5] = std::numeric_limits<float>::quiet_NaN();
  has(error_of(m), {"tokenizer.ggml.scores[5]"});
}

TEST_CASE("odd but harmless vocabularies load with a warning") {
  const auto warning = [](Made m, const char* part) {
    const auto tokenizer = m.make();
    REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
    for (const std::string& w : tokenizer->warnings())
      if (w.find(part) != std::string::npos) return true;
    return false;
  };
  const Made good = bpe({{"a", "b"}});
  Made m = good;
  m.data.pre.reset();
  CHECK(warning(m, "tokenizer.ggml.pre"));
  m = good;
  m.data.special[std::size_t(text::Special::kEos)] = 0xFFFFFFFF;
  CHECK(warning(m, "tokenizer.ggml.eos_token_id: 4294967295"));
  m = good;
  m.data.suppress = {-5};
  CHECK(warning(m, "tokenizer.ggml.suppress_tokens: -5"));
  m = good;
  m.tokens[7] = "";
  CHECK(warning(m, "1 of the 256 bytes"));
  m.data.types[7] = 1;
  CHECK(m.make()->vocabulary().text(7) == "[EMPTY_7]");
}

TEST_CASE("a vocabulary of one text repeated in merges and specials costs no quadratic time") {
  // Merges that build a^2, a^4, ...; user-defined tokens that are each other's ends.
  std::vector<std::string> specials;
  for (int n = 1; n <= 300; ++n) specials.push_back(std::string(std::size_t(n) + 1, '#'));
  Made m = bpe({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}}, specials);
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  const double small = seconds([&] { tokenizer->encode(std::string(50000, '#'), false, true); });
  const double large = seconds([&] { tokenizer->encode(std::string(200000, '#'), false, true); });
  CHECK(large < 8 * small + 0.3);
}

TEST_CASE("one tokenizer serves many threads") {
  Made m = bpe({{"a", "b"}, {"ab", "ab"}}, {"<|x|>"});
  const auto tokenizer = m.make();
  REQUIRE(tokenizer);
  const std::string input = repeated("abab ab<|x|>", 20000);
  const Ids want = tokenizer->encode(input, true, true);
  std::vector<std::thread> threads;
  std::vector<int> equal(4);
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { equal[i] = tokenizer->encode(input, true, true) == want; });
  for (auto& thread : threads) thread.join();
  CHECK(equal == std::vector<int>(4, 1));
}

TEST_CASE("real vocabularies: quick to load, linear in the text") {
  const auto folder = test::data_dir() / "vocab";
  if (!std::filesystem::is_directory(folder)) {
    std::cout << "SKIP: no vocabularies in " << folder << "\n";
    return;
  }
  for (const char* name : {"qwen35-248k", "deepseek-v4", "llama-spm", "deepseek-llm"}) {
    const auto path = folder / ("ggml-vocab-" + std::string(name) + ".gguf");
    if (!std::filesystem::exists(path)) continue;
    auto file = gguf::File::open(path.string());
    REQUIRE(file);
    double load = 1e9;
    for (int i = 0; i < 2; ++i)
      load = std::min(load, seconds([&] { REQUIRE(Tokenizer::from_metadata(file->metadata())); }));
    CHECK_MESSAGE(load < 1.0, name);
    const auto tokenizer = Tokenizer::from_metadata(file->metadata());
    for (const char* unit : {"a", " ", "\n", "7", "\xF0\x9F\x98\x80", "\xE4\xB8\xAD", "<|",
                             "e\xCC\x81", "\xCC\xA3\xCC\x81"}) {
      const std::string quarter = repeated(unit, 1u << 16), whole = repeated(unit, 1u << 18);
      const double small = seconds([&] { tokenizer->encode(quarter, true, true); });
      const double large = seconds([&] { tokenizer->encode(whole, true, true); });
      CHECK_MESSAGE(large < 10 * small + 0.2, name, " ", unit, " ", small, " ", large);
    }
  }
}
