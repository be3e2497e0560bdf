#include <stratum/assembly/gpu_integrals.hpp>

#include <stratum/assembly/cell_fields.hpp>
#include <stratum/assembly/expression_source.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/reduce.hpp>
#if defined(__CUDACC__)
#include <stratum/core/device/runtime_compiler.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)

/// Text of assembly/point_kernels.hpp; the build makes it.
extern const char* const point_kernels_source;

namespace {

using namespace cuda;

/// On fewer nodes a host evaluates an expression in less time than the compiler takes.
constexpr std::int64_t worth_compiling = std::int64_t{1} << 16;

LineNodes nodes_of(const Line& line) {
  return {line.size(), line.first_unknown(), line.unknowns(), line.is_periodic()};
}

/// The points of a line, and their memory.
class GaussPoints {
 public:
  template <class Rule>
  GaussPoints(Context& ctx, const Line& line, const Rule& rule)
      : line_{nodes_of(line), {}, {}, {}, {}, {}, static_cast<int>(rule.size())} {
    std::vector<double> numbers[arrays];
    for (int k = 0; k < line.size(); ++k) {
      const LineInterval interval(line, k);
      for (const auto& [t, weight] : rule) {
        const LinePoint p = interval.at(t);
        const double of_point[] = {p.at, p.from_begin, p.from_end, t, weight * interval.width};
        for (int n = 0; n < arrays; ++n) numbers[n].push_back(of_point[n]);
      }
    }
    const double** const pointers[] = {&line_.at, &line_.from_begin, &line_.from_end, &line_.fraction, &line_.weight};
    for (int n = 0; n < arrays; ++n) {
      memory_[n] = vector_from_host(ctx, numbers[n]);
      *pointers[n] = memory_[n].cview().data;
    }
  }
  [[nodiscard]] const GaussLine& line() const { return line_; }

 private:
  static constexpr int arrays = 5;
  GaussLine line_;
  Vector<double> memory_[arrays];
};

template <class F>
__global__ void load_kernel(const LoadArguments to) {
  load_of(F{}, to);
}
template <class F>
__global__ void errors_kernel(const ErrorArguments to) {
  errors_of(F{}, to);
}

/// A kernel that is there, or one that has been made for an expression.
struct PointKernel {
  const void* function = nullptr;
  std::optional<RuntimeKernel> made;
  [[nodiscard]] const void* get() const { return made ? made->function() : function; }
};

/// Of an expression that is worth it and can be compiled.
std::optional<std::string> source_to_compile(const ScalarFunction& f, std::int64_t nodes) {
  const auto expression = nodes < worth_compiling ? std::nullopt : expression_of(f);
  return expression ? source_of_expression(expression->text) : std::nullopt;
}

/// `body` and `arguments`: the kernel's, as point_kernels.hpp calls them.
std::optional<PointKernel> kernel_of_expression(const ScalarFunction& f, std::int64_t nodes, const char* body,
                                                const char* arguments) {
  const auto text = source_to_compile(f, nodes);
  if (!text) return std::nullopt;
  const auto expression = expression_of(f);
  const auto number = [](double value) {
    char digits[32];
    (void)std::snprintf(digits, sizeof digits, "%a", value);
    return std::string(digits);
  };
  const std::string source = message(
      point_kernels_source, expression_helpers("static __device__"),
      "struct Expression {\n  __device__ double operator()(const stratum::cuda::PointOnDevice& point) const {\n",
      "    const double x = point.x, y = point.y, xl = point.to_left, xr = point.to_right, yl = point.to_bottom, ",
      "yr = point.to_top;\n    const double a = ", number(expression->a), ", b = ", number(expression->b),
      ", pi = 3.14159265358979323846, e = 2.71828182845904523536;\n    return ", *text, ";\n  }\n};\n",
      "extern \"C\" __global__ void kernel(const stratum::cuda::", arguments, " to) {\n  stratum::cuda::", body,
      "(Expression{}, to);\n}\n");
  auto made = RuntimeKernel::compile(source, "kernel");
  if (!made) return std::nullopt;
  return PointKernel{nullptr, std::move(made)};
}

template <class Arguments>
void launch(const Context& ctx, const PointKernel& kernel, dim3 grid, unsigned threads, Arguments arguments) {
  void* pointers[] = {&arguments};
  STRATUM_CUDA_CHECK(
      cudaLaunchKernel(kernel.get(), grid, dim3(threads), pointers, 0, static_cast<cudaStream_t>(ctx.stream())));
}

unsigned rows_of_blocks(int rows) { return static_cast<unsigned>(rows < 65535 ? rows : 65535); }

/// u_h at all nodes, and the memory of what the sides have.
class NodesOnGpu {
 public:
  NodesOnGpu(Context& ctx, GridView<const double> u, const SideValues& sides)
      : memory_{vector_from_host(ctx, sides.left), vector_from_host(ctx, sides.right),
                vector_from_host(ctx, sides.bottom), vector_from_host(ctx, sides.top)},
        values_{u.data,
                u.pitch,
                memory_[0].cview().data,
                memory_[1].cview().data,
                memory_[2].cview().data,
                memory_[3].cview().data} {}
  [[nodiscard]] const NodalValues& values() const { return values_; }

