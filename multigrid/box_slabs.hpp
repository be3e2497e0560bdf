#pragma once

// BoxSlabs: the part of a box that a rank has, whole planes across the last direction of storage (multigrid/box_plan.hpp,
// `slab_of`), and what PoissonSolver3D exchanges with the ranks beside it or gathers. On one rank it is the whole box, and
// nothing is exchanged. All ranks call together. Nothing waits for the stream but what is gathered on the host.

#include <array>
#include <cstdint>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_discretization.hpp>
#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_rows.hpp>
#include <stratum/multigrid/box_memory.hpp>
#include <stratum/multigrid/box_plan.hpp>

namespace stratum {

/// As many numbers of every rank, added up in their order; waits for them.
[[nodiscard]] std::vector<double> sums_of_ranks(const Context& ctx, std::vector<double> own);

/// Modes of both directions, which two of several ranks make and all take, so that all have the same bits.
[[nodiscard]] std::array<LineModes, 2> modes_of(const Context& ctx, const AxisFactors& x, const AxisFactors& y);

class BoxSlabs {
 public:
  BoxSlabs(const Context& ctx, const TensorMesh<3>& mesh, const BoxOrder& order);

  /// In the order of storage.
  [[nodiscard]] const GridLayout<3>& layout() const { return slab_; }
  [[nodiscard]] bool has_above() const { return slab_.upper[2].kind == Face::Kind::subdomain; }
  /// Of the unknowns.
  [[nodiscard]] int first_plane() const;
  /// The first plane of every rank and the number of planes; none of one rank.
  [[nodiscard]] const std::vector<int>& cuts() const { return cuts_; }
  /// The planes of nodes around this rank's cells.
  [[nodiscard]] NodePlanes nodes() const { return nodes_; }
  /// For matrices.
  [[nodiscard]] BoxSlab of_matrices() const;
  /// This rank's unknowns, in the directions of the box.
  [[nodiscard]] GridLayout<3> unknowns(const TensorMesh<3>& mesh) const;
  /// Factors in the order of storage, of all planes, those of this rank.
  [[nodiscard]] std::array<AxisFactors, 3> own(std::array<AxisFactors, 3> factors) const;

  /// The first plane of b grows by what the rank below has for it, behind its last one. `scratch` is a plane with b's rows.
  void add_from_below(Context& ctx, FieldView<double, 3> b, FieldView<double, 3> scratch) const;
  /// What is no boundary's.
  void fill_ghosts(Context& ctx, FieldView<double, 3> x) const;

  // Of all ranks.
  /// Cells, volumes and means of bodies, by u at this rank's nodes, across z where there are several.
  [[nodiscard]] std::vector<BoxBodyFlux> means(const Context& ctx, const TensorMesh<3>& mesh, const BoxBodies& bodies,
                                               const std::vector<double>& nodal) const;
  [[nodiscard]] BoundaryFluxes3D sum(const Context& ctx, const BoundaryFluxes3D& own) const;
  /// u by a Context where it is, without the other ranks.
  [[nodiscard]] SolutionRange3D joined(const Context& ctx, const SolutionRange3D& own,
                                       const BoxDiscretization& of_cells, Context& there,
                                       StoredBox<const double> u) const;

 private:
  [[nodiscard]] bool has_below() const { return slab_.lower[2].kind == Face::Kind::subdomain; }
  /// So many numbers each way, with the ranks beside this one.
  void exchange(Context& ctx, Communicator::Rows planes, std::int64_t numbers) const;

  GridLayout<3> slab_;
  BoxOrder order_;
  std::array<bool, 3> periodic_{};  // in the order of storage
  int first_unknown_ = 0, ranks_ = 1;
  std::vector<int> cuts_;
  NodePlanes nodes_{};
};

}  // namespace stratum
