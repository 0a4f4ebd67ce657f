// `gfx906-sim kernels` and `disasm`: what is in a file.
#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "commands.hpp"
#include "machine.hpp"

namespace gfx906::cli {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

// All gfx906 code objects of a file, loaded. An error text, or "".
std::string load(const std::string& path, std::vector<std::shared_ptr<CodeObject>>& objects) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return path + " is a folder";
  // A device or a pipe may have no end, or wait for ever.
  if (std::filesystem::is_other(path, error)) return path + " is no regular file";
  std::ifstream file(path, std::ios::binary);
  if (!file) return "cannot open " + path;
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  auto blobs = extract_code_objects(bytes);
  if (!blobs) return path + ": " + blobs.status().message();
  for (const CodeObjectBlob& blob : *blobs) {
    auto object = CodeObject::load(blob.bytes);
    if (!object) return path + ": " + blob.target + ": " + object.status().message();
    objects.push_back(*object);
  }
  return objects.empty() ? path + " holds no code for gfx906" : "";
}

// The group size that a kernel is judged by: what it demands, else at most 256 threads as most
// programs use.
uint32_t usual_group(const KernelInfo& info) {
  const auto& r = info.required_workgroup_size;
  if (r[0] != 0) return r[0] * r[1] * r[2];
  return std::min<uint32_t>(256, info.max_workgroup_size);
}

void print_row(const KernelInfo& info) {
  const uint32_t group = usual_group(info);
  const Occupancy fit = occupancy(info, group);
  std::printf("%5u %5u %7u %8u %7u %6u %6u %5u %-6s %s\n", info.vgpr_count, info.sgpr_count,
              info.lds_size, info.scratch_size, info.kernarg_size, info.max_workgroup_size, group,
              fit.waves_per_simd, fit.limit, demangled(info.name).c_str());
}

}  // namespace

int kernels(const std::vector<std::string>& args) {
  if (args.size() != 1) return fail("usage: gfx906-sim kernels FILE");
  std::vector<std::shared_ptr<CodeObject>> objects;
  if (const std::string error = load(args[0], objects); !error.empty()) return fail(error);
  size_t count = 0;
  for (const auto& object : objects) {
    std::printf("# %s, code object v%d\n", object->target().c_str(), object->abi_version());
    std::printf("%5s %5s %7s %8s %7s %6s %6s %5s %-6s %s\n", "VGPR", "SGPR", "LDS", "scratch",
                "kernarg", "max", "group", "waves", "limit", "kernel");
    for (const auto& kernel : object->kernels()) print_row(kernel->info());
    count += object->kernels().size();
  }
  std::printf(
      "# %zu kernels in %zu code objects; waves: per SIMD (of 10) with groups of that size\n",
      count, objects.size());
  return 0;
}

int disasm(const std::vector<std::string>& args) {
  if (args.empty() || args.size() > 2) return fail("usage: gfx906-sim disasm FILE [KERNEL]");
  std::vector<std::shared_ptr<CodeObject>> objects;
  if (const std::string error = load(args[0], objects); !error.empty()) return fail(error);
  bool found = false;
  for (const auto& object : objects) {
    for (const auto& kernel : object->kernels()) {
      const std::string& name = kernel->info().name;
      if (args.size() == 2 && name != args[1] && demangled(name) != args[1]) continue;
      found = true;
      auto text = disassemble(*object, *kernel);
      if (!text) return fail(name + ": " + text.status().message());
      std::printf("%s:\n%s\n", name.c_str(), text->c_str());
    }
  }
  if (found) return 0;
  return fail(args.size() == 2 ? "no kernel '" + args[1] + "' in " + args[0]
                               : args[0] + " holds no kernel");
}

}  // namespace gfx906::cli
