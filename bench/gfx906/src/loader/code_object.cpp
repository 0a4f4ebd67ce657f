// Loads HSA code objects (ELF, ABI version 3 to 6) into host memory.
#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "decode/program.hpp"
#include "loader/dwarf.hpp"
#include "loader/msgpack.hpp"
#include "machine.hpp"

namespace gfx906 {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kOsAbiHsa = 64;
constexpr uint32_t kMachGfx906 = 0x2f;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint64_t kMaxImage = 8ull << 30;

Status corrupt(const std::string& what) {
  return Status(Code::kCorrupt, "code object: " + what);
}

struct KindName {
  const char* name;
  ArgKind kind;
};
constexpr KindName kKinds[] = {
    {"by_value", ArgKind::kByValue},
    {"global_buffer", ArgKind::kGlobalBuffer},
    {"dynamic_shared_pointer", ArgKind::kDynamicSharedPointer},
    {"image", ArgKind::kImage},
    {"sampler", ArgKind::kSampler},
    {"pipe", ArgKind::kPipe},
    {"queue", ArgKind::kQueue},
    {"hidden_block_count_x", ArgKind::kHiddenBlockCountX},
    {"hidden_block_count_y", ArgKind::kHiddenBlockCountY},
    {"hidden_block_count_z", ArgKind::kHiddenBlockCountZ},
    {"hidden_group_size_x", ArgKind::kHiddenGroupSizeX},
    {"hidden_group_size_y", ArgKind::kHiddenGroupSizeY},
    {"hidden_group_size_z", ArgKind::kHiddenGroupSizeZ},
    {"hidden_remainder_x", ArgKind::kHiddenRemainderX},
    {"hidden_remainder_y", ArgKind::kHiddenRemainderY},
    {"hidden_remainder_z", ArgKind::kHiddenRemainderZ},
    {"hidden_global_offset_x", ArgKind::kHiddenGlobalOffsetX},
    {"hidden_global_offset_y", ArgKind::kHiddenGlobalOffsetY},
    {"hidden_global_offset_z", ArgKind::kHiddenGlobalOffsetZ},
    {"hidden_grid_dims", ArgKind::kHiddenGridDims},
    {"hidden_none", ArgKind::kHiddenNone},
    {"hidden_printf_buffer", ArgKind::kHiddenPrintfBuffer},
    {"hidden_hostcall_buffer", ArgKind::kHiddenHostcallBuffer},
    {"hidden_default_queue", ArgKind::kHiddenDefaultQueue},
    {"hidden_completion_action", ArgKind::kHiddenCompletionAction},
    {"hidden_multigrid_sync_arg", ArgKind::kHiddenMultigridSyncArg},
    {"hidden_heap_v1", ArgKind::kHiddenHeapV1},
    {"hidden_dynamic_lds_size", ArgKind::kHiddenDynamicLdsSize},
    {"hidden_private_base", ArgKind::kHiddenPrivateBase},
    {"hidden_shared_base", ArgKind::kHiddenSharedBase},
    {"hidden_queue_ptr", ArgKind::kHiddenQueuePtr},
};
ArgKind arg_kind(std::string_view name) {
  for (const KindName& k : kKinds) {
    if (name == k.name) return k.kind;
  }
  return ArgKind::kUnknown;
}

void fill_metadata(const MsgValue& m, KernelInfo& k) {
  k.name = m.text(".name");
  k.symbol = m.text(".symbol");
  const auto u32 = [&](const char* key, uint32_t fallback) {
    return static_cast<uint32_t>(m.uint(key, fallback));
  };
  k.kernarg_size = u32(".kernarg_segment_size", 0);
  k.kernarg_align = std::max(1u, u32(".kernarg_segment_align", 8));
  k.lds_size = u32(".group_segment_fixed_size", 0);
  k.scratch_size = u32(".private_segment_fixed_size", 0);
  k.dynamic_stack = m.uint(".uses_dynamic_stack");
  k.sgpr_count = u32(".sgpr_count", 0);
  k.vgpr_count = u32(".vgpr_count", 0);
  k.sgpr_spills = u32(".sgpr_spill_count", 0);
  k.vgpr_spills = u32(".vgpr_spill_count", 0);
  k.max_workgroup_size = u32(".max_flat_workgroup_size", 1024);
  k.wavefront_size = u32(".wavefront_size", 64);
  if (const MsgValue* r = m.find(".reqd_workgroup_size"); r && r->items.size() == 3) {
    for (int d = 0; d < 3; ++d)
      k.required_workgroup_size[d] = static_cast<uint32_t>(r->items[d].integer);
  }
  const MsgValue* args = m.find(".args");
  for (size_t a = 0; args && a < args->items.size(); ++a) {
    const MsgValue& v = args->items[a];
    ArgInfo info;
    info.name = v.text(".name");
    info.type_name = v.text(".type_name");
    info.value_kind = v.text(".value_kind");
    info.address_space = v.text(".address_space");
    info.kind = arg_kind(info.value_kind);
    info.offset = static_cast<uint32_t>(v.uint(".offset"));
    info.size = static_cast<uint32_t>(v.uint(".size"));
    if (!is_hidden(info.kind))
      k.explicit_kernarg_size = std::max(
          k.explicit_kernarg_size,
          static_cast<uint32_t>(std::min<uint64_t>(uint64_t{info.offset} + info.size, ~0u)));
    k.args.push_back(std::move(info));
  }
}

// What the descriptor says is what the hardware obeys; the metadata fills in what it does not hold.
void fill_descriptor(const uint8_t* d, uint64_t address, KernelInfo& k) {
  const auto u32 = [&](size_t at) {
    uint32_t v;
    std::memcpy(&v, d + at, 4);
    return v;
  };
  int64_t entry;
  std::memcpy(&entry, d + 16, 8);
  k.lds_size = u32(0);
  k.scratch_size = u32(4);
  k.kernarg_size = std::max(k.kernarg_size, u32(8));
  k.descriptor_address = address;
  k.entry_address = address + static_cast<uint64_t>(entry);
  k.pgm_rsrc1 = u32(48);
  k.pgm_rsrc2 = u32(52);
  k.code_properties = u32(56) & 0xffff;
  k.vgpr_alloc = ((k.pgm_rsrc1 & 63) + 1) * 4;
  k.sgpr_alloc = (((k.pgm_rsrc1 >> 6) & 15) / 2 + 1) * 16;
}

}  // namespace

