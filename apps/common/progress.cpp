#include "common/progress.hpp"

#include <unistd.h>

#include <cstdio>

namespace veloce::apps {

std::string duration(double seconds) {
  const long s = seconds > 0 ? long(seconds + 0.5) : 0;
  char text[64];
  if (s >= 3600)
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  else
    std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
  return text;
}

ProgressLine::ProgressLine() : terminal_(::isatty(2) == 1), start_(Clock::now()), last_(start_) {}

void ProgressLine::show(double fraction, const std::string& text) {
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> since = now - last_, total = now - start_;
  if (since.count() < (terminal_ ? 0.1 : 5.0)) return;
  last_ = now;
  shown_ = true;
  const std::string left =
      fraction > 0 && fraction < 1
          ? ", " + duration(total.count() / fraction * (1 - fraction)) + " left"
          : "";
  if (terminal_)
    std::fprintf(stderr, "\r\033[K%3.0f %%  %s%s", fraction * 100, text.c_str(), left.c_str());
  else
    std::fprintf(stderr, "%3.0f %%  %s%s\n", fraction * 100, text.c_str(), left.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (terminal_ && shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace veloce::apps
