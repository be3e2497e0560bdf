#pragma once

// Stratum's multigrid as a preconditioner of deal.II: for the matrix of FE_Q<2>(1) on a tensor-product mesh with Dirichlet
// conditions on all sides,
//
//     stratum::DealiiPreconditioner preconditioner;
//     preconditioner.initialize(system_matrix, dof_handler);
//     dealii::SolverCG<dealii::Vector<double>>(solver_control).solve(system_matrix, solution, system_rhs, preconditioner);
//
// Numbering. Unknowns are found by their support points: the points must lie on nx x ny grid lines, one on every crossing, and
// the active cells must be the cells between neighbouring lines. Rectangles that were refined globally or cut by any lists of
// widths are such meshes, however deal.II numbers them. Everything else is refused with the reason: hanging nodes, deformed
// cells, holes, other elements, several processes.
//
// Widths are differences of coordinates, which is all that deal.II has: beside x = 1, widths below 1e-10 are wrong in the
// sixth digit, and lines closer than 1e-14 of the domain's size cannot be told apart, which is refused. Only the interpolation
// depends on them; the operators are the matrix and its Galerkin products.
//
// Constraints. Rows of constrained unknowns hold their diagonal entry alone, as AffineConstraints::distribute_local_to_global
// and MatrixTools::apply_boundary_values leave them; such an entry is simply inverted. All unknowns on the sides must be
// constrained; whether their columns were cleared too does not matter to the preconditioner.
//
// One thread at a time. vmult is one cycle, post-smoothing mirroring pre-smoothing: symmetric for a symmetric matrix, as
// SolverCG needs. The matrix need not be symmetric; then Tvmult makes a second hierarchy, for the transpose, when it is first
// called. Both run on the host's memory: on a GPU vectors are copied there and back. Errors: stratum::UsageError.
//
// This header is compiled by the user's program; the library does not depend on deal.II. Tested with 9.4.

#include <deal.II/base/mpi.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/multigrid/matrix_cycle.hpp>

namespace stratum {

namespace detail {

/// Grid lines in one direction, found among the coordinates of points.
class GridLines {
 public:
  explicit GridLines(std::vector<double> coordinates) {
    std::sort(coordinates.begin(), coordinates.end());
    const double size = std::max(std::abs(coordinates.front()), std::abs(coordinates.back()));
    // Refinement rounds the same coordinate differently on different lines.
    const double rounding = 64 * std::numeric_limits<double>::epsilon() * size;
    for (const double s : coordinates)
      if (at_.empty() || s - at_.back() > rounding) at_.push_back(s);
  }

  [[nodiscard]] int size() const { return static_cast<int>(at_.size()); }
  /// The line nearest to a coordinate that is on one.
  [[nodiscard]] int index(double s) const {
    const auto above = std::lower_bound(at_.begin(), at_.end(), s);
    if (above == at_.begin()) return 0;
    if (above == at_.end()) return size() - 1;
    const bool lower = s - *(above - 1) < *above - s;
    return static_cast<int>(above - at_.begin()) - (lower ? 1 : 0);
  }
  [[nodiscard]] Intervals intervals() const {
    std::vector<double> widths;
    for (std::size_t k = 1; k < at_.size(); ++k) widths.push_back(at_[k] - at_[k - 1]);
    return Intervals(std::move(widths));
  }

 private:
  std::vector<double> at_;
};

/// Where the unknowns of a DoFHandler lie on a tensor-product grid.
struct DealiiNumbering {
  using Index = dealii::types::global_dof_index;
  struct Node {
    int i, j;
  };
  GridLines x, y;
  std::vector<Node> node;       // of every unknown, by grid lines; 0 is the side
  std::vector<Index> interior;  // the unknown at interior node (i, j), x fastest
  std::vector<Index> on_a_side;

  explicit DealiiNumbering(const dealii::DoFHandler<2>& dofs) : DealiiNumbering(dofs, points_of(dofs)) {}