struct CodeObject::Impl {
  CodeObject* self = nullptr;
  std::vector<uint8_t> file;
  uint8_t* image = nullptr;
  uint64_t image_size = 0, load_bias = 0;  // address = value + bias
  int abi = 0;
  std::string target;
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<SymbolInfo> symbols;  // sorted by address
  std::map<std::string, size_t, std::less<>> symbol_by_name;
  std::map<std::string, const Kernel*, std::less<>> kernel_by_name;
  std::vector<std::pair<uint64_t, uint64_t>> code;        // executable address ranges
  std::map<uint64_t, std::unique_ptr<Program>> programs;  // by base address
  std::map<std::string, MsgValue> metadata;               // kernel name -> its map
  LineTable lines;
  bool lines_read = false;
  std::mutex mutex;

  ~Impl() {
    if (image) munmap(image, image_size);
  }

  const Elf64_Ehdr& header() const { return *reinterpret_cast<const Elf64_Ehdr*>(file.data()); }
  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= file.size() && size <= file.size() - offset;
  }
  bool in_image(uint64_t value, uint64_t size) const {
    return value + load_bias >= reinterpret_cast<uint64_t>(image) &&
           value + load_bias - reinterpret_cast<uint64_t>(image) <= image_size &&
           size <= image_size - (value + load_bias - reinterpret_cast<uint64_t>(image));
  }
  std::vector<Elf64_Shdr> sections() const;
  Status check_header();
  Status check_overlaps() const;
  Status map_segments();
  Status read_symbols(const LoadOptions& options);
  Status relocate(const Elf64_Shdr& rela, const Elf64_Shdr& symtab, const LoadOptions& options);
  Status read_notes();
  Status parse_metadata(std::span<const uint8_t> bytes);
  Status make_kernels();
};

