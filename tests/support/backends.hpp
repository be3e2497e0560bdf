#pragma once

// Runs tests on every backend in every precision. All data pass through copy_from_host and copy_to_host, so that one test
// body serves CPU and GPU; without a device the CUDA cases skip and say so.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/operators/grid_operator.hpp>

#include "random.hpp"
#include "reference/reference.hpp"

namespace test {

using reference::Values;
using stratum::Backend;
using stratum::Context;
using stratum::Field;
using stratum::FieldView;
using stratum::GridLayout;
using stratum::GridOperator;
using stratum::StorageFormat;

/// Two threads, so that parallel paths are taken on any machine.
inline constexpr int cpu_threads = 2;

[[nodiscard]] inline std::string backend_name(Backend backend) { return backend == Backend::cpu ? "cpu" : "cuda"; }

[[nodiscard]] inline bool available(Backend backend) { return backend == Backend::cpu || stratum::cuda_available(); }

[[nodiscard]] inline const char* not_available() { return "no CUDA device, or a build without the CUDA backend"; }

/// CPU, and the GPU where there is one.
[[nodiscard]] inline std::vector<Backend> available_backends() {
  std::vector<Backend> all{Backend::cpu};
  if (available(Backend::cuda)) all.push_back(Backend::cuda);
  return all;
}

[[nodiscard]] inline Context context_on(Backend backend) {
  return Context(backend, backend == Backend::cpu ? cpu_threads : 0);
}

/// The largest difference of two vectors beside the largest number of the second; NaN where one has a NaN.
[[nodiscard]] inline double relative_difference(const Values& found, const Values& expected) {
  double largest = 0, size = 0;
  for (std::size_t n = 0; n < found.size(); ++n) {
    const double difference = std::abs(found[n] - expected[n]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
    size = std::max(size, std::abs(expected[n]));
  }
  return largest / size;
}

/// A fixture with a Context, once `begin` has said on which backend.
template <class Fixture>
class WithContext : public Fixture {
 protected:
  void begin(Backend backend) {
    if (!available(backend)) GTEST_SKIP() << not_available();
    context_.emplace(backend, backend == Backend::cpu ? cpu_threads : 0);
  }
  [[nodiscard]] Context& ctx() { return *context_; }

 private:
  std::optional<Context> context_;
};

/// In the precision T, on the backend that TEST_ON_EVERY_SETTING gives.
template <class T>
class OnEverySetting : public WithContext<testing::Test> {
 public:
  void set_backend(Backend backend) { backend_ = backend; }

 protected:
  [[nodiscard]] Backend backend() const { return backend_; }
  void SetUp() override { begin(backend_); }

 private:
  Backend backend_ = Backend::cpu;
};

/// Suite/CpuDouble.Name, Suite/CpuFloat.Name, Suite/CudaDouble.Name and Suite/CudaFloat.Name: the body is compiled for two
/// precisions, and the backend is a value.
template <template <class> class Suite, template <class> class Case>
bool register_on_every_setting(const std::string& suite, const char* name, const char* file, int line) {
  const auto add = [&]<class T>(const char* setting, Backend backend, T) {
    testing::RegisterTest((suite + "/" + setting).c_str(), name, nullptr, nullptr, file, line,
                          [backend]() -> Suite<T>* {
                            auto made = std::make_unique<Case<T>>();
                            made->set_backend(backend);
                            return made.release();
                          });
  };
  add("CpuDouble", Backend::cpu, double{});
  add("CpuFloat", Backend::cpu, float{});
  add("CudaDouble", Backend::cuda, double{});
  add("CudaFloat", Backend::cuda, float{});
  return true;
}

/// For a Suite<T> that derives from OnEverySetting<T>; the body knows T.
#define TEST_ON_EVERY_SETTING(Suite, Name)                                                              \
  template <class T>                                                                                    \
  class Suite##_##Name##_Test : public Suite<T> {                                                       \
    void TestBody() override;                                                                           \
  };                                                                                                    \
  [[maybe_unused]] const bool Suite##_##Name##_registered =                                             \
      test::register_on_every_setting<Suite, Suite##_##Name##_Test>(#Suite, #Name, __FILE__, __LINE__); \
  template <class T>                                                                                    \
  void Suite##_##Name##_Test<T>::TestBody()

/// On the backend of the parameter, for tests in double only.
class OnEveryBackend : public WithContext<testing::TestWithParam<Backend>> {
 protected:
  void SetUp() override { begin(GetParam()); }
};

#define INSTANTIATE_ON_EVERY_BACKEND(Suite)                                                         \
  INSTANTIATE_TEST_SUITE_P(, Suite, testing::Values(stratum::Backend::cpu, stratum::Backend::cuda), \
                           [](const auto& c) { return test::backend_name(c.param); })

/// What rounding may do to a result of a few hundred operations on badly scaled numbers.
template <class T>
inline constexpr double tolerance = std::is_same_v<T, float> ? 2e-4 : 1e-12;

template <class T>
[[nodiscard]] Field<T> to_device(Context& ctx, const GridLayout<2>& shape, const Values& host) {
  Field<T> v(ctx, shape);
  const std::vector<T> narrowed(host.begin(), host.end());
  stratum::copy_from_host(ctx, narrowed.data(), v.view());
  return v;
}

template <class T>
[[nodiscard]] Field<T> random_vector(Context& ctx, Random& random, const GridLayout<2>& shape) {
  return to_device<T>(ctx, shape, random.values(static_cast<std::size_t>(shape.nodes())));
}

template <class T>
[[nodiscard]] Values to_host(Context& ctx, const Field<T>& v) {
  std::vector<T> host(static_cast<std::size_t>(v.shape().nodes()));
  stratum::copy_to_host(ctx, v.cview(), host.data());
  return {host.begin(), host.end()};
}

/// Everything that belongs to the rows of a vector, halo and padding included: pitch numbers in each row.
template <class T>
[[nodiscard]] std::vector<T> to_host_with_halo(Context& ctx, const Field<T>& v) {
  const FieldView<const T> inner = v.cview();
  FieldView<const T> all = inner;
  all.data = inner.data - inner.pitch * v.shape().halo_rows() - 1;
  all.nx = static_cast<int>(inner.pitch);
  all.ny = inner.ny + 2 * v.shape().halo_rows();
  std::vector<T> host(static_cast<std::size_t>(all.nodes()));
  stratum::copy_to_host(ctx, all, host.data());
  return host;
}

/// Halo and padding hold zeros, bit for bit.
template <class T>
[[nodiscard]] testing::AssertionResult halo_is_zero(Context& ctx, const Field<T>& v) {
  const auto all = to_host_with_halo(ctx, v);
  const auto view = v.cview();
  const int beside = v.shape().halo_rows();
  for (int j = -beside; j < view.ny + beside; ++j)
    for (int i = -1; i < static_cast<int>(view.pitch) - 1; ++i) {
      if (i >= 0 && i < view.nx && j >= 0 && j < view.ny) continue;
      const T value = all[static_cast<std::size_t>((j + beside) * view.pitch + i + 1)];
      if (value != 0 || std::signbit(value))
        return testing::AssertionFailure() << "halo at (" << i << ", " << j << ") of a " << view.nx << " x " << view.ny
                                           << " vector holds " << value;
    }
  return testing::AssertionSuccess();
}

[[nodiscard]] inline GridLayout<2> unknowns(int nx, int ny, bool periodic_x = false, bool periodic_y = false) {
  return {nx, ny, periodic_x ? 0 : 1, periodic_y ? 0 : 1, periodic_x, periodic_y};
}
[[nodiscard]] inline GridLayout<2> unknowns(const reference::Stencil& a) {
  return unknowns(a.nx, a.ny, a.periodic_x, a.periodic_y);
}

template <class T>
[[nodiscard]] GridOperator<T> nine_band_operator(Context& ctx, const reference::Stencil& a) {
  stratum::NineBandMatrix<T> m(ctx, unknowns(a));
  for (std::size_t k = 0; k < 9; ++k) {
    m.band[k] = to_device<T>(ctx, unknowns(a), a.band[k]);
    exchange(ctx, m.band[k]);
  }
  return m;
}

/// Of a symmetric stencil: its bands 4 (centre) to 8.
template <class T>
[[nodiscard]] GridOperator<T> symmetric_operator(Context& ctx, const reference::Stencil& a) {
  stratum::SymmetricNineBand<T> m(ctx, unknowns(a));
  for (std::size_t k = 0; k < 5; ++k) {
    m.band[k] = to_device<T>(ctx, unknowns(a), a.band[k + 4]);
    exchange(ctx, m.band[k]);
  }
  return m;
}

template <class T>
[[nodiscard]] GridOperator<T> tensor_operator(Context& ctx, const Values& kx, const Values& mx, const Values& ky,
                                              const Values& my, double c = 0, bool periodic_x = false,
                                              bool periodic_y = false) {
  const int nx = static_cast<int>(kx.size()) - 1, ny = static_cast<int>(ky.size()) - 1;
  stratum::TensorOperator<T> a(ctx, unknowns(nx, ny, periodic_x, periodic_y), c != 0);
  const auto put = [&](Field<T>& to, const Values& from) { to = to_device<T>(ctx, to.shape(), from); };
  const auto fold = [&](Values k, const Values& m, Field<T>& to_k, Field<T>& to_e) {
    Values e(m.size() - 1);
    for (std::size_t i = 0; i < k.size(); ++i) k[i] -= c * m[i];
    for (std::size_t i = 0; i < e.size(); ++i) e[i] = 3 * c * (m[i] + m[i + 1]);
    put(to_k, k);
    put(to_e, e);
  };
  put(a.kx, kx);
  put(a.mx, mx);
  put(a.ky, ky);
  put(a.my, my);
  if (c == 0) return a;
  put(a.column_ky, ky);
  fold(kx, mx, a.column_kx, a.column_e);
  fold(ky, my, a.ky, a.e);
  return a;
}

inline constexpr auto every_storage_format = stratum::storage_formats;

/// Entry by entry, ghosts left out: applies A to ones at every third node, so that no two entries of a row meet.
[[nodiscard]] inline reference::Stencil entries(Context& ctx, const GridOperator<double>& a) {
  const GridLayout<2> shape = a.shape();
  reference::Stencil found(shape.nx, shape.ny);
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      Values probe(found.size(), 0.0);
      for (int j = sy; j < shape.ny; j += 3)
        for (int i = sx; i < shape.nx; i += 3) probe[found.index(i, j)] = 1;
      const auto x = to_device<double>(ctx, shape, probe);
      Field<double> y(ctx, shape);
      a.apply(ctx, x.cview(), y.view());
      const Values image = to_host(ctx, y);
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (found.inside(i + dx, j + dy) && (i + dx) % 3 == sx && (j + dy) % 3 == sy)
                found.at(dx, dy, i, j) = image[found.index(i, j)];
    }
  return found;
}

