// The C interface's Poisson problems: a PoissonSolver or a PoissonSolver3D, the problem that it is made from, and what went
// wrong.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/body_fluxes.hpp>
#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/corner_contacts.hpp>
#include <stratum/assembly/corner_leaks.hpp>
#include <stratum/assembly/films.hpp>
#include <stratum/assembly/point_values.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/rooms.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/film_warning.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "c_calls.hpp"

namespace {

using namespace stratum;
using namespace stratum::for_c;

using Numbers = std::shared_ptr<const std::vector<double>>;
using Axes = std::shared_ptr<const std::vector<Axis>>;

constexpr std::array<const char*, 6> face_names{"left", "right", "bottom", "top", "front", "back"};

std::pair<int, double> place_of(const Axis& axis, std::size_t d, const Point& p) {
  return d == 0 ? interval_at(axis, p.to_left, p.to_right) : interval_at(axis, p.to_bottom, p.to_top);
}
std::pair<int, double> place_of(const Axis& axis, std::size_t d, const Point3D& p) {
  return d == 0   ? interval_at(axis, p.to_left, p.to_right)
         : d == 1 ? interval_at(axis, p.to_bottom, p.to_top)
                  : interval_at(axis, p.to_front, p.to_back);
}

/// Numbers at all nodes, x fastest, linear in every direction between them.
struct OnNodes {
  Axes axes;
  Numbers numbers;

  template <class P>
  double operator()(const P& p) const {
    const std::size_t dimensions = axes->size();
    std::array<std::size_t, 3> first{}, apart{};
    std::array<double, 3> fraction{};
    std::size_t stride = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const Axis& axis = (*axes)[d];
      const auto [interval, t] = place_of(axis, d, p);
      first[d] = static_cast<std::size_t>(interval);
      fraction[d] = t;
      apart[d] = std::exchange(stride, stride * (static_cast<std::size_t>(axis.size()) + 1));
    }
    double value = 0;
    for (std::size_t corner = 0; corner < std::size_t{1} << dimensions; ++corner) {
      double weight = 1;
      std::size_t node = 0;
      for (std::size_t d = 0; d < dimensions; ++d) {
        const std::size_t behind = corner >> d & 1U;
        weight *= behind == 1 ? fraction[d] : 1 - fraction[d];
        node += apart[d] * (first[d] + behind);
      }
      if (weight != 0) value += weight * (*numbers)[node];
    }
    return value;
  }
};

/// Not zero in cells, x fastest.
struct InCells {
  Axes axes;
  std::shared_ptr<const std::vector<unsigned char>> inside;

  template <class P>
  double operator()(const P& p) const {
    std::size_t cell = 0, stride = 1;
    for (std::size_t d = 0; d < axes->size(); ++d) {
      const Axis& axis = (*axes)[d];
      cell += stride * static_cast<std::size_t>(place_of(axis, d, p).first);
      stride *= static_cast<std::size_t>(axis.size());
    }
    return (*inside)[cell] == 0 ? -1 : 1;
  }
};

/// The problem as the caller gave it, copied.
struct Problem {
  int dimensions = 0;
  Axes axes;
  std::array<BoundaryConditionType, 6> kinds{};
  std::array<double, 6> values{}, alphas{};
  std::vector<double> dirichlet, kappa;
  double reaction = 0;
  struct GivenBody {
    std::shared_ptr<const std::vector<unsigned char>> inside;
    BodyKind kind;
    double value;
  };
  std::vector<GivenBody> bodies;

  explicit Problem(const stratum_poisson_problem& given);
  [[nodiscard]] std::size_t count(int more) const {
    std::size_t count = 1;
    for (const Axis& axis : *axes) count *= static_cast<std::size_t>(axis.size() + more);
    return count;
  }
  /// Of one boundary, for Point or Point3D.
  template <class Condition>
  [[nodiscard]] Condition condition(std::size_t face) const {
    const auto number = [](double value) { return [value](const auto& /*p*/) { return value; }; };
    Condition condition{.kind = kinds[face]};
    if (kinds[face] == BoundaryConditionType::periodic) return condition;
    if (kinds[face] == BoundaryConditionType::dirichlet && !dirichlet.empty())
      condition.value = OnNodes{axes, std::make_shared<const std::vector<double>>(dirichlet)};
    else if (values[face] != 0)
      condition.value = number(values[face]);
    if (has_alpha(kinds[face])) condition.alpha = number(alphas[face]);
    return condition;
  }
  /// As Body or Body3D.
  template <class Any>
  [[nodiscard]] std::vector<Any> bodies_as() const {
    std::vector<Any> made;
    for (const GivenBody& given : bodies) {
      Any body{.inside = InCells{axes, given.inside}, .kind = given.kind};
      if (given.kind == BodyKind::contact)
        body.resistance = given.value;
      else if (given.kind != BodyKind::no_flux)
        body.value = [value = given.value](const auto& /*p*/) { return value; };
      made.push_back(std::move(body));
    }
    return made;
  }
};