  [[nodiscard]] GridShape unknowns() const { return {x.size() - 2, y.size() - 2}; }
  [[nodiscard]] bool inside(const Node& n) const {
    return n.i > 0 && n.i + 1 < x.size() && n.j > 0 && n.j + 1 < y.size();
  }

 private:
  using Points = std::vector<dealii::Point<2>>;

  static Points points_of(const dealii::DoFHandler<2>& dofs) {
    expects(dofs.has_active_dofs(), "the DoFHandler has no unknowns: call distribute_dofs first");
    expects(dofs.get_fe_collection().size() == 1, "the DoFHandler has ", dofs.get_fe_collection().size(),
            " finite elements; FE_Q<2>(1) alone is taken");
    const auto& element = dofs.get_fe();
    expects(dynamic_cast<const dealii::FE_Q<2>*>(&element) != nullptr && element.degree == 1, "the element is ",
            element.get_name(), "; FE_Q<2>(1) alone is taken");
    expects(dofs.n_locally_owned_dofs() == dofs.n_dofs(), "this process owns ", dofs.n_locally_owned_dofs(), " of ",
            dofs.n_dofs(), " unknowns; Stratum runs on one process");
    Points points(dofs.n_dofs());
    dealii::DoFTools::map_dofs_to_support_points(dealii::StaticMappingQ1<2>::mapping, dofs, points);
    return points;
  }

  static GridLines lines(const Points& points, unsigned int direction) {
    std::vector<double> coordinates;
    coordinates.reserve(points.size());
    for (const auto& p : points) coordinates.push_back(p[direction]);
    return GridLines(std::move(coordinates));
  }

  DealiiNumbering(const dealii::DoFHandler<2>& dofs, const Points& points)
      : x(lines(points, 0)), y(lines(points, 1)), node(points.size()) {
    const auto nx = static_cast<std::size_t>(x.size()), ny = static_cast<std::size_t>(y.size());
    expects(nx * ny == points.size(), "the ", points.size(), " support points lie on ", nx, " lines in x and ", ny,
            " in y, not one on every crossing: this is no tensor-product mesh, or lines are closer than rounding");
    expects(nx > 2 && ny > 2, "a mesh of ", nx - 1, " x ", ny - 1, " cells has no unknown inside");
    std::vector<bool> taken(points.size());
    for (std::size_t k = 0; k < points.size(); ++k) {
      node[k] = {x.index(points[k][0]), y.index(points[k][1])};
      const std::size_t crossing = static_cast<std::size_t>(node[k].j) * nx + static_cast<std::size_t>(node[k].i);
      expects(!taken[crossing], "two support points lie at (", points[k][0], ", ", points[k][1],
              "): this is no tensor-product mesh");
      taken[crossing] = true;
    }
    const GridShape shape = unknowns();
    interior.resize(static_cast<std::size_t>(shape.nodes()));
    for (Index k = 0; k < dofs.n_dofs(); ++k) {
      if (inside(node[k]))
        interior[static_cast<std::size_t>(std::int64_t{node[k].j - 1} * shape.nx + node[k].i - 1)] = k;
      else
        on_a_side.push_back(k);
    }
    std::size_t cells = 0;
    for (const auto& cell : dofs.active_cell_iterators()) {
      int least_i = x.size(), most_i = 0, least_j = y.size(), most_j = 0;
      for (const unsigned int v : cell->vertex_indices()) {
        const Node& n = node[cell->vertex_dof_index(v, 0)];
        least_i = std::min(least_i, n.i);
        most_i = std::max(most_i, n.i);
        least_j = std::min(least_j, n.j);
        most_j = std::max(most_j, n.j);
      }
      expects(most_i == least_i + 1 && most_j == least_j + 1, "the cell at (", cell->center()[0], ", ",
              cell->center()[1], ") spans ", most_i - least_i, " x ", most_j - least_j,
              " grid intervals, not 1 x 1: hanging nodes or cells that are no rectangles");
      ++cells;
    }
    expects(cells == (nx - 1) * (ny - 1), "there are ", cells, " cells between ", nx, " x ", ny,
            " lines: this is no tensor-product mesh");
  }
};

/// For messages: nothing is written unless one is.
struct DescribedUnknown {
  const DealiiNumbering& numbering;
  DealiiNumbering::Index dof;
  friend std::ostream& operator<<(std::ostream& out, const DescribedUnknown& d) {
    const auto& at = d.numbering.node[d.dof];
    return out << "unknown " << d.dof << " on lines (" << at.i << ", " << at.j << ")";
  }
};

}  // namespace detail

class DealiiPreconditioner {
 public:
  struct AdditionalData {
    Backend backend = Backend::cpu;
    int threads = 0;                                    // on the CPU; 0: what OpenMP offers
    std::string smoother = MultigridParams{}.smoother;  // adi; or "auto": by the widths of the mesh
    int steps = 0;                  // elementary steps before and after the coarse correction; 0: 4, of "auto" 2
    bool single_precision = false;  // of the cycle; vectors stay in double. Safe where the solver tests b - A x itself
  };

