// Poisson problems for Python: a mesh, boundaries and coefficients in, u on all nodes out (assembly/poisson_problem.hpp,
// multigrid/poisson_solver.hpp). Functions of Python have become arrays before they come here: nothing calls Python but between
// iterations, and all that takes long runs without the GIL.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/corner_contacts.hpp>
#include <stratum/assembly/corner_leaks.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/films.hpp>
#include <stratum/assembly/finite_volumes.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/multigrid/film_warning.hpp>

#include "problems.hpp"

namespace stratum::python {

namespace {

/// Values at the nodes of a side, linear between them. A point is found from the nearer end, which knows its place best.
class AlongBoundary {
 public:
  AlongBoundary(const Axis& line, Direction along, std::vector<double> values)
      : line_(std::make_shared<const Axis>(line)),
        values_(std::make_shared<const std::vector<double>>(std::move(values))), along_(along) {}

  double operator()(const Point& p) const {
    const double begin = along_ == Direction::x ? p.to_left : p.to_bottom,
                 end = along_ == Direction::x ? p.to_right : p.to_top;
    const bool first = begin <= end;
    const auto& distances = first ? line_->from_begin() : line_->from_end();
    const auto after = std::partition_point(distances.begin(), distances.end(),
                                            [&](double d) { return first ? d <= begin : d > end; });
    const auto k = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(after - distances.begin() - 1, 0, std::ptrdiff_t{line_->size()} - 1));
    const double width = line_->widths()[k];
    const double t = first ? (begin - distances[k]) / width : 1 - (end - distances[k + 1]) / width;
    return (1 - t) * (*values_)[k] + t * (*values_)[k + 1];
  }

 private:
  std::shared_ptr<const Axis> line_;
  std::shared_ptr<const std::vector<double>> values_;
  Direction along_;
};

ScalarFunction constant(double value) {
  return [value](const Point& /*p*/) { return value; };
}

ScalarFunction expression(const TensorMesh<2>& mesh, const std::string& text) {
  expects(expressions_available(), "'", shown(text),
          "': this build has no expressions, which take muParser; give a function of arrays, lambda x, y: ...");
  return parse_expression(text, mesh.x().length(), mesh.y().length());
}

/// A number, text, or an array at the nodes of the side.
ScalarFunction boundary_function_of(const TensorMesh<2>& mesh, Direction along, const char* name, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return expression(mesh, nb::cast<std::string>(value));
  if (double number = 0; nb::try_cast(value, number)) return number == 0 ? ScalarFunction{} : constant(number);
  const auto values = nb::cast<HostArray<double, 1>>(value);
  const Axis& line = along == Direction::x ? mesh.x() : mesh.y();
  expects(values.size() == static_cast<std::size_t>(line.size()) + 1, "the ", name, " boundary has ", line.size() + 1,
          " nodes, shape (", line.size() + 1, ",); its values have shape ", shape_of(values));
  return AlongBoundary(line, along, vector_of(values));
}

/// None, a number, text, or an array on the cells.
Coefficient coefficient(const TensorMesh<2>& mesh, const char* name, nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<nb::str>(value)) return expression(mesh, nb::cast<std::string>(value));
  if (double number = 0; nb::try_cast(value, number)) return number;
  const auto values = nb::cast<HostArray<double, 2>>(value);
  const auto nx = static_cast<std::size_t>(mesh.x().size()), ny = static_cast<std::size_t>(mesh.y().size());
  expects(values.shape(0) == ny && values.shape(1) == nx, name, " has a number for each of (", ny, ", ", nx,
          ") cells; given is shape ", shape_of(values));
  return CellValues{mesh.x().size(), mesh.y().size(), vector_of(values)};
}

