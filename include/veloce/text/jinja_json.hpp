// JSON of templates: the filters tojson (Python's json.dumps) and from_json (json.loads), and
// contexts coming in.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veloce/text/jinja_ops.hpp"

namespace veloce::text::jinja {

struct JsonStyle {
  bool ascii = false;  // escape what is not ASCII
  bool pretty = false;
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

inline void append_json_string(std::string_view text, bool ascii, std::string& out) {
  char buffer[16];
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80) {
      const Decoded d = decode_utf8(text, at);
      if (!ascii) {
        out.append(text.substr(at, std::size_t(d.length)));
      } else if (d.code_point < 0x10000) {
        std::snprintf(buffer, sizeof(buffer), "\\u%04x", unsigned(d.code_point));
        out += buffer;
      } else {
        const unsigned v = unsigned(d.code_point) - 0x10000;
        std::snprintf(buffer, sizeof(buffer), "\\u%04x\\u%04x", 0xD800 + (v >> 10),
                      0xDC00 + (v & 0x3FF));
        out += buffer;
      }
      at += std::size_t(d.length);
      continue;
    }
    ++at;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        if (c < 0x20 || (ascii && c == 0x7F)) {
          std::snprintf(buffer, sizeof(buffer), "\\u%04x", unsigned(c));
          out += buffer;
        } else {
          out += char(c);
        }
    }
  }
  out += '"';
}

// Writes one value; errors (what JSON has no form for) go to the runtime.
class JsonWriter {
 public:
  JsonWriter(Runtime& rt, const JsonStyle& style) : rt_(rt), style_(style) {}

  std::string write(const Value& v) {
    value(v, 0);
    return std::move(out_);
  }

 private:
  void newline(int depth) {
    out_ += '\n';
    for (int i = 0; i < depth; ++i) out_ += style_.indent;
  }
  void sequence(const std::vector<Value>& items, int depth) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (std::size_t i = 0; i < items.size() && !rt_.failed(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      if (style_.pretty) newline(depth + 1);
      value(items[i], depth + 1);
    }
    if (style_.pretty) newline(depth);
    out_ += ']';
  }
  void key(const Value& k) {
    std::string text;
    if (k.is_string())
      text = k.text();
    else if (k.is_none())
      text = "null";
    else if (k.is(Kind::kBool))
      text = k.as_bool() ? "true" : "false";
    else if (k.is_integral())
      text = integer_text(k);
    else if (k.is(Kind::kFloat))
      text = number_text(k.as_float());
    else
      type_error(rt_,
                 std::string("keys must be str, int, float, bool or None, not ") + type_name(k));
    append_json_string(text, style_.ascii, out_);
  }
  void mapping(const Dict& dict, int depth) {
    if (dict.size() == 0) {
      out_ += "{}";
      return;
    }
    std::vector<std::size_t> order;
    if (style_.sort_keys) {
      std::vector<Value> keys;
      for (const Dict::Entry& e : dict.entries()) keys.push_back(e.key);
      order = sorted_order(rt_, keys, false);
    }
    out_ += '{';
    for (std::size_t i = 0; i < dict.size() && !rt_.failed(); ++i) {
      const Dict::Entry& e = dict.entries()[style_.sort_keys ? order[i] : i];
      if (i > 0) out_ += style_.item_separator;
      if (style_.pretty) newline(depth + 1);
      key(e.key);
      out_ += style_.key_separator;
      value(e.value, depth + 1);
    }
    if (style_.pretty) newline(depth);
    out_ += '}';
  }
  static std::string number_text(double v) {
    if (std::isnan(v)) return "NaN";
    if (std::isinf(v)) return v < 0 ? "-Infinity" : "Infinity";
    return float_repr(v);
  }
  void value(const Value& v, int depth) {
    if (!rt_.step()) return;
    if (out_.size() > rt_.limits().max_memory)
      return rt_.limit("a text grows beyond the memory limit");
    switch (v.kind()) {
      case Kind::kNone:
        out_ += "null";
        return;
      case Kind::kBool:
        out_ += v.as_bool() ? "true" : "false";
        return;
      case Kind::kInt:
      case Kind::kBigInt:
        out_ += integer_text(v);
        return;
      case Kind::kFloat:
        out_ += number_text(v.as_float());
        return;
      case Kind::kString:
        if (rt_.step(v.text().size() / 32)) append_json_string(v.text(), style_.ascii, out_);
        return;
      case Kind::kList:
      case Kind::kTuple:
        return sequence(v.items(), depth);
      case Kind::kDict:
        return mapping(v.get<DictObject>().dict, depth);
      default:
        type_error(rt_,
                   std::string("Object of type ") + type_name(v) + " is not JSON serializable");
    }
  }

  Runtime& rt_;
  const JsonStyle& style_;
  std::string out_;
};

// json.loads of a text.
class JsonReader {
 public:
  JsonReader(Runtime& rt, std::string_view text) : rt_(rt), text_(text) {}

  Value read() {
    Value out = value(0);
    space();
    if (!failed_ && at_ != text_.size()) error("Extra data");
    return failed_ ? Value() : out;
  }

