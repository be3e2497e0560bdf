#pragma once

// Stratum's multigrid in three dimensions as a preconditioner of deal.II: one cycle for the matrix of FE_Q<3>(1) on a
// tensor-product mesh of hexahedra,
//
//     stratum::DealiiBoxPreconditioner preconditioner;
//     preconditioner.initialize(system_matrix, dof_handler);
//     dealii::SolverCG<dealii::Vector<double>>(solver_control).solve(system_matrix, solution, system_rhs, preconditioner);
//
// Unknowns are found by their vertices, in any numbering. These must lie on nx x ny x nz planes, one on every crossing, and
// the active cells between neighbouring planes: boxes that were refined globally, or subdivided by lists of step sizes. Other
// meshes and elements, systems, hanging nodes and several processes are refused, with the reason. Dirichlet rows hold their
// diagonal alone, as AffineConstraints or MatrixTools::apply_boundary_values leave them; other boundaries are Neumann's or
// Robin's. Periodic constraints are not taken. A matrix of Neumann boundaries alone is singular: its right-hand sides must sum
// to zero, and results of a cycle have mean zero.
//
// The cycle is V(1,1) with gated coarsening (multigrid/box_multigrid.hpp), which sees widths by the couplings of the matrix.
// vmult is symmetric for a symmetric matrix; of another matrix it is not, and is for GMRES or BiCGSTAB.
// One thread at a time. Vectors are in host memory. Errors: stratum::UsageError.

#include <stratum/dealii.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>

namespace stratum {

class DealiiBoxPreconditioner {
 public:
  struct AdditionalData {
    Backend backend = Backend::cpu;
    int threads = 0;                // on the CPU; 0: what OpenMP offers
    bool single_precision = false;  // of the cycle
  };

  /// Reads the matrix and makes the hierarchy; neither it nor `dofs` is needed afterwards.
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<3>& dofs, const AdditionalData& data);
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<3>& dofs) {
    initialize(a, dofs, AdditionalData());
  }

  /// z = M^-1 r of vectors whose numbers lie one behind the other from begin() on, or blocks of such.
  template <class VectorType>
  void vmult(VectorType& z, const VectorType& r) const;
  /// The same, of a symmetric matrix.
  template <class VectorType>
  void Tvmult(VectorType& z, const VectorType& r) const {  // NOLINT(readability-identifier-naming): deal.II's name
    expects(state().solver.findings().symmetric, "the transposed cycle is there of a symmetric matrix only");
    vmult(z, r);
  }
  void clear() { state_.reset(); }
  [[nodiscard]] const BoxMatrixSolver::Findings& findings() const { return state().solver.findings(); }

 private:
  struct State {
    Context ctx;
    BoxMatrixSolver solver;
    std::vector<double> r, z;
    ReentrancyGuard guard;

    State(const AdditionalData& data, const SparseRows& rows, const std::array<int, 3>& n,
          const BoxMatrixParams& params)
        : ctx(data.backend, data.threads), solver(ctx, rows, n, params), r(static_cast<std::size_t>(rows.rows)),
          z(r.size()) {}
  };
  [[nodiscard]] State& state() const {
    expects(state_ != nullptr, "the preconditioner has no matrix: call initialize first");
    return *state_;
  }
  std::unique_ptr<State> state_;
};

// --- implementation ------------------------------------------------------------------------------------------------------

namespace detail {

/// Planes of a mesh in three directions, and the node (k ny + j) nx + i of every unknown.
struct DealiiBoxNumbering {
  std::array<int, 3> n{};
  std::vector<int> node;