/// f by an array: a number for each cell, numbers at the nodes and bilinear between them, or the numbers at the 4 x 4 Gauss
/// points of each cell.
class OnMesh {
 public:
  OnMesh(const TensorMesh<2>& mesh, const HostArray<double, 2>& values)
      : nx_(mesh.x().size()), ny_(mesh.y().size()), columns_(static_cast<int>(values.shape(1))),
        values_(std::make_shared<const std::vector<double>>(vector_of(values))) {
    const int rows = static_cast<int>(values.shape(0));
    expects((columns_ == nx_ && rows == ny_) || (columns_ == nx_ + 1 && rows == ny_ + 1) ||
                (columns_ == 4 * nx_ && rows == 4 * ny_),
            "f is for (", ny_, ", ", nx_, ") cells or the nodes around them; given is shape ", shape_of(values));
  }

  double operator()(const Point& p) const {
    const double x = p.place_x * nx_, y = p.place_y * ny_;
    const int i = std::clamp(static_cast<int>(x), 0, nx_ - 1), j = std::clamp(static_cast<int>(y), 0, ny_ - 1);
    const double t = x - i, s = y - j;
    if (columns_ == nx_) return at(i, j);
    if (columns_ == nx_ + 1)
      return (1 - s) * ((1 - t) * at(i, j) + t * at(i + 1, j)) + s * ((1 - t) * at(i, j + 1) + t * at(i + 1, j + 1));
    // Gauss points lie at 0.07, 0.33, 0.67 and 0.93.
    const auto point = [](double fraction) { return fraction < 0.2 ? 0 : fraction < 0.5 ? 1 : fraction < 0.8 ? 2 : 3; };
    return at(4 * i + point(t), 4 * j + point(s));
  }

 private:
  [[nodiscard]] double at(int i, int j) const {
    return (*values_)[static_cast<std::size_t>(j) * static_cast<std::size_t>(columns_) + static_cast<std::size_t>(i)];
  }
  int nx_, ny_, columns_;
  std::shared_ptr<const std::vector<double>> values_;
};

BoundaryCondition boundary_condition(const TensorMesh<2>& mesh, Direction along, const char* name,
                                     const nb::tuple& given) {
  BoundaryCondition side;
  side.kind = by_name("a boundary", nb::cast<std::string>(given[0]), values_of<BoundaryConditionType>);
  side.value = boundary_function_of(mesh, along, name, given[1]);
  if (has_alpha(side.kind)) {
    side.alpha = boundary_function_of(mesh, along, name, given[2]);
    if (!side.alpha) side.kind = BoundaryConditionType::neumann;  // alpha = 0
  }
  return side;
}

/// (inside, kind, value): inside is text or an array on the cells, value a number, text, or an array at the nodes or, of K, on
/// the cells.
Body body_of(const TensorMesh<2>& mesh, const nb::tuple& given) {
  const auto function = [&](nb::handle value) -> ScalarFunction {
    if (nb::isinstance<nb::str>(value)) return expression(mesh, nb::cast<std::string>(value));
    if (double number = 0; nb::try_cast(value, number)) return constant(number);
    return OnMesh(mesh, nb::cast<HostArray<double, 2>>(value));
  };
  Body body;
  body.inside = function(given[0]);
  body.kind = by_name("the kind of a body", nb::cast<std::string>(given[1]), values_of<BodyKind>);
  if (body.kind == BodyKind::contact)
    body.resistance = nb::cast<double>(given[2]);
  else if (body.kind != BodyKind::no_flux)
    body.value = function(given[2]);
  return body;
}

}  // namespace

ScalarFunction function_on_mesh(const TensorMesh<2>& mesh, const HostArray<double, 2>& values) {
  return OnMesh(mesh, values);
}

