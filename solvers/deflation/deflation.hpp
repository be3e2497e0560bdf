#pragma once

// Deflation: the coarse space that is spanned by the columns of Z (solvers/deflation/vectors.hpp), for a symmetric positive
// semidefinite A,
//
//     E = Z^T A Z ,    Q = Z E^-1 Z^T ,    P = 1 - A Q .
//
// P A has no part in the span of Z. Conjugate gradients that are preconditioned by P^T M^-1 + Q (solvers/deflation/deflated_cg.hpp)
// see the spectrum of M^-1 A without that part. Everything is in double. Products are formed from differences, so that large
// contrasts of the coefficients lose no digits:
//
//     A Z       (A z)_i = sum over j of a_ij (z_j - z_i) + s_i z_i ,  s_i the row's sum, zero where it is rounding
//     A Z y     for domains that cover the grid: sum over d of (A z_d)_i (y_d - y_home) + s_i y_home
//     E^-1      solvers/deflation/coarse_factor.hpp; on a GPU its inverse, formed from the factors
//
// Shapes: fine vectors have the shape of the grid, nodes along x first; coarse vectors are flat, of m = count() numbers.
//
// Set-up is on the host. After it nothing waits for the stream and nothing is allocated. Memory: Z and A Z twice, by vectors and
// by nodes, 1.5 words per entry; on a GPU E^-1 takes m^2 words. Each operation reads the entries of Z or of A Z once and the
// nodes that they belong to. On a GPU a warp takes up to 1024 entries of a vector; sums have a fixed order. Copies share their
// data.
//
// On a Context with several subdomains each has its own rows of A and Z. E is added up from all subdomains, and each factorises
// it. A product Z^T r takes one gather of m numbers. Coarse vectors are the same on all subdomains.
//
// Errors, on all subdomains: UsageError for vectors of another grid or without an entry, ResourceError if the factors or the
// inverse do not fit into memory.
//
// Source: J. M. Tang, R. Nabben, C. Vuik, Y. Erlangga, Comparison of two-level preconditioners derived from deflation, domain
// decomposition and multigrid methods, J. Sci. Comput. 39, 2009 (A-DEF2).

#include <memory>
#include <optional>
#include <span>

#include <stratum/core/operators/sparse_rows.hpp>
#include <stratum/core/shared.hpp>
#include <stratum/solvers/deflation/coarse_factor.hpp>
#include <stratum/solvers/deflation/vectors.hpp>

namespace stratum {

class Deflation final : public Handle {
 public:
  /// Of A, whose rows are the nodes of the shape; on subdomains as subdomain_rows of core/operators/csr_matrix.hpp has them.
  /// `given_sums`: A 1, where it is known better than from the entries. `blocks`: the same nodes in rows that subdomains have
  /// beside their own, where these are others than the shape's, as the planes of a box.
  Deflation(Context& ctx, const SparseRows& a, const GridLayout<2>& shape, const DeflationVectors& vectors,
            std::span<const double> given_sums = {}, const std::optional<GridLayout<2>>& blocks = {});

  [[nodiscard]] const GridLayout<2>& shape() const { return shape_; }
  /// Vectors, which coarse ones have numbers for: flat.
  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] const CoarseFactor& factor() const { return *factor_; }

  /// d = Z^T r
  void restrict_to(Context& ctx, FieldView<const double> r, FieldView<double> d) const;
  /// d <- d - (A Z)^T x
  void subtract_products(Context& ctx, FieldView<const double> x, FieldView<double> d) const;
  /// c = E^-1 d; d may be c
  void solve(Context& ctx, FieldView<const double> d, FieldView<double> c) const;
  /// x <- x + Z c
  void add(Context& ctx, FieldView<const double> c, FieldView<double> x) const;
  /// r <- r + alpha A Z c
  void add_image(Context& ctx, double alpha, FieldView<const double> c, FieldView<double> r) const;
  /// Every node has one vector: together they are one everywhere.
  [[nodiscard]] bool covers() const { return az_by_nodes_.differences; }
  /// Some vectors have a core (solvers/deflation/vectors.hpp).
  [[nodiscard]] bool has_cores() const { return has_cores_; }
  /// The means of x over the cores go from x to c: x + Z c stays what it is.
  void move_means(Context& ctx, FieldView<double> x, FieldView<double> c) const;

 private:
  /// Vectors one after the other, cut into chunks that are summed separately.
  struct ByVectors {
    SharedField<int> node, begin, first_chunk;  // of an entry; of a chunk, and the end; of a vector, and their number
    SharedField<double> value, partial;
    int chunks = 0;
  };
  /// Nodes one after the other. `differences`: the first entry of a node is that of its home.
  struct ByNodes {
    SharedField<int> start, vector;
    SharedField<double> value;
    bool differences = false;
  };
  void check(const SparseRows& a, const DeflationVectors& vectors, std::span<const double> given_sums,
             int beside) const;
  [[nodiscard]] ByVectors by_vectors(Context& ctx, const SparseRows& rows) const;
  [[nodiscard]] ByNodes by_nodes(Context& ctx, const SparseRows& rows, bool differences) const;
  /// d = keep d + factor W^T x
  void multiply_transposed(Context& ctx, const ByVectors& w, FieldView<const double> x, double keep, double factor,
                           FieldView<double> d) const;
  void multiply_add(Context& ctx, const ByNodes& w, double alpha, FieldView<const double> c, FieldView<double> x) const;

  GridLayout<2> shape_;
  int count_ = 0;
  bool has_cores_ = false;
  ByVectors z_by_vectors_, az_by_vectors_, cores_;
  ByNodes z_by_nodes_, az_by_nodes_;
  std::shared_ptr<const CoarseFactor> factor_;
  SharedField<double> inverse_;  // on a GPU
  SharedField<double> means_, right_;
  SharedField<double> own_, of_subdomains_;  // sums of this subdomain's rows, and of every subdomain's
};

}  // namespace stratum
