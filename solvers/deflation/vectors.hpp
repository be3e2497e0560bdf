#pragma once

// Deflation vectors: the columns of Z, which span what a preconditioner leaves slow in A x = b. A coarse system solves this part
// exactly (solvers/deflation/deflation.hpp). The nodes of an nx x ny grid are numbered along x first; Z is stored by vectors, a
// row of SparseRows for each, with nodes as columns.
//
// Most vectors come from domains: `domain` has a number for each node, or -1 where the node is in no domain. The vector of a
// domain is one on its nodes and zero elsewhere. Square blocks reduce the iterations more than the same number of stripes. Where
// blocks cut inclusions of another phase, blocks that are split along the phases reduce them further.
//
// On a Context with several subdomains each subdomain has the nodes of its own rows, and as many vectors as all others; some of
// them may have no entry there. All subdomains must use the same numbers. stripes and square_blocks do; split_domains and
// connected_parts number what they find and therefore need the whole grid.
//
// All functions run on the host, in time proportional to the number of nodes. Errors: UsageError, as said at each function.
//
// Sources: J. M. Tang, Two-Level Preconditioned Conjugate Gradient Methods with Applications to Bubbly Flow Problems, 2008;
// R. Gupta, Implementation of the Deflated Preconditioned Conjugate Gradient Method for Bubbly Flow on the Graphical
// Processing Unit, 2010 (stripes).

#include <vector>

#include <stratum/core/field/field.hpp>
#include <stratum/core/operators/sparse_rows.hpp>

namespace stratum {

struct DeflationVectors {
  SparseRows z;  // a row is a vector, a column a node
  /// For every node the vector that is one there and whose part of x may be kept separately, or -1; empty: no vector has such a
  /// core.
  std::vector<int> core;
  bool covers = false;  // every node has one vector, which is one there

  [[nodiscard]] int count() const { return z.rows; }
};

/// Throws UsageError for a domain that is -2 or less; those without a node are left out.
[[nodiscard]] DeflationVectors vectors_of_domains(const std::vector<int>& domain);
/// Of domains 0 .. count - 1, all of them, of which other subdomains of the grid have nodes as well.
[[nodiscard]] DeflationVectors vectors_of_domains(const std::vector<int>& domain, int count);

/// One more vector, one everywhere, on all subdomains, whose core is what has none: the slow mode of what is nearly singular.
/// It is zero at nodes that are `held`, each by a diagonal of its own: their rows would be all of A z. For vectors that do not
/// cover the grid.
void add_constant(DeflationVectors& vectors, const std::vector<char>& held = {});

/// `count` stripes of consecutive nodes, as equal as can be. Throws UsageError unless there is a node for each.
[[nodiscard]] std::vector<int> stripes(const GridLayout<2>& shape, int count);
/// across x across rectangles, as equal as can be. Throws UsageError unless there is a node for each.
[[nodiscard]] std::vector<int> square_blocks(const GridLayout<2>& shape, int across);
/// Those of the whole grid on a subdomain of its rows.
[[nodiscard]] std::vector<int> stripes(const GridLayout<2>& whole, int count, const GridLayout<2>& subdomain);
[[nodiscard]] std::vector<int> square_blocks(const GridLayout<2>& whole, int across, const GridLayout<2>& subdomain);
/// A domain for every pair that occurs, in the order of the first number.
[[nodiscard]] std::vector<int> split_domains(const std::vector<int>& domain, const std::vector<int>& by);

/// The connected parts of what is marked, numbered, -1 elsewhere; neighbours share a side, or a corner where `corners`.
[[nodiscard]] std::vector<int> connected_parts(const GridLayout<2>& shape, const std::vector<char>& marked,
                                               bool corners);

}  // namespace stratum
