#pragma once

// Transfer between a collection of patches and the next coarser one, which has every second node of every chord
// (core/patches/patch_layout.hpp), by operator-dependent interpolation (multigrid/transfer/operator_dependent.hpp): a node
// between two coarse ones has weights by the conductances of the cells on both sides,
//
//     u_m = (g_w u_w + g_e u_e) / (g_w + g_e) ,
//
// and one in the middle of four follows from its four neighbours alike. On an edge the conductances of both patches are summed,
// the only place where patches meet. Weights sum to one.
//
//     prolongate   x <- x + P e    e and x consistent: copies of a node get the same bits
//     restrict     b_c = P_p^T r   in every patch, r and b_c partial
//     galerkin     A_c = P_p^T A_p P_p
//
// Weights take 1.5 words a fine node. Set-up is on the host, in double. Nothing else waits for the stream.
// Memory traffic per fine node: prolongate 2.25 words and the weights, restrict 1.25 and the weights. Shapes are the caller's
// duty. Source of the weights: R. E. Alcouffe, A. Brandt, J. E. Dendy, J. W. Painter, The multi-grid method for the diffusion
// equation with strongly discontinuous coefficients, SIAM J. Sci. Stat. Comput. 2, 1981.

#include <memory>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/patches/patch_operator.hpp>

namespace stratum {

/// How a patch is coarsened.
struct PatchCoarsening {
  PatchLayout::Patch fine, coarse;
  CoarseChord x, y;
  bool reversed[4] = {};  // local edges
};
[[nodiscard]] std::vector<PatchCoarsening> coarsenings(const PatchLayout& fine, const PatchLayout& coarse);

/// Numbers of coarse cells, where their first nodes stand: the weight of the node west (south) of a node in the middle of the
/// cell's lower (left) edge, and those of the four corners of its centre. Of nodes on an edge of the patch it is the weight of
/// the node that comes first in the direction of the edge, so that both patches have the same.
template <class T>
struct PatchWeights {
  const T *x, *y, *south_west, *south_east, *north_west, *north_east;
};

struct PatchWeightsOnHost {
  std::vector<double> numbers[6];
  [[nodiscard]] PatchWeights<double> view() const {
    return {numbers[0].data(), numbers[1].data(), numbers[2].data(),
            numbers[3].data(), numbers[4].data(), numbers[5].data()};
  }
};

/// Of the patches that are there, as all that follow. `ranks`: where these are a rank's; collective.
[[nodiscard]] PatchWeightsOnHost interpolation_weights(const PatchLayout& fine, const PatchLayout& coarse,
                                                       const PatchConductances& conductances,
                                                       Communicator* ranks = nullptr);
/// Of the coarse cells: those along a direction in series, those beside each other in parallel.
[[nodiscard]] PatchConductances coarser(const PatchLayout& fine, const PatchLayout& coarse,
                                        const PatchConductances& conductances);
[[nodiscard]] PatchRowsOnHost galerkin(const PatchLayout& fine, const PatchLayout& coarse,
                                       const PatchWeightsOnHost& weights, const PatchRowsOnHost& a, int threads = 1);

class PatchRows;

template <class T>
class PatchTransfer {
 public:
  PatchTransfer(Context& ctx, const PatchLayout& fine, const PatchLayout& coarse, const PatchWeightsOnHost& weights);

  void prolongate(Context& ctx, const PatchRows& fine, const Consistent<T>& e, Consistent<T>& x) const;
  void restrict_to(Context& ctx, const PatchRows& coarse, const Partial<T>& r, Partial<T>& b) const;
  /// coarse_b = P^T (b - A x), coarse_x = 0, in one pass that computes residuals two or three times: for levels of few unknowns
  /// on a GPU.
  void restrict_residual(Context& ctx, const PatchRows& coarse, const PatchOperator<T>& a, const Partial<T>& b,
                         const Consistent<T>& x, Partial<T>& coarse_b, Consistent<T>& coarse_x) const;

 private:
  [[nodiscard]] PatchWeights<T> weights() const;

  std::shared_ptr<void> coarsenings_;
  Field<T> numbers_[6];
};

}  // namespace stratum
