// Finds code objects in fat binaries: bundles, compressed bundles, and the host programs that embed
// them.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "machine.hpp"

namespace gfx906 {
namespace {

constexpr char kMagic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t kMagicSize = sizeof(kMagic) - 1;
constexpr uint64_t kMaxUnpacked = 4ull << 30;

template <class T>
T read(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// "hipv4-amdgcn-amd-amdhsa--gfx906:xnack-" -> "gfx906"
std::string_view processor_of(std::string_view target) {
  const size_t dash = target.rfind('-');
  // A feature's minus sign ("xnack-") is not the separator: look for the last "--" first.
  const size_t twin = target.rfind("--");
  std::string_view p = target.substr(twin != target.npos   ? twin + 2
                                     : dash != target.npos ? dash + 1
                                                           : 0);
  return p.substr(0, p.find(':'));
}

bool is_elf(const uint8_t* p, size_t n) {
  return n >= 64 && std::memcmp(p, "\177ELF", 4) == 0;
}

struct Collector {
  std::string_view processor;
  std::vector<CodeObjectBlob> blobs;
  void add(std::string_view target, const uint8_t* p, size_t n) {
    if (!processor.empty() && processor_of(target) != processor) return;
    blobs.push_back({std::string(target), std::vector<uint8_t>(p, p + n)});
  }
};

Status bad(const std::string& what) {
  return Status(Code::kCorrupt, "offload bundle: " + what);
}

// `size` may be more than the bundle; `used` receives its extent.
Status read_bundle(const uint8_t* p, uint64_t size, Collector& out, uint64_t& used) {
  uint64_t pos = kMagicSize + 8;
  if (size < pos) return bad("cut off in its header");
  const uint64_t count = read<uint64_t>(p + kMagicSize);
  if (count > 4096) return bad("entry count " + std::to_string(count) + " is not plausible");
  used = pos;
  uint64_t sum = 0;
  for (uint64_t k = 0; k < count; ++k) {
    if (size - pos < 24) return bad("cut off in entry " + std::to_string(k));
    const uint64_t offset = read<uint64_t>(p + pos), bytes = read<uint64_t>(p + pos + 8),
                   id = read<uint64_t>(p + pos + 16);
    pos += 24;
    if (id > 4096 || size - pos < id)
      return bad("name of entry " + std::to_string(k) + " is cut off");
    const std::string_view target(reinterpret_cast<const char*>(p + pos), id);
    pos += id;
    if (offset > size || bytes > size - offset) {
      return bad("entry \"" + std::string(target) + "\" (offset " + std::to_string(offset) +
                 ", size " + std::to_string(bytes) + ") passes the end");
    }
    used = std::max({used, pos, offset + bytes});
    sum += bytes;
    if (sum > size) return bad("entries overlap at \"" + std::string(target) + "\"");
    if (bytes && is_elf(p + offset, bytes)) out.add(target, p + offset, bytes);
  }
  return {};
}

// Unpacks a stream whose compressed size may be unknown: input is read in small steps, so that
// nothing far behind its end is touched.
Status unpack_zstd(const uint8_t* p, uint64_t size, std::vector<uint8_t>& out, uint64_t& consumed) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (!stream) return Status(Code::kOutOfMemory, "offload bundle: no memory for the unpacker");
  ZSTD_outBuffer o{out.data(), out.size(), 0};
  size_t left = 1;
  consumed = 0;
  while (left) {
    if (consumed >= size) return bad("compressed data is cut off");
    ZSTD_inBuffer in{p + consumed, static_cast<size_t>(std::min<uint64_t>(size - consumed, 4096)),
                     0};
    left = ZSTD_decompressStream(stream.get(), &o, &in);
    if (ZSTD_isError(left)) return bad(std::string("zstd: ") + ZSTD_getErrorName(left));
    if (in.pos == 0 && left && o.pos == o.size) return bad("unpacks to more than its header says");
    consumed += in.pos;
  }
  if (o.pos != o.size)
    return bad("unpacks to " + std::to_string(o.pos) + " bytes, header says " +
               std::to_string(o.size));
  return {};
}

Status unpack_zlib(const uint8_t* p, uint64_t size, std::vector<uint8_t>& out, uint64_t& consumed) {
  z_stream z{};
  if (inflateInit(&z) != Z_OK)
    return Status(Code::kOutOfMemory, "offload bundle: no memory for the unpacker");
  int rc = Z_OK;
  consumed = 0;
  uint64_t produced = 0;
  while (rc == Z_OK) {
    const uint64_t in = std::min<uint64_t>(size - consumed, 4096);
    const uint64_t room = std::min<uint64_t>(out.size() - produced, 1u << 30);
    z.next_in = const_cast<Bytef*>(p + consumed);
    z.avail_in = static_cast<uInt>(in);
    z.next_out = out.data() + produced;
    z.avail_out = static_cast<uInt>(room);
    rc = inflate(&z, Z_NO_FLUSH);
    const uint64_t ate = in - z.avail_in, made = room - z.avail_out;
    consumed += ate;
    produced += made;
    if (rc == Z_OK && ate == 0 && made == 0) rc = Z_BUF_ERROR;
  }
  inflateEnd(&z);
  if (rc != Z_STREAM_END || produced != out.size()) return bad("zlib: damaged or cut off data");
  return {};
}

Status read_compressed(const uint8_t* p, uint64_t size, Collector& out, uint64_t& used) {
  if (size < 24) return bad("compressed header is cut off");
  const uint16_t version = read<uint16_t>(p + 4), method = read<uint16_t>(p + 6);
  uint64_t header, total = size, unpacked;
  if (version == 1) {
    header = 20;
    unpacked = read<uint32_t>(p + 8);
  } else if (version == 2) {
    header = 24;
    total = read<uint32_t>(p + 8);
    unpacked = read<uint32_t>(p + 12);
  } else if (version == 3) {
    header = 32;
    total = read<uint64_t>(p + 8);
    unpacked = read<uint64_t>(p + 16);
  } else {
    return bad("compressed version " + std::to_string(version) + " is unknown");
  }
  if (total > size || total < header)
    return bad("compressed size " + std::to_string(total) + " passes the end");
  // No real bundle shrinks a thousandfold; a header that says so is not believed with memory.
  if (unpacked > kMaxUnpacked || unpacked < kMagicSize || unpacked / 1024 > total) {
    return bad("unpacked size " + std::to_string(unpacked) + " is not plausible");
  }
  std::vector<uint8_t> bytes(unpacked);
  uint64_t consumed = 0;
  Status s;
  if (method == 0) {
    s = unpack_zlib(p + header, total - header, bytes, consumed);
  } else if (method == 1) {
    s = unpack_zstd(p + header, total - header, bytes, consumed);
  } else {
    return bad("compression method " + std::to_string(method) + " is unknown");
  }
  if (!s) return s;
  used = version == 1 ? header + consumed : total;
  if (std::memcmp(bytes.data(), kMagic, kMagicSize) != 0) return bad("unpacked data is no bundle");
  uint64_t inner = 0;
  return read_bundle(bytes.data(), bytes.size(), out, inner);
}

Status scan(const uint8_t* p, uint64_t size, Collector& out) {
  uint64_t pos = 0;
  while (pos + kMagicSize + 8 <= size) {
    const auto* a = static_cast<const uint8_t*>(memmem(p + pos, size - pos, kMagic, kMagicSize));
    // A compressed bundle is recognised by its magic and a plausible version only.
    const uint64_t limit = a ? static_cast<uint64_t>(a - p) : size;
    const uint8_t* c = p + pos;
    while ((c = static_cast<const uint8_t*>(
                memmem(c, static_cast<size_t>(p + limit - c), "CCOB", 4))) != nullptr) {
      if (p + size - c >= 24 && read<uint16_t>(c + 4) >= 1 && read<uint16_t>(c + 4) <= 3 &&
          read<uint16_t>(c + 6) <= 1)
        break;
      ++c;
    }
    if (!a && !c) break;
    const uint8_t* at = c ? c : a;
    uint64_t used = 0;
    const uint64_t here = static_cast<uint64_t>(at - p);
    const Status s =
        c ? read_compressed(at, size - here, out, used) : read_bundle(at, size - here, out, used);
    if (!s) return s;
    pos = here + std::max<uint64_t>(used, 4);
  }
  return {};
}

struct Section {
  uint64_t offset = 0, size = 0;
};

// The section called `name` of a 64-bit ELF file.
std::optional<Section> find_section(std::span<const uint8_t> b, std::string_view name) {
  const uint64_t shoff = read<uint64_t>(b.data() + 40);
  const uint64_t entry = read<uint16_t>(b.data() + 58), count = read<uint16_t>(b.data() + 60),
                 names = read<uint16_t>(b.data() + 62);
  if (entry < 64 || shoff > b.size() || count * entry > b.size() - shoff || names >= count)
    return std::nullopt;
  const uint8_t* table = b.data() + shoff;
  const uint64_t strings = read<uint64_t>(table + names * entry + 24),
                 strings_size = read<uint64_t>(table + names * entry + 32);
  if (strings > b.size() || strings_size > b.size() - strings) return std::nullopt;
  for (uint64_t k = 0; k < count; ++k) {
    const uint8_t* h = table + k * entry;
    const uint64_t at = read<uint32_t>(h);
    if (at >= strings_size) continue;
    const char* text = reinterpret_cast<const char*>(b.data() + strings + at);
    const uint64_t offset = read<uint64_t>(h + 24), size = read<uint64_t>(h + 32);
    if (std::string_view(text, strnlen(text, strings_size - at)) == name && offset <= b.size() &&
        size <= b.size() - offset) {
      return Section{offset, size};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<CodeObjectBlob>> extract_code_objects(std::span<const uint8_t> bytes,
                                                         std::string_view processor) {
  Collector out{processor, {}};
  const uint8_t* p = bytes.data();
  uint64_t size = bytes.size();
  if (is_elf(p, size)) {
    if (p[4] == 2 && read<uint16_t>(p + 18) ==
                         224) {  // a bare AMDGPU object; its target is checked by the loader
      out.blobs.push_back(
          {"amdgcn-amd-amdhsa--" + std::string(processor), {bytes.begin(), bytes.end()}});
      return std::move(out.blobs);
    }
    if (p[4] == 2) {
      if (const auto section = find_section(bytes, ".hip_fatbin")) {
        p += section->offset;
        size = section->size;
      } else if (read<uint16_t>(p + 60) != 0) {
        return std::move(out.blobs);  // compilers hold the magic words too, as text
      }
    }
  }
  const Status s = scan(p, size, out);
  if (!s) return s;
  return std::move(out.blobs);
}

Result<std::vector<CodeObjectBlob>> extract_from_fatbin(const void* fatbin,
                                                        std::string_view processor) {
  Collector out{processor, {}};
  const auto* p = static_cast<const uint8_t*>(fatbin);
  if (!p) return Status(Code::kInvalidArgument, "fat binary: null pointer");
  uint64_t used = 0;
  Status s;
  if (std::memcmp(p, "\177ELF", 4) == 0) {
    // A bare code object: its section table stands at the end.
    const uint64_t size =
        read<uint64_t>(p + 40) + uint64_t{read<uint16_t>(p + 58)} * read<uint16_t>(p + 60);
    out.blobs.push_back({"amdgcn-amd-amdhsa--" + std::string(processor), {p, p + size}});
  } else if (std::memcmp(p, "CCOB", 4) == 0) {
    s = read_compressed(p, uint64_t{1} << 40, out, used);
  } else if (std::memcmp(p, kMagic, kMagicSize) == 0) {
    s = read_bundle(p, uint64_t{1} << 40, out, used);
  } else {
    return bad("no known magic");
  }
  if (!s) return s;
  return std::move(out.blobs);
}

}  // namespace gfx906