std::vector<Elf64_Shdr> CodeObject::Impl::sections() const {
  const Elf64_Ehdr& h = header();
  std::vector<Elf64_Shdr> out;
  if (h.e_shentsize != sizeof(Elf64_Shdr) ||
      !inside(h.e_shoff, uint64_t{h.e_shnum} * sizeof(Elf64_Shdr)))
    return out;
  out.resize(h.e_shnum);
  std::memcpy(out.data(), file.data() + h.e_shoff, out.size() * sizeof(Elf64_Shdr));
  return out;
}

Status CodeObject::Impl::check_header() {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, 4) != 0)
    return corrupt("not an ELF file");
  const Elf64_Ehdr& h = header();
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB)
    return corrupt("not 64-bit little-endian");
  if (h.e_machine != kMachineAmdgpu)
    return corrupt("e_machine is " + std::to_string(h.e_machine) + ", not AMDGPU (224)");
  if (h.e_ident[EI_OSABI] != kOsAbiHsa)
    return corrupt("OS ABI is " + std::to_string(h.e_ident[EI_OSABI]) + ", not HSA (64)");
  abi = h.e_ident[EI_ABIVERSION] + 2;
  if (abi < 3 || abi > 6)
    return Status(Code::kUnsupported,
                  "code object: ABI version " + std::to_string(abi) + " (3 to 6 are known)");
  if (h.e_type != ET_DYN)
    return Status(Code::kUnsupported,
                  "code object: e_type is " + std::to_string(h.e_type) + ", not a linked object");
  if ((h.e_flags & 0xff) != kMachGfx906) {
    return Status(Code::kUnsupported, "code object: built for another processor (e_flags machine " +
                                          std::to_string(h.e_flags & 0xff) + ", gfx906 is 47)");
  }
  if (h.e_phentsize != sizeof(Elf64_Phdr) ||
      !inside(h.e_phoff, uint64_t{h.e_phnum} * sizeof(Elf64_Phdr))) {
    return corrupt("program headers pass the end of the file");
  }
  return {};
}

// Parts that overlap would make the work and the memory grow with the square of the file's size.
Status CodeObject::Impl::check_overlaps() const {
  uint64_t left = file.size();
  for (const Elf64_Shdr& s : sections()) {
    if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL) continue;
    if (s.sh_size > left)
      return corrupt("sections overlap or pass the end (section at offset " +
                     std::to_string(s.sh_offset) + ", size " + std::to_string(s.sh_size) + ")");
    left -= s.sh_size;
  }
  return {};
}

