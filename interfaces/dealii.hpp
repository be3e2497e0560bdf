#pragma once

// Stratum's multigrid as a preconditioner of deal.II: one cycle for each diagonal block of the matrix of FE_Q<2>(1), or of an
// FESystem<2> of them, on a tensor-product mesh,
//
//     stratum::DealiiPreconditioner preconditioner;
//     preconditioner.initialize(system_matrix, dof_handler);
//     dealii::SolverCG<dealii::Vector<double>>(solver_control).solve(system_matrix, solution, system_rhs, preconditioner);
//
// Numbering. Unknowns are found by their vertices. These must lie on nx x ny grid lines, one on every crossing, and the active
// cells must be the cells between neighbouring lines. Rectangles that were refined globally or subdivided by lists of widths
// are such meshes, in any numbering. Everything else is refused, with the reason: hanging nodes, deformed cells, holes, other
// elements, and several processes (use <stratum/dealii_mpi.hpp>).
//
// Widths are differences of coordinates, since deal.II has only these. Beside x = 1, widths below 1e-10 are wrong in the sixth
// digit, and lines closer than 1e-14 of the size of the domain are refused. Only the interpolation depends on the widths, and
// only where the matrix does not determine it; the operators are the matrix and its Galerkin products.
//
// Boundary conditions are read from the matrix, where AffineConstraints::distribute_local_to_global,
// AffineConstraints::condense or MatrixTools::apply_boundary_values have entered them:
//
//     Dirichlet       rows of constrained unknowns contain only their diagonal entry, which is inverted: on a boundary, on a
//                     part of one or inside. It does not matter whether the columns were cleared, too
//     Neumann, Robin  all other unknowns of a boundary are unknowns of the grid
//     periodic        DoFTools::make_periodicity_constraints leaves only the diagonal in the rows of one boundary, and couples
//                     the other one to the unknowns before it: the two are one line of a periodic grid. One direction or both
//
// If all boundaries are Neumann, Robin or periodic and rows sum to zero, A is singular, and the result of a cycle has mean
// zero. Right-hand sides must sum to zero, as for SolverCG itself.
//
// Components. Couplings between components are ignored: a system is preconditioned by its diagonal blocks, in any numbering,
// with block matrices and vectors or without. Components with equal blocks share one hierarchy.
//
// One thread at a time. vmult is one cycle that is symmetric for a symmetric matrix, as SolverCG requires. For a nonsymmetric
// matrix the interpolation follows the widths, and Tvmult builds a second hierarchy, for the transpose, when it is first
// called. Vectors are in host memory; with a GPU they are copied there and back. Errors: stratum::UsageError.
//
// This header is compiled by the user's program; the library does not depend on deal.II. Tested with 9.4.

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/mesh/grid_lines.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>

namespace stratum {

namespace detail {

/// Throws UsageError for other elements.
inline void expects_bilinear(const dealii::DoFHandler<2>& dofs) {
  expects(dofs.has_active_dofs(), "the DoFHandler has no unknowns: call distribute_dofs first");
  expects(dofs.get_fe_collection().size() == 1, "the DoFHandler has ", dofs.get_fe_collection().size(),
          " finite elements; FE_Q<2>(1) and systems of it are taken");
  const auto& element = dofs.get_fe();
  for (unsigned int b = 0; b < element.n_base_elements(); ++b) {
    const auto& base = element.base_element(b);
    expects(dynamic_cast<const dealii::FE_Q<2>*>(&base) != nullptr && base.degree == 1, "the element is ",
            element.get_name(), "; FE_Q<2>(1) and systems of it are taken");
  }
}

/// Where the unknowns of a DoFHandler lie: the component, and the crossing of two lines of the mesh.
struct DealiiNumbering {
  using Index = dealii::types::global_dof_index;
  struct Node {
    int component, i, j;
  };
  GridLines x, y;
  int components = 0;
  std::vector<Node> node;  // of every unknown

