// The server's log: one line an event, `time level [request] message key=value ...`, or one JSON
// object a line. Any thread may write. Text of requests and answers is never logged.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace veloce::serve::log {

enum class Level { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3 };

struct Settings {
  Level level = Level::kInfo;
  bool json = false;
  bool timestamps = true;
  bool enabled = true;
  std::string file;  // also written there
};

struct Field {
  std::string_view key;
  std::string value;
  bool quoted = true;  // in JSON: a string; else a number or boolean

  Field(std::string_view k, std::string v) : key(k), value(std::move(v)) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false"), quoted(false) {}
  Field(std::string_view k, double v);
  Field(std::string_view k, int v) : key(k), value(std::to_string(v)), quoted(false) {}
  Field(std::string_view k, long v) : key(k), value(std::to_string(v)), quoted(false) {}
  Field(std::string_view k, unsigned long v) : key(k), value(std::to_string(v)), quoted(false) {}
};

// False where the file cannot be opened.
bool configure(const Settings& settings);
bool wants(Level level);

// `request` may be empty.
void write(Level level, std::string_view request, std::string_view message,
           std::initializer_list<Field> fields = {});

inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kError, {}, message, fields);
}
inline void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kWarning, {}, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::kInfo, {}, message, fields);
}

// Draws a progress bar on a terminal (stderr), or logs every tenth where stderr is none. `fraction`
// in [0, 1].
void progress(std::string_view what, float fraction);

}  // namespace veloce::serve::log
