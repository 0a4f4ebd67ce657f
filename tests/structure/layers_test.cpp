// The layout's rules, read from the sources: includes point only to lower layers and never in a
// circle, headers say what they are for, files stay small, no file names a machine's folders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

// What each area may include besides itself. core <- formats <- tile <- ops <- {ref, cpu, gpu} <-
// model <- models <- apps; gguf and text stand beside ops.
const std::map<std::string, std::set<std::string>>& allowed() {
  static const std::map<std::string, std::set<std::string>> kAllowed = [] {
    std::map<std::string, std::set<std::string>> a;
    a["core"] = {};
    a["formats"] = {"core"};
    a["tile"] = {"core", "formats"};
    a["ops"] = {"core", "formats", "tile"};
    a["gguf"] = {"core", "formats"};
    a["text"] = {"core", "formats", "gguf"};
    a["sample"] = {"core", "formats", "gguf", "text"};
    const std::set<std::string> backend = {"core", "formats", "tile", "ops"};
    a["ref"] = a["cpu"] = a["gpu"] = backend;
    a["model"] = {"core", "formats", "tile", "ops", "ref", "cpu", "gpu", "gguf"};
    return a;
  }();
  return kAllowed;
}

fs::path source_dir() {
  const char* dir = std::getenv("VELOCE_SOURCE_DIR");
  return dir ? fs::path(dir) : fs::current_path();
}

struct Source {
  std::string name;  // from the source folder
  std::string text;
  std::vector<std::string> quoted, angled;  // what it includes
};

std::vector<Source> sources_under(const std::string& folder,
                                  const std::set<std::string>& extensions) {
  std::vector<Source> all;
  if (!fs::exists(source_dir() / folder)) return all;
  for (auto it = fs::recursive_directory_iterator(source_dir() / folder);
       it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (name.starts_with("build") || name.starts_with(".")))
      it.disable_recursion_pending();
    if (!it->is_regular_file() || !extensions.contains(it->path().extension().string())) continue;
    Source s;
    s.name = fs::relative(it->path(), source_dir()).generic_string();
    std::ifstream in(it->path());
    std::stringstream text;
    text << in.rdbuf();
    s.text = text.str();
    std::istringstream lines(s.text);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t hash = line.find_first_not_of(" \t");
      if (hash == std::string::npos || line[hash] != '#') continue;
      const std::size_t word = line.find("include", hash);
      if (word == std::string::npos || line.find_first_not_of(" \t", hash + 1) != word) continue;
      const std::size_t open = line.find_first_of("<\"", word);
      if (open == std::string::npos) continue;
      const std::size_t close = line.find_first_of(">\"", open + 1);
      if (close == std::string::npos) continue;
      (line[open] == '<' ? s.angled : s.quoted).push_back(line.substr(open + 1, close - open - 1));
    }
    all.push_back(std::move(s));
  }
  std::sort(all.begin(), all.end(),
            [](const Source& a, const Source& b) { return a.name < b.name; });
  return all;
}

const std::set<std::string> kCode = {".hpp", ".cpp", ".h", ".inc", ".def"};

// "cpu" of "veloce/cpu/pool.hpp"; "" of the headers that stand alone (config.hpp and the umbrella).
std::string area_of(const std::string& header) {
  const std::size_t begin = std::string("veloce/").size(), end = header.find('/', begin);
  return end == std::string::npos ? "" : header.substr(begin, end - begin);
}

}  // namespace

TEST_CASE("includes point only to lower layers") {
  const auto headers = sources_under("include", kCode);
  REQUIRE(headers.size() > 50);
  for (const Source& s : headers) {
    const std::string header = s.name.substr(std::string("include/").size()),
                      area = area_of(header);
    if (header == "veloce/veloce.hpp") continue;
    INFO(s.name);
    if (!area.empty()) CHECK_MESSAGE(allowed().contains(area), "a folder that no layer rule knows");
    for (const std::string& include : s.quoted) {
      INFO("includes ", include);
      CHECK_MESSAGE(include.starts_with("veloce/"),
                    "a header includes by its whole name, \"veloce/area/file.hpp\"");
      CHECK_MESSAGE(fs::exists(source_dir() / "include" / include), "no such file");
      const std::string other = area_of(include);
      CHECK(include != "veloce/veloce.hpp");
      if (other.empty() || other == area) continue;
      CHECK_MESSAGE((allowed().contains(area) && allowed().at(area).contains(other)), area,
                    " must not include ", other);
    }
    for (const std::string& include : s.angled) {
      INFO("includes ", include);
      CHECK_MESSAGE((include != "iostream" && include != "regex"),
                    "slow to compile, and the library does not print");
      CHECK_FALSE(include.starts_with("veloce/"));
      const bool library = include.find("nlohmann") != std::string::npos ||
                           include.find("httplib") != std::string::npos ||
                           include.find("CLI") != std::string::npos ||
                           include.find("doctest") != std::string::npos;
      if (library)
        CHECK_MESSAGE((area == "text" && include.find("nlohmann") != std::string::npos),
                      "only text may use a library, and only JSON");
    }
  }
}

