#pragma once

// Integrals over the cells of a rectangle's mesh, computed on a GPU, of functions that a GPU can evaluate:
//
//     b_i = integral of f phi_i           4 x 4 Gauss rule        writes 1 word per node and reads the 1-D arrays of points
//     the sums of error norms             3 x 3 Gauss rule        reads 1 word per node, and the words of K and c
//     the range of a solution             10 reductions           each reads 1 word per node
//
// A GPU can evaluate the polynomial problem and, if the CUDA toolkit's NVRTC is found at run time, expressions. Each function
// returns nothing where the host has to do the work: on the CPU, for C++ functions, on small grids, where the host is done
// before the compiler is, and if a value is not finite, so that the host reports its place. All wait for the stream.

#include <optional>

#include <stratum/assembly/expressions/point_kernels.hpp>
#include <stratum/assembly/grid_function.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/solution_range.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/mesh/tensor_mesh.hpp>

namespace stratum {

/// Whether load and error sums of f are formed on the GPU, unless f has a value that is not finite; `nodes`: unknowns. Computes
/// nothing.
[[nodiscard]] bool gpu_computes(const Context& ctx, const ScalarFunction& f, std::int64_t nodes);

/// True where b is done, on the mesh's unknowns or a subdomain of them.
[[nodiscard]] bool load_on_gpu(Context& ctx, const TensorMesh<2>& mesh, const ScalarFunction& f,
                               const GridFunction<double>& b);

/// Of a subdomain, what its own cells have; all subdomains call it together. `cells`: null where K = 1 and c is `reaction`
/// alone; else copied to the GPU, for a while.
[[nodiscard]] std::optional<ErrorSums> errors_on_gpu(Context& ctx, const TensorMesh<2>& mesh,
                                                     const ScalarFunction& exact, const GridFunction<const double>& u,
                                                     const BoundaryValues& boundaries, double reaction,
                                                     const CellCoefficients* cells);

/// All but the boundary's values. Nothing where u has a value that is not finite. Subdomains get what all of them have.
[[nodiscard]] std::optional<SolutionRange> range_on_gpu(Context& ctx, const TensorMesh<2>& mesh,
                                                        const GridFunction<const double>& u,
                                                        const BoundaryValues& boundaries);

}  // namespace stratum
