// Steps in time for Python on rectangles, by elements and finite volumes, and in boxes, with bodies: multigrid/heat_solver.hpp,
// heat_solver_volumes.hpp and heat_solver_3d.hpp. An f that changes is asked for once a time: arrays of its values.

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/array.h>

#include <stratum/assembly/corner_contacts.hpp>
#include <stratum/assembly/corner_leaks.hpp>
#include <stratum/assembly/problem_mesh.hpp>
#include <stratum/multigrid/film_warning.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/multigrid/heat_solver_3d.hpp>
#include <stratum/multigrid/heat_solver_volumes.hpp>

#include "problems.hpp"
#include "steps.hpp"

namespace stratum::python {

namespace {

/// f(t) of Python as a function of points: an array a time, which the first thread that asks for it brings. What Python raises is
/// kept, and f is not a number then, which ends the step; threads that share a loop must not throw.
template <class Function>
class InTime {
 public:
  using Make = std::function<Function(const nb::object& array)>;

  InTime(nb::object load, Make make) : load_(std::move(load)), make_(std::move(make)) {}

  template <class Place>
  double operator()(const Place& p) {
    if (at_.load(std::memory_order_acquire) != p.t) bring(p.t);
    return now_ ? now_(p) : std::numeric_limits<double>::quiet_NaN();
  }
  /// Throws what was raised.
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  void bring(double t) {
    const std::lock_guard lock(mutex_);
    if (at_.load(std::memory_order_relaxed) == t) return;
    try {
      if (!raised_) now_ = with_gil([&] { return make_(load_(t)); });
    } catch (...) {
      raised_ = std::current_exception();
      now_ = {};
    }
    at_.store(t, std::memory_order_release);
  }

