#pragma once

// The integrals of assembly/expressions/gpu_integrals.hpp over the cells of boxes. Directions are those of storage: direction d
// of arrays and views is direction order[d] of the box; `order` swaps z with one direction, or with none.
//
//     loads        integrals of f phi_i of the nodes that a target names    one thread per node, 1 word
//     cells        f at their centres                                       one thread per cell, 1 word
//     error sums   3 x 3 x 3 Gauss rule                                     one thread per cell, reads 1 word per node
//
// All wait for the stream.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stratum/assembly/expressions/point_kernels.hpp>
#include <stratum/assembly/poisson_problem_3d.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/field/field_3d.hpp>

namespace stratum {

/// Whether the GPU evaluates f, unless f has a value that is not finite; `nodes`: of the box. Computes nothing.
[[nodiscard]] bool gpu_computes(const Context& ctx, const ScalarFunction3D& f, std::int64_t nodes);

/// Nodes first .. first + count - 1 of every direction; where periodic the first one has the cells at both ends. Number (i, j,
/// k) of them goes to `to`, so far apart.
struct BoxLoadTarget {
  struct Nodes {
    int first = 0, count = 0;
    bool periodic = false;
  };
  std::array<Nodes, 3> nodes{};
  double* to = nullptr;
  std::array<std::int64_t, 3> apart{};
};

/// The kernel that one expression's loads had, for its loads at other times.
struct KeptBoxKernel {
  std::string text;
  std::shared_ptr<const void> kernel;
};

/// By `points` Gauss points a direction; true where all targets are done. The kernel of an expression that has the time is
/// taken from `kept`, or left there.
[[nodiscard]] bool box_loads_on_gpu(Context& ctx, const TensorMesh<3>& mesh, const std::array<std::size_t, 3>& order,
                                    const ScalarFunction3D& f, int points, std::span<const BoxLoadTarget> targets,
                                    KeptBoxKernel& kept);

/// f, an expression, at the centres of the cells, x fastest. None where the GPU does not evaluate it, of boxes too
/// small for that to pay, in a dry run, and where a value is not finite and positive.
[[nodiscard]] std::optional<std::vector<double>> box_cells_on_gpu(Context& ctx, const TensorMesh<3>& mesh,
                                                                  const ScalarFunction3D& f);

/// u at all nodes; of intervals, K of direction d is k[d] times w of the two others.
[[nodiscard]] std::optional<ErrorSums> box_errors_on_gpu(Context& ctx, const TensorMesh<3>& mesh,
                                                         const std::array<std::size_t, 3>& order,
                                                         const ScalarFunction3D& exact, FieldView<const double, 3> u,
                                                         const std::array<std::vector<double>, 3>& k,
                                                         const std::array<std::vector<double>, 3>& w, double reaction);

}  // namespace stratum
