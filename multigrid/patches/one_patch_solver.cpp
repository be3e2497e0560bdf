#include <stratum/multigrid/patches/one_patch_solver.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <stratum/assembly/boundary_fluxes.hpp>
#include <stratum/assembly/error_norms.hpp>
#include <stratum/assembly/patches/patch_cells.hpp>
#include <stratum/core/clock.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum {

using namespace patch_detail;

namespace {

/// The rectangle whose bottom is this local edge of the patch, if it is one up to the rounding of positions.
std::optional<TensorMesh<2>> rectangle_on(const PatchMesh& mesh, const PatchNodes& nodes, int bottom) {
  const auto corner = [&](int k) { return mesh.vertex(mesh.corners(0)[at((bottom + k) % 4)]); };
  const Position from = corner(0), to = corner(2);
  const double size = std::max({std::abs(from.x), std::abs(from.y), std::abs(to.x), std::abs(to.y)});
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * size;
  const auto same = [&](double a, double b) { return std::abs(a - b) <= rounding; };
  if (!(to.x > from.x && to.y > from.y && same(corner(1).x, to.x) && same(corner(1).y, from.y) &&
        same(corner(3).x, from.x) && same(corner(3).y, to.y)))
    return std::nullopt;
  // Widths along a local edge, in the direction of the grid.
  const auto widths = [&](int local, double Position::*component) {
    const EdgeOfPatch edge{nodes, local};
    std::vector<double> steps;
    for (int k = 0; k < (local % 2 == 0 ? nodes.nx : nodes.ny); ++k) steps.push_back(edge.step(k).*component);
    if (local < 2) return steps;
    std::reverse(steps.begin(), steps.end());
    for (double& step : steps) step = -step;
    return steps;
  };
  const auto in_x = widths(bottom, &Position::x), in_y = widths((bottom + 1) % 4, &Position::y);
  const auto are_intervals_of = [&](const std::vector<double>& steps, double length) {
    return std::all_of(steps.begin(), steps.end(), [](double width) { return width > 0; }) &&
           std::abs(std::accumulate(steps.begin(), steps.end(), -length)) <= 1e-12 * length;
  };
  if (!are_intervals_of(in_x, to.x - from.x) || !are_intervals_of(in_y, to.y - from.y)) return std::nullopt;
  TensorMesh<2> rectangle(Axis(in_x, to.x - from.x).starting_at(from.x), Axis(in_y, to.y - from.y).starting_at(from.y));
  const auto x = rectangle.x().coordinates(), y = rectangle.y().coordinates();
  std::vector<double> all_x, all_y;
  for (const double there : y)
    for (const double here : x) {
      all_x.push_back(here);
      all_y.push_back(there);
    }
  const OneGrid grid{ProblemMesh(rectangle), bottom};
  const int nx = static_cast<int>(x.size()), ny = static_cast<int>(y.size());
  all_x = grid.of_patch(all_x, nx, ny);
  all_y = grid.of_patch(all_y, nx, ny);
  for (std::size_t k = 0; k < nodes.at.size(); ++k)
    if (!same(nodes.at[k].x, all_x[k]) || !same(nodes.at[k].y, all_y[k])) return std::nullopt;
  return rectangle;
}

/// The nodes as they lie, if the steps between them are differences of their positions.
std::optional<MappedMesh> mapped(const PatchMesh& mesh, const PatchNodes& nodes) {
  constexpr double digits = 1e-9;
  const auto is_step = [](const Position& from, const Position& to, const Position& step) {
    return std::hypot(to.x - from.x - step.x, to.y - from.y - step.y) <= digits * std::hypot(step.x, step.y);
  };
  std::vector<double> x, y;
  for (int j = 0; j <= nodes.ny; ++j)
    for (int i = 0; i <= nodes.nx; ++i) {
      const std::size_t k = nodes.node(i, j);
      const Position& own = nodes.at[k];
      if (i < nodes.nx && !is_step(own, nodes.at[k + 1], nodes.step_x[k - at(j)])) return std::nullopt;
      if (j < nodes.ny && !is_step(own, nodes.at[nodes.node(i, j + 1)], nodes.step_y[k])) return std::nullopt;
      x.push_back(own.x);
      y.push_back(own.y);
    }
  return MappedMesh({mesh.axis(0, Direction::x), mesh.axis(0, Direction::y)}, std::move(x), std::move(y));
}

/// The conditions of the grid; u at corners as PatchProblem has it.
BoundaryConditions conditions_of(const PatchMesh& mesh, const PatchProblem& problem, const OneGrid& grid) {
  const auto edge = [&](int side) { return mesh.local_edges(0)[at(grid.edge(side))].number; };
  std::array<BoundaryCondition, 4> sides;
  for (int s = 0; s < 4; ++s) sides[at(s)] = condition_of(mesh, problem, edge(s));
  const auto value_of = [&](int side) -> ScalarFunction {
    const ScalarFunction& own = sides[at(side)].value;
    return own ? own : problem.exact ? problem.exact : [](const Point&) { return 0.0; };
  };
  const auto rank_of = [&](int side) { return std::pair(mesh.edge(edge(side)).boundary, edge(side)); };
  const TensorMesh<2>& logical = grid.mesh.logical();
  const auto corner = [&](int beside, int below) {
    const int i = beside == 3 ? 0 : logical.x().size(), j = below == 0 ? 0 : logical.y().size();
    if (grid.mesh.mapped()) return grid.mesh.mapped()->node(i, j);
    return Position{logical.x().coordinates()[at(i)], logical.y().coordinates()[at(j)]};
  };
  // The grid takes the value of its left or right side.
  for (const int beside : {1, 3}) {
    std::vector<std::pair<Position, double>> others;
    for (const int below : {0, 2}) {
      const auto is_dirichlet = [&](int s) { return sides[at(s)].kind == BoundaryConditionType::dirichlet; };
      if (!is_dirichlet(beside) || !is_dirichlet(below) || rank_of(beside) < rank_of(below)) continue;
      const Position there = corner(beside, below);
      const double value = value_of(below)(point_at(there));
      if (value != value_of(beside)(point_at(there))) others.emplace_back(there, value);
    }
    if (others.empty()) continue;
    sides[at(beside)].value = [own = value_of(beside), others](const Point& p) {
      for (const auto& [there, value] : others)
        if (p.x == there.x && p.y == there.y) return value;
      return own(p);
    };
  }
  return {.left = sides[3], .right = sides[1], .bottom = sides[0], .top = sides[2]};
}

PoissonProblem problem_on(const PatchMesh& mesh, const PatchProblem& given, const OneGrid& grid) {
  PoissonProblem problem;
  problem.rhs = given.rhs ? given.rhs : [](const Point&) { return 0.0; };
  problem.exact = given.exact;
  problem.boundaries = conditions_of(mesh, given, grid);
  problem.reaction = given.reaction;
  if (given.reaction_of_cells) problem.reaction_of_cells = given.reaction_of_cells;
  const double factor = given.diffusion_of_patches.empty() ? 1 : given.diffusion_of_patches[0];
  const int nx = grid.mesh.logical().x().size(), ny = grid.mesh.logical().y().size();
  const auto& tensors = given.tensor_of_cells;
  const auto set = [&](Coefficient& to, double PatchTensor::*which) {
    std::vector<double> numbers;
    for (const PatchTensor& k : tensors[0]) numbers.push_back(k.*which);
    to = CellValues{nx, ny, grid.of_grid(numbers, nx, ny)};
  };
  if (!tensors.empty()) {
    set(problem.diffusion.xx, &PatchTensor::xx);
    set(problem.diffusion.xy, &PatchTensor::xy);
    set(problem.diffusion.yy, &PatchTensor::yy);
  } else if (!given.diffusion_of_cells.empty())
    problem.diffusion.xx = CellValues{nx, ny, grid.of_grid(given.diffusion_of_cells[0], nx, ny)};
  else if (given.diffusion && factor == 1)
    problem.diffusion.xx = given.diffusion;
  else if (given.diffusion)
    problem.diffusion.xx = ScalarFunction([k = given.diffusion, factor](const Point& p) { return factor * k(p); });
  else if (factor != 1)
    problem.diffusion.xx = factor;
  return problem;
}

}  // namespace

