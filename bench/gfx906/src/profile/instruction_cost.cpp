#include "profile/instruction_cost.hpp"

#include <string_view>
#include <vector>

namespace gfx906::profile {
namespace {

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}
bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Quarter rate: published for the older chips of the family and in LLVM's scheduling model of this
// one. Conversions from bytes (v_cvt_f32_ubyte) and v_cvt_pkrtz are full rate.
bool quarter_rate(std::string_view n) {
  for (const char* p :
       {"v_mul_lo_u32",  "v_mul_hi_u32",  "v_mul_hi_i32",  "v_mad_u64_u32", "v_mad_i64_i32",
        "v_rcp_",        "v_rsq_",        "v_sqrt_",       "v_exp_",        "v_log_",
        "v_sin_",        "v_cos_",        "v_cvt_f32_i32", "v_cvt_f32_u32", "v_cvt_i32_f32",
        "v_cvt_u32_f32", "v_cvt_f32_f16", "v_cvt_f16_f32", "v_cvt_rpi",     "v_cvt_flr",
        "v_mqsad",       "v_qsad"}) {
    if (starts(n, p)) return true;
  }
  return false;
}
bool half_rate(std::string_view n) {
  return has(n, "_f64") || has(n, "_b64") || has(n, "_i64") || has(n, "_u64");
}

InstructionCost vector_cost(std::string_view n) {
  if (starts(n, "v_dot")) return {Class::kDot, 4, 0};
  if (quarter_rate(n)) {
    // Transcendentals of doubles take as long again.
    return {Class::kValuQuarter, static_cast<uint8_t>(has(n, "_f64") ? 32 : 16), 0};
  }
  if (half_rate(n)) return {Class::kValuHalf, 8, 0};
  return {Class::kValuFull, 4, 0};
}

InstructionCost scalar_cost(std::string_view n) {
  for (const char* p : {"s_waitcnt", "s_nop", "s_barrier", "s_sleep", "s_setprio", "s_endpgm"}) {
    if (starts(n, p)) return {Class::kWait, 4, 0};
  }
  if (starts(n, "s_cbranch") || starts(n, "s_branch") || starts(n, "s_setpc") ||
      starts(n, "s_swappc") || starts(n, "s_call")) {
    return {Class::kBranch, 4, 0};
  }
  for (const char* p :
       {"s_load", "s_buffer", "s_store", "s_atomic", "s_scratch", "s_dcache", "s_mem", "s_atc"}) {
    if (starts(n, p)) return {Class::kScalarMemory, 4, 0};
  }
  return {Class::kSalu, 4, 0};
}

InstructionCost lds_cost(std::string_view n) {
  if (has(n, "permute") || has(n, "swizzle")) return {Class::kLdsCrossbar, 4, 0};
  const bool plain = starts(n, "ds_read") || starts(n, "ds_write");
  return {Class::kLds, 4, static_cast<uint8_t>(plain ? 0 : 1)};
}

InstructionCost cost_by_name(std::string_view n) {
  if (starts(n, "v_")) return vector_cost(n);
  if (starts(n, "s_")) return scalar_cost(n);
  if (starts(n, "ds_")) return lds_cost(n);
  if (has(n, "_atomic_")) return {Class::kVectorAtomic, 4, 1};
  if (has(n, "_load_")) return {Class::kVectorLoad, 4, 0};
  if (has(n, "_store_")) return {Class::kVectorStore, 4, 0};
  return {Class::kOther, 4, 0};
}

std::vector<InstructionCost> make_table() {
  std::vector<InstructionCost> table(static_cast<size_t>(Op::kCount));
  for (size_t k = 1; k < table.size(); ++k) table[k] = cost_by_name(mnemonic(static_cast<Op>(k)));
  return table;
}

}  // namespace

const InstructionCost& cost_of(Op op) {
  static const std::vector<InstructionCost> table = make_table();
  return table[static_cast<size_t>(op)];
}

const char* name_of(Class c) {
  constexpr const char* kNames[kClasses] = {
      "valu_full",    "valu_half",   "valu_quarter", "valu_dot",      "salu",
      "smem",         "vector_load", "vector_store", "vector_atomic", "lds",
      "lds_crossbar", "branch",      "wait",         "other"};
  return kNames[static_cast<size_t>(c)];
}

}  // namespace gfx906::profile
