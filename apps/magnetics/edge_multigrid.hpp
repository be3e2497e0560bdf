#pragma once

// EdgeMultigrid<T>: a V-cycle in the space of edge elements itself, for the singular curl-curl matrix of
// apps/magnetics/edge_elements.hpp, as a preconditioner of CG:
//
//     x <- forward Gauss-Seidel sweep on A x = r from zero,  x <- x + P V(P^T (r - A x)),  x <- backward sweep .
//
// Grids coarsen by dropping planes: pairs of cells merge where the merged one is no wider than H, never across a plane that is
// kept, because nu jumps there; H doubles from grid to grid. It starts from twice the median width, so that at first only small
// cells merge; where the least width is below a quarter of the median (thin gaps), from twice the least. The spaces are nested:
// P = (share of length along the edge) x (linear interpolation across it), P G = G P_nodes, and where nu is constant between
// kept planes the matrix assembled on the coarse grid is P^T A P; else nu is averaged over volumes. At the bottom stands the
// inverse of A + s G G^T, which solves exactly for what has no gradient part.
//
// With no mass term gradients have no energy, so that plain Gauss-Seidel suffices and Hiptmair's smoothing in the potentials
// would be empty; never add one. Sweeps run over colours, the same on CPU and GPU: edges of one direction whose other two
// places have the same parity know nothing of each other, 12 colours for hexahedra and 19 for tetrahedra. Constant and
// symmetric.
//
// Tetrahedra of boxes that are cut unevenly are not nested. There the first coarse space is that of the hexahedra of the same
// boxes, P the circulation of their functions along diagonals (an auxiliary space), and nu is what the tetrahedra of a box have
// in the mean.
//
// The grid of mesh/tensor_mesh.hpp, on which multigrid/hierarchy.hpp stands, is plane, with one number a node; edges of boxes
// fit neither its layouts nor its stencils, so this hierarchy is one of sparse rows.
//
// apply allocates nothing and does not wait for the stream. Words a row of m entries: about 3.2 (m + 3) for every grid, grids
// together 1.2 to 2 times the first. Sources: R. Hiptmair, Multigrid method for Maxwell's equations, 1998; D. Arnold, R. Falk,
// R. Winther, Multigrid in H(div) and H(curl), 2000; for the auxiliary space R. Hiptmair, J. Xu, 2007.

#include <array>
#include <memory>
#include <vector>

#include <stratum/core/device/recording.hpp>
#include <stratum/core/operators/linear_operator.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/magnetics/edge_elements.hpp>

namespace stratum {

/// Which planes of each direction stay.
using KeptPlanes = std::array<std::vector<bool>, 3>;

/// Those where boxes on the two sides have different marks, and the first and the last.
[[nodiscard]] KeptPlanes planes_between_marks(const BoxGrid& grid, const std::vector<int>& marks);

struct EdgeMultigridParams {
  KeptPlanes kept;     // empty: the first and the last planes
  int coarsest = 500;  // unknowns, at which coarsening ends, or where nothing merges
};

/// Grids from the finest to the coarsest, and their kept planes.
[[nodiscard]] std::vector<BoxGrid> coarsened(const BoxGrid& grid, const EdgeMultigridParams& params);

/// P, edges of `fine` by edges of `coarse`, a hexahedral grid whose planes are among those of `fine`.
[[nodiscard]] SparseRows edge_prolongation(const EdgeElements& fine, const EdgeElements& coarse);

template <class T>
class EdgeMultigrid final : public Preconditioner<T>, public Handle {
 public:
  /// a: the matrix of `elements`; nu: what coarse grids take, one number for every element. Throws UsageError for sizes that do
  /// not fit each other.
  EdgeMultigrid(Context& ctx, const EdgeElements& elements, const SparseRows& a, const std::vector<double>& nu,
                const EdgeMultigridParams& params = {});

  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  /// Unknowns of every grid, the finest first.
  [[nodiscard]] const std::vector<int>& unknowns() const { return unknowns_; }

 private:
  struct Level;
  void cycle(Context& ctx, std::size_t level, FieldView<const T> b, FieldView<T> x);

  std::vector<int> unknowns_;
  std::shared_ptr<std::vector<Level>> levels_;
  std::shared_ptr<Recording> recording_ = std::make_shared<Recording>();
  std::shared_ptr<ReentrancyGuard> guard_ = std::make_shared<ReentrancyGuard>();
};

}  // namespace stratum
