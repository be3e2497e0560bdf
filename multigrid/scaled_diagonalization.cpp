#include <stratum/multigrid/scaled_diagonalization.hpp>

#include <cmath>
#include <vector>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/multigrid/box_slabs.hpp>

namespace stratum {

namespace {

/// Of this rank's nodes, x fastest: the mean of log K over the cells around each; and of the nodes of all ranks.
struct MeanLogarithms {
  std::vector<double> nodes;
  double all = 0;

  MeanLogarithms(const Context& ctx, const BoxCoefficients& c) {
    const BoxShape shape = c.shape();
    const auto& [nx, ny, nz] = shape.n;
    nodes.reserve(static_cast<std::size_t>(shape.n.nodes()));
    for (int k = 0; k < nz; ++k)
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) {
          double sum = 0, weights = 0;
          for (int corner = 0; corner < 8; ++corner) {
            const int x = i + (corner & 1), y = j + (corner >> 1 & 1), z = c.slab.before + k + (corner >> 2);
            const auto m = [&](std::size_t d, int at) { return c.axes[d].m[static_cast<std::size_t>(at)]; };
            if (m(0, x) == 0 || m(1, y) == 0 || m(2, z) == 0) continue;  // outside the box
            const std::size_t cell =
                (static_cast<std::size_t>(z) * static_cast<std::size_t>(ny + 1) + static_cast<std::size_t>(y)) *
                    static_cast<std::size_t>(nx + 1) +
                static_cast<std::size_t>(x);
            sum += std::log(c.xx[cell]);
            weights += 1;
          }
          nodes.push_back(sum / weights);
          all += nodes.back();
        }
    const std::vector<double> sums = sums_of_ranks(ctx, {all, static_cast<double>(nodes.size())});
    all = sums[0] / sums[1];
  }
};

}  // namespace

ScaledDiagonalization::ScaledDiagonalization(Context& ctx, const BoxCoefficients& coefficients,
                                             const std::array<AxisFactors, 3>& axes, int lines,
                                             const std::vector<int>& cuts)
    : shape_(coefficients.shape()), order_(order_of(lines)) {
  std::array<AxisFactors, 3> factors;
  std::array<int, 3> n{};
  for (std::size_t d = 0; d < 3; ++d) {
    factors[d] = axes[order_[d]];
    n[d] = shape_.size(static_cast<int>(order_[d]));
  }
  std::array<LineModes, 2> modes;
  scale_ = BoxMemory(ctx, n, false);
  b_ = BoxMemory(ctx, n, false);
  x_ = BoxMemory(ctx, n, false);
  if (!ctx.is_dry_run()) {
    const MeanLogarithms logarithms(ctx, coefficients);
    mean_ = std::exp(logarithms.all);
    // What Robin faces have of the operator is divided by K, too.
    for (AxisFactors& axis : factors) {
      if (axis.m.front() == 0) axis.k.front() /= mean_;
      if (axis.m.back() == 0) axis.k.back() /= mean_;
    }
    modes = modes_of(ctx, factors[0], factors[1]);
    std::vector<double> scales;
    scales.reserve(logarithms.nodes.size());
    for (const double logarithm : logarithms.nodes) scales.push_back(std::exp(-0.5 * logarithm));
    Field<double, 3> staged(ctx, shape_.layout(0));
    copy_from_host<double>(ctx, scales.data(), staged.view());
    box_gather(ctx, staged.cview().data, apart(order_, staged.cview().strides), scale_.view);
    ctx.synchronise();
  }
  direct_ = BoxDiagonalization(ctx, factors, coefficients.reaction / mean_, modes[0], modes[1], cuts);
}

void ScaledDiagonalization::apply(Context& ctx, FieldView<const double> r, FieldView<double> z) {
  const auto from = box_of(shape_, r);
  const auto to = box_of(shape_, z);
  box_gather(ctx, from.data, apart(order_, from.strides), b_.view);
  box_multiply(ctx, scale_.view, b_.view);
  direct_.apply(ctx, b_.view, b_.view, x_.view, false);
  box_multiply(ctx, scale_.view, x_.view);
  box_scatter(ctx, x_.view, to.data, apart(order_, to.strides));
}

}  // namespace stratum
