#include "module.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <shared_mutex>
#include <unordered_set>

#include "memory.hpp"

namespace gfx906::rt {
namespace {

// Bytes of an ELF image whose end is not known: as far as its tables and sections reach.
size_t elf_size(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  const auto* base = static_cast<const uint8_t*>(image);
  size_t end = std::max<size_t>(header.e_shoff + size_t{header.e_shnum} * header.e_shentsize,
                                header.e_phoff + size_t{header.e_phnum} * header.e_phentsize);
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, base + header.e_shoff + size_t{i} * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

template <class T>
class HandleSet {
 public:
  void add(const T* handle) {
    const std::unique_lock lock(mutex_);
    set_.insert(handle);
  }
  bool remove(const T* handle) {
    const std::unique_lock lock(mutex_);
    return set_.erase(handle) == 1;
  }
  bool contains(const void* handle) const {
    const std::shared_lock lock(mutex_);
    return set_.count(static_cast<const T*>(handle)) == 1;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_set<const T*> set_;
};
HandleSet<Module>& modules() {
  static auto* set = new HandleSet<Module>;
  return *set;
}
HandleSet<Function>& functions() {
  static auto* set = new HandleSet<Function>;
  return *set;
}

// The best of several code objects for gfx906: the card reports sramecc+ and xnack-, so one that
// demands the opposite does not run on it.
const CodeObjectBlob* choose(const std::vector<CodeObjectBlob>& blobs) {
  const CodeObjectBlob* best = nullptr;
  int best_score = -1;
  for (const CodeObjectBlob& blob : blobs) {
    const std::string& t = blob.target;
    if (t.find("sramecc-") != std::string::npos || t.find("xnack+") != std::string::npos) continue;
    const int score =
        (t.find("sramecc+") != std::string::npos) + (t.find("xnack-") != std::string::npos);
    if (score > best_score) {
      best = &blob;
      best_score = score;
    }
  }
  return best;
}

}  // namespace

Module::~Module() {
  for (auto& [name, function] : functions_) functions().remove(function.get());
  for (auto& [index, code] : loaded_) AddressMap::instance().release(code->image().data());
}

hipError_t Module::extract() {
  if (extracted_) return extract_error_;
  extracted_ = true;
  const void* image = image_ ? image_ : bytes_.data();
  const bool is_elf = std::memcmp(image, ELFMAG, SELFMAG) == 0;
  Result<std::vector<CodeObjectBlob>> blobs = [&] {
    if (!image_) return extract_code_objects(bytes_);
    if (!is_elf) return extract_from_fatbin(image);
    return extract_code_objects({static_cast<const uint8_t*>(image), elf_size(image)});
  }();
  if (!blobs) {
    complain("cannot read a fat binary: " + blobs.status().message());
    return extract_error_ = hipErrorInvalidImage;
  }
  const CodeObjectBlob* chosen = choose(*blobs);
  if (chosen == nullptr) {
    if (verbose()) complain("a fat binary holds no code object for gfx906:sramecc+:xnack-");
    return extract_error_ = hipErrorNoBinaryForGpu;
  }
  blob_ = *chosen;
  bytes_.clear();
  return extract_error_ = hipSuccess;
}

hipError_t Module::code_on(int card, std::shared_ptr<CodeObject>& code) {
  const std::lock_guard lock(mutex_);
  auto it = loaded_.find(card);
  if (it != loaded_.end()) {
    code = it->second;
    return hipSuccess;
  }
  if (const hipError_t error = extract(); error != hipSuccess) return error;
  auto loaded = CodeObject::load(blob_.bytes);
  if (!loaded) {
    complain("cannot load a code object: " + loaded.status().message());
    return hipErrorInvalidImage;
  }
  code = *loaded;
  for (const ManagedVariable& variable : managed_) {
    const SymbolInfo* symbol = code->find_symbol(variable.name);
    if (symbol != nullptr && symbol->size == sizeof(void*)) {
      std::memcpy(reinterpret_cast<void*>(symbol->address), &variable.memory, sizeof(void*));
    }
  }
  const std::span<uint8_t> image = code->image();
  AddressMap::instance().record(image.data(), image.size(), MemoryKind::kGlobals, card, 0);
  loaded_[card] = code;
  return hipSuccess;
}

Function* Module::function(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto it = functions_.find(name);
  if (it == functions_.end()) {
    auto made = std::make_unique<Function>(*this, std::string(name));
    functions().add(made.get());
    it = functions_.emplace(std::string(name), std::move(made)).first;
  }
  return it->second.get();
}

hipError_t Module::variable(int card, const std::string& name, void*& address, size_t& bytes) {
  std::shared_ptr<CodeObject> code;
  if (const hipError_t error = code_on(card, code); error != hipSuccess) return error;
  const SymbolInfo* symbol = code->find_symbol(name);
  if (symbol == nullptr || symbol->is_function) return hipErrorNotFound;
  address = reinterpret_cast<void*>(symbol->address);
  bytes = symbol->size;
  return hipSuccess;
}

std::string Function::pretty_name() const {
  int status = 0;
  char* text = abi::__cxa_demangle(name_.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name_;
  std::free(text);
  return out;
}

hipError_t Function::on(int card, LoadedKernel& kernel) {
  const std::lock_guard lock(mutex_);
  auto it = kernels_.find(card);
  if (it == kernels_.end()) {
    LoadedKernel found;
    if (const hipError_t error = module_.code_on(card, found.code); error != hipSuccess)
      return error;
    found.kernel = found.code->find_kernel(name_);
    if (found.kernel == nullptr) return hipErrorInvalidDeviceFunction;
    it = kernels_.emplace(card, std::move(found)).first;
  }
  kernel = it->second;
  return hipSuccess;
}

Registry& Registry::instance() {
  static auto* registry = new Registry;
  return *registry;
}

Module* Registry::add_fat_binary(const void* image) {
  return new Module(image);
}

void Registry::add_function(Module& module, const void* host, const char* name) {
  Function* function = module.function(name);
  const std::lock_guard lock(mutex_);
  functions_[host] = function;
  hosts_[&module].push_back(host);
}

void Registry::add_variable(const void* host, HostVariable variable) {
  const std::lock_guard lock(mutex_);
  hosts_[variable.module].push_back(host);
  variables_[host] = std::move(variable);
}

Function* Registry::function(const void* host) {
  const std::lock_guard lock(mutex_);
  auto it = functions_.find(host);
  return it == functions_.end() ? nullptr : it->second;
}

bool Registry::variable(const void* host, HostVariable& out) {
  const std::lock_guard lock(mutex_);
  auto it = variables_.find(host);
  if (it == variables_.end()) return false;
  out = it->second;
  return true;
}

void Registry::remove(const Module* module) {
  const std::lock_guard lock(mutex_);
  const auto hosts = hosts_.extract(module);
  if (hosts.empty()) return;
  for (const void* host : hosts.mapped()) {  // another module may have registered the address since
    const auto f = functions_.find(host);
    if (f != functions_.end() && &f->second->module() == module) functions_.erase(f);
    const auto v = variables_.find(host);
    if (v != variables_.end() && v->second.module == module) variables_.erase(v);
  }
}

Function* resolve_function(const void* handle) {
  if (Function* function = Registry::instance().function(handle)) return function;
  return functions().contains(handle) ? static_cast<Function*>(const_cast<void*>(handle)) : nullptr;
}

bool is_module(const Module* module) {
  return modules().contains(module);
}
void add_module(Module* module) {
  modules().add(module);
}
bool remove_module(Module* module) {
  return modules().remove(module);
}

}  // namespace gfx906::rt