Problem::Problem(const stratum_poisson_problem& given) : dimensions(given.dimensions), reaction(given.reaction) {
  expects(given.struct_size == 0 || given.struct_size == sizeof given,
          "problem.struct_size must be sizeof(stratum_poisson_problem) or 0, not ", given.struct_size);
  expects(dimensions == 2 || dimensions == 3, "problem.dimensions must be 2 or 3, not ", dimensions);
  std::vector<Axis> made;
  for (std::size_t d = 0; d < static_cast<std::size_t>(dimensions); ++d) {
    const int n = given.cells[d];
    const double length = given.lengths[d] == 0 ? 1 : given.lengths[d];
    expects(n >= 1, "problem.cells[", d, "] must be at least 1, not ", n);
    if (given.widths[d] == nullptr)
      made.push_back(uniform(length, n));
    else
      made.emplace_back(std::vector<double>(given.widths[d], given.widths[d] + n));
  }
  axes = std::make_shared<const std::vector<Axis>>(std::move(made));
  for (std::size_t face = 0; face < 2 * axes->size(); ++face) {
    expects(given.boundaries[face] >= STRATUM_DIRICHLET && given.boundaries[face] <= STRATUM_PERIODIC,
            "problem.boundaries[", face, "], ", face_names[face], ", must be ", int{STRATUM_DIRICHLET}, " .. ",
            int{STRATUM_PERIODIC}, ", not ", given.boundaries[face]);
    constexpr std::array kinds_of{BoundaryConditionType::dirichlet, BoundaryConditionType::neumann,
                                  BoundaryConditionType::robin, BoundaryConditionType::periodic};
    kinds[face] = kinds_of[static_cast<std::size_t>(given.boundaries[face])];
    values[face] = given.values[face];
    alphas[face] = given.alpha[face];
  }
  if (given.dirichlet != nullptr) dirichlet.assign(given.dirichlet, given.dirichlet + count(1));
  if (given.kappa != nullptr) kappa.assign(given.kappa, given.kappa + count(0));
  expects(given.body_count >= 0 && (given.body_count == 0 || given.bodies != nullptr),
          "problem.body_count must be 0 or the number of problem.bodies, not ", given.body_count);
  for (int n = 0; n < given.body_count; ++n) {
    const stratum_body& body = given.bodies[n];
    expects(body.inside != nullptr, "problem.bodies[", n, "].inside is NULL");
    expects(body.kind >= STRATUM_BODY_VALUE && body.kind <= STRATUM_BODY_CONTACT, "problem.bodies[", n,
            "].kind must be ", int{STRATUM_BODY_VALUE}, " .. ", int{STRATUM_BODY_CONTACT}, ", not ", body.kind);
    constexpr std::array kinds_of{BodyKind::value, BodyKind::no_flux, BodyKind::coefficient, BodyKind::contact};
    bodies.push_back({std::make_shared<const std::vector<unsigned char>>(body.inside, body.inside + count(0)),
                      kinds_of[static_cast<std::size_t>(body.kind)], body.value});
  }
}

StoppingParams stop_of(const stratum_options& options, StoppingParams stop) {
  if (options.rtol != 0 || options.atol != 0) stop.rtol = options.rtol;
  stop.atol = options.atol;
  stop.rounding_will_do = options.rtol == 0 && options.atol == 0;
  if (options.max_iterations != 0) stop.max_iterations = options.max_iterations;
  stop.validate();
  return stop;
}

/// In a rectangle.
class Rectangle {
 public:
  Rectangle(const Problem& given, const stratum_options& options) : ctx_(backend_of(options), options.threads) {
    const auto condition = [&](std::size_t face) { return given.condition<BoundaryCondition>(face); };
    problem_.boundaries = {condition(0), condition(1), condition(2), condition(3)};
    problem_.reaction = given.reaction;
    const Axis &x = (*given.axes)[0], &y = (*given.axes)[1];
    if (!given.kappa.empty()) problem_.diffusion.xx = CellValues{x.size(), y.size(), given.kappa};
    problem_.bodies = given.bodies_as<Body>();
    mesh_.emplace(with_boundaries(TensorMesh<2>(x, y), problem_.boundaries));
    PoissonSolverParams params;
    stop_ = params.stop = stop_of(options, params.stop);
    params.terms = operator_terms(*mesh_, problem_);
    if (auto k = cell_coefficients(ctx_, *mesh_, problem_))
      cells_ = std::make_shared<const CellCoefficients>(std::move(*k));
    params.coefficients = cells_;
    if (cells_) problem_.on_mesh = cells_->bodies;
    if (problem_.on_mesh) warning_ = corner_contacts(*mesh_, *problem_.on_mesh).warning();
    params.full_multigrid_from_x = has_boundary_values(problem_);
    rooms_ = rooms_around_bodies(*mesh_, params.terms, cells_.get());
    singular_ = !rooms_ && is_singular(ctx_, *mesh_, problem_, cells_.get());
    project_ = options.project != 0;
    solver_ = std::make_unique<PoissonSolver>(ctx_, *mesh_, params);
    if (solver_->fine_operator().traits().has_bands) {
      const double lost = round_off_of_films(*mesh_, cells_.get(), params.terms.reaction);
      warning_ = both_warnings(warning_, warning_of_films(*solver_, lost));
    }
    at_set_up_ = warning_;
  }