std::vector<double> OneGrid::of_patch(const std::vector<double>& grid, int nx, int ny) const {
  if (turn == 0) return grid;
  std::vector<double> patch(grid.size());
  const int columns = turn % 2 == 0 ? nx : ny;
  for (int j = 0; j < ny; ++j)
    for (int i = 0; i < nx; ++i) {
      const int a = turn == 1   ? ny - 1 - j
                    : turn == 2 ? nx - 1 - i
                                : j,
                b = turn == 1   ? i
                    : turn == 2 ? ny - 1 - j
                                : nx - 1 - i;
      patch[at(b) * at(columns) + at(a)] = grid[at(j) * at(nx) + at(i)];
    }
  return patch;
}

std::vector<double> OneGrid::of_grid(const std::vector<double>& patch, int nx, int ny) const {
  if (turn == 0) return patch;
  // Turned on, it is turned back.
  const OneGrid back{mesh, 4 - turn};
  return turn % 2 == 0 ? back.of_patch(patch, nx, ny) : back.of_patch(patch, ny, nx);
}

std::optional<OneGrid> one_grid_of(const PatchMesh& mesh, const PatchProblem& problem) {
  if (mesh.patches() != 1 || mesh.edges() != 4) return std::nullopt;
  const auto& corners = mesh.corners(0);
  for (std::size_t k = 0; k < 4; ++k)
    if (!mesh.edge(mesh.local_edges(0)[k].number).on_boundary() ||
        std::count(corners.begin(), corners.end(), corners[k]) > 1)
      return std::nullopt;
  const PatchNodes nodes = mesh.nodes_of(0);
  std::optional<OneGrid> grid;
  for (int bottom = 0; bottom < 4 && !grid; ++bottom)
    if (auto rectangle = rectangle_on(mesh, nodes, bottom)) grid = OneGrid{ProblemMesh(*rectangle), bottom};
  if (!grid)
    if (auto deformed = mapped(mesh, nodes)) grid = OneGrid{ProblemMesh(*deformed), 0};
  if (!grid) return std::nullopt;
  const auto fixed = [&](int side) {
    const int edge = mesh.local_edges(0)[at(grid->edge(side))].number;
    return condition_of(mesh, problem, edge).kind == BoundaryConditionType::dirichlet ? 1 : 0;
  };
  const TensorMesh<2>& logical = grid->mesh.logical();
  if (logical.x().size() + 1 <= fixed(1) + fixed(3) || logical.y().size() + 1 <= fixed(0) + fixed(2))
    return std::nullopt;
  return grid;
}