  /// Reads the matrix and makes the hierarchy. `a` is a dealii::SparseMatrix or another whose rows can be iterated over;
  /// neither it nor `dofs` is needed afterwards.
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs, const AdditionalData& data);
  template <class Matrix>
  void initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs) {
    initialize(a, dofs, AdditionalData());
  }

  /// Other entries on the same mesh: the hierarchy is kept, no memory of the device's is allocated. A matrix that is
  /// symmetric cannot be followed by one that is not.
  template <class Matrix>
  void update(const Matrix& a);

  /// z = M^-1 r, and with the transpose of M. For vectors whose numbers lie one behind the other from begin() on:
  /// dealii::Vector<double>, LinearAlgebra::distributed::Vector<double> on one process.
  template <class VectorType>
  void vmult(VectorType& z, const VectorType& r) const {
    apply(*state().cycle, z, r);
  }
  template <class VectorType>
  void Tvmult(VectorType& z, const VectorType& r) const;  // NOLINT(readability-identifier-naming): deal.II's name

  void clear() { state_.reset(); }

 private:
  using Bands = std::array<std::vector<double>, 9>;
  using Index = detail::DealiiNumbering::Index;
  struct State {
    Context ctx;
    AdditionalData data;
    detail::DealiiNumbering numbering;
    std::vector<double> sides;  // diagonal entries of the unknowns on the sides
    Bands bands;
    bool symmetric = false;
    GridOperator<double> a, transposed;
    std::optional<MatrixCycle> cycle, transposed_cycle;
    Vector<double> r, z;
    std::vector<double> host;
    InUse in_use;

    State(const dealii::DoFHandler<2>& dofs, const AdditionalData& given)
        : ctx(given.backend, given.threads), data(given), numbering(dofs) {}

    template <class Matrix>
    void read(const Matrix& matrix);
    void transpose_bands();
    void store(GridOperator<double>& to);
    void make_cycle(const GridOperator<double>& matrix, std::optional<MatrixCycle>& made);
  };

  [[nodiscard]] State& state() const {
    expects(state_ != nullptr, "the preconditioner has no matrix: call initialize first");
    return *state_;
  }
  template <class VectorType>
  void apply(MatrixCycle& cycle, VectorType& z, const VectorType& r) const;

  std::unique_ptr<State> state_;
};

// --- implementation ------------------------------------------------------------------------------------------------------

