// Every vocabulary with its expected ids (VELOCE_DATA_DIR/vocab) and every odd-NAME.jsonl,
// disagree-NAME.jsonl and cases.json of the golden folders, whatever the names.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/data_dirs.hpp"
#include "veloce/gguf/file.hpp"
#include "veloce/text/tokenizer.hpp"

using namespace veloce;
namespace fs = std::filesystem;
using Ids = std::vector<std::int32_t>;

namespace {

std::optional<text::Tokenizer> load(const fs::path& path, text::TokenizerOptions options = {}) {
  auto file = gguf::File::open(path.string());
  REQUIRE_MESSAGE(file, file.status().message());
  auto tokenizer = text::Tokenizer::from_metadata(file->metadata(), options);
  REQUIRE_MESSAGE(tokenizer, tokenizer.status().message());
  return *std::move(tokenizer);
}

std::string show(const Ids& ids) {
  std::ostringstream out;
  for (std::int32_t id : ids) out << id << ' ';
  return out.str();
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Where the vocabulary called NAME lies; empty if it is not here.
fs::path vocabulary_path(const std::string& name) {
  const fs::path path = test::data_dir() / "vocab" / ("ggml-vocab-" + name + ".gguf");
  if (fs::exists(path)) return path;
  if (name != "smollm2") return {};
  if (const char* given = std::getenv("VELOCE_SMOLLM2")) return given;
  const fs::path models = test::source_dir() / "models";
  if (fs::is_directory(models))
    for (const auto& entry : fs::directory_iterator(models)) {
      const std::string file = entry.path().filename().string();
      if (file.starts_with("SmolLM2-135M-Instruct") && file.ends_with(".gguf") &&
          fs::exists(entry.path()))
        return entry.path();
    }
  return {};
}

// Files of the golden tokenizer folders whose names have the form PREFIX NAME SUFFIX, by NAME; of
// equal names the first folder's.
std::map<std::string, fs::path> golden_files(const std::string& prefix, const std::string& suffix) {
  std::map<std::string, fs::path> found;
  for (const fs::path& root : test::golden_dirs()) {
    const fs::path folder = root / "tokenizer";
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.size() <= prefix.size() + suffix.size() || !file.starts_with(prefix) ||
          !file.ends_with(suffix))
        continue;
      const std::string name =
          file.substr(prefix.size(), file.size() - prefix.size() - suffix.size());
      const auto [it, inserted] = found.emplace(name, entry.path());
      if (!inserted && fs::file_size(entry.path()) > fs::file_size(it->second))
        it->second = entry.path();
    }
  }
  return found;
}

// The text as the tokenizer reads it.
std::string normal_form(const text::Tokenizer& tokenizer, const std::string& text) {
  return tokenizer.vocabulary().pre().nfc ? text::to_utf8(text::nfc(text::code_points(text)))
                                          : text;
}

std::size_t checked = 0;

}  // namespace

TEST_CASE("vocabularies give their expected ids") {
  const fs::path folder = test::data_dir() / "vocab";
  if (!fs::is_directory(folder)) {
    std::cout << "SKIP: no vocabularies in " << folder << "\n";
    return;
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".gguf") continue;
    const std::string path = entry.path().string();
    if (!fs::exists(path + ".inp") || !fs::exists(path + ".out")) continue;
    CAPTURE(path);
    const auto tokenizer = load(path);
    // The ids of Qwen's vocabularies were made without NFC, so they hold for texts in NFC, and for
    // all others with the parity switch; without it such a text has the ids of its normal form.
    const auto parity = load(path, {.peer_parity = true});
    const std::string input = read_all(path + ".inp"), separator = "\n__ggml_vocab_test__\n";
    std::istringstream output(read_all(path + ".out"));
    std::string line;
    for (std::size_t at = 0; std::getline(output, line); ++checked) {
      const std::size_t end = input.find(separator, at);
      REQUIRE(end != std::string::npos);
      const std::string text = input.substr(at, end - at);
      at = end + separator.size();
      std::istringstream numbers(line);
      Ids want;
      for (std::int32_t id; numbers >> id;) want.push_back(id);
      Ids got = tokenizer->encode(text, false, false);
      if (const std::string normal = normal_form(*tokenizer, text); normal != text) {
        CHECK(got == parity->encode(normal, false, false));
        got = parity->encode(text, false, false);
      }
      CHECK_MESSAGE(got == want, text, "\n got ", show(got), "\nwant ", show(want));
    }
  }
}

