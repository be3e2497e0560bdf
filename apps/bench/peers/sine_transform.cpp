#include "sine_transform.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

#if defined(STRATUM_HAVE_FFTW)
#include <fftw3.h>
#endif

namespace stratum::apps {

bool SineTransforms::solves(const TensorMesh<2>& mesh) {
  const auto uniform = [](const Axis& line) {
    const auto [least, most] = std::minmax_element(line.widths().begin(), line.widths().end());
    return line.first_boundary() == BoundaryType::dirichlet && line.last_boundary() == BoundaryType::dirichlet &&
           *most - *least <= 1e-12 * *most;
  };
  return uniform(mesh.x()) && uniform(mesh.y());
}

SineEigenvalues::SineEigenvalues(const TensorMesh<2>& mesh) {
  expects(SineTransforms::solves(mesh), "sine transforms solve on uniform meshes between Dirichlet boundaries");
  const auto factors = [](int n, double h, std::vector<double>& k, std::vector<double>& m) {
    for (int i = 1; i <= n; ++i) {
      const double half = std::sin(std::numbers::pi * i / (2 * (n + 1.0)));  // 2 - 2 cos t without cancellation
      k.push_back(4 * half * half / h);
      m.push_back(h * (6 - 4 * half * half) / 6);
    }
  };
  const GridLayout<2> shape = mesh.unknowns();
  factors(shape.nx, mesh.x().widths()[0], kx, mx);
  factors(shape.ny, mesh.y().widths()[0], ky, my);
}

SolveReport direct_report(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                          FieldView<const double> x, double rtol) {
  SolveReport report;
  Field<double> r(ctx, a.shape());
  a.residual(ctx, b, x, r.view());
  report.initial_residual = report.reference_norm_value = norm2(ctx, b);
  report.residual = norm2(ctx, r.cview());
  report.status = report.residual <= rtol * report.reference_norm_value ? Status::converged : Status::round_off_limit;
  report.reason = "a direct solver";
  return report;
}

#if defined(STRATUM_HAVE_FFTW)

bool SineTransforms::available() { return true; }
std::string SineTransforms::version() { return fftw_version; }

SineTransforms::SineTransforms(const TensorMesh<2>& mesh, Stopwatch now)
    : now_(now), shape_(mesh.unknowns()), eigenvalues_(mesh) {
  const double begin = now_();
  values_.reset(fftw_alloc_real(static_cast<std::size_t>(shape_.nodes())), fftw_free);
  plan_.reset(
      fftw_plan_r2r_2d(shape_.ny, shape_.nx, values_.get(), values_.get(), FFTW_RODFT00, FFTW_RODFT00, FFTW_MEASURE),
      [](void* plan) { fftw_destroy_plan(static_cast<fftw_plan>(plan)); });
  setup_seconds_ = now_() - begin;
}

SolveReport SineTransforms::solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                                  FieldView<double> x, double rtol) const {
  const double begin = now_();
  copy_to_host(ctx, b, values_.get());
  const auto transform = [this] { fftw_execute(static_cast<fftw_plan>(plan_.get())); };
  transform();
  const double scale = 1 / (4.0 * (shape_.nx + 1) * (shape_.ny + 1));
  double* value = values_.get();
  const auto& [kx, mx, ky, my] = eigenvalues_;
  for (std::size_t j = 0; j < ky.size(); ++j)
    for (std::size_t i = 0; i < kx.size(); ++i) *value++ *= scale / (kx[i] * my[j] + mx[i] * ky[j]);
  transform();
  copy_from_host(ctx, values_.get(), x);
  const double seconds = now_() - begin;
  SolveReport report = direct_report(ctx, a, b, x, rtol);
  report.setup_seconds = setup_seconds_;
  report.solve_seconds = seconds;
  return report;
}

#else

bool SineTransforms::available() { return false; }
std::string SineTransforms::version() { return ""; }
SineTransforms::SineTransforms(const TensorMesh<2>& mesh, Stopwatch now) : now_(now), eigenvalues_(mesh) {
  throw ResourceError("this program was built without FFTW (Debian: libfftw3-dev)");
}
SolveReport SineTransforms::solve(Context& /*ctx*/, const GridOperator<double>& /*a*/, FieldView<const double> /*b*/,
                                  FieldView<double> /*x*/, double /*rtol*/) const {
  return {};
}

#endif

}  // namespace stratum::apps
