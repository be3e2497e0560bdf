#pragma once

// Singular parts of a symmetric matrix A on a grid: connected sets C of nodes, coupled to no others, whose rows sum to zero,
//
//     A 1_C = 0 ,      so that A x = b has a solution where b sums to zero over every C, and x is known up to constants there.
//
// A part is taken for singular where every sum s_k of its rows is, beside what the row holds,
//
//     zero to rounding        |s_k| <= 2 sums_to_zero a_kk
//     zero as written         up to half a unit of the last decimal that each entry shows, for entries that have been through a
//                             text file with less than the digits of double (or through float). Rows whose couplings have few
//                             digits are exact. The sum of all s_k has to be as small as such errors make it, equal numbers
//                             having equal ones: else something really is on the diagonal, as a tiny reaction
//     noise                   1e-6 or less, of both signs alike, which no reaction or penalty has, or 1e-12 or less, and
//                             negative, or in less than half of the rows
//
// and is not where one row sums to more. Of a matrix whose rows are scaled, D A symmetric, the same rows sum to zero, and D b
// is what has to. Read on the host, by rows in any order; on subdomains of a grid every subdomain gathers two numbers a node of
// the whole, where the grid is not all in one part. Collective there.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/solvers/extremes_of_unknowns.hpp>

namespace stratum {

struct SingularParts {
  struct Part {
    std::int64_t nodes;
    std::int64_t first;  // of its nodes, j nx + i of the grid
  };
  static constexpr int regular = -1, fixed = -2;

  std::vector<Part> parts;
  bool is_whole = false;      // one part, which is the grid
  bool rest_is_fixed = true;  // every node belongs to one of the parts or to none of the matrix's couplings
  double largest = 0;         // |s_k| / a_kk of singular parts where that is not rounding
  int digits = 0;             // that entries show; 0: as rounding, or as noise
  /// Of the whole: how far, in float, rounding makes rows sum to something, sqrt(sum of eps^2 a_kk^2), of what the matrix
  /// conducts from boundary to boundary where it conducts less, along x or along y. A cycle in float knows nothing of a matrix
  /// with much.
  double lost_in_float = 0;
  /// Of every own node: its singular part, `regular` or `fixed`; empty where it is the whole, or there are none.
  std::vector<int> of_node;
  /// Of every own node: whether an edge of the grid to the east, north, west, south (1, 2, 4, 8) leads to another part or to a
  /// fixed node.
  std::vector<unsigned char> open;

  /// Parts of the matrix, singular or not, that are coupled to no others, and of every own node the number of its own or
  /// `fixed`; empty where there is one part.
  int connected = 0;
  std::vector<int> connected_part;

  [[nodiscard]] bool any() const { return !parts.empty(); }
  /// The same without what is said of singular ones.
  [[nodiscard]] SingularParts connected_only() const;
  /// What was made of sums that are not rounding; empty where all are.
  [[nodiscard]] std::string note() const;
};

/// Rows of own nodes, lines first .. first + ny - 1 of a grid of nx x all_ny.
struct RowsOfGrid {
  int nx, ny, first, all_ny;
  bool periodic_x, periodic_y;
  std::function<std::array<double, 9>(int i, int j)> row;  // by band_index; j from 0 on
  std::function<bool(int i, int j)> is_fixed;
};

[[nodiscard]] SingularParts singular_parts(Communicator* comm, const RowsOfGrid& rows);

/// What is known of a matrix by them. Of one that is not symmetric, and in one part, nothing is.
[[nodiscard]] inline SingularParts parts_that_matter(SingularParts parts, bool symmetric) {
  return symmetric || parts.connected > 1 ? std::move(parts) : SingularParts();
}

/// Takes from the diagonal of A what rows of singular parts sum to.
void zero_row_sums(Context& ctx, const SingularParts& parts, GridOperator<double>& a);

/// Powers of two, one an own node, by which max |x| is about the same in all parts that are coupled to no others; empty where
/// `error`, of every x_k, is at most `limit` of it in each of them as they are. Waits for the stream.
[[nodiscard]] std::vector<double> scales_of_parts(Context& ctx, const SingularParts& parts, FieldView<const double> x,
                                                  double error, double limit);

/// A with next to nothing, symmetric, along all open edges of the grid: it is connected, and where every part is singular it is
/// so for the constant alone. For a cycle that is to see no more than one part; what conducts next to nothing does not matter
/// to it.
[[nodiscard]] GridOperator<double> connected(Context& ctx, const SingularParts& parts, const GridOperator<double>& a);

/// What singular parts ask of b and x. A handle: copies are the same object. On the host, where the Context is a GPU's by way
/// of copies: waits for the stream. Without singular parts only fixed nodes matter, and nothing waits.
class PartMeans final : public Handle {
 public:
  PartMeans(Context& ctx, const GridLayout<2>& shape, const SingularParts& parts);

  struct Sum {
    double sum, sum_of_magnitudes;
  };
  /// Of all subdomains, one a part.
  [[nodiscard]] std::vector<Sum> sums(Context& ctx, FieldView<const double> b) const;
  /// x loses its mean on every part, and is zero at fixed nodes.
  void project(Context& ctx, FieldView<double> x) const;
  /// Of x at nodes that are not fixed.
  [[nodiscard]] Extremes extremes_of_free(Context& ctx, FieldView<const double> x, FieldView<double> scratch) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// P M P, P the projection of PartMeans. Symmetric and constant where M is.
class PartsProjected final : public Preconditioner<double>, public ExtremesOfUnknowns<double>, public Handle {
 public:
  PartsProjected(Context& ctx, const GridLayout<2>& shape, PartMeans means, std::shared_ptr<Preconditioner<double>> m);
  void apply(Context& ctx, FieldView<const double> r, FieldView<double> z) override;
  [[nodiscard]] bool is_constant() const override { return m_->is_constant(); }
  [[nodiscard]] bool is_symmetric() const override { return m_->is_symmetric(); }
  [[nodiscard]] bool estimates_error() const override { return m_->estimates_error(); }
  [[nodiscard]] int iterations() const override { return m_->iterations(); }
  [[nodiscard]] Extremes extremes_of_unknowns(Context& ctx, FieldView<const double> x) override {
    return means_.extremes_of_free(ctx, x, r_.view());
  }

 private:
  PartMeans means_;
  std::shared_ptr<Preconditioner<double>> m_;
  SharedField<double> r_;
};

}  // namespace stratum