  explicit DealiiNumbering(const dealii::DoFHandler<2>& dofs)
      : x(lines(taken(dofs), 0)), y(lines(dofs, 1)), node(dofs.n_dofs()) {
    const auto& mesh = dofs.get_triangulation();
    const auto& element = dofs.get_fe();
    components = static_cast<int>(element.n_components());
    const auto nx = static_cast<std::size_t>(x.size()), ny = static_cast<std::size_t>(y.size());
    expects(nx * ny == mesh.n_used_vertices(), "the ", mesh.n_used_vertices(), " vertices lie on ", nx,
            " lines in x and ", ny,
            " in y, not one on every crossing: this is no tensor-product mesh, or lines are closer than rounding");
    const auto& used = mesh.get_used_vertices();
    std::vector<std::array<int, 2>> at(used.size());  // lines of every vertex
    std::vector<bool> seen(nx * ny);
    for (std::size_t v = 0; v < used.size(); ++v) {
      if (!used[v]) continue;
      const auto& point = mesh.get_vertices()[v];
      at[v] = {x.index(point[0]), y.index(point[1])};
      const std::size_t crossing = static_cast<std::size_t>(at[v][1]) * nx + static_cast<std::size_t>(at[v][0]);
      expects(!seen[crossing], "two vertices lie at (", point[0], ", ", point[1], "): this is no tensor-product mesh");
      seen[crossing] = true;
    }
    std::size_t cells = 0;
    std::vector<Index> indices(element.n_dofs_per_cell());
    for (const auto& cell : dofs.active_cell_iterators()) {
      int least_i = x.size(), most_i = 0, least_j = y.size(), most_j = 0;
      for (const unsigned int v : cell->vertex_indices()) {
        const auto [i, j] = at[cell->vertex_index(v)];
        least_i = std::min(least_i, i);
        most_i = std::max(most_i, i);
        least_j = std::min(least_j, j);
        most_j = std::max(most_j, j);
      }
      expects(most_i == least_i + 1 && most_j == least_j + 1, "the cell at (", cell->center()[0], ", ",
              cell->center()[1], ") spans ", most_i - least_i, " x ", most_j - least_j,
              " grid intervals, not 1 x 1: hanging nodes or cells that are no rectangles");
      ++cells;
      cell->get_dof_indices(indices);
      for (unsigned int k = 0; k < indices.size(); ++k) {
        // Of FE_Q(1), shape functions and vertices are numbered alike.
        const auto [component, vertex] = element.system_to_component_index(k);
        const auto [i, j] = at[cell->vertex_index(vertex)];
        node[indices[k]] = {static_cast<int>(component), i, j};
      }
    }
    expects(cells == (nx - 1) * (ny - 1), "there are ", cells, " cells between ", nx, " x ", ny,
            " lines: this is no tensor-product mesh");
  }

 private:
  static const dealii::DoFHandler<2>& taken(const dealii::DoFHandler<2>& dofs) {
    expects_bilinear(dofs);
    expects(dofs.n_locally_owned_dofs() == dofs.n_dofs(), "this process owns ", dofs.n_locally_owned_dofs(), " of ",
            dofs.n_dofs(),
            " unknowns; on several processes there is DealiiParallelPreconditioner of <stratum/dealii_mpi.hpp>");
    return dofs;
  }

  static GridLines lines(const dealii::DoFHandler<2>& dofs, unsigned int direction) {
    const auto& mesh = dofs.get_triangulation();
    const auto& used = mesh.get_used_vertices();
    std::vector<double> coordinates;
    coordinates.reserve(used.size());
    for (std::size_t v = 0; v < used.size(); ++v)
      if (used[v]) coordinates.push_back(mesh.get_vertices()[v][direction]);
    return GridLines(std::move(coordinates));
  }
};

/// For messages: nothing is written unless one is.
struct DescribedUnknown {
  const DealiiNumbering& numbering;
  DealiiNumbering::Index dof;
  friend std::ostream& operator<<(std::ostream& out, const DescribedUnknown& d) {
    const auto& at = d.numbering.node[d.dof];
    out << "unknown " << d.dof;
    if (d.numbering.components > 1) out << " of component " << at.component;
    return out << " on lines (" << at.i << ", " << at.j << ")";
  }
};

/// Steps from one line to another of a direction with so many lines; of a periodic one the first and the last are the same.
inline int steps_between(int from, int to, int lines, bool periodic) {
  const int steps = to - from, round = lines - 1;
  if (!periodic) return steps;
  return 2 * steps > round ? steps - round : 2 * steps < -round ? steps + round : steps;
}

/// The diagonal block of one component: nine bands on the crossings of lines, of which the first and the last are one in a
/// periodic direction.
struct DealiiBlock {
  using Index = DealiiNumbering::Index;
  int nx = 0, ny = 0;
  bool periodic_x = false, periodic_y = false;
  std::vector<Index> unknown;  // at node (i, j), x fastest
  std::vector<Index> joined;   // rows of their diagonal alone whose place another unknown has
  std::vector<double> bands;   // band_index(dx, dy) nodes + j nx + i