TEST_CASE("models include no app, apps are included by nobody") {
  for (const Source& s : sources_under("models", kCode))
    for (const std::string& include : s.quoted)
      CHECK_MESSAGE(!include.starts_with("apps/"), s.name, " includes ", include);
  for (const Source& s : sources_under("bench/gfx906", kCode))
    for (const std::string& include : s.quoted)
      CHECK_MESSAGE(!(include.starts_with("veloce/") || include.starts_with("models/")), s.name,
                    ": the simulator depends on nothing of Veloce");
}

TEST_CASE("no circles among the headers") {
  std::map<std::string, std::vector<std::string>> graph;
  for (const Source& s : sources_under("include", kCode))
    graph[s.name.substr(std::string("include/").size())] = s.quoted;
  std::map<std::string, int> state;  // 1: on the path, 2: done
  std::vector<std::string> path;
  const auto visit = [&](const auto& self, const std::string& name) -> void {
    if (state[name] == 2) return;
    if (state[name] == 1) {
      std::string circle;
      for (const std::string& p : path) circle += p + " -> ";
      FAIL_CHECK(circle, name);
      return;
    }
    state[name] = 1;
    path.push_back(name);
    for (const std::string& next : graph[name]) self(self, next);
    path.pop_back();
    state[name] = 2;
  };
  std::vector<std::string> names;
  for (const auto& [name, includes] : graph) names.push_back(name);
  for (const std::string& name : names) visit(visit, name);
}

TEST_CASE("headers begin with a comment that says what they are for, and guard themselves") {
  for (const Source& s : sources_under("include", {".hpp"})) {
    INFO(s.name);
    CHECK(s.text.starts_with("//"));
    CHECK(s.text.find("#pragma once") != std::string::npos);
  }
}

TEST_CASE("the library neither throws nor prints") {
  for (const Source& s : sources_under("include", {".hpp"})) {
    INFO(s.name);
    std::istringstream lines(s.text);
    for (std::string line; std::getline(lines, line);) {
      const std::string code = line.substr(0, line.find("//"));
      const auto has_word = [&](const std::string& word) {
        for (std::size_t at = code.find(word); at != std::string::npos;
             at = code.find(word, at + 1)) {
          const bool starts = at == 0 || !(std::isalnum(static_cast<unsigned char>(code[at - 1])) ||
                                           code[at - 1] == '_' || code[at - 1] == '"');
          const std::size_t end = at + word.size();
          const bool ends =
              end >= code.size() || !(std::isalnum(static_cast<unsigned char>(code[end])) ||
                                      code[end] == '_' || code[end] == '"');
          if (starts && ends) return true;
        }
        return false;
      };
      for (const std::string word : {"throw", "std::cout", "std::cerr", "std::printf", "printf",
                                     "std::fprintf", "fprintf", "puts"})
        CHECK_MESSAGE(!has_word(word), line);
    }
  }
}

TEST_CASE("no file is longer than 800 lines") {
  for (const std::string folder : {"include", "models", "apps", "tests", "bench", "third_party"})
    for (const Source& s : sources_under(
             folder, {".hpp", ".cpp", ".h", ".inc", ".def", ".py", ".cmake", ".txt", ".sh"})) {
      if (s.text.substr(0, 400).find("enerated by") != std::string::npos) continue;  // tables
      if (s.name.find("/golden/") != std::string::npos) continue;                    // data
      const long lines = std::count(s.text.begin(), s.text.end(), '\n');
      CHECK_MESSAGE(lines <= 800, s.name, " has ", lines, " lines");
    }
}

TEST_CASE("no file names a machine's folders") {
  // Spelt in halves, so that this file does not name them either.
  const std::string bad[] = {std::string("/wo") + "rk/", std::string("/ho") + "me/",
                             std::string("/ro") + "ot/"};
  for (const std::string folder :
       {"include", "models", "apps", "tests", "bench", "third_party", ".ci"})
    for (const Source& s : sources_under(folder, {".hpp", ".cpp", ".h", ".inc", ".def", ".py",
                                                  ".cmake", ".txt", ".sh", ".md", ""})) {
      if (s.name.find("/golden/") != std::string::npos) continue;
      for (const std::string& path : bad)
        CHECK_MESSAGE(s.text.find(path) == std::string::npos, s.name, " names ", path);
    }
}
