// The C interface: a MatrixSolver, the matrix that it is made from, and what went wrong.

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <stratum/core/names.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/multigrid/structured/box_matrix_solver.hpp>
#include <stratum/multigrid/structured/matrix_solver.hpp>
#include <stratum/stratum.h>

#include "c_calls.hpp"

namespace stratum::for_c {

stratum_options known(const stratum_options& given) {
  constexpr std::size_t version_0_2 = sizeof(stratum_options);
  stratum_options options{};
  const std::size_t size = given.struct_size == 0 ? version_0_2 : given.struct_size;
  expects(size >= version_0_2, "options.struct_size must be sizeof(stratum_options) or 0, not ", size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (std::size_t k = sizeof options; k < size; ++k)
    expects(bytes[k] == 0, "options of a later version are set, which version ", stratum_version(), " does not know");
  std::memcpy(&options, &given, sizeof options);
  return options;
}

Backend backend_of(const stratum_options& options) {
  expects(options.backend == STRATUM_CPU || options.backend == STRATUM_CUDA, "backend must be ", int{STRATUM_CPU},
          " (CPU) or ", int{STRATUM_CUDA}, " (CUDA), not ", options.backend);
  return options.backend == STRATUM_CUDA ? Backend::cuda : Backend::cpu;
}

}  // namespace stratum::for_c

namespace {

using namespace stratum;
using namespace stratum::for_c;

bool is_given(const char* name) { return name != nullptr && *name != 0; }

/// One of a list of values by its name.
template <class Values>
auto by_name(const char* what, std::string_view name, const Values& values) {
  for (const auto value : values)
    if (to_string(value) == name) return value;
  throw UsageError(message("unknown ", what, " '", shown(name), "'; known: ", list_of_names(values)));
}

std::optional<bool> claim(const char* what, int value) {
  expects(value >= -1 && value <= 1, what, " must be 0 (detected), 1 (it is) or -1 (it is not), not ", value);
  return value == 0 ? std::nullopt : std::optional(value == 1);
}

MatrixSolverParams params_of(const stratum_options& options) {
  MatrixSolverParams params;
  auto& solver = params.solver;
  if (is_given(options.smoother)) solver.multigrid.smoother = options.smoother;
  if (options.sweeps != 0) solver.multigrid.sweeps = options.sweeps;
  if (is_given(options.cycle)) solver.multigrid.cycle = by_name("cycle", options.cycle, values_of<Cycle>);
  if (is_given(options.interpolation))
    solver.interpolation = by_name("interpolation", options.interpolation, values_of<InterpolationKind>);
  if (is_given(options.solver)) solver.method = by_name("solver", options.solver, values_of<Method>);
  solver.precision = options.single_precision != 0 ? Precision::mixed : Precision::full;
  if (options.restart != 0) solver.krylov.restart = options.restart;
  auto& stop = solver.stop;
  if (options.rtol != 0 || options.atol != 0) stop.rtol = options.rtol;
  stop.atol = options.atol;
  if (options.max_iterations != 0) stop.max_iterations = options.max_iterations;
  if (options.patience != 0) stop.patience = options.patience;
  expects(options.reference_norm == STRATUM_RHS || options.reference_norm == STRATUM_INITIAL_RESIDUAL,
          "reference_norm must be ", int{STRATUM_RHS}, " (right-hand side) or ", int{STRATUM_INITIAL_RESIDUAL},
          " (initial residual), not ", options.reference_norm);
  stop.reference_norm = options.reference_norm == STRATUM_RHS ? ReferenceNorm::rhs : ReferenceNorm::initial;
  stop.validate();
  params.symmetric = claim("symmetric", options.symmetric);
  params.singular = claim("singular", options.singular);
  params.project = options.project != 0;
  if (is_given(options.triangle)) params.triangle = by_name("triangle", options.triangle, values_of<Triangle>);
  return params;
}

/// Of nodes + 1 widths those that the grid that is left has: the outermost where a Dirichlet boundary is no row of it.
std::vector<double> widths_left(const std::vector<double>& widths, int first_node, int nodes_left, BoundaryType first,
                                BoundaryType last) {
  if (widths.empty()) return {};
  const int begin = first_node + (first == BoundaryType::neumann ? 1 : 0);
  const int end = first_node + nodes_left + (last == BoundaryType::dirichlet ? 1 : 0);
  return {widths.begin() + begin, widths.begin() + end};
}

/// The same for boxes.
BoxMatrixParams box_params_of(const stratum_options& options, const std::vector<int>& numbering,
                              const std::array<std::vector<double>, 3>& widths) {
  const MatrixSolverParams all = params_of(options);
  const auto name = [](const char* given) { return is_given(given) ? std::string_view(given) : std::string_view(); };
  expects_options_of_boxes(name(options.smoother), options.sweeps == 0 ? std::nullopt : std::optional(options.sweeps),
                           name(options.cycle), name(options.interpolation));
  BoxMatrixParams params;
  params.stop = all.solver.stop;
  params.stop.patience.reset();
  params.float_cycles = options.single_precision != 0;
  // Treated as nonsymmetric, as in two dimensions, where it need not be.
  if (all.symmetric.value_or(false)) params.symmetric = true;
  params.method = all.solver.method;
  if (!all.symmetric.value_or(true) && !params.method) params.method = Method::gmres;
  params.singular = all.singular;
  params.restart = all.solver.krylov.restart;
  params.triangle = all.triangle;
  params.project = all.project;
  params.numbering = numbering;
  params.widths = widths;
  params.widths_beyond_ends = true;
  return params;
}

/// Everything that exists once there is a matrix.
struct Made {
  Made(const stratum_options& options, const std::vector<double>& widths_x, const std::vector<double>& widths_y)
      : ctx(backend_of(options), options.threads), params(params_of(options)), widths_x_(widths_x),
        widths_y_(widths_y) {}

