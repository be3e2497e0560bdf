#pragma once

// The Q1 operator of a box, K and M of one direction each, as a product of its directions:
//
//     A = Kx My Mz + Mx Ky Mz + Mx My Kz + c Mx My Mz ,    K = sum of k_i [1 -1; -1 1] ,  M = sum of m_i [2 1; 1 2]
//
// over intervals i, of which number i is on the left of unknown i: an axis of n unknowns has n + 1 of them. At a Dirichlet end
// the first or last interval couples to a node whose value stands beside the unknowns; at a Neumann end both factors are zero;
// at a Robin end k is alpha and m is zero, and the value beside is zero; in a periodic direction the first and the last
// interval are the same one.
//
// u is a view with one number more at both ends of every axis, i = -1 .. nx and so on: there stand the values of Dirichlet
// faces, what a periodic direction has at its other end, and zeros else. b and r have no ghosts.
//
//     r = b - A u by differences of u, in double: u constant and c = 0 give r = b exactly. Memory traffic: 3 words per
//     unknown.
//     magnitude: || |A| |u| + |b| ||_2, of which 2 eps is the rounding of r.
//
// Nothing waits for the stream but norms. Shapes are the caller's duty.

#include <array>
#include <cstdint>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// K and M of one direction: intervals 0 .. n of n unknowns.
struct AxisFactors {
  std::vector<double> k, m;
  bool periodic = false;

  [[nodiscard]] int unknowns() const { return static_cast<int>(k.size()) - 1; }
  friend bool operator==(const AxisFactors&, const AxisFactors&) = default;
};

/// The same for kernels, from interval 0 on.
struct AxisFactorsView {
  const double* k = nullptr;
  const double* m = nullptr;
};

class BoxOperator {
 public:
  BoxOperator() = default;
  BoxOperator(Context& ctx, const std::array<AxisFactors, 3>& axes, double reaction);

  void residual(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u, FieldView<double, 3> r) const;
  /// || b - A u ||_2, 2 words on a GPU; r is scratch.
  [[nodiscard]] double residual_norm(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                                     FieldView<double, 3> r) const;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> u,
                                 FieldView<double, 3> scratch) const;

  [[nodiscard]] const std::array<AxisFactorsView, 3>& axes() const { return axes_; }
  [[nodiscard]] double reaction() const { return reaction_; }
  void set_reaction(double c) { reaction_ = c; }

 private:
  SharedField<double> numbers_;
  std::array<AxisFactorsView, 3> axes_{};
  double reaction_ = 0;
};

/// Copies what lies across a periodic box into the ghosts of u, direction by direction, edges and corners too.
template <class T>
void fill_periodic_ghosts(Context& ctx, const std::array<bool, 3>& periodic, FieldView<T, 3> u);

// Beside core/field/blas_3d.hpp:
/// v = v + value
void box_add(Context& ctx, double value, FieldView<double, 3> v);
/// v_ijk = v_ijk w_ijk
void box_multiply(Context& ctx, FieldView<const double, 3> w, FieldView<double, 3> v);
/// to_ijk = from, whose numbers along i, j and k are so far apart, plus to_ijk where `add`; and the other way round
void box_gather(Context& ctx, const double* from, const std::array<std::int64_t, 3>& apart, FieldView<double, 3> to,
                bool add = false);
void box_scatter(Context& ctx, FieldView<const double, 3> from, double* to, const std::array<std::int64_t, 3>& apart);
/// sum of v_ijk, and of its magnitudes
struct BoxSums {
  double sum = 0, magnitudes = 0;
};
[[nodiscard]] BoxSums box_sums(Context& ctx, FieldView<const double, 3> v);
/// v_ijk = v_ijk - factor x_i y_j z_k, weights in memory of the Context's
void box_subtract(Context& ctx, double factor, const std::array<const double*, 3>& weights, FieldView<double, 3> v);
/// sum of x_i y_j z_k v_ijk
[[nodiscard]] double box_sum(Context& ctx, const std::array<const double*, 3>& weights, FieldView<const double, 3> v);

}  // namespace stratum
