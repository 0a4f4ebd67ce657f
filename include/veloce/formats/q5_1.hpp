// Q5_1: 32 values of 5 bits, a scale and an offset (specs/quants.md section 3).
// value i = q * d + m, q = nibble i of qs (low halves first) with bit i of qh as its fifth bit.
#pragma once

#include "veloce/formats/block_bits.hpp"
#include "veloce/formats/quantize_tools.hpp"

namespace veloce {

struct Q5_1 {
  static constexpr std::string_view kName = "Q5_1";
  static constexpr std::uint32_t kGgufType = 7;
  static constexpr int kValues = 32;
  static constexpr std::size_t kBytes = 24;
  static constexpr bool kHasMin = true, kExactAffine = true;
  static constexpr int kScaleGroup = 32, kMinCode = 0, kMaxCode = 31;

  struct Block {
    std::uint8_t d[2];
    std::uint8_t m[2];
    std::uint8_t qh[4];
    std::uint8_t qs[16];
  };

  VELOCE_HD static void decode(const Block& b, float* out) {
    const float d = load_half(b.d), m = load_half(b.m);
    const std::uint32_t qh = load_le<std::uint32_t>(b.qh);
    for (int i = 0; i < 16; ++i) {
      out[i] = float((b.qs[i] & 15) | bits(qh, i, 1) << 4) * d + m;
      out[i + 16] = float((b.qs[i] >> 4) | bits(qh, i + 16, 1) << 4) * d + m;
    }
  }

  VELOCE_HD static I8x16 unpack16(const Block& b, int chunk) {
    const std::uint32_t high = load_le<std::uint32_t>(b.qh) >> (16 * chunk);
    I8x16 codes = nibbles16(b.qs, chunk);
    for (int l = 0; l < 16; ++l) codes.v[l] = std::int8_t(codes.v[l] | bits(high, l, 1) << 4);
    return codes;
  }

  VELOCE_HD static Affine affine(const Block& b, int) { return {load_half(b.d), -load_half(b.m)}; }
  VELOCE_HD static bool valid(const Block& b) { return finite_half_at(b.d) && finite_half_at(b.m); }

  static void quantize_row(const float* in, Block* out, std::size_t n) {
    for (std::size_t k = 0; k < n / kValues; ++k) {
      const float* x = in + k * kValues;
      const detail::Range r = detail::value_range(x, kValues);
      const float d = (r.max - r.min) / 31.0f, inverse = detail::inverse_or_zero(d);
      std::uint32_t qh = 0;
      const auto code = [&](int i) {
        const int q = detail::trunc_clamped((x[i] - r.min) * inverse + 0.5f, 0, 31);
        qh |= std::uint32_t(q >> 4) << i;
        return q & 15;
      };
      store_half(out[k].d, d);
      store_half(out[k].m, r.min);
      for (int i = 0; i < 16; ++i) out[k].qs[i] = std::uint8_t(code(i) | code(i + 16) << 4);
      store_le(out[k].qh, qh);
    }
  }
};

}  // namespace veloce