  [[nodiscard]] std::size_t unknowns() const {
    return box ? box->unknowns() : static_cast<std::size_t>(solver->rows().unknowns());
  }
  void apply(std::span<const double> r, std::span<double> z) { box ? box->apply(ctx, r, z) : solver->apply(ctx, r, z); }
  SolveReport solve(std::span<const double> b, std::span<double> x) {
    return box ? box->solve(ctx, b, x) : solver->solve(ctx, b, x);
  }

  void make(GridRows rows) {
    params.widths_x = widths_left(widths_x_, rows.first_i, rows.left_nx, rows.west, rows.east);
    params.widths_y = widths_left(widths_y_, rows.first_j, rows.left_ny, rows.south, rows.north);
    // A preconditioner for others is to be the same map every time: "auto" leaves K-cycles to those who ask for them.
    MatrixSolverParams chosen = params;
    auto& multigrid = chosen.solver.multigrid;
    if (!chosen.solver.method && rows.symmetric && chosen.symmetric.value_or(true))
      chosen.solver.method = multigrid.cycle == Cycle::k ? Method::fcg : Method::cg;
    solver.emplace(ctx, std::move(rows), chosen);
  }

  Context ctx;
  MatrixSolverParams params;
  std::optional<MatrixSolver> solver;
  std::optional<BoxMatrixSolver> box;  // in its place in three dimensions

