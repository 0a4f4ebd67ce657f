// Code of the host program: the fat binaries it registers and the modules it loads, each loaded
// onto a card when first used there, and the kernels and variables in them by host address or name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../machine.hpp"
#include "card.hpp"
#include "hip_abi.hpp"

namespace gfx906::rt {

struct LoadedKernel {
  const Kernel* kernel = nullptr;
  std::shared_ptr<CodeObject> code;  // keeps the kernel alive
};

struct ManagedVariable {
  std::string name;
  void* memory = nullptr;
};

class Module {
 public:
  // A fat binary or code object in memory that stays there for the module's life (a host program's
  // section).
  explicit Module(const void* image) : image_(image) {}
  // A copy of its own.
  explicit Module(std::vector<uint8_t> bytes) : bytes_(std::move(bytes)) {}
  ~Module();

  // The code loaded on a card. Errors: hipErrorNoBinaryForGpu (nothing for gfx906 in it),
  // hipErrorInvalidImage.
  hipError_t code_on(int card, std::shared_ptr<CodeObject>& code);
  // A kernel by its mangled name; the handle lives as long as the module.
  Function* function(std::string_view name);
  // A variable's memory on a card. Errors: those of code_on, hipErrorNotFound.
  hipError_t variable(int card, const std::string& name, void*& address, size_t& bytes);
  void add_managed(ManagedVariable variable) { managed_.push_back(std::move(variable)); }

 private:
  hipError_t extract();

  std::mutex mutex_;
  const void* image_ = nullptr;
  std::vector<uint8_t> bytes_;
  bool extracted_ = false;
  hipError_t extract_error_ = hipSuccess;
  CodeObjectBlob blob_;
  std::map<int, std::shared_ptr<CodeObject>> loaded_;
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions_;
  std::vector<ManagedVariable> managed_;
};

// A kernel as the host names it, on whichever card it will run.
class Function {
 public:
  Function(Module& module, std::string name) : module_(module), name_(std::move(name)) {}
  const std::string& name() const { return name_; }
  std::string pretty_name() const;  // demangled
  Module& module() const { return module_; }
  // Errors: those of Module::code_on; hipErrorInvalidDeviceFunction when the code has no such
  // kernel.
  hipError_t on(int card, LoadedKernel& kernel);
  int dynamic_lds_limit = 65536;

 private:
  Module& module_;
  std::string name_;
  std::mutex mutex_;
  std::map<int, LoadedKernel> kernels_;
};

struct HostVariable {
  Module* module = nullptr;
  std::string name;
  size_t bytes = 0;
  void* managed = nullptr;  // its memory when it is __managed__
};

// What the compiler's start-up code of a host program registers, by host address.
class Registry {
 public:
  static Registry& instance();
  Module* add_fat_binary(const void* image);
  void add_function(Module& module, const void* host, const char* name);
  void add_variable(const void* host, HostVariable variable);
  Function* function(const void* host);  // nullptr: not registered
  bool variable(const void* host, HostVariable& out);
  // Drops what belongs to the module; the module itself stays, since queued work may still use it.
  void remove(const Module* module);

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, Function*> functions_;
  std::unordered_map<const void*, HostVariable> variables_;
  std::unordered_map<const Module*, std::vector<const void*>>
      hosts_;  // what each module registered
};

// A handle that came from hipModuleLoad or hipModuleGetFunction, or a registered host function:
// programs pass either to the same calls.
Function* resolve_function(const void* handle);
bool is_module(const Module* module);
void add_module(Module* module);
bool remove_module(Module* module);

}  // namespace gfx906::rt
