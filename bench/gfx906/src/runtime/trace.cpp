#include "trace.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "card.hpp"
#include "hooks.hpp"

namespace gfx906::rt {
namespace {

thread_local double host_time = 0;
thread_local double left_at = -1;  // processor time of the thread when it last left an API function
thread_local int depth = 0;

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// What the program itself takes between calls depends on this host and on its load; without it the
// modelled clock gives the same times everywhere.
bool leaves_out_host_time() {
  static const bool out = std::getenv("GFX906_SIM_NO_HOST_TIME") != nullptr;
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\u%04x", c);
      out += hex;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Rows are written as they come, so that a program that crashes leaves a readable file (the closing
// bracket is optional in the format).
class TraceFile {
 public:
  explicit TraceFile(const char* path) : path_(path), file_(std::fopen(path, "w")) {
    if (file_ == nullptr) {
      complain("cannot write the trace file " + path_);
      return;
    }
    std::fputs("[\n", file_);
    std::fflush(file_);
  }
  void row(const std::string& text) {
    if (file_ == nullptr) return;
    std::fputs(first_ ? "" : ",\n", file_);
    first_ = false;
    std::fputs(text.c_str(), file_);
    std::fflush(file_);  // also since a child made by fork would write what is left once more
  }
  void add(int card, int queue, const WorkReport& report, double start, double end) {
    const std::lock_guard lock(mutex_);
    name_rows(card, queue);
    char head[256];
    std::snprintf(
        head, sizeof head,
        "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"cat\":\"%s\",\"ts\":%.3f,\"dur\":%.3f,\"name\":",
        card, queue, report.category, start * 1e6, (end - start) * 1e6);
    std::string text = head + quoted(report.name) + ",\"args\":{";
    std::string args = report.detail;
    if (report.bytes != 0) {
      if (!args.empty()) args += ',';
      args += "\"bytes\":";
      args += std::to_string(report.bytes);
    }
    row(text + args + "}}");
    const bool peer = report.source_card >= 0 && report.target_card >= 0 &&
                      report.source_card != report.target_card;
    if (peer) add_peer(report, start, end);
  }
  void close() {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    std::fputs("\n]\n", file_);
    const bool failed = std::ferror(file_) != 0;
    if (std::fclose(file_) != 0 || failed) complain("cannot write the trace file " + path_);
    file_ = nullptr;
  }

 private:
  void name_card(int card) {
    if (!cards_.insert(card).second) return;
    row("{\"ph\":\"M\",\"pid\":" + std::to_string(card) +
        ",\"name\":\"process_name\",\"args\":{\"name\":\"card " + std::to_string(card) +
        (modelled_time() ? " (modelled time)" : " (host time)") + "\"}}");
  }
  // Names of the process (card) and thread (stream) rows, once each.
  void name_rows(int card, int queue) {
    name_card(card);
    if (queues_.insert({card, queue}).second) {
      row("{\"ph\":\"M\",\"pid\":" + std::to_string(card) + ",\"tid\":" + std::to_string(queue) +
          ",\"name\":\"thread_name\",\"args\":{\"name\":\"stream " + std::to_string(queue) +
          "\"}}");
    }
  }
  // An arrow's worth of peer traffic on a row of its own at the receiving card.
  void add_peer(const WorkReport& report, double start, double end) {
    constexpr int kPeerRow = 9999;
    name_card(report.target_card);
    if (queues_.insert({report.target_card, kPeerRow}).second) {
      row("{\"ph\":\"M\",\"pid\":" + std::to_string(report.target_card) +
          ",\"tid\":" + std::to_string(kPeerRow) +
          ",\"name\":\"thread_name\",\"args\":{\"name\":\"peer traffic\"}}");
    }
    char text[320];
    std::snprintf(text, sizeof text,
                  "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"cat\":\"peer\",\"ts\":%.3f,\"dur\":%.3f,"
                  "\"name\":\"from card %d\",\"args\":{\"bytes\":%llu}}",
                  report.target_card, kPeerRow, start * 1e6, (end - start) * 1e6,
                  report.source_card, static_cast<unsigned long long>(report.bytes));
    row(text);
  }

  std::mutex mutex_;
  std::string path_;
  std::FILE* file_;
  bool first_ = true;
  std::set<int> cards_;
  std::set<std::pair<int, int>> queues_;
};

TraceFile* trace_file();
void close_trace() {
  trace_file()->close();
}

TraceFile* trace_file() {
  static TraceFile* file = []() -> TraceFile* {
    const char* path = std::getenv("GFX906_SIM_TRACE");
    if (path == nullptr || *path == 0) return nullptr;
    auto* made = new TraceFile(path);
    at_end<close_trace>();
    return made;
  }();
  return file;
}

}  // namespace

HostCall::HostCall() {
  if (depth++ || !modelled_time() || left_at < 0 || leaves_out_host_time()) return;
  host_time += thread_seconds() - left_at;
}
HostCall::~HostCall() {
  if (--depth == 0 && modelled_time()) left_at = thread_seconds();
}

bool modelled_time() {
  return tools().estimate != nullptr;
}
double host_model_time() {
  return host_time;
}
void advance_host(double seconds) {
  host_time += seconds;
}
void host_waits_until(double model_time) {
  if (model_time > host_time) host_time = model_time + kWakeSeconds;
}

double copy_model_seconds(uint64_t bytes, int source_card, int target_card) {
  const bool local = source_card >= 0 && source_card == target_card;
  // A copy inside a card reads and writes the same memory.
  const double rate = local ? kDeviceBytesPerSecond / 2 : kPcieBytesPerSecond;
  return (local ? kKernelFloorSeconds : kCopyFloorSeconds) + static_cast<double>(bytes) / rate;
}

double host_clock() {
  static const auto origin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin).count();
}

void open_trace() {
  trace_file();
}

void trace_work(int card, int queue, const WorkReport& report, double start, double end) {
  if (TraceFile* file = trace_file()) file->add(card, queue, report, start, end);
}

}  // namespace gfx906::rt
