#pragma once

// Fast diagonalisation: the direct solution of A x = b for a tensor operator A = Kx (x) My + Mx (x) (Ky + E). With the
// generalised eigenvectors of each direction, K V = M V Lambda and V^T M V = 1,
//
//     X = Vx U Vy^T ,   U_ac = (Vx^T B Vy)_ac / (lambda_a + mu_c) ,
//
// four products of small dense matrices. Source: Lynch, Rice, Thomas, Direct Solution of Partial Difference Equations by
// Tensor Product Methods, 1964. In float, on the stretched meshes of `named_meshes`, the residual of smooth data falls to 1e-5
// for n = 31 and to 1e-4 for n = 127; where neighbouring widths differ a hundredfold over many intervals the eigenvectors lose
// all digits, so that `make` tries them.
//
// On a GPU one kernel, of a cluster of n / 8 blocks whatever the numbers on the grid, of one where there are no clusters; it
// replaces all coarser levels of a cycle, which cost launches, not bytes. Matrices are padded to n = 32, 64 or, in float, 128. 4
// n^3 multiplications for n x n unknowns; every block reads 2 n^2 words of matrices from the L2 cache, and the blocks send each
// other 2 n^2.

#include <cstdint>
#include <memory>
#include <vector>

#include <stratum/core/operators/grid_operator.hpp>

namespace stratum {

template <class T>
class FastDiagonalisation final : public Preconditioner<T> {
 public:
  static constexpr int max_nodes = sizeof(T) == 4 ? 128 : 64;  // in each direction

  /// Decomposes both directions on the host, in double; 6 to 10 ms for n = 128. Null unless `a` is a tensor operator of at most
  /// max_nodes x max_nodes unknowns between ends that are not periodic, a residual for smooth data falls a hundredfold, and the
  /// GPU has room (more than 64 nodes need clusters).
  /// `singular`: A 1 = 0; the part of b along that mode is left out. A plan takes for granted that all goes well.
  [[nodiscard]] static std::unique_ptr<FastDiagonalisation> make(Context& ctx, const GridOperator<T>& a,
                                                                 bool singular = false);

  /// For A + c Mx (x) My, A being what it was made of and c of either sign: eigenvectors stay, eigenvalues of y move by c.
  /// Where T is float, A had better not have a large mass term itself, in which its stiffness is rounded away. Allocates
  /// nothing on the device; waits for the stream.
  void set_mass(Context& ctx, double c);

  /// x = A^-1 b
  void apply(Context& ctx, GridView<const T> b, GridView<T> x) override;
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  FastDiagonalisation(Context& ctx, const GridShape& shape);

  GridShape shape_;
  int size_ = 0;            // of the square matrices, padded with zeros
  std::vector<double> mu_;  // not rounded to T
  Vector<T> matrices_;      // Vx, Vy by rows, lambda, mu
  Vector<T> scratch_;       // two matrices; on the CPU only
};

}  // namespace stratum