TEST_CASE("odd texts on which independent tokenizers agree") {
  for (const auto& entry : golden_files("odd-", ".jsonl")) {
    const std::string& name = entry.first;
    const fs::path& path = entry.second;
    CAPTURE(name);
    const fs::path vocabulary = vocabulary_path(name);
    if (vocabulary.empty()) {
      std::cout << "SKIP: " << name
                << ": no vocabulary (smollm2: put the GGUF of the starter model into models/)\n";
      continue;
    }
    const auto tokenizer = load(vocabulary);
    bool every_byte = true;
    for (const std::string& warning : tokenizer->warnings())
      every_byte &= warning.find("256 bytes") == std::string::npos;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line); ++checked) {
      const auto row = nlohmann::json::parse(line);
      const std::string text = row["text"];
      const Ids ids = row["ids"],
                special = row.contains("special") ? row["special"].get<Ids>() : ids;
      const Ids got = tokenizer->encode(text, false, false),
                got_special = tokenizer->encode(text, false, true);
      CHECK_MESSAGE(got == ids, line, "\n got ", show(got));
      CHECK_MESSAGE(got_special == special, line, "\n got (special) ", show(got_special));
      std::string normal = normal_form(*tokenizer, text);
      if (tokenizer->vocabulary().kind() == text::TokenizerKind::kSpm)
        normal =
            std::regex_replace(normal, std::regex("\u2581"), " ");  // SPM's own sign for a space
      if (every_byte) {
        CHECK_MESSAGE(tokenizer->decode(ids, false, false) == normal, line);
        // SPM puts a space in front of each part between special tokens, which nothing tells from a
        // space of the text.
        if (tokenizer->vocabulary().kind() == text::TokenizerKind::kBpe)
          CHECK_MESSAGE(tokenizer->decode(special, false, true) == normal, line);
      }
    }
  }
}

TEST_CASE("texts on which they disagree: the answer for the documented reason") {
  // tokenizer options' comment gives the reasons; the parity switch gives llama.cpp's answer.
  const std::map<std::string, std::string> ours = {{"nfc", "hf"},
                                                   {"forced-control", "hf"},
                                                   {"special-flag", "llama.cpp"},
                                                   {"non-ascii-space", "hf"}};
  for (const auto& entry : golden_files("disagree-", ".jsonl")) {
    const std::string& name = entry.first;
    const fs::path& path = entry.second;
    CAPTURE(name);
    const fs::path vocabulary = vocabulary_path(name);
    if (vocabulary.empty()) continue;
    const auto tokenizer = load(vocabulary);
    const auto parity = load(vocabulary, {.peer_parity = true});
    std::ifstream in(path);
    for (std::string line; std::getline(in, line); ++checked) {
      const auto row = nlohmann::json::parse(line);
      const std::string text = row["text"], mode = row["mode"];
      std::map<std::string, Ids> answers;
      std::set<Ids> all;
      for (const auto& answer : row["answers"])
        for (const std::string by : answer["by"])
          all.insert(answers[by] = answer["ids"].get<Ids>());
      for (const bool special : {false, true}) {
        if (mode == (special ? "plain" : "special")) continue;
        const Ids got = tokenizer->encode(text, false, special);
        CHECK_MESSAGE(all.count(got) == 1, line, "\n got ", show(got));
        if (const auto it = ours.find(row["why"]); it != ours.end() && answers.count(it->second))
          CHECK_MESSAGE(got == answers[it->second], line, "\n got ", show(got));
        if (answers.count("llama.cpp")) {
          const Ids peer = parity->encode(text, false, special);
          CHECK_MESSAGE(peer == answers["llama.cpp"], line, "\nparity got ", show(peer));
        }
      }
    }
  }
}

TEST_CASE("the cases of the golden models' own vocabulary") {
  for (const fs::path& root : test::golden_dirs()) {
    const fs::path path = root / "tokenizer" / "cases.json";
    if (!fs::exists(path)) continue;
    const auto cases = nlohmann::json::parse(read_all(path));
    for (const auto& item : cases["tokens"].items()) {
      const std::string arch = item.key();
      const nlohmann::json& rows = item.value();
      CAPTURE(arch);
      fs::path model;
      for (const fs::path& other : test::golden_dirs())
        if (fs::exists(other / (arch + "-f32") / "model.gguf"))
          model = other / (arch + "-f32") / "model.gguf";
      if (model.empty()) {
        std::cout << "SKIP: " << arch << ": no golden model\n";
        continue;
      }
      // The ids are llama.cpp's, from texts that are not all in NFC.
      const auto tokenizer = load(model, {.peer_parity = true});
      for (std::size_t i = 0; i < rows.size(); ++i, ++checked) {
        const std::string text = cases["cases"][i];
        const Ids got = tokenizer->encode(text, false, true);
        CHECK_MESSAGE(got == rows[i].get<Ids>(), text, "\n got ", show(got), "\nwant ",
                      show(rows[i].get<Ids>()));
      }
    }
  }
  std::cout << "golden tokenizer: " << checked << " texts checked\n";
  if (checked == 0) std::cout << "SKIP: no golden tokenizer data\n";
}
