// LDS, global, flat, scratch, buffer and scalar memory instructions, atomics, scalar arithmetic;
// the coverage list.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <bit>
#include <fstream>
#include <map>
#include <string>

#include "exec/dispatch.hpp"
#include "kernels.hpp"
#include "lane_machine.hpp"

using namespace gfx906;
using gfx906_test::LaneMachine;
using gfx906_test::Values;

namespace {

uint32_t code(Format f, Op op) {
  for (uint32_t n = 0; n < 1024; ++n) {
    const OpInfo* o = find_opcode(f, n);
    if (o && o->op == op) return n;
  }
  FAIL("no opcode");
  return 0;
}

struct Machine : LaneMachine {
  std::vector<uint8_t> lds = std::vector<uint8_t>(4096);
  std::vector<uint8_t> scratch = std::vector<uint8_t>(64 * 128);
  Machine() {
    wave().lds = lds.data();
    wave().lds_size = static_cast<uint32_t>(lds.size());
    wave().scratch = scratch.data();
    wave().scratch_size = scratch.size();
    wave().write64(kFlatScratch, reinterpret_cast<uint64_t>(scratch.data()));
  }
  void ds(Op op, uint32_t dst, uint32_t addr, uint32_t d0, uint32_t d1, uint32_t offset) {
    REQUIRE(run({0xd8000000u | code(Format::DS, op) << 17 | offset,
                 addr | d0 << 8 | d1 << 16 | dst << 24}));
  }
  void flat(Format f, Op op, uint32_t dst, uint32_t addr, uint32_t data, uint32_t saddr, int offset,
            bool glc = false) {
    const uint32_t seg = f == Format::FLAT ? 0 : f == Format::SCRATCH ? 1 : 2;
    REQUIRE(run({0xdc000000u | code(f, op) << 18 | (glc ? 1u << 16 : 0) | seg << 14 |
                     (static_cast<uint32_t>(offset) & 0x1fff),
                 addr | data << 8 | saddr << 16 | dst << 24}));
  }
  uint32_t lds32(uint32_t at) {
    uint32_t x;
    std::memcpy(&x, lds.data() + at, 4);
    return x;
  }
};

// A formatted access of one lane: the resource lies in s[8:11], the data in v10 and up.
struct FormatMachine : Machine {
  alignas(16) uint32_t memory[4] = {};
  void resource(uint32_t data_format, uint32_t number_format, uint32_t select = 0xfac) {
    const uint64_t base = reinterpret_cast<uint64_t>(memory);
    wave().sgpr[8] = static_cast<uint32_t>(base);
    wave().sgpr[9] = static_cast<uint32_t>(base >> 32) & 0xffff;
    wave().sgpr[10] = sizeof memory;
    wave().sgpr[11] = select | number_format << 12 | data_format << 15;
    set_exec(1);
  }
  void buffer(Op op, uint32_t offset = 0, uint32_t more = 0) {
    REQUIRE(run({0xe0000000u | code(Format::MUBUF, op) << 18 | offset,
                 10 << 8 | 2 << 16 | 128u << 24 | more}));
  }
  void tbuffer(Op op, uint32_t data_format, uint32_t number_format) {
    REQUIRE(
        run({0xe8000000u | code(Format::MTBUF, op) << 15 | data_format << 19 | number_format << 23,
             10 << 8 | 2 << 16 | 128u << 24}));
  }
  float f(uint32_t reg) { return std::bit_cast<float>(v(reg)[0]); }
  void set(std::initializer_list<float> values) {
    uint32_t reg = 10;
    for (const float x : values) v(reg++)[0] = std::bit_cast<uint32_t>(x);
  }
};

}  // namespace

TEST_CASE("every mnemonic of the coverage list has a handler") {
  std::ifstream list(gfx906_test::data_dir() + "/mnemonics.txt");
  REQUIRE(list.good());
  Inst none;
  none.info = find_opcode(Format::SOP1,
                          31);  // s_rfe_b64: returns from a trap handler, of which there is none
  none.op = Op::s_rfe_b64;
  none.format = Format::SOP1;
  bind(none);
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    const Op op = find_mnemonic(line);
    CHECK_MESSAGE(op != Op::kUnknown, line);
    for (int f = 0; f < static_cast<int>(Format::kNone); ++f) {
      for (uint32_t n = 0; n < 1024; ++n) {
        const OpInfo* o = find_opcode(static_cast<Format>(f), n);
        if (!o || o->op != op) continue;
        Inst i;
        i.info = o;
        i.op = op;
        i.format = o->format;
        i.dst.width = o->dst;
        bind(i);
        CHECK_MESSAGE(i.exec != none.exec, line);
        ++count;
      }
    }
  }
  CHECK(count > 300);
}