PoissonProblem problem_of(const TensorMesh<2>& mesh, const std::array<nb::tuple, 4>& boundaries,
                          const std::array<nb::object, 3>& kappa, const nb::object& reaction, const nb::dict& options) {
  PoissonProblem problem;
  problem.boundaries = {boundary_condition(mesh, Direction::y, "left", boundaries[0]),
                        boundary_condition(mesh, Direction::y, "right", boundaries[1]),
                        boundary_condition(mesh, Direction::x, "bottom", boundaries[2]),
                        boundary_condition(mesh, Direction::x, "top", boundaries[3])};
  problem.diffusion = {coefficient(mesh, "kappa", kappa[0]), coefficient(mesh, "kappa_xy", kappa[1]),
                       coefficient(mesh, "kappa_yy", kappa[2])};
  if (double c = 0; nb::try_cast(reaction, c))
    problem.reaction = c;
  else
    problem.reaction_of_cells = coefficient(mesh, "the reaction", reaction);
  for (const nb::handle body : nb::cast<nb::list>(options["bodies"]))
    problem.bodies.push_back(body_of(mesh, nb::cast<nb::tuple>(body)));
  return problem;
}

PoissonSolverParams solver_params_of(const nb::dict& options) {
  PoissonSolverParams params;
  const auto text = [&](const char* name) { return option<std::string>(options, name); };
  auto& multigrid = params.multigrid;
  multigrid.smoother = text("smoother");
  if (!options["sweeps"].is_none()) multigrid.sweeps = option<int>(options, "sweeps");
  params.full_multigrid = !options["cycle"].is_none() && text("cycle") == "fmg";
  params.continue_after_full_multigrid = option<bool>(options, "continue");
  if (!options["cycle"].is_none() && !params.full_multigrid)
    multigrid.cycle = by_name("cycle", text("cycle"), values_of<Cycle>);
  if (!options["accel"].is_none()) params.method = by_name("accel", text("accel"), values_of<Method>);
  if (!option<bool>(options, "single_precision")) params.precision = Precision::full;
  return params;
}

bool is_of_volumes(const nb::dict& options) {
  const std::string discretisation = option<std::string>(options, "discretisation");
  expects(discretisation == "elements" || discretisation == "fv",
          "the discretisation is 'elements' or 'fv'; given is '", shown(discretisation), "'");
  return discretisation == "fv";
}

namespace {

class PoissonSystem {
 public:
  PoissonSystem(const TensorMesh<2>& mesh, const std::array<nb::tuple, 4>& boundaries,
                const std::array<nb::object, 3>& kappa, const nb::object& reaction, const nb::dict& options)
      : ctx_(make_context(option<std::string>(options, "device"), option<int>(options, "threads"),
                          nb::cast<std::optional<std::uintptr_t>>(options["stream"]))),
        geometry_(mesh) {
    problem_ = problem_of(mesh, boundaries, kappa, reaction, options);
    params_ = solver_params_of(options);
    const auto coordinates =
        by_name("coordinates", option<std::string>(options, "coordinates"), values_of<Coordinates>);
    const bool by_volumes = is_of_volumes(options);
    free_sides_without_area(coordinates, nb::cast<nb::tuple>(options["open"]));
    const WithoutGil computing;
    if (by_volumes) {
      expects(coordinates == Coordinates::cartesian, "finite volumes are for Cartesian coordinates; take elements");
      volumes_.emplace(ctx_, mesh, problem_);
      singular_ = volumes_->is_singular();
      solver_ = std::make_unique<PoissonSolver>(ctx_, *volumes_, params_);
      warning_ = warning_of_films(*solver_, volumes_->round_off_of_films());
    } else {
      set_elements(coordinates);
    }
    setup_seconds_ = clock_.seconds();
  }

  [[nodiscard]] bool is_singular_problem() const { return singular_; }
  [[nodiscard]] const std::string& warning() const { return warning_; }
  [[nodiscard]] const std::string& warning_of_u() const { return warning_of_u_; }
  [[nodiscard]] int levels() const { return solver_->levels(); }

