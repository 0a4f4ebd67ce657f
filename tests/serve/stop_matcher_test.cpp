// Stop strings across any cut of the text, against a search over the whole text.
#include <doctest/doctest.h>

#include <random>

#include "scheduler/stop_matcher.hpp"

namespace {

using veloce::serve::StopMatcher;

std::string expected(const std::string& text, const std::vector<std::string>& stops) {
  // The match that ends first decides, as the text comes byte by byte.
  std::size_t end = std::string::npos, cut = text.size();
  for (const std::string& stop : stops) {
    const std::size_t at = text.find(stop);
    if (at == std::string::npos) continue;
    if (at + stop.size() < end || (at + stop.size() == end && at < cut)) {
      end = at + stop.size();
      cut = at;
    }
  }
  return text.substr(0, cut);
}

TEST_CASE("one byte at a time gives what a search over the whole text gives") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> stops;
    for (unsigned i = 0; i < 1 + random() % 3; ++i) {
      std::string stop;
      for (unsigned j = 0; j < 1 + random() % 5; ++j) stop += static_cast<char>('a' + random() % 2);
      stops.push_back(stop);
    }
    std::string text;
    for (int j = 0; j < 24; ++j) text += static_cast<char>('a' + random() % 3);
    StopMatcher matcher(stops);
    std::string sent;
    for (const char c : text) {
      sent += matcher.feed(std::string(1, c));
      CHECK(text.starts_with(sent));
      if (matcher.matched()) break;
    }
    if (!matcher.matched()) sent += matcher.finish();
    CHECK(sent == expected(text, stops));
  }
}

TEST_CASE("within one piece the earliest start wins") {
  StopMatcher matcher({"cd", "bcde"});
  CHECK(matcher.feed("abcdef") == "a");
  CHECK(*matcher.matched() == "bcde");
}

TEST_CASE("what may become a stop string is held back, the rest is sent") {
  StopMatcher matcher({"\nUser:", "\n\n###"});
  CHECK(matcher.feed("Hello") == "Hello");
  CHECK(matcher.feed(" there\nUs") == " there");
  CHECK(matcher.feed("age") == "\nUsage");
  CHECK(matcher.feed("\n") == "");
  CHECK(matcher.feed("\n##") == "");
  CHECK(matcher.finish() == "\n\n##");
}

TEST_CASE("pieces never end inside a character") {
  StopMatcher matcher({});
  CHECK(matcher.feed("a\xF0\x9F") == "a");
  CHECK(matcher.feed("\x98") == "");
  CHECK(matcher.feed("\x80!") == "\xF0\x9F\x98\x80!");
  CHECK(matcher.feed("\xC3") == "");
  CHECK(matcher.finish() == "\xC3");
}

TEST_CASE("long stop strings cost time linear in the text") {
  StopMatcher matcher({std::string(60000, 'a') + 'b'});
  std::string sent;
  for (int i = 0; i < 200000; ++i) sent += matcher.feed("a");
  sent += matcher.feed("c");
  CHECK(sent.size() == 200001);
}

}  // namespace
