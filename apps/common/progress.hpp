// A progress line on stderr: rewritten in place on a terminal, a new line every five seconds
// elsewhere (so none at all for what is quick).
#pragma once

#include <chrono>
#include <string>

namespace veloce::apps {

class ProgressLine {
 public:
  ProgressLine();
  // Shows the text, with the time left as estimated from the fraction done (in [0, 1]) since
  // construction.
  void show(double fraction, const std::string& text);
  // Removes the line from a terminal. Called by the destructor too.
  void clear();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_ = false, shown_ = false;
  Clock::time_point start_, last_;
};

// "1:02:03", "2:03" or "0:03".
std::string duration(double seconds);

}  // namespace veloce::apps
