// Registration by the compiler's start-up code, modules, launches, function attributes and
// occupancy.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "api.hpp"
#include "launch.hpp"
#include "memory.hpp"
#include "module.hpp"

using namespace gfx906::rt;
using gfx906::KernelInfo;

namespace {

struct CallConfiguration {
  dim3 grid, block;
  size_t lds;
  hipStream_t stream;
};
thread_local std::vector<CallConfiguration> configurations;
// hipSetupArgument's buffer for the oldest way to launch.
thread_local std::vector<uint8_t> pushed_arguments;

constexpr unsigned kFatBinaryMagic = 0x48495046;  // "HIPF"
struct FatBinaryWrapper {
  unsigned magic;
  unsigned version;
  const void* binary;
  void* unused;
};

LaunchRequest request_of(const void* handle, dim3 grid, dim3 block, size_t lds, void** arguments) {
  LaunchRequest r;
  r.handle = handle;
  r.grid[0] = grid.x;
  r.grid[1] = grid.y;
  r.grid[2] = grid.z;
  r.block[0] = block.x;
  r.block[1] = block.y;
  r.block[2] = block.z;
  r.dynamic_lds = lds;
  r.arguments = arguments;
  return r;
}

hipError_t launch_items(hipFunction_t f, const uint32_t (&items)[3], const uint32_t (&block)[3],
                        size_t lds, hipStream_t stream, void** arguments, void** extra,
                        hipEvent_t start, hipEvent_t stop) {
  return api([&] {
    LaunchRequest r = request_of(f, {items[0], items[1], items[2]}, {block[0], block[1], block[2]},
                                 lds, arguments);
    r.in_items = true;
    r.extra = extra;
    if (start != nullptr && !Event::alive(start)) return hipErrorInvalidHandle;
    if (stop != nullptr && !Event::alive(stop)) return hipErrorInvalidHandle;
    return launch(r, stream, start, stop);
  });
}

hipError_t load_module(hipModule_t* out, std::unique_ptr<Module> module) {
  std::shared_ptr<gfx906::CodeObject> code;
  if (const hipError_t error = module->code_on(current_card_index(), code); error != hipSuccess)
    return error;
  *out = module.release();
  add_module(*out);
  return hipSuccess;
}

// Information about a kernel as it is on the current card.
hipError_t info_of(const void* handle, LoadedKernel& kernel) {
  Function* function = resolve_function(handle);
  if (function == nullptr) return hipErrorInvalidDeviceFunction;
  return function->on(current_card_index(), kernel);
}

hipError_t active_blocks(int* blocks, const void* handle, int block_size, size_t lds) {
  if (blocks == nullptr || block_size <= 0) return hipErrorInvalidValue;
  LoadedKernel kernel;
  if (const hipError_t error = info_of(handle, kernel); error != hipSuccess) return error;
  const KernelInfo& info = kernel.kernel->info();
  const bool fits = block_size <= 1024 &&
                    static_cast<uint32_t>(block_size) <= info.max_workgroup_size &&
                    lds + info.lds_size <= 65536;
  *blocks = !fits ? 0
                  : static_cast<int>(gfx906::occupancy(info, static_cast<uint32_t>(block_size),
                                                       static_cast<uint32_t>(lds))
                                         .groups_per_cu);
  return hipSuccess;
}

// The largest block that fits, as the driver answers, and as many of them as the card holds at
// once.
hipError_t best_block(int* grid, int* block, const void* handle, size_t lds, int limit) {
  if (grid == nullptr || block == nullptr) return hipErrorInvalidValue;
  LoadedKernel kernel;
  if (const hipError_t error = info_of(handle, kernel); error != hipSuccess) return error;
  int top = static_cast<int>(std::min<uint32_t>(1024, kernel.kernel->info().max_workgroup_size));
  if (limit > 0) top = std::min(top, limit);
  *grid = *block = 0;
  for (int size = top; size > 0; size -= size % 64 == 0 ? 64 : size % 64) {
    int blocks = 0;
    if (const hipError_t error = active_blocks(&blocks, handle, size, lds); error != hipSuccess)
      return error;
    if (blocks == 0) continue;
    *block = size;
    *grid = blocks * 60;
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

hipError_t attribute_of(int* value, int attribute, const void* handle) {
  if (value == nullptr) return hipErrorInvalidValue;
  LoadedKernel kernel;
  if (const hipError_t error = info_of(handle, kernel); error != hipSuccess) return error;
  const KernelInfo& info = kernel.kernel->info();
  switch (attribute) {
    case 0:
      *value = static_cast<int>(info.max_workgroup_size);
      break;
    case 1:
      *value = static_cast<int>(info.lds_size);
      break;
    case 2:
      *value = 0;
      break;
    case 3:
      *value = static_cast<int>(info.scratch_size);
      break;
    case 4:
      *value = static_cast<int>(info.vgpr_count);
      break;
    case 5:
      *value = 90;
      break;
    case 6:
      *value = 90;
      break;
    case 7:
      *value = 0;
      break;
    case 8:
      *value = static_cast<int>(65536 - info.lds_size);
      break;
    case 9:
      *value = 0;
      break;
    default:
      return hipErrorInvalidValue;
  }
  return hipSuccess;
}

}  // namespace

// ---- Registration ----

GFX906_HIP void** __hipRegisterFatBinary(const void* data) {
  const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
  if (wrapper == nullptr || wrapper->magic != kFatBinaryMagic || wrapper->version != 1) {
    complain("__hipRegisterFatBinary: not a HIP fat binary (wrong magic or version)");
    return nullptr;
  }
  return reinterpret_cast<void**>(Registry::instance().add_fat_binary(wrapper->binary));
}
GFX906_HIP void __hipRegisterFunction(void** modules, const void* host, char*, const char* name,
                                      unsigned, void*, void*, dim3*, dim3*, int*) {
  auto* module = reinterpret_cast<Module*>(modules);
  if (module != nullptr) Registry::instance().add_function(*module, host, name);
}
GFX906_HIP void __hipRegisterVar(void** modules, void* host, char*, char* name, int, size_t bytes,
                                 int, int) {
  auto* module = reinterpret_cast<Module*>(modules);
  if (module != nullptr) Registry::instance().add_variable(host, {module, name, bytes, nullptr});
}
GFX906_HIP void __hipRegisterManagedVar(void* modules, void** pointer, void* initial,
                                        const char* name, size_t bytes, unsigned) {
  auto* module = static_cast<Module*>(modules);
  if (module == nullptr || bytes == 0) return;
  void* memory = AddressMap::instance().allocate(bytes, MemoryKind::kManaged, 0, 1);
  if (memory == nullptr) {
    complain(std::string("no memory for the managed variable ") + name);
    return;
  }
  if (initial != nullptr) std::memcpy(memory, initial, bytes);
  *pointer = memory;
  module->add_managed({name, memory});
  // Either the pointer's own address or what it points to may name the variable.
  Registry::instance().add_variable(pointer, {module, name, bytes, memory});
  Registry::instance().add_variable(memory, {module, name, bytes, memory});
}
GFX906_HIP void __hipRegisterTexture(void**, void*, char*, char*, int, int, int) {}
GFX906_HIP void __hipRegisterSurface(void**, void*, char*, char*, int, int) {}
GFX906_HIP void __hipUnregisterFatBinary(void** modules) {
  Registry::instance().remove(reinterpret_cast<const Module*>(modules));
}

// ---- Launches ----

GFX906_HIP hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds,
                                                 hipStream_t stream) {
  configurations.push_back({grid, block, lds, stream});
  return hipSuccess;
}
GFX906_HIP hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds,
                                                hipStream_t* stream) {
  if (configurations.empty()) return finish(hipErrorMissingConfiguration);
  const CallConfiguration& c = configurations.back();
  *grid = c.grid;
  *block = c.block;
  *lds = c.lds;
  *stream = c.stream;
  configurations.pop_back();
  return hipSuccess;
}
GFX906_HIP hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  pushed_arguments.clear();
  return __hipPushCallConfiguration(grid, block, lds, stream);
}
GFX906_HIP hipError_t hipSetupArgument(const void* argument, size_t bytes, size_t offset) {
  if (argument == nullptr || offset > 65536 || bytes > 65536) return finish(hipErrorInvalidValue);
  pushed_arguments.resize(std::max(pushed_arguments.size(), offset + bytes));
  std::memcpy(pushed_arguments.data() + offset, argument, bytes);
  return hipSuccess;
}
GFX906_HIP hipError_t hipLaunchByPtr(const void* function) {
  return api([&] {
    if (configurations.empty()) return hipErrorMissingConfiguration;
    const CallConfiguration c = configurations.back();
    configurations.pop_back();
    size_t bytes = pushed_arguments.size();
    void* extra[] = {reinterpret_cast<void*>(kLaunchParamBufferPointer), pushed_arguments.data(),
                     reinterpret_cast<void*>(kLaunchParamBufferSize), &bytes,
                     reinterpret_cast<void*>(kLaunchParamEnd)};
    LaunchRequest r = request_of(function, c.grid, c.block, c.lds, nullptr);
    r.extra = extra;
    return launch(r, c.stream);
  });
}
GFX906_HIP hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                      size_t lds, hipStream_t stream) {
  return api([&] { return launch(request_of(function, grid, block, lds, arguments), stream); });
}
GFX906_HIP hipError_t hipLaunchKernel_spt(const void* function, dim3 grid, dim3 block,
                                          void** arguments, size_t lds, hipStream_t stream) {
  if (stream == nullptr) stream = reinterpret_cast<hipStream_t>(kStreamPerThreadHandle);
  return hipLaunchKernel(function, grid, block, arguments, lds, stream);
}
GFX906_HIP hipError_t hipExtLaunchKernel(const void* function, dim3 grid, dim3 block,
                                         void** arguments, size_t lds, hipStream_t stream,
                                         hipEvent_t start, hipEvent_t stop, int) {
  return api([&] {
    if (start != nullptr && !Event::alive(start)) return hipErrorInvalidHandle;
    if (stop != nullptr && !Event::alive(stop)) return hipErrorInvalidHandle;
    return launch(request_of(function, grid, block, lds, arguments), stream, start, stop);
  });
}
GFX906_HIP hipError_t hipLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                 void** arguments, unsigned lds,
                                                 hipStream_t stream) {
  return api([&] {
    LaunchRequest r = request_of(function, grid, block, lds, arguments);
    r.cooperative = true;
    return launch(r, stream);
  });
}
GFX906_HIP hipError_t hipLaunchCooperativeKernel_spt(const void* function, dim3 grid, dim3 block,
                                                     void** arguments, unsigned lds,
                                                     hipStream_t stream) {
  if (stream == nullptr) stream = reinterpret_cast<hipStream_t>(kStreamPerThreadHandle);
  return hipLaunchCooperativeKernel(function, grid, block, arguments, lds, stream);
}
static hipError_t launch_list(const hipLaunchParams* list, int count, bool cooperative) {
  return api([&] {
    if (list == nullptr || count <= 0) return hipErrorInvalidValue;
    std::vector<LaunchRequest> requests;
    std::vector<hipStream_t> streams;
    for (int i = 0; i < count; ++i) {
      const hipLaunchParams& p = list[i];
      requests.push_back(request_of(p.func, p.gridDim, p.blockDim, p.sharedMem, p.args));
      requests.back().cooperative = cooperative;
      streams.push_back(p.stream);
    }
    return launch_on_all(requests, streams);
  });
}
GFX906_HIP hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count,
                                                            unsigned) {
  return launch_list(list, count, true);
}
GFX906_HIP hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count,
                                                         unsigned) {
  return launch_list(list, count, false);
}
GFX906_HIP hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz,
                                            unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                            hipStream_t stream, void** arguments, void** extra) {
  return api([&] {
    LaunchRequest r = request_of(f, {gx, gy, gz}, {bx, by, bz}, lds, arguments);
    r.extra = extra;
    return launch(r, stream);
  });
}
GFX906_HIP hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy,
                                                       unsigned gz, unsigned bx, unsigned by,
                                                       unsigned bz, unsigned lds,
                                                       hipStream_t stream, void** arguments) {
  return hipLaunchCooperativeKernel(f, {gx, gy, gz}, {bx, by, bz}, arguments, lds, stream);
}
GFX906_HIP hipError_t hipModuleLaunchCooperativeKernelMultiDevice(hipFunctionLaunchParams* list,
                                                                  unsigned count, unsigned) {
  std::vector<hipLaunchParams> plain;
  for (unsigned i = 0; list != nullptr && i < count; ++i) {
    const hipFunctionLaunchParams& p = list[i];
    plain.push_back({p.function,
                     {p.gridDimX, p.gridDimY, p.gridDimZ},
                     {p.blockDimX, p.blockDimY, p.blockDimZ},
                     p.kernelParams,
                     p.sharedMemBytes,
                     p.hStream});
  }
  return launch_list(plain.data(), static_cast<int>(plain.size()), true);
}
// This one takes work-items, not blocks.
GFX906_HIP hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy,
                                               uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                                               size_t lds, hipStream_t stream, void** arguments,
                                               void** extra, hipEvent_t start, hipEvent_t stop,
                                               uint32_t) {
  return launch_items(f, {gx, gy, gz}, {bx, by, bz}, lds, stream, arguments, extra, start, stop);
}
GFX906_HIP hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy,
                                               uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                                               size_t lds, hipStream_t stream, void** arguments,
                                               void** extra, hipEvent_t start, hipEvent_t stop) {
  return launch_items(f, {gx, gy, gz}, {bx, by, bz}, lds, stream, arguments, extra, start, stop);
}
// The same two under the C++ names that HIP 5's hip_ext.h declares.
GFX906_HIP hipError_t
_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
    size_t lds, hipStream_t stream, void** arguments, void** extra, hipEvent_t start,
    hipEvent_t stop, uint32_t) {
  return launch_items(f, {gx, gy, gz}, {bx, by, bz}, lds, stream, arguments, extra, start, stop);
}
GFX906_HIP hipError_t
_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
    size_t lds, hipStream_t stream, void** arguments, void** extra, hipEvent_t start,
    hipEvent_t stop) {
  return launch_items(f, {gx, gy, gz}, {bx, by, bz}, lds, stream, arguments, extra, start, stop);
}

