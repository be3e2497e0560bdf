#include "sine_transform.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <type_traits>

#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>

#include "box_system.hpp"

#if defined(STRATUM_HAVE_FFTW)
#include <fftw3.h>
#endif

namespace stratum::apps {

namespace {

bool is_uniform(const Axis& line) {
  const auto [least, most] = std::minmax_element(line.widths().begin(), line.widths().end());
  return line.first_boundary() == BoundaryType::dirichlet && line.last_boundary() == BoundaryType::dirichlet &&
         *most - *least <= 1e-12 * *most;
}

/// Of an axis of n unknowns between intervals of width h.
void put_eigenvalues(int n, double h, std::vector<double>& k, std::vector<double>& m) {
  for (int i = 1; i <= n; ++i) {
    const double half = std::sin(std::numbers::pi * i / (2 * (n + 1.0)));  // 2 - 2 cos t without cancellation
    k.push_back(4 * half * half / h);
    m.push_back(h * (6 - 4 * half * half) / 6);
  }
}

}  // namespace

bool SineTransforms::solves(const TensorMesh<2>& mesh) { return is_uniform(mesh.x()) && is_uniform(mesh.y()); }

bool sines_solve(const TensorMesh<3>& mesh) {
  return is_uniform(mesh.x()) && is_uniform(mesh.y()) && is_uniform(mesh.z());
}

SineEigenvalues::SineEigenvalues(const TensorMesh<2>& mesh) {
  expects(SineTransforms::solves(mesh), "sine transforms solve on uniform meshes between Dirichlet boundaries");
  const GridLayout<2> shape = mesh.unknowns();
  put_eigenvalues(shape.nx, mesh.x().widths()[0], kx, mx);
  put_eigenvalues(shape.ny, mesh.y().widths()[0], ky, my);
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

SolveReport solve_box_by_sines(const TensorMesh<3>& mesh, double rtol, Stopwatch now) {
  expects(sines_solve(mesh), "sine transforms solve on uniform meshes between Dirichlet faces");
  const BoxSystem system(mesh, {});
  std::array<std::vector<double>, 3> k, m;
  double scale = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    put_eigenvalues(system.n[d], mesh.axis(static_cast<int>(d)).widths()[0], k[d], m[d]);
    scale /= 2.0 * (system.n[d] + 1);
  }
  SolveReport report;
  const double begin = now();
  const std::unique_ptr<double, decltype(&fftw_free)> values(fftw_alloc_real(system.count()), fftw_free);
  const auto plan = std::unique_ptr<std::remove_pointer_t<fftw_plan>, decltype(&fftw_destroy_plan)>(
      fftw_plan_r2r_3d(system.n[2], system.n[1], system.n[0], values.get(), values.get(), FFTW_RODFT00, FFTW_RODFT00,
                       FFTW_RODFT00, FFTW_MEASURE),
      fftw_destroy_plan);
  report.setup_seconds = now() - begin;
  constexpr int runs = 3;
  for (int run = 0; run < runs; ++run) {
    std::copy(system.b.begin(), system.b.end(), values.get());
    const double start = now();
    fftw_execute(plan.get());
    double* value = values.get();
    system.each([&](int i, int j, int l) {
      const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(j), z = static_cast<std::size_t>(l);
      *value++ *= scale / ((k[0][x] * m[1][y] + m[0][x] * k[1][y]) * m[2][z] + m[0][x] * m[1][y] * k[2][z]);
    });
    fftw_execute(plan.get());
    const double seconds = now() - start;
    report.solve_seconds = run == 0 ? seconds : std::min(report.solve_seconds, seconds);
  }
  report.iterations = 1;
  report.initial_residual = report.reference_norm_value = system.residual(std::vector<double>(system.count(), 0.0));
  report.residual = system.residual({values.get(), values.get() + system.count()});
  report.status = report.residual <= rtol * report.reference_norm_value ? Status::converged : Status::round_off_limit;
  return report;
}

#else

SolveReport solve_box_by_sines(const TensorMesh<3>& /*mesh*/, double /*rtol*/, Stopwatch /*now*/) {
  throw ResourceError("this program was built without FFTW (Debian: libfftw3-dev)");
}

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
