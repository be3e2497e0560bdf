#pragma once

// Krylov methods on small dense systems as textbooks print them, serial and in double: what every iterate of the library is
// compared with. Each returns x after 1, 2, ... `steps` iterations from zero. M^-1 is a dense matrix too.

#include "reference.hpp"

namespace reference {

struct Dense {
  std::size_t n = 0;
  Values entries;  // row by row

  explicit Dense(std::size_t rows) : n(rows), entries(rows * rows) {}
  explicit Dense(const Stencil& a);
  [[nodiscard]] double& operator()(std::size_t i, std::size_t j) { return entries[i * n + j]; }
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const { return entries[i * n + j]; }
};

[[nodiscard]] Values multiply(const Dense& a, const Values& x);
/// Gaussian elimination with row pivoting.
[[nodiscard]] Values solve(Dense a, Values b);

using Iterates = std::vector<Values>;

/// Shewchuk 1994, B3 with a preconditioner.
[[nodiscard]] Iterates conjugate_gradients(const Dense& a, const Dense& m, const Values& b, int steps);
/// The minimiser of (r, M^-1 r), or of (r, r), over x in span{z, (M^-1 A) z, ...}, z = M^-1 b, from the normal equations:
/// what conjugate residuals, GCR and GMRES compute in exact arithmetic.
[[nodiscard]] Iterates smallest_residuals(const Dense& a, const Dense& m, const Values& b, int steps,
                                          bool in_norm_of_m);
/// van der Vorst 1992, right preconditioned.
[[nodiscard]] Iterates bicgstab(const Dense& a, const Dense& m, const Values& b, int steps);
/// x <- x + M^-1 (b - A x)
[[nodiscard]] Iterates richardson(const Dense& a, const Dense& m, const Values& b, int steps);

}  // namespace reference
