#pragma once

// The field where the reluctivity depends on it: a such that
//
//     F(a) = sum over elements of nu(s) K a = b ,   s the mean of |curl A'|^2 over the element ,
//
// which is where the energy  E(a) = sum of V w(s) / mu0 - (a, b)  is least (nu = 2 w'(s) / mu0 and w convex in B).
//
//     newton      F'(a) d = b - F(a), solved to a tolerance that follows the residual; a <- a + t d, t halved until E falls by
//                 its slope (Armijo)
//     anderson    a <- the combination of the latest iterates whose fixed-point residual G(a) - a is least, moved by `damping`
//                 times that, with nu(s) K G(a) = b. Sources: Anderson 1965; Walker, Ni, Anderson acceleration for
//                 fixed-point iterations, 2011
//
// The linear systems are the caller's to solve: their matrices are those of edge elements, singular, with right-hand sides
// without gradients. Source of the tolerances: S. Eisenstat, H. Walker, Choosing the forcing terms in an inexact Newton method,
// 1996. Arrays as in apps/magnetics/edge_elements.hpp. Throws UsageError for arrays of the wrong length and parameters out of
// range.

#include <functional>
#include <string_view>
#include <vector>

#include <stratum/core/io/solve_report.hpp>
#include <stratum/magnetics/edge_elements.hpp>
#include <stratum/magnetics/magnetisation_curve.hpp>

namespace stratum {

enum class NonlinearMethod : std::uint8_t { newton, anderson };

[[nodiscard]] std::string_view to_string(NonlinearMethod method);

struct NonlinearParams {
  NonlinearMethod method = NonlinearMethod::newton;
  double rtol = 1e-8;  // of ||b - F(a)|| to ||b||
  int max_iterations = 100;
  int depth = 8;         // anderson: iterates kept
  double damping = 0.5;  // anderson: in (0, 1]
};

/// Solves A x = b to ||b - A x|| <= rtol ||b|| from the given x. nu: one number for every element that A is like.
using LinearSolve = std::function<SolveReport(const SparseRows& a, const std::vector<double>& nu,
                                              const std::vector<double>& b, std::vector<double>& x, double rtol)>;

struct NonlinearReport {
  SolveReport outer;          // its history: ||b - F(a)||; inner_iterations: of all linear solves
  std::vector<double> steps;  // t of every Newton step
};

/// From the given a. The elements with `steel` set follow the curve, all others have nu = 1. The monitor sees the residual.
[[nodiscard]] NonlinearReport solve_nonlinear_field(Context& ctx, const EdgeElements& elements,
                                                    const std::vector<bool>& steel, const MagnetisationCurve& curve,
                                                    const std::vector<double>& b, std::vector<double>& a,
                                                    const LinearSolve& linear_solve, const NonlinearParams& params = {},
                                                    const std::function<void(int, double)>& monitor = {});

/// nu of every element at this field.
[[nodiscard]] std::vector<double> reluctivities(const std::vector<bool>& steel, const MagnetisationCurve& curve,
                                                const std::vector<double>& mean_squares);
/// integral of w over the grid, joule.
[[nodiscard]] double field_energy(const EdgeElements& elements, const std::vector<bool>& steel,
                                  const MagnetisationCurve& curve, const std::vector<double>& mean_squares);

}  // namespace stratum
