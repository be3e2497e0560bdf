#pragma once

// Stratum's multigrid as a preconditioner of deal.II on several processes: one cycle for each diagonal block of a matrix whose
// rows every process has its own of, of FE_Q<2>(1) or an FESystem<2> of them on a tensor-product mesh,
//
//     stratum::DealiiParallelPreconditioner preconditioner(communicator);
//     preconditioner.initialize(system_matrix, dof_handler);
//     dealii::SolverCG<Vector>(solver_control).solve(system_matrix, solution, system_rhs, preconditioner);
//
// Triangulations are parallel::distributed or parallel::shared, however they are partitioned: unknowns are found by their
// support points, which must be the crossings of nx x ny grid lines. Every process gives its rows; they are brought to
// subdomains of lines, and so are the vectors of each cycle, there and back (core/comm/redistribution.hpp). What the matrix
// says of boundaries is read as in <stratum/dealii.hpp>; periodic constraints are refused.
//
// Matrices are those whose own rows can be iterated over: TrilinosWrappers::SparseMatrix, PETScWrappers::MPI::SparseMatrix.
// Vectors: LinearAlgebra::distributed::Vector<double>, TrilinosWrappers::MPI::Vector, PETScWrappers::MPI::Vector.
//
// All processes of the communicator make the same calls. A cycle is symmetric where the matrix is; Tvmult needs that. Errors:
// stratum::UsageError, on all processes.
//
// This header is compiled by the user's program, which links stratum::mpi as well. Tested with 9.4.

#include <deal.II/base/index_set.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/mapping_q1.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <stratum/core/comm/faults.hpp>
#include <stratum/dealii.hpp>
#include <stratum/mpi.hpp>

namespace stratum {

class DealiiParallelPreconditioner {
 public:
  using AdditionalData = DealiiPreconditioner::AdditionalData;

  /// All processes of `comm`, which is duplicated, call it.
  explicit DealiiParallelPreconditioner(MPI_Comm comm) : communicator_(mpi_communicator(comm)) {}

  /// Reads the own rows and makes the hierarchies. Neither `a` nor `dofs` is needed afterwards.
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs, const AdditionalData& data);
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs) {
    initialize(a, dofs, AdditionalData());
  }
  /// Other entries at the same places.
  template <class Matrix>
  void update(const Matrix& a);

  /// z = M^-1 r of the numbers that this process owns.
  template <class VectorType>
  void vmult(VectorType& z, const VectorType& r) const;
  template <class VectorType>
  void Tvmult(VectorType& z, const VectorType& r) const {  // NOLINT(readability-identifier-naming): deal.II's name
    for (const auto& component : state().component)
      expects(component.cycle->is_symmetric(), "only of a symmetric matrix is there the transposed cycle");
    vmult(z, r);
  }

  void clear() { state_.reset(); }
  /// Of a component.
  [[nodiscard]] const MatrixSolver& cycle(std::size_t component = 0) const {
    return *state().component.at(component).cycle;
  }

 private:
  using Index = dealii::types::global_dof_index;
  struct Node {
    int component, node;
  };
  struct Component {
    std::vector<int> node;           // j nx + i of own unknowns
    std::vector<int> unknown;        // their places among all of this process
    std::vector<int> start, column;  // rows, columns by nodes
    std::vector<double> value;
    std::unique_ptr<MatrixSolver> cycle;
    std::vector<double> r, z;
  };
  struct State {
    Context ctx;
    AdditionalData data;
    std::vector<Index> owned;
    std::unordered_map<Index, Node> node;  // of all unknowns that this process knows of
    int nx = 0, ny = 0;
    std::vector<double> widths_x, widths_y;
    std::vector<Component> component;
    std::vector<double> r, z;
    ReentrancyGuard guard;

    State(const AdditionalData& given, const std::shared_ptr<Communicator>& communicator)
        : ctx(given.backend, given.threads == 0 && communicator->size() > 1 ? 1 : given.threads), data(given) {
      ctx.set_communicator(communicator);
    }
    template <class Matrix>
    void read(const Matrix& a);
  };

  [[nodiscard]] State& state() const {
    expects(state_ != nullptr, "the preconditioner has no matrix: call initialize first");
    return *state_;
  }

  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<State> state_;
};

// --- implementation ------------------------------------------------------------------------------------------------------

namespace detail {

/// The numbers that this process owns.
template <class VectorType>
void read_owned(const VectorType& v, const std::vector<dealii::types::global_dof_index>& owned,
                std::vector<double>& to) {
  if constexpr (requires { v.begin(); }) {
    expects(static_cast<std::size_t>(v.end() - v.begin()) == owned.size(), "the preconditioner is for ", owned.size(),
            " unknowns of this process; the vector has ", v.end() - v.begin());
    std::copy(v.begin(), v.end(), to.begin());
  } else {
    v.extract_subvector_to(owned, to);
  }
}
template <class VectorType>
void write_owned(VectorType& v, const std::vector<dealii::types::global_dof_index>& owned,
                 const std::vector<double>& from) {
  if constexpr (requires { *v.begin() = from[0]; }) {
    std::copy(from.begin(), from.end(), v.begin());
  } else {
    v.set(owned, from);
    v.compress(dealii::VectorOperation::insert);
  }
}

}  // namespace detail