  /// f as text, as integrals of f phi_i at all nodes, boundary included, or, in other coordinates and of finite volumes, as
  /// OnMesh has it. Beside bodies it is as OnMesh has it, unless it is `integrals`, over live cells. `values`: g of the four
  /// boundaries in place of what they have, None where it stays, and held bodies are at zero; nothing: all stay.
  nb::tuple solve(const nb::object& f, const StoppingParams& asked_for, bool reference_norm_is_open, bool project,
                  const nb::object& callback, const std::optional<nb::tuple>& values, bool integrals) {
    PoissonProblem problem = problem_;
    auto cells = cells_;
    if (values) {
      set_values(*values, problem.boundaries);
      if (!volumes_ && !problem.bodies.empty()) cells = problem_at_zero(problem);
    }
    problem.rhs = constant(0);
    HostArray<double, 2> load;
    if (nb::isinstance<nb::str>(f))
      problem.rhs = expression(mesh(), nb::cast<std::string>(f));
    else if (double number = 0; nb::try_cast(f, number))
      problem.rhs = constant(number);
    else if (volumes_ || geometry_.mapped() || (!problem_.bodies.empty() && !integrals))
      problem.rhs = OnMesh(mesh(), nb::cast<HostArray<double, 2>>(f));
    else
      load = nb::cast<HostArray<double, 2>>(f);
    auto nx = static_cast<std::size_t>(mesh().x().size()) + 1, ny = static_cast<std::size_t>(mesh().y().size()) + 1;
    expects(!load.is_valid() || (load.shape(0) == ny && load.shape(1) == nx), "loads are for (", ny, ", ", nx,
            ") nodes; given is shape ", load.is_valid() ? shape_of(load) : "");
    if (volumes_) --nx, --ny;
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    std::vector<double> solution;
    std::vector<BodyFlux> bodies;
    {
      const WithoutGil computing;
      const GridLayout<2> unknowns = solver_->fine_operator().shape();
      Field<double> b(ctx_, unknowns), u(ctx_, unknowns);
      if (volumes_) {
        (void)volumes_->assemble_load(ctx_, problem, b);
      } else if (load.is_valid()) {
        Numbers copied;
        if (ctx_.on_gpu()) copy_from_host(ctx_, load.data(), at_nodes((copied = numbers_at_nodes()).get()));
        const double* const there = ctx_.on_gpu() ? copied.get() : load.data();
        if (problem.bodies.empty())
          set_load(problem, there, b);
        else
          set_load_around_bodies(problem, *cells, there, b);
      } else {
        assemble_load(ctx_, geometry_, problem, b, cells.get());
      }
      report = solve(problem, asked_for, reference_norm_is_open, project, monitor, b, u);
      if (volumes_) {
        solution = volumes_->cell_values(ctx_, problem, u);
        bodies = volumes_->body_fluxes(problem, solution);
      } else if (problem_.bodies.empty()) {
        solution.resize(nx * ny);
        const Numbers nodes = ctx_.on_gpu() ? numbers_at_nodes() : nullptr;
        set_nodal(problem, u, at_nodes(nodes ? nodes.get() : solution.data()));
        if (nodes) copy_to_host<double>(ctx_, at_nodes(nodes.get()), solution.data());
      } else {
        solution = nodal_solution(ctx_, geometry_, problem, u);
        bodies = body_fluxes(ctx_, geometry_, problem, u, cells.get());
      }
    }
    report.levels = solver_->level_reports();
    nb::dict said = dictionary_of(report, setup_seconds_);
    if (!bodies.empty()) {
      nb::list of_bodies;
      for (const BodyFlux& body : bodies) {
        nb::dict one;
        one["cells"] = body.cells;
        one["area"] = body.area;
        one["flux"] = body.flux;
        one["mean"] = body.mean;
        of_bodies.append(one);
      }
      said["bodies"] = of_bodies;
    }
    return nb::make_tuple(numpy_array(std::move(solution), {ny, nx}), said);
  }