// ---- Modules ----

GFX906_HIP hipError_t hipModuleLoad(hipModule_t* out, const char* path) {
  return api([&] {
    if (out == nullptr || path == nullptr) return hipErrorInvalidValue;
    std::ifstream file(path, std::ios::binary);
    if (!file) return hipErrorFileNotFound;
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.size() < 64) return hipErrorInvalidImage;
    return load_module(out, std::make_unique<Module>(std::move(bytes)));
  });
}
GFX906_HIP hipError_t hipModuleLoadData(hipModule_t* out, const void* image) {
  return api([&] {
    if (out == nullptr || image == nullptr) return hipErrorInvalidValue;
    return load_module(out, std::make_unique<Module>(image));
  });
}
GFX906_HIP hipError_t hipModuleLoadDataEx(hipModule_t* out, const void* image, unsigned, int*,
                                          void**) {
  return hipModuleLoadData(out, image);
}
GFX906_HIP hipError_t hipModuleUnload(hipModule_t module) {
  return api([&] {
    if (!remove_module(module)) return hipErrorInvalidHandle;
    for (Card* c : cards()) (void)synchronize_card(*c);
    delete module;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipModuleGetFunction(hipFunction_t* out, hipModule_t module,
                                           const char* name) {
  return api([&] {
    if (out == nullptr || name == nullptr) return hipErrorInvalidValue;
    if (!is_module(module)) return hipErrorInvalidHandle;
    std::shared_ptr<gfx906::CodeObject> code;
    if (const hipError_t error = module->code_on(current_card_index(), code); error != hipSuccess)
      return error;
    if (code->find_kernel(name) == nullptr) return hipErrorNotFound;
    *out = module->function(name);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module,
                                         const char* name) {
  return api([&] {
    if (name == nullptr) return hipErrorInvalidValue;
    if (!is_module(module)) return hipErrorInvalidHandle;
    void* found = nullptr;
    size_t size = 0;
    if (const hipError_t e = module->variable(current_card_index(), name, found, size);
        e != hipSuccess)
      return e;
    if (address != nullptr) *address = found;
    if (bytes != nullptr) *bytes = size;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipGetFuncBySymbol(hipFunction_t* out, const void* symbol) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    *out = Registry::instance().function(symbol);
    return *out != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction;
  });
}
GFX906_HIP const char* hipKernelNameRef(const hipFunction_t function) {
  Function* known = resolve_function(function);
  return known != nullptr ? known->name().c_str() : nullptr;
}
GFX906_HIP const char* hipKernelNameRefByPtr(const void* function, hipStream_t) {
  Function* known = resolve_function(function);
  return known != nullptr ? known->name().c_str() : nullptr;
}

// ---- Attributes and occupancy ----

GFX906_HIP hipError_t hipFuncGetAttributes(hipFuncAttributes* out, const void* function) {
  return api([&] {
    if (out == nullptr) return hipErrorInvalidValue;
    LoadedKernel kernel;
    if (const hipError_t error = info_of(function, kernel); error != hipSuccess) return error;
    const KernelInfo& info = kernel.kernel->info();
    *out = {};
    out->binaryVersion = out->ptxVersion = 90;
    out->localSizeBytes = info.scratch_size;
    out->sharedSizeBytes = info.lds_size;
    out->maxDynamicSharedSizeBytes = static_cast<int>(65536 - info.lds_size);
    out->maxThreadsPerBlock = static_cast<int>(info.max_workgroup_size);
    out->numRegs = static_cast<int>(info.vgpr_count);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipFuncGetAttribute(int* value, int attribute, hipFunction_t function) {
  return api([&] { return attribute_of(value, attribute, function); });
}
GFX906_HIP hipError_t hipFuncSetAttribute(const void* function, int attribute, int value) {
  return api([&] {
    Function* known = resolve_function(function);
    if (known == nullptr) return hipErrorInvalidDeviceFunction;
    if (attribute == 9) return value >= -1 && value <= 100 ? hipSuccess : hipErrorInvalidValue;
    if (attribute != 8 || value < 0 || value > 65536) return hipErrorInvalidValue;
    known->dynamic_lds_limit = value;
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipFuncSetCacheConfig(const void* function, int config) {
  return api([&] {
    if (config < 0 || config > 3) return hipErrorInvalidValue;
    return resolve_function(function) != nullptr ? hipSuccess : hipErrorInvalidDeviceFunction;
  });
}
GFX906_HIP hipError_t hipFuncSetSharedMemConfig(const void* function, int config) {
  return hipFuncSetCacheConfig(function, config > 2 ? -1 : config);
}
GFX906_HIP hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* f,
                                                                   int size, size_t lds) {
  return api([&] { return active_blocks(blocks, f, size, lds); });
}
GFX906_HIP hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                            const void* f, int size,
                                                                            size_t lds, unsigned) {
  return api([&] { return active_blocks(blocks, f, size, lds); });
}
GFX906_HIP hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                         hipFunction_t f, int size,
                                                                         size_t lds) {
  return api([&] { return active_blocks(blocks, f, size, lds); });
}
GFX906_HIP hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, hipFunction_t f, int size, size_t lds, unsigned) {
  return api([&] { return active_blocks(blocks, f, size, lds); });
}
GFX906_HIP hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* f,
                                                        size_t lds, int limit) {
  return api([&] { return best_block(grid, block, f, lds, limit); });
}
GFX906_HIP hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block,
                                                              hipFunction_t f, size_t lds,
                                                              int limit) {
  return api([&] { return best_block(grid, block, f, lds, limit); });
}
GFX906_HIP hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                                       hipFunction_t f, size_t lds,
                                                                       int limit, unsigned) {
  return api([&] { return best_block(grid, block, f, lds, limit); });
}
