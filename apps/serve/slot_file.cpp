#include "slot_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/json.hpp"

namespace veloce::serve {
namespace {

constexpr char kMagic[8] = {'V', 'L', 'C', 'S', 'L', 'O', 'T', '2'};

// All little-endian, as every machine this runs on.
struct Header {
  char magic[8];
  std::uint64_t model;  // fingerprint
  std::uint64_t owner;  // hash; whose text it is
  std::uint64_t tokens;
  std::uint64_t bytes;
  std::uint64_t checksum;  // of tokens and bytes
};

std::uint64_t hash(const void* data, std::size_t size, std::uint64_t seed) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint64_t h = seed;
  for (; size >= 8; size -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    h = (h ^ word) * 0x9E3779B97F4A7C15ULL;
    h ^= h >> 29;
  }
  for (; size > 0; --size, ++p) h = (h ^ *p) * 0x100000001B3ULL;
  return h;
}

std::uint64_t fingerprint(const model::ModelInfo& info) {
  const std::string text = info.architecture + '\n' + info.name + '\n' + info.file_type + '\n' +
                           std::to_string(info.parameters) + '\n' +
                           std::to_string(info.tensor_bytes) + '\n' + std::to_string(info.layers) +
                           '\n' + std::to_string(info.hidden) + '\n' +
                           std::to_string(info.vocabulary);
  return hash(text.data(), text.size(), 1);
}

std::uint64_t checksum(const SlotState& state) {
  return hash(state.bytes.data(), state.bytes.size(),
              hash(state.tokens.data(), state.tokens.size() * sizeof(std::int32_t), 2));
}

std::uint64_t owner_hash(const std::string& owner) {
  return hash(owner.data(), owner.size(), 3);
}

Status io_error(const std::string& path) {
  return {Code::kIo, "slot file '" + std::filesystem::path(path).filename().string() +
                         "': " + std::strerror(errno)};
}

Status damaged(const std::string& path, const std::string& what) {
  return {Code::kCorrupt,
          "slot file '" + std::filesystem::path(path).filename().string() + "': " + what};
}

Status not_yours(const std::string& path) {
  return {Code::kInvalidArgument, "slot file '" + std::filesystem::path(path).filename().string() +
                                      "': belongs to another user"};
}

// A slot file that is there already and that somebody else wrote.
bool belongs_to_another(const std::string& path, const std::string& owner) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  Header header{};
  const bool whole = read(fd, &header, sizeof header) == static_cast<ssize_t>(sizeof header);
  close(fd);
  return whole && std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
         header.owner != owner_hash(owner);
}

}  // namespace

bool is_plain_file_name(const std::string& name) {
  if (name.empty() || name.size() > 255 || !is_valid_utf8(name)) return false;
  if (name.front() == ' ' || name.back() == ' ' || name.back() == '.' ||
      name.find("..") != std::string::npos)
    return false;
  if (name.find_first_of("/\\:*?\"<>|") != std::string::npos) return false;
  if (std::any_of(name.begin(), name.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return false;
  // Look-alikes of . and /, a byte-order mark, the replacement character, C1 controls.
  for (const char* banned :
       {"\xEF\xBC\x8E", "\xE2\x88\x95", "\xE2\x88\x96", "\xEF\xBB\xBF", "\xEF\xBF\xBD"}) {
    if (name.find(banned) != std::string::npos) return false;
  }
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] == '\xC2' && static_cast<unsigned char>(name[i + 1]) < 0xA0) return false;
  }
  return true;
}

Result<std::size_t> write_slot_file(const std::string& path, const model::ModelInfo& info,
                                    const std::string& owner, const SlotState& state) {
  if (belongs_to_another(path, owner)) return not_yours(path);
  Header header{};
  header.owner = owner_hash(owner);
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.model = fingerprint(info);
  header.tokens = state.tokens.size();
  header.bytes = state.bytes.size();
  header.checksum = checksum(state);
  std::string temporary = path + ".XXXXXX";
  // Readable by its owner alone: it is somebody's conversation.
  const int fd = mkstemp(temporary.data());
  if (fd < 0) return io_error(path);
  std::FILE* file = fdopen(fd, "wb");
  const std::size_t token_bytes = state.tokens.size() * sizeof(std::int32_t);
  const auto write = [&](const void* data, std::size_t size) {
    return size == 0 ||
           std::fwrite(data, 1, size, file) == size;  // no data: perhaps a null pointer
  };
  bool good = file && write(&header, sizeof header) && write(state.tokens.data(), token_bytes) &&
              write(state.bytes.data(), state.bytes.size());
  if (file) good = std::fclose(file) == 0 && good;
  good = good && rename(temporary.c_str(), path.c_str()) == 0;
  if (!good) {
    const Status status = io_error(path);
    unlink(temporary.c_str());
    return status;
  }
  return sizeof header + token_bytes + state.bytes.size();
}

Result<ReadSlot> read_slot_file(const std::string& path, const model::ModelInfo& info,
                                const std::string& owner, int context) {
  // Not through links: a file name that is one may point anywhere.
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return io_error(path);
  struct stat facts {};
  std::FILE* file = fdopen(fd, "rb");
  const auto read_all = [&]() -> Result<ReadSlot> {
    if (!file || fstat(fd, &facts) != 0) return io_error(path);
    if (!S_ISREG(facts.st_mode)) return damaged(path, "is not a regular file");
    Header header{};
    if (std::fread(&header, sizeof header, 1, file) != 1 ||
        std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
      return damaged(path, "is not a saved slot");
    }
    if (header.owner != owner_hash(owner)) return not_yours(path);
    if (header.model != fingerprint(info)) return damaged(path, "belongs to another model");
    if (header.tokens > static_cast<std::uint64_t>(context)) {
      return damaged(path, "holds " + std::to_string(header.tokens) +
                               " tokens, the slot's context is " + std::to_string(context));
    }
    const std::uint64_t size = static_cast<std::uint64_t>(facts.st_size);
    if (header.bytes > size || sizeof header + header.tokens * 4 + header.bytes != size) {
      return damaged(path, "its size contradicts its header");
    }
    ReadSlot slot;
    slot.bytes = size;
    slot.state.tokens.resize(header.tokens);
    slot.state.bytes.resize(header.bytes);
    const auto read = [&](void* data, std::size_t wanted) {
      return wanted == 0 || std::fread(data, 1, wanted, file) == wanted;
    };
    if (!read(slot.state.tokens.data(), header.tokens * 4) ||
        !read(slot.state.bytes.data(), header.bytes)) {
      return io_error(path);
    }
    if (checksum(slot.state) != header.checksum) return damaged(path, "its checksum is wrong");
    for (const std::int32_t id : slot.state.tokens) {
      if (id < 0 || id >= info.vocabulary)
        return damaged(path, "token " + std::to_string(id) + " is not in the vocabulary");
    }
    return slot;
  };
  Result<ReadSlot> slot = read_all();
  if (file) {
    std::fclose(file);
  } else {
    close(fd);
  }
  return slot;
}

}  // namespace veloce::serve