Status CodeObject::Impl::map_segments() {
  std::vector<Elf64_Phdr> ph(header().e_phnum);
  std::memcpy(ph.data(), file.data() + header().e_phoff, ph.size() * sizeof(Elf64_Phdr));
  uint64_t lo = ~0ull, hi = 0, left = 2 * file.size();  // neighbours may share a page
  for (const Elf64_Phdr& p : ph) {
    if (p.p_type != PT_LOAD) continue;
    if (p.p_filesz > left) return corrupt("segments overlap at " + std::to_string(p.p_vaddr));
    left -= p.p_filesz;
    if (!inside(p.p_offset, p.p_filesz) || p.p_memsz < p.p_filesz || p.p_vaddr > kMaxImage ||
        p.p_memsz > kMaxImage) {
      return corrupt("segment at " + std::to_string(p.p_vaddr) + " has impossible sizes");
    }
    lo = std::min<uint64_t>(lo, p.p_vaddr & ~4095ull);
    hi = std::max<uint64_t>(hi, p.p_vaddr + p.p_memsz);
  }
  if (lo >= hi) return corrupt("no loadable segment");
  image_size = (hi - lo + 8191) & ~4095ull;
  void* at = mmap(nullptr, image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return Status(Code::kOutOfMemory, "code object: no memory for an image of " +
                                          std::to_string(image_size) + " bytes");
  image = static_cast<uint8_t*>(at);
  load_bias = reinterpret_cast<uint64_t>(image) - lo;
  for (const Elf64_Phdr& p : ph) {
    if (p.p_type != PT_LOAD) continue;
    std::memcpy(reinterpret_cast<void*>(p.p_vaddr + load_bias), file.data() + p.p_offset,
                p.p_filesz);
    if (p.p_flags & PF_X)
      code.emplace_back(p.p_vaddr + load_bias, p.p_vaddr + load_bias + p.p_filesz);
  }
  return {};
}

Status CodeObject::Impl::read_symbols(const LoadOptions& options) {
  const std::vector<Elf64_Shdr> sh = sections();
  uint64_t names_left = 4 * file.size();  // names may share their ends, but not without limit
  for (const uint32_t type : {SHT_DYNSYM, SHT_SYMTAB}) {
    for (const Elf64_Shdr& s : sh) {
      if (s.sh_type != type || s.sh_link >= sh.size()) continue;
      const Elf64_Shdr& str = sh[s.sh_link];
      if (!inside(s.sh_offset, s.sh_size) || !inside(str.sh_offset, str.sh_size))
        return corrupt("symbol table passes the end");
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym sym;
        std::memcpy(&sym, file.data() + s.sh_offset + at, sizeof sym);
        const int kind = ELF64_ST_TYPE(sym.st_info);
        if (sym.st_shndx == SHN_UNDEF || sym.st_shndx >= SHN_LORESERVE ||
            sym.st_name >= str.sh_size)
          continue;
        if (kind != STT_FUNC && kind != STT_OBJECT && kind != 10) continue;
        if (!in_image(sym.st_value, 0)) continue;
        const char* text = reinterpret_cast<const char*>(file.data() + str.sh_offset + sym.st_name);
        SymbolInfo info{std::string(text, strnlen(text, str.sh_size - sym.st_name)),
                        sym.st_value + load_bias, sym.st_size, kind != STT_OBJECT};
        if (info.name.size() > names_left) return corrupt("symbols' names overlap");
        names_left -= info.name.size();
        if (!symbol_by_name.emplace(info.name, 0).second) continue;
        symbols.push_back(std::move(info));
      }
    }
  }
  std::sort(symbols.begin(), symbols.end(),
            [](const SymbolInfo& a, const SymbolInfo& b) { return a.address < b.address; });
  for (size_t k = 0; k < symbols.size(); ++k) symbol_by_name[symbols[k].name] = k;
  for (const Elf64_Shdr& s : sh) {
    if (s.sh_type != SHT_RELA || s.sh_link >= sh.size() || !(s.sh_flags & SHF_ALLOC)) continue;
    if (const Status r = relocate(s, sh[s.sh_link], options); !r) return r;
  }
  return {};
}

Status CodeObject::Impl::relocate(const Elf64_Shdr& rela, const Elf64_Shdr& symtab,
                                  const LoadOptions& options) {
  const std::vector<Elf64_Shdr> sh = sections();
  if (!inside(rela.sh_offset, rela.sh_size) || !inside(symtab.sh_offset, symtab.sh_size))
    return corrupt("relocations pass the end");
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= rela.sh_size; at += sizeof(Elf64_Rela)) {
    Elf64_Rela r;
    std::memcpy(&r, file.data() + rela.sh_offset + at, sizeof r);
    const uint64_t index = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
    uint64_t value = load_bias;
    if (index) {
      Elf64_Sym sym;
      if (index * sizeof sym + sizeof sym > symtab.sh_size)
        return corrupt("relocation with symbol " + std::to_string(index));
      std::memcpy(&sym, file.data() + symtab.sh_offset + index * sizeof sym, sizeof sym);
      value = sym.st_value + load_bias;
      if (sym.st_shndx == SHN_UNDEF) {
        std::string name;
        if (symtab.sh_link < sh.size() && sym.st_name < sh[symtab.sh_link].sh_size &&
            inside(sh[symtab.sh_link].sh_offset, sh[symtab.sh_link].sh_size)) {
          const char* text = reinterpret_cast<const char*>(
              file.data() + sh[symtab.sh_link].sh_offset + sym.st_name);
          name.assign(text, strnlen(text, sh[symtab.sh_link].sh_size - sym.st_name));
        }
        value = options.resolve ? options.resolve(name) : 0;
        if (!value && ELF64_ST_BIND(sym.st_info) != STB_WEAK)
          return Status(Code::kNotFound, "code object: undefined symbol " + name);
      }
    }
    const uint64_t place = r.r_offset + load_bias, full = value + static_cast<uint64_t>(r.r_addend);
    enum : uint64_t {
      kNone = 0,
      kAbs32Lo = 1,
      kAbs32Hi = 2,
      kAbs64 = 3,
      kRel32 = 4,
      kRel64 = 5,
      kAbs32 = 6,
      kRel32Lo = 10,
      kRel32Hi = 11,
      kRelative64 = 13
    };
    const bool wide = type == kAbs64 || type == kRel64 || type == kRelative64;
    if (type == kNone) continue;
    if (!in_image(r.r_offset, wide ? 8 : 4))
      return corrupt("relocation at " + std::to_string(r.r_offset) + " is outside the image");
    uint64_t result;
    switch (type) {
      case kAbs64:
      case kAbs32:
      case kAbs32Lo:
        result = full;
        break;
      case kRelative64:
        result = load_bias + static_cast<uint64_t>(r.r_addend);
        break;
      case kAbs32Hi:
        result = full >> 32;
        break;
      case kRel64:
      case kRel32:
      case kRel32Lo:
        result = full - place;
        break;
      case kRel32Hi:
        result = (full - place) >> 32;
        break;
      default:
        return Status(Code::kUnsupported, "code object: relocation type " + std::to_string(type));
    }
    std::memcpy(reinterpret_cast<void*>(place), &result, wide ? 8 : 4);
  }
  return {};
}