  explicit DealiiBoxNumbering(const dealii::DoFHandler<3>& dofs) : node(dofs.n_dofs()) {
    expects(dofs.has_active_dofs(), "the DoFHandler has no unknowns: call distribute_dofs first");
    expects(dofs.get_fe_collection().size() == 1, "the DoFHandler has ", dofs.get_fe_collection().size(),
            " finite elements; FE_Q<3>(1) is taken");
    const auto& element = dofs.get_fe();
    expects(dynamic_cast<const dealii::FE_Q<3>*>(&element) != nullptr && element.degree == 1, "the element is ",
            element.get_name(), "; FE_Q<3>(1) is taken");
    expects(dofs.n_locally_owned_dofs() == dofs.n_dofs(), "this process owns ", dofs.n_locally_owned_dofs(), " of ",
            dofs.n_dofs(), " unknowns; boxes are solved on one process");
    const auto& mesh = dofs.get_triangulation();
    const auto& used = mesh.get_used_vertices();
    const auto planes = [&](unsigned int direction) {
      std::vector<double> coordinates;
      for (std::size_t v = 0; v < used.size(); ++v)
        if (used[v]) coordinates.push_back(mesh.get_vertices()[v][direction]);
      return GridLines(std::move(coordinates));
    };
    const std::array<GridLines, 3> lines{planes(0), planes(1), planes(2)};
    std::size_t crossings = 1, cells_there = 1, cells = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      n[d] = lines[d].size();
      crossings *= static_cast<std::size_t>(n[d]);
      cells_there *= static_cast<std::size_t>(n[d]) - 1;
    }
    expects(crossings == mesh.n_used_vertices(), "the ", mesh.n_used_vertices(), " vertices lie on ", n[0], ", ", n[1],
            " and ", n[2],
            " planes in x, y and z, not one on every crossing: this is no tensor-product mesh, or planes are closer "
            "than rounding");
    std::vector<std::array<int, 3>> at(used.size());
    std::vector<bool> seen(crossings);
    for (std::size_t v = 0; v < used.size(); ++v) {
      if (!used[v]) continue;
      const auto& point = mesh.get_vertices()[v];
      for (unsigned int d = 0; d < 3; ++d) at[v][d] = lines[d].index(point[d]);
      const auto crossing = static_cast<std::size_t>(number(at[v]));
      expects(!seen[crossing], "two vertices lie at (", point[0], ", ", point[1], ", ", point[2],
              "): this is no tensor-product mesh");
      seen[crossing] = true;
    }
    std::vector<dealii::types::global_dof_index> indices(element.n_dofs_per_cell());
    for (const auto& cell : dofs.active_cell_iterators()) {
      std::array<int, 3> least = n, most{};
      for (const unsigned int v : cell->vertex_indices())
        for (std::size_t d = 0; d < 3; ++d) {
          least[d] = std::min(least[d], at[cell->vertex_index(v)][d]);
          most[d] = std::max(most[d], at[cell->vertex_index(v)][d]);
        }
      for (std::size_t d = 0; d < 3; ++d)
        expects(most[d] == least[d] + 1, "the cell at (", cell->center()[0], ", ", cell->center()[1], ", ",
                cell->center()[2], ") spans ", most[d] - least[d], " grid intervals in ", axis_names[d],
                ", not 1: hanging nodes or cells that are no boxes");
      ++cells;
      cell->get_dof_indices(indices);
      // Of FE_Q(1), shape functions and vertices are numbered alike.
      for (unsigned int k = 0; k < indices.size(); ++k) node[indices[k]] = number(at[cell->vertex_index(k)]);
    }
    expects(cells == cells_there, "there are ", cells, " cells between ", n[0], " x ", n[1], " x ", n[2],
            " planes: this is no tensor-product mesh");
  }

 private:
  [[nodiscard]] int number(const std::array<int, 3>& at) const { return (at[2] * n[1] + at[1]) * n[0] + at[0]; }
};

}  // namespace detail

template <class Matrix>
void DealiiBoxPreconditioner::initialize(const Matrix& a, const dealii::DoFHandler<3>& dofs,
                                         const AdditionalData& data) {
  state_.reset();
  detail::DealiiBoxNumbering numbering(dofs);
  expects(a.m() == numbering.node.size() && a.n() == a.m(), "the matrix is ", a.m(), " x ", a.n(),
          ", the DoFHandler has ", numbering.node.size(), " unknowns");
  std::vector<SparseEntry> entries;
  for (dealii::types::global_dof_index row = 0; row < a.m(); ++row)
    for (auto entry = a.begin(row); entry != a.end(row); ++entry)
      if (entry->value() != 0)
        entries.push_back({static_cast<int>(row), static_cast<int>(entry->column()), entry->value()});
  const int rows = static_cast<int>(a.m());
  BoxMatrixParams params;
  params.float_cycles = data.single_precision;
  params.triangle = Triangle::general;
  params.method = Method::multigrid;  // deal.II iterates
  params.numbering = std::move(numbering.node);
  state_ = std::make_unique<State>(data, sparse_rows(rows, rows, std::move(entries)), numbering.n, params);
}

template <class VectorType>
void DealiiBoxPreconditioner::vmult(VectorType& z, const VectorType& r) const {
  State& s = state();
  const auto entered = s.guard.enter("preconditioner");
  expects(detail::numbers_in(r) == s.r.size() && detail::numbers_in(z) == s.r.size(), "the preconditioner is for ",
          s.r.size(), " unknowns; the vectors hold ", detail::numbers_in(r), " and ", detail::numbers_in(z),
          " on this process");
  double* next = s.r.data();
  detail::for_each_piece(r, [&next](const double* from, std::size_t count) { next = std::copy_n(from, count, next); });
  s.solver.apply(s.ctx, s.r, s.z);
  const double* last = s.z.data();
  detail::for_each_piece(z, [&last](double* to, std::size_t count) {
    std::copy_n(last, count, to);
    last += count;
  });
}

}  // namespace stratum