  SolveReport solve(const Problem& given, std::span<const double> f, std::span<double> u) {
    PoissonProblem problem = problem_;
    problem.rhs = OnNodes{given.axes, std::make_shared<const std::vector<double>>(f.begin(), f.end())};
    Field<double> b(ctx_, mesh_->unknowns()), x(ctx_, mesh_->unknowns());
    assemble_load(ctx_, *mesh_, problem, b, cells_.get());
    if (rooms_)
      (void)make_compatible(ctx_, *mesh_, *rooms_, b, project_, problem);
    else if (singular_)
      expect_compatible(make_compatible(ctx_, *mesh_, b), project_, "the integral of f plus the boundary fluxes");
    StoppingParams stop = stop_;
    if (has_boundary_values(problem_)) {
      lift_boundary(ctx_, *mesh_, problem_, x);
      // Values on the boundaries of thin cells make a large right-hand side: nothing to measure a residual by.
      constexpr double rounding = 1e-14;
      if (solver_->fine_operator().backward_error(ctx_, b.cview(), x.cview()) > rounding)
        stop.reference_norm = ReferenceNorm::initial;
    }
    solver_->set_stop(stop);
    SolveReport report = solver_->solve(ctx_, b.cview(), x.view());
    if (singular_) subtract_integral_mean(ctx_, *mesh_, x);
    if (rooms_) subtract_integral_means(ctx_, *mesh_, *rooms_, x);
    const auto nodal = nodal_solution(ctx_, *mesh_, problem_, x);
    std::copy(nodal.begin(), nodal.end(), u.begin());
    fluxes_.clear();
    for (const BodyFlux& body : body_fluxes(ctx_, *mesh_, problem, x, cells_.get())) fluxes_.push_back(body.flux);
    const CornerLeaks leaks = corner_leaks(ctx_, *mesh_, problem_, x, cells_.get());
    warning_ = both_warnings(at_set_up_, leaks.warning());
    return report;
  }
  [[nodiscard]] const std::vector<double>& fluxes() const { return fluxes_; }
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  Context ctx_;
  std::vector<double> fluxes_;  // of bodies
  std::optional<Rooms> rooms_;  // around them
  PoissonProblem problem_{};
  std::optional<TensorMesh<2>> mesh_;
  std::shared_ptr<const CellCoefficients> cells_;
  StoppingParams stop_;
  bool singular_ = false, project_ = false;
  std::string at_set_up_, warning_;  // of bodies and films; of the latest u, too
  std::unique_ptr<PoissonSolver> solver_;
};

/// In a box.
class Box {
 public:
  Box(const Problem& given, const stratum_options& options) : ctx_(backend_of(options), options.threads) {
    PoissonProblem3D problem;
    for (std::size_t face = 0; face < face_names.size(); ++face)
      problem.boundaries.faces[face] = given.condition<BoundaryCondition3D>(face);
    problem.rhs = [](const Point3D& /*p*/) { return 0.0; };
    problem.reaction = given.reaction;
    const auto& axes = *given.axes;
    const TensorMesh<3> mesh(axes[0], axes[1], axes[2]);
    const auto cells = [&](std::size_t d) { return static_cast<std::size_t>(axes[d].size()); };
    if (!given.kappa.empty()) {
      problem.diffusion.xx = on_cells(mesh, {cells(0), cells(1), cells(2)}, given.kappa);
      problem.diffusion.names.fill("problem.kappa");
    }
    problem.bodies = given.bodies_as<Body3D>();
    PoissonSolver3DParams params;
    params.stop = stop_of(options, params.stop);
    project_ = options.project != 0;
    solids_ = std::any_of(given.bodies.begin(), given.bodies.end(), [](const Problem::GivenBody& body) {
      return body.kind == BodyKind::value || body.kind == BodyKind::no_flux;
    });
    if (solids_) {
      const TensorMesh<3> box = with_boundaries(mesh, problem.boundaries);
      problem.on_mesh = bodies_on(ctx_, box, problem);
      warning_ = corner_contacts(box, *problem.on_mesh).warning();
    }
    // Of f = 0, whose boundary data alone need not balance; every solve looks for itself.
    params.project = project_ || !solids_;
    solver_ = std::make_unique<PoissonSolver3D>(ctx_, mesh, problem, params);
  }

