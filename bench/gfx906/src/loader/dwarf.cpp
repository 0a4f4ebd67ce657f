#include "loader/dwarf.hpp"

#include "loader/dwarf_cursor.hpp"
#include "loader/inlined.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace gfx906 {

DwarfSections find_dwarf_sections(Bytes elf) {
  DwarfSections out;
  if (elf.size() < sizeof(Elf64_Ehdr)) return out;
  Elf64_Ehdr h;
  std::memcpy(&h, elf.data(), sizeof h);
  if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shoff > elf.size() ||
      uint64_t{h.e_shnum} * sizeof(Elf64_Shdr) > elf.size() - h.e_shoff ||
      h.e_shstrndx >= h.e_shnum) {
    return out;
  }
  std::vector<Elf64_Shdr> sh(h.e_shnum);
  std::memcpy(sh.data(), elf.data() + h.e_shoff, sh.size() * sizeof(Elf64_Shdr));
  const auto bytes = [&](const Elf64_Shdr& s) {
    return s.sh_offset <= elf.size() && s.sh_size <= elf.size() - s.sh_offset &&
                   !(s.sh_flags & SHF_COMPRESSED)
               ? elf.subspan(s.sh_offset, s.sh_size)
               : Bytes();
  };
  const Bytes names = bytes(sh[h.e_shstrndx]);
  for (const Elf64_Shdr& s : sh) {
    if (s.sh_type == SHT_NOBITS || s.sh_name >= names.size()) continue;
    const char* t = reinterpret_cast<const char*>(names.data()) + s.sh_name;
    const std::string_view name(t, strnlen(t, names.size() - s.sh_name));
    const std::pair<std::string_view, Bytes*> wanted[] = {
        {".debug_line", &out.line},         {".debug_str", &out.str},
        {".debug_line_str", &out.line_str}, {".debug_info", &out.info},
        {".debug_abbrev", &out.abbrev},     {".debug_ranges", &out.ranges},
        {".debug_rnglists", &out.rnglists}, {".debug_addr", &out.addr}};
    for (const auto& [known, place] : wanted)
      if (name == known) *place = bytes(s);
  }
  return out;
}

