#pragma once

// The sine transforms of sine_transform.hpp on a GPU, by cuFFT, which has none of its own. With v continued as an odd function
// of period 2 (n + 1), (0, v_1 .. v_n, 0, -v_n .. -v_1),
//
//     2 sum over i of v_i sin(pi k i / (n + 1)) = -Im of number k of its Fourier transform ,   k = 1 .. n ,
//
// so that of the real-to-complex transforms (D2Z) of twice the length half is work in vain. Those along x are contiguous,
// those along y strided; kernels in between continue and divide. Memory: 4 words an unknown, and cuFFT's own. In double.
// Source: cuFFT API Reference, NVIDIA; FFTW manual, version 3.3, 1d Real-odd DFTs (DSTs).

#include <memory>
#include <string>

#include "sine_transform.hpp"

namespace stratum::apps {

class CufftSines {
 public:
  [[nodiscard]] static bool available();
  [[nodiscard]] static std::string version();

  /// On the stream of the Context. Throws ResourceError when this program was built without cuFFT or where that reports an
  /// error, UsageError for a mesh that sine transforms do not solve on.
  CufftSines(Context& ctx, const TensorMesh<2>& mesh, Stopwatch now);

  /// As SineTransforms has it; waits for the stream.
  SolveReport solve(Context& ctx, const GridOperator<double>& a, FieldView<const double> b, FieldView<double> x,
                    double rtol) const;

 private:
  void transform(int plan) const;

  Stopwatch now_;
  double setup_seconds_ = 0;
  GridLayout<2> shape_;
  Field<double> kx_, mx_, ky_, my_;
  std::shared_ptr<void> continued_, spectrum_;
  std::shared_ptr<int> along_x_, along_y_;  // cuFFT's plans
};

}  // namespace stratum::apps