OnePatchSolver::OnePatchSolver(Context& ctx, const PatchMesh& mesh, const PatchProblem& problem,
                               const PatchSolverParams& params, OneGrid grid)
    : ctx_(ctx), mesh_(mesh), given_(problem), grid_(std::move(grid)), problem_(problem_on(mesh, problem, grid_)),
      full_multigrid_(params.full_multigrid), has_values_(has_boundary_values(problem_)) {
  const auto begin = Clock::now();
  params.stop.validate();
  grid_.mesh = with_boundaries(geometry(), problem_.boundaries);
  params_.stop = params.stop;
  if (has_values_ && params_.stop.reference_norm == ReferenceNorm::rhs)
    params_.stop.reference_norm = ReferenceNorm::initial;
  params_.full_multigrid_from_x = has_values_;
  params_.precision = params.float_cycles ? Precision::mixed : Precision::full;
  params_.retry_in_double = params.retry_in_double;
  if (params.sweeps != 1) params_.multigrid.sweeps = 2 * params.sweeps;
  params_.terms = operator_terms(geometry(), problem_);
  if (auto k = cell_coefficients(ctx_, geometry(), problem_))
    params_.coefficients = std::make_shared<const CellCoefficients>(std::move(*k));
  b_ = Field<double>(ctx_, grid_.mesh.logical().unknowns());
  x_ = Field<double>(ctx_, grid_.mesh.logical().unknowns());
  assemble_load(ctx_, geometry(), problem_, b_, cells());
  if (!given_.load.empty()) add_given_load();
  load_ = load_integral(ctx_, geometry(), problem_, b_, cells());
  solved_ = problem_;
  is_singular_ = is_singular(ctx_, geometry(), problem_, cells());
  if (is_singular_) {
    compatibility_ = make_compatible(ctx_, geometry(), b_);
    expect_compatible(*compatibility_, params.project, "integral of f plus boundary fluxes");
    load_ -= compatibility_->sum;
    if (const double mean = compatibility_->mean; mean != 0)
      solved_.rhs = [f = problem_.rhs, mean](const Point& p) { return f(p) - mean; };
  }
  for (const auto& level : mesh_hierarchy(grid_.mesh.logical()))
    levels_.insert(levels_.begin(), {.unknowns = level.unknowns().nodes(), .colours = 2});
  levels_.back().colours = 0;
  setup_seconds_ = seconds_since(begin);
}