  /// The same of integrals of f phi_i in device memory: u is a DLPack capsule there, and has been computed when this returns.
  nb::tuple solve_on_device(const DeviceArray<2>& load, const StoppingParams& asked_for, bool reference_norm_is_open,
                            bool project, const nb::object& callback, const std::optional<nb::tuple>& values) {
    expects(!volumes_ && !geometry_.mapped() && problem_.bodies.empty(),
            "loads on a GPU are those of elements in Cartesian coordinates, without bodies; give f on the host");
    expects(ctx_.on_gpu(), "a load on a GPU is for a problem with device='cuda'");
    PoissonProblem problem = problem_;
    if (values) set_values(*values, problem.boundaries);
    problem.rhs = constant(0);
    const auto nx = static_cast<std::size_t>(mesh().x().size()) + 1,
               ny = static_cast<std::size_t>(mesh().y().size()) + 1;
    expects(load.shape(0) == ny && load.shape(1) == nx, "loads are for (", ny, ", ", nx, ") nodes; given is shape ",
            shape_of(load));
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    Numbers solution;
    {
      const WithoutGil computing;
      expects_reached(ctx_, "the load", at_nodes(load.data()));
      const GridLayout<2> unknowns = solver_->fine_operator().shape();
      Field<double> b(ctx_, unknowns), u(ctx_, unknowns);
      set_load(problem, load.data(), b);
      report = solve(problem, asked_for, reference_norm_is_open, project, monitor, b, u);
      solution = numbers_at_nodes();
      set_nodal(problem, u, at_nodes(solution.get()));
      ctx_.synchronise();
    }
    report.levels = solver_->level_reports();
    return nb::make_tuple(array_on_device(solution, {ny, nx}, load.device_id()), dictionary_of(report, setup_seconds_));
  }

  [[nodiscard]] std::uintptr_t stream() const { return reinterpret_cast<std::uintptr_t>(ctx_.stream()); }

  /// Of contact bodies the w of 1 / K_dd + w R, of every cell, for d = x and y.
  [[nodiscard]] nb::tuple contact_weights() {
    PoissonProblem unit;
    unit.rhs = constant(0);
    unit.boundaries = problem_.boundaries;
    for (const Body& body : problem_.bodies) {
      if (body.kind != BodyKind::contact) continue;
      unit.bodies.push_back(body);
      unit.bodies.back().resistance = 1;
    }
    const auto k = cell_coefficients(ctx_, geometry_, unit);
    const auto weights = [&](const std::vector<double>& conductance) {
      std::vector<double> w(conductance);
      for (double& one : w) one = 1 / one - 1;
      return numpy_array(std::move(w),
                         {static_cast<std::size_t>(mesh().y().size()), static_cast<std::size_t>(mesh().x().size())});
    };
    return nb::make_tuple(weights(k->xx), weights(k->yy.empty() ? k->xx : k->yy));
  }

  /// In a child process, which does not have the threads of its parent: on a CPU what follows runs on one.
  void after_fork() {
    if (!ctx_.on_gpu()) ctx_ = Context(Backend::cpu, 1);
  }

 private:
  /// Solves for u, for a right-hand side b that need not balance yet.
  SolveReport solve(PoissonProblem& problem, const StoppingParams& asked_for, bool reference_norm_is_open, bool project,
                    const Monitor& monitor, Field<double>& b, Field<double>& u) {
    if (rooms_) {
      (void)make_compatible(ctx_, geometry_, *rooms_, b, project, problem);
    } else if (singular_ && volumes_) {
      (void)volumes_->make_compatible(ctx_, b, project);
    } else if (singular_) {
      expect_compatible(make_compatible(ctx_, geometry_, b), project, "the integral of f plus the boundary fluxes");
    }
    StoppingParams stop = asked_for;
    if (has_boundary_values(problem)) {
      volumes_ ? volumes_->lift_boundary(ctx_, problem, u) : lift_boundary(ctx_, geometry_, problem, u);
      // Values on the boundaries of thin cells make a large right-hand side: nothing to measure a residual by.
      constexpr double rounding = 1e-14;
      if (reference_norm_is_open && solver_->fine_operator().backward_error(ctx_, b.cview(), u.cview()) > rounding)
        stop.reference_norm = ReferenceNorm::initial;
    }
    solver_->set_stop(stop);
    SolveReport report = solver_->solve(ctx_, b.cview(), u.view(), monitor);
    if (volumes_) {
      if (singular_) volumes_->subtract_mean(ctx_, u);
    } else if (rooms_) {
      subtract_integral_means(ctx_, geometry_, *rooms_, u);
    } else if (singular_) {
      subtract_integral_mean(ctx_, geometry_, u);
    }
    if (!volumes_) warning_of_u_ = corner_leaks(ctx_, geometry_, problem, u, cells_.get()).warning();
    return report;
  }