// A linker that joins objects keeps one note per object, each with the kernels of its own.
Status CodeObject::Impl::read_notes() {
  bool found = false;
  for (const Elf64_Shdr& s : sections()) {
    if (s.sh_type != SHT_NOTE || !inside(s.sh_offset, s.sh_size)) continue;
    uint64_t at = 0;
    while (s.sh_size - at >= 12) {
      uint32_t h[3];
      std::memcpy(h, file.data() + s.sh_offset + at, 12);
      const uint64_t name = at + 12, desc = name + ((uint64_t{h[0]} + 3) & ~3ull);
      if (desc > s.sh_size || h[1] > s.sh_size - desc)
        return corrupt("note passes the end of its section");
      const std::string_view owner(reinterpret_cast<const char*>(file.data() + s.sh_offset + name),
                                   h[0] ? h[0] - 1 : 0);
      if (h[2] == kNoteMetadata && owner == "AMDGPU") {
        if (const Status p = parse_metadata({file.data() + s.sh_offset + desc, h[1]}); !p) return p;
        found = true;
      }
      at = std::min<uint64_t>(desc + ((uint64_t{h[1]} + 3) & ~3ull), s.sh_size);
    }
  }
  return found ? Status() : corrupt("no AMDGPU metadata note");
}

Status CodeObject::Impl::parse_metadata(std::span<const uint8_t> bytes) {
  Result<MsgValue> root = parse_msgpack(bytes);
  if (!root) return root.status();
  if (std::string t = root->text("amdhsa.target"); !t.empty()) target = std::move(t);
  const MsgValue* list = root->find("amdhsa.kernels");
  for (size_t k = 0; list && k < list->items.size(); ++k) {
    const MsgValue& m = list->items[k];
    metadata.emplace(m.text(".symbol"), m);
  }
  return {};
}

Status CodeObject::Impl::make_kernels() {
  for (const SymbolInfo& s : symbols) {
    if (s.is_function || s.size != 64 || !s.name.ends_with(".kd")) continue;
    auto kernel = std::unique_ptr<Kernel>(new Kernel);
    KernelInfo& info = kernel->info_;
    if (const auto m = metadata.find(s.name); m != metadata.end()) fill_metadata(m->second, info);
    info.symbol = s.name;
    if (info.name.empty()) info.name = s.name.substr(0, s.name.size() - 3);
    if (!in_image(s.address - load_bias, 64))
      return corrupt("descriptor of " + info.name + " is outside the image");
    fill_descriptor(reinterpret_cast<const uint8_t*>(s.address), s.address, info);
    const auto code_symbol = symbol_by_name.find(s.name.substr(0, s.name.size() - 3));
    if (code_symbol != symbol_by_name.end()) info.code_size = symbols[code_symbol->second].size;
    bool executable = false;
    for (const auto& [lo, hi] : code)
      executable |= info.entry_address >= lo && info.entry_address < hi;
    if (!executable) return corrupt("entry of kernel " + info.name + " is outside the code");
    kernel->owner_ = self;
    kernel_by_name.emplace(info.name, kernel.get());
    kernel_by_name.emplace(info.symbol, kernel.get());
    kernels.push_back(std::move(kernel));
  }
  return {};
}