void OnePatchSolver::add_given_load() {
  const TensorMesh<2>& logical = grid_.mesh.logical();
  const int columns = logical.x().size() + 1, rows = logical.y().size() + 1;
  const auto& given = given_.load[0];
  for (std::size_t k = 0; k < given.size(); ++k)
    expects(std::isfinite(given[k]), "the integral of f at node (", k % (at(mesh_.cells_x(0)) + 1), ", ",
            k / (at(mesh_.cells_x(0)) + 1), ") of patch 0 is ", given[k], "; it must be finite");
  const std::vector<double> all = grid_.of_grid(given, columns, rows);
  const FieldView<double> b = b_.view();
  std::vector<double> sum(static_cast<std::size_t>(b.nodes()));
  copy_to_host(ctx_, b_.cview(), sum.data());
  for (int j = 0; j < b.ny; ++j)
    for (int i = 0; i < b.nx; ++i)
      sum[at(j) * at(b.nx) + at(i)] +=
          all[at(j + logical.y().first_unknown()) * at(columns) + at(i + logical.x().first_unknown())];
  copy_from_host(ctx_, sum.data(), b);
}

PoissonSolver& OnePatchSolver::solver(bool one_pass) {
  if (solver_ && solver_is_of_one_pass_ == one_pass) return *solver_;
  solver_.reset();
  PoissonSolverParams params = params_;
  if (!one_pass) params.method = Method::cg;
  params.full_multigrid = one_pass || full_multigrid_;
  params.continue_after_full_multigrid = !one_pass;
  const auto begin = Clock::now();
  solver_ = std::make_unique<PoissonSolver>(ctx_, geometry(), params);
  solver_->warm_up(ctx_);
  setup_seconds_ += seconds_since(begin);
  solver_is_of_one_pass_ = one_pass;
  return *solver_;
}

SolveReport OnePatchSolver::run(bool one_pass, const Monitor& monitor) {
  PoissonSolver& own = solver(one_pass);
  set(ctx_, 0.0, x_.view());
  if (has_values_) {
    lift_boundary(ctx_, geometry(), problem_, x_);
    // Where nothing but rounding is left of the residual it is nothing to measure by.
    constexpr double rounding = 1e-14;
    StoppingParams stop = params_.stop;
    if (own.fine_operator().backward_error(ctx_, b_.cview(), x_.cview()) <= rounding)
      stop.reference_norm = ReferenceNorm::rhs;
    own.set_stop(stop);
  }
  SolveReport report = own.solve(ctx_, b_.cview(), x_.view(), monitor);
  if (is_singular_) subtract_integral_mean(ctx_, geometry(), x_);
  report.setup_seconds = setup_seconds_;
  report.choice = message("one patch, solved as ", name(), report.choice.empty() ? "" : "; ", report.choice);
  return report;
}

SolveReport OnePatchSolver::solve(const Monitor& monitor) { return run(false, monitor); }
SolveReport OnePatchSolver::full_multigrid_pass() { return run(true, {}); }

std::vector<double> OnePatchSolver::nodal_solution() {
  const TensorMesh<2>& logical = grid_.mesh.logical();
  return grid_.of_patch(stratum::nodal_solution(ctx_, geometry(), problem_, x_), logical.x().size() + 1,
                        logical.y().size() + 1);
}

std::optional<PatchErrors> OnePatchSolver::relative_errors() {
  const auto found = stratum::relative_errors(ctx_, geometry(), problem_, x_, cells());
  if (!found) return {};
  return PatchErrors{found->l2, found->largest};
}

PatchFluxes OnePatchSolver::fluxes() {
  if (!given_.load.empty()) {  // which only the patch knows at Dirichlet nodes
    PatchFluxes fluxes = patch_fluxes(ctx_, mesh_, given_, [&](int) { return nodal_solution(); });
    const PatchData data = assemble_data(ctx_, mesh_, layout_of(mesh_), given_);
    fluxes.load = std::accumulate(data.load.begin(), data.load.end(), 0.0) - fluxes.from_data -
                  (compatibility_ ? compatibility_->sum : 0);
    return fluxes;
  }
  const BoundaryFluxes found = boundary_fluxes(ctx_, geometry(), solved_, x_, cells());
  PatchFluxes fluxes;
  fluxes.boundaries.assign(mesh_.boundary_names().size(), 0.0);
  const std::array<double, 4> sides{found.bottom, found.right, found.top, found.left};
  for (int s = 0; s < 4; ++s)
    fluxes.boundaries[at(mesh_.edge(mesh_.local_edges(0)[at(grid_.edge(s))].number).boundary)] += sides[at(s)];
  fluxes.magnitudes = std::max(found.magnitudes, load_magnitudes(ctx_, problem_, b_.cview()));
  fluxes.reaction = found.reaction;
  fluxes.load = load_;
  fluxes.rounding = found.rounding;
  return fluxes;
}

}  // namespace stratum
