// Whole numbers beyond 64 bits, as Python has them: enough for literals, arithmetic and printing in
// templates. Sizes are bounded by the caller (kMaxLimbs): a template is no place for number theory.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veloce::text::jinja {

// Sign and magnitude; limbs of 32 bits, lowest first, no leading zeros; zero is never negative.
class BigInt {
 public:
  static constexpr std::size_t kMaxLimbs = 400;  // about 3,850 digits; Python prints 4,300

  BigInt() = default;
  explicit BigInt(std::int64_t v) : negative_(v < 0) {
    std::uint64_t m = v < 0 ? ~std::uint64_t(v) + 1 : std::uint64_t(v);
    for (; m != 0; m >>= 32) limbs_.push_back(std::uint32_t(m));
  }
  static BigInt from_unsigned(std::uint64_t v) {
    BigInt out;
    for (; v != 0; v >>= 32) out.limbs_.push_back(std::uint32_t(v));
    return out;
  }
  // Digits of a base (2 to 36), without sign or underscores; the caller has checked them.
  static BigInt from_digits(std::string_view digits, unsigned base) {
    BigInt out;
    for (char c : digits) {
      const unsigned d = c <= '9' ? unsigned(c - '0') : unsigned((c | 32) - 'a') + 10;
      out.multiply_add(base, d);
      if (out.limbs_.size() > kMaxLimbs) break;
    }
    return out;
  }
  // The whole part of a finite number.
  static BigInt from_double(double v) {
    BigInt out;
    int exponent = 0;
    const double fraction = std::frexp(std::trunc(std::fabs(v)), &exponent);
    if (fraction == 0) return out;
    out = from_unsigned(std::uint64_t(std::ldexp(fraction, 53)));
    const int shift = exponent - 53;
    if (shift >= 0) {
      for (int i = 0; i < shift; ++i) out.multiply_add(2, 0);
    } else {
      for (int i = 0; i < -shift; ++i) out.divide_small(2);
    }
    out.negative_ = v < 0 && !out.limbs_.empty();
    return out;
  }

  bool is_zero() const { return limbs_.empty(); }
  bool negative() const { return negative_; }
  bool too_large() const { return limbs_.size() > kMaxLimbs; }
  bool odd() const { return !limbs_.empty() && (limbs_[0] & 1) != 0; }
  std::size_t limb_count() const { return limbs_.size(); }
  std::size_t bit_length() const {
    std::size_t bits = limbs_.empty() ? 0 : (limbs_.size() - 1) * 32;
    for (std::uint32_t top = limbs_.empty() ? 0 : limbs_.back(); top != 0; top >>= 1) ++bits;
    return bits;
  }

