#include <stratum/assembly/expressions/gpu_integrals.hpp>

#include <algorithm>

#include <stratum/assembly/cell_fields.hpp>
#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/reduce.hpp>
#include <stratum/mesh/partition.hpp>
#if defined(__CUDACC__)
#include <stratum/assembly/expressions/gpu_points.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)

namespace {

using namespace cuda;

/// Of a mesh, rows of cells and the nodes between, counted from row `begin`.
struct CellRows {
  int begin;
  LineNodes nodes;
};
/// Rows that the hats of b's rows live on, those beyond the ends of a periodic line among them.
CellRows cells_of_hats(Context& ctx, const TensorMesh<2>& mesh, const GridFunction<const double>& b) {
  const Axis& y = mesh.y();
  const int first = first_row_of(ctx, "the load vector", mesh, b) + y.first_unknown();
  const int begin = y.is_periodic() ? first - 1 : std::max(first - 1, 0), end = std::min(first + b.view.ny, y.size());
  return {begin, {end - begin, first - begin, b.view.ny, false}};
}
/// All rows, or of a subdomain those that are its own (`node_rows`); its halo has the nodes of the subdomain above.
CellRows cells_of_subdomain(Context& ctx, const TensorMesh<2>& mesh, const GridFunction<const double>& u) {
  const Axis& y = mesh.y();
  const int first = first_row_of(ctx, "the solution", mesh, u) + y.first_unknown();
  const NodeRows rows = node_rows(mesh, layout_of(mesh, u));
  return {rows.first,
          {rows.last - rows.first, first - rows.first, u.view.ny + (u.layout.above ? 1 : 0),
           y.is_periodic() && !u.is_part()}};
}

template <class F>
__global__ void load_kernel(const LoadArguments to) {
  load_of(F{}, to);
}
template <class F>
__global__ void errors_kernel(const ErrorArguments to) {
  errors_of(F{}, to);
}

/// `body` and `arguments`: the kernel's, as point_kernels.hpp calls them.
std::optional<PointKernel> kernel_of_expression(const ScalarFunction& f, std::int64_t nodes, const char* body,
                                                const char* arguments) {
  const auto text = source_to_compile(f, nodes);
  if (!text) return std::nullopt;
  const auto expression = expression_of(f);
  return made_of_expression({point_kernels_source}, "PointOnDevice",
                            message("x = point.x, y = point.y, xl = point.to_left, xr = point.to_right, ",
                                    "yl = point.to_bottom, yr = point.to_top, a = ", exact_digits(expression->a),
                                    ", b = ", exact_digits(expression->b)),
                            *text, body, arguments);
}

/// u_h at all nodes from row `first` on, and the memory of what the boundaries have.
class NodesOnGpu {
 public:
  NodesOnGpu(Context& ctx, FieldView<const double> u, const BoundaryValues& boundaries, int first)
      : memory_{vector_from_host(ctx, boundaries.left), vector_from_host(ctx, boundaries.right),
                vector_from_host(ctx, boundaries.bottom), vector_from_host(ctx, boundaries.top)},
        values_{u.data,
                u.pitch,
                memory_[0].cview().data + first,
                memory_[1].cview().data + first,
                memory_[2].cview().data,
                memory_[3].cview().data} {}
  [[nodiscard]] const NodalValues& values() const { return values_; }

 private:
  Field<double> memory_[4];
  NodalValues values_;
};

// For extremes of nodal values: each is a function of node (i, j).
struct Value {
  NodalValues values;
  LineNodes x, y;
  double sign;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return sign * values(x, y, i, j); }
};
/// To the node before, along x or along y; none along boundaries, nor from the row before these.
struct Step {
  NodalValues values;
  LineNodes x, y;
  int before, last;  // rows of the mesh before these; its last row
  bool along_x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const int row = before + j;
    const bool there = along_x ? i > 0 && row > 0 && row < last : j > 0 && i > 0 && i < x.intervals;
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
  int nodes_x, before;
  static constexpr bool takes_maximum = true, of_any_sign = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return f(i, j) == value ? -(static_cast<double>(before + j) * nodes_x + i) : -1e300;
  }
};
/// The value of a node where it is, so that all subdomains learn of it.
struct At {
  Value value;
  int column, row;
  static constexpr bool takes_maximum = true, of_any_sign = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return i == column && j == row ? value(i, j) : -HUGE_VAL;
  }
};

}  // namespace

std::optional<SolutionRange> range_on_gpu(Context& ctx, const TensorMesh<2>& mesh, const GridFunction<const double>& u,
                                          const BoundaryValues& boundaries) {
  if (!ctx.on_gpu() || u.view.nodes() == 0) return std::nullopt;
  const CellRows rows = cells_of_subdomain(ctx, mesh, u);
  const int before = rows.begin;
  const LineNodes x = nodes_of(mesh.x()), y = rows.nodes;
  if (u.is_part()) exchange(ctx, layout_of(mesh, u), u.view);
  const NodesOnGpu nodes(ctx, u.view, boundaries, before);
  const int nx = x.intervals + 1, ny = y.intervals + 1;
  struct Found {
    double value;
    int i, j;  // of the whole mesh
  };
  const auto first_largest = [&](const auto& f) {
    using F = std::decay_t<decltype(f)>;
    const double value = reduce(ctx, nx, ny, Largest<F>{f});
    const auto at = static_cast<std::int64_t>(-reduce(ctx, nx, ny, Where<F>{f, value, nx, before}));
    return Found{value, static_cast<int>(at % nx), static_cast<int>(at / nx)};
  };
  const auto [smallest, i0, j0] = first_largest(Value{nodes.values(), x, y, -1});
  const auto [largest, i1, j1] = first_largest(Value{nodes.values(), x, y, 1});
  if (!std::isfinite(smallest) || !std::isfinite(largest)) return std::nullopt;
  const int last = mesh.y().size();
  const auto in_x = first_largest(Step{nodes.values(), x, y, before, last, true}),
             in_y = first_largest(Step{nodes.values(), x, y, before, last, false});
  const bool along_x = in_x.value >= in_y.value;
  const auto& step = along_x ? in_x : in_y;
  const Geometry geometry(mesh);
  const auto number = [&](int i, int j) { return reduce(ctx, nx, ny, At{{nodes.values(), x, y, 1}, i, j - before}); };
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
  const auto beside = [&](int i, int j) {
    const bool is_there = i >= 0 && j >= 0 && i < nx && j <= last;
    const double none = std::nan("");
    return is_there ? node(number(i, j), i, j) : NodalValue{none, none, none};
  };
  const int dx = along_x ? 1 : 0, dy = 1 - dx;
  found.line = {beside(before_i - dx, before_j - dy),
                found.step_from,
                found.step_to,
                beside(step.i + dx, step.j + dy),
                step.i,
                step.j,
                along_x};
  return found;
}

