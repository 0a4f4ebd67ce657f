#include "loader/inlined.hpp"

#include <optional>
#include <unordered_map>

namespace gfx906 {
namespace {

enum Tag : uint64_t { kCompileUnit = 0x11, kInlinedSubroutine = 0x1d };
enum Attribute : uint64_t {
  kStmtList = 0x10,
  kLowPc = 0x11,
  kHighPc = 0x12,
  kRanges = 0x55,
  kCallFile = 0x58,
  kCallLine = 0x59,
  kAddrBase = 0x73,
  kRnglistsBase = 0x74,
};

struct AttributeForm {
  uint64_t name, form;
  int64_t constant;  // of an implicit one
};
struct Abbreviation {
  uint64_t tag = 0;
  bool children = false;
  std::vector<AttributeForm> attributes;
};
using Abbreviations = std::unordered_map<uint64_t, Abbreviation>;

Abbreviations read_abbreviations(Bytes section, uint64_t offset) {
  Abbreviations out;
  if (offset >= section.size()) return out;
  Cursor c{section.data() + offset, section.data() + section.size()};
  while (!c.bad) {
    const uint64_t code = c.uleb();
    if (code == 0) break;
    Abbreviation a;
    a.tag = c.uleb();
    a.children = c.u(1) != 0;
    for (;;) {
      AttributeForm f{c.uleb(), c.uleb(), 0};
      if (f.form == 0x21) f.constant = c.sleb();
      if (c.bad || (f.name == 0 && f.form == 0)) break;
      a.attributes.push_back(f);
    }
    out[code] = std::move(a);
  }
  return out;
}

// A value that may be an index into the table of addresses.
struct Value {
  uint64_t number = 0;
  enum Kind : uint8_t { kNumber, kAddress, kAddressIndex, kListIndex } kind = kNumber;
};

// Ranges may be referred to again and again; a large library has some hundred thousand.
constexpr size_t kMostCalls = 1u << 22;

struct Unit {
  const DwarfSections& sections;
  const std::map<uint64_t, uint32_t>& first_file;
  std::vector<InlinedCall>& out;
  uint64_t version = 0, address_bytes = 8;
  bool dwarf64 = false;
  uint64_t addr_base = 0, rnglists_base = 0, low_pc = 0;
  std::optional<uint32_t> files = {};

