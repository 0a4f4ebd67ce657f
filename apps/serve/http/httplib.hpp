// cpp-httplib, with the settings that the distribution built its library with (they change the
// layout of its types; the build passes them). One place, so that no unit can differ.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include <httplib.h>
#pragma GCC diagnostic pop