  void set_elements(Coordinates coordinates) {
    if (coordinates == Coordinates::cartesian)
      geometry_ = ProblemMesh(with_boundaries(mesh(), problem_.boundaries));
    else
      geometry_ = ProblemMesh(with_boundaries(MappedMesh(mesh(), coordinates), problem_.boundaries));
    params_.terms = operator_terms(geometry_, problem_);
    if (auto k = cell_coefficients(ctx_, geometry_, problem_))
      cells_ = std::make_shared<const CellCoefficients>(std::move(*k));
    params_.coefficients = cells_;
    if (cells_) problem_.on_mesh = cells_->bodies;
    if (problem_.on_mesh) warning_ = corner_contacts(geometry_, *problem_.on_mesh).warning();
    rooms_ = rooms_around_bodies(geometry_, params_.terms, cells_.get());
    singular_ = is_singular(ctx_, geometry_, problem_, cells_.get());
    params_.full_multigrid_from_x = has_boundary_values(problem_);
    solver_ = std::make_unique<PoissonSolver>(ctx_, geometry_, params_);
    if (!solver_->fine_operator().traits().has_bands) return;
    const double lost = round_off_of_films(geometry_, cells_.get(), params_.terms.reaction);
    warning_ = both_warnings(warning_, warning_of_films(*solver_, lost));
  }

  /// Axes, centres and poles of which nothing is said are free.
  void free_sides_without_area(Coordinates coordinates, const nb::tuple& open) {
    const std::array<std::tuple<Direction, bool, BoundaryCondition*>, 4> sides{
        {{Direction::y, false, &problem_.boundaries.left},
         {Direction::y, true, &problem_.boundaries.right},
         {Direction::x, false, &problem_.boundaries.bottom},
         {Direction::x, true, &problem_.boundaries.top}}};
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const auto& [along, last, side] = sides[k];
      if (nb::cast<bool>(open[k]) && side_shape(coordinates, mesh(), along, last) != SideShape::area)
        *side = {BoundaryConditionType::neumann, {}, {}};
    }
  }

  void set_values(const nb::tuple& values, BoundaryConditions& boundaries) const {
    expects(values.size() == 4, "values are those of left, right, bottom and top; given are ", values.size());
    const std::array<std::tuple<const char*, Direction, BoundaryCondition*>, 4> sides{
        {{"left", Direction::y, &boundaries.left},
         {"right", Direction::y, &boundaries.right},
         {"bottom", Direction::x, &boundaries.bottom},
         {"top", Direction::x, &boundaries.top}}};
    for (std::size_t k = 0; k < sides.size(); ++k) {
      const auto& [name, along, side] = sides[k];
      if (!values[k].is_none()) side->value = boundary_function_of(mesh(), along, name, values[k]);
    }
  }

  /// Numbers at all nodes, x fastest.
  [[nodiscard]] Numbers numbers_at_nodes() {
    const auto nodes =
        static_cast<std::size_t>(mesh().x().size() + 1) * static_cast<std::size_t>(mesh().y().size() + 1);
    return numbers_on(ctx_, nodes);
  }
  template <class T>
  [[nodiscard]] FieldView<T> at_nodes(T* data) const {
    FieldView<T> view;
    view.data = data;
    view.nx = mesh().x().size() + 1;
    view.ny = mesh().y().size() + 1;
    view.pitch = view.nx;
    return view;
  }
  /// nx by ny numbers of a field from (i, j) on.
  template <class T>
  [[nodiscard]] static FieldView<T> part(FieldView<T> all, int i, int j, int nx, int ny) {
    all.data += j * all.pitch + i;
    all.nx = nx;
    all.ny = ny;
    return all;
  }
  template <class T>
  [[nodiscard]] FieldView<T> unknowns_of(FieldView<T> nodes) const {
    const Axis &x = mesh().x(), &y = mesh().y();
    return part(nodes, x.first_unknown(), y.first_unknown(), x.unknowns(), y.unknowns());
  }