TEST_CASE("LDS reads and writes of every width, two at a time, halves, out of range") {
  Machine m;
  for (int l = 0; l < 64; ++l) {
    m.v(1)[l] = static_cast<uint32_t>(l) * 16;
    for (uint32_t k = 0; k < 4; ++k) m.v(20 + k)[l] = static_cast<uint32_t>(l) * 100 + k;
  }
  m.ds(Op::ds_write_b128, 0, 1, 20, 0, 32);
  for (uint32_t l = 0; l < 64; ++l) REQUIRE(m.lds32(32 + l * 16 + 8) == l * 100 + 2);
  m.ds(Op::ds_read_b96, 30, 1, 0, 0, 36);
  m.ds(Op::ds_read2_b32, 40, 1, 0, 0, 8 | 11 << 8);
  m.ds(Op::ds_read2_b64, 44, 1, 0, 0, 4 | 5 << 8);
  for (int l = 0; l < 63; ++l) {
    REQUIRE(m.v(30)[l] == m.v(21)[l]);
    REQUIRE(m.v(31)[l] == m.v(22)[l]);
    REQUIRE(m.v(32)[l] == m.v(23)[l]);
    REQUIRE(m.v(40)[l] == m.v(20)[l]);
    REQUIRE(m.v(41)[l] == m.v(23)[l]);
    for (uint32_t k = 0; k < 4; ++k) REQUIRE(m.v(44 + k)[l] == m.v(20 + k)[l]);
  }
  m.ds(Op::ds_write2st64_b32, 0, 1, 20, 21, 0 | 4 << 8);
  REQUIRE(m.lds32(16 * 5) == m.v(20)[5]);
  REQUIRE(m.lds32(16 * 5 + 4 * 64 * 4) == m.v(21)[5]);
  for (int l = 0; l < 64; ++l)
    m.v(2)[l] = static_cast<uint32_t>(l) * 2, m.v(50)[l] = 0xaaaa5555,
    m.v(51)[l] = 0x8000u + static_cast<uint32_t>(l);
  m.ds(Op::ds_write_b16, 0, 2, 51, 0, 0);
  m.ds(Op::ds_read_i16, 52, 2, 0, 0, 0);
  m.ds(Op::ds_read_u16_d16_hi, 50, 2, 0, 0, 0);
  for (int l = 0; l < 64; ++l) {
    REQUIRE(m.v(52)[l] == 0xffff8000u + static_cast<uint32_t>(l));
    REQUIRE(m.v(50)[l] == (0x8000u + static_cast<uint32_t>(l)) << 16);
    m.v(3)[l] = 4094;
  }
  m.ds(Op::ds_read_b32, 53, 3, 0, 0, 0);
  m.ds(Op::ds_write_b32, 0, 3, 51, 0, 0);
  for (int l = 0; l < 64; ++l) REQUIRE(m.v(53)[l] == 0);
}