  nb::object load_;
  Make make_;
  std::mutex mutex_;
  std::atomic<double> at_ = std::numeric_limits<double>::quiet_NaN();  // no time is that of `now_` yet
  Function now_{};                                                     // read by threads that have seen its time
  std::exception_ptr raised_{};
};

/// Values at the 2 x 2 Gauss points of the cells, by which an f that changes is integrated.
ScalarFunction at_gauss_points(const TensorMesh<2>& mesh, const HostArray<double, 2>& array) {
  const int nx = mesh.x().size(), ny = mesh.y().size();
  expects(array.shape(0) == 2 * static_cast<std::size_t>(ny) && array.shape(1) == 2 * static_cast<std::size_t>(nx),
          "f has values at (", 2 * ny, ", ", 2 * nx, ") points; given is shape ", shape_of(array));
  return [nx, ny, values = std::make_shared<const std::vector<double>>(vector_of(array))](const Point& p) {
    const auto half = [](double place, int n) { return std::clamp(static_cast<int>(place * 2 * n), 0, 2 * n - 1); };
    return (*values)[static_cast<std::size_t>(half(p.place_y, ny)) * 2 * static_cast<std::size_t>(nx) +
                     static_cast<std::size_t>(half(p.place_x, nx))];
  };
}

/// Of a solution that has nothing to warn of.
constexpr auto no_warning = [](Context& /*ctx*/, const auto& /*solver*/) { return std::string(); };

/// ((t, u) of the start and each frame, the status and its reason, cycles, what to warn of), by start(ctx, warning), a solver, and
/// warning_of(ctx, solver) at the end.
template <class Start, class Values, class Moving, class WarningOf = decltype(no_warning)>
nb::tuple stepped(const GivenSteps& asked, const nb::object& callback, Context ctx,
                  const std::vector<std::size_t>& shape, const Moving& moving, const Start& start, const Values& values,
                  const WarningOf& warning_of = no_warning) {
  const auto arrays = [&](std::vector<double> u) {
    return shape.size() == 2 ? numpy_array(std::move(u), {shape[0], shape[1]})
                             : numpy_array(std::move(u), {shape[0], shape[1], shape[2]});
  };
  nb::list frames;
  HeatReport report;
  std::string warning;
  try {
    const WithoutGil computing;
    auto solver = start(ctx, warning);
    auto u = values(ctx, solver);
    with_gil([&] { frames.append(nb::make_tuple(solver.time(), arrays(std::move(u)))); });
    report = take_steps(ctx, solver, asked, callback, frames, values, arrays);
    if (exit_code(report.status) != 3) warning = both_warnings(warning, warning_of(ctx, solver));
  } catch (const std::exception&) {
    if (moving) moving->rethrow();
    throw;
  }
  if (moving) moving->rethrow();
  return nb::make_tuple(frames, std::string(to_string(report.status)), report.reason, report.cycles, warning);
}

Context context_of(const nb::dict& options) {
  return make_context(option<std::string>(options, "device"), option<int>(options, "threads"),
                      nb::cast<std::optional<std::uintptr_t>>(options["stream"]));
}

nb::tuple step_on_rectangle(const TensorMesh<2>& mesh, HeatProblem problem, const nb::object& initial,
                            const nb::object& f, const GivenSteps& asked, const nb::dict& options,
                            const nb::object& callback) {
  const bool by_volumes = is_of_volumes(options);
  HeatParams params = heat_params_of<HeatParams>(asked);
  const StoppingParams stop = params.solver.stop;
  params.solver = solver_params_of(options);
  params.solver.stop = stop;
  expects(!params.solver.full_multigrid, "cycle='fmg' is for one solve; steps in time take 'v', 'w', 'f', 'w2' or 'k'");
  const auto function = [&mesh](const nb::object& given) -> ScalarFunction {
    if (double number = 0; nb::try_cast(given, number)) return [number](const Point& /*p*/) { return number; };
    return function_on_mesh(mesh, nb::cast<HostArray<double, 2>>(given));
  };
  problem.initial = function(initial);
  problem.steady_coefficients = problem.steady_bodies = true;
  problem.steady_rhs = PyCallable_Check(f.ptr()) == 0;
  std::shared_ptr<InTime<ScalarFunction>> moving;
  if (problem.steady_rhs) {
    problem.space.rhs = function(f);
  } else {
    moving = std::make_shared<InTime<ScalarFunction>>(
        f, [&mesh](const nb::object& array) { return at_gauss_points(mesh, nb::cast<HostArray<double, 2>>(array)); });
    problem.space.rhs = [moving](const Point& p) { return (*moving)(p); };
  }
  const std::size_t more = by_volumes ? 0 : 1;
  const std::vector<std::size_t> shape{static_cast<std::size_t>(mesh.y().size()) + more,
                                       static_cast<std::size_t>(mesh.x().size()) + more};
  if (by_volumes)
    return stepped(
        asked, callback, context_of(options), shape, moving,
        [&](Context& ctx, std::string& warning) {
          VolumeHeatSolver solver(ctx, mesh, problem, params);
          warning = warning_of_films(solver.solver(), solver.volumes().round_off_of_films());
          return solver;
        },
        [](Context& ctx, const VolumeHeatSolver& solver) { return solver.cell_values(ctx); });
  return stepped(
      asked, callback, context_of(options), shape, moving,
      [&](Context& ctx, std::string& warning) {
        const ProblemMesh cells(with_boundaries(mesh, problem.space.boundaries));
        if (const auto map = bodies_on(ctx, cells, problem.space)) warning = corner_contacts(cells, *map).warning();
        HeatSolver solver(ctx, cells, problem, params);
        warning = both_warnings(warning, warning_of_films(solver.solver(), solver.round_off_of_films()));
        return solver;
      },
      [](Context& ctx, const HeatSolver& solver) { return solver.nodal_solution(ctx); },
      [&](Context& ctx, const HeatSolver& solver) {
        const auto cells = cell_coefficients(ctx, solver.geometry(), problem.space);
        return corner_leaks(ctx, solver.geometry(), problem.space, {solver.solution(), solver.unknowns()},
                            cells ? &*cells : nullptr)
            .warning();
      });
}

nb::tuple step_in_box(const SharedBox& mesh, HeatProblem3D problem, const nb::object& initial, const nb::object& f,
                      const GivenSteps& asked, const std::string& device, int threads, const nb::object& callback) {
  problem.initial = function_on_box(*mesh, initial);
  problem.steady_faces = problem.steady_bodies = true;
  problem.steady_rhs = PyCallable_Check(f.ptr()) == 0;
  std::shared_ptr<InTime<ScalarFunction3D>> moving;
  if (problem.steady_rhs) {
    problem.space.rhs = function_on_box(*mesh, f);
  } else {
    moving = std::make_shared<InTime<ScalarFunction3D>>(
        f, [&mesh](const nb::object& array) { return function_on_box(*mesh, array); });
    problem.space.rhs = [moving](const Point3D& p) { return (*moving)(p); };
  }
  std::vector<std::size_t> shape;
  for (int d = 3; d-- > 0;) shape.push_back(static_cast<std::size_t>(mesh->axis(d).size()) + 1);
  const auto params = heat_params_of<HeatParams3D>(asked);
  return stepped(
      asked, callback, make_context(device, threads), shape, moving,
      [&](Context& ctx, std::string& warning) {
        const TensorMesh<3> box = with_boundaries(*mesh, problem.space.boundaries);
        const auto map = bodies_on(ctx, box, problem.space);
        if (map && map->has_solids()) warning = corner_contacts(box, *map).warning();
        return HeatSolver3D(ctx, *mesh, problem, params);
      },
      [](Context& ctx, const HeatSolver3D& solver) { return solver.nodal_solution(ctx); });
}

}  // namespace

void add_heat(nb::module_& m) {
  m.def(
      "step_on_rectangle",
      [](const TensorMesh<2>& mesh, const nb::tuple& boundaries, const nb::tuple& kappa, const nb::object& reaction,
         const nb::dict& options, const nb::object& initial, const nb::object& f, const std::string& method, double end,
         int steps, int frames, double rtol, int maxiter, const nb::object& callback) {
        HeatProblem problem;
        problem.space = problem_of(mesh, nb::cast<std::array<nb::tuple, 4>>(boundaries),
                                   nb::cast<std::array<nb::object, 3>>(kappa), reaction, options);
        return step_on_rectangle(mesh, std::move(problem), initial, f, {method, end, steps, frames, rtol, maxiter},
                                 options, callback);
      },
      nb::arg("mesh"), nb::arg("boundaries"), nb::arg("kappa"), nb::arg("reaction"), nb::arg("options"),
      nb::arg("initial"), nb::arg("f"), nb::arg("method"), nb::arg("end"), nb::arg("steps"), nb::arg("frames"),
      nb::arg("rtol"), nb::arg("maxiter"), nb::arg("callback").none());
  m.def(
      "step_in_box",
      [](const TensorMesh<3>& mesh, const nb::tuple& faces, const nb::tuple& kappa, double reaction,
         const nb::list& bodies, const nb::object& initial, const nb::object& f, const std::string& method, double end,
         int steps, int frames, double rtol, int maxiter, const std::string& device, int threads,
         const nb::object& callback) {
        const auto shared = std::make_shared<const TensorMesh<3>>(mesh);
        HeatProblem3D problem;
        problem.space = problem_of(shared, nb::cast<std::array<nb::tuple, 6>>(faces),
                                   nb::cast<std::array<nb::object, 3>>(kappa), reaction, bodies);
        return step_in_box(shared, std::move(problem), initial, f, {method, end, steps, frames, rtol, maxiter}, device,
                           threads, callback);
      },
      nb::arg("mesh"), nb::arg("faces"), nb::arg("kappa"), nb::arg("reaction"), nb::arg("bodies"), nb::arg("initial"),
      nb::arg("f"), nb::arg("method"), nb::arg("end"), nb::arg("steps"), nb::arg("frames"), nb::arg("rtol"),
      nb::arg("maxiter"), nb::arg("device"), nb::arg("threads"), nb::arg("callback").none());
}

}  // namespace stratum::python