  [[nodiscard]] std::size_t nodes() const { return unknown.size(); }
  [[nodiscard]] std::size_t place(const DealiiNumbering::Node& n) const {
    const int i = periodic_x ? n.i % nx : n.i, j = periodic_y ? n.j % ny : n.j;
    return static_cast<std::size_t>(std::int64_t{j} * nx + i);
  }
  [[nodiscard]] double& band(int dx, int dy, std::size_t k) {
    return bands[static_cast<std::size_t>(band_index(dx, dy)) * nodes() + k];
  }

  /// a_(dx,dy)(i, j) <-> a_(-dx,-dy)(i + dx, j + dy)
  void transpose() {
    for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 1}, {0, 1}, {1, 1}})
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          if (!periodic_x && (i + dx < 0 || i + dx >= nx)) continue;
          if (!periodic_y && j + dy >= ny) continue;
          const std::int64_t there = std::int64_t{(j + dy) % ny} * nx + (i + dx + nx) % nx;
          std::swap(band(dx, dy, static_cast<std::size_t>(std::int64_t{j} * nx + i)),
                    band(-dx, -dy, static_cast<std::size_t>(there)));
        }
  }
  /// The same grid, and entries that differ by rounding.
  [[nodiscard]] bool equals(const DealiiBlock& other) const {
    if (periodic_x != other.periodic_x || periodic_y != other.periodic_y) return false;
    const double* const diagonal = bands.data() + std::size_t{4} * nodes();
    for (std::size_t n = 0; n < bands.size(); ++n)
      if (!(std::abs(bands[n] - other.bands[n]) <= 1e-14 * std::abs(diagonal[n % nodes()]))) return false;
    return true;
  }
};

/// The diagonal blocks of a matrix.
struct DealiiBlocks {
  using Index = DealiiNumbering::Index;
  std::vector<DealiiBlock> block;  // of every component
  std::vector<double> diagonal;    // of every unknown

  template <class Matrix>
  DealiiBlocks(const DealiiNumbering& numbering, const Matrix& matrix)
      : block(static_cast<std::size_t>(numbering.components)), diagonal(numbering.node.size()), numbering_(numbering),
        fixed_(numbering.node.size()) {
    expects(matrix.m() == numbering.node.size() && matrix.n() == matrix.m(), "the matrix is ", matrix.m(), " x ",
            matrix.n(), ", the DoFHandler has ", numbering.node.size(), " unknowns");
    read(matrix);
    find_periodic();
    place_unknowns();
    fill_bands();
  }

 private:
  const DealiiNumbering& numbering_;
  // Entries within components that are not zero, by rows; rows of their diagonal alone.
  std::vector<std::size_t> start_{0};
  std::vector<Index> column_;
  std::vector<double> value_;
  std::vector<bool> fixed_;

  [[nodiscard]] DescribedUnknown describe(Index dof) const { return {numbering_, dof}; }
  [[nodiscard]] DealiiBlock& block_of(Index dof) {
    return block[static_cast<std::size_t>(numbering_.node[dof].component)];
  }

  template <class Matrix>
  void read(const Matrix& matrix) {
    start_.reserve(fixed_.size() + 1);
    for (Index row = 0; row < fixed_.size(); ++row) {
      fixed_[row] = true;
      const auto end = matrix.end(row);
      for (auto entry = matrix.begin(row); entry != end; ++entry) {
        const Index column = entry->column();
        const double value = entry->value();
        if (value == 0 || numbering_.node[column].component != numbering_.node[row].component) continue;
        if (column == row)
          diagonal[row] = value;
        else
          fixed_[row] = false;
        column_.push_back(column);
        value_.push_back(value);
      }
      start_.push_back(column_.size());
      expects(diagonal[row] != 0 && std::isfinite(diagonal[row]), describe(row), " has the diagonal entry ",
              diagonal[row]);
    }
  }