TEST_CASE("loads of halves clear the other half, as with ECC on the registers") {
  using Ops = std::initializer_list<Op>;
  Machine m;
  const uint32_t value = 0x1234'92a5;
  const uint64_t at = reinterpret_cast<uint64_t>(&value);
  std::memcpy(m.lds.data(), &value, 4);
  std::memcpy(m.scratch.data(), &value, 4);
  m.set_exec(1);
  m.set64(2, 0, at);
  m.wave().sgpr[8] = static_cast<uint32_t>(at);
  m.wave().sgpr[9] = static_cast<uint32_t>(at >> 32) & 0xffff;
  m.wave().sgpr[10] = 4;
  // Low half, then high half, of: unsigned byte, signed byte, short.
  const uint32_t wants[6] = {0xa5, 0xa50000, 0xffa5, 0xffa50000, 0x92a5, 0x92a50000};
  const auto each = [&](Ops ops, auto run) {
    size_t k = 0;
    for (const Op op : ops) {
      m.v(10)[0] = 0xdeadbeef;
      run(op);
      CHECK_MESSAGE(m.v(10)[0] == wants[k], std::string(mnemonic(op)));
      ++k;
    }
  };
  each(Ops{Op::ds_read_u8_d16, Op::ds_read_u8_d16_hi, Op::ds_read_i8_d16, Op::ds_read_i8_d16_hi,
           Op::ds_read_u16_d16, Op::ds_read_u16_d16_hi},
       [&](Op op) { m.ds(op, 10, 20, 0, 0, 0); });
  each(Ops{Op::global_load_ubyte_d16, Op::global_load_ubyte_d16_hi, Op::global_load_sbyte_d16,
           Op::global_load_sbyte_d16_hi, Op::global_load_short_d16, Op::global_load_short_d16_hi},
       [&](Op op) { m.flat(Format::GLOBAL, op, 10, 2, 0, 0x7f, 0); });
  each(Ops{Op::flat_load_ubyte_d16, Op::flat_load_ubyte_d16_hi, Op::flat_load_sbyte_d16,
           Op::flat_load_sbyte_d16_hi, Op::flat_load_short_d16, Op::flat_load_short_d16_hi},
       [&](Op op) { m.flat(Format::FLAT, op, 10, 2, 0, 0, 0); });
  each(
      Ops{Op::scratch_load_ubyte_d16, Op::scratch_load_ubyte_d16_hi, Op::scratch_load_sbyte_d16,
          Op::scratch_load_sbyte_d16_hi, Op::scratch_load_short_d16, Op::scratch_load_short_d16_hi},
      [&](Op op) { m.flat(Format::SCRATCH, op, 10, 20, 0, 0x7f, 0); });
  each(Ops{Op::buffer_load_ubyte_d16, Op::buffer_load_ubyte_d16_hi, Op::buffer_load_sbyte_d16,
           Op::buffer_load_sbyte_d16_hi, Op::buffer_load_short_d16, Op::buffer_load_short_d16_hi},
       [&](Op op) {
         REQUIRE(
             m.run({0xe0000000u | code(Format::MUBUF, op) << 18, 10 << 8 | 2 << 16 | 128u << 24}));
       });
}

TEST_CASE("LDS atomics: each returns what was there, lanes in order") {
  struct Case {
    Op op;
    uint32_t start;
    uint32_t (*next)(uint32_t old, uint32_t data);
  };
  const Case cases[] = {
      {Op::ds_add_rtn_u32, 5, [](uint32_t o, uint32_t d) { return o + d; }},
      {Op::ds_sub_rtn_u32, 5, [](uint32_t o, uint32_t d) { return o - d; }},
      {Op::ds_rsub_rtn_u32, 5, [](uint32_t o, uint32_t d) { return d - o; }},
      {Op::ds_inc_rtn_u32, 5, [](uint32_t o, uint32_t d) { return o >= d ? 0 : o + 1; }},
      {Op::ds_dec_rtn_u32, 5, [](uint32_t o, uint32_t d) { return o == 0 || o > d ? d : o - 1; }},
      {Op::ds_min_rtn_i32, 5,
       [](uint32_t o, uint32_t d) {
         return static_cast<int32_t>(o) < static_cast<int32_t>(d) ? o : d;
       }},
      {Op::ds_max_rtn_u32, 5, [](uint32_t o, uint32_t d) { return o > d ? o : d; }},
      {Op::ds_and_rtn_b32, ~0u, [](uint32_t o, uint32_t d) { return o & d; }},
      {Op::ds_or_rtn_b32, 0, [](uint32_t o, uint32_t d) { return o | d; }},
      {Op::ds_xor_rtn_b32, 9, [](uint32_t o, uint32_t d) { return o ^ d; }},
      {Op::ds_wrxchg_rtn_b32, 9, [](uint32_t, uint32_t d) { return d; }},
      {Op::ds_add_rtn_f32, 0x3f800000,
       [](uint32_t o, uint32_t d) {
         return std::bit_cast<uint32_t>(std::bit_cast<float>(o) + std::bit_cast<float>(d));
       }},
  };
  Values values(1);
  for (const Case& c : cases) {
    Machine m;
    const uint64_t exec = values.any();
    for (int l = 0; l < 64; ++l)
      m.v(1)[l] = 64 + 4 * (static_cast<uint32_t>(l) % 3),
      m.v(2)[l] = c.op == Op::ds_add_rtn_f32 ? std::bit_cast<uint32_t>(static_cast<float>(l))
                                             : values.u32();
    std::map<uint32_t, uint32_t> memory;
    for (uint32_t k = 0; k < 3; ++k) {
      memory[64 + 4 * k] = c.start;
      std::memcpy(m.lds.data() + 64 + 4 * k, &c.start, 4);
    }
    m.set_exec(exec);
    m.ds(c.op, 3, 1, 2, 0, 0);
    for (int l = 0; l < 64; ++l) {
      if (!(exec >> l & 1)) continue;
      uint32_t& place = memory[m.v(1)[l]];
      REQUIRE(m.v(3)[l] == place);
      place = c.next(place, m.v(2)[l]);
    }
    for (const auto& [at, x] : memory) REQUIRE(m.lds32(at) == x);
  }
  Machine m;  // compare and swap: the comparand comes first
  for (int l = 0; l < 64; ++l)
    m.v(1)[l] = 0, m.v(2)[l] = static_cast<uint32_t>(l), m.v(3)[l] = static_cast<uint32_t>(l) + 1;
  m.ds(Op::ds_cmpst_rtn_b32, 4, 1, 2, 3, 0);
  CHECK(m.lds32(0) == 64);
}

