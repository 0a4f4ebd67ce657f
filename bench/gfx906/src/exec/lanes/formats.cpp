// Formatted buffer access: buffer_load_format_* and buffer_store_format_* (format from the
// resource), tbuffer_* (format from the instruction).
#include "exec/lanes/access.hpp"
#include "exec/lanes/buffer.hpp"

namespace gfx906 {
const Inst* fault_text(WaveView& w, const Inst* i, Code code, const char* what);
}

namespace gfx906::GFX906_LANES_NS {
namespace {

// Components from the lowest bit up; none crosses a dword.
struct DataFormat {
  u32 count = 0;
  u32 bits[4] = {};
  constexpr u32 bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8; }
};
constexpr DataFormat kFormats[16] = {
    {},                     // invalid: as a buffer without records
    {1, {8}},               // 8
    {1, {16}},              // 16
    {2, {8, 8}},            // 8_8
    {1, {32}},              // 32
    {2, {16, 16}},          // 16_16
    {3, {11, 11, 10}},      // 10_11_11: names have the highest component first
    {3, {10, 11, 11}},      // 11_11_10
    {4, {2, 10, 10, 10}},   // 10_10_10_2
    {4, {10, 10, 10, 2}},   // 2_10_10_10
    {4, {8, 8, 8, 8}},      // 8_8_8_8
    {2, {32, 32}},          // 32_32
    {4, {16, 16, 16, 16}},  // 16_16_16_16
    {3, {32, 32, 32}},      // 32_32_32
    {4, {32, 32, 32, 32}},  // 32_32_32_32
    {},                     // reserved
};

enum NumberFormat : u32 { kUnorm, kSnorm, kUscaled, kSscaled, kUint, kSint, kReserved, kFloat };
constexpr bool is_integer(u32 number) {
  return number == kUint || number == kSint;
}

// What the opcode does; MUBUF and MTBUF number these alike.
struct FormatOp {
  bool store, half, high;  // half: 16-bit components in the registers, two a register
  u32 count;
};
constexpr FormatOp format_op(Format encoding, u32 code) {
  if (encoding == Format::MUBUF && code >= 38) return {code == 39, true, true, 1};
  return {(code & 4) != 0, code >= 8, false, (code & 3) + 1};
}

// The combinations that the card has: floats of 10, 11, 16 and 32 bits, no normalised or scaled
// dwords, nothing stored scaled.
const char* refusal(const DataFormat& f, u32 number, bool store) {
  u32 widest = 0, narrowest = 32;
  for (u32 k = 0; k < f.count; ++k) {
    widest = f.bits[k] > widest ? f.bits[k] : widest;
    narrowest = f.bits[k] < narrowest ? f.bits[k] : narrowest;
  }
  if (!f.count) return nullptr;
  if (number == kReserved) return "the number format is a reserved one (6)";
  if (number == kFloat && narrowest < 10) return "the data format has no floating-point form";
  if (widest == 32 && number != kFloat && !is_integer(number))
    return "32-bit components are integers or floats, not normalised or scaled";
  if (store && (number == kUscaled || number == kSscaled))
    return "nothing can be stored in a scaled number format";
  return nullptr;
}

// ---- one component ----

LANE_INLINE i32 extend(u32 raw, u32 bits) {
  return static_cast<i32>(raw << (32 - bits)) >> (32 - bits);
}

// From memory to a 32-bit register: an f32, or an integer in the integer formats.
u32 decode_component(u32 raw, u32 bits, u32 number) {
  const float whole = static_cast<float>((1u << (bits - 1)) - 1);  // of a signed component
  float x = 0;
  switch (number) {
    case kUnorm:
      x = static_cast<float>(raw) / static_cast<float>((1ull << bits) - 1);
      break;
    case kSnorm:
      x = static_cast<float>(extend(raw, bits)) / whole;
      x = x < -1 ? -1 : x;
      break;
    case kUscaled:
      x = static_cast<float>(raw);
      break;
    case kSscaled:
      x = static_cast<float>(extend(raw, bits));
      break;
    case kUint:
      return raw;
    case kSint:
      return static_cast<u32>(extend(raw, bits));
    default:
      if (bits == 32) return raw;
      // 16 bits: a half. 11 and 10 bits: a half without its sign and its last bits.
      x = half_to_float(bits == 16 ? raw : raw << (15 - bits));
  }
  return std::bit_cast<u32>(x);
}

// An f32 as an unsigned float with 5 bits of exponent and `mantissa` bits, to nearest even.
u32 small_float(float f, u32 mantissa) {
  const u32 x = std::bit_cast<u32>(f), infinity = 31u << mantissa, shift = 23 - mantissa;
  if (nan32(x)) return infinity | 1;
  if (x >> 31) return 0;
  if (f < 0x1p-14f) {
    const float steps = mantissa == 6 ? 0x1p20f : 0x1p19f;  // denormals are multiples of 1 / steps
    return static_cast<u32>(__builtin_rintf(f * steps));
  }
  const u32 mag = x - (112u << 23);
  const u32 r = (mag + (1u << (shift - 1)) - 1 + (mag >> shift & 1)) >> shift;
  return r < infinity ? r : infinity;
}

// The other way; the result has `bits` bits. What does not fit becomes the nearest that does.
u32 encode_component(u32 value, u32 bits, u32 number) {
  const u32 all = bits == 32 ? ~0u : (1u << bits) - 1, positive = all >> 1;
  const float f = std::bit_cast<float>(value);
  const float number_or_0 = f == f ? f : 0;
  switch (number) {
    case kUnorm: {
      const float x = number_or_0 < 0 ? 0 : number_or_0 > 1 ? 1 : number_or_0;
      return static_cast<u32>(__builtin_rintf(x * static_cast<float>(all)));
    }
    case kSnorm: {
      const float x = number_or_0 < -1 ? -1 : number_or_0 > 1 ? 1 : number_or_0;
      return static_cast<u32>(static_cast<i32>(__builtin_rintf(x * static_cast<float>(positive)))) &
             all;
    }
    case kUint:
      return value < all ? value : all;
    case kSint: {
      const i32 v = static_cast<i32>(value), top = static_cast<i32>(positive);
      return static_cast<u32>(v > top ? top : v < -top - 1 ? -top - 1 : v) & all;
    }
    default:
      return bits == 32 ? value : bits == 16 ? float_to_half(f) : small_float(f, bits - 5);
  }
}

// ---- a lane's whole element ----

struct Element {
  u32 component[4];
};

Element decode_element(const u32* words, const DataFormat& f, u32 number) {
  Element e{{0, 0, 0, is_integer(number) ? 1 : std::bit_cast<u32>(1.0f)}};
  u32 at = 0;
  for (u32 k = 0; k < f.count; ++k) {
    const u32 mask = f.bits[k] == 32 ? ~0u : (1u << f.bits[k]) - 1;
    e.component[k] = decode_component(words[at / 32] >> (at % 32) & mask, f.bits[k], number);
    at += f.bits[k];
  }
  return e;
}

void encode_element(const Element& e, const DataFormat& f, u32 number, u32* words) {
  u32 at = 0;
  for (u32 k = 0; k < f.count; ++k) {
    words[at / 32] |= encode_component(e.component[k], f.bits[k], number) << (at % 32);
    at += f.bits[k];
  }
}

constexpr u32 kIdentity[4] = {4, 5, 6, 7};

// Component `k` of a register tuple, as 32 bits.
u32 read_register(const u32* data, int l, u32 k, const FormatOp& op, u32 number) {
  if (!op.half) return data[64 * k + static_cast<u32>(l)];
  const u32 pair = data[64 * (k / 2) + static_cast<u32>(l)];
  const u32 half = k % 2 || op.high ? pair >> 16 : pair & 0xffff;
  if (number == kUint) return half;
  if (number == kSint) return static_cast<u32>(extend(half, 16));
  return std::bit_cast<u32>(half_to_float(half));
}

void write_registers(u32* data, int l, const u32* values, const FormatOp& op, u32 number) {
  if (!op.half) {
    for (u32 k = 0; k < op.count; ++k) data[64 * k + static_cast<u32>(l)] = values[k];
    return;
  }
  u32 half[4] = {};
  for (u32 k = 0; k < op.count; ++k) {
    half[k] =
        is_integer(number) ? values[k] & 0xffff : float_to_half(std::bit_cast<float>(values[k]));
  }
  if (op.high) {
    data[l] = place_half(half[0], 2);
    return;
  }
  for (u32 k = 0; k < op.count; k += 2)
    data[64 * (k / 2) + static_cast<u32>(l)] = half[k] | half[k + 1] << 16;
}

void load_lane(WaveView& w, const Inst& i, int l, bool inside, const FormatOp& op,
               const DataFormat& f, u32 number, const u32* select) {
  u32 values[4] = {};
  if (inside) {
    u32 words[4] = {};
    __builtin_memcpy(words, reinterpret_cast<const void*>(w.addr[l]), f.bytes());
    const Element e = decode_element(words, f, number);
    const u32 one = is_integer(number) ? 1 : std::bit_cast<u32>(1.0f);
    for (u32 k = 0; k < op.count; ++k)
      values[k] = select[k] >= 4 ? e.component[select[k] - 4] : select[k] == 1 ? one : 0;
  }
  write_registers(dst_lanes(w, i), l, values, op, number);
}

// Components of the element that no register goes to become 0.
void store_lane(WaveView& w, const Inst& i, int l, const FormatOp& op, const DataFormat& f,
                u32 number, const u32* select) {
  Element e{};
  for (u32 k = 0; k < op.count; ++k) {
    if (select[k] >= 4)
      e.component[select[k] - 4] = read_register(w.v(i.src[1].index), l, k, op, number);
  }
  u32 words[4] = {};
  encode_element(e, f, number, words);
  __builtin_memcpy(reinterpret_cast<void*>(w.addr[l]), words, f.bytes());
}

const Inst* formatted(WaveView& w, const Inst* p) {
  const Inst& i = *p;
  const Resource r(w.sgpr + i.src[3].index);
  const bool typed = i.format == Format::MTBUF;
  const FormatOp op = format_op(i.format, i.info->opcode);
  const DataFormat& f = kFormats[typed ? i.dfmt : r.data_format];
  const u32 number = typed ? i.nfmt : r.number_format;
  const u32* select = typed ? kIdentity : r.select;
  const char* why =
      i.lds ? "a formatted load to LDS is not simulated" : refusal(f, number, op.store);
  if (why) return fault_text(w, p, Code::kUnsupported, why);
  const u64 exec = w.exec();
  u64 inside = f.count ? exec & ~buffer_addresses(w, i, r, f.bytes()) : 0;
  if (w.trace && inside) {
    inside &= announce(w, i, Space::kGlobal, !op.store, op.store, false, !op.store, f.bytes(),
                       inside, w.addr);
  }
  if (op.store) {
    for (u64 m = inside; m; m &= m - 1) store_lane(w, i, __builtin_ctzll(m), op, f, number, select);
    return p + 1;
  }
  for (u64 m = exec; m; m &= m - 1) {
    const int l = __builtin_ctzll(m);
    load_lane(w, i, l, inside >> l & 1, op, f, number, select);
  }
  if (i.tfe) clear_status(w, i);
  return p + 1;
}

}  // namespace

void add_formats(Table& t) {
  Handler h;
  h.shape = Shape::kSpecial;
  h.special = formatted;
  const auto range = [&](Op first, Op last) {
    for (size_t k = static_cast<size_t>(first); k <= static_cast<size_t>(last); ++k) t.of[k] = h;
  };
  range(Op::buffer_load_format_x, Op::buffer_store_format_d16_xyzw);
  range(Op::tbuffer_load_format_x, Op::tbuffer_store_format_d16_xyzw);
  t[Op::buffer_load_format_d16_hi_x] = t[Op::buffer_store_format_d16_hi_x] = h;
}

}  // namespace gfx906::GFX906_LANES_NS
