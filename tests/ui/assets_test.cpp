// The chat page as it is embedded: all there, whole, and asking nobody else for anything.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "ui/assets.hpp"

using veloce::serve::Asset;
using veloce::serve::assets;
using veloce::serve::find_asset;

namespace {

bool own(const Asset& asset) {
  return asset.path.find("/lib-") == std::string_view::npos &&
         asset.path.find("/licence-") == std::string_view::npos;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("every asset is whole, typed and tagged, and no two share a path or a tag") {
  std::set<std::string_view> paths, tags;
  for (const Asset& asset : assets()) {
    CAPTURE(asset.path);
    CHECK(paths.insert(asset.path).second);
    CHECK(tags.insert(asset.etag).second);
    CHECK(!asset.bytes.empty());
    CHECK(!asset.content_type.empty());
    CHECK(asset.etag.size() > 10);
    CHECK(asset.etag.front() == '"');
    if (!asset.gzip.empty()) {
      REQUIRE(asset.gzip.size() > 18);
      CHECK(asset.gzip.substr(0, 2) == "\x1f\x8b");
      // A gzip member ends with the size of what it holds.
      std::uint32_t size = 0;
      for (int i = 4; i > 0; --i)
        size = size << 8 | static_cast<unsigned char>(
                               asset.gzip[asset.gzip.size() - 5 + static_cast<std::size_t>(i)]);
      CHECK(size == asset.bytes.size());
    }
    CHECK(find_asset(asset.path) == &asset);
  }
  REQUIRE(find_asset("/") != nullptr);
  CHECK(find_asset("/")->content_type == "text/html; charset=utf-8");
  for (const char* path : {"", "/ui", "/ui/", "/ui/../ui/main.js", "/ui/main.js/", "/etc/passwd"})
    CHECK(find_asset(path) == nullptr);
}

TEST_CASE("embedded bytes are those of the source files") {
  const char* source = std::getenv("VELOCE_SOURCE_DIR");
  REQUIRE(source);
  const std::string folder = std::string(source) + "/apps/serve/ui/web/";
  int compared = 0;
  for (const Asset& asset : assets()) {
    if (!own(asset) || asset.path == "/ui/libraries.json") continue;
    CAPTURE(asset.path);
    const std::string name = asset.path == "/" ? "index.html" : std::string(asset.path.substr(4));
    CHECK((read(folder + name) == asset.bytes));  // not to be printed
    ++compared;
  }
  CHECK(compared > 20);
}

TEST_CASE("what the page's files name is embedded too, and nothing is elsewhere") {
  const std::regex reference(
      R"re((?:src|href)="([^"#$]+)"|from '\./([^']+)'|ui/([a-z-]+\.(?:js|css|svg|json)))re");
  const std::regex inline_code(R"re(\son\w+\s*=\s*"|\sstyle\s*=\s*"|<style|javascript:)re");
  for (const Asset& asset : assets()) {
    if (!own(asset)) continue;
    CAPTURE(asset.path);
    const std::string text(asset.bytes);
    CHECK(text.find("https://") == std::string::npos);
    std::string without_namespace =
        std::regex_replace(text, std::regex("http://www\\.w3\\.org/[a-zA-Z0-9/]+"), "");
    CHECK(without_namespace.find("http://") == std::string::npos);
    if (asset.path == "/") CHECK(!std::regex_search(text, inline_code));
    for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at) {
      std::string named = (*at)[1].matched
                              ? (*at)[1].str()
                              : "ui/" + ((*at)[2].matched ? (*at)[2].str() : (*at)[3].str());
      CAPTURE(named);
      CHECK(find_asset("/" + named) != nullptr);
    }
  }
}

TEST_CASE(
    "each library that is embedded has its licence, and one that is missing is only left out") {
  const Asset* listing = find_asset("/ui/libraries.json");
  REQUIRE(listing);
  for (const char* id : {"marked", "purify", "highlight"}) {
    const std::string file = std::string("/ui/lib-") + id + ".js";
    const bool listed =
        listing->bytes.find("\"id\":\"" + std::string(id) + "\"") != std::string_view::npos;
    CAPTURE(id);
    CHECK(listed == (find_asset(file) != nullptr));
    if (!listed) continue;
    const Asset* licence = find_asset(std::string("/ui/licence-") + id + ".txt");
    REQUIRE(licence);
    CHECK(licence->bytes.find("Copyright") != std::string_view::npos);
  }
}