TEST_CASE("lane exchange through LDS hardware") {
  Values values(2);
  for (int round = 0; round < 50; ++round) {
    Machine m;
    const uint64_t exec = round % 2 ? values.any() : ~0ull;
    for (int l = 0; l < 64; ++l)
      m.v(1)[l] = static_cast<uint32_t>(values.any()), m.v(2)[l] = values.u32(),
      m.v(10)[l] = m.v(11)[l] = m.v(12)[l] = 77;
    m.set_exec(exec);
    const uint32_t mask = static_cast<uint32_t>(values.any()) & 0x7fff;
    m.ds(Op::ds_bpermute_b32, 10, 1, 2, 0, 4);
    m.ds(Op::ds_permute_b32, 11, 1, 2, 0, 0);
    m.ds(Op::ds_swizzle_b32, 12, 2, 0, 0, mask);
    std::vector<uint32_t> sent(64, 0);
    for (int l = 0; l < 64; ++l) {
      if (exec >> l & 1) sent[m.v(1)[l] / 4 % 64] = m.v(2)[l];
    }
    for (int l = 0; l < 64; ++l) {
      const bool on = exec >> l & 1;
      const uint32_t from = (m.v(1)[l] + 4) / 4 % 64;
      REQUIRE(m.v(10)[l] == (on ? (exec >> from & 1 ? m.v(2)[from] : 0) : 77));
      REQUIRE(m.v(11)[l] == (on ? sent[static_cast<size_t>(l)] : 77));
      const uint32_t s =
          (static_cast<uint32_t>(l) & 32) |
          ((((static_cast<uint32_t>(l) & 31) & (mask & 31)) | (mask >> 5 & 31)) ^ (mask >> 10));
      REQUIRE(m.v(12)[l] == (on ? (exec >> s & 1 ? m.v(2)[s] : 0) : 77));
    }
  }
}

