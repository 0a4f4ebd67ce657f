#include "decode/program.hpp"

#include <algorithm>
#include <atomic>

#include "exec/bind.hpp"

namespace gfx906 {

namespace {
std::atomic<uint64_t> next_serial{1};
}

Program::Program(CodeObject& owner, std::string name, uint64_t base, uint64_t bytes)
    : owner_(&owner), name_(std::move(name)), serial_(next_serial++), base_(base), bytes_(bytes) {
  const auto* words = reinterpret_cast<const uint32_t*>(base);
  const auto count = static_cast<uint32_t>(bytes / 4);
  index_of_word_.assign(count, ~0u);
  insts_.reserve(count / 3 * 2 + 2);
  for (uint32_t w = 0; w < count;) {
    Inst i = decode_one(words + w, count - w);
    i.offset = w * 4;
    index_of_word_[w] = static_cast<uint32_t>(insts_.size());
    w += i.words;
    insts_.push_back(i);
  }
  Inst guard;
  guard.offset = count * 4;
  insts_.push_back(guard);
  for (Inst& i : insts_) {
    if (i.info && is_branch(i)) {
      const int64_t to = static_cast<int64_t>(i.offset / 4) + 1 + i.imm;
      if (to >= 0 && to < count && index_of_word_[to] != ~0u)
        i.target = static_cast<int32_t>(index_of_word_[to]);
    }
    const bool vector = i.format >= Format::VOP1 && i.format <= Format::VOP3P;
    for (int s = 0; vector && s < 3; ++s) {
      if (i.src[s].kind == OperandKind::kConstant) i.lanes[s] = constant_lanes(i.constant[s]);
    }
    bind(i);
    if (i.target >= 0) i.core = &insts_[static_cast<size_t>(i.target)];
    for (const Operand& o : {i.dst, i.src[0], i.src[1], i.src[2]}) {
      if (o.is_vgpr())
        max_vgpr_ = std::max<uint32_t>(max_vgpr_, o.index + std::max<uint32_t>(o.width, 1));
    }
  }
}

const uint32_t* Program::constant_lanes(uint64_t value) {
  std::unique_ptr<Lanes>& lanes = constants_[value];
  if (lanes) return lanes->v;
  lanes = std::make_unique<Lanes>();
  for (int l = 0; l < 64; ++l) {
    lanes->v[l] = static_cast<uint32_t>(value);
    lanes->v[64 + l] = static_cast<uint32_t>(value >> 32);
  }
  return lanes->v;
}

const Inst* Program::at(uint64_t address) const {
  const uint64_t off = address - base_;
  if (address < base_ || off >= bytes_ || off % 4) return nullptr;
  const uint32_t index = index_of_word_[off / 4];
  return index == ~0u ? nullptr : &insts_[index];
}

}  // namespace gfx906
