#pragma once

// Fast diagonalisation: the direct solution of A x = b for a tensor operator A = Kx (x) My + Mx (x) (Ky + E). With the
// generalised eigenvectors of each direction, K V = M V Lambda and V^T M V = 1,
//
//     X = Vx U Vy^T ,   U_ac = (Vx^T B Vy)_ac / (lambda_a + mu_c) ,
//
// four products of small dense matrices. In float, on the stretched meshes of `named_meshes`, the residual of smooth data falls
// to 1e-5 for n = 31 and to 3e-4 for n = 127. Where there are more unknowns, in one direction or in both:
// multigrid/partial_diagonalisation.hpp.
//
// On a GPU one kernel, of a cluster of n / 8 blocks whatever the numbers on the grid, of one where there are no clusters; it
// replaces all coarser levels of a cycle, which cost launches, not bytes. Matrices are padded to n = 32, 64 or, in float, 128. 4
// n^3 multiplications for n x n unknowns; every block reads 2 n^2 words of matrices from the L2 cache, and the blocks send each
// other 2 n^2.

#include <cstdint>
#include <memory>
#include <vector>

#include <stratum/solvers/separable_solver.hpp>

namespace stratum {

template <class T>
class FastDiagonalisation final : public SeparableSolver<T> {
 public:
  static constexpr int max_nodes = sizeof(T) == 4 ? 128 : 64;  // in each direction

  /// Null unless `a` is a tensor operator of at most max_nodes x max_nodes unknowns between ends that are not periodic, x may
  /// be rounded, its lines have modes that survive rounding (solvers/separable_solver.hpp), and the GPU has room (more than 64
  /// nodes need clusters). 2 ms on the host for n = 128.
  /// `singular`: A 1 = 0; the part of b along that mode is left out. A plan takes for granted that all goes well.
  [[nodiscard]] static std::unique_ptr<FastDiagonalisation> make(Context& ctx, const GridOperator<T>& a,
                                                                 bool singular = false);

  void set_mass(Context& ctx, double c) override;
  /// x = A^-1 b
  void apply(Context& ctx, GridView<const T> b, GridView<T> x) override;

 private:
  FastDiagonalisation(Context& ctx, const GridShape& shape);

  GridShape shape_;
  int size_ = 0;            // of the square matrices, padded with zeros
  std::vector<double> mu_;  // not rounded to T
  Vector<T> matrices_;      // Vx, Vy by rows, lambda, mu
  Vector<T> scratch_;       // two matrices; on the CPU only
};

}  // namespace stratum