TEST_CASE("global, flat and scratch memory reach the same bytes") {
  Machine m;
  std::vector<uint32_t> memory(64 * 8);
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = 0x80000000u + static_cast<uint32_t>(i) * 0x01010101u;
  for (int l = 0; l < 64; ++l) {
    m.set64(2, l, reinterpret_cast<uint64_t>(&memory[static_cast<size_t>(l) * 8]) + 16);
    m.v(4)[l] = static_cast<uint32_t>(l) * 32;
  }
  m.wave().write64(6, reinterpret_cast<uint64_t>(memory.data()));
  m.flat(Format::GLOBAL, Op::global_load_dwordx4, 10, 2, 0, 0x7f, -16);
  m.flat(Format::GLOBAL, Op::global_load_dwordx3, 14, 4, 0, 6, 16);
  m.flat(Format::FLAT, Op::flat_load_sbyte, 18, 2, 0, 0, 3);
  m.flat(Format::GLOBAL, Op::global_load_short_d16_hi, 19, 2, 0, 0x7f, 2);
  for (int l = 0; l < 64; ++l) {
    const uint32_t* at = &memory[static_cast<size_t>(l) * 8];
    for (uint32_t k = 0; k < 4; ++k) REQUIRE(m.v(10 + k)[l] == at[k]);
    for (uint32_t k = 0; k < 3; ++k) REQUIRE(m.v(14 + k)[l] == at[4 + k]);
    REQUIRE(m.v(18)[l] == static_cast<uint32_t>(static_cast<int32_t>(at[4]) >> 24));
    REQUIRE(m.v(19)[l] == (at[4] & 0xffff0000));
  }
  m.set_exec(0x5555555555555555ull);
  m.flat(Format::GLOBAL, Op::global_store_dwordx2, 0, 2, 14, 0x7f, -16);
  for (size_t l = 0; l < 64; ++l)
    REQUIRE(memory[l * 8] ==
            (l % 2 ? 0x80000000u + static_cast<uint32_t>(l * 8) * 0x01010101u : m.v(14)[l]));
  m.set_exec(~0ull);
  // Scratch: by its own instructions, by a flat pointer and by the buffer resource of the ABI.
  for (int l = 0; l < 64; ++l)
    m.v(20)[l] = 8, m.v(21)[l] = 0xc0de0000u + static_cast<uint32_t>(l),
    m.set64(22, l, kPrivateAperture | 12);
  m.flat(Format::SCRATCH, Op::scratch_store_dword, 0, 20, 21, 0x7f, 4);
  m.flat(Format::FLAT, Op::flat_load_dword, 24, 22, 0, 0, 0);
  const uint64_t base = reinterpret_cast<uint64_t>(m.scratch.data());
  m.wave().sgpr[8] = static_cast<uint32_t>(base);
  m.wave().sgpr[9] = static_cast<uint32_t>(base >> 32) | 1u << 31;
  m.wave().sgpr[10] = ~0u;
  m.wave().sgpr[11] = 1u << 19 | 3u << 21 | 1u << 23;
  REQUIRE(m.run({0xe0000000u | code(Format::MUBUF, Op::buffer_load_dword) << 18 | 1u << 12 | 4,
                 20 | 25 << 8 | 2 << 16 | 128u << 24}));
  for (int l = 0; l < 64; ++l) {
    REQUIRE(m.v(24)[l] == 0xc0de0000u + static_cast<uint32_t>(l));
    REQUIRE(m.v(25)[l] == m.v(24)[l]);
  }
  // Flat into LDS.
  for (int l = 0; l < 64; ++l) m.set64(26, l, kSharedAperture | static_cast<uint64_t>(4 * l));
  m.flat(Format::FLAT, Op::flat_store_dword, 0, 26, 21, 0, 0);
  for (uint32_t l = 0; l < 64; ++l) REQUIRE(m.lds32(4 * l) == 0xc0de0000u + l);
}

TEST_CASE("buffer memory: strides, bounds, loads straight to LDS") {
  Machine m;
  std::vector<uint32_t> memory(64);
  for (size_t i = 0; i < 64; ++i) memory[i] = static_cast<uint32_t>(i) + 1;
  const uint64_t base = reinterpret_cast<uint64_t>(memory.data());
  m.wave().sgpr[8] = static_cast<uint32_t>(base);
  m.wave().sgpr[9] = static_cast<uint32_t>(base >> 32) & 0xffff;
  m.wave().sgpr[10] = 40 * 4;  // raw: bytes
  m.wave().sgpr[11] = 0x00027000;
  for (int l = 0; l < 64; ++l)
    m.v(1)[l] = static_cast<uint32_t>(l) * 4, m.v(2)[l] = static_cast<uint32_t>(l);
  const uint32_t load = 0xe0000000u | code(Format::MUBUF, Op::buffer_load_dword) << 18;
  REQUIRE(m.run({load | 1u << 12, 1 | 10 << 8 | 2 << 16 | 128u << 24}));
  for (uint32_t l = 0; l < 64; ++l) REQUIRE(m.v(10)[l] == (l < 40 ? l + 1 : 0));
  m.wave().sgpr[9] |= 8u << 16;  // structured: 8-byte records, 20 of them
  m.wave().sgpr[10] = 20;
  REQUIRE(m.run({load | 1u << 13 | 4, 2 | 10 << 8 | 2 << 16 | 128u << 24}));
  for (uint32_t l = 0; l < 64; ++l) REQUIRE(m.v(10)[l] == (l < 20 ? 2 * l + 2 : 0));
  m.wave().sgpr[9] &= 0xffff;
  m.wave().sgpr[10] = 256;
  m.wave().sgpr[kM0] = 128;
  REQUIRE(m.run({load | 1u << 12 | 1u << 16, 1 | 2 << 16 | 128u << 24}));
  for (uint32_t l = 0; l < 64; ++l) REQUIRE(m.lds32(128 + 4 * l) == l + 1);
}

