#pragma once

// Steps in time for Python: the same of the solvers on rectangles, in boxes and on patches (multigrid/heat_progress.hpp).

#include <string>
#include <utility>

#include <stratum/multigrid/heat_progress.hpp>

#include "arrays.hpp"

namespace stratum::python {

/// What steps are asked for.
struct GivenSteps {
  std::string method;
  double end = 0;
  int steps = 0, frames = 0;
  double rtol = 0;
  int maxiter = 0;
  bool single_precision = true;
};

template <class Params>
[[nodiscard]] Params heat_params_of(const GivenSteps& asked) {
  Params params;
  params.method = by_name("method", asked.method, values_of<TimeMethod>);
  params.dt = asked.end / asked.steps;
  params.eta = asked.rtol;
  params.solver.stop.max_iterations = asked.maxiter;
  return params;
}

/// Steps from 0 to the end, without the GIL. values(ctx, solver) are numbers of the solution, arrays(numbers) what Python gets of
/// them: (t, arrays) of every frame in `frames`, and callback(t, arrays) after every step unless that is None. Ends where a
/// step is not solved.
template <class Solver, class Values, class Arrays>
[[nodiscard]] HeatReport take_steps(Context& ctx, Solver& solver, const GivenSteps& asked, const nb::object& callback,
                                    nb::list& frames, const Values& values, const Arrays& arrays) {
  HeatReport report;
  for (int n = 1; n <= asked.steps; ++n) {
    report = solver.advance(ctx, n == asked.steps ? asked.end : n * (asked.end / asked.steps));
    with_gil([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    if (report.status != Status::converged) break;
    const bool kept = std::int64_t{n} * asked.frames / asked.steps > (std::int64_t{n} - 1) * asked.frames / asked.steps;
    if (!kept && callback.is_none()) continue;
    auto u = values(ctx, solver);
    with_gil([&] {
      if (!callback.is_none()) callback(solver.time(), arrays(u));
      if (kept) frames.append(nb::make_tuple(solver.time(), arrays(std::move(u))));
    });
  }
  return report;
}

}  // namespace stratum::python
