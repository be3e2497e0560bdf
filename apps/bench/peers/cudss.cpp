#include "cudss.hpp"

#include <stratum/core/errors.hpp>

#ifdef STRATUM_HAVE_CUDSS
#include <cudss.h>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#endif

namespace stratum::apps {

#ifdef STRATUM_HAVE_CUDSS

namespace {

void check(cudssStatus_t status, const char* what) {
  if (status != CUDSS_STATUS_SUCCESS)
    throw ResourceError(message("cuDSS, ", what, ": error ", static_cast<int>(status)));
}

int number(libraryPropertyType which) {
  int value = 0;
  check(cudssGetProperty(which, &value), "version");
  return value;
}

/// On the diagonal and right of it.
SparseRows upper_triangle(const SparseRows& a) {
  SparseRows upper;
  upper.rows = upper.columns = a.rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    for (auto k = static_cast<std::size_t>(a.start[i]); k < static_cast<std::size_t>(a.start[i + 1]); ++k) {
      if (a.column[k] < static_cast<int>(i)) continue;
      upper.column.push_back(a.column[k]);
      upper.value.push_back(a.value[k]);
    }
    upper.start.push_back(static_cast<int>(upper.column.size()));
  }
  return upper;
}

}  // namespace

/// Everything of cuDSS's, released in the opposite order.
struct Cudss::State {
  Stopwatch now;
  GridLayout<2> shape;
  Field<int> start, column;
  Field<double> value, b, x;  // b and x flat: rows of a grid lie apart
  cudssHandle_t handle = nullptr;
  cudssConfig_t config = nullptr;
  cudssData_t data = nullptr;
  cudssMatrix_t matrix = nullptr, right = nullptr, left = nullptr;
  double analysis = 0, factorisation = 0;

  State(Context& ctx, const TensorMesh<2>& mesh, Stopwatch stopwatch) : now(stopwatch), shape(mesh.unknowns()) {
    Context host(Backend::cpu, ctx.threads());
    const SparseRows rows =
        upper_triangle(sparse_rows(host, assemble_laplace<double>(host, mesh, StorageFormat::symmetric)));
    start = vector_from_host(ctx, rows.start);
    column = vector_from_host(ctx, rows.column);
    value = vector_from_host(ctx, rows.value);
    b = Field<double>(ctx, rows.rows);
    x = Field<double>(ctx, rows.rows);
    check(cudssCreate(&handle), "handle");
    check(cudssSetStream(handle, static_cast<cudaStream_t>(ctx.stream())), "stream");
    check(cudssConfigCreate(&config), "configuration");
    check(cudssDataCreate(handle, &data), "data");
    check(cudssMatrixCreateCsr(&matrix, rows.rows, rows.rows, rows.entries(), start.view().data, nullptr,
                               column.view().data, value.view().data, CUDA_R_32I, CUDA_R_64F, CUDSS_MTYPE_SPD,
                               CUDSS_MVIEW_UPPER, CUDSS_BASE_ZERO),
          "matrix");
    const auto vector = [&rows](cudssMatrix_t& of, Field<double>& numbers) {
      check(cudssMatrixCreateDn(&of, rows.rows, 1, rows.rows, numbers.view().data, CUDA_R_64F, CUDSS_LAYOUT_COL_MAJOR),
            "vector");
    };
    vector(right, b);
    vector(left, x);
    analysis = timed(ctx, CUDSS_PHASE_ANALYSIS, "analysis");
    factorisation = timed(ctx, CUDSS_PHASE_FACTORIZATION, "factorisation");
  }
  ~State() {
    for (const cudssMatrix_t of : {matrix, right, left})
      if (of != nullptr) (void)cudssMatrixDestroy(of);
    if (data != nullptr) (void)cudssDataDestroy(handle, data);
    if (config != nullptr) (void)cudssConfigDestroy(config);
    if (handle != nullptr) (void)cudssDestroy(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  double timed(const Context& ctx, int phase, const char* what) const {
    ctx.synchronise();
    const double begin = now();
    check(cudssExecute(handle, phase, config, data, matrix, left, right), what);
    ctx.synchronise();
    return now() - begin;
  }
};

bool Cudss::available() { return true; }
std::string Cudss::version() {
  return message("cuDSS ", number(MAJOR_VERSION), ".", number(MINOR_VERSION), ".", number(PATCH_LEVEL));
}

Cudss::Cudss(Context& ctx, const TensorMesh<2>& mesh, Stopwatch now)
    : state_(std::make_shared<State>(ctx, mesh, now)) {}

SolveReport Cudss::solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                         double rtol) const {
  const auto as_grid = [this](FieldView<double> flat) {
    flat.nx = state_->shape.nx;
    flat.ny = state_->shape.ny;
    flat.pitch = flat.nx;
    return flat;
  };
  copy<double, double>(ctx, b, as_grid(state_->b.view()));
  const double seconds = state_->timed(ctx, CUDSS_PHASE_SOLVE, "solve");
  copy<double, double>(ctx, as_grid(state_->x.view()), x);
  SolveReport report = direct_report(ctx, a, b, x, rtol);
  report.setup_seconds = state_->analysis + state_->factorisation;
  report.solve_seconds = seconds;
  report.choice = message("analysis ", state_->analysis, " s, factorisation ", 1e3 * state_->factorisation, " ms");
  return report;
}

#else

struct Cudss::State {};

bool Cudss::available() { return false; }
std::string Cudss::version() { return "none"; }

Cudss::Cudss(Context& /*ctx*/, const TensorMesh<2>& /*mesh*/, Stopwatch /*now*/) {
  throw ResourceError("this program was built without cuDSS (pip: nvidia-cudss-cu13)");
}

SolveReport Cudss::solve(Context& /*ctx*/, const GridOperator<double>& /*a*/, FieldView<const double> /*b*/,
                         FieldView<double> /*x*/, double /*rtol*/) const {
  return {};
}

#endif

}  // namespace stratum::apps