TEST_CASE("formatted buffer loads: number formats, packed components, selection, halves, bounds") {
  FormatMachine m;
  m.memory[0] = 0x80'ff'01'7fu;
  m.tbuffer(Op::tbuffer_load_format_xyzw, 10, 0);  // (set up below: no resource yet, out of range)
  CHECK(m.v(10)[0] == 0);
  m.resource(10, 0);
  m.buffer(Op::buffer_load_format_xyzw);  // 8_8_8_8 unorm
  CHECK(m.f(10) == 127.0f / 255);
  CHECK(m.f(11) == 1.0f / 255);
  CHECK(m.f(12) == 1.0f);
  CHECK(m.f(13) == 128.0f / 255);
  m.tbuffer(Op::tbuffer_load_format_xyzw, 10, 1);  // snorm: both ends of the negative side are -1
  CHECK(m.f(10) == 1.0f);
  CHECK(m.f(12) == -1.0f / 127);
  CHECK(m.f(13) == -1.0f);
  m.tbuffer(Op::tbuffer_load_format_xyzw, 10, 3);
  CHECK(m.f(13) == -128.0f);
  m.tbuffer(Op::tbuffer_load_format_xyzw, 10, 5);
  CHECK(m.v(13)[0] == 0xffffff80u);
  m.tbuffer(Op::tbuffer_load_format_xyzw, 3, 4);  // missing components: 0, 0, 1
  CHECK(m.v(11)[0] == 1);
  CHECK(m.v(12)[0] == 0);
  CHECK(m.v(13)[0] == 1);
  m.memory[0] = 3u << 30 | 512u << 20 | 1u << 10 | 1023;
  m.tbuffer(Op::tbuffer_load_format_xyzw, 9, 0);  // 2_10_10_10: the two bits are the highest
  CHECK(m.f(10) == 1.0f);
  CHECK(m.f(11) == 1.0f / 1023);
  CHECK(m.f(13) == 1.0f);
  // 10_11_11 floats: 1.0, 2.5, the largest of ten bits.
  m.memory[0] = 15u << 6 | (16u << 6 | 16) << 11 | (30u << 5 | 31) << 22;
  m.tbuffer(Op::tbuffer_load_format_xyz, 6, 7);
  CHECK(m.f(10) == 1.0f);
  CHECK(m.f(11) == 2.5f);
  CHECK(m.f(12) == 64512.0f);
  m.memory[0] = 0xc000'3c00u;                      // halves 1 and -2
  m.resource(5, 7, 5 | 4 << 3 | 1 << 6 | 0 << 9);  // y, x, one, zero
  m.buffer(Op::buffer_load_format_xyzw);
  CHECK(m.f(10) == -2.0f);
  CHECK(m.f(11) == 1.0f);
  CHECK(m.f(12) == 1.0f);
  CHECK(m.f(13) == 0.0f);
  m.buffer(Op::buffer_load_format_d16_xyz);
  CHECK(m.v(10)[0] == 0x3c00c000u);
  CHECK(m.v(11)[0] == 0x3c00u);
  m.v(10)[0] = 0x1234;
  m.buffer(Op::buffer_load_format_d16_hi_x);
  CHECK(m.v(10)[0] == 0xc0000000u);
  m.v(12)[0] = 77;
  m.buffer(Op::buffer_load_format_xy, 14,
           1u << 23);  // two bytes short; TFE's status after the data
  CHECK(m.v(10)[0] == 0);
  CHECK(m.v(11)[0] == 0);
  CHECK(m.v(12)[0] == 0);
}

