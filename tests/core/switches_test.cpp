// Switches: known names are turned off, unknown ones are refused and change nothing.
#include <doctest/doctest.h>

#include "veloce/core/switches.hpp"

using namespace veloce;

namespace {
Switch first("test-first", "the first");
Switch second("test-second", "the second");
}  // namespace

TEST_CASE("switches") {
  CHECK(first.on());
  CHECK(second.on());
  const auto all = Switch::all();
  REQUIRE(all.size() >= 2);
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i - 1]->name() < all[i]->name());

  const Status unknown = Switch::turn_off("test-first,test-third");
  CHECK(unknown.code() == Code::kInvalidArgument);
  CHECK(unknown.message().find("'test-third'") != std::string::npos);
  CHECK(unknown.message().find("test-second") != std::string::npos);
  CHECK(first.on());
  CHECK_FALSE(Switch::turn_off("test-firs").ok());
  CHECK_FALSE(Switch::turn_off("test-first2").ok());

  CHECK(Switch::turn_off("").ok());
  CHECK(Switch::turn_off(" , test-second ,").ok());
  CHECK(first.on());
  CHECK_FALSE(second.on());
  CHECK(Switch::turn_off("test-second,test-first").ok());
  CHECK_FALSE(first.on());

  // What the environment names is off from the start; later names are checked by the apps.
  ::setenv("VELOCE_WITHOUT", "test-late,nothing", 1);
  static Switch late("test-late", "declared late");
  CHECK_FALSE(late.on());
  CHECK(Switch::check_environment().message().find("'nothing'") != std::string::npos);
  ::setenv("VELOCE_WITHOUT", "test-late", 1);
  CHECK(Switch::check_environment().ok());
  ::unsetenv("VELOCE_WITHOUT");
  CHECK(Switch::check_environment().ok());
}