  /// The coefficients with held bodies at zero, in the problem too.
  [[nodiscard]] std::shared_ptr<const CellCoefficients> problem_at_zero(PoissonProblem& problem) const {
    auto map = std::make_shared<BodyMap>(*cells_->bodies);
    std::fill(map->value.begin(), map->value.end(), 0.0);
    problem.on_mesh = map;
    auto cells = std::make_shared<CellCoefficients>(*cells_);
    cells->bodies = std::move(map);
    return cells;
  }

  /// Integrals at all nodes as those of unknowns, in the Context's memory.
  void fold_load(const double* load, FieldView<double> to) {
    const Axis &x = mesh().x(), &y = mesh().y();
    const FieldView<const double> nodes = at_nodes(load);
    copy(ctx_, unknowns_of(nodes), to);
    // The last nodes of a periodic axis are the first ones.
    const auto fold = [&](const FieldView<const double>& last, int nx, int ny) {
      axpy(ctx_, 1.0, last, part(to, 0, 0, nx, ny));
    };
    if (x.is_periodic()) fold(part(nodes, x.size(), y.first_unknown(), 1, to.ny), 1, to.ny);
    if (y.is_periodic()) fold(part(nodes, x.first_unknown(), y.size(), to.nx, 1), to.nx, 1);
    if (x.is_periodic() && y.is_periodic()) fold(part(nodes, x.size(), y.size(), 1, 1), 1, 1);
  }

  /// As assemble_load, with integrals of f that are there already.
  void set_load_around_bodies(const PoissonProblem& problem, const CellCoefficients& cells, const double* load,
                              Field<double>& b) {
    assemble_load(ctx_, geometry_, problem, b, &cells);
    Field<double> of_f(ctx_, b.shape());
    fold_load(load, of_f.view());
    clear_fixed_nodes(ctx_, geometry_, *cells.bodies, of_f);
    axpy(ctx_, 1.0, of_f.cview(), b.view());
  }
  /// The same without bodies, all in the Context's memory.
  void set_load(const PoissonProblem& problem, const double* load, Field<double>& b) {
    fold_load(load, b.view());
    BoundaryLoads boundaries(b.shape());
    add_fluxes(mesh(), problem, boundaries);
    const auto values = dirichlet_values(mesh(), problem);
    for (const DirichletEntry& entry : dirichlet_entries(mesh(), problem, cells_.get(), problem.reaction))
      boundaries(entry.i, entry.j) -= entry.times(values);
    std::array<Field<double>, 2> through{Field<double>(ctx_, {1, b.view().ny}), Field<double>(ctx_, {b.view().nx, 1})};
    add(ctx_, boundaries, through, b.view());
  }

  /// As nodal_solution, in the Context's memory.
  void set_nodal(const PoissonProblem& problem, const Field<double>& u, const FieldView<double>& nodes) {
    const Axis &x = mesh().x(), &y = mesh().y();
    copy(ctx_, u.cview(), unknowns_of(nodes));
    if (x.is_periodic()) copy(ctx_, part(nodes, 0, 0, 1, nodes.ny), part(nodes, x.size(), 0, 1, nodes.ny));
    if (y.is_periodic()) copy(ctx_, part(nodes, 0, 0, nodes.nx, 1), part(nodes, 0, y.size(), nodes.nx, 1));
    const BoundaryValues values = boundary_values_of_nodes(geometry_, problem);
    const auto put = [&](const BoundaryCondition& side, const std::vector<double>& numbers,
                         const FieldView<double>& place) {
      if (side.kind != BoundaryConditionType::dirichlet) return;
      // One after the other, in a column too: a GPU takes thousands of rows of one number one by one.
      const Field<double> line = vector_from_host(ctx_, numbers);
      copy(ctx_, FieldView<const double>{line.cview().data, place.nx, place.ny, place.nx}, place);
    };
    put(problem.boundaries.left, values.left, part(nodes, 0, 0, 1, nodes.ny));
    put(problem.boundaries.right, values.right, part(nodes, x.size(), 0, 1, nodes.ny));
    put(problem.boundaries.bottom, values.bottom, part(nodes, 0, 0, nodes.nx, 1));
    put(problem.boundaries.top, values.top, part(nodes, 0, y.size(), nodes.nx, 1));
  }