/// The largest difference of two matrices' entries, each beside the diagonal entry of its row.
[[nodiscard]] inline double largest_difference(const reference::Stencil& found, const reference::Stencil& expected) {
  double largest = 0;
  for (std::size_t k = 0; k < found.size(); ++k)
    for (std::size_t band = 0; band < 9; ++band) {
      const double difference = std::abs(found.band[band][k] - expected.band[band][k]) / expected.band[4][k];
      if (std::isnan(difference)) return difference;
      largest = std::max(largest, difference);
    }
  return largest;
}

/// Widths and a random coefficient per interval: positive definite, and no Laplacian.
struct RandomFactors {
  Values kx, mx, ky, my;
  RandomFactors(Random& random, int nx, int ny) {
    const auto count_x = static_cast<std::size_t>(nx) + 1, count_y = static_cast<std::size_t>(ny) + 1;
    const Values hx = random.widths(nx + 1), hy = random.widths(ny + 1);
    kx = random.values(count_x, 1, 2), mx = random.values(count_x, 1, 2);
    ky = random.values(count_y, 1, 2), my = random.values(count_y, 1, 2);
    for (std::size_t i = 0; i < count_x; ++i) {
      kx[i] /= hx[i];
      mx[i] *= hx[i] / 6;
    }
    for (std::size_t j = 0; j < count_y; ++j) {
      ky[j] /= hy[j];
      my[j] *= hy[j] / 6;
    }
  }
};

