// Takes a wave's access apart into stretches of memory: lanes in order whose accesses follow or
// repeat one another are one stretch. Mostly there is one, or a few.
#pragma once

#include <cstdint>

#include "machine.hpp"

namespace gfx906::check {

struct Stretch {
  uint64_t at = 0, bytes = 0;
  uint64_t lanes = 0;
};

// Calls f(stretch) for the lanes given.
template <class F>
void each_stretch(const MemAccess& m, uint64_t lanes, F&& f) {
  if (lanes == 0) return;
  if (lanes == ~uint64_t{0}) {
    uint64_t differ = 0;
    for (size_t l = 0; l < 64; ++l) differ |= m.addr[l] ^ (m.addr[0] + m.bytes * uint64_t{l});
    if (differ == 0) return f(Stretch{m.addr[0], uint64_t{64} * m.bytes, lanes});
  }
  Stretch s;
  uint64_t last = 0;
  for (uint64_t rest = lanes; rest; rest &= rest - 1) {
    const int l = __builtin_ctzll(rest);
    const uint64_t a = m.addr[static_cast<size_t>(l)];
    if (s.lanes && a == s.at + s.bytes) {
      s.bytes += m.bytes;
    } else if (!s.lanes || a != last) {
      if (s.lanes) f(s);
      s = {a, m.bytes, 0};
    }
    last = a;
    s.lanes |= uint64_t{1} << l;
  }
  f(s);
}

}  // namespace gfx906::check