  [[nodiscard]] const TensorMesh<2>& mesh() const { return geometry_.logical(); }

  Clock clock_;  // first, to measure what follows
  Context ctx_;
  ProblemMesh geometry_;
  std::optional<FiniteVolumes> volumes_;  // in place of elements
  PoissonProblem problem_{};
  PoissonSolverParams params_{};
  std::shared_ptr<const CellCoefficients> cells_;
  std::optional<Rooms> rooms_;  // around bodies
  bool singular_ = false;
  std::string warning_, warning_of_u_;  // of bodies and films; of what leaks in corners
  double setup_seconds_ = 0;
  std::unique_ptr<PoissonSolver> solver_;
};

}  // namespace

void add_poisson(nb::module_& m) {
  nb::class_<PoissonSystem>(m, "PoissonSystem", "The compiled part of stratum.Poisson.")
      .def(
          "__init__",
          [](PoissonSystem* self, const TensorMesh<2>& mesh, nb::tuple left, nb::tuple right, nb::tuple bottom,
             nb::tuple top, const nb::object& xx, const nb::object& xy, const nb::object& yy,
             const nb::object& reaction, const nb::dict& options) {
            new (self) PoissonSystem(mesh, {std::move(left), std::move(right), std::move(bottom), std::move(top)},
                                     {xx, xy, yy}, reaction, options);
          },
          nb::arg("mesh"), nb::arg("left"), nb::arg("right"), nb::arg("bottom"), nb::arg("top"), nb::arg("kxx").none(),
          nb::arg("kxy").none(), nb::arg("kyy").none(), nb::arg("reaction"), nb::arg("options"))
      .def(
          "solve",
          [](PoissonSystem& self, const nb::object& f, double rtol, double atol, int maxiter,
             const std::optional<std::string>& reference_norm, bool project, const nb::object& callback,
             const std::optional<nb::tuple>& values, bool integrals) {
            return self.solve(f, stopping_of(rtol, atol, maxiter, reference_norm), !reference_norm, project, callback,
                              values, integrals);
          },
          nb::arg("f"), nb::arg("rtol"), nb::arg("atol"), nb::arg("maxiter"), nb::arg("reference_norm").none(),
          nb::arg("project"), nb::arg("callback").none(), nb::arg("values") = nb::none(), nb::arg("integrals") = false)
      .def(
          "solve_on_device",
          [](PoissonSystem& self, const DeviceArray<2>& load, double rtol, double atol, int maxiter,
             const std::optional<std::string>& reference_norm, bool project, const nb::object& callback,
             const std::optional<nb::tuple>& values) {
            return self.solve_on_device(load, stopping_of(rtol, atol, maxiter, reference_norm), !reference_norm,
                                        project, callback, values);
          },
          nb::arg("load"), nb::arg("rtol"), nb::arg("atol"), nb::arg("maxiter"), nb::arg("reference_norm").none(),
          nb::arg("project"), nb::arg("callback").none(), nb::arg("values") = nb::none())
      .def_prop_ro("stream", &PoissonSystem::stream)
      .def("contact_weights", &PoissonSystem::contact_weights)
      .def("after_fork", &PoissonSystem::after_fork)
      .def_prop_ro("singular", &PoissonSystem::is_singular_problem)
      .def_prop_ro("warning", &PoissonSystem::warning)
      .def_prop_ro("warning_of_u", &PoissonSystem::warning_of_u)
      .def_prop_ro("levels", &PoissonSystem::levels);
}

}  // namespace stratum::python