TEST_CASE("formatted buffer stores: rounding, limits, and back") {
  FormatMachine m;
  m.resource(10, 0);
  m.set({2.0f, -1.0f, 0.5f, std::bit_cast<float>(0x7fc00000u)});
  m.buffer(Op::buffer_store_format_xyzw);  // 127.5 rounds to even
  CHECK(m.memory[0] == 0x008000ffu);
  m.set({-3.0f, 1.0f, -0.5f, 0.0f});
  m.tbuffer(Op::tbuffer_store_format_xyzw, 10, 1);
  CHECK(m.memory[0] == 0x00c07f81u);
  m.v(10)[0] = 70000, m.v(11)[0] = static_cast<uint32_t>(-70000);
  m.tbuffer(Op::tbuffer_store_format_xy, 5, 4);
  CHECK(m.memory[0] == 0xffffffffu);
  m.tbuffer(Op::tbuffer_store_format_xy, 5, 5);
  CHECK(m.memory[0] == 0x80007fffu);
  m.memory[0] = ~0u;
  m.tbuffer(Op::tbuffer_store_format_x, 5, 4);  // components that no register goes to become 0
  CHECK(m.memory[0] == 0x0000ffffu);
  m.resource(5, 7, 5 | 4 << 3);
  m.set({1.0f, -2.0f});
  m.buffer(Op::buffer_store_format_xy);
  CHECK(m.memory[0] == 0x3c00c000u);
  m.v(10)[0] = 0x44004200u;
  m.buffer(Op::buffer_store_format_d16_hi_x);
  CHECK(m.memory[0] == 0x44000000u);
  m.memory[3] = 5;
  m.buffer(Op::buffer_store_format_xy, 13);
  CHECK(m.memory[3] == 5);
  // Every value of the small floats survives the way through a register.
  for (uint32_t x = 0; x < 2048; ++x) {
    const bool nan = (x >> 6) == 31 && (x & 63);
    m.memory[0] = x | x << 11 | (x / 2) << 22;
    const uint32_t before = m.memory[0];
    m.tbuffer(Op::tbuffer_load_format_xyz, 6, 7);
    m.tbuffer(Op::tbuffer_store_format_xyz, 6, 7);
    if (!nan) REQUIRE(m.memory[0] == before);
  }
  m.set({65280.0f, 65279.0f, 0x1p-20f});  // from half a step above the largest on: infinity
  m.tbuffer(Op::tbuffer_store_format_xyz, 6, 7);
  CHECK((m.memory[0] & 2047) == (31u << 6));
  CHECK((m.memory[0] >> 11 & 2047) == (30u << 6 | 63));
  CHECK((m.memory[0] >> 22) == 0);
}

TEST_CASE("global wave sync: semaphores and barriers") {
  DispatchState dispatch;
  GroupState group;
  group.dispatch = &dispatch;
  LaneMachine first, second;
  const auto gws = [&](LaneMachine& m, Op op, uint32_t value) {
    m.wave().group = &group;
    m.wave().status = WaveStatus::kRunning;
    m.v(1)[0] = value;
    REQUIRE(m.run({0xd8010000u | code(Format::DS, op) << 17 | 3, 1}));
    return m.wave().status == WaveStatus::kRunning;  // or asleep, to try again
  };
  gws(first, Op::ds_gws_init, 1);
  CHECK(gws(first, Op::ds_gws_sema_p, 0));
  CHECK(!gws(first, Op::ds_gws_sema_p, 0));
  CHECK(gws(second, Op::ds_gws_sema_v, 0));
  CHECK(gws(first, Op::ds_gws_sema_p, 0));
  gws(second, Op::ds_gws_sema_br, 2);
  CHECK(gws(first, Op::ds_gws_sema_p, 0));
  CHECK(gws(first, Op::ds_gws_sema_p, 0));
  CHECK(!gws(first, Op::ds_gws_sema_p, 0));
  gws(second, Op::ds_gws_sema_release_all, 0);
  CHECK(gws(first, Op::ds_gws_sema_p, 0));   // it was waiting
  CHECK(!gws(first, Op::ds_gws_sema_p, 0));  // this one comes after
  second.wave().sgpr[kM0] = first.wave().sgpr[kM0] = 5 << 16;
  LaneMachine third;
  third.wave().sgpr[kM0] = 5 << 16;
  CHECK(!gws(second, Op::ds_gws_barrier, 1));
  CHECK(gws(third, Op::ds_gws_barrier, 1));
  CHECK(gws(second, Op::ds_gws_barrier, 1));
}

TEST_CASE("global atomics") {
  Machine m;
  std::vector<uint64_t> memory(4, 100);
  for (int l = 0; l < 64; ++l)
    m.set64(2, l, reinterpret_cast<uint64_t>(&memory[static_cast<size_t>(l) % 4])),
        m.set64(4, l, 1), m.set64(6, l, static_cast<uint64_t>(l));
  m.flat(Format::GLOBAL, Op::global_atomic_add_x2, 10, 2, 4, 0x7f, 0, true);
  for (int l = 0; l < 64; ++l) REQUIRE(m.v64(10, l) == 100 + static_cast<uint64_t>(l) / 4);
  CHECK(memory[3] == 116);
  m.flat(Format::GLOBAL, Op::global_atomic_umax, 0, 2, 6, 0x7f, 0);
  CHECK(memory[3] == 116);
  for (int l = 0; l < 64; ++l)
    m.v(4)[l] = 500 + static_cast<uint32_t>(l), m.v(5)[l] = 116;  // data, then comparand
  m.flat(Format::GLOBAL, Op::global_atomic_cmpswap, 12, 2, 4, 0x7f, 0, true);
  CHECK(memory[2] == 502);
  CHECK(m.v(12)[2] == 116);
  CHECK(m.v(12)[6] == 502);
}

