#pragma once

// A sum of doubles without rounding: a fixed-point number over the whole range of double, to which numbers are added as
// integers. The sum has the same bits for any order and any partition of its terms. About 5 ns per number and 100 ns per
// result.
//
// Source: the long accumulator of U. Kulisch, Computer Arithmetic and Validity (2008).

#include <cmath>
#include <cstdint>
#include <cstring>

namespace stratum {

class ExactSum {
 public:
  void add(double x) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    const auto exponent = static_cast<int>(bits >> 52U & 0x7ffU);
    if (exponent == 0x7ff) {
      special_ += x;
      return;
    }
    // |x| = mantissa 2^(position - 1074)
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52U) - 1);
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52U;
    const int position = exponent == 0 ? 0 : exponent - 1, digit = position / 32, shift = position % 32;
    const std::uint64_t low = (mantissa & mask) << shift, high = (mantissa >> 32U) << shift;
    const std::int64_t sign = bits >> 63U != 0 ? -1 : 1;
    digits_[digit] += sign * static_cast<std::int64_t>(low & mask);
    digits_[digit + 1] += sign * static_cast<std::int64_t>((low >> 32U) + (high & mask));
    digits_[digit + 2] += sign * static_cast<std::int64_t>(high >> 32U);
    if (++added_ == most_added) carry();
  }
  void add(ExactSum other) {
    carry();
    other.carry();
    for (int k = 0; k < count; ++k) digits_[k] += other.digits_[k];
    special_ += other.special_;
    ++added_;
  }
  /// The sum, to an error of one unit in the last place; inf and NaN as additions give them.
  [[nodiscard]] double value() const {
    if (special_ != 0) return special_;
    ExactSum sum = *this;
    sum.carry();
    const bool negative = sum.digits_[count - 1] < 0;
    if (negative) {
      for (auto& digit : sum.digits_) digit = -digit;
      sum.carry();
    }
    double result = 0;
    for (int k = count - 1; k >= 0; --k)
      if (sum.digits_[k] != 0) result += std::ldexp(static_cast<double>(sum.digits_[k]), 32 * k - 1074);
    return negative ? -result : result;
  }

 private:
  static constexpr int count = 68;
  static constexpr std::uint64_t mask = 0xffffffffU;
  static constexpr std::int64_t most_added = std::int64_t{1} << 28U;
  /// Digits of 32 bits, the last one with the sign.
  void carry() {
    std::int64_t over = 0;
    for (int k = 0; k + 1 < count; ++k) {
      const std::int64_t digit = digits_[k] + over;
      over = digit >> 32U;
      digits_[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(digit) & mask);
    }
    digits_[count - 1] += over;
    added_ = 0;
  }

  std::int64_t digits_[count] = {};
  std::int64_t added_ = 0;  // since digits were of 32 bits
  double special_ = 0;
};

}  // namespace stratum
