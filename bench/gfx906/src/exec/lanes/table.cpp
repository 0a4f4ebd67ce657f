// The handlers of one host instruction set.
#include "exec/lanes/lanes.hpp"
#include "exec/lanes/shapes.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

struct Filled : Table {
  Filled() {
    add_integer(*this);
    add_integer3(*this);
    add_compare(*this);
    add_float32(*this);
    add_float64(*this);
    add_float16(*this);
    add_convert(*this);
    add_packed(*this);
    add_special(*this);
    add_lds(*this);
    add_memory(*this);
    add_formats(*this);
  }
};
const Table& table() {
  static const Filled filled;
  return filled;
}

}  // namespace

const Handler& handler_of(Op op) {
  return table().of[static_cast<size_t>(op)];
}

void bind_lanes(Inst& i) {
  const Handler& h = handler_of(i.op);
  i.core = reinterpret_cast<void*>(h.core);
  i.exec = reinterpret_cast<void*>(choose_exec(i, h));
}

}  // namespace gfx906::GFX906_LANES_NS
