#pragma once

// cuDSS, NVIDIA's sparse direct solver on a GPU, as a peer: A = L D L^T of the matrix of a mesh, symmetric positive definite,
// its upper triangle by rows, in double. Analysis and factorisation are set-up, as a cycle's hierarchy is. Memory: cuDSS's own,
// which grows faster than the unknowns. Source: cuDSS API Reference, NVIDIA.

#include <memory>
#include <string>

#include "sine_transform.hpp"

namespace stratum::apps {

class Cudss {
 public:
  [[nodiscard]] static bool available();
  [[nodiscard]] static std::string version();

  /// On the stream of the Context. Throws ResourceError when this program was built without cuDSS or where that reports an
  /// error.
  Cudss(Context& ctx, const TensorMesh<2>& mesh, Stopwatch now);

  /// As SineTransforms has it; waits for the stream. The report's choice says what analysis and factorisation took.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    double rtol) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stratum::apps
