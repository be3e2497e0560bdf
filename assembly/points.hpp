#pragma once

// Evaluation of functions at points of cells: common helpers of the sources of this folder.

#include <cmath>
#include <exception>
#include <span>

#include <stratum/assembly/coefficients.hpp>
#include <stratum/assembly/geometry.hpp>
#include <stratum/assembly/grid_function.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/field.hpp>

namespace stratum {

/// Throws UsageError where `what` is not finite.
template <class F>
[[nodiscard]] STRATUM_INLINE double evaluate(const F& function, const Point& p, const char* what) {
  const double value = function(p);
  expects(std::isfinite(value), "the ", what, " is ", value, " at (", p.x, ", ", p.y, "); it must be finite");
  return value;
}

/// Throws UsageError unless there is a value for every node of the mesh, or of the one whose cells are this many times as many
/// in direction.
inline void expects_nodal(const Geometry& mesh, std::span<const double> nodal, int times = 1) {
  const auto nx = static_cast<std::size_t>(times * mesh.logical().x().size()) + 1,
             ny = static_cast<std::size_t>(times * mesh.logical().y().size()) + 1;
  expects(nodal.size() == nx * ny, "the solution has ", nodal.size(), " nodal values, the mesh ", nx, " x ", ny,
          " nodes");
}

/// The number, among all rows of unknowns, of the first one of `part`, which has all rows or those of a subdomain. Throws
/// UsageError where it has others.
template <class T>
[[nodiscard]] int first_row_of(const Context& ctx, const char* name, const TensorMesh<2>& mesh,
                               const GridFunction<T>& part) {
  const GridLayout<2> all = mesh.unknowns();
  expects_fit(ctx, name, part.view, all.nx, part.is_part() ? part.layout.ny : all.ny);
  if (!part.is_part()) return 0;
  const int first = part.layout.origin_y - all.origin_y;
  expects(first >= 0 && first + part.layout.ny <= all.ny, name, " is of rows ", first, " to ",
          first + part.layout.ny - 1, " of a mesh that has ", all.ny);
  return first;
}

/// The unknowns of `part`, which has all rows or those of a subdomain.
template <class T>
[[nodiscard]] GridLayout<2> layout_of(const TensorMesh<2>& mesh, const GridFunction<T>& part) {
  GridLayout<2> layout = mesh.unknowns();
  if (!part.is_part()) return layout;
  layout.ny = part.layout.ny;
  layout.origin_y = part.layout.origin_y;
  layout.below = part.layout.below;
  layout.above = part.layout.above;
  return layout;
}

/// Runs body(j, functions...) for rows j = 0 .. rows-1 on the Context's threads, each with its own copies of the functions,
/// and hands the exception of the first row that has one to the caller.
template <class Body, class... Functions>
void for_each_row(const Context& ctx, int rows, const Body& body, const Functions&... functions) {
  std::exception_ptr failure;
  int failed = rows;
#pragma omp parallel num_threads(ctx.threads())
  {
    const auto run = [&](const Functions... own) {
#pragma omp for schedule(static)
      for (int j = 0; j < rows; ++j) {
        try {
          body(j, own...);
        } catch (...) {
#pragma omp critical(stratum_for_each_row)
          if (j < failed) {
            failed = j;
            failure = std::current_exception();
          }
        }
      }
    };
    run(functions...);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace stratum