/// The nine bands of the interior unknowns, the diagonal of the others, and whether the bands are symmetric.
template <class Matrix>
void DealiiPreconditioner::State::read(const Matrix& matrix) {
  const GridShape shape = numbering.unknowns();
  expects(matrix.m() == numbering.node.size() && matrix.n() == matrix.m(), "the matrix is ", matrix.m(), " x ",
          matrix.n(), ", the DoFHandler has ", numbering.node.size(), " unknowns");
  for (auto& band : bands) band.assign(numbering.interior.size(), 0.0);
  const auto describe = [&](Index dof) { return detail::DescribedUnknown{numbering, dof}; };
  for (std::size_t k = 0; k < numbering.interior.size(); ++k) {
    const auto row = numbering.interior[k];
    const auto& here = numbering.node[row];
    for (auto entry = matrix.begin(row); entry != matrix.end(row); ++entry) {
      const auto& there = numbering.node[entry->column()];
      const int dx = there.i - here.i, dy = there.j - here.j;
      const double value = entry->value();
      const bool neighbours = std::abs(dx) <= 1 && std::abs(dy) <= 1;
      expects(neighbours || value == 0, describe(row), " couples to ", describe(entry->column()),
              ", which is no neighbour of it");
      if (neighbours && numbering.inside(there)) bands[static_cast<std::size_t>(band_index(dx, dy))][k] = value;
    }
  }
  sides.clear();
  for (const auto row : numbering.on_a_side) {
    double diagonal = 0;
    for (auto entry = matrix.begin(row); entry != matrix.end(row); ++entry) {
      if (entry->column() == row) diagonal = entry->value();
      expects(entry->column() == row || entry->value() == 0.0, describe(row),
              " is on a side of the domain and couples to ", describe(entry->column()),
              ": all sides must have Dirichlet conditions, entered into the matrix");
    }
    expects(diagonal != 0 && std::isfinite(diagonal), describe(row), " has the diagonal entry ", diagonal);
    sides.push_back(diagonal);
  }

  symmetric = true;
  for (std::size_t k = 0; k < numbering.interior.size(); ++k) {
    const int i = static_cast<int>(k % static_cast<std::size_t>(shape.nx)),
              j = static_cast<int>(k / static_cast<std::size_t>(shape.nx));
    for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 1}, {0, 1}, {1, 1}}) {
      if (i + dx < 0 || i + dx >= shape.nx || j + dy >= shape.ny) continue;
      const double upper = bands[static_cast<std::size_t>(band_index(dx, dy))][k];
      const double lower =
          bands[static_cast<std::size_t>(band_index(-dx, -dy))]
               [static_cast<std::size_t>(static_cast<std::int64_t>(k) + std::int64_t{dy} * shape.nx + dx)];
      const auto neighbour = static_cast<std::size_t>(static_cast<std::int64_t>(k) + std::int64_t{dy} * shape.nx + dx);
      const double size = std::min(std::abs(bands[4][k]), std::abs(bands[4][neighbour]));
      if (!(std::abs(upper - lower) <= 1e-12 * size)) symmetric = false;
    }
  }
}

/// a_(dx,dy)(i, j) <-> a_(-dx,-dy)(i + dx, j + dy)
inline void DealiiPreconditioner::State::transpose_bands() {
  const GridShape shape = numbering.unknowns();
  for (const auto& [dx, dy] : {std::pair{1, 0}, {-1, 1}, {0, 1}, {1, 1}})
    for (int j = 0; j + dy < shape.ny; ++j)
      for (int i = std::max(0, -dx); i < shape.nx - std::max(0, dx); ++i) {
        const auto here = static_cast<std::size_t>(std::int64_t{j} * shape.nx + i);
        const auto there = static_cast<std::size_t>(std::int64_t{j + dy} * shape.nx + i + dx);
        std::swap(bands[static_cast<std::size_t>(band_index(dx, dy))][here],
                  bands[static_cast<std::size_t>(band_index(-dx, -dy))][there]);
      }
}

/// The bands into an operator, which is made if it has no memory yet: five of them where they are symmetric.
inline void DealiiPreconditioner::State::store(GridOperator<double>& to) {
  if (to.shape().nx == 0) {
    if (symmetric)
      to = SymmetricNineBand<double>(ctx, numbering.unknowns());
    else
      to = NineBandMatrix<double>(ctx, numbering.unknowns());
  }
  const auto copy_from = [&](auto& stored, std::size_t first) {
    for (std::size_t k = 0; k < stored.band.size(); ++k)
      copy_from_host(ctx, bands[first + k].data(), stored.band[k].view());
  };
  if (auto* nine = std::get_if<NineBandMatrix<double>>(&to.storage()))
    copy_from(*nine, 0);
  else
    copy_from(std::get<SymmetricNineBand<double>>(to.storage()), 4);
}

