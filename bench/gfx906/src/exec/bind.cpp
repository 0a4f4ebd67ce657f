#include "exec/bind.hpp"

#include <cstdlib>
#include <string_view>

#include "decode/program.hpp"
#include "exec/dispatch.hpp"
#include "exec/scalar.hpp"

namespace gfx906 {

namespace avx2 {
void bind_lanes(Inst& i);
}
namespace avx512 {
void bind_lanes(Inst& i);
}

namespace {

HostIsa detect(const char* wanted) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (const char* e = std::getenv("GFX906_SIM_ISA")) wanted = e;
  if (wanted && std::string_view(wanted) == "avx2" && avx2) return HostIsa::kAvx2;
  return avx512 ? HostIsa::kAvx512 : avx2 ? HostIsa::kAvx2 : HostIsa::kNone;
}

const Inst* unknown(WaveView& w, const Inst* p) {
  if (p->offset >= w.program->size())
    return fault(w, p, Code::kFault, "execution runs off the end of the function");
  char text[96];
  snprintf(text, sizeof text, "unknown instruction, words 0x%08x 0x%08x", p->word[0], p->word[1]);
  return fault(w, p, Code::kUnsupported, text);
}
const Inst* unimplemented(WaveView& w, const Inst* p) {
  return fault(w, p, Code::kUnsupported,
               p->gds   ? "ROCm gives programs no GDS memory, so it is not simulated"
               : p->tfe ? "TFE together with LDS is not allowed"
                        : "this instruction is not simulated");
}

std::string hex(uint64_t v) {
  char b[24];
  snprintf(b, sizeof b, "0x%llx", static_cast<unsigned long long>(v));
  return b;
}

}  // namespace

HostIsa host_isa(const char* wanted) {
  static const HostIsa isa = detect(wanted);
  return isa;
}

const char* isa_name(HostIsa isa) {
  return isa == HostIsa::kAvx512 ? "avx512" : isa == HostIsa::kAvx2 ? "avx2" : "none";
}

void bind(Inst& i) {
  ExecFn f = nullptr;
  i.core = nullptr;
  i.exec = nullptr;
  if (!i.info) {
    f = unknown;
  } else if (i.format <= Format::SMEM) {
    f = scalar_alu_handler(i.op);
    if (!f) f = control_handler(i.op);
    if (!f) f = scalar_memory_handler(i.op);
  } else {
    f = control_handler(i.op);  // the global wave sync instructions are DS by encoding
    if (!f && host_isa() == HostIsa::kAvx512) {
      avx512::bind_lanes(i);
    } else if (!f) {
      avx2::bind_lanes(i);
    }
    if (i.gds && !f) i.exec = nullptr;
    if (i.tfe && i.lds) i.exec = nullptr;
  }
  if (f) i.exec = reinterpret_cast<void*>(f);
  if (!i.exec) i.exec = reinterpret_cast<void*>(static_cast<ExecFn>(unimplemented));
}

const Inst* fault(WaveView& w, const Inst* i, Code code, const std::string& what) {
  w.status = WaveStatus::kFaulted;
  w.ip = i;
  const Program& p = *w.program;
  const uint64_t address = p.address_of(*i);
  std::string text = "kernel " + w.group->dispatch->dispatch->kernel->info().name;
  if (p.base() != w.group->dispatch->program->base()) text += ", function " + p.name();
  text += ": " + (i->info ? to_text(*i, address) : std::string("?")) + " at " + hex(address) +
          " (offset " + hex(i->offset) + ")";
  if (const auto line = p.owner().source_line(address))
    text += ", " + line->file + ":" + std::to_string(line->line);
  text += ", group " + std::to_string(w.group->id.linear) + ", wave " + std::to_string(w.index) +
          ": " + what;
  if (w.group->error.ok()) w.group->error = Status(code, text);
  return nullptr;
}

// For the lane loops, which must not emit std::string's functions.
const Inst* fault_text(WaveView& w, const Inst* i, Code code, const char* what) {
  return fault(w, i, code, what);
}

}  // namespace gfx906
