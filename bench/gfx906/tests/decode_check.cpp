// Compares this decoder with another disassembler over whole files.
//   gfx906-decode-check FILE OBJDUMP-COMMAND...
// FILE: a code object, fat binary or host program. OBJDUMP-COMMAND reads an ELF file given as its
// last argument and prints LLVM's disassembly ("llvm-objdump -d --mcpu=gfx906"). Prints how many
// instructions agree; exit 1 if one differs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "decode/inst.hpp"
#include "machine.hpp"

namespace {

struct Counts {
  uint64_t objects = 0, kernels = 0, instructions = 0, same = 0;
  std::map<std::string, std::pair<uint64_t, std::string>> differ;  // mnemonic -> count, example
};

// "\ts_load_dword s0, s[4:5], 0x0   // 000000001000: C0020002 00000000 <label>"
bool parse_line(const std::string& line, std::string& text, uint32_t words[3], int& count) {
  const size_t mark = line.find("// ");
  if (line.empty() || line[0] != '\t' || mark == std::string::npos) return false;
  text = line.substr(1, mark - 1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
  const char* p = std::strchr(line.c_str() + mark, ':');
  if (!p) return false;
  ++p;
  for (count = 0; count < 3;) {
    char* end;
    while (*p == ' ') ++p;
    if (*p == '<' || *p == 0) break;
    words[count++] = static_cast<uint32_t>(std::strtoul(p, &end, 16));
    if (end == p) return false;
    p = end;
  }
  return count > 0;
}

// A branch to a place that has a symbol is printed with that instead of the distance in the words.
bool same_branch(const gfx906::Inst& i, const std::string& ours, const std::string& theirs) {
  const size_t space = theirs.find(' ');
  return i.info && gfx906::is_branch(i) && space != std::string::npos &&
         space + 1 < theirs.size() &&
         !std::isdigit(static_cast<unsigned char>(theirs[space + 1])) &&
         ours.compare(0, space + 1, theirs, 0, space + 1) == 0;
}

void check_object(const std::string& path, const std::string& command, Counts& c) {
  FILE* pipe = popen((command + " " + path).c_str(), "r");
  if (!pipe) return;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe)) {
    std::string line(buffer), text;
    if (!line.empty() && line.back() == '\n') line.pop_back();
    uint32_t words[3] = {};
    int count = 0;
    if (!parse_line(line, text, words, count)) continue;
    ++c.instructions;
    const gfx906::Inst i = gfx906::decode_one(words, static_cast<uint32_t>(count));
    const std::string ours = gfx906::to_text(i, 0);
    if ((ours == text || same_branch(i, ours, text)) && i.words == count) {
      ++c.same;
    } else {
      auto& d = c.differ[text.substr(0, text.find(' '))];
      if (d.first++ == 0) d.second = "theirs \"" + text + "\" ours \"" + ours + "\"";
    }
  }
  pclose(pipe);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: gfx906-decode-check FILE OBJDUMP-COMMAND...\n");
    return 2;
  }
  const int fd = open(argv[1], O_RDONLY);
  struct stat st {};
  if (fd < 0 || fstat(fd, &st) != 0) {
    std::fprintf(stderr, "cannot read %s\n", argv[1]);
    return 2;
  }
  void* map = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED) return 2;
  const auto blobs = gfx906::extract_code_objects(
      {static_cast<const uint8_t*>(map), static_cast<size_t>(st.st_size)});
  if (!blobs) {
    std::fprintf(stderr, "%s: %s\n", argv[1], blobs.status().message().c_str());
    return 2;
  }
  std::string command;
  for (int k = 2; k < argc; ++k) command += std::string(k > 2 ? " " : "") + argv[k];
  Counts c;
  const char* dir = std::getenv("GFX906_CHECK_DIR");  // a folder the command can see
  for (const gfx906::CodeObjectBlob& b : *blobs) {
    const std::string path =
        std::string(dir ? dir : "/tmp") + "/gfx906-check-" + std::to_string(getpid()) + ".elf";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(b.bytes.data()),
               static_cast<std::streamsize>(b.bytes.size()));
    const auto object = gfx906::CodeObject::load(b.bytes);
    if (!object) {
      std::fprintf(stderr, "%s: %s\n", b.target.c_str(), object.status().message().c_str());
      return 1;
    }
    ++c.objects;
    c.kernels += (*object)->kernels().size();
    const char* inside =
        std::getenv("GFX906_CHECK_DIR_INSIDE");  // the same folder as the command names it
    check_object(inside ? std::string(inside) + path.substr(path.rfind('/')) : path, command, c);
    unlink(path.c_str());
  }
  std::printf(
      "%llu code objects, %llu kernels, %llu instructions, %llu equal, %zu mnemonics differ\n",
      static_cast<unsigned long long>(c.objects), static_cast<unsigned long long>(c.kernels),
      static_cast<unsigned long long>(c.instructions), static_cast<unsigned long long>(c.same),
      c.differ.size());
  for (const auto& [name, d] : c.differ) {
    std::printf("  %s: %llu times, %s\n", name.c_str(), static_cast<unsigned long long>(d.first),
                d.second.c_str());
  }
  return c.instructions == c.same ? 0 : 1;
}