  int offset_bytes() const { return dwarf64 ? 8 : 4; }
  Value read(Cursor& c, uint64_t form, int64_t constant) const;
  uint64_t address(const Value& v) const;
  template <class F>
  void each_range(const Value& ranges, F&& f) const;
  void call(const Abbreviation& a, const std::vector<Value>& values) const;
  void begin(const Abbreviation& a, const std::vector<Value>& values);
  void walk(Cursor c, const Abbreviations& abbreviations);
};

// Bytes of a form that is a plain number of fixed size; 0 for the others.
int number_bytes(uint64_t form) {
  switch (form) {
    case 0x0b:  // data1, flag, ref1, strx1
    case 0x0c:
    case 0x11:
    case 0x25:
      return 1;
    case 0x05:  // data2, ref2, strx2
    case 0x12:
    case 0x26:
      return 2;
    case 0x27:  // strx3
      return 3;
    case 0x06:  // data4, ref4, ref_sup4, strx4
    case 0x13:
    case 0x1c:
    case 0x28:
      return 4;
    case 0x07:  // data8, ref8, ref_sig8, ref_sup8
    case 0x14:
    case 0x20:
    case 0x24:
      return 8;
    default:
      return 0;
  }
}

Value Unit::read(Cursor& c, uint64_t form, int64_t constant) const {
  if (const int bytes = number_bytes(form)) return {c.u(bytes)};
  switch (form) {
    case 0x01:  // addr
      return {c.u(static_cast<int>(address_bytes)), Value::kAddress};
    case 0x03:  // blocks
      c.skip(c.u(2));
      return {};
    case 0x04:
      c.skip(c.u(4));
      return {};
    case 0x0a:
      c.skip(c.u(1));
      return {};
    case 0x09:
    case 0x18:
      c.skip(c.uleb());
      return {};
    case 0x08:  // string
      c.str();
      return {};
    case 0x0d:  // sdata
      return {static_cast<uint64_t>(c.sleb())};
    case 0x0f:  // udata, ref_udata, strx
    case 0x15:
    case 0x1a:
      return {c.uleb()};
    case 0x0e:  // offsets into other sections
    case 0x10:
    case 0x17:
    case 0x1d:
    case 0x1f:
      return {c.u(offset_bytes())};
    case 0x16: {  // the form stands here, and is not this one again
      const uint64_t stated = c.uleb();
      c.bad |= stated == form;
      return c.bad ? Value{} : read(c, stated, 0);
    }
    case 0x19:  // flag_present
      return {1};
    case 0x1b:  // addrx, and of fixed size
      return {c.uleb(), Value::kAddressIndex};
    case 0x29:
    case 0x2a:
    case 0x2b:
    case 0x2c:
      return {c.u(static_cast<int>(form - 0x28)), Value::kAddressIndex};
    case 0x1e:  // data16
      c.skip(16);
      return {};
    case 0x21:  // implicit_const
      return {static_cast<uint64_t>(constant)};
    case 0x22:  // loclistx, rnglistx
    case 0x23:
      return {c.uleb(), form == 0x23 ? Value::kListIndex : Value::kNumber};
    default:
      c.bad = true;
      return {};
  }
}

uint64_t Unit::address(const Value& v) const {
  if (v.kind != Value::kAddressIndex) return v.number;
  const uint64_t at = addr_base + v.number * address_bytes;
  if (at > sections.addr.size()) return 0;
  Cursor c{sections.addr.data() + at, sections.addr.data() + sections.addr.size()};
  return c.u(static_cast<int>(address_bytes));
}

template <class F>
void Unit::each_range(const Value& ranges, F&& f) const {
  uint64_t at = ranges.number, base = low_pc;
  if (version < 5) {
    if (at > sections.ranges.size()) return;
    Cursor c{sections.ranges.data() + at, sections.ranges.data() + sections.ranges.size()};
    for (;;) {
      const uint64_t low = c.u(8), high = c.u(8);
      if (c.bad || (low == 0 && high == 0)) return;
      if (low == ~uint64_t{0}) {
        base = high;
      } else {
        f(base + low, base + high);
      }
    }
  }
  const Bytes& lists = sections.rnglists;
  if (ranges.kind == Value::kListIndex) {
    const uint64_t entry = rnglists_base + at * static_cast<uint64_t>(offset_bytes());
    if (entry > lists.size()) return;
    Cursor c{lists.data() + entry, lists.data() + lists.size()};
    at = rnglists_base + c.u(offset_bytes());
  }
  if (at > lists.size()) return;
  Cursor c{lists.data() + at, lists.data() + lists.size()};
  const auto indexed = [&] { return address({c.uleb(), Value::kAddressIndex}); };
  while (!c.bad) {
    switch (c.u(1)) {
      case 1:
        base = indexed();
        break;
      case 2: {
        const uint64_t low = indexed();
        f(low, indexed());
        break;
      }
      case 3: {
        const uint64_t low = indexed();
        f(low, low + c.uleb());
        break;
      }
      case 4: {
        const uint64_t low = base + c.uleb();
        f(low, base + c.uleb());
        break;
      }
      case 5:
        base = c.u(8);
        break;
      case 6: {
        const uint64_t low = c.u(8);
        f(low, c.u(8));
        break;
      }
      case 7: {
        const uint64_t low = c.u(8);
        f(low, low + c.uleb());
        break;
      }
      default:
        return;
    }
  }
}

void Unit::call(const Abbreviation& a, const std::vector<Value>& values) const {
  uint64_t file = 0, line = 0, low = 0;
  std::optional<Value> high, ranges;
  for (size_t k = 0; k < values.size(); ++k) {
    const Value& v = values[k];
    switch (a.attributes[k].name) {
      case kCallFile:
        file = v.number;
        break;
      case kCallLine:
        line = v.number;
        break;
      case kLowPc:
        low = address(v);
        break;
      case kHighPc:
        high = v;
        break;
      case kRanges:
        ranges = v;
        break;
      default:
        break;
    }
  }
  if (!files) return;
  const auto add = [&](uint64_t from, uint64_t to) {
    if (from < to)
      out.push_back({from, to, *files + static_cast<uint32_t>(file), static_cast<uint32_t>(line)});
  };
  if (ranges) {
    each_range(*ranges, add);
  } else if (high) {
    add(low, high->kind == Value::kNumber ? low + high->number : address(*high));
  }
}

void Unit::begin(const Abbreviation& a, const std::vector<Value>& values) {
  std::optional<Value> low;
  for (size_t k = 0; k < values.size(); ++k) {
    const Value& v = values[k];
    switch (a.attributes[k].name) {
      case kStmtList:
        if (const auto at = first_file.find(v.number); at != first_file.end()) files = at->second;
        break;
      case kAddrBase:
        addr_base = v.number;
        break;
      case kRnglistsBase:
        rnglists_base = v.number;
        break;
      case kLowPc:
        low = v;
        break;
      default:
        break;
    }
  }
  if (low) low_pc = address(*low);
}

// The entries come in the order of their tree, so outer calls before inner ones.
void Unit::walk(Cursor c, const Abbreviations& abbreviations) {
  std::vector<Value> values;
  while (c.p < c.end && !c.bad) {
    const uint64_t code = c.uleb();
    if (code == 0) continue;
    const auto found = abbreviations.find(code);
    if (found == abbreviations.end()) return;
    const Abbreviation& a = found->second;
    values.clear();
    for (const AttributeForm& f : a.attributes) values.push_back(read(c, f.form, f.constant));
    if (c.bad) return;
    if (a.tag == kCompileUnit) begin(a, values);
    if (a.tag == kInlinedSubroutine) call(a, values);
    if (out.size() > kMostCalls) return;
  }
}

}  // namespace

std::vector<InlinedCall> read_inlined_calls(const DwarfSections& s,
                                            const std::map<uint64_t, uint32_t>& first_file) {
  std::vector<InlinedCall> out;
  Abbreviations abbreviations;  // those that the last unit had; units often share them
  std::optional<uint64_t> read_from;
  Cursor all{s.info.data(), s.info.data() + s.info.size()};
  while (all.p < all.end && !all.bad) {
    Unit unit{s, first_file, out};
    uint64_t length = all.u(4);
    unit.dwarf64 = length == 0xffffffff;
    if (unit.dwarf64) length = all.u(8);
    Cursor c = all;
    all.skip(length);
    if (all.bad) break;
    c.end = all.p;
    unit.version = c.u(2);
    if (unit.version < 4 || unit.version > 5) continue;
    const bool five = unit.version == 5;
    const uint64_t type = five ? c.u(1) : 1;
    if (five) unit.address_bytes = c.u(1);
    const uint64_t table = c.u(unit.offset_bytes());
    if (!five) unit.address_bytes = c.u(1);
    if (type != 1 || unit.address_bytes != 8 || c.bad) continue;  // not a compile unit
    if (read_from != table) {
      abbreviations = read_abbreviations(s.abbrev, table);
      read_from = table;
    }
    unit.walk(c, abbreviations);
  }
  return out;
}

}  // namespace gfx906
