#include "loader/msgpack.hpp"

namespace gfx906 {
namespace {

// A library of twenty thousand kernels has about half as many. Each takes a hundred bytes.
constexpr uint64_t kMostValues = 1u << 23;

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> b) : b_(b) {}
  bool value(MsgValue& out, int depth = 0) {
    if (depth > 32 || pos_ >= b_.size() || ++values_ > kMostValues) return false;
    const uint8_t t = b_[pos_++];
    if (t < 0x80) return integer(out, t);
    if (t >= 0xe0) return integer(out, static_cast<int8_t>(t));
    if (t < 0x90) return map(out, t & 15, depth);
    if (t < 0xa0) return array(out, t & 15, depth);
    if (t < 0xc0) return string(out, t & 31);
    uint64_t n = 0;
    switch (t) {
      case 0xc0:
        return true;
      case 0xc2:
      case 0xc3:
        out.kind = MsgValue::Kind::kBool;
        out.integer = t & 1;
        return true;
      case 0xc4:
      case 0xd9:
        return big(n, 1) && string(out, n);
      case 0xc5:
      case 0xda:
        return big(n, 2) && string(out, n);
      case 0xc6:
      case 0xdb:
        return big(n, 4) && string(out, n);
      case 0xca:
        return big(n, 4);  // floats do not occur in this metadata; skipped
      case 0xcb:
        return big(n, 8);
      case 0xcc:
        return big(n, 1) && integer(out, static_cast<int64_t>(n));
      case 0xcd:
        return big(n, 2) && integer(out, static_cast<int64_t>(n));
      case 0xce:
        return big(n, 4) && integer(out, static_cast<int64_t>(n));
      case 0xcf:
        return big(n, 8) && integer(out, static_cast<int64_t>(n));
      case 0xd0:
        return big(n, 1) && integer(out, static_cast<int8_t>(n));
      case 0xd1:
        return big(n, 2) && integer(out, static_cast<int16_t>(n));
      case 0xd2:
        return big(n, 4) && integer(out, static_cast<int32_t>(n));
      case 0xd3:
        return big(n, 8) && integer(out, static_cast<int64_t>(n));
      case 0xdc:
        return big(n, 2) && array(out, n, depth);
      case 0xdd:
        return big(n, 4) && array(out, n, depth);
      case 0xde:
        return big(n, 2) && map(out, n, depth);
      case 0xdf:
        return big(n, 4) && map(out, n, depth);
      default:
        return false;
    }
  }
  size_t position() const { return pos_; }

 private:
  bool big(uint64_t& n, size_t bytes) {
    if (b_.size() - pos_ < bytes) return false;
    n = 0;
    for (size_t k = 0; k < bytes; ++k) n = n << 8 | b_[pos_++];
    return true;
  }
  static bool integer(MsgValue& out, int64_t v) {
    out.kind = MsgValue::Kind::kInt;
    out.integer = v;
    return true;
  }
  bool string(MsgValue& out, uint64_t n) {
    if (b_.size() - pos_ < n) return false;
    out.kind = MsgValue::Kind::kString;
    out.string.assign(reinterpret_cast<const char*>(b_.data()) + pos_, n);
    pos_ += n;
    return true;
  }
  bool array(MsgValue& out, uint64_t n, int depth) {
    out.kind = MsgValue::Kind::kArray;
    // Item by item: a size that is not there takes no memory.
    for (uint64_t i = 0; i < n; ++i) {
      if (!value(out.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }
  bool map(MsgValue& out, uint64_t n, int depth) {
    out.kind = MsgValue::Kind::kMap;
    for (uint64_t i = 0; i < n; ++i) {
      MsgValue key;
      if (!value(key, depth + 1) || key.kind != MsgValue::Kind::kString ||
          !value(out.items.emplace_back(), depth + 1)) {
        return false;
      }
      out.keys.push_back(std::move(key.string));
    }
    return true;
  }

  std::span<const uint8_t> b_;
  size_t pos_ = 0;
  uint64_t values_ = 0;
};

}  // namespace

const MsgValue* MsgValue::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

uint64_t MsgValue::uint(std::string_view key, uint64_t fallback) const {
  const MsgValue* v = find(key);
  return v && (v->kind == Kind::kInt || v->kind == Kind::kBool) ? static_cast<uint64_t>(v->integer)
                                                                : fallback;
}

std::string MsgValue::text(std::string_view key) const {
  const MsgValue* v = find(key);
  return v ? v->string : std::string();
}

Result<MsgValue> parse_msgpack(std::span<const uint8_t> bytes) {
  Reader reader(bytes);
  MsgValue root;
  if (!reader.value(root)) {
    return Status(Code::kCorrupt,
                  "metadata: malformed MessagePack at byte " + std::to_string(reader.position()));
  }
  return root;
}

}  // namespace gfx906
