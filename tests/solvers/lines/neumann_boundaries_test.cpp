// Line sweeps in float on cells as thin as 1e-10 beside Neumann or Robin boundaries: what a sweep in double gives, to the
// rounding of a float.

#include <cmath>
#include <vector>

#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

/// n intervals that shrink to 1e-10 at the last end or at both.
Axis thin_line(int n, bool both) {
  std::vector<double> widths;
  for (int i = 0; i < n; ++i) {
    const double from_thick = both ? std::abs(2.0 * i / (n - 1) - 1) : static_cast<double>(i) / (n - 1);
    widths.push_back(std::pow(10.0, -10 * from_thick * from_thick));
  }
  return Axis(widths).with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
}

class NaturalEnds : public test::OnEveryBackend {
 protected:
  template <class T>
  Values smoothed(const TensorMesh<2>& mesh, StorageFormat format, const char* smoother, const OperatorTerms& terms,
                  const Values& b) {
    const auto a = assemble_operator<T>(ctx(), mesh, format, terms);
    SmootherParams params;
    params.format = format;
    const auto smooth = builtin_smoothers().make<T>(ctx(), smoother, a.shape(), params);
    const auto right = test::to_device<T>(ctx(), a.shape(), b);
    auto x = test::to_device<T>(ctx(), a.shape(), Values(b.size()));
    smooth->smooth(ctx(), a, right.cview(), x.view(), smooth->sweeps_per_application(), Guess::zero,
                   SweepOrder::forward);
    smooth->smooth(ctx(), a, right.cview(), x.view(), smooth->sweeps_per_application(), Guess::given,
                   SweepOrder::backward);
    return test::to_host(ctx(), x);
  }
};
INSTANTIATE_ON_EVERY_BACKEND(NaturalEnds);

TEST_P(NaturalEnds, FloatSweepsKeepTheRowSums) {
  for (const auto& [nx, ny] : {std::pair{40, 23}, {23, 40}, {300, 70}})
    for (const double alpha : {0.0, 1e-3, 1e3}) {
      const TensorMesh<2> mesh{thin_line(nx, false), thin_line(ny, true)};
      OperatorTerms terms;
      terms.right.constant = terms.bottom.constant = alpha;
      const auto nodes = static_cast<std::size_t>(mesh.unknowns().nodes());
      test::Random random(3);
      // Loads like those of a positive function, as thin cells have them.
      Values b = random.values(nodes);
      const auto shape = mesh.unknowns();
      const auto weight = [](const Axis& line, int i) {
        return (i > 0 ? line.widths()[static_cast<std::size_t>(i) - 1] : 0) +
               (i < line.size() ? line.widths()[static_cast<std::size_t>(i)] : 0);
      };
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          double& load = b[static_cast<std::size_t>(j * shape.nx + i)];
          load = (1.5 + load) * weight(mesh.x(), i) * weight(mesh.y(), j);
        }
      for (const char* smoother : {"line_x", "line_y", "adi"}) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", alpha " << alpha << ", " << smoother);
        const Values expected = smoothed<double>(mesh, StorageFormat::tensor, smoother, terms, b);
        EXPECT_LT(
            reference::relative_difference(smoothed<float>(mesh, StorageFormat::tensor, smoother, terms, b), expected),
            ctx().on_gpu() ? 1e-4 : 2e-5);  // reciprocals there are good to one unit in the last place
      }
    }
}

}  // namespace
