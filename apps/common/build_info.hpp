// Of which commit this program was built, and on what it runs.
#pragma once

#include <string>

namespace veloce::apps {

std::string
build_commit();  // "8ba0927c1f0e", with "-dirty" where files differed; "unknown" outside of git
std::string processor_name();  // as /proc/cpuinfo has it, or "unknown"

}  // namespace veloce::apps