 private:
  Value error(const char* what) {
    failed_ = true;
    return raise(rt_, "JSONDecodeError", std::string(what) + ": char " + std::to_string(at_));
  }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    if (at_ < text_.size() && text_[at_] == c) {
      ++at_;
      return true;
    }
    return false;
  }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  Value value(int depth) {
    space();
    if (!rt_.step()) failed_ = true;
    if (failed_) return {};
    if (depth > rt_.limits().max_value_depth) return error("nested too deeply");
    if (at_ >= text_.size()) return error("Expecting value");
    const char c = text_[at_];
    if (c == '{') return object(depth);
    if (c == '[') return array(depth);
    if (c == '"') {
      std::string out;
      return string(out) ? make_string(rt_, std::move(out)) : Value();
    }
    if (take("null")) return Value::none();
    if (take("true")) return Value::boolean(true);
    if (take("false")) return Value::boolean(false);
    if (take("NaN")) return Value::number(std::nan(""));
    if (take("Infinity")) return Value::number(HUGE_VAL);
    if (take("-Infinity")) return Value::number(-HUGE_VAL);
    return number();
  }
  Value object(int depth) {
    ++at_;
    Dict dict;
    space();
    if (take('}')) return make_dict(rt_, std::move(dict));
    while (true) {
      space();
      std::string name;
      if (at_ >= text_.size() || text_[at_] != '"')
        return error("Expecting property name enclosed in double quotes");
      if (!string(name)) return {};
      space();
      if (!take(':')) return error("Expecting ':' delimiter");
      Value v = value(depth + 1);
      if (failed_) return {};
      dict.set(make_string(rt_, std::move(name)), std::move(v));
      space();
      if (take('}')) return make_dict(rt_, std::move(dict));
      if (!take(',')) return error("Expecting ',' delimiter");
    }
  }
  Value array(int depth) {
    ++at_;
    std::vector<Value> items;
    space();
    if (take(']')) return make_list(rt_, std::move(items));
    while (true) {
      items.push_back(value(depth + 1));
      if (failed_) return {};
      space();
      if (take(']')) return make_list(rt_, std::move(items));
      if (!take(',')) return error("Expecting ',' delimiter");
    }
  }
  bool hex4(unsigned& out) {
    if (text_.size() - at_ < 4) return false;
    const char* begin = text_.data() + at_;
    const auto result = std::from_chars(begin, begin + 4, out, 16);
    if (result.ptr != begin + 4) return false;
    at_ += 4;
    return true;
  }
  bool escape(std::string& out) {
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        return true;
      case 'b':
        out += '\b';
        return true;
      case 'f':
        out += '\f';
        return true;
      case 'n':
        out += '\n';
        return true;
      case 'r':
        out += '\r';
        return true;
      case 't':
        out += '\t';
        return true;
      case 'u':
        break;
      default:
        error("Invalid \\escape");
        return false;
    }
    unsigned unit = 0, low = 0;
    if (!hex4(unit)) return error("Invalid \\uXXXX escape"), false;
    if (unit >= 0xD800 && unit < 0xDC00 && take("\\u") && hex4(low) && low >= 0xDC00 &&
        low < 0xE000)
      unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    else if (unit >= 0xD800 && unit < 0xE000)
      return error("Lone surrogate"), false;  // Python would carry it along and fail on output
    append_utf8(out, unit);
    return true;
  }
  bool string(std::string& out) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return error("Invalid control character"), false;
      if (c != '\\')
        out += c;
      else if (!escape(out))
        return false;
    }
    error("Unterminated string");
    return false;
  }
  Value number() {
    const std::size_t start = at_;
    take('-');
    const std::size_t first = at_;
    const auto digits = [&] {
      const std::size_t from = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      return at_ - from;
    };
    if (take('0')) {
    } else if (digits() == 0) {
      at_ = start;
      return error("Expecting value");
    }
    const std::size_t whole_end = at_;
    if (take('.') && digits() == 0) at_ = whole_end;
    if (const std::size_t mark = at_; take('e') || take('E')) {
      if (!take('+')) take('-');
      if (digits() == 0) at_ = mark;
    }
    const std::string_view text = text_.substr(start, at_ - start);
    if (at_ == whole_end) {
      std::int64_t small = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), small).ec == std::errc())
        return Value::integer(small);
      if (text.size() > 4300)
        return error("Exceeds the limit (4300 digits) for integer string conversion");
      const BigInt big = BigInt::from_digits(text_.substr(first, at_ - first), 10);
      return make_big(rt_, start == first ? big : -big);
    }
    double out = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), out).ec ==
        std::errc::result_out_of_range)
      out = std::strtod(std::string(text).c_str(), nullptr);
    return Value::number(out);
  }

  Runtime& rt_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// A context's value. Texts that are not UTF-8 are repaired (U+FFFD).
inline Value from_json_value(Runtime& rt, const nlohmann::ordered_json& json, int depth = 0) {
  if (depth > rt.limits().max_value_depth) {
    rt.limit("the context nests deeper than " + std::to_string(rt.limits().max_value_depth));
    return {};
  }
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::null:
      return Value::none();
    case Type::boolean:
      return Value::boolean(json.get<bool>());
    case Type::number_integer:
      return Value::integer(json.get<std::int64_t>());
    case Type::number_unsigned:
      return make_big(rt, BigInt::from_unsigned(json.get<std::uint64_t>()));
    case Type::number_float:
      return Value::number(json.get<double>());
    case Type::string: {
      const std::string& text = json.get_ref<const std::string&>();
      return make_string(rt, is_valid_utf8(text) ? text : to_utf8(code_points(text)));
    }
    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(from_json_value(rt, item, depth + 1));
      return make_list(rt, std::move(items));
    }
    case Type::object: {
      Dict dict;
      for (const auto& [key, value] : json.items())
        dict.set(make_string(rt, is_valid_utf8(key) ? key : to_utf8(code_points(key))),
                 from_json_value(rt, value, depth + 1));
      return make_dict(rt, std::move(dict));
    }
    default:
      return {};
  }
}

}  // namespace veloce::text::jinja
