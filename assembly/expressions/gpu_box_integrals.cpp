#include <stratum/assembly/expressions/gpu_box_integrals.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/polynomial_problem.hpp>
#if defined(__CUDACC__)
#include <stratum/assembly/expressions/box_kernels.hpp>
#include <stratum/assembly/expressions/gpu_points.hpp>
#endif

namespace stratum {

#if defined(__CUDACC__)

namespace {

using namespace cuda;

template <class F>
__global__ void box_load_kernel(const BoxLoadArguments to) {
  box_load_of(F{}, to);
}
template <class F>
__global__ void box_errors_kernel(const BoxErrorArguments to) {
  box_errors_of<true>(F{}, to);
}

std::optional<PointKernel> kernel_of_expression(const ScalarFunction3D& f, std::int64_t nodes, const char* body,
                                                const char* arguments) {
  const auto text = source_to_compile(f, nodes);
  if (!text) return std::nullopt;
  const auto [a, b, d] = expression_of(f)->lengths;
  return made_of_expression(
      {point_kernels_source, box_kernels_source}, "BoxPointOnDevice",
      message("x = point.x, y = point.y, z = point.z, xl = point.to_left, xr = point.to_right, yl = point.to_bottom, ",
              "yr = point.to_top, zl = point.to_front, zr = point.to_back, t = point.t, a = ", exact_digits(a),
              ", b = ", exact_digits(b), ", d = ", exact_digits(d)),
      *text, body, arguments);
}

std::int64_t nodes_of(const TensorMesh<3>& mesh) {
  std::int64_t nodes = 1;
  for (int d = 0; d < 3; ++d) nodes *= mesh.axis(d).size() + 1;
  return nodes;
}

/// The Gauss points of the three directions of storage.
class BoxPoints {
 public:
  BoxPoints(Context& ctx, const TensorMesh<3>& mesh, const std::array<std::size_t, 3>& order, int points,
            const ScalarFunction3D& f)
      : of_{of(ctx, mesh, order[0], points), of(ctx, mesh, order[1], points), of(ctx, mesh, order[2], points)},
        lines_{{of_[0].line(), of_[1].line(), of_[2].line()}, static_cast<int>(order[2]), time_of(f)} {}
  [[nodiscard]] const BoxLines& lines() const { return lines_; }