CodeObject::CodeObject() : impl_(std::make_unique<Impl>()) {
  impl_->self = this;
}
CodeObject::~CodeObject() = default;

Result<std::shared_ptr<CodeObject>> CodeObject::load(std::span<const uint8_t> bytes,
                                                     const LoadOptions& options) {
  std::shared_ptr<CodeObject> object(new CodeObject);
  Impl& m = *object->impl_;
  m.file.assign(bytes.begin(), bytes.end());
  if (const Status s = m.check_header(); !s) return s;
  if (const Status s = m.check_overlaps(); !s) return s;
  if (const Status s = m.map_segments(); !s) return s;
  if (const Status s = m.read_symbols(options); !s) return s;
  if (const Status s = m.read_notes(); !s) return s;
  if (const Status s = m.make_kernels(); !s) return s;
  if (m.target.empty()) m.target = "amdgcn-amd-amdhsa--gfx906";
  return object;
}

const std::vector<std::unique_ptr<Kernel>>& CodeObject::kernels() const {
  return impl_->kernels;
}
const std::vector<SymbolInfo>& CodeObject::symbols() const {
  return impl_->symbols;
}
int CodeObject::abi_version() const {
  return impl_->abi;
}
const std::string& CodeObject::target() const {
  return impl_->target;
}
std::span<uint8_t> CodeObject::image() const {
  return {impl_->image, impl_->image_size};
}

const Kernel* CodeObject::find_kernel(std::string_view name) const {
  const auto it = impl_->kernel_by_name.find(name);
  return it == impl_->kernel_by_name.end() ? nullptr : it->second;
}

const SymbolInfo* CodeObject::find_symbol(std::string_view name) const {
  const auto it = impl_->symbol_by_name.find(name);
  return it == impl_->symbol_by_name.end() ? nullptr : &impl_->symbols[it->second];
}

const SymbolInfo* CodeObject::symbol_at(uint64_t address) const {
  const auto& all = impl_->symbols;
  auto it = std::upper_bound(all.begin(), all.end(), address,
                             [](uint64_t a, const SymbolInfo& s) { return a < s.address; });
  while (it != all.begin()) {
    --it;
    if (address < it->address + std::max<uint64_t>(it->size, 1)) return &*it;
    if (address - it->address > (1u << 28)) break;
  }
  return nullptr;
}

Result<const Program*> CodeObject::program_at(uint64_t address) {
  Impl& m = *impl_;
  const std::lock_guard lock(m.mutex);
  auto it = m.programs.upper_bound(address);
  if (it != m.programs.begin()) {
    const Program& p = *std::prev(it)->second;
    if (address - p.base() < p.size()) return &p;
  }
  uint64_t start = 0, limit = 0;
  for (const auto& [lo, hi] : m.code) {
    if (address >= lo && address < hi) start = lo, limit = hi;
  }
  char hex[32];
  snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(address));
  if (!limit || address % 4)
    return Status(Code::kFault,
                  std::string("jump to ") + hex + ", where this code object has no code");
  const SymbolInfo* s = symbol_at(address);
  uint64_t base = address, end = limit;
  std::string name = hex;
  if (s && (s->address < start || s->address % 4 != 0)) s = nullptr;
  if (s && s->is_function) {
    base = s->address;
    name = s->name;
    if (s->size && s->size < limit - s->address) end = s->address + s->size;
  }
  if (!s || !s->is_function || !s->size) {
    const auto next = std::find_if(m.symbols.begin(), m.symbols.end(), [&](const SymbolInfo& x) {
      return x.address > address && x.is_function;
    });
    if (next != m.symbols.end()) end = std::min(end, next->address);
  }
  end = std::min(end, limit);
  return m.programs.emplace(base, std::make_unique<Program>(*this, name, base, end - base))
      .first->second.get();
}

std::optional<SourceLine> CodeObject::source_line(uint64_t address) const {
  Impl& m = *impl_;
  const std::lock_guard lock(m.mutex);
  if (!m.lines_read) {
    m.lines = read_line_table(m.file);
    m.lines_read = true;
  }
  return m.lines.find(address - m.load_bias);
}

}  // namespace gfx906
