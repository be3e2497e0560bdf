#pragma once

// Multigrid in a box for K by cells: a V(1,1) cycle with gated coarsening (multigrid/gate.hpp), points or lines as the gate
// says (smoothers/box/box_smoothers.hpp), interpolation by conductances and Galerkin matrices in 14 bands
// (multigrid/transfer/box_transfer.hpp), and the inverse of the last level's matrix, of at most about 300 unknowns. After the
// coarse correction everything is done in the reversed order, so that the cycle is symmetric, a preconditioner of conjugate
// gradients. Of a matrix in 27 bands, which need not be symmetric, coarse ones have 27 bands, too.
//
// All levels are formed in double, and kept in T. Memory: of level l x, r, b and 2 numbers a node and direction with lines; on
// coarse levels 14 bands; weights, 3.4 numbers a node or fewer. `nodes` says by how much all levels together are larger than
// the finest one, at most about 4.
//
// Singular problems (`singular`: A 1 = 0): the last level solves without the mean of its right-hand side, and the cycle's
// result has no mean.
//
// On several ranks the box is shared in slabs across z (BoxSlab of core/operators/box_rows.hpp). The gate sees the whole box, so
// that levels, colours and interpolation are those of one rank, and the cycle gives the same up to rounding. A rank has the
// coarse nodes that are nodes of its slab. Levels of at least `least_distributed` unknowns, and 6 planes on every rank, are
// distributed: planes are exchanged before every second half of the colours, and lines along z go through all ranks. The
// residual of the first level that is not is gathered, and every rank solves it and all coarser ones by itself.
//
// `apply` takes and gives vectors without ghosts, planes one behind the other (`box_of`). It waits for nothing; on a GPU it is
// recorded (core/device/recording.hpp).
// Throws UsageError where the last level has more than `most_dense` unknowns, BreakdownError where its matrix is not positive
// definite.

#include <array>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/device/recording.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/multigrid/box_gather.hpp>
#include <stratum/multigrid/gate.hpp>
#include <stratum/multigrid/transfer/box_transfer.hpp>
#include <stratum/smoothers/box/box_smoothers.hpp>
#include <stratum/solvers/direct/box_inverse.hpp>

namespace stratum {

/// Vectors of the unknowns as Krylov methods know them: nx numbers a row, all planes' rows one behind the other.
[[nodiscard]] GridLayout<2> rows_of(const BoxShape& shape);
template <class T>
[[nodiscard]] FieldView<T, 3> box_of(const BoxShape& shape, const FieldView<T, 2>& rows) {
  return {rows.data, shape.n, {rows.pitch, rows.pitch * shape.n.ny}};
}

/// A of the unknowns for Krylov methods, Dirichlet values being zero. On a CPU, and of bands, it copies a vector to where it
/// has ghosts: 2 words more per unknown. In float on a GPU, of cells, it has no such vector, nor norms of its terms.
template <class T>
class BoxLinearOperator final : public LinearOperator<T> {
 public:
  BoxLinearOperator(Context& ctx, BoxMatrix<T> a);

  [[nodiscard]] GridLayout<2> shape() const override { return rows_of(a_.shape()); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override;
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override;
  [[nodiscard]] double residual_in_float(Context& ctx, double scale, FieldView<const T> b, FieldView<const T> x,
                                         FieldView<float> r) const override;
  [[nodiscard]] bool next_direction_on_gpu(Context& ctx, FieldView<const T> z, double beta, FieldView<const T> p,
                                           FieldView<T> next, FieldView<T> q) const override;
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const T> b, FieldView<const T> x) const override;
  [[nodiscard]] double backward_error(Context& ctx, FieldView<const T> b, FieldView<const T> x,
                                      double least) const override;

 private:
  [[nodiscard]] FieldView<const T, 3> with_ghosts(Context& ctx, FieldView<const T> x) const;
  /// x as A takes it.
  [[nodiscard]] FieldView<const T, 3> as_taken(Context& ctx, FieldView<const T> x) const;

  BoxMatrix<T> a_;
  BoxGhosts ghosts_;
  std::shared_ptr<Field<T, 3>> u_;
};

struct BoxMultigridParams {
  GateParams gate{};
  bool singular = false;
  /// Of several ranks the first plane of each, and the number of planes.
  std::vector<int> cuts{};
  /// Unknowns; -1: 2^12, on GPUs 2^20.
  std::int64_t least_distributed = -1;
  bool all_lines = false;  // along every direction on all levels, whatever the gate says: for strong convection
};

template <class T>
class BoxMultigrid final : public Preconditioner<T> {
 public:
  static constexpr int most_dense = 4096;

  /// `axes`: widths as the gate is to see them.
  BoxMultigrid(Context& ctx, const BoxMatrix<double>& a, const std::array<GatedAxis, 3>& axes,
               const BoxMultigridParams& params = {});

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return !matrix().is_full(); }
  [[nodiscard]] bool estimates_error() const override { return true; }
  [[nodiscard]] bool waits() const override { return false; }

  [[nodiscard]] const std::vector<GatedLevel>& gate() const { return gate_; }
  /// Nodes of all levels by those of the finest one.
  [[nodiscard]] double nodes() const;
  /// Of the finest level; on several ranks of this one's slab.
  [[nodiscard]] const BoxMatrix<T>& matrix() const { return finest_; }
  /// Levels that ranks share.
  [[nodiscard]] int distributed_levels() const;

 private:
  struct Level {
    BoxMatrix<T> a;
    BoxTransfer<T> transfer, restriction;  // the latter of columns, where A is not symmetric
    std::array<BoxLines<T>, 3> lines;
    Field<T, 3> x, b, r;
    BoxGather gather;  // of b
  };
  [[nodiscard]] bool has_points(std::size_t l) const;
  /// From zero, or on from x reversed.
  void smooth(Context& ctx, std::size_t l, FieldView<const T, 3> b, bool from_zero);
  void cycle(Context& ctx, std::size_t l, FieldView<const T, 3> b);

  std::vector<GatedLevel> gate_;
  BoxMatrix<T> finest_;
  std::vector<Level> levels_;
  BoxInverse inverse_;
  Field<double> mean_;
  bool singular_;
  Recording recording_;  // of `apply`
};

}  // namespace stratum