 private:
  Vector<double> memory_[4];
  NodalValues values_;
};

// For extremes of nodal values: each is a function of node (i, j).
struct Value {
  NodalValues values;
  LineNodes x, y;
  double sign;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return sign * values(x, y, i, j); }
};
/// To the node before, along x or along y; none along sides.
struct Step {
  NodalValues values;
  LineNodes x, y;
  bool along_x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const bool there = along_x ? i > 0 && j > 0 && j < y.intervals : j > 0 && i > 0 && i < x.intervals;
    if (!there) return 0;
    const double d = values(x, y, i, j) - (along_x ? values(x, y, i - 1, j) : values(x, y, i, j - 1));
    return d < 0 ? -d : d;
  }
};
template <class F>
struct Largest {
  F f;
  static constexpr bool takes_maximum = true, of_any_sign = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return f(i, j); }
};
/// The first node with this value has the largest of these numbers.
template <class F>
struct Where {
  F f;
  double value;
  int nodes_x;
  static constexpr bool takes_maximum = true, of_any_sign = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return f(i, j) == value ? -(static_cast<double>(j) * nodes_x + i) : -1e300;
  }
};

struct FoundNode {
  double value;
  int i, j;
};
template <class F>
FoundNode first_largest(Context& ctx, const TensorMesh& mesh, const F& f) {
  const int nx = mesh.x().size() + 1, ny = mesh.y().size() + 1;
  const double value = reduce(ctx, nx, ny, Largest<F>{f});
  const auto at = static_cast<std::int64_t>(-reduce(ctx, nx, ny, Where<F>{f, value, nx}));
  return {value, static_cast<int>(at % nx), static_cast<int>(at / nx)};
}

}  // namespace

std::optional<SolutionRange> range_on_gpu(Context& ctx, const TensorMesh& mesh, GridView<const double> u,
                                          const SideValues& sides) {
  if (!ctx.on_gpu() || u.nodes() == 0) return std::nullopt;
  const LineNodes x = nodes_of(mesh.x()), y = nodes_of(mesh.y());
  const NodesOnGpu nodes(ctx, u, sides);
  const auto [smallest, i0, j0] = first_largest(ctx, mesh, Value{nodes.values(), x, y, -1});
  const auto [largest, i1, j1] = first_largest(ctx, mesh, Value{nodes.values(), x, y, 1});
  if (!std::isfinite(smallest) || !std::isfinite(largest)) return std::nullopt;
  const auto in_x = first_largest(ctx, mesh, Step{nodes.values(), x, y, true}),
             in_y = first_largest(ctx, mesh, Step{nodes.values(), x, y, false});
  const bool along_x = in_x.value >= in_y.value;
  const auto& step = along_x ? in_x : in_y;
  const Geometry geometry(mesh);
  const auto number = [&](int i, int j) {
    double value = 0;
    const int p = x.unknown(i), q = y.unknown(j);
    if (p < 0) return (i == 0 ? sides.left : sides.right)[static_cast<std::size_t>(j)];
    if (q < 0) return (j == 0 ? sides.bottom : sides.top)[static_cast<std::size_t>(i)];
    GridView<const double> one = u;
    one.data = &u(p, q);
    one.nx = one.ny = 1;
    copy_to_host(ctx, one, &value);
    return value;
  };
  const auto node = [&](double value, int i, int j) {
    const Point p = geometry.node(i, j);
    return NodalValue{value, p.x, p.y};
  };
  const int before_i = step.value > 0 && along_x ? step.i - 1 : step.i,
            before_j = step.value > 0 && !along_x ? step.j - 1 : step.j;
  SolutionRange found;
  found.smallest = node(0 - smallest, i0, j0);
  found.largest = node(largest, i1, j1);
  found.step_from = node(number(before_i, before_j), before_i, before_j);
  found.step_to = node(number(step.i, step.j), step.i, step.j);
  return found;
}

