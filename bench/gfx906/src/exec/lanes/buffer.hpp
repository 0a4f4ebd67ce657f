// Buffer resources and the addresses that buffer instructions form with them.
#pragma once

#include "exec/lanes/lanes.hpp"

namespace gfx906::GFX906_LANES_NS {

// The four words of a resource.
struct Resource {
  u64 base;
  u32 stride, records, index_stride;
  u32 select[4];  // per component: 0 and 1 are those values, 4 to 7 the components in memory
  u32 number_format, data_format;
  bool swizzle, add_tid;
  explicit Resource(const u32* r) {
    base = r[0] | static_cast<u64>(r[1] & 0xffff) << 32;
    stride = r[1] >> 16 & 0x3fff;
    swizzle = r[1] >> 31;
    records = r[2];
    for (u32 k = 0; k < 4; ++k) select[k] = r[3] >> (3 * k) & 7;
    number_format = r[3] >> 12 & 7;
    data_format = r[3] >> 15 & 15;
    index_stride = 8u << (r[3] >> 21 & 3);
    add_tid = r[3] >> 23 & 1;
    if (add_tid) stride |= data_format << 14;  // the data format field extends the stride
  }
};

// Bytes of a swizzled buffer that stay together; older chips had a field for it.
constexpr u32 kSwizzleElement = 4;

LANE_INLINE u64 buffer_offset(const Resource& r, u64 index, u64 offset) {
  if (!r.swizzle) return index * r.stride + offset;
  const u64 row = index / r.index_stride, column = index % r.index_stride;
  return (row * r.stride + offset / kSwizzleElement * kSwizzleElement) * r.index_stride +
         column * kSwizzleElement + offset % kSwizzleElement;
}

LANE_INLINE u32 buffer_soffset(const WaveView& w, const Inst& i) {
  return i.soffset.kind == OperandKind::kSgpr ? w.sgpr[i.soffset.index]
                                              : static_cast<u32>(i.constant[2]);
}

// Puts the address of each lane's access of `bytes` bytes into w.addr; returns the lanes that are
// out of the buffer's range. NUM_RECORDS counts records where an index is used, else bytes.
LANE_INLINE u64 buffer_addresses(WaveView& w, const Inst& i, const Resource& r, u32 bytes) {
  const u32 soffset = buffer_soffset(w, i);
  const u32* first = i.src[0].kind == OperandKind::kVgpr ? w.v(i.src[0].index) : nullptr;
  const u32* index = i.idxen ? first : nullptr;
  const u32* offset = i.offen ? (i.idxen ? first + 64 : first) : nullptr;
  const bool structured = r.stride != 0 && (i.idxen || r.add_tid);
  u64 outside = 0;
  for (int l = 0; l < 64; ++l) {
    const u64 n = (index ? index[l] : 0) + (r.add_tid ? static_cast<u64>(l) : 0);
    const u64 o = (offset ? offset[l] : 0) + static_cast<u64>(static_cast<u32>(i.imm));
    w.addr[l] = r.base + soffset + buffer_offset(r, n, o);
    const bool out = structured ? n >= r.records || (!r.swizzle && o + bytes > r.stride)
                                : o + soffset + bytes > r.records;
    outside |= static_cast<u64>(out) << l;
  }
  return outside;
}

}  // namespace gfx906::GFX906_LANES_NS