  SolveReport solve(const Problem& given, std::span<const double> f, std::span<double> u) {
    if (solids_)
      solver_->set_rhs(OnNodes{given.axes, std::make_shared<const std::vector<double>>(f.begin(), f.end())});
    else
      solver_->set_nodal_rhs(f);
    if (const auto& found = solver_->compatibility(); found && !solids_)
      expect_compatible(*found, project_, "the integral of f plus the boundary fluxes");
    SolveReport report = solver_->solve();
    const auto nodal = solver_->nodal_solution();
    std::copy(nodal.begin(), nodal.end(), u.begin());
    fluxes_.clear();
    for (const BoxBodyFlux& body : solver_->body_fluxes()) fluxes_.push_back(body.flux.value_or(std::nan("")));
    return report;
  }
  [[nodiscard]] const std::vector<double>& fluxes() const { return fluxes_; }
  [[nodiscard]] const std::string& warning() const { return warning_; }

 private:
  Context ctx_;
  bool project_ = false, solids_ = false;
  std::vector<double> fluxes_;  // of bodies
  std::string warning_;         // of them
  std::unique_ptr<PoissonSolver3D> solver_;
};

}  // namespace

struct stratum_poisson {
  std::optional<Problem> problem;
  std::optional<Rectangle> rectangle;
  std::optional<Box> box;
  bool tolerance_given = false;
  stratum_status failure = STRATUM_CONVERGED;  // of making it
  std::string why_not, rejected, error;
  ReentrancyGuard guard;
  std::atomic<bool> turned_away{false};
};

extern "C" {

stratum_poisson* stratum_poisson_create(const stratum_poisson_problem* problem, const stratum_options* options) {
  auto made = std::unique_ptr<stratum_poisson>(new (std::nothrow) stratum_poisson);
  if (made == nullptr) return nullptr;
  stratum_poisson* const poisson = made.get();
  poisson->failure = status_of(poisson, [&] {
    expects(problem != nullptr, "the problem is NULL");
    const stratum_options given = options == nullptr ? stratum_options{} : known(*options);
    poisson->tolerance_given = given.rtol != 0 || given.atol != 0;
    poisson->problem.emplace(*problem);
    if (problem->dimensions == 2)
      poisson->rectangle.emplace(*poisson->problem, given);
    else
      poisson->box.emplace(*poisson->problem, given);
    return STRATUM_CONVERGED;
  });
  poisson->why_not = poisson->error;
  return made.release();
}

stratum_status stratum_poisson_solve(stratum_poisson* poisson, const double* f, double* u, stratum_result* result) {
  return guarded(poisson, [&] {
    if (poisson->failure != STRATUM_CONVERGED) {
      poisson->error = poisson->why_not;
      return poisson->failure;
    }
    expects(f != nullptr && u != nullptr, "an array is NULL");
    const std::size_t nodes = poisson->problem->count(1);
    const std::span<const double> rhs(f, nodes);
    const std::span<double> solution(u, nodes);
    return reported(*poisson, result, [&] {
      return poisson->box ? poisson->box->solve(*poisson->problem, rhs, solution)
                          : poisson->rectangle->solve(*poisson->problem, rhs, solution);
    });
  });
}

stratum_status stratum_poisson_body_flux(stratum_poisson* poisson, int body, double* body_flux) {
  return guarded(poisson, [&] {
    if (poisson->failure != STRATUM_CONVERGED) {
      poisson->error = poisson->why_not;
      return poisson->failure;
    }
    expects(body_flux != nullptr, "body_flux is NULL");
    const auto count = poisson->problem->bodies.size();
    expects(body >= 0 && static_cast<std::size_t>(body) < count, "there are ", count,
            " bodies, counted from 0; there is no ", body);
    const auto& fluxes = poisson->box ? poisson->box->fluxes() : poisson->rectangle->fluxes();
    expects(!fluxes.empty(), "fluxes are those of a solution: call stratum_poisson_solve first");
    *body_flux = fluxes[static_cast<std::size_t>(body)];
    return STRATUM_CONVERGED;
  });
}

const char* stratum_poisson_warning(const stratum_poisson* poisson) {
  if (poisson == nullptr || (!poisson->box && !poisson->rectangle)) return "";
  return (poisson->box ? poisson->box->warning() : poisson->rectangle->warning()).c_str();
}

const char* stratum_poisson_last_error(const stratum_poisson* poisson) {
  return last_error(poisson, "there is no solver: stratum_poisson_create was not called, or found no memory");
}

void stratum_poisson_destroy(stratum_poisson* poisson) { delete poisson; }

}  // extern "C"
