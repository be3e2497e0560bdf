#pragma once

// What the kinds of random_systems share: a direct solution in quadruple precision, and what is compared with it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "random_support.hpp"

namespace random_test {

__extension__ typedef __float128 Wide;  // NOLINT: an extension, and no using
using Wides = std::vector<Wide>;

inline Wide magnitude_of(Wide x) { return x < 0 ? -x : x; }
inline Wide root(Wide x) {
  Wide r = std::sqrt(static_cast<Real>(x));
  for (int k = 0; k < 2 && r > 0; ++k) r = (r + x / r) / 2;
  return r;
}

/// A symmetric positive definite matrix, or any one for which elimination needs no exchange of rows. Dense; zeros beside the
/// envelope are skipped.
class Matrix {
 public:
  explicit Matrix(std::size_t n) : n_(n), entries_(n * n, Wide(0)) {}
  [[nodiscard]] std::size_t size() const { return n_; }
  Wide& operator()(std::size_t i, std::size_t j) { return entries_[i * n_ + j]; }
  Wide operator()(std::size_t i, std::size_t j) const { return entries_[i * n_ + j]; }
  [[nodiscard]] Wides times(const Wides& x) const {
    Wides y(n_, Wide(0));
    for (std::size_t i = 0; i < n_; ++i)
      for (std::size_t j = 0; j < n_; ++j)
        if (entries_[i * n_ + j] != 0) y[i] += entries_[i * n_ + j] * x[j];
    return y;
  }
  /// By Gaussian elimination with exchanges of rows.
  [[nodiscard]] Wides solve(Wides b) const {
    std::vector<Wide> a = entries_;
    for (std::size_t k = 0; k < n_; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k + 1; i < n_; ++i)
        if (magnitude_of(a[i * n_ + k]) > magnitude_of(a[pivot * n_ + k])) pivot = i;
      if (pivot != k) {
        std::swap_ranges(&a[k * n_], &a[k * n_] + n_, &a[pivot * n_]);
        std::swap(b[k], b[pivot]);
      }
      std::size_t last = k;
      for (std::size_t j = k + 1; j < n_; ++j)
        if (a[k * n_ + j] != 0) last = j;
      for (std::size_t i = k + 1; i < n_; ++i) {
        if (a[i * n_ + k] == 0) continue;
        const Wide factor = a[i * n_ + k] / a[k * n_ + k];
        for (std::size_t j = k + 1; j <= last; ++j)
          if (a[k * n_ + j] != 0) a[i * n_ + j] -= factor * a[k * n_ + j];
        b[i] -= factor * b[k];
      }
    }
    for (std::size_t k = n_; k-- > 0;) {
      for (std::size_t j = k + 1; j < n_; ++j)
        if (a[k * n_ + j] != 0) b[k] -= a[k * n_ + j] * b[j];
      b[k] /= a[k * n_ + k];
    }
    return b;
  }

 private:
  std::size_t n_;
  std::vector<Wide> entries_;
};

/// Of one, by up to `decades` either way.
inline double scale(Chance& chance, double decades) {
  return Chance::rounded(std::pow(10.0, chance.real(-decades, decades)));
}

/// What a solution is asked for: relative to the largest value of its set, and what may be claimed of the largest anywhere.
constexpr Real right_to = 1e-4L, claimed = 1e-6L;

/// Says where u is wrong: in which of the sets, each measured by its own largest value. An error that is `share_claimed` of
/// what is largest anywhere is none as long as it is a hundredth of the set's own.
inline void compare(Complaints& complaints, const std::string& what, const std::vector<std::vector<std::size_t>>& sets,
                    const Wides& expected, const std::function<Real(std::size_t)>& found, Real tolerance,
                    Real share_claimed = 0) {
  Real overall = 0;
  for (const Wide value : expected) overall = std::max(overall, static_cast<Real>(magnitude_of(value)));
  constexpr Real floor_of_sets = 1e-6L;  // of what is largest anywhere
  for (std::size_t s = 0; s < sets.size(); ++s) {
    Real size = floor_of_sets * overall, difference = 0;
    for (const std::size_t k : sets[s]) {
      size = std::max(size, static_cast<Real>(magnitude_of(expected[k])));
      const Real own = std::abs(found(k) - static_cast<Real>(expected[k]));
      difference = own <= difference ? difference : own;  // not a number counts as well
    }
    constexpr Real share = 1e-2L;
    complaints.check(difference <= std::max(tolerance * size, std::min(share_claimed * overall, share * size)),
                     what + " " + std::to_string(s) + " of " + std::to_string(sets.size()) + ": error " +
                         text_of(static_cast<double>(difference)) + " of " + text_of(static_cast<double>(size)));
  }
}

/// poisson2d or heat2d (`heat`), which `program` names.
Verdict solve_with_elements(Chance& chance, const std::string& program, bool heat, bool mild);

/// The C interface.
Verdict solve_matrix(Chance& chance, bool mild);

}  // namespace random_test
