#include "profile_tool.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "card.hpp"
#include "profile/profiler.hpp"

namespace gfx906::rt {
namespace {

// Never destroyed: stream workers may still run at the program's end.
profile::Profiler* profiler = nullptr;
std::string* report_path = nullptr;

void write_report() {
  std::FILE* file = std::fopen(report_path->c_str(), "w");
  if (file == nullptr) {
    complain("cannot write the profile " + *report_path);
  } else {
    const std::string text = profiler->json();
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !written) complain("cannot write the profile " + *report_path);
  }
  std::fputs(profiler->table().c_str(), stderr);
}

}  // namespace

void install_profile(Tools& tools, const char* path) {
  profile::Sampling sampling;
  sampling.skip_others = std::getenv("GFX906_SIM_SAMPLE_ONLY") != nullptr;
  profiler = new profile::Profiler(profile::Parameters{}, sampling);
  report_path = new std::string(path);
  tools.observer = profiler;
  tools.estimate = [](bool in_graph) { return profiler->seconds(in_graph); };
  tools.flush = write_report;
}

}  // namespace gfx906::rt
