#include "check/report.hpp"

#include <cstdio>

#include "decode/program.hpp"

namespace gfx906::check {
namespace {

std::string hex(uint64_t v) {
  char b[24];
  snprintf(b, sizeof b, "0x%llx", static_cast<unsigned long long>(v));
  return b;
}

std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char b[8];
      snprintf(b, sizeof b, "\\u%04x", static_cast<unsigned>(c));
      out += b;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string text_of(const SourceLine& line) {
  return line.file + ":" + std::to_string(line.line);
}
std::string source_of(const Program& program, uint64_t pc) {
  const auto line = program.owner().source_line(pc);
  return line ? text_of(*line) : std::string();
}

}  // namespace

const char* fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::kOutOfBounds:
      return "out-of-bounds access";
    case FaultKind::kUseAfterFree:
      return "use after free";
    case FaultKind::kMisaligned:
      return "misaligned access";
    case FaultKind::kNeverWritten:
      return "read of memory never written";
    case FaultKind::kLdsRace:
      return "LDS race";
    case FaultKind::kGlobalRace:
      return "race between work-groups";
    case FaultKind::kBarrierDivergence:
      return "divergence at a barrier";
    case FaultKind::kMissingWait:
      return "missing s_waitcnt";
    case FaultKind::kMissingNop:
      return "missing wait states";
  }
  return "fault";
}

std::string place(const Program& program, uint64_t pc) {
  const std::string line = source_of(program, pc);
  return line.empty() ? program.name() + "+" + hex(pc - program.base()) : line;
}

bool Reports::counted(FaultKind kind, uint64_t pc) {
  const std::lock_guard lock(mutex_);
  const auto it = index_.find({pc, kind});
  if (it == index_.end()) {
    if (faults_.size() < kMost) return false;
    ++dropped_;
  } else {
    ++faults_[it->second].count;
  }
  ++total_;
  return true;
}

void Reports::add(FaultKind kind, const InstEvent& e, int lane, std::string detail) {
  Fault f;
  f.kind = kind;
  f.kernel = e.dispatch->kernel->info().name;
  f.instruction = e.inst->info ? to_text(*e.inst, e.pc) : "unknown instruction";
  if (const auto line = e.program->owner().source_line(e.pc)) {
    f.source = text_of(*line);
    for (const SourceLine& call : line->inlined_at) f.inlined_at.push_back(text_of(call));
  }
  f.detail = std::move(detail);
  f.code_offset = e.pc - e.program->base();
  f.function = e.program->name();
  f.group = e.group.id;
  f.wave = e.wave;
  f.lane = lane;
  f.card = e.dispatch->card;
  const std::lock_guard lock(mutex_);
  ++total_;
  const auto [it, added] = index_.try_emplace({e.pc, kind}, faults_.size());
  if (!added) {  // another thread was first
    ++faults_[it->second].count;
    return;
  }
  faults_.push_back(std::move(f));
  if (to_stderr) fprintf(stderr, "gfx906-sim: %s\n", describe(faults_.back()).c_str());
}

std::vector<Fault> Reports::all() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::string describe(const Fault& f) {
  std::string t = std::string("check: ") + fault_name(f.kind) + ": " + f.detail + "\n";
  t += "    at " + f.instruction + "   (" + f.function + "+" + hex(f.code_offset) + ")";
  if (!f.source.empty()) t += "   " + f.source;
  for (const std::string& call : f.inlined_at) t += "\n    inlined at " + call;
  t += "\n    kernel " + f.kernel + ", card " + std::to_string(f.card) + ", group " +
       std::to_string(f.group[0]) + "," + std::to_string(f.group[1]) + "," +
       std::to_string(f.group[2]) + ", wave " + std::to_string(f.wave);
  if (f.lane >= 0) t += ", lane " + std::to_string(f.lane);
  return t;
}

std::string Reports::text() const {
  std::string t;
  for (const Fault& f : all()) t += describe(f) + "\n    times: " + std::to_string(f.count) + "\n";
  const std::lock_guard lock(mutex_);
  t += "check: " + std::to_string(faults_.size()) + " faults, " + std::to_string(total_.load()) +
       " occurrences";
  if (dropped_) t += ", " + std::to_string(dropped_) + " of them beyond the limit of the list";
  return t + "\n";
}

std::string Reports::json() const {
  std::string t = "{\"faults\": [";
  const char* sep = "\n";
  for (const Fault& f : all()) {
    std::string calls;
    for (const std::string& call : f.inlined_at)
      calls += (calls.empty() ? "" : ", ") + quoted(call);
    t += sep;
    sep = ",\n";
    t += "  {\"kind\": " + quoted(fault_name(f.kind)) + ", \"kernel\": " + quoted(f.kernel) +
         ", \"function\": " + quoted(f.function) +
         ", \"offset\": " + std::to_string(f.code_offset) +
         ", \"instruction\": " + quoted(f.instruction) + ", \"source\": " + quoted(f.source) +
         ", \"inlined_at\": [" + calls + "], \"detail\": " + quoted(f.detail) + ", \"group\": [" +
         std::to_string(f.group[0]) + ", " + std::to_string(f.group[1]) + ", " +
         std::to_string(f.group[2]) + "], \"wave\": " + std::to_string(f.wave) +
         ", \"lane\": " + std::to_string(f.lane) + ", \"card\": " + std::to_string(f.card) +
         ", \"count\": " + std::to_string(f.count) + "}";
  }
  const std::lock_guard lock(mutex_);
  return t + "\n], \"total\": " + std::to_string(total_.load()) +
         ", \"dropped\": " + std::to_string(dropped_) + "}\n";
}

}  // namespace gfx906::check
