#pragma once

// Deflated conjugate gradients around a cycle for -div(K grad u) + c u = f on a rectangle: the choice of the deflation vectors,
// and the solver (solvers/deflation/deflated_cg.hpp). The rows of A are formed on the host.
//
//   inclusions  one vector per isolated inclusion of high K (multigrid/inclusions.hpp), the slow modes of a cycle
//   blocks      one vector per rectangle, of `count` x `count`: for weak preconditioners; around a cycle they gain nothing
//   ritz        the `count` lowest Ritz vectors of an additional solve with another right-hand side: for many solves
//   automatic   inclusions if K jumps by 1000 or more, the mesh is nearly uniform, and there are 1 to 400 of them; else none
//
// With `inclusions`, and with `automatic` even if it finds none, the constant is one more vector if there is no Dirichlet
// boundary and A is not singular, since A may nearly be. If a matrix consists of parts that are not coupled to each other, each
// part without Dirichlet nodes has its own constant.
//
// x is kept as a sum of two vectors if K jumps by 1e4 or more and the deflation vectors allow it. Subdomains of a grid give the
// same result as one.

#include <cstdint>
#include <memory>
#include <string>

#include <stratum/core/names.hpp>
#include <stratum/multigrid/couplings.hpp>
#include <stratum/multigrid/inclusions.hpp>
#include <stratum/solvers/deflation/deflated_cg.hpp>

namespace stratum {

enum class DeflateBy : std::uint8_t { none, inclusions, blocks, ritz, automatic };

template <>
inline constexpr auto names_of<DeflateBy> = std::to_array<Named<DeflateBy>>({{DeflateBy::none, "none"},
                                                                             {DeflateBy::inclusions, "inclusions"},
                                                                             {DeflateBy::blocks, "blocks"},
                                                                             {DeflateBy::ritz, "ritz"},
                                                                             {DeflateBy::automatic, "auto"}});

struct DeflateParams {
  DeflateBy by = DeflateBy::none;
  int count = 0;          // blocks: across; ritz: vectors
  bool in_parts = false;  // the matrix falls into parts that are coupled to no others
};

/// The lowest of a solve for white noise, `diagonal` given where A is singular; more than 26 iterations where count asks for
/// them. Fewer than count where it took fewer.
[[nodiscard]] DeflationVectors ritz_vectors(Context& ctx, const GridOperator<double>& a, Preconditioner<double>* m,
                                            const std::vector<double>& diagonal, int count);

struct DeflatedSolver {
  std::unique_ptr<DeflatedCg> solver;  // null: nothing to deflate
  std::string description;             // of the vectors, or why there are none
};

/// For the finest operator of the hierarchy, assembled from K and the terms; m is what CG is preconditioned by. Throws
/// UsageError for a count that does not fit.
[[nodiscard]] DeflatedSolver make_deflated_solver(Context& ctx, const Hierarchy<double>& hierarchy,
                                                  const CellCoefficients& k, const OperatorTerms& terms,
                                                  Preconditioner<double>& m, const DeflateParams& params);
/// The same of a symmetric matrix of which nothing else is known than what it couples; of a hierarchy whose interpolation
/// follows it.
[[nodiscard]] DeflatedSolver make_deflated_solver(Context& ctx, const Hierarchy<double>& hierarchy,
                                                  const Couplings& found, Preconditioner<double>& m,
                                                  const DeflateParams& params);

}  // namespace stratum