namespace {

constexpr size_t kMostFiles = 1u << 16;  // names may be referred to again and again

struct Entry {
  std::string path;
  uint64_t dir = 0;
};

// DWARF 5 describes its file entries by (content, form) pairs.
std::vector<Entry> read_entries(Cursor& c, const DwarfSections& s, bool dwarf64) {
  std::vector<std::pair<uint64_t, uint64_t>> format(c.u(1));
  for (auto& [content, form] : format) {
    content = c.uleb();
    form = c.uleb();
  }
  const uint64_t count = c.uleb();
  std::vector<Entry> out;
  if (format.empty()) return out;  // entries that take no space could be any number
  if (count > kMostFiles) c.bad = true;
  for (uint64_t k = 0; k < count && !c.bad; ++k) {
    Entry e;
    for (const auto& [content, form] : format) {
      std::string text;
      uint64_t number = 0;
      switch (form) {
        case 0x08:
          text = c.str();
          break;  // string
        case 0x0e:
        case 0x1f: {  // strp, line_strp
          const uint64_t at = c.u(dwarf64 ? 8 : 4);
          const Bytes table = form == 0x0e ? s.str : s.line_str;
          if (at < table.size())
            text = Cursor{table.data() + at, table.data() + table.size()}.str();
          break;
        }
        case 0x0b:
          number = c.u(1);
          break;  // data1
        case 0x05:
          number = c.u(2);
          break;
        case 0x06:
          number = c.u(4);
          break;
        case 0x07:
          number = c.u(8);
          break;
        case 0x0f:
          number = c.uleb();
          break;  // udata
        case 0x1e:
          c.skip(16);
          break;  // data16: a checksum
        case 0x09:
          c.skip(c.uleb());
          break;  // block
        default:
          c.bad = true;
      }
      if (content == 1) e.path = text;
      if (content == 2) e.dir = number;
    }
    out.push_back(std::move(e));
  }
  return out;
}

std::string join(const std::vector<Entry>& dirs, const Entry& e) {
  if (e.path.starts_with('/') || e.dir >= dirs.size() || dirs[e.dir].path.empty()) return e.path;
  return dirs[e.dir].path + "/" + e.path;
}

void read_unit(Cursor c, uint64_t offset, bool dwarf64, const DwarfSections& sections,
               LineTable& out) {
  const uint64_t version = c.u(2);
  if (version < 2 || version > 5) return;
  if (version >= 5) c.skip(2);  // address and segment sizes
  const uint64_t header = c.u(dwarf64 ? 8 : 4);
  Cursor program = c;
  program.skip(header);
  const uint64_t min_inst = c.u(1);
  if (version >= 4) c.skip(1);
  c.skip(1);  // default is_stmt
  const auto line_base = static_cast<int8_t>(c.u(1));
  const uint64_t line_range = c.u(1), opcode_base = c.u(1);
  if (c.bad || program.bad || !line_range || !opcode_base) return;
  std::vector<uint64_t> lengths(opcode_base);
  for (uint64_t k = 1; k < opcode_base; ++k) lengths[k] = c.u(1);
  std::vector<Entry> dirs, files;
  if (version >= 5) {
    dirs = read_entries(c, sections, dwarf64);
    files = read_entries(c, sections, dwarf64);
  } else {
    dirs.emplace_back();
    for (std::string d; !c.bad && !(d = c.str()).empty();) dirs.push_back({d, 0});
    files.emplace_back();
    for (std::string f; !c.bad && !(f = c.str()).empty();) {
      files.push_back({f, c.uleb()});
      c.uleb();
      c.uleb();
    }
  }
  const auto first_file = static_cast<uint32_t>(out.files.size());
  if (c.bad || out.files.size() + files.size() > kMostFiles) return;
  for (const Entry& f : files) out.files.push_back(join(dirs, f));
  out.first_file[offset] = first_file;

  uint64_t address = 0, file = 1, line = 1;
  const auto emit = [&](bool end) {
    out.rows.push_back(
        {address, static_cast<uint32_t>(first_file + file), static_cast<uint32_t>(line), end});
  };
  while (program.p < program.end && !program.bad) {
    const uint64_t op = program.u(1);
    if (op >= opcode_base) {
      address += (op - opcode_base) / line_range * min_inst;
      line +=
          static_cast<uint64_t>(line_base + static_cast<int64_t>((op - opcode_base) % line_range));
      emit(false);
      continue;
    }
    switch (op) {
      case 0: {
        const uint64_t size = program.uleb();
        Cursor ext = program;
        program.skip(size);
        const uint64_t sub = ext.u(1);
        if (sub == 1) {
          emit(true);
          address = 0, file = 1, line = 1;
        } else if (sub == 2) {
          address = ext.u(8);
        }
        break;
      }
      case 1:
        emit(false);
        break;
      case 2:
        address += program.uleb() * min_inst;
        break;
      case 3:
        line += static_cast<uint64_t>(program.sleb());
        break;
      case 4:
        file = program.uleb();
        break;
      case 8:
        address += (255 - opcode_base) / line_range * min_inst;
        break;
      case 9:
        address += program.u(2);
        break;
      default:
        for (uint64_t k = 0; k < lengths[op]; ++k) program.uleb();
    }
  }
}

}  // namespace

std::optional<SourceLine> LineTable::find(uint64_t address) const {
  auto it = std::upper_bound(rows.begin(), rows.end(), address,
                             [](uint64_t a, const Row& r) { return a < r.address; });
  if (it == rows.begin()) return std::nullopt;
  --it;
  if (it->end || it->file >= files.size()) return std::nullopt;
  SourceLine out{files[it->file], it->line, {}};
  // From the innermost call outwards.
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    if (address < call->low || address >= call->high || call->file >= files.size()) continue;
    out.inlined_at.push_back({files[call->file], call->line, {}});
  }
  return out;
}

LineTable read_line_table(std::span<const uint8_t> elf) {
  LineTable out;
  const DwarfSections s = find_dwarf_sections(elf);
  Cursor all{s.line.data(), s.line.data() + s.line.size()};
  while (all.p < all.end && !all.bad) {
    const auto offset = static_cast<uint64_t>(all.p - s.line.data());
    uint64_t length = all.u(4);
    const bool dwarf64 = length == 0xffffffff;
    if (dwarf64) length = all.u(8);
    Cursor unit = all;
    all.skip(length);
    if (all.bad) break;
    unit.end = all.p;
    read_unit(unit, offset, dwarf64, s, out);
  }
  std::stable_sort(out.rows.begin(), out.rows.end(),
                   [](const LineTable::Row& a, const LineTable::Row& b) {
                     return a.address < b.address || (a.address == b.address && a.end && !b.end);
                   });
  out.calls = read_inlined_calls(s, out.first_file);
  return out;
}

}  // namespace gfx906
