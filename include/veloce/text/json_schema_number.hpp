// Numbers between bounds, as grammars over their decimal digits: exact, whatever the number of
// digits. Bounds come as decimal text, so that no bound is rounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace veloce::text::schema {

// (-1)^negative * whole.fraction; `whole` without leading zeros ("0" itself apart), `fraction`
// without trailing ones.
struct Decimal {
  bool negative = false;
  std::string whole = "0";
  std::string fraction;
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};

// Reads JSON number text, exponents included. Nothing if it isn't a number or has more than 60
// digits on a side.
inline std::optional<Decimal> parse_decimal(std::string_view text) {
  constexpr std::size_t kMostDigits = 60;
  Decimal d;
  if (!text.empty() && text[0] == '-') {
    d.negative = true;
    text.remove_prefix(1);
  }
  long exponent = 0;
  if (const std::size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    exponent = std::strtol(std::string(text.substr(e + 1)).c_str(), nullptr, 10);
    text = text.substr(0, e);
  }
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  long places = static_cast<long>(digits.size());
  if (point != std::string_view::npos) digits += text.substr(point + 1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  if (exponent > 400 || exponent < -400) return std::nullopt;
  places += exponent;
  if (places <= 0) {
    digits.insert(0, static_cast<std::size_t>(1 - places), '0');
    places = 1;
  }
  if (static_cast<std::size_t>(places) > digits.size())
    digits.append(static_cast<std::size_t>(places) - digits.size(), '0');
  d.whole = digits.substr(0, static_cast<std::size_t>(places));
  d.fraction = digits.substr(static_cast<std::size_t>(places));
  d.whole.erase(0, std::min(d.whole.find_first_not_of('0'), d.whole.size() - 1));
  while (!d.fraction.empty() && d.fraction.back() == '0') d.fraction.pop_back();
  if (d.whole.size() > kMostDigits || d.fraction.size() > kMostDigits) return std::nullopt;
  if (d.is_zero()) d.negative = false;
  return d;
}

inline int compare_whole(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  const int order = a.compare(b);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

inline int compare(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  int order = compare_whole(a.whole, b.whole);
  // Without trailing zeros, the order of fractions is that of their digits.
  if (order == 0) order = a.fraction.compare(b.fraction);
  order = order < 0 ? -1 : order > 0 ? 1 : 0;
  return a.negative ? -order : order;
}

inline std::string plus_one(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return "1" + digits;
}

// Of a number above zero.
inline std::string minus_one(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '0') {
      --digits[i];
      break;
    }
    digits[i] = '9';
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return digits;
}

struct Bound {
  Decimal value;
  bool exclusive = false;
};

namespace detail {

inline std::string digit_range(char lo, char hi) {
  if (lo == hi) return std::string("\"") + lo + "\"";
  return std::string("[") + lo + "-" + hi + "]";
}
inline std::string any_digits(std::size_t least, std::size_t most) {
  if (most == 0) return "";
  if (least == most) return " [0-9]{" + std::to_string(least) + "}";
  return " [0-9]{" + std::to_string(least) + "," + std::to_string(most) + "}";
}
inline void add_branch(std::string& out, const std::string& branch) {
  out += (out.empty() ? "" : " | ") + branch;
}

// Digits from `at` on of numbers of one length between lo and hi.
inline std::string same_length(const std::string& lo, const std::string& hi, std::size_t at) {
  const std::size_t rest = lo.size() - at - 1;
  if (at == lo.size()) return "\"\"";
  if (lo.find_first_not_of('0', at) == std::string::npos &&
      hi.find_first_not_of('9', at) == std::string::npos) {
    return any_digits(rest + 1, rest + 1);
  }
  if (lo[at] == hi[at]) {
    return digit_range(lo[at], lo[at]) + (rest > 0 ? " (" + same_length(lo, hi, at + 1) + ")" : "");
  }
  std::string out;
  char from = lo[at], to = hi[at];
  const bool low_edge = lo.find_first_not_of('0', at + 1) != std::string::npos;
  const bool high_edge = hi.find_first_not_of('9', at + 1) != std::string::npos;
  if (low_edge) {
    add_branch(out, digit_range(from, from) + " (" +
                        same_length(lo, std::string(lo.size(), '9'), at + 1) + ")");
    ++from;
  }
  if (high_edge) --to;
  if (from <= to) add_branch(out, digit_range(from, to) + any_digits(rest, rest));
  if (high_edge) {
    add_branch(out, digit_range(hi[at], hi[at]) + " (" +
                        same_length(std::string(hi.size(), '0'), hi, at + 1) + ")");
  }
  return out;
}

}  // namespace detail

// Integers without sign from lo to hi (nothing: no upper bound, but at most 16 digits or some more
// than lo has); empty if there are none.
inline std::string whole_range(const std::string& lo, const std::optional<std::string>& hi) {
  std::string out;
  if (!hi) {
    detail::add_branch(out, detail::same_length(lo, std::string(lo.size(), '9'), 0));
    const std::size_t most = std::max<std::size_t>(16, lo.size() + 3);
    detail::add_branch(out, "[1-9]" + detail::any_digits(lo.size(), most - 1));
    return out;
  }
  if (compare_whole(lo, *hi) > 0) return out;
  for (std::size_t length = lo.size(); length <= hi->size(); ++length) {
    const std::string from = length == lo.size() ? lo : "1" + std::string(length - 1, '0');
    const std::string to = length == hi->size() ? *hi : std::string(length, '9');
    detail::add_branch(out, detail::same_length(from, to, 0));
  }
  return out;
}

// Integers within the bounds, with sign; empty if there are none.
inline std::string integer_range(const std::optional<Bound>& minimum,
                                 const std::optional<Bound>& maximum) {
  // The least magnitude of a bound that lies on the inner or outer side of it.
  auto inward = [](const Bound& b) {  // away from zero, or past an excluded whole number
    return !b.value.fraction.empty() || b.exclusive ? plus_one(b.value.whole) : b.value.whole;
  };
  auto outward = [](const Bound& b)
      -> std::optional<std::string> {  // towards zero; nothing if that is below zero
    if (!b.value.fraction.empty() || !b.exclusive) return b.value.whole;
    if (b.value.whole == "0") return std::nullopt;
    return minus_one(b.value.whole);
  };
  std::string out;
  // Below zero: magnitudes from 1.
  if (!minimum || minimum->value.negative) {
    std::string least = "1";
    if (maximum && maximum->value.negative) least = inward(*maximum);
    if (compare_whole(least, "1") < 0) least = "1";
    std::optional<std::string> most;
    bool some = true;
    if (minimum) {
      most = outward(*minimum);
      some = most.has_value();
    }
    const std::string branch = some ? whole_range(least, most) : "";
    if (!branch.empty()) detail::add_branch(out, "\"-\" (" + branch + ")");
  }
  if (!maximum || !maximum->value.negative) {
    std::string least = "0";
    if (minimum && !minimum->value.negative) least = inward(*minimum);
    std::optional<std::string> most;
    bool some = true;
    if (maximum) {
      most = outward(*maximum);
      some = most.has_value();
    }
    const std::string branch = some ? whole_range(least, most) : "";
    if (!branch.empty()) detail::add_branch(out, branch);
  }
  return out;
}

namespace detail {

// The digits behind the point, from a tight or loose lower and upper bound: writes each digit's
// choices and whether the number may stop there.
class FractionRange {
 public:
  FractionRange(const std::string* lo, bool lo_exclusive, const std::string* hi, bool hi_exclusive)
      : lo_(lo ? *lo : ""),
        hi_(hi ? *hi : ""),
        lo_exclusive_(lo_exclusive),
        hi_exclusive_(hi_exclusive) {
    more_ = std::max<std::size_t>(16, std::max(lo_.size(), hi_.size()) + 1);
    tight_lo_ = lo != nullptr;
    tight_hi_ = hi != nullptr;
  }

  // The text behind the whole part, point included; nothing if no number fits.
  std::optional<std::string> text() const {
    const bool stop = may_stop(0, tight_lo_, tight_hi_);
    const std::string digits = more(0, tight_lo_, tight_hi_);
    if (digits.empty()) return stop ? std::optional<std::string>("\"\"") : std::nullopt;
    return stop ? "(\".\" (" + digits + "))?" : "\".\" (" + digits + ")";
  }

 private:
  bool may_stop(std::size_t at, bool lo, bool hi) const {
    if (lo && (at < lo_.size() || lo_exclusive_)) return false;
    return !(hi && at >= hi_.size() && hi_exclusive_);
  }

  static char digit(const std::string& s, std::size_t at) { return at < s.size() ? s[at] : '0'; }

  std::string rest(std::size_t at, bool lo, bool hi) const {
    const bool stop = may_stop(at, lo, hi);
    const std::string digits = more(at, lo, hi);
    if (digits.empty()) return stop ? " \"\"" : "";
    return " (" + digits + ")" + (stop ? "?" : "");
  }

  // One or more digits from `at` on; empty if there are none.
  std::string more(std::size_t at, bool lo, bool hi) const {
    const std::size_t left = more_ > at ? more_ - at : 1;
    const std::string zeros = "\"0\"{0," + std::to_string(left - 1) + "}";
    if (!lo && !hi) return "[0-9]{1," + std::to_string(left) + "}";
    if (at >= std::max(lo ? lo_.size() : 0, hi ? hi_.size() : 0)) {
      if (lo && hi) return lo_exclusive_ || hi_exclusive_ ? "" : "\"0\" " + zeros;
      if (hi) return hi_exclusive_ ? "" : "\"0\" " + zeros;
      if (!lo_exclusive_) return "[0-9]{1," + std::to_string(left) + "}";
      return zeros + " [1-9] [0-9]{0," + std::to_string(left) + "}";
    }
    std::string out;
    char from = lo ? digit(lo_, at) : '0', to = hi ? digit(hi_, at) : '9';
    auto edge = [&](char d, bool edge_lo, bool edge_hi) {
      const std::string tail = rest(at + 1, edge_lo, edge_hi);
      if (!tail.empty()) add_branch(out, digit_range(d, d) + tail);
    };
    if (lo && hi && from == to) {
      edge(from, true, true);
      return out;
    }
    if (lo) edge(from++, true, false);
    if (hi) edge(to--, false, true);
    if (from <= to) add_branch(out, digit_range(from, to) + any_digits(0, left - 1));
    return out;
  }

  std::string lo_, hi_;
  bool lo_exclusive_, hi_exclusive_, tight_lo_ = false, tight_hi_ = false;
  std::size_t more_;
};

// Numbers without sign between the bounds, without exponent; empty if there are none.
inline std::string magnitude_range(const std::optional<Bound>& lo, const std::optional<Bound>& hi) {
  std::string out;
  const std::string low = lo ? lo->value.whole : "0";
  auto add = [&](const std::string& whole, const FractionRange& fraction) {
    if (const auto text = fraction.text(); text && !whole.empty())
      add_branch(out, "(" + whole + ") " + *text);
  };
  const std::string* lo_fraction = lo ? &lo->value.fraction : nullptr;
  const std::string* hi_fraction = hi ? &hi->value.fraction : nullptr;
  if (hi && low == hi->value.whole) {
    add("\"" + low + "\"",
        FractionRange(lo_fraction, lo && lo->exclusive, hi_fraction, hi->exclusive));
    return out;
  }
  add("\"" + low + "\"", FractionRange(lo_fraction, lo && lo->exclusive, nullptr, false));
  std::optional<std::string> last;
  if (hi) last = minus_one(hi->value.whole);
  add(whole_range(plus_one(low), last), FractionRange(nullptr, false, nullptr, false));
  if (hi)
    add("\"" + hi->value.whole + "\"", FractionRange(nullptr, false, hi_fraction, hi->exclusive));
  return out;
}

}  // namespace detail

// Numbers within the bounds, in decimal notation without exponent (up to 16 digits behind the
// point); empty if none.
inline std::string number_range(const std::optional<Bound>& minimum,
                                const std::optional<Bound>& maximum) {
  if (minimum && maximum) {
    const int order = compare(minimum->value, maximum->value);
    if (order > 0 || (order == 0 && (minimum->exclusive || maximum->exclusive))) return "";
  }
  std::string out;
  const Bound zero{{}, true};
  auto magnitude = [](const std::optional<Bound>& b) {
    std::optional<Bound> m = b;
    if (m) m->value.negative = false;
    return m;
  };
  if (!minimum || minimum->value.negative) {
    const bool below = maximum && maximum->value.negative;
    const std::string branch =
        detail::magnitude_range(below ? magnitude(maximum) : zero, magnitude(minimum));
    if (!branch.empty()) detail::add_branch(out, "\"-\" (" + branch + ")");
  }
  if (!maximum || !maximum->value.negative) {
    const bool above = minimum && !minimum->value.negative;
    const std::string branch = detail::magnitude_range(above ? minimum : std::nullopt, maximum);
    if (!branch.empty()) detail::add_branch(out, branch);
  }
  return out;
}

}  // namespace veloce::text::schema
