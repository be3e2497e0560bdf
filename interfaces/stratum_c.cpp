// The C interface: one hierarchy made from a matrix, its vectors, and the method that solves with it.

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/in_use.hpp>
#include <stratum/multigrid/matrix_cycle.hpp>
#include <stratum/solvers/iterative/refinement.hpp>
#include <stratum/stratum.h>

namespace {

using namespace stratum;

/// With the defaults where there are zeros.
stratum_options filled_in(stratum_options options) {
  const stratum_options defaults = stratum_default_options();
  if (options.smoother == nullptr || *options.smoother == 0) options.smoother = defaults.smoother;
  if (options.steps == 0) options.steps = steps_by_default(options.smoother);
  if (options.rtol == 0) options.rtol = defaults.rtol;
  if (options.max_iterations == 0) options.max_iterations = defaults.max_iterations;
  return options;
}

MultigridParams cycle_params(const stratum_options& options) {
  MultigridParams params;
  params.smoother = options.smoother;
  params.steps = options.steps;
  params.symmetric = options.symmetric != 0;
  return params;
}

TensorMesh mesh_of(int nx, int ny, const std::vector<double>& widths_x, const std::vector<double>& widths_y) {
  const TensorMesh uniform = uniform_mesh({nx, ny});
  return {widths_x.empty() ? uniform.x() : Intervals(widths_x), widths_y.empty() ? uniform.y() : Intervals(widths_y)};
}

/// Everything that exists once there are coefficients.
class MatrixSolver {
 public:
  MatrixSolver(const TensorMesh& mesh, const stratum_options& options, const double* bands)
      : ctx_(options.backend == STRATUM_CUDA ? Backend::cuda : Backend::cpu, options.threads),
        a_(NineBandMatrix<double>(ctx_, mesh.unknowns())), b_(ctx_, mesh.unknowns()), x_(ctx_, mesh.unknowns()) {
    expects(options.backend == STRATUM_CPU || options.backend == STRATUM_CUDA, "backend must be ", int{STRATUM_CPU},
            " (CPU) or ", int{STRATUM_CUDA}, " (CUDA), not ", options.backend);
    stop_.rtol = options.rtol;
    stop_.max_iterations = options.max_iterations;
    stop_.validate();
    copy_bands(bands);
    const MultigridParams params = cycle_params(options);
    cycle_.emplace(ctx_, a_, mesh, params, options.single_precision != 0);
    if (params.symmetric)
      cg_.emplace(ctx_, a_.shape());
    else
      refinement_.emplace(ctx_, a_.shape());
  }

  void update(const double* bands) {
    copy_bands(bands);
    cycle_->update(ctx_, a_);
  }

  void apply(const double* r, double* z) {
    copy_from_host(ctx_, r, b_.view());
    cycle_->apply(ctx_, b_.cview(), x_.view());
    copy_to_host(ctx_, x_.cview(), z);
  }

  SolveReport solve(const double* b, double* x) {
    copy_from_host(ctx_, b, b_.view());
    copy_from_host(ctx_, x, x_.view());
    SolveReport report = cg_ ? cg_->solve(ctx_, a_, &*cycle_, b_.cview(), x_.view(), stop_)
                             : refinement_->solve(ctx_, a_, *cycle_, b_.cview(), x_.view(), stop_);
    copy_to_host(ctx_, x_.cview(), x);
    return report;
  }

 private:
  void copy_bands(const double* bands) {
    for (auto& band : std::get<NineBandMatrix<double>>(a_.storage()).band) {
      copy_from_host(ctx_, bands, band.view());
      bands += band.shape().nodes();
    }
  }

  Context ctx_;
  GridOperator<double> a_;
  Vector<double> b_, x_;
  std::optional<MatrixCycle> cycle_;
  std::optional<ConjugateGradients<double>> cg_;
  std::optional<Refinement<double>> refinement_;
  StoppingParams stop_;
};

}  // namespace

struct stratum_solver {
  int nx, ny;
  stratum_options options;
  std::string smoother;  // what options.smoother points to
  bool rtol_given;
  std::vector<double> widths_x, widths_y;
  std::optional<MatrixSolver> made;  // with the first coefficients
  bool usable = false;               // the latest coefficients were accepted
  std::string error;
  InUse in_use;
  std::atomic<bool> turned_away{false};  // a call that came while another was running
};

