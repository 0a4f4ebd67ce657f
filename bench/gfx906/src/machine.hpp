// The simulated machine as its users see it: load a code object, look at its kernels, run a
// dispatch, watch it.
//
// A virtual card's memory is host memory: a device pointer is the host pointer, and a kernel may
// touch whatever this process may touch. Nothing here allocates memory for a user's buffers. A card
// is only a number carried by a Dispatch, so any number of cards can run at once (see Executor).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "status.hpp"

namespace gfx906 {

struct Inst;    // decode/inst.hpp: one decoded instruction
class Program;  // decode/program.hpp: a function's decoded instructions
class CodeObject;

// ---------------------------------------------------------------------------------------------------------------
// Code objects

// What an argument of a kernel is for; the hidden ones are filled by Executor::run.
enum class ArgKind : uint8_t {
  kByValue,
  kGlobalBuffer,
  kDynamicSharedPointer,
  kImage,
  kSampler,
  kPipe,
  kQueue,
  kHiddenBlockCountX,
  kHiddenBlockCountY,
  kHiddenBlockCountZ,
  kHiddenGroupSizeX,
  kHiddenGroupSizeY,
  kHiddenGroupSizeZ,
  kHiddenRemainderX,
  kHiddenRemainderY,
  kHiddenRemainderZ,
  kHiddenGlobalOffsetX,
  kHiddenGlobalOffsetY,
  kHiddenGlobalOffsetZ,
  kHiddenGridDims,
  kHiddenNone,
  kHiddenPrintfBuffer,
  kHiddenHostcallBuffer,
  kHiddenDefaultQueue,
  kHiddenCompletionAction,
  kHiddenMultigridSyncArg,
  kHiddenHeapV1,
  kHiddenDynamicLdsSize,
  kHiddenPrivateBase,
  kHiddenSharedBase,
  kHiddenQueuePtr,
  kUnknown,
};
constexpr bool is_hidden(ArgKind k) {
  return k >= ArgKind::kHiddenBlockCountX && k <= ArgKind::kHiddenQueuePtr;
}

struct ArgInfo {
  std::string name;  // empty where the compiler wrote none
  std::string type_name;
  std::string
      value_kind;  // as in the metadata, "by_value", "global_buffer", "hidden_block_count_x" ...
  std::string address_space;  // "global", "local", ... or empty
  ArgKind kind = ArgKind::kUnknown;
  uint32_t offset = 0;  // bytes from the start of the kernarg segment
  uint32_t size = 0;    // bytes
};

// Sizes in bytes unless said. The counts are those of the metadata (what the compiler allocated).
struct KernelInfo {
  std::string name;    // as in the source, mangled: "_Z3addPfi"
  std::string symbol;  // of its descriptor: "_Z3addPfi.kd"
  uint32_t kernarg_size = 0, kernarg_align = 8;
  uint32_t explicit_kernarg_size = 0;  // up to the end of the last argument that is not hidden
  uint32_t lds_size = 0;               // static part, per work-group
  uint32_t scratch_size = 0;           // per work-item
  bool dynamic_stack = false;
  uint32_t sgpr_count = 0, vgpr_count = 0, sgpr_spills = 0, vgpr_spills = 0;
  uint32_t vgpr_alloc = 0;  // per lane, as the descriptor says (rounded to 4)
  uint32_t sgpr_alloc = 0;  // as the descriptor says (rounded to 16)
  uint32_t max_workgroup_size = 1024;
  std::array<uint32_t, 3> required_workgroup_size{};  // zeros: none required
  uint32_t wavefront_size = 64;
  std::vector<ArgInfo> args;
  // From the kernel descriptor.
  uint32_t pgm_rsrc1 = 0, pgm_rsrc2 = 0, code_properties = 0;
  uint64_t entry_address = 0;       // host address of the first instruction
  uint64_t descriptor_address = 0;  // host address of the descriptor: the handle of the kernel
  uint64_t code_size = 0;  // bytes of the kernel's own code (0 when the symbol says nothing)
};

class Kernel {
 public:
  const KernelInfo& info() const { return info_; }
  CodeObject& code_object() const { return *owner_; }