  /// f(row, column, value) for rows and columns that are not fixed.
  template <class F>
  void for_each_coupling(const F& f) {
    for (Index row = 0; row < fixed_.size(); ++row) {
      if (fixed_[row]) continue;
      for (std::size_t n = start_[row]; n < start_[row + 1]; ++n)
        if (!fixed_[column_[n]]) f(row, column_[n], value_[n]);
    }
  }

  /// A direction is periodic where its first lines are coupled to its last.
  void find_periodic() {
    const auto reaches_round = [](int from, int to, int lines) {
      return lines >= 4 && std::abs(to - from) >= lines - 2;
    };
    for_each_coupling([&](Index row, Index column, double) {
      const auto &here = numbering_.node[row], &there = numbering_.node[column];
      if (reaches_round(here.i, there.i, numbering_.x.size())) block_of(row).periodic_x = true;
      if (reaches_round(here.j, there.j, numbering_.y.size())) block_of(row).periodic_y = true;
    });
  }

  void place_unknowns() {
    constexpr Index nobody = dealii::numbers::invalid_dof_index;
    for (auto& b : block) {
      b.nx = numbering_.x.size() - (b.periodic_x ? 1 : 0);
      b.ny = numbering_.y.size() - (b.periodic_y ? 1 : 0);
      b.unknown.assign(static_cast<std::size_t>(b.nx) * static_cast<std::size_t>(b.ny), nobody);
    }
    std::vector<bool> has_unknown(block.size());
    for (Index dof = 0; dof < fixed_.size(); ++dof) {
      DealiiBlock& b = block_of(dof);
      Index& holder = b.unknown[b.place(numbering_.node[dof])];
      if (!fixed_[dof]) has_unknown[static_cast<std::size_t>(numbering_.node[dof].component)] = true;
      if (holder == nobody) {
        holder = dof;
        continue;
      }
      expects(
          fixed_[holder] || fixed_[dof], describe(holder), " and ", describe(dof),
          " are one place of a periodic grid, as rows couple across these boundaries; one of them must be constrained");
      b.joined.push_back(fixed_[holder] ? std::exchange(holder, dof) : dof);
    }
    for (std::size_t c = 0; c < block.size(); ++c)
      expects(has_unknown[c], "all rows of component ", c, " hold their diagonal entries alone: a mesh of ",
              numbering_.x.size() - 1, " x ", numbering_.y.size() - 1, " cells with no unknown inside");
  }

  void fill_bands() {
    for (auto& b : block) {
      b.bands.assign(9 * b.nodes(), 0.0);
      for (std::size_t k = 0; k < b.nodes(); ++k) b.band(0, 0, k) = diagonal[b.unknown[k]];
    }
    for_each_coupling([&](Index row, Index column, double value) {
      DealiiBlock& b = block_of(row);
      const auto &here = numbering_.node[row], &there = numbering_.node[column];
      const int dx = steps_between(here.i, there.i, numbering_.x.size(), b.periodic_x),
                dy = steps_between(here.j, there.j, numbering_.y.size(), b.periodic_y);
      expects(std::abs(dx) <= 1 && std::abs(dy) <= 1, describe(row), " couples to ", describe(column),
              ", which is no neighbour of it");
      b.band(dx, dy, b.place(here)) = value;
    });
  }
};

}  // namespace detail

class DealiiPreconditioner {
 public:
  struct AdditionalData {
    Backend backend = Backend::cpu;
    int threads = 0;                                    // on the CPU; 0: what OpenMP offers
    std::string smoother = MultigridParams{}.smoother;  // adi; or "auto": by what couples
    int sweeps = 0;                 // sweeps before and after the coarse correction; 0: the smoother's own
    bool single_precision = false;  // of the cycle; vectors stay in double. Safe where the solver tests b - A x itself

