#pragma once

// The Q1 equations of a problem in a box (assembly/poisson_problem_3d.hpp): factors of the operator
// (core/operators/box_operator.hpp), loads, values of Dirichlet nodes, and what is asked of a solution.
//
//     kxx = k_x(x) w_y(y) w_z(z) and so on on the cells:   interval i of x has k_i = k_x / h_i and m_i = w_x h_i / 6
//
// K that is not separable (assembly/box_material.hpp) has factors of K = 1, and a number or three for every cell.
//
// Arrays of nodes hold all nodes, faces included, x fastest; those of a face its nodes, the first direction along it fastest.
// Loads are integrals over the box's own cells: in a periodic direction first and last nodes have a part each, and b the sum.
// Functions are integrated by tensor Gauss rules of `points` points a direction and cell.
//
// b and u are in memory of the Context's (assembly/box_fields.hpp): b of the unknowns, u of all nodes. On a GPU the functions
// that it evaluates (assembly/expressions/gpu_box_integrals.hpp) are integrated there, and other loads, errors of other
// functions and the parts of fluxes on faces on the host.
//
// Fluxes, r the residual of the natural equations at a node of a face, the integral of phi_i n.K grad u over the faces there: a
// Neumann or Robin face has what its data say, a Dirichlet face the rest. Where several Dirichlet faces meet each has the
// integral of phi_i n.K grad u_h over its own cells, and an equal part of what is left. Beside a Dirichlet face a periodic one
// has the mean of such integrals on both sides.
//
// Work is shared by the Context's threads. Errors: UsageError, as in assembly/poisson_problem_3d.hpp.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <stratum/assembly/box_fields.hpp>
#include <stratum/assembly/box_material.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/operators/box_matrix.hpp>
#include <stratum/core/operators/box_operator.hpp>

namespace stratum {

/// Of the unknowns of direction d, with what its ends add; of a K that is not separable those of K = 1. Throws UsageError where
/// K / h leaves the range of double.
[[nodiscard]] AxisFactors axis_factors(const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                                       const BoxMaterial& material, std::size_t d);

struct KeptBoxKernel;

class BoxDiscretization {
 public:
  /// `mesh` has the ends of the problem's faces, and `material` is K on it.
  BoxDiscretization(Context& ctx, TensorMesh<3> mesh, PoissonProblem3D problem,
                    std::shared_ptr<const BoxMaterial> material, int points);
  /// Cells first .. end - 1 of a direction, of a subdomain, with the nodes around them. Cuts are natural faces without data:
  /// loads and fluxes are integrals over these cells, and those of all subdomains add up. Errors are those of all subdomains of
  /// the Context's communicator, as what is subtracted from f is. Factors are the whole box's. K that is not separable is that of
  /// these cells, across z; bodies are the whole box's.
  BoxDiscretization(Context& ctx, const BoxDiscretization& whole, int axis, int first, int end);

  [[nodiscard]] const TensorMesh<3>& mesh() const { return mesh_; }
  [[nodiscard]] const PoissonProblem3D& problem() const { return problem_; }
  [[nodiscard]] bool is_singular() const { return singular_; }
  [[nodiscard]] const BoxMaterial& material() const { return *material_; }
  /// The operator of a K that is not separable; of the whole box, or of a slab with so many planes of its own.
  [[nodiscard]] BoxCoefficients coefficients(const Context& ctx, const BoxSlab& slab = {}, int planes = 0) const;
  /// Of each direction of the whole box.
  [[nodiscard]] const std::array<AxisFactors, 3>& factors() const { return factors_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_[0] * nodes_[1] * nodes_[2]; }
  [[nodiscard]] const std::array<std::size_t, 3>& nodes_of_axes() const { return nodes_; }
  [[nodiscard]] std::array<int, 3> unknowns() const;

  /// What fluxes need of a load: its numbers on the faces, and their sum.
  struct FaceLoads {
    std::array<std::vector<double>, 6> faces;
    double sum = 0, magnitudes = 0;  // of all nodes; magnitudes of an f that may have both signs
  };
  /// Other functions f, u and g of the same K, kinds of faces and alpha, as another time has them.
  void set_data(Context& ctx, const PoissonProblem3D& problem);

  /// b = integrals of f phi_i, of the problem's f or of this one.
  [[nodiscard]] FaceLoads load(Context& ctx, StoredBox<double> b) const;
  [[nodiscard]] FaceLoads load(Context& ctx, const ScalarFunction3D& f, StoredBox<double> b) const;
  /// Of an f that is given at all nodes, and the integrals themselves.
  [[nodiscard]] FaceLoads load_of_nodal(Context& ctx, std::span<const double> f, StoredBox<double> b) const;
  [[nodiscard]] FaceLoads take_load(Context& ctx, std::span<const double> load, StoredBox<double> b) const;

