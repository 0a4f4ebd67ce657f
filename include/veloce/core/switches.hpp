// Switches: every optimisation has a name by which it can be turned off, to compare it with what it
// replaced or to look for a fault (`--without NAME[,NAME]` in any app, or the environment variable
// VELOCE_WITHOUT).
//
// An optimisation declares its switch once, at namespace scope, and asks it where the choice is
// made:
//
//   inline Switch avx512_switch("avx512", "AVX-512 kernels with VNNI and VBMI");
//   if (avx512_switch.on()) ...
//
// Switches never change what a result means, and where a header says so not a bit of it.
// Threads: on() may be asked from any thread; turning off belongs before the first use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "veloce/core/status.hpp"

namespace veloce {

class Switch {
 public:
  // `name` and `help` (one line) must outlive the program's use of switches: string literals.
  Switch(const char* name, const char* help);
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  std::string_view name() const { return name_; }
  std::string_view help() const { return help_; }
  bool on() const { return on_.load(std::memory_order_relaxed); }

  // All switches linked into this program, by name.
  static std::vector<const Switch*> all();
  // Turns off the switches in a comma-separated list. An unknown name is refused (kInvalidArgument,
  // naming it and those there are) and then none is turned off.
  static Status turn_off(std::string_view names);
  // The same check for VELOCE_WITHOUT, whose known names are already off. For apps, at their start.
  static Status check_environment();

 private:
  static Switch*& first() {
    static Switch* list = nullptr;
    return list;
  }
  static Switch* find(std::string_view name) {
    for (Switch* s = first(); s; s = s->next_)
      if (s->name_ == name) return s;
    return nullptr;
  }
  static std::vector<std::string_view> split(std::string_view names);
  static Result<std::vector<Switch*>> find_all(std::string_view names, std::string_view source);
  static std::string_view environment() {
    const char* text = std::getenv("VELOCE_WITHOUT");
    return text ? text : "";
  }

  std::string_view name_, help_;
  std::atomic<bool> on_{true};
  Switch* next_ = nullptr;
};

inline Switch::Switch(const char* name, const char* help)
    : name_(name), help_(help), next_(first()) {
  first() = this;
  for (const std::string_view off : split(environment()))
    if (off == name_) on_ = false;
}

inline std::vector<std::string_view> Switch::split(std::string_view names) {
  std::vector<std::string_view> parts;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    std::string_view part = names.substr(0, comma);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) parts.push_back(part);
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return parts;
}

inline std::vector<const Switch*> Switch::all() {
  std::vector<const Switch*> list;
  for (const Switch* s = first(); s; s = s->next_) list.push_back(s);
  std::sort(list.begin(), list.end(),
            [](const Switch* a, const Switch* b) { return a->name_ < b->name_; });
  return list;
}

inline Result<std::vector<Switch*>> Switch::find_all(std::string_view names,
                                                     std::string_view source) {
  std::vector<Switch*> found;
  for (const std::string_view name : split(names)) {
    Switch* s = find(name);
    if (!s) {
      std::string known;
      for (const Switch* k : all()) known.append(" ").append(k->name_);
      return Status(Code::kInvalidArgument, std::string(source) + ": no optimization is named '" +
                                                std::string(name) + "'; there are" +
                                                (known.empty() ? " none" : known));
    }
    found.push_back(s);
  }
  return found;
}

inline Status Switch::turn_off(std::string_view names) {
  Result<std::vector<Switch*>> found = find_all(names, "--without");
  if (!found) return found.status();
  for (Switch* s : *found) s->on_ = false;
  return {};
}

inline Status Switch::check_environment() {
  return find_all(environment(), "VELOCE_WITHOUT").status();
}

}  // namespace veloce