    /// Of one component's cycle.
    [[nodiscard]] MatrixSolverParams params() const {
      MatrixSolverParams params;
      auto& multigrid = params.solver.multigrid;
      multigrid.smoother = smoother;
      if (sweeps != 0) multigrid.sweeps = sweeps;
      multigrid.mirrored = true;
      params.solver.deflate = {};  // a cycle alone is asked for
      params.solver.precision = single_precision ? Precision::mixed : Precision::full;
      return params;
    }
  };

  /// Reads the matrix and makes the hierarchies. `a` is a dealii::SparseMatrix, a dealii::BlockSparseMatrix or another whose
  /// rows can be iterated over; neither it nor `dofs` is needed afterwards.
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs, const AdditionalData& data);
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs) {
    initialize(a, dofs, AdditionalData());
  }

  /// Other entries on the same mesh: hierarchies are kept, no memory of the device's is allocated, but where components that
  /// shared one no longer can. Boundaries must stay what they are, and a symmetric matrix cannot be followed by another kind.
  template <class Matrix>
  void update(const Matrix& a);

  /// z = M^-1 r, and with the transpose of M. For vectors whose numbers lie one behind the other from begin() on, and blocks of
  /// such: dealii::Vector<double>, BlockVector<double>, LinearAlgebra::distributed::Vector<double> on one process.
  template <class VectorType>
  void vmult(VectorType& z, const VectorType& r) const {
    apply(state().cycle, z, r);
  }
  template <class VectorType>
  void Tvmult(VectorType& z, const VectorType& r) const;  // NOLINT(readability-identifier-naming): deal.II's name

  void clear() { state_.reset(); }

  /// Different ones: of a system whose components' blocks are all equal there is one.
  [[nodiscard]] int hierarchies() const;

 private:
  using Cycles = std::vector<std::shared_ptr<MatrixSolver>>;  // of every component
  struct State {
    Context ctx;
    AdditionalData data;
    detail::DealiiNumbering numbering;
    std::vector<detail::DealiiBlock> block;
    std::vector<double> diagonal;
    Cycles cycle, transposed;
    std::vector<double> r, z, block_r, block_z;
    ReentrancyGuard guard;

    State(const dealii::DoFHandler<2>& dofs, const AdditionalData& given)
        : ctx(given.backend, given.threads), data(given), numbering(dofs) {}

    /// The cycles of all blocks; those that are there are updated.
    void make(Cycles& cycles);
    [[nodiscard]] std::shared_ptr<MatrixSolver> cycle_of(const detail::DealiiBlock& b);
    void transpose() {
      for (auto& b : block) b.transpose();
    }
    void make_transposed() {
      transpose();
      make(transposed);
      transpose();
    }
  };

  [[nodiscard]] State& state() const {
    expects(state_ != nullptr, "the preconditioner has no matrix: call initialize first");
    return *state_;
  }
  template <class VectorType>
  void apply(const Cycles& cycles, VectorType& z, const VectorType& r) const;

  std::unique_ptr<State> state_;
};

// --- implementation ------------------------------------------------------------------------------------------------------

namespace detail {

/// f(memory, numbers) for the blocks of a vector one after another; one that has none is one.
template <class VectorType, class F>
void for_each_piece(VectorType& v, const F& f) {
  if constexpr (requires { v.block(0).begin(); }) {
    for (unsigned int b = 0; b < v.n_blocks(); ++b) for_each_piece(v.block(b), f);
  } else if (v.begin() != v.end()) {
    f(&*v.begin(), static_cast<std::size_t>(v.end() - v.begin()));
  }
}

template <class VectorType>
std::size_t numbers_in(const VectorType& v) {
  std::size_t n = 0;
  for_each_piece(v, [&n](const double*, std::size_t more) { n += more; });
  return n;
}

}  // namespace detail

inline std::shared_ptr<MatrixSolver> DealiiPreconditioner::State::cycle_of(const detail::DealiiBlock& b) {
  MatrixSolverParams params = data.params();
  params.widths_x = numbering.x.widths();
  params.widths_y = numbering.y.widths();
  const auto make = [&] {
    return std::make_shared<MatrixSolver>(MatrixSolver::from_bands(ctx, b.bands, b.nx, b.ny, params));
  };
  auto made = make();
  if (made->is_symmetric()) return made;
  // It must be that of the transposed matrix, too.
  params.solver.interpolation = InterpolationKind::bilinear;
  return make();
}