/// Widths and random coefficients of cells: a symmetric tensor and a reaction, or one number each.
struct RandomCells {
  Values hx, hy;
  stratum::CellCoefficients k;
  RandomCells(Random& random, int nx, int ny, bool scalar)
      : hx(random.widths(nx)), hy(random.widths(ny)) {  // nx x ny cells
    k.nx = nx;
    k.ny = ny;
    const auto cells = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
    k.xx = random.values(cells, 1, 3);
    if (scalar) return;
    k.xy = random.values(cells, -0.9, 0.9);
    k.yy = random.values(cells, 1, 3);
    k.c = random.values(cells, 0, 9);
  }
  template <class T>
  [[nodiscard]] GridOperator<T> assembled(Context& ctx, bool periodic_x = false, bool periodic_y = false) const {
    const auto line = [](const Values& h, bool periodic) {
      const auto end = periodic ? stratum::BoundaryType::periodic : stratum::BoundaryType::dirichlet;
      return stratum::Axis(h).with_boundaries(end, end);
    };
    GridOperator<double> a =
        stratum::assemble_diffusion(ctx, stratum::TensorMesh<2>{line(hx, periodic_x), line(hy, periodic_y)}, k);
    if constexpr (std::is_same_v<T, double>)
      return a;
    else
      return stratum::convert<T>(ctx, a);
  }
};