  /// Adds the data of Neumann and Robin faces to b.
  void add_face_data(Context& ctx, StoredBox<double> b) const;
  /// Of a singular problem: subtracts a constant from f where rounding alone keeps it from balance or `project` says so; else
  /// UsageError, `what` being the sum that had to vanish. `loads` may be null.
  [[nodiscard]] Compatibility balance(Context& ctx, const BoxFactors& hats, bool project, const char* what,
                                      StoredBox<double> b, FaceLoads* loads) const;

  /// Sets u at the nodes of Dirichlet faces; whether some of it is not zero.
  bool set_dirichlet_values(Context& ctx, StoredBox<double> u) const;

  /// Nodal values of the host's, x fastest.
  [[nodiscard]] StoredBox<const double> nodes_on_host(std::span<const double> nodal) const;
  /// Of a solution, by a Context where u is. Errors are those of all `ranks`, extremes and steps those of these cells.
  [[nodiscard]] std::optional<RelativeErrors> relative_errors(const Context& ranks, Context& ctx,
                                                              StoredBox<const double> u) const;
  [[nodiscard]] BoundaryFluxes3D fluxes(Context& ctx, StoredBox<const double> u, const FaceLoads& loads) const;
  [[nodiscard]] SolutionRange3D range(Context& ctx, StoredBox<const double> u) const;
  /// K du/ds on this edge of the whole box, and on those before and behind it along its line: NaN where they are none of these
  /// cells'.
  struct FluxesOfEdge {
    double before, own, behind;
  };
  [[nodiscard]] FluxesOfEdge fluxes_of_edge(Context& ctx, StoredBox<const double> u,
                                            const SolutionRange3D::Edge& edge) const;
  /// The integral over the box, and its volume.
  [[nodiscard]] double integral(Context& ctx, StoredBox<const double> u) const;
  [[nodiscard]] double volume() const;
  /// Integrals of phi_i of the unknowns of a direction.
  [[nodiscard]] std::vector<double> hat_integrals(int axis) const;

 private:
  [[nodiscard]] std::size_t number(std::size_t i, std::size_t j, std::size_t k) const {
    return (k * nodes_[1] + j) * nodes_[0] + i;
  }
  [[nodiscard]] bool is_cut(BoxFace face) const { return cut_[static_cast<std::size_t>(face)]; }
  /// kxx, kyy and kzz of a cell.
  [[nodiscard]] std::array<double, 3> material_at(const std::array<std::size_t, 3>& cell) const;
  /// Makes faces of the problem that are cuts natural ones without data.
  void clear_cuts();
  void integrate_face_data(Context& ctx);
  [[nodiscard]] std::vector<double> host_load(Context& ctx, const ScalarFunction3D& f) const;
  [[nodiscard]] std::optional<FaceLoads> load_on_gpu(Context& ctx, const ScalarFunction3D& f,
                                                     StoredBox<double> b) const;
  [[nodiscard]] FaceLoads load_of_products(Context& ctx, const ScalarFunction3D& f, StoredBox<double> b) const;

  TensorMesh<3> mesh_;
  PoissonProblem3D problem_;
  int points_;
  std::array<std::size_t, 3> nodes_{};
  std::shared_ptr<const BoxMaterial> material_;
  std::array<std::vector<double>, 3> k_, w_;  // of K, an interval; ones where it is not separable
  std::array<double, 6> alpha_{};
  std::array<AxisFactors, 3> factors_;
  std::array<std::vector<double>, 6> data_;  // integrals of g phi_i over Neumann and Robin faces
  bool singular_ = false;
  std::shared_ptr<KeptBoxKernel> kept_;  // of loads that change with the time
  std::array<bool, 6> cut_{};            // faces that are none
  std::array<int, 3> first_node_{};      // of the whole box
};

/// How much the flux on an edge changes on the way to those beside it, relative to itself, as in two dimensions
/// (assembly/solution_range.hpp).
[[nodiscard]] double change_of_flux(const BoxDiscretization::FluxesOfEdge& fluxes);
/// Of all parts of a box, from the ranges of each; of equal values the first in the order of nodes. `change_of_flux` is that of
/// the part which has the largest step.
[[nodiscard]] SolutionRange3D joined(const std::vector<SolutionRange3D>& parts);

}  // namespace stratum