inline void DealiiPreconditioner::State::make(Cycles& cycles) {
  cycles.resize(block.size());
  for (std::size_t c = 0; c < block.size(); ++c) {
    std::size_t like = 0;
    while (like < c && !block[like].equals(block[c])) ++like;
    const auto shared_with_earlier = [&] {
      return std::find(cycles.begin(), cycles.begin() + static_cast<std::ptrdiff_t>(c), cycles[c]) !=
             cycles.begin() + static_cast<std::ptrdiff_t>(c);
    };
    if (like < c)
      cycles[c] = cycles[like];
    else if (cycles[c] != nullptr && !shared_with_earlier())
      cycles[c]->update_bands(ctx, block[c].bands);
    else
      cycles[c] = cycle_of(block[c]);
  }
}

template <class Matrix>
void DealiiPreconditioner::initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs, const AdditionalData& data) {
  state_.reset();
  auto made = std::make_unique<State>(dofs, data);
  detail::DealiiBlocks read(made->numbering, a);
  made->block = std::move(read.block);
  made->diagonal = std::move(read.diagonal);
  made->make(made->cycle);
  made->r.resize(made->diagonal.size());
  made->z.resize(made->diagonal.size());
  state_ = std::move(made);
}

template <class Matrix>
void DealiiPreconditioner::update(const Matrix& a) {
  State& s = state();
  detail::DealiiBlocks read(s.numbering, a);
  for (std::size_t c = 0; c < s.block.size(); ++c)
    expects(read.block[c].nx == s.block[c].nx && read.block[c].ny == s.block[c].ny, "component ", c,
            " is periodic in other directions than what the preconditioner was made for; call initialize");
  s.block = std::move(read.block);
  s.diagonal = std::move(read.diagonal);
  s.make(s.cycle);
  if (!s.transposed.empty()) s.make_transposed();
}

template <class VectorType>
void DealiiPreconditioner::Tvmult(VectorType& z, const VectorType& r) const {
  State& s = state();
  const bool symmetric =
      std::all_of(s.cycle.begin(), s.cycle.end(), [](const auto& cycle) { return cycle->is_symmetric(); });
  if (!symmetric && s.transposed.empty()) s.make_transposed();
  apply(symmetric ? s.cycle : s.transposed, z, r);
}

inline int DealiiPreconditioner::hierarchies() const {
  Cycles all = state().cycle;
  std::sort(all.begin(), all.end());
  return static_cast<int>(std::unique(all.begin(), all.end()) - all.begin());
}

template <class VectorType>
void DealiiPreconditioner::apply(const Cycles& cycles, VectorType& z, const VectorType& r) const {
  State& s = state();
  const auto entered = s.guard.enter("preconditioner");
  const std::size_t n = s.diagonal.size();
  expects(detail::numbers_in(r) == n && detail::numbers_in(z) == n, "the preconditioner is for ", n,
          " unknowns; the vectors hold ", detail::numbers_in(r), " and ", detail::numbers_in(z), " on this process");
  double* next = s.r.data();
  detail::for_each_piece(r, [&next](const double* from, std::size_t count) { next = std::copy_n(from, count, next); });
  for (std::size_t c = 0; c < cycles.size(); ++c) {
    const detail::DealiiBlock& b = s.block[c];
    s.block_r.resize(b.nodes());
    s.block_z.resize(b.nodes());
    for (std::size_t k = 0; k < b.nodes(); ++k) s.block_r[k] = s.r[b.unknown[k]];
    cycles[c]->apply(s.ctx, s.block_r, s.block_z);
    for (std::size_t k = 0; k < b.nodes(); ++k) s.z[b.unknown[k]] = s.block_z[k];
    for (const auto dof : b.joined) s.z[dof] = s.r[dof] / s.diagonal[dof];
  }
  const double* last = s.z.data();
  detail::for_each_piece(z, [&last](double* to, std::size_t count) {
    std::copy_n(last, count, to);
    last += count;
  });
}

}  // namespace stratum
