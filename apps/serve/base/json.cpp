#include "base/json.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

namespace veloce::serve {
namespace {

// Builds the value while the parser reads, so that limits act before memory is taken. Objects are
// appended to directly: the ordered container looks for an equal key at every insertion, which
// makes large objects quadratic.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(Json(nullptr)); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return put(Json(value)); }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return fail("binary values are not JSON"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second) return fail("duplicate key '" + name.substr(0, 60) + "'");
    level.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& e) override {
    std::string message = e.what();
    if (const auto end = message.find("] "); message.starts_with('[') && end != std::string::npos) {
      message.erase(0, end + 2);
    }
    return fail(message.substr(0, 300));
  }

  const std::string& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  struct Level {
    Json* container;
    std::string key = {};
    std::unordered_set<std::string> keys = {};
  };

  bool fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
    return false;
  }

  Json* append(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.container->is_array()) {
      auto& items = level.container->get_ref<Json::array_t&>();
      return &items.emplace_back(std::move(value));
    }
    using Members = std::vector<std::pair<const std::string, Json>>;
    Members& members = level.container->get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(level.key), std::move(value)).second;
  }

  bool put(Json value) {
    if (++values_ > limits_.values) {
      return fail("more than " + std::to_string(limits_.values) + " values");
    }
    append(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (levels_.size() >= static_cast<std::size_t>(limits_.depth)) {
      return fail("nested deeper than " + std::to_string(limits_.depth) + " levels");
    }
    if (++values_ > limits_.values) {
      return fail("more than " + std::to_string(limits_.values) + " values");
    }
    Json* place = append(std::move(container));
    levels_.push_back({place});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t values_ = 0;
  Json root_;
  std::vector<Level> levels_;
  std::string error_;
};

// The length of the valid UTF-8 sequence at the start of `text`; 0: none; -1: valid so far, but cut
// off by the end.
int sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xC2 && lead <= 0xDF   ? 2
                     : lead >= 0xE0 && lead <= 0xEF ? 3
                     : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                    : 0;
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) >= text.size()) return -1;
    unsigned low = 0x80, high = 0xBF;
    if (i == 1) {
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    if (byte(i) < low || byte(i) > high) return 0;
  }
  return length;
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.empty()) return Status(Code::kInvalidArgument, "the text is empty");
  Builder builder(limits);
  if (!Json::sax_parse(text, &builder)) return Status(Code::kInvalidArgument, builder.error());
  return builder.take();
}

std::string dump_json(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const int length = sequence_length(text);
    if (length <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int length = sequence_length(text);
    if (length > 0) {
      out.append(text.substr(0, static_cast<std::size_t>(length)));
      text.remove_prefix(static_cast<std::size_t>(length));
    } else {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(length < 0 ? text.size() : 1);
    }
  }
  return out;
}

std::size_t complete_utf8_prefix(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const std::size_t at = text.size() - back;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) break;
    if (byte >= 0xC0) return sequence_length(text.substr(at)) == -1 ? at : text.size();
  }
  return text.size();
}

}  // namespace veloce::serve
