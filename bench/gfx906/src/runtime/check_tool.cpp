#include "check_tool.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../check/checker.hpp"
#include "card.hpp"

namespace gfx906::rt {
namespace {

// What the runtime tells of memory. The host writes its own kinds of memory without telling, and a
// virtual range may be written through another one.
class CheckMemory : public MemoryListener {
 public:
  CheckMemory(check::Checker& checker, MemoryListener* other) : checker_(checker), other_(other) {}
  void on_allocate(uint64_t base, size_t bytes, MemoryKind kind, int card) override {
    checker_.allocated(base, bytes, kind != MemoryKind::kDevice);
    if (other_) other_->on_allocate(base, bytes, kind, card);
  }
  void on_free(uint64_t base, size_t bytes) override {
    checker_.freed(base);
    if (other_) other_->on_free(base, bytes);
  }
  void on_write(uint64_t base, size_t bytes) override {
    checker_.written(base, bytes);
    if (other_) other_->on_write(base, bytes);
  }

 private:
  check::Checker& checker_;
  MemoryListener* other_;
};

// Two observers of the same run: the checker decides what is held back, and sees every group.
class Both : public Observer {
 public:
  Both(Observer& checker, Observer& other) : a_(checker), b_(other) {}
  void on_dispatch_begin(const Dispatch& d) override {
    a_.on_dispatch_begin(d);
    b_.on_dispatch_begin(d);
  }
  void on_dispatch_end(const Dispatch& d, const Status& s, const RunStats& r) override {
    a_.on_dispatch_end(d, s, r);
    b_.on_dispatch_end(d, s, r);
  }
  GroupMode group_mode(const Dispatch& d, const GroupId& g) override {
    b_.group_mode(d, g);
    return GroupMode::kObserve;
  }
  void on_group_begin(const Dispatch& d, const GroupId& g, uint32_t waves,
                      std::span<uint8_t> lds) override {
    a_.on_group_begin(d, g, waves, lds);
    b_.on_group_begin(d, g, waves, lds);
  }
  void on_group_end(const Dispatch& d, const GroupId& g) override {
    a_.on_group_end(d, g);
    b_.on_group_end(d, g);
  }
  void on_instruction(const InstEvent& e) override {
    a_.on_instruction(e);
    b_.on_instruction(e);
  }
  uint64_t on_memory(const InstEvent& e, MemAccess& m) override {
    const uint64_t go = a_.on_memory(e, m);
    return b_.on_memory(e, m) & go;
  }
  void on_after(const InstEvent& e) override {
    a_.on_after(e);
    b_.on_after(e);
  }
  void on_barrier(const InstEvent& e) override {
    a_.on_barrier(e);
    b_.on_barrier(e);
  }
  void on_barrier_release(const Dispatch& d, const GroupId& g) override {
    a_.on_barrier_release(d, g);
    b_.on_barrier_release(d, g);
  }
  void on_wave_end(const InstEvent& e) override {
    a_.on_wave_end(e);
    b_.on_wave_end(e);
  }

 private:
  Observer &a_, &b_;
};

// Neither is ever destroyed: stream workers may still run at the program's end.
check::Checker* checker = nullptr;
std::string* json_file = nullptr;

void finish_check() {
  const check::Reports& reports = checker->reports();
  if (!json_file->empty()) {
    std::FILE* f = std::fopen(json_file->c_str(), "w");
    const std::string text = reports.json();
    const bool written = f != nullptr && std::fwrite(text.data(), 1, text.size(), f) == text.size();
    if ((f != nullptr && std::fclose(f) != 0) || !written)
      complain("--check: cannot write " + *json_file);
  }
  if (reports.total() == 0) return;
  complain("check: " + std::to_string(reports.all().size()) + " faults, " +
           std::to_string(reports.total()) + " occurrences");
  std::fflush(nullptr);
  _exit(kFaultsFoundStatus);
}

void set_alignment(const char* setting) {
  const std::string text = setting ? setting : "";
  if (text == "dword") {
    checker->alignment = check::Alignment::kDword;
  } else if (text == "natural") {
    checker->alignment = check::Alignment::kNatural;
  } else if (!text.empty() && text != "unaligned") {
    complain("GFX906_SIM_ALIGNMENT is unaligned, dword or natural, not '" + text + "'");
  }
}

}  // namespace

void install_checker(Tools& into, const char* setting) {
  checker = new check::Checker;
  json_file = new std::string(std::string(setting) == "1" ? "" : setting);
  checker->reports().to_stderr = true;
  into.red_zone = [](size_t bytes) -> size_t { return check::MemoryMap::red_zone(bytes); };
  set_alignment(std::getenv("GFX906_SIM_ALIGNMENT"));
  into.memory = new CheckMemory(*checker, into.memory);
  into.observer =
      into.observer ? static_cast<Observer*>(new Both(*checker, *into.observer)) : checker;
  at_end<finish_check>();
}

}  // namespace gfx906::rt
