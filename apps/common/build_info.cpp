#include "common/build_info.hpp"

#include <fstream>

#include "veloce_build_commit.hpp"

namespace veloce::apps {

std::string build_commit() {
  return VELOCE_BUILD_COMMIT;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace veloce::apps