 private:
  static GaussPoints of(Context& ctx, const TensorMesh<3>& mesh, std::size_t d, int points) {
    return {ctx, mesh.axis(static_cast<int>(d)), gauss_rule(points)};
  }
  static double time_of(const ScalarFunction3D& f) {
    const auto text = expression_of(f);
    return text ? text->t : 0;
  }
  GaussPoints of_[3];
  BoxLines lines_;
};

}  // namespace

bool gpu_computes(const Context& ctx, const ScalarFunction3D& f, std::int64_t nodes) {
  if (!ctx.on_gpu()) return false;
  return f.target<BoxPolynomialRhs>() != nullptr || f.target<BoxPolynomialSolution>() != nullptr ||
         (source_to_compile(f, nodes) && RuntimeKernel::available());
}

bool box_loads_on_gpu(Context& ctx, const TensorMesh<3>& mesh, const std::array<std::size_t, 3>& order,
                      const ScalarFunction3D& f, int points, std::span<const BoxLoadTarget> targets,
                      KeptBoxKernel& kept) {
  if (!ctx.on_gpu()) return false;
  const auto text = expression_of(f);
  const bool has_time = text && text->has_time;
  std::optional<PointKernel> kernel;
  if (f.target<BoxPolynomialRhs>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(box_load_kernel<BoxPolynomialRhs>), {}};
  else if (has_time && kept.kernel && kept.text == text->text)
    kernel = *static_cast<const PointKernel*>(kept.kernel.get());
  else
    kernel = kernel_of_expression(f, nodes_of(mesh), "box_load_of", "BoxLoadArguments");
  if (!kernel) return false;
  if (has_time && kept.text != text->text) kept = {text->text, std::make_shared<PointKernel>(*kernel)};
  const BoxPoints box(ctx, mesh, order, points, f);
  const auto flag = allocate(ctx, sizeof(int));
  constexpr unsigned threads = 128;
  for (const BoxLoadTarget& target : targets) {
    BoxLoadArguments to{box.lines(), target.to, {}, static_cast<int*>(flag.get())};
    for (std::size_t d = 0; d < 3; ++d) {
      const auto& [first, count, periodic] = target.nodes[d];
      static_cast<LineNodes&>(to.box.line[d]) = {to.box.line[d].intervals, first, count, periodic};
      to.apart[d] = target.apart[d];
    }
    const auto count = [&](std::size_t d) { return target.nodes[d].count; };
    if (count(0) < 1 || count(1) < 1 || count(2) < 1) continue;
    launch(ctx, *kernel,
           dim3((static_cast<unsigned>(count(0)) + threads - 1) / threads,
                rows_of_blocks(std::int64_t{count(1)} * count(2))),
           threads, to);
  }
  int not_finite = 0;
  STRATUM_CUDA_CHECK(cudaMemcpyAsync(&not_finite, flag.get(), sizeof not_finite, cudaMemcpyDeviceToHost,
                                     static_cast<cudaStream_t>(ctx.stream())));
  ctx.synchronise();
  return not_finite == 0;
}

std::optional<std::vector<double>> box_cells_on_gpu(Context& ctx, const TensorMesh<3>& mesh,
                                                    const ScalarFunction3D& f) {
  // Loads have 64 values a node; a cell has one. A dry run has no memory for them.
  if (!ctx.on_gpu() || ctx.is_dry_run() || mesh.cells() < 64 * worth_compiling) return std::nullopt;
  const auto kernel = kernel_of_expression(f, nodes_of(mesh), "box_cells_of", "BoxCellArguments");
  if (!kernel) return std::nullopt;
  const BoxPoints box(ctx, mesh, {0, 1, 2}, 1, f);
  const auto &x = box.lines().line[0], &y = box.lines().line[1], &z = box.lines().line[2];
  const std::int64_t rows = std::int64_t{y.intervals} * z.intervals;
  const std::size_t cells = static_cast<std::size_t>(rows) * static_cast<std::size_t>(x.intervals);
  const auto values = allocate(ctx, cells * sizeof(double)), flag = allocate(ctx, sizeof(int));
  constexpr unsigned threads = 128;
  const BoxCellArguments to{box.lines(), static_cast<double*>(values.get()), static_cast<int*>(flag.get())};
  launch(ctx, *kernel, dim3((static_cast<unsigned>(x.intervals) + threads - 1) / threads, rows_of_blocks(rows)),
         threads, to);
  auto* const stream = static_cast<cudaStream_t>(ctx.stream());
  int refused = 0;
  STRATUM_CUDA_CHECK(cudaMemcpyAsync(&refused, flag.get(), sizeof refused, cudaMemcpyDeviceToHost, stream));
  ctx.synchronise();
  if (refused != 0) return std::nullopt;
  std::vector<double> on_host(cells);
  STRATUM_CUDA_CHECK(
      cudaMemcpyAsync(on_host.data(), values.get(), cells * sizeof(double), cudaMemcpyDeviceToHost, stream));
  ctx.synchronise();
  return on_host;
}

std::optional<ErrorSums> box_errors_on_gpu(Context& ctx, const TensorMesh<3>& mesh,
                                           const std::array<std::size_t, 3>& order, const ScalarFunction3D& exact,
                                           FieldView<const double, 3> u, const std::array<std::vector<double>, 3>& k,
                                           const std::array<std::vector<double>, 3>& w, double reaction) {
  if (!ctx.on_gpu()) return std::nullopt;
  std::optional<PointKernel> kernel;
  if (exact.target<BoxPolynomialSolution>() != nullptr)
    kernel = PointKernel{reinterpret_cast<const void*>(box_errors_kernel<BoxPolynomialSolution>), {}};
  else
    kernel = kernel_of_expression(exact, nodes_of(mesh), "box_errors_of", "BoxErrorArguments");
  if (!kernel) return std::nullopt;
  const BoxPoints box(ctx, mesh, order, 3, exact);
  const auto memory = [&](const std::array<std::vector<double>, 3>& of) {
    return std::array{vector_from_host(ctx, of[0]), vector_from_host(ctx, of[1]), vector_from_host(ctx, of[2])};
  };
  const auto k_there = memory(k), w_there = memory(w);
  BoxErrorArguments to{box.lines(), u.data, u.strides.row, u.strides.plane, {}, {}, reaction, nullptr};
  for (std::size_t d = 0; d < 3; ++d) {
    to.k[d] = k_there[d].cview().data;
    to.w[d] = w_there[d].cview().data;
  }
  constexpr std::int64_t most_blocks = 4096;
  const std::int64_t rows = std::int64_t{to.box.line[1].intervals} * to.box.line[2].intervals;
  const int blocks = static_cast<int>(std::min(rows, most_blocks));
  static_assert(sizeof(ErrorSums) % sizeof(double) == 0);
  Field<double> sums(ctx, blocks * static_cast<int>(sizeof(ErrorSums) / sizeof(double)));
  to.sums = reinterpret_cast<ErrorSums*>(sums.view().data);
  launch(ctx, *kernel, dim3(static_cast<unsigned>(blocks)), error_threads, to);
  std::vector<ErrorSums> of_blocks(static_cast<std::size_t>(blocks));
  copy_to_host(ctx, sums.cview(), reinterpret_cast<double*>(of_blocks.data()));
  ErrorSums all = no_error_sums();
  for (const ErrorSums& block : of_blocks) add(block, all);
  for (const FieldSums& field : {all.error, all.exact})
    if (!std::isfinite(field.square) || !std::isfinite(field.energy)) return std::nullopt;
  return all;
}

#else

bool gpu_computes(const Context& /*ctx*/, const ScalarFunction3D& /*f*/, std::int64_t /*nodes*/) { return false; }

bool box_loads_on_gpu(Context& /*ctx*/, const TensorMesh<3>& /*mesh*/, const std::array<std::size_t, 3>& /*order*/,
                      const ScalarFunction3D& /*f*/, int /*points*/, std::span<const BoxLoadTarget> /*targets*/,
                      KeptBoxKernel& /*kept*/) {
  return false;
}

std::optional<std::vector<double>> box_cells_on_gpu(Context& /*ctx*/, const TensorMesh<3>& /*mesh*/,
                                                    const ScalarFunction3D& /*f*/) {
  return std::nullopt;
}

std::optional<ErrorSums> box_errors_on_gpu(Context& /*ctx*/, const TensorMesh<3>& /*mesh*/,
                                           const std::array<std::size_t, 3>& /*order*/,
                                           const ScalarFunction3D& /*exact*/, FieldView<const double, 3> /*u*/,
                                           const std::array<std::vector<double>, 3>& /*k*/,
                                           const std::array<std::vector<double>, 3>& /*w*/, double /*reaction*/) {
  return std::nullopt;
}

#endif

}  // namespace stratum