/// A random operator of each form and its oracle: random coefficients for the bands, random 1-D factors for the tensor.
template <class T>
struct RandomOperator {
  reference::Stencil oracle;
  GridOperator<T> a;
};

/// `scalar`: the kind of operator that stores least, a tensor operator without reaction or cells with one number each.
template <class T>
[[nodiscard]] RandomOperator<T> random_operator(Context& ctx, Random& random, int nx, int ny, StorageFormat format,
                                                bool periodic_x = false, bool periodic_y = false, bool scalar = false) {
  if (format == StorageFormat::tensor) {
    const double c = scalar ? 0 : 5;  // of a reaction term
    auto [kx, mx, ky, my] = RandomFactors(random, nx, ny);
    if (periodic_x) kx.back() = kx.front(), mx.back() = mx.front();
    if (periodic_y) ky.back() = ky.front(), my.back() = my.front();
    return {reference::kronecker(kx, mx, ky, my, c, periodic_x, periodic_y),
            tensor_operator<T>(ctx, kx, mx, ky, my, c, periodic_x, periodic_y)};
  }
  if (format == StorageFormat::cell) {
    const RandomCells cells(random, periodic_x ? nx : nx + 1, periodic_y ? ny : ny + 1, scalar);
    const auto terms = [&k = cells.k](int i, int j) {
      return reference::CellTerms{k.kxx(i, j), k.kxy(i, j), k.kyy(i, j), k.reaction(i, j)};
    };
    return {reference::diffusion(cells.hx, cells.hy, terms, periodic_x, periodic_y),
            cells.assembled<T>(ctx, periodic_x, periodic_y)};
  }
  const bool symmetric = format == StorageFormat::symmetric;
  reference::Stencil oracle = random.stencil(nx, ny, symmetric, periodic_x, periodic_y);
  GridOperator<T> a = symmetric ? symmetric_operator<T>(ctx, oracle) : nine_band_operator<T>(ctx, oracle);
  return {std::move(oracle), std::move(a)};
}

}  // namespace test
