// VALU instructions that are no lane loops: moves between lanes and scalar registers, swaps.
#include "exec/lanes/lanes.hpp"
#include "exec/scalar_read.hpp"

namespace gfx906::GFX906_LANES_NS {
namespace {

const Inst* nop(WaveView&, const Inst* p) {
  return p + 1;
}

const Inst* read_first_lane(WaveView& w, const Inst* p) {
  const u64 exec = w.exec();
  const int lane = exec ? __builtin_ctzll(exec) : 0;
  w.sgpr[p->dst.index] = p->src[0].is_vgpr() ? w.v(p->src[0].index)[lane] : read_scalar(w, *p, 0);
  return p + 1;
}

const Inst* read_lane(WaveView& w, const Inst* p) {
  const u32 lane = read_scalar(w, *p, 1) & 63;
  w.sgpr[p->dst.index] = p->src[0].is_vgpr() ? w.v(p->src[0].index)[lane] : read_scalar(w, *p, 0);
  return p + 1;
}

const Inst* write_lane(WaveView& w, const Inst* p) {
  const u32 lane = read_scalar(w, *p, 1) & 63;
  dst_lanes(w, *p)[lane] = read_scalar(w, *p, 0);
  return p + 1;
}

const Inst* swap(WaveView& w, const Inst* p) {
  u32 *a = dst_lanes(w, *p), *b = w.vgpr + static_cast<size_t>(p->src[0].index) * 64;
  const u64 exec = w.exec();
  for (int l = 0; l < 64; ++l) {
    if (exec >> l & 1) {
      const u32 t = a[l];
      a[l] = b[l];
      b[l] = t;
    }
  }
  return p + 1;
}

Handler special(ExecFn f) {
  Handler h;
  h.shape = Shape::kSpecial;
  h.special = f;
  return h;
}

}  // namespace

void add_special(Table& t) {
  t[Op::v_nop] = t[Op::v_clrexcp] = special(nop);
  t[Op::v_readfirstlane_b32] = special(read_first_lane);
  t[Op::v_readlane_b32] = special(read_lane);
  t[Op::v_writelane_b32] = special(write_lane);
  t[Op::v_swap_b32] = special(swap);
}

}  // namespace gfx906::GFX906_LANES_NS
