#pragma once

// Common part of the integrals over the cells of rectangles and of boxes: the Gauss points of a line in memory of a GPU, and
// kernels that are compiled in or made from an expression at run time. For CUDA sources only.

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <stratum/assembly/expressions/expression_source.hpp>
#include <stratum/assembly/expressions/point_kernels.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/core/device/runtime_compiler.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/field.hpp>
#include <stratum/mesh/axis.hpp>

namespace stratum {

/// Text of assembly/expressions/point_kernels.hpp and box_kernels.hpp; the build makes it.
extern const char* const point_kernels_source;
extern const char* const box_kernels_source;

namespace cuda {

/// On fewer nodes a host evaluates an expression in less time than the compiler takes.
constexpr std::int64_t worth_compiling = std::int64_t{1} << 16;

/// Source of a function that is an expression, on so many nodes that it is worth compiling, if it can be compiled.
template <class Function>
std::optional<std::string> source_to_compile(const Function& f, std::int64_t nodes) {
  const auto expression = nodes < worth_compiling ? std::nullopt : expression_of(f);
  return expression ? source_of_expression(expression->text) : std::nullopt;
}

inline LineNodes nodes_of(const Axis& line) {
  return {line.size(), line.first_unknown(), line.unknowns(), line.is_periodic()};
}

/// The points of a line, or of the intervals from `first` on that `nodes` has, around the ends; and their memory.
class GaussPoints {
 public:
  template <class Rule>
  GaussPoints(Context& ctx, const Axis& line, const Rule& rule) : GaussPoints(ctx, line, 0, nodes_of(line), rule) {}
  template <class Rule>
  GaussPoints(Context& ctx, const Axis& line, int first, const LineNodes& nodes, const Rule& rule)
      : line_{nodes, {}, {}, {}, {}, {}, static_cast<int>(rule.size())} {
    std::vector<double> numbers[arrays];
    for (int k = first; k < first + nodes.intervals; ++k) {
      const LineInterval interval(line, (k + line.size()) % line.size());
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
  Field<double> memory_[arrays];
};

/// A kernel that is there, or one that has been made for an expression.
struct PointKernel {
  const void* function = nullptr;
  std::optional<RuntimeKernel> made;
  [[nodiscard]] const void* get() const { return made ? made->function() : function; }
};

inline std::string exact_digits(double value) {
  char digits[32];
  (void)std::snprintf(digits, sizeof digits, "%a", value);
  return digits;
}

/// `text`: the expression as C++, of these variables of a `point`. `body` and `arguments`: the kernel's, as the sources call
/// them.
inline std::optional<PointKernel> made_of_expression(std::initializer_list<const char*> sources, const char* point,
                                                     const std::string& variables, const std::string& text,
                                                     const char* body, const char* arguments) {
  std::string source;
  for (const char* part : sources) source += part;
  source += message(expression_helpers("static __device__"),
                    "struct Expression {\n  __device__ double operator()(const stratum::cuda::", point,
                    "& point) const {\n    const double ", variables,
                    ", pi = 3.14159265358979323846, e = 2.71828182845904523536;\n    return ", text,
                    ";\n  }\n};\nextern \"C\" __global__ void kernel(const stratum::cuda::", arguments,
                    " to) {\n  stratum::cuda::", body, "(Expression{}, to);\n}\n");
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

inline unsigned rows_of_blocks(std::int64_t rows) { return static_cast<unsigned>(rows < 65535 ? rows : 65535); }

}  // namespace cuda

}  // namespace stratum
