// Golden renderings: every template with every conversation, and small cases of the language; made
// with Python's jinja2.
#include <doctest/doctest.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/data_dirs.hpp"
#include "veloce/text/jinja.hpp"

using nlohmann::ordered_json;
using namespace veloce;
using namespace veloce::text::jinja;

namespace {

// The clock of the goldens: 2026-11-30 12:34:56, a Monday.
std::tm golden_time() {
  std::tm out{};
  out.tm_year = 126, out.tm_mon = 10, out.tm_mday = 30, out.tm_hour = 12, out.tm_min = 34,
  out.tm_sec = 56;
  out.tm_wday = 1, out.tm_yday = 333;
  return out;
}

std::vector<ordered_json> read_lines(const std::filesystem::path& path) {
  std::vector<ordered_json> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) out.push_back(ordered_json::parse(line, nullptr, false));
  return out;
}
std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Compares with `output`, or `error` and `message`.
void check_case(const std::string& source, const ordered_json& context,
                const ordered_json& expected) {
  Error error;
  RenderResult got;
  auto parsed = Template::parse(source, &error);
  if (parsed)
    got = (*parsed).render(context, {}, golden_time);
  else
    got.error = error;
  INFO("got: " << error_kind_name(got.error.kind) << " " << got.error.exception << ": "
               << got.error.message);
  if (expected.contains("output")) {
    REQUIRE(got.ok());
    CHECK(got.output == expected["output"].get<std::string>());
    return;
  }
  CHECK(error_kind_name(got.error.kind) == expected["error"].get<std::string>());
  if (expected.contains("message"))
    CHECK(got.error.message == expected["message"].get<std::string>());
  if (expected.contains("kind") && got.error.kind == ErrorKind::kRuntime)
    CHECK(got.error.exception == expected["kind"].get<std::string>());
  CHECK(got.error.line >= 1);
}

int check_language(const std::filesystem::path& path) {
  int n = 0;
  for (const ordered_json& line : read_lines(path)) {
    const std::string source = line["template"].get<std::string>();
    CAPTURE(source);
    check_case(source, line["context"], line);
    ++n;
  }
  return n;
}

int check_conversations(const std::filesystem::path& folder, const std::filesystem::path& file) {
  const auto lines = read_lines(file);
  if (lines.empty() || !lines[0].contains("template")) return 0;
  std::string name = lines[0]["template"].get<std::string>();
  if (!name.ends_with(".jinja")) name += ".jinja";
  const auto path = test::data_dir() / "templates" / std::filesystem::path(name).filename();
  if (!std::filesystem::exists(path)) {
    std::printf("SKIP %s: no template %s\n", file.filename().c_str(), path.c_str());
    return 0;
  }
  const std::string source = read_file(path);
  std::vector<ordered_json> conversations = read_lines(folder / "conversations.jsonl");
  int n = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string label = lines[i]["case"].get<std::string>();
    CAPTURE(name);
    CAPTURE(label);
    const ordered_json* conversation = nullptr;
    for (const ordered_json& c : conversations)
      if (c["name"] == label) conversation = &c;
    REQUIRE(conversation != nullptr);
    ordered_json context = (*conversation)["context"];
    for (const auto& [key, value] : lines[0]["extra_context"].items()) context[key] = value;
    check_case(source, context, lines[i]);
    ++n;
  }
  return n;
}

}  // namespace

TEST_CASE("golden templates") {
  int cases = 0;
  std::set<std::pair<std::string, std::uintmax_t>>
      seen;  // the same file in two golden folders counts once
  for (const auto& root : test::golden_dirs()) {
    const auto folder = root / "templates";
    for (const auto& file : test::files_below(folder, ".jsonl")) {
      const std::string name = file.filename().string();
      if (name == "conversations.jsonl" || name.starts_with("ids-")) continue;
      if (!seen.insert({name, std::filesystem::file_size(file)}).second) continue;
      cases += name == "language.jsonl" ? check_language(file) : check_conversations(folder, file);
    }
  }
  if (cases == 0) std::printf("SKIP golden templates: no folder templates in the golden data\n");
  std::printf("golden templates: %d cases checked\n", cases);
}
