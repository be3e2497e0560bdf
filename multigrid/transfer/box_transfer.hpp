#pragma once

// Interpolation between levels of a box of which the coarse nodes are some of the fine ones, each direction by itself
// (multigrid/gate.hpp), with weights of conductances. A cell has, of every direction e, g_e = K h_x h_y h_z / h_e^2. A fine
// node that lies between two coarse ones in one direction has weights of the sums of g over the cells on either side; one that
// lies between in two or three takes its neighbours along all of these, each of which lies between in one direction less:
//
//     P(node) = sum over neighbours c P(neighbour) / sum c ,    c = the sum of g_e over the four cells on the neighbour's side .
//
// Of a matrix A that is not symmetric the means of couplings in rows and columns take the place of g for P, and couplings in
// columns for another such R, by which residuals are restricted; the coarse matrix is R^T A P, of 27 bands (J. E. Dendy, Black
// box multigrid for nonsymmetric problems, 1983).
//
// K = 1 gives trilinear weights on any widths. Coarse cells have g_e by lines of cells in series along e, side by side across
// it. Weights to Dirichlet nodes are left out.
//
//     restrict   b = P^T r               prolong   x = x + P x_coarse           coarsen   P^T A P in 14 bands (core/operators/box_rows.hpp)
//
// On several ranks (BoxSlab of core/operators/box_rows.hpp) the coarse nodes of a slab are those of its fine nodes; weights are
// kept of the stored planes, and `coarsen` gives the slab's own coarse rows, without ghosts.
//
// A node has as many weights as coarse nodes: 3.4 numbers on average of a level that is coarsened in all directions. Set-up is
// in double. Nothing waits for the stream. In a memory dry run all is counted.
// Shapes are the caller's duty. Memory traffic per fine node: prolong 2 words and the weights, restrict 1 and the weights.
// Source of the weights: R. E. Alcouffe, A. Brandt, J. E. Dendy, J. W. Painter, The multi-grid method for the diffusion equation
// with strongly discontinuous coefficients, SIAM J. Sci. Stat. Comput. 2, 1981.

#include <array>
#include <memory>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/multigrid/gate.hpp>

namespace stratum {

/// Of one direction: per fine unknown the coarse one at or before it (-1: a Dirichlet node) and its number among those dropped
/// (-1: kept); per coarse unknown the fine one; per coarse interval its first and its last fine interval. Of a slab all numbers
/// are its own, 0 being its first node, and the first two go on through the planes beside it.
struct BoxAxisMap {
  const int *coarse = nullptr, *dropped = nullptr, *kept = nullptr, *begin = nullptr, *end = nullptr;
};

/// What kernels see.
template <class T>
struct BoxTransferView {
  BoxShape fine, coarse;
  std::array<BoxAxisMap, 3> axes;
  std::array<FieldView<T, 3>, 8> weights;  // bit e: to the coarse node behind in direction e

  /// Weight of the fine node (i, j, k) to the coarse one before it, or behind it in the directions of `bits`, in which it lies
  /// between.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T& at(int bits, int i, int j, int k) const {
    return weights[static_cast<std::size_t>(bits)]((bits & 1) != 0 ? axes[0].dropped[i] : i,
                                                   (bits & 2) != 0 ? axes[1].dropped[j] : j,
                                                   (bits & 4) != 0 ? axes[2].dropped[k] : k);
  }
  /// Directions in which it lies between.
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int between(int i, int j, int k) const {
    return (axes[0].dropped[i] >= 0 ? 1 : 0) | (axes[1].dropped[j] >= 0 ? 2 : 0) | (axes[2].dropped[k] >= 0 ? 4 : 0);
  }
};

/// g_x, g_y and g_z of the cells of a level, for its transfer and for the next level. Of bands that are nobody's cells there
/// are none: c is then the sum of the nine couplings to that side, or what is left of the row where a Dirichlet node lies
/// there. Where that is negative, beside Dirichlet nodes of another direction that couples more strongly, the couplings that
/// are missing there are added, as a tensor product has them.
struct BoxConductances {
  std::array<Field<double, 3>, 3> g;
  bool of_cells = false;
};

/// Zeros for a level of this shape.
[[nodiscard]] BoxConductances zero_conductances(Context& ctx, const BoxShape& shape);
/// Those of A's cells, or g.
[[nodiscard]] BoxConductances conductances_of(Context& ctx, const BoxMatrix<double>& a, const BoxConductances& g);
/// g on layer `layer` of cells, that before the plane of the same number.
[[nodiscard]] double* layer_of(BoxConductances& g, const BoxShape& shape, std::size_t axis, int layer);

template <class T>
class BoxTransfer {
 public:
  BoxTransfer() = default;
  /// From a level with these nodes dropped; weights by K of its cells, or by conductances. `columns`: R, of an A in 27 bands.
  BoxTransfer(Context& ctx, const GatedLevel& level, const BoxMatrix<double>& a, const BoxConductances& g,
              bool columns = false);

  /// Of a slab r has ghosts.
  void restrict_to(Context& ctx, FieldView<const T, 3> r, FieldView<T, 3> b) const;
  /// `coarse` with ghosts that are up to date.
  void prolong(Context& ctx, FieldView<const T, 3> coarse, FieldView<T, 3> x) const;
  /// Of a symmetric A on the fine level; of a slab with ghosts of A, but not of what it gives.
  [[nodiscard]] BoxBands<double> coarsen(Context& ctx, const BoxMatrix<double>& a) const;
  /// R^T A P
  [[nodiscard]] BoxFullBands<double> coarsen(Context& ctx, const BoxFullBands<double>& a, const BoxTransfer& r) const;
  /// Of the coarse level.
  [[nodiscard]] BoxConductances coarsen(Context& ctx, const BoxMatrix<double>& a, const BoxConductances& g) const;

  [[nodiscard]] const BoxTransferView<T>& view() const { return view_; }
  [[nodiscard]] const BoxShape& coarse() const { return view_.coarse; }

 private:
  SharedField<int> maps_;
  std::shared_ptr<std::array<Field<T, 3>, 8>> weights_;
  BoxTransferView<T> view_{};
};

}  // namespace stratum