 private:
  const std::vector<double>&widths_x_, &widths_y_;
};

template <class Index>
struct Pattern {
  std::vector<Index> start, column;
};

}  // namespace

struct stratum_solver {
  int nx = 0, ny = 0, nz = 0;  // nz: of a box, else 0
  stratum_options options{};
  std::string smoother, method, cycle, interpolation, triangle;  // what the options point to
  std::vector<int> numbering;
  bool tolerance_given = false;
  std::vector<double> widths_x, widths_y, widths_z;
  std::variant<std::monostate, Pattern<std::int32_t>, Pattern<std::int64_t>> pattern;  // none: bands
  std::optional<Made> made;  // with the first matrix that was accepted
  bool usable = false;       // the latest was
  stratum_status failure = STRATUM_USAGE;
  std::string why_not = "no coefficients have been set; call stratum_set_coefficients first";
  std::string rejected;  // what is wrong with the options themselves
  std::string error;
  ReentrancyGuard guard;
  std::atomic<bool> turned_away{false};  // a call that came while another was running
};

namespace {

/// Takes a matrix: by `update` where there is one already and it suits, else by `read`, which makes a solver.
template <class Read, class Update>
stratum_status take(stratum_solver* solver, const Read& read, const Update& update) {
  solver->usable = false;
  const auto attempt = [&] {
    if (solver->made && solver->made->solver) {
      try {
        update(*solver->made->solver);
        solver->usable = true;
        return STRATUM_CONVERGED;
      } catch (const UsageError&) {
        // It may be another matrix altogether, and is as good as the first.
      }
    }
    solver->made.emplace(solver->options, solver->widths_x, solver->widths_y);
    read(*solver->made);
    solver->usable = true;
    return STRATUM_CONVERGED;
  };
  const stratum_status status = status_of(solver, attempt);
  if (status == STRATUM_CONVERGED) return status;
  solver->made.reset();
  solver->failure = status;
  solver->why_not = solver->error;
  return status;
}

stratum_status take_bands(stratum_solver* solver, const double* bands, std::size_t count) {
  return guarded(solver, [&] {
    expects(bands != nullptr, "an array is NULL");
    expects(std::holds_alternative<std::monostate>(solver->pattern),
            "the solver was made from rows; stratum_set_values gives it other values");
    const auto n =
        static_cast<std::size_t>(std::max(solver->nx, 0)) * static_cast<std::size_t>(std::max(solver->ny, 0));
    const std::span<const double> numbers(bands, count * n);
    return take(
        solver,
        [&](Made& made) {
          made.make(GridRows(made.ctx, BandArrays{numbers}, solver->nx, solver->ny, {}, made.params.on_subdomains()));
        },
        [&](MatrixSolver& made) { made.update_bands(solver->made->ctx, numbers); });
  });
}

template <class Index>
stratum_status take_values(stratum_solver* solver, const Pattern<Index>& pattern, const double* value) {
  const std::span<const double> values(value, pattern.column.size());
  return take(
      solver,
      [&](Made& made) {
        if (solver->nz > 0) {
          made.box.emplace(made.ctx, rows_of_csr<Index>(pattern.start, pattern.column, values),
                           std::array{solver->nx, solver->ny, solver->nz},
                           box_params_of(solver->options, solver->numbering,
                                         {solver->widths_x, solver->widths_y, solver->widths_z}));
          return;
        }
        made.make(GridRows(made.ctx, RowArrays<Index>{pattern.start, pattern.column, values}, solver->nx, solver->ny,
                           solver->numbering, {}, made.params.on_subdomains()));
      },
      [&](MatrixSolver& made) { made.update_csr(solver->made->ctx, pattern.start, pattern.column, values); });
}

/// What a grid is given by; nz and the widths of z are of a box, else 0 and null.
struct GivenGrid {
  int nx, ny, nz = 0;
  const double *widths_x, *widths_y, *widths_z = nullptr;
};

std::unique_ptr<stratum_solver> new_solver(const GivenGrid& grid, const stratum_options* options) {
  const auto& [nx, ny, nz, widths_x, widths_y, widths_z] = grid;
  auto solver = std::make_unique<stratum_solver>();
  solver->nx = nx;
  solver->ny = ny;
  solver->nz = nz;
  if (nz > 0 && widths_z != nullptr) solver->widths_z.assign(widths_z, widths_z + nz + 1);
  if (nx > 0 && widths_x != nullptr) solver->widths_x.assign(widths_x, widths_x + nx + 1);
  if (ny > 0 && widths_y != nullptr) solver->widths_y.assign(widths_y, widths_y + ny + 1);
  if (options == nullptr) return solver;
  const auto copy = [](const char*& name, std::string& to) {
    if (name != nullptr) to = name;
    name = to.c_str();
  };
  solver->options = known(*options);
  copy(solver->options.smoother, solver->smoother);
  copy(solver->options.solver, solver->method);
  copy(solver->options.cycle, solver->cycle);
  copy(solver->options.interpolation, solver->interpolation);
  copy(solver->options.triangle, solver->triangle);
  solver->tolerance_given = solver->options.rtol != 0 || solver->options.atol != 0;
  return solver;
}

/// With errors kept in it; null for want of memory.
template <class Make>
stratum_solver* created(const Make& make) {
  try {
    return make().release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const std::exception& error) {
    auto* solver = new (std::nothrow) stratum_solver;
    if (solver == nullptr) return nullptr;
    solver->error = solver->rejected = error.what();
    return solver;
  }
}

template <class Index>
stratum_solver* create_csr(Index n, const Index* start, const Index* column, const double* value, const GivenGrid& grid,
                           bool in_box, const stratum_options* options) {
  return created([&] {
    const int nx = grid.nx, ny = grid.ny, nz = in_box ? grid.nz : 1;
    auto solver = new_solver(grid, options);
    solver->pattern.emplace<Pattern<Index>>();
    auto& pattern = std::get<Pattern<Index>>(solver->pattern);
    (void)guarded(solver.get(), [&] {
      const auto check = [&] {
        const bool fits = nx > 0 && ny > 0 && nz > 0 && nx <= n && ny <= n / nx && std::int64_t{nx} * ny * nz == n;
        expects(fits, "a matrix of ", n, " rows does not fit a grid of ", nx, " x ", ny,
                in_box ? message(" x ", nz) : std::string(), " nodes");
        expects(start != nullptr && column != nullptr && value != nullptr, "an array is NULL");
        expects(start[0] == 0, "row starts must go from 0, not from ", start[0],
                "; rows and columns are counted from 0");
        expects(start[n] >= 0, "row starts end at ", start[n]);
        return STRATUM_CONVERGED;
      };
      const stratum_status status = status_of(solver.get(), check);
      if (status != STRATUM_CONVERGED) {
        solver->why_not = solver->error;
        return status;
      }
      const int* const numbering = solver->options.numbering;
      if (numbering != nullptr) solver->numbering.assign(numbering, numbering + n);
      pattern.start.assign(start, start + n + 1);
      pattern.column.assign(column, column + start[n]);
      return take_values(solver.get(), pattern, value);
    });
    return solver;
  });
}

/// The status of what made a solver unusable, or that of the body.
template <class Body>
stratum_status if_usable(stratum_solver* solver, bool arrays_given, const Body& body) {
  return guarded(solver, [&] {
    if (!solver->usable) {
      solver->error = "there is no matrix that was accepted: " + solver->why_not;
      return solver->failure;
    }
    expects(arrays_given, "an array is NULL");
    return body(*solver->made);
  });
}

}  // namespace

extern "C" {

const char* stratum_version(void) { return STRATUM_VERSION; }

stratum_options stratum_default_options(void) {
  static const MatrixSolverParams params;
  stratum_options options{};
  options.struct_size = sizeof options;
  options.backend = STRATUM_CPU;
  options.smoother = params.solver.multigrid.smoother.c_str();
  options.max_iterations = params.solver.stop.max_iterations;
  options.restart = params.solver.krylov.restart;
  return options;
}

stratum_solver* stratum_create(int nx, int ny, const double* widths_x, const double* widths_y,
                               const stratum_options* options) {
  return created([&] { return new_solver({nx, ny, 0, widths_x, widths_y}, options); });
}

stratum_solver* stratum_create_csr(int n, const int* start, const int* column, const double* value, int nx, int ny,
                                   const double* widths_x, const double* widths_y, const stratum_options* options) {
  return create_csr<std::int32_t>(n, start, column, value, {nx, ny, 0, widths_x, widths_y}, false, options);
}

stratum_solver* stratum_create_csr64(int64_t n, const int64_t* start, const int64_t* column, const double* value,
                                     int nx, int ny, const double* widths_x, const double* widths_y,
                                     const stratum_options* options) {
  return create_csr<std::int64_t>(n, start, column, value, {nx, ny, 0, widths_x, widths_y}, false, options);
}

stratum_solver* stratum_create_box_csr(int n, const int* start, const int* column, const double* value, int nx, int ny,
                                       int nz, const double* widths_x, const double* widths_y, const double* widths_z,
                                       const stratum_options* options) {
  return create_csr<std::int32_t>(n, start, column, value, {nx, ny, nz, widths_x, widths_y, widths_z}, true, options);
}

stratum_solver* stratum_create_box_csr64(int64_t n, const int64_t* start, const int64_t* column, const double* value,
                                         int nx, int ny, int nz, const double* widths_x, const double* widths_y,
                                         const double* widths_z, const stratum_options* options) {
  return create_csr<std::int64_t>(n, start, column, value, {nx, ny, nz, widths_x, widths_y, widths_z}, true, options);
}

stratum_status stratum_set_coefficients(stratum_solver* solver, const double* bands) {
  return take_bands(solver, bands, 9);
}

stratum_status stratum_set_symmetric_coefficients(stratum_solver* solver, const double* bands) {
  return take_bands(solver, bands, 5);
}

stratum_status stratum_set_values(stratum_solver* solver, const double* value) {
  return guarded(solver, [&] {
    expects(value != nullptr, "an array is NULL");
    if (const auto* narrow = std::get_if<Pattern<std::int32_t>>(&solver->pattern))
      return take_values(solver, *narrow, value);
    const auto* wide = std::get_if<Pattern<std::int64_t>>(&solver->pattern);
    expects(wide != nullptr, "the solver was not made from rows; stratum_set_coefficients gives it bands");
    return take_values(solver, *wide, value);
  });
}

stratum_status stratum_apply(stratum_solver* solver, const double* r, double* z) {
  return if_usable(solver, r != nullptr && z != nullptr, [&](Made& made) {
    const std::size_t n = made.unknowns();
    made.apply(std::span(r, n), std::span(z, n));
    return STRATUM_CONVERGED;
  });
}

stratum_status stratum_solve(stratum_solver* solver, const double* b, double* x, stratum_result* result) {
  return if_usable(solver, b != nullptr && x != nullptr, [&](Made& made) {
    const std::size_t n = made.unknowns();
    return reported(*solver, result, [&] { return made.solve(std::span(b, n), std::span(x, n)); });
  });
}

const char* stratum_last_error(const stratum_solver* solver) {
  return last_error(solver, "there is no solver: stratum_create was not called, or found no memory");
}

void stratum_destroy(stratum_solver* solver) { delete solver; }

}  // extern "C"
