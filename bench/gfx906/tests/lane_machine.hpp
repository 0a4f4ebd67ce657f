// A wave without a kernel around it: runs single encoded instructions on chosen registers.
#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "decode/program.hpp"
#include "exec/bind.hpp"
#include "exec/wave.hpp"

namespace gfx906_test {

class LaneMachine {
 public:
  static constexpr uint32_t kRegisters = 256;
  LaneMachine()
      : memory_(new (std::align_val_t{64}) Memory),
        wave_(new (std::align_val_t{64}) gfx906::WaveView) {
    wave().vgpr = memory_->v[0];
    wave().vgpr_count = kRegisters;
    wave().mode =
        0x2f0 |
        1 << 8;  // as compiled kernels start: denormals kept, nearest even, DX10 clamp, IEEE
    set_exec(~0ull);
  }
  ~LaneMachine() {
    ::operator delete (memory_, std::align_val_t{64});
    ::operator delete (wave_, std::align_val_t{64});
  }
  LaneMachine(const LaneMachine&) = delete;
  LaneMachine& operator=(const LaneMachine&) = delete;

  gfx906::WaveView& wave() { return *wave_; }
  uint32_t* v(uint32_t reg) { return memory_->v[reg]; }
  uint64_t v64(uint32_t reg, int lane) {
    return v(reg)[lane] | static_cast<uint64_t>(v(reg + 1)[lane]) << 32;
  }
  void set64(uint32_t reg, int lane, uint64_t x) {
    v(reg)[lane] = static_cast<uint32_t>(x);
    v(reg + 1)[lane] = static_cast<uint32_t>(x >> 32);
  }
  void set_exec(uint64_t e) { wave().write64(gfx906::kExec, e); }

  // Decodes, binds and runs; false when the words are no instruction.
  bool run(std::initializer_list<uint32_t> words) {
    const std::vector<uint32_t> w(words);
    gfx906::Inst i = gfx906::decode_one(w.data(), static_cast<uint32_t>(w.size()));
    if (!i.info) return false;
    for (int s = 0; s < 3; ++s) {
      if (i.src[s].kind != gfx906::OperandKind::kConstant) continue;
      for (int l = 0; l < 64; ++l) {
        constants_->v[s][l] = static_cast<uint32_t>(i.constant[s]);
        constants_->v[s][64 + l] = static_cast<uint32_t>(i.constant[s] >> 32);
      }
      i.lanes[s] = constants_->v[s];
    }
    gfx906::bind(i);
    reinterpret_cast<gfx906::ExecFn>(i.exec)(wave(), &i);
    return true;
  }

 private:
  struct alignas(64) Memory {
    uint32_t v[kRegisters][64] = {};
  };
  struct alignas(64) Constants {
    uint32_t v[3][128] = {};
  };
  Memory* memory_;
  gfx906::WaveView* wave_;
  std::unique_ptr<Constants> constants_ = std::make_unique<Constants>();
};

// Random values with the awkward ones often among them.
class Values {
 public:
  explicit Values(uint32_t seed) : rng_(seed) {}
  uint64_t any() { return rng_(); }
  uint32_t u32() {
    static constexpr uint32_t kEdges[] = {
        0,          1,          2,          15,         16,         31,         32,
        33,         63,         64,         0x7f,       0x80,       0xff,       0x7fff,
        0x8000,     0xffff,     0x10000,    0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000,
        0xbf800000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x807fffff, 0x7f7fffff,
        0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001,
        0x7fa00000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x3effffff,
        0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x477fe000, 0x477ff000, 0x33000000,
        0x33000001, 0x387fc000, 0x3c003c00, 0x7bff7c00, 0x7e007c01, 0x00010400, 0x83ff8001,
        0xfc00fe01, 0x7c000000};
    switch (rng_() % 4) {
      case 0:
        return kEdges[rng_() % std::size(kEdges)];
      case 1:
        return static_cast<uint32_t>(rng_()) >> (rng_() % 32);
      case 2: {  // floats of moderate size
        const auto e = static_cast<uint32_t>(120 + rng_() % 16);
        return (static_cast<uint32_t>(rng_()) & 0x807fffff) | e << 23;
      }
      default:
        return static_cast<uint32_t>(rng_());
    }
  }
  uint64_t u64() {
    static constexpr uint64_t kEdges[] = {0,
                                          1,
                                          0x8000000000000000,
                                          0x8000000000000001,
                                          0x000fffffffffffff,
                                          0x0010000000000000,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7fefffffffffffff,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x7ff8000000000000,
                                          0x7ff0000000000001,
                                          0xfff8000000000001,
                                          0x41dfffffffc00000,
                                          0x41e0000000000000,
                                          0x41efffffffe00000,
                                          0xc1e0000000000000,
                                          0x3fe0000000000000,
                                          0x4004000000000000,
                                          ~0ull};
    switch (rng_() % 4) {
      case 0:
        return kEdges[rng_() % std::size(kEdges)];
      case 1:
        return (rng_() & 0x800fffffffffffff) | (1015 + rng_() % 20) << 52;
      case 2:
        return rng_() >> (rng_() % 64);
      default:
        return rng_();
    }
  }

 private:
  std::mt19937_64 rng_;
};

}  // namespace gfx906_test