inline void DealiiPreconditioner::State::make_cycle(const GridOperator<double>& matrix,
                                                    std::optional<MatrixCycle>& made) {
  MultigridParams params;
  if (!data.smoother.empty()) params.smoother = data.smoother;
  if (data.steps != 0) params.steps = data.steps;
  params.symmetric = symmetric;
  params.mirrored = true;
  // Conjugate gradients on the coarsest level would need what is not there.
  if (!symmetric) params.coarse = "direct";
  made.emplace(ctx, matrix, TensorMesh(numbering.x.intervals(), numbering.y.intervals(), "deal.II"), params,
               data.single_precision);
}

template <class Matrix>
void DealiiPreconditioner::initialize(const Matrix& a, const dealii::DoFHandler<2>& dofs, const AdditionalData& data) {
  state_.reset();
  auto made = std::make_unique<State>(dofs, data);
  made->read(a);
  made->store(made->a);
  made->make_cycle(made->a, made->cycle);
  made->r = Vector<double>(made->ctx, made->numbering.unknowns());
  made->z = Vector<double>(made->ctx, made->numbering.unknowns());
  made->host.resize(made->numbering.interior.size());
  state_ = std::move(made);
}

template <class Matrix>
void DealiiPreconditioner::update(const Matrix& a) {
  State& s = state();
  s.read(a);
  const bool stored_symmetric = s.a.form() == OperatorForm::symmetric;
  expects(!stored_symmetric || s.symmetric, "the preconditioner was made for a symmetric matrix and this one is not; "
                                            "call initialize");
  s.symmetric = stored_symmetric;
  s.store(s.a);
  s.cycle->update(s.ctx, s.a);
  if (!s.transposed_cycle) return;
  s.transpose_bands();
  s.store(s.transposed);
  s.transposed_cycle->update(s.ctx, s.transposed);
}

template <class VectorType>
void DealiiPreconditioner::Tvmult(VectorType& z, const VectorType& r) const {
  State& s = state();
  if (s.symmetric) return apply(*s.cycle, z, r);
  if (!s.transposed_cycle) {
    s.transpose_bands();
    s.store(s.transposed);
    s.make_cycle(s.transposed, s.transposed_cycle);
  }
  apply(*s.transposed_cycle, z, r);
}

template <class VectorType>
void DealiiPreconditioner::apply(MatrixCycle& cycle, VectorType& z, const VectorType& r) const {
  State& s = state();
  const auto hold = s.in_use.hold("preconditioner");
  const std::size_t n = s.numbering.node.size();
  expects(static_cast<std::size_t>(r.end() - r.begin()) == n && static_cast<std::size_t>(z.end() - z.begin()) == n,
          "the preconditioner is for ", n, " unknowns; the vectors hold ", r.end() - r.begin(), " and ",
          z.end() - z.begin(), " on this process");
  const double* from = &*r.begin();
  double* to = &*z.begin();
  for (std::size_t k = 0; k < s.host.size(); ++k) s.host[k] = from[s.numbering.interior[k]];
  copy_from_host(s.ctx, s.host.data(), s.r.view());
  cycle.apply(s.ctx, s.r.cview(), s.z.view());
  copy_to_host(s.ctx, s.z.cview(), s.host.data());
  for (std::size_t k = 0; k < s.host.size(); ++k) to[s.numbering.interior[k]] = s.host[k];
  for (std::size_t k = 0; k < s.sides.size(); ++k)
    to[s.numbering.on_a_side[k]] = from[s.numbering.on_a_side[k]] / s.sides[k];
}

}  // namespace stratum