TEST_CASE("scalar memory and arithmetic") {
  LaneMachine m;
  WaveView& w = m.wave();
  std::vector<uint32_t> memory(32);
  for (size_t i = 0; i < 32; ++i) memory[i] = static_cast<uint32_t>(i * i);
  w.write64(10, reinterpret_cast<uint64_t>(memory.data()) + 32);
  const auto smem = [&](Op op, uint32_t data, int offset) {
    REQUIRE(m.run({0xc0000000u | code(Format::SMEM, op) << 18 | 1u << 17 | data << 6 | 5,
                   static_cast<uint32_t>(offset) & 0x1fffff}));
  };
  smem(Op::s_load_dwordx8, 20, -16);
  for (uint32_t k = 0; k < 8; ++k) CHECK(w.sgpr[20 + k] == memory[4 + k]);
  w.sgpr[40] = 4242;
  smem(Op::s_store_dword, 40, 8);
  CHECK(memory[10] == 4242);
  smem(Op::s_atomic_add, 40, 8);
  CHECK(memory[10] == 8484);
  const auto sop2 = [&](Op op, uint32_t a, uint32_t b) {
    w.sgpr[1] = a;
    w.sgpr[2] = b;
    REQUIRE(m.run({0x80000000u | code(Format::SOP2, op) << 23 | 3 << 16 | 2 << 8 | 1}));
    return std::pair(w.sgpr[3], w.scc);
  };
  CHECK(sop2(Op::s_add_u32, ~0u, 2) == std::pair(1u, 1u));
  CHECK(sop2(Op::s_add_i32, 0x7fffffff, 1) == std::pair(0x80000000u, 1u));
  CHECK(sop2(Op::s_sub_i32, 0x80000000, 1) == std::pair(0x7fffffffu, 1u));
  CHECK(sop2(Op::s_sub_u32, 1, 2) == std::pair(~0u, 1u));
  w.scc = 1;
  CHECK(sop2(Op::s_addc_u32, ~0u, 0) == std::pair(0u, 1u));
  w.scc = 1;
  CHECK(sop2(Op::s_subb_u32, 5, 5) == std::pair(~0u, 1u));
  CHECK(sop2(Op::s_bfe_i32, 0x0000f800, 8 | 8 << 16) == std::pair(0xfffffff8u, 1u));
  CHECK(sop2(Op::s_lshl_b32, 1, 33) == std::pair(2u, 1u));
  CHECK(sop2(Op::s_mul_hi_i32, static_cast<uint32_t>(-3), 5).first == ~0u);
  CHECK(sop2(Op::s_lshl4_add_u32, 0x10000000, 7) == std::pair(7u, 1u));
  CHECK(sop2(Op::s_pack_lh_b32_b16, 0x11112222, 0x33334444).first == 0x33332222u);
  CHECK(sop2(Op::s_min_i32, static_cast<uint32_t>(-1), 1) == std::pair(~0u, 1u));
  const auto sop1 = [&](Op op, uint64_t a) {
    w.write64(50, a);
    REQUIRE(m.run({0xbe800000u | 52 << 16 | code(Format::SOP1, op) << 8 | 50}));
    return w.sgpr[52];
  };
  CHECK(sop1(Op::s_ff1_i32_b64, 1ull << 40) == 40);
  CHECK(sop1(Op::s_flbit_i32_b32, 1) == 31);
  CHECK(sop1(Op::s_flbit_i32, 0xfffffff0) == 28);
  CHECK(sop1(Op::s_bcnt1_i32_b64, ~0ull) == 64);
  CHECK(sop1(Op::s_brev_b32, 1) == 0x80000000);
  CHECK(sop1(Op::s_sext_i32_i8, 0x80) == 0xffffff80);
  CHECK(sop1(Op::s_abs_i32, static_cast<uint32_t>(-7)) == 7);
  m.set_exec(0xff);
  CHECK(sop1(Op::s_and_saveexec_b64, 0x0f) == 0xff);
  CHECK(w.exec() == 0x0f);
  CHECK(w.scc == 1);
  CHECK(sop1(Op::s_andn2_saveexec_b64, 0x0f) == 0x0f);
  CHECK(w.exec() == 0);
  CHECK(w.scc == 0);
}