  std::optional<std::int64_t> to_int64() const {
    if (limbs_.size() > 2) return std::nullopt;
    std::uint64_t m = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) m = m << 32 | limbs_[i];
    if (m > std::uint64_t(INT64_MAX) + (negative_ ? 1 : 0)) return std::nullopt;
    return negative_ ? std::int64_t(~m + 1) : std::int64_t(m);
  }
  // Nearest double for up to 64 significant bits read; infinite when out of range.
  double to_double() const {
    const std::size_t bits = bit_length();
    if (bits <= 64) {
      std::uint64_t m = 0;
      for (std::size_t i = limbs_.size(); i-- > 0;) m = m << 32 | limbs_[i];
      return negative_ ? -double(m) : double(m);
    }
    std::uint64_t top = 0;
    bool sticky = false;
    for (std::size_t i = 0; i < bits; ++i) {
      const bool bit = (limbs_[i / 32] >> (i % 32) & 1) != 0;
      if (i < bits - 64)
        sticky = sticky || bit;
      else if (bit)
        top |= std::uint64_t(1) << (i - (bits - 64));
    }
    const double v = std::ldexp(double(top | (sticky ? 1 : 0)), int(bits - 64));
    return negative_ ? -v : v;
  }
  std::string to_string() const {
    if (limbs_.empty()) return "0";
    BigInt rest = *this;
    std::vector<std::uint32_t> parts;
    while (!rest.limbs_.empty()) parts.push_back(rest.divide_small(1'000'000'000));
    std::string out = negative_ ? "-" : "";
    out += std::to_string(parts.back());
    for (std::size_t i = parts.size() - 1; i-- > 0;) {
      const std::string part = std::to_string(parts[i]);
      out.append(9 - part.size(), '0').append(part);
    }
    return out;
  }

  BigInt operator-() const {
    BigInt out = *this;
    out.negative_ = !negative_ && !limbs_.empty();
    return out;
  }
  friend BigInt operator+(const BigInt& a, const BigInt& b) {
    if (a.negative_ == b.negative_) return signed_value(add(a.limbs_, b.limbs_), a.negative_);
    if (compare_magnitude(a.limbs_, b.limbs_) >= 0)
      return signed_value(subtract(a.limbs_, b.limbs_), a.negative_);
    return signed_value(subtract(b.limbs_, a.limbs_), b.negative_);
  }
  friend BigInt operator-(const BigInt& a, const BigInt& b) { return a + -b; }
  friend BigInt operator*(const BigInt& a, const BigInt& b) {
    std::vector<std::uint32_t> out(a.limbs_.size() + b.limbs_.size(), 0);
    for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < b.limbs_.size() || carry != 0; ++j) {
        const std::uint64_t product =
            out[i + j] + carry +
            (j < b.limbs_.size() ? std::uint64_t(a.limbs_[i]) * b.limbs_[j] : 0);
        out[i + j] = std::uint32_t(product);
        carry = product >> 32;
      }
    }
    return signed_value(std::move(out), a.negative_ != b.negative_);
  }
  // Quotient rounded down and the remainder with the divisor's sign, as in Python; b is not zero.
  static std::pair<BigInt, BigInt> floor_divide(const BigInt& a, const BigInt& b) {
    BigInt quotient, rest;
    for (std::size_t bit = a.bit_length(); bit-- > 0;) {
      rest.multiply_add(2, a.limbs_[bit / 32] >> (bit % 32) & 1);
      quotient.multiply_add(2, 0);
      if (compare_magnitude(rest.limbs_, b.limbs_) >= 0) {
        rest = signed_value(subtract(rest.limbs_, b.limbs_), false);
        quotient = quotient + BigInt(1);
      }
    }
    quotient.negative_ = a.negative_ != b.negative_ && !quotient.limbs_.empty();
    rest.negative_ = a.negative_ && !rest.limbs_.empty();
    if (!rest.is_zero() && a.negative_ != b.negative_) {
      quotient = quotient - BigInt(1);
      rest = rest + b;
    }
    return {quotient, rest};
  }
  friend std::strong_ordering operator<=>(const BigInt& a, const BigInt& b) {
    if (a.negative_ != b.negative_)
      return a.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
    const int c = compare_magnitude(a.limbs_, b.limbs_) * (a.negative_ ? -1 : 1);
    return c <=> 0;
  }
  friend bool operator==(const BigInt& a, const BigInt& b) {
    return a.negative_ == b.negative_ && a.limbs_ == b.limbs_;
  }

 private:
  using Limbs = std::vector<std::uint32_t>;

  static BigInt signed_value(Limbs limbs, bool negative) {
    BigInt out;
    while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
    out.limbs_ = std::move(limbs);
    out.negative_ = negative && !out.limbs_.empty();
    return out;
  }
  static int compare_magnitude(const Limbs& a, const Limbs& b) {
    if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
    for (std::size_t i = a.size(); i-- > 0;)
      if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
  }
  static Limbs add(const Limbs& a, const Limbs& b) {
    Limbs out;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
      carry += std::uint64_t(i < a.size() ? a[i] : 0) + (i < b.size() ? b[i] : 0);
      out.push_back(std::uint32_t(carry));
      carry >>= 32;
    }
    return out;
  }
  static Limbs subtract(const Limbs& a, const Limbs& b) {  // a >= b
    Limbs out;
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::int64_t d = std::int64_t(a[i]) - (i < b.size() ? b[i] : 0) - borrow;
      borrow = d < 0 ? 1 : 0;
      if (d < 0) d += std::int64_t(1) << 32;
      out.push_back(std::uint32_t(d));
    }
    return out;
  }
  void multiply_add(std::uint32_t factor, std::uint32_t summand) {
    std::uint64_t carry = summand;
    for (std::uint32_t& limb : limbs_) {
      carry += std::uint64_t(limb) * factor;
      limb = std::uint32_t(carry);
      carry >>= 32;
    }
    if (carry != 0) limbs_.push_back(std::uint32_t(carry));
  }
  std::uint32_t divide_small(std::uint32_t divisor) {
    std::uint64_t rest = 0;
    for (std::size_t i = limbs_.size(); i-- > 0;) {
      rest = rest << 32 | limbs_[i];
      limbs_[i] = std::uint32_t(rest / divisor);
      rest %= divisor;
    }
    while (!limbs_.empty() && limbs_.back() == 0) limbs_.pop_back();
    return std::uint32_t(rest);
  }

  Limbs limbs_;
  bool negative_ = false;
};

}  // namespace veloce::text::jinja
