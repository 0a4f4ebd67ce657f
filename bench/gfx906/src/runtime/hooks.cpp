#include "hooks.hpp"

#include <cstdlib>

namespace gfx906::rt {

// Used when no tools are linked in.
__attribute__((weak)) void install_tools(Tools&) {}

Tools& tools() {
  static Tools* installed = [] {
    auto* made = new Tools;
    install_tools(*made);
    if (made->flush) std::atexit([] { tools().flush(); });
    return made;
  }();
  return *installed;
}

}  // namespace gfx906::rt
