#pragma once

// Deflation vectors, the columns of Z: what a preconditioner leaves slow in A x = b and a coarse system solves exactly
// (solvers/deflation/deflation.hpp). Nodes of an nx x ny grid are numbered along x first.
//
// Domains are numbers of nodes, -1 where a node is in none; the vector of a domain is one there and zero elsewhere. Square
// blocks do more than as many stripes; where they cut inclusions of another phase, split blocks do more again.
//
// On subdomains of a grid each has the nodes of its own rows, in as many vectors as all of them, of which some may have no
// entry there. Domains are then numbers that all subdomains use alike: those of stripes and blocks are; split_domains and
// connected_parts number what they see, and want the whole grid.
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
  std::vector<int>
      core;  // of every node: the vector that is one there and whose size x may have apart, or -1. Empty: none
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
