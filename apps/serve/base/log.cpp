#include "base/log.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>

#include "base/json.hpp"

namespace veloce::serve::log {
namespace {

struct State {
  std::mutex mutex;
  Settings settings;
  std::FILE* file = nullptr;
  int drawn = -1;  // progress in percent as last drawn
};

State& state() {
  static State the_state;
  return the_state;
}

constexpr std::string_view kNames[] = {"error", "warning", "info", "debug"};

std::string now() {
  using namespace std::chrono;
  const auto time = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(time);
  const int ms =
      static_cast<int>(duration_cast<milliseconds>(time.time_since_epoch()).count() % 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32], out[40];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(out, sizeof out, "%s.%03dZ", text, ms);
  return out;
}

// Control characters would let a value start a line of its own.
std::string printable(std::string_view text) {
  std::string out;
  bool quote = text.empty();
  for (const char c : valid_utf8(text.substr(0, 2000))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
      continue;
    }
    if (c == ' ' || c == '"' || c == '=') quote = true;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return quote ? '"' + out + '"' : out;
}

}  // namespace

Field::Field(std::string_view k, double v) : key(k), quoted(false) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", v);
  value = text;
}

bool configure(const Settings& settings) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.settings = settings;
  if (s.file) std::fclose(s.file);
  s.file = nullptr;
  if (!settings.file.empty()) {
    s.file = std::fopen(settings.file.c_str(), "a");
    return s.file != nullptr;
  }
  return true;
}

bool wants(Level level) {
  const Settings& s = state().settings;
  return s.enabled && level <= s.level;
}

void write(Level level, std::string_view request, std::string_view message,
           std::initializer_list<Field> fields) {
  if (!wants(level)) return;
  State& s = state();
  const std::string_view name = kNames[static_cast<int>(level)];
  std::string line;
  if (s.settings.json) {
    Json object;
    object["time"] = now();
    object["level"] = name;
    if (!request.empty()) object["request"] = request;
    object["message"] = message;
    for (const Field& field : fields) {
      object[std::string(field.key)] =
          field.quoted ? Json(field.value) : Json::parse(field.value, nullptr, false);
    }
    line = dump_json(object);
  } else {
    if (s.settings.timestamps) line += now() + ' ';
    line += name;
    if (!request.empty()) line += " [" + std::string(request) + ']';
    line += ' ';
    line += message;
    for (const Field& field : fields) {
      line += ' ';
      line += field.key;
      line += '=';
      line += field.quoted ? printable(field.value) : field.value;
    }
  }
  line += '\n';
  const std::lock_guard lock(s.mutex);
  std::fwrite(line.data(), 1, line.size(), stderr);
  if (s.file) {
    std::fwrite(line.data(), 1, line.size(), s.file);
    std::fflush(s.file);
  }
}

void progress(std::string_view what, float fraction) {
  State& s = state();
  if (!wants(Level::kInfo)) return;
  const int percent = static_cast<int>(fraction * 100.0f);
  {
    const std::lock_guard lock(s.mutex);
    if (percent == s.drawn) return;
    const int before = s.drawn;
    s.drawn = percent;
    if (isatty(STDERR_FILENO) && !s.settings.json) {
      const std::string done(static_cast<std::size_t>(percent) * 40 / 100, '#');
      std::fprintf(stderr, "\r%.*s [%-40s] %3d%%%s", static_cast<int>(what.size()), what.data(),
                   done.c_str(), percent, percent >= 100 ? "\n" : "");
      std::fflush(stderr);
      return;
    }
    if (percent < 100 && percent / 10 == before / 10 && before >= 0) return;
  }
  write(Level::kInfo, {}, what, {{"percent", percent}});
}

}  // namespace veloce::serve::log
