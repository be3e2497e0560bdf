#pragma once

// FlatVectors: between vectors in the order of a user's matrix and fields on the grid that was detected in it (grid_rows.hpp),
//
//     b_ij = b_k - sum over identity rows m of a_km b_m / a_mm ,     x_k = x_ij ,   and  x_m = b_m / a_mm of identity rows,
//
// k the unknown at node (i, j). Vectors of spans lie on the host, and on several subdomains belong to the rows that the caller
// gave; those of pointers lie where the Context computes, and belong to the rows of the subdomain's lines. Nothing waits for
// the stream but `on_context` on a GPU. Throws UsageError for arrays of another size, on all subdomains.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <stratum/core/field/field.hpp>
#include <stratum/multigrid/structured/grid_rows.hpp>

namespace stratum {

class FlatVectors {
 public:
  /// Of `rows`, which the caller keeps.
  FlatVectors(Context& ctx, const GridRows& rows);
  /// After other values have been read into the rows.
  void update(Context& ctx);

  /// A vector in the order of the matrix, not on the grid. Where a subdomain cannot tell by the shape all have to be given such
  /// vectors.
  [[nodiscard]] bool is_flat(const Context& ctx, FieldView<const double> v) const;

  /// `use` of b and x in flat arrays that the Context computes on. `with_x`: of the x that is given.
  using Use = std::function<void(const double* b, double* x)>;
  void on_context(Context& ctx, std::span<const double> b, std::span<double> x, bool with_x, const Use& use);

  void to_grid(Context& ctx, const double* flat, FieldView<double> grid) const;
  void from_grid(Context& ctx, FieldView<const double> grid, double* flat) const;
  /// b on the grid from a flat right-hand side; identity rows are solved into the flat x.
  void rhs_to_grid(Context& ctx, const double* b, double* x, FieldView<double> grid) const;
  /// 0, or no number where x is none in an identity row: where nothing couples to it, what is left would not show that.
  [[nodiscard]] double not_finite(Context& ctx, const double* x) const;

 private:
  void on_device(Context& ctx, std::span<const double> b, std::span<double> x, bool with_x, const Use& use);

  const GridRows& rows_;
  Field<int> number_, fixed_, node_, start_, column_;
  Field<double> diagonal_, value_, flat_b_, flat_x_;
  bool shapes_are_alike_ = false;                  // of a flat vector and one on the grid, on some subdomain
  std::vector<double> subdomain_b_, subdomain_x_;  // on subdomains whose unknowns are not those of their subdomains
};

}  // namespace stratum
