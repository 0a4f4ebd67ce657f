#include "hooks.hpp"

#include <cstdlib>

#include "card.hpp"
#include "check_tool.hpp"
#include "profile_tool.hpp"
#include "trace.hpp"

namespace gfx906::rt {
namespace {

bool wanted(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != 0;
}

void flush_tools() {
  tools().flush();
}

// The one place where a tool enters: reads what `gfx906-sim run` put into the environment.
void install_tools(Tools& tools) {
  if (wanted("GFX906_SIM_PROFILE")) install_profile(tools, std::getenv("GFX906_SIM_PROFILE"));
  if (wanted("GFX906_SIM_CHECK")) install_checker(tools, std::getenv("GFX906_SIM_CHECK"));
  if (wanted("GFX906_SIM_TRACE")) open_trace();
}

}  // namespace

Tools& tools() {
  static Tools* installed = [] {
    auto* made = new Tools;
    install_tools(*made);
    if (made->flush) at_end<flush_tools>();
    return made;
  }();
  return *installed;
}

}  // namespace gfx906::rt