bool gpu_computes(const Context& ctx, const ScalarFunction& f, std::int64_t nodes) {
  if (!ctx.on_gpu()) return false;
  return f.target<PolynomialRhs>() != nullptr || f.target<PolynomialSolution>() != nullptr ||
         (source_to_compile(f, nodes) && RuntimeKernel::available());
}

bool load_on_gpu(Context& ctx, const TensorMesh& mesh, const ScalarFunction& f, GridView<double> b) {
  if (!ctx.on_gpu() || b.nodes() == 0) return false;
  std::optional<PointKernel> kernel;
  if (f.target<PolynomialRhs>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(load_kernel<PolynomialRhs>), {}};
  else
    kernel = kernel_of_expression(f, b.nodes(), "load_of", "LoadArguments");
  if (!kernel) return false;
  const GaussPoints x(ctx, mesh.x(), gauss4), y(ctx, mesh.y(), gauss4);
  const auto flag = allocate(ctx, sizeof(int));
  constexpr unsigned threads = 128;
  launch(ctx, *kernel, dim3((static_cast<unsigned>(b.nx) + threads - 1) / threads, rows_of_blocks(b.ny)), threads,
         LoadArguments{x.line(), y.line(), b.data, b.pitch, static_cast<int*>(flag.get())});
  int not_finite = 0;
  STRATUM_CUDA_CHECK(cudaMemcpyAsync(&not_finite, flag.get(), sizeof not_finite, cudaMemcpyDeviceToHost,
                                     static_cast<cudaStream_t>(ctx.stream())));
  ctx.synchronise();
  return not_finite == 0;
}

std::optional<ErrorSums> errors_on_gpu(Context& ctx, const TensorMesh& mesh, const ScalarFunction& exact,
                                       GridView<const double> u, const SideValues& sides, double reaction,
                                       const CellCoefficients* cells) {
  if (!ctx.on_gpu() || u.nodes() == 0) return std::nullopt;
  std::optional<PointKernel> kernel;
  if (exact.target<PolynomialSolution>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(errors_kernel<PolynomialSolution>), {}};
  else
    kernel = kernel_of_expression(exact, u.nodes(), "errors_of", "ErrorArguments");
  if (!kernel) return std::nullopt;
  const GaussPoints x(ctx, mesh.x(), gauss3), y(ctx, mesh.y(), gauss3);
  const NodesOnGpu nodes(ctx, u, sides);
  CellMaterials materials{nullptr, nullptr, nullptr, nullptr, 0, reaction};
  std::optional<CellFields> fields;
  if (cells != nullptr) {
    const auto& k = fields.emplace(ctx, mesh, *cells, reaction).view();
    materials = {k.xx.data, k.xy.data, k.yy.data, k.c.data, k.xx.pitch, reaction};
  }
  const int rows = mesh.y().size();
  static_assert(sizeof(ErrorSums) % sizeof(double) == 0);
  Vector<double> sums(ctx, rows * static_cast<int>(sizeof(ErrorSums) / sizeof(double)));
  launch(ctx, *kernel, dim3(rows_of_blocks(rows)), error_threads,
         ErrorArguments{x.line(), y.line(), nodes.values(), materials, reinterpret_cast<ErrorSums*>(sums.view().data)});
  std::vector<ErrorSums> of_rows(static_cast<std::size_t>(rows));
  copy_to_host(ctx, sums.cview(), reinterpret_cast<double*>(of_rows.data()));
  ErrorSums all = no_error_sums();
  for (const ErrorSums& row : of_rows) add(row, all);
  for (const FieldSums& field : {all.error, all.exact})
    if (!std::isfinite(field.square) || !std::isfinite(field.energy)) return std::nullopt;
  return all;
}

#else

bool gpu_computes(const Context& /*ctx*/, const ScalarFunction& /*f*/, std::int64_t /*nodes*/) { return false; }

bool load_on_gpu(Context& /*ctx*/, const TensorMesh& /*mesh*/, const ScalarFunction& /*f*/, GridView<double> /*b*/) {
  return false;
}

std::optional<SolutionRange> range_on_gpu(Context& /*ctx*/, const TensorMesh& /*mesh*/, GridView<const double> /*u*/,
                                          const SideValues& /*sides*/) {
  return std::nullopt;
}

std::optional<ErrorSums> errors_on_gpu(Context& /*ctx*/, const TensorMesh& /*mesh*/, const ScalarFunction& /*exact*/,
                                       GridView<const double> /*u*/, const SideValues& /*sides*/, double /*reaction*/,
                                       const CellCoefficients* /*cells*/) {
  return std::nullopt;
}

#endif

}  // namespace stratum