 private:
  friend class CodeObject;
  KernelInfo info_;
  CodeObject* owner_ = nullptr;
};

struct SymbolInfo {
  std::string name;
  uint64_t address = 0;  // host address
  uint64_t size = 0;     // bytes
  bool is_function = false;
};

struct SourceLine {
  std::string file;
  uint32_t line = 0;
  std::vector<SourceLine> inlined_at;  // of the calls it was inlined through, from the innermost
};

struct LoadOptions {
  // Asked for each symbol that the code object leaves undefined; returns its address or 0.
  std::function<uint64_t(const std::string& name)> resolve;
};

// One loaded HSA code object (ABI version 3 to 6). Its image, with the globals in it, is host
// memory owned by the object; load it once per card, since each card has its own globals.
class CodeObject {
 public:
  // `bytes`: an ELF file as extract_code_objects returns them; copied. Errors: kCorrupt,
  // kUnsupported (another target than gfx906, a relocation of unknown kind), kNotFound (an
  // undefined symbol).
  static Result<std::shared_ptr<CodeObject>> load(std::span<const uint8_t> bytes,
                                                  const LoadOptions& = {});
  ~CodeObject();
  CodeObject(const CodeObject&) = delete;
  CodeObject& operator=(const CodeObject&) = delete;

  const std::vector<std::unique_ptr<Kernel>>& kernels() const;
  const Kernel* find_kernel(
      std::string_view name) const;  // with or without ".kd"; nullptr when absent
  const SymbolInfo* find_symbol(std::string_view name) const;
  const std::vector<SymbolInfo>& symbols() const;       // defined functions and objects
  const SymbolInfo* symbol_at(uint64_t address) const;  // the symbol that covers the address
  int abi_version() const;                              // 3 to 6
  const std::string& target()
      const;  // "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-" or as the file has it
  std::span<uint8_t> image() const;  // all loaded segments

  // The decoded function that holds `address` (an instruction's start), decoded on the first call.
  // Thread-safe. Errors name the symbol, the address and the words: kUnsupported, kCorrupt, kFault
  // (no code there).
  Result<const Program*> program_at(uint64_t address);

  // Source line of an instruction from the line table in the file; nothing when there is no debug
  // info.
  std::optional<SourceLine> source_line(uint64_t address) const;

