#include "api/plain_text.hpp"

#include <algorithm>
#include <string_view>

#include "veloce/text/tokenizer.hpp"

namespace veloce::serve {
namespace {

constexpr std::string_view kBreak =
    "\xEF\xB7\x90";  // U+FDD0, which is no character and in nobody's text

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (text.find(from) == std::string::npos) return;
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t hit = std::min(text.find(from, at), text.size());
    out.append(text, at, hit - at);
    if (hit == text.size()) break;
    out += to;
    at = hit + from.size();
  }
  text = std::move(out);
}

void break_text(std::string& text, const Service& service) {
  replace_all(text, kBreak, "");
  const text::Vocabulary& vocabulary = service.tokenizer().vocabulary();
  // A broken token may have hidden a shorter one inside of it.
  for (bool again = true; again;) {
    again = false;
    std::vector<std::string> found;
    for (const std::int32_t id : service.encode(text, false, true)) {
      const text::TokenType type = vocabulary.type(id);
      if (type == text::TokenType::kControl || type == text::TokenType::kUserDefined)
        found.emplace_back(vocabulary.text(id));
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    for (const std::string& token : found) {
      std::size_t first = 1;  // bytes of its first character
      while (first < token.size() && (static_cast<unsigned char>(token[first]) & 0xC0) == 0x80)
        ++first;
      if (first >= token.size()) continue;  // a single character can do no harm
      again = true;
      replace_all(text, token, token.substr(0, first) + std::string(kBreak) + token.substr(first));
    }
  }
}

}  // namespace

void break_special_tokens(Json& messages, const Service& service) {
  for (Json& message : messages) {
    for (const char* field : {"content", "reasoning_content", "name"}) {
      const auto found = message.find(field);
      if (found != message.end() && found->is_string())
        break_text(found->get_ref<std::string&>(), service);
    }
  }
}

std::vector<std::int32_t> encode_broken(std::string& text, const Service& service) {
  std::vector<std::int32_t> out;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(kBreak, begin), text.size());
    const auto part =
        service.encode(std::string_view(text).substr(begin, end - begin), begin == 0, true);
    out.insert(out.end(), part.begin(), part.end());
    if (end == text.size()) break;
    begin = end + kBreak.size();
  }
  replace_all(text, kBreak, "");
  return out;
}

}  // namespace veloce::serve