bool gpu_computes(const Context& ctx, const ScalarFunction& f, std::int64_t nodes) {
  if (!ctx.on_gpu()) return false;
  return f.target<PolynomialRhs>() != nullptr || f.target<PolynomialSolution>() != nullptr ||
         (source_to_compile(f, nodes) && RuntimeKernel::available());
}

bool load_on_gpu(Context& ctx, const TensorMesh<2>& mesh, const ScalarFunction& f, const GridFunction<double>& b) {
  if (!ctx.on_gpu() || b.view.nodes() == 0) return false;
  std::optional<PointKernel> kernel;
  if (f.target<PolynomialRhs>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(load_kernel<PolynomialRhs>), {}};
  else
    kernel = kernel_of_expression(f, mesh.unknowns().nodes(), "load_of", "LoadArguments");
  if (!kernel) return false;
  const CellRows rows = cells_of_hats(ctx, mesh, b);
  const GaussPoints x(ctx, mesh.x(), gauss4), y(ctx, mesh.y(), rows.begin, rows.nodes, gauss4);
  const auto flag = allocate(ctx, sizeof(int));
  constexpr unsigned threads = 128;
  launch(ctx, *kernel, dim3((static_cast<unsigned>(b.view.nx) + threads - 1) / threads, rows_of_blocks(b.view.ny)),
         threads, LoadArguments{x.line(), y.line(), b.view.data, b.view.pitch, static_cast<int*>(flag.get())});
  int not_finite = 0;
  STRATUM_CUDA_CHECK(cudaMemcpyAsync(&not_finite, flag.get(), sizeof not_finite, cudaMemcpyDeviceToHost,
                                     static_cast<cudaStream_t>(ctx.stream())));
  ctx.synchronise();
  return not_finite == 0;
}

std::optional<ErrorSums> errors_on_gpu(Context& ctx, const TensorMesh<2>& mesh, const ScalarFunction& exact,
                                       const GridFunction<const double>& u, const BoundaryValues& boundaries,
                                       double reaction, const CellCoefficients* cells) {
  if (!ctx.on_gpu() || u.view.nodes() == 0) return std::nullopt;
  if (u.is_part()) exchange(ctx, layout_of(mesh, u), u.view);
  std::optional<PointKernel> kernel;
  if (exact.target<PolynomialSolution>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(errors_kernel<PolynomialSolution>), {}};
  else
    kernel = kernel_of_expression(exact, mesh.unknowns().nodes(), "errors_of", "ErrorArguments");
  if (!kernel) return std::nullopt;
  const CellRows part = cells_of_subdomain(ctx, mesh, u);
  const GaussPoints x(ctx, mesh.x(), gauss3), y(ctx, mesh.y(), part.begin, part.nodes, gauss3);
  const NodesOnGpu nodes(ctx, u.view, boundaries, part.begin);
  CellMaterials materials{nullptr, nullptr, nullptr, nullptr, 0, reaction};
  std::optional<CellFields> fields;
  if (cells != nullptr) {
    const auto& k = fields.emplace(ctx, mesh, *cells, reaction).view();
    const auto own = [&](const FieldView<const double>& of) {
      return of.data == nullptr ? nullptr : of.data + part.begin * of.pitch;
    };
    materials = {own(k.xx), own(k.xy), own(k.yy), own(k.c), k.xx.pitch, reaction};
  }
  const int rows = part.nodes.intervals;
  static_assert(sizeof(ErrorSums) % sizeof(double) == 0);
  Field<double> sums(ctx, rows * static_cast<int>(sizeof(ErrorSums) / sizeof(double)));
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

bool load_on_gpu(Context& /*ctx*/, const TensorMesh<2>& /*mesh*/, const ScalarFunction& /*f*/,
                 const GridFunction<double>& /*b*/) {
  return false;
}

std::optional<SolutionRange> range_on_gpu(Context& /*ctx*/, const TensorMesh<2>& /*mesh*/,
                                          const GridFunction<const double>& /*u*/,
                                          const BoundaryValues& /*boundaries*/) {
  return std::nullopt;
}

std::optional<ErrorSums> errors_on_gpu(Context& /*ctx*/, const TensorMesh<2>& /*mesh*/, const ScalarFunction& /*exact*/,
                                       const GridFunction<const double>& /*u*/, const BoundaryValues& /*boundaries*/,
                                       double /*reaction*/, const CellCoefficients* /*cells*/) {
  return std::nullopt;
}

#endif

}  // namespace stratum