namespace {

/// Runs a call's body, which returns a status; turns exceptions into one.
template <class Body>
stratum_status status_of(stratum_solver* solver, const Body& body) {
  try {
    solver->error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    solver->error = "out of memory";
    return STRATUM_RESOURCE;
  } catch (const UsageError& error) {
    solver->error = error.what();
    return STRATUM_USAGE;
  } catch (const BreakdownError& error) {
    solver->error = error.what();
    return STRATUM_FAILED;
  } catch (const std::exception& error) {
    solver->error = error.what();
    return STRATUM_RESOURCE;
  }
}

/// The same, by one thread at a time.
template <class Body>
stratum_status guarded(stratum_solver* solver, const Body& body) {
  if (solver == nullptr) return STRATUM_USAGE;
  try {
    const auto hold = solver->in_use.hold("solver");
    solver->turned_away = false;
    return status_of(solver, body);
  } catch (const UsageError&) {
    solver->turned_away = true;
    return STRATUM_USAGE;
  }
}

MatrixSolver& usable(stratum_solver* solver, bool arrays_given) {
  expects(solver->usable, "no coefficients have been set and accepted; call stratum_set_coefficients first");
  expects(arrays_given, "an array is NULL");
  return *solver->made;
}

}  // namespace

extern "C" {

stratum_options stratum_default_options(void) {
  static const MultigridParams cycle;
  const StoppingParams stop;
  return {STRATUM_CPU, 0,         cycle.smoother.c_str(), steps_by_default(cycle.smoother), 1,
          0,           stop.rtol, stop.max_iterations};
}

stratum_solver* stratum_create(int nx, int ny, const double* widths_x, const double* widths_y,
                               const stratum_options* options) {
  try {
    auto solver = std::make_unique<stratum_solver>();
    solver->nx = nx;
    solver->ny = ny;
    solver->options = options == nullptr ? stratum_default_options() : filled_in(*options);
    solver->rtol_given = options != nullptr && options->rtol != 0;
    solver->smoother = solver->options.smoother;
    solver->options.smoother = solver->smoother.c_str();
    if (nx > 0 && widths_x != nullptr) solver->widths_x.assign(widths_x, widths_x + nx + 1);
    if (ny > 0 && widths_y != nullptr) solver->widths_y.assign(widths_y, widths_y + ny + 1);
    return solver.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

stratum_status stratum_set_coefficients(stratum_solver* solver, const double* bands) {
  return guarded(solver, [&] {
    solver->usable = false;
    expects(bands != nullptr, "an array is NULL");
    const bool widths_given = !solver->widths_x.empty() && !solver->widths_y.empty();
    expects(solver->smoother != "auto" || widths_given,
            "smoother 'auto' chooses by interval widths; give stratum_create those in x and in y, or name a smoother");
    if (solver->made)
      solver->made->update(bands);
    else
      solver->made.emplace(mesh_of(solver->nx, solver->ny, solver->widths_x, solver->widths_y), solver->options, bands);
    solver->usable = true;
    return STRATUM_CONVERGED;
  });
}

stratum_status stratum_apply(stratum_solver* solver, const double* r, double* z) {
  return guarded(solver, [&] {
    usable(solver, r != nullptr && z != nullptr).apply(r, z);
    return STRATUM_CONVERGED;
  });
}

stratum_status stratum_solve(stratum_solver* solver, const double* b, double* x, stratum_result* result) {
  return guarded(solver, [&] {
    const auto begin = std::chrono::steady_clock::now();
    const SolveReport report = usable(solver, b != nullptr && x != nullptr).solve(b, x);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    const auto status = static_cast<stratum_status>(exit_code(report.status, solver->rtol_given));
    if (result != nullptr)
      *result = {report.iterations, report.initial_residual, report.residual, seconds.count(),
                 report.status == Status::rounding};
    if (status != STRATUM_CONVERGED) solver->error = report.reason;
    return status;
  });
}

const char* stratum_last_error(const stratum_solver* solver) {
  if (solver == nullptr) return "there is no solver: stratum_create was not called, or found no memory";
  if (solver->turned_away) return "the solver was in use by another thread; give each thread its own";
  return solver->error.c_str();
}

void stratum_destroy(stratum_solver* solver) { delete solver; }

}  // extern "C"
