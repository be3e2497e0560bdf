#include "cufft.hpp"

#include <stratum/core/errors.hpp>

#ifdef STRATUM_HAVE_CUFFT
#include <cufft.h>

#include <algorithm>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#endif

namespace stratum::apps {

#ifdef STRATUM_HAVE_CUFFT

namespace {

void check(cufftResult status, const char* what) {
  if (status != CUFFT_SUCCESS) throw ResourceError(message("cuFFT, ", what, ": error ", static_cast<int>(status)));
}

/// Where numbers come from: u itself, or what a transform along x or y has left.
struct Given {
  FieldView<const double> u;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return u(i, j); }
};
struct AlongX {
  const double* spectrum;
  int nx;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return -spectrum[2 * (std::int64_t{j} * (nx + 2) + i + 1) + 1];
  }
};
struct AlongY {
  const double* spectrum;
  int nx;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return -spectrum[2 * (std::int64_t{j + 1} * nx + i) + 1];
  }
};
/// By the eigenvalues.
struct Divided {
  AlongY of;
  const double *kx, *mx, *ky, *my;
  double scale;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return scale * of(i, j) / (kx[i] * my[j] + mx[i] * ky[j]);
  }
};

/// Number k of n that are continued, from 0 to 2 n + 1: the sign, and whose it is.
struct OddPlace {
  double sign;
  int of;
  STRATUM_HOST_DEVICE STRATUM_INLINE OddPlace(int k, int n)
      : sign(k == 0 || k == n + 1 ? 0
             : k <= n             ? 1
                                  : -1),
        of(k == 0 || k == n + 1 ? 0 : (k <= n ? k : 2 * n + 2 - k) - 1) {}
};

template <class Source, bool along_x>
struct Continue {
  Source from;
  FieldView<double> to;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const {
    const OddPlace place(along_x ? i : j, (along_x ? to.nx : to.ny) / 2 - 1);
    return place.sign * (along_x ? from(place.of, j) : from(i, place.of));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { to(i, j) = value; }
};

template <class Source>
struct Store {
  Source from;
  FieldView<double> to;
  STRATUM_HOST_DEVICE STRATUM_INLINE double value(int i, int j) const { return from(i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, double value) const { to(i, j) = value; }
};

/// `count` transforms of `length` numbers that lie `stride` apart; the next begins 1 number further, or where one ends.
std::shared_ptr<int> make_plan(const Context& ctx, int length, int count, int stride) {
  int plan = 0, outputs = length / 2 + 1;
  check(cufftPlanMany(&plan, 1, &length, &length, stride, stride == 1 ? length : 1, &outputs, stride,
                      stride == 1 ? outputs : 1, CUFFT_D2Z, count),
        "plan");
  std::shared_ptr<int> made(new int(plan), [](const int* p) {
    (void)cufftDestroy(*p);
    delete p;
  });
  check(cufftSetStream(plan, static_cast<cudaStream_t>(ctx.stream())), "stream");
  return made;
}

}  // namespace

bool CufftSines::available() { return true; }
std::string CufftSines::version() {
  return message("cuFFT ", CUFFT_VER_MAJOR, ".", CUFFT_VER_MINOR, ".", CUFFT_VER_PATCH);
}

CufftSines::CufftSines(Context& ctx, const TensorMesh<2>& mesh, Stopwatch now) : now_(now), shape_(mesh.unknowns()) {
  expects(ctx.on_gpu(), "cuFFT transforms on a GPU, not on ", ctx.description());
  const SineEigenvalues of(mesh);
  const double begin = now_();
  kx_ = vector_from_host(ctx, of.kx);
  mx_ = vector_from_host(ctx, of.mx);
  ky_ = vector_from_host(ctx, of.ky);
  my_ = vector_from_host(ctx, of.my);
  const std::int64_t nx = shape_.nx, ny = shape_.ny;
  const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(double); };
  continued_ = allocate(ctx, bytes(std::max(2 * (nx + 1) * ny, nx * 2 * (ny + 1))));
  spectrum_ = allocate(ctx, bytes(2 * std::max((nx + 2) * ny, nx * (ny + 2))));
  along_x_ = make_plan(ctx, 2 * (shape_.nx + 1), shape_.ny, 1);
  along_y_ = make_plan(ctx, 2 * (shape_.ny + 1), shape_.nx, shape_.nx);
  ctx.synchronise();
  setup_seconds_ = now_() - begin;
}

void CufftSines::transform(int plan) const {
  check(cufftExecD2Z(plan, static_cast<double*>(continued_.get()), static_cast<cufftDoubleComplex*>(spectrum_.get())),
        "transform");
}

SolveReport CufftSines::solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b,
                              FieldView<double> x, double rtol) const {
  const int nx = shape_.nx, ny = shape_.ny;
  auto* const continued = static_cast<double*>(continued_.get());
  const auto* const spectrum = static_cast<const double*>(spectrum_.get());
  FieldView<double> wide{continued, 2 * (nx + 1), ny, 2 * (nx + 1)}, tall{continued, nx, 2 * (ny + 1), nx};
  const AlongX in_x{spectrum, nx};
  const AlongY in_y{spectrum, nx};
  const double scale = 1 / (4.0 * (nx + 1) * (ny + 1));
  const Divided solved{in_y, kx_.cview().data, mx_.cview().data, ky_.cview().data, my_.cview().data, scale};
  ctx.synchronise();
  const double begin = now_();
  for_each_node(ctx, all_nodes(wide), Continue<Given, true>{{b}, wide});
  transform(*along_x_);
  for_each_node(ctx, all_nodes(tall), Continue<AlongX, false>{in_x, tall});
  transform(*along_y_);
  for_each_node(ctx, all_nodes(tall), Continue<Divided, false>{solved, tall});
  transform(*along_y_);
  for_each_node(ctx, all_nodes(wide), Continue<AlongY, true>{in_y, wide});
  transform(*along_x_);
  for_each_node(ctx, all_nodes(x), Store<AlongX>{in_x, x});
  ctx.synchronise();
  const double seconds = now_() - begin;
  SolveReport report = direct_report(ctx, a, b, x, rtol);
  report.setup_seconds = setup_seconds_;
  report.solve_seconds = seconds;
  return report;
}

#else

bool CufftSines::available() { return false; }
std::string CufftSines::version() { return ""; }
CufftSines::CufftSines(Context& /*ctx*/, const TensorMesh<2>& /*mesh*/, Stopwatch now) : now_(now) {
  throw ResourceError("this program was built without cuFFT");
}
void CufftSines::transform(int /*plan*/) const {}
SolveReport CufftSines::solve(Context& /*ctx*/, const GridOperator<double>& /*a*/, FieldView<const double> /*b*/,
                              FieldView<double> /*x*/, double /*rtol*/) const {
  return {};
}

#endif

}  // namespace stratum::apps