 private:
  CodeObject();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct CodeObjectBlob {
  std::string target;  // "hipv4-amdgcn-amd-amdhsa--gfx906", or the ELF's own target for a bare ELF
  std::vector<uint8_t> bytes;  // an ELF file
};

// All code objects for `processor` ("gfx906", with any feature flags; "" = all targets) in `bytes`:
// a bare code object, a bundle (`__CLANG_OFFLOAD_BUNDLE__`), a compressed bundle (`CCOB`), several
// of them one after another, or a host program or library that holds them in its .hip_fatbin
// section. An empty list when there is none.
Result<std::vector<CodeObjectBlob>> extract_code_objects(std::span<const uint8_t> bytes,
                                                         std::string_view processor = "gfx906");
// The same for one fat binary whose size is not known (the pointer a host program registers): the
// bundle's own header gives the size.
Result<std::vector<CodeObjectBlob>> extract_from_fatbin(const void* fatbin,
                                                        std::string_view processor = "gfx906");

// The kernels of the card's point of view: waves per SIMD that the registers, LDS and group size
// allow (0 to 10).
struct Occupancy {
  uint32_t waves_per_simd = 0;
  uint32_t groups_per_cu = 0;
  const char* limit = "";  // "vgpr", "sgpr", "lds", "waves", "groups"
};
Occupancy occupancy(const KernelInfo& kernel, uint32_t threads_per_group, uint32_t dynamic_lds = 0);

// Text of one decoded instruction in LLVM's spelling, e.g. "v_add_f32_e32 v1, v2, v3".
std::string to_text(const Inst& inst, uint64_t address);
// Disassembly of a whole kernel, one instruction a line with address and words. Unknown words are
// shown as .long.
Result<std::string> disassemble(CodeObject& object, const Kernel& kernel);

// ---------------------------------------------------------------------------------------------------------------
// Running

// Where LDS and scratch appear in a flat address (the high 32 bits); a kernel reads them from its
// hidden registers. Chosen so that no host pointer can fall into them.
constexpr uint64_t kSharedAperture = 0x1000'0000'0000'0000ull;
constexpr uint64_t kPrivateAperture = 0x2000'0000'0000'0000ull;

struct Dispatch {
  const Kernel* kernel = nullptr;
  std::array<uint32_t, 3> grid{1, 1, 1};   // work-items; need not be a multiple of block
  std::array<uint32_t, 3> block{1, 1, 1};  // work-items of a work-group
  // The explicit arguments laid out as the metadata says (at least explicit_kernarg_size bytes, or
  // fewer when the kernel's metadata has none); hidden ones after them are overwritten with the
  // values they need.
  std::span<const uint8_t> kernarg;
  uint32_t dynamic_lds = 0;  // bytes after the static part
  uint32_t stack_bytes =
      0;  // of a work-item, where the kernel's stack has no known depth: at least
  int card = 0;
  bool cooperative = false;  // every group is made resident, however many there are
  uint64_t dispatch_id = 0;
  uint32_t compute_units =
      60;  // how many groups are resident at once follows from this and the occupancy
  uint32_t grid_dims = 0;  // for hidden_grid_dims; 0 = derived from grid
  // Values of hidden pointer arguments (0 where the host program has none).
  uint64_t hostcall_buffer = 0, printf_buffer = 0, multigrid_sync = 0, heap = 0, default_queue = 0,
           queue = 0, completion_action = 0;
  // Called on s_sendmsg sendmsg(MSG_INTERRUPT) with M0: how a hostcall reaches the host. May be
  // empty.
  std::function<void(uint32_t m0)> on_interrupt;
  // Set by another thread to stop the dispatch: run returns kCancelled soon after.
  const volatile bool* cancel = nullptr;
};

// ---- Observation (the slow path: checker, profiler). The fast path has none of its cost. ----

enum class Space : uint8_t { kGlobal, kLds, kScratch, kScalar, kGds };

// One memory instruction's accesses: lane l touches `bytes` bytes at addr[l] if bit l of `lanes` is
// set. Global, scalar and scratch addresses are host addresses; LDS addresses are byte offsets in
// the group's LDS. A scalar access has lane 0 only. ds_read2 and the like give two of these.
struct MemAccess {
  Space space = Space::kGlobal;
  bool load = false, store = false, atomic = false, returns = false;
  bool lds_dma = false;  // buffer_load ... lds
  bool glc = false, slc = false;
  uint32_t bytes = 4;
  uint64_t lanes = 0;
  std::array<uint64_t, 64> addr;
  uint64_t lds_base = 0;                    // host address of LDS byte 0 (kLds)
  uint64_t scratch_lo = 0, scratch_hi = 0;  // the wave's scratch range (kScratch)
};

struct WaveView;  // exec/wave.hpp: registers of the wave, readable in a callback

struct GroupId {
  std::array<uint32_t, 3> id{};
  uint64_t linear = 0;
};

struct InstEvent {
  const Dispatch* dispatch = nullptr;
  GroupId group;
  uint32_t wave = 0;  // index in its group
  uint64_t pc = 0;    // host address of the instruction
  const Inst* inst = nullptr;
  const Program* program = nullptr;
  uint64_t exec = 0;  // before the instruction
  const WaveView* state = nullptr;
};

// What a dispatch ran; groups and waves that were skipped count, though not with instructions.
struct RunStats {
  uint64_t wave_instructions = 0;
  uint64_t groups = 0, waves = 0;
};

enum class GroupMode {
  kFast,
  kObserve,
  kSkip
};  // kSkip: not run at all (sampling for an estimate)

// Callbacks come from many threads at once, but those of one work-group from one thread at a time.
// Return values of on_memory: lanes that may go ahead; a suppressed load returns 0, a suppressed
// store is dropped.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_dispatch_begin(const Dispatch&) {}
  virtual void on_dispatch_end(const Dispatch&, const Status&, const RunStats&) {}
  virtual GroupMode group_mode(const Dispatch&, const GroupId&) { return GroupMode::kObserve; }
  virtual void on_group_begin(const Dispatch&, const GroupId&, uint32_t /*waves*/,
                              std::span<uint8_t> /*lds*/) {}
  virtual void on_group_end(const Dispatch&, const GroupId&) {}
  virtual void on_instruction(const InstEvent&) {}  // before it runs
  virtual uint64_t on_memory(const InstEvent&, MemAccess& m) {
    return m.lanes;
  }                                             // before memory is touched
  virtual void on_after(const InstEvent&) {}    // after it ran
  virtual void on_barrier(const InstEvent&) {}  // the wave arrives at s_barrier
  virtual void on_barrier_release(const Dispatch&, const GroupId&) {}  // all waves have arrived
  virtual void on_wave_end(const InstEvent&) {}
};

struct ExecutorOptions {
  uint32_t threads = 0;       // 0: all host cores
  uint32_t slice = 1u << 16;  // wave instructions a group runs before others get its thread
  const char* isa = nullptr;  // "avx2", "avx512"; nullptr: the best the host has
};

// Runs dispatches on a pool of host threads. Groups that wait (for memory, another card) are set
// aside so that the others progress: up to the card's own residency per dispatch, all of them when
// it is cooperative.
class Executor {
 public:
  explicit Executor(const ExecutorOptions& = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Blocks until every group has ended. Callable from several threads at once; dispatches running
  // at the same time share the pool fairly and may wait for each other through memory. Errors name
  // the kernel, the instruction and its address: kUnsupported (unknown instruction), kFault (memory
  // fault, trap), kInvalidArgument (sizes).
  Status run(const Dispatch& dispatch, Observer* observer = nullptr, RunStats* stats = nullptr);

  static Executor& shared();  // one for the process, made on first use
  const char* isa() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gfx906