template <class Matrix>
void DealiiParallelPreconditioner::State::read(const Matrix& a) {
  for (auto& c : component) {
    c.start.assign(1, 0);
    c.column.clear();
    c.value.clear();
  }
  std::string fault;
  for (const Index row : owned) {
    const Node& here = node.at(row);
    auto& c = component[static_cast<std::size_t>(here.component)];
    const auto end = a.end(row);
    for (auto entry = a.begin(row); entry != end; ++entry) {
      const double value = entry->value();
      if (value == 0) continue;
      const auto there = node.find(entry->column());
      if (there == node.end()) {
        fault = message("unknown ", row, " couples to ", entry->column(),
                        ", which is on no cell of this process or beside one");
        continue;
      }
      if (there->second.component != here.component) continue;
      c.column.push_back(there->second.node);
      c.value.push_back(value);
    }
    c.start.push_back(static_cast<int>(c.value.size()));
  }
  refuse_on_all(*ctx.communicator(), fault);
}

template <class Matrix>
void DealiiParallelPreconditioner::initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs,
                                              const AdditionalData& data) {
  state_.reset();
  detail::expects_bilinear(dofs);
  auto made = std::make_unique<State>(data, communicator_);
  State& s = *made;
  const dealii::IndexSet owned = dofs.locally_owned_dofs();
  expects(a.m() == dofs.n_dofs() && a.n() == a.m(), "the matrix is ", a.m(), " x ", a.n(), ", the DoFHandler has ",
          dofs.n_dofs(), " unknowns");
  owned.fill_index_vector(s.owned);

  // Lines, as all processes know them.
  std::map<Index, dealii::Point<2>> points;
  dealii::DoFTools::map_dofs_to_support_points(dealii::MappingQ1<2>(), dofs, points);
  std::vector<double> x, y;
  for (const auto& [dof, point] : points) {
    x.push_back(point[0]);
    y.push_back(point[1]);
  }
  const auto lines_of_all = [&](std::vector<double> coordinates) {
    std::sort(coordinates.begin(), coordinates.end());
    coordinates.erase(std::unique(coordinates.begin(), coordinates.end()), coordinates.end());
    coordinates = communicator_->join_on_host(coordinates);
    expects(!coordinates.empty(), "the DoFHandler has no unknowns");
    return GridLines(std::move(coordinates));
  };
  const GridLines lines_x = lines_of_all(std::move(x)), lines_y = lines_of_all(std::move(y));
  s.nx = lines_x.size();
  s.ny = lines_y.size();
  const auto components = dofs.get_fe().n_components();
  expects(static_cast<std::int64_t>(dofs.n_dofs()) == std::int64_t{s.nx} * s.ny * components, "the ", dofs.n_dofs(),
          " unknowns of ", components, " components lie on ", s.nx, " lines in x and ", s.ny,
          " in y, not one on every crossing: this is no tensor-product mesh, or lines are closer than rounding");
  s.widths_x = lines_x.widths();
  s.widths_y = lines_y.widths();

  // The component of every unknown on the cells that this process knows of.
  std::vector<Index> indices(dofs.get_fe().n_dofs_per_cell());
  for (const auto& cell : dofs.active_cell_iterators()) {
    if (cell->is_artificial()) continue;
    cell->get_dof_indices(indices);
    for (unsigned int k = 0; k < indices.size(); ++k) {
      const auto point = points.find(indices[k]);
      if (point == points.end()) continue;
      const int i = lines_x.index(point->second[0]), j = lines_y.index(point->second[1]);
      s.node[indices[k]] = {static_cast<int>(dofs.get_fe().system_to_component_index(k).first), j * s.nx + i};
    }
  }
  s.component.resize(components);
  for (std::size_t k = 0; k < s.owned.size(); ++k) {
    const Node& at = s.node.at(s.owned[k]);
    s.component[static_cast<std::size_t>(at.component)].node.push_back(at.node);
    s.component[static_cast<std::size_t>(at.component)].unknown.push_back(static_cast<int>(k));
  }
  s.read(a);
  s.r.resize(s.owned.size());
  s.z.resize(s.owned.size());
  for (auto& c : s.component) {
    MatrixSolverParams params = data.params();
    params.widths_x = s.widths_x;
    params.widths_y = s.widths_y;
    params.numbering = c.node;
    const auto make = [&] {
      return std::make_unique<MatrixSolver>(
          MatrixSolver::from_csr(s.ctx, c.start, c.column, c.value, s.nx, s.ny, params));
    };
    c.cycle = make();
    if (!c.cycle->is_symmetric()) {
      params.solver.interpolation = InterpolationKind::bilinear;
      c.cycle = make();
    }
    c.r.resize(c.node.size());
    c.z.resize(c.node.size());
  }
  state_ = std::move(made);
}

template <class Matrix>
void DealiiParallelPreconditioner::update(const Matrix& a) {
  State& s = state();
  s.read(a);
  for (auto& c : s.component) c.cycle->update_csr(s.ctx, c.start, c.column, c.value);
}

template <class VectorType>
void DealiiParallelPreconditioner::vmult(VectorType& z, const VectorType& r) const {
  State& s = state();
  const auto entered = s.guard.enter("preconditioner");
  detail::read_owned(r, s.owned, s.r);
  for (auto& c : s.component) {
    for (std::size_t k = 0; k < c.r.size(); ++k) c.r[k] = s.r[static_cast<std::size_t>(c.unknown[k])];
    c.cycle->apply(s.ctx, c.r, c.z);
    for (std::size_t k = 0; k < c.z.size(); ++k) s.z[static_cast<std::size_t>(c.unknown[k])] = c.z[k];
  }
  detail::write_owned(z, s.owned, s.z);
}

}  // namespace stratum
