#pragma once

// Four-colour Gauss-Seidel: nodes of one colour (x % 2, y % 2) are not coupled by a nine-point operator, so that
//
//     x_ij <- x_ij + omega (b - A x)_ij / a_(0,0)(i, j)
//
// runs in parallel over a colour, colour after colour, in place. Source: Goeddeke, Strzodka 2011, Section 3.2.
//
// Forward order of the global indices (x, y): (odd, odd), (even, odd), (odd, even), (even, even). The two colours of a row only
// need the rows beside it, which have other colours, so that a row does both while it is in cache: 3 words a node and
// the coefficients. omega = 1 by default.
//
// Where the grid is cut into strips a march relaxes a strip as if it were alone, and then again what lies on a cut and is
// relaxed second, from the neighbour's relaxed row: two exchanges a step. What does not march exchanges before every colour.
//
// On a GPU one pass does all four colours, out of place, between x and a scratch vector: a warp walks down a strip
// (core/grid/march.hpp) and relaxes a row of the first colours as soon as it has the rows around it, then the row of the other
// colours above. Four passes in place would touch every sector of memory four times.

#include <stratum/core/grid/vector.hpp>
#include <stratum/smoothers/smoother.hpp>

namespace stratum {

/// `smooth` is defined in colour_gs_kernels.hpp.
template <class T>
class ColourGaussSeidel final : public Smoother<T> {
 public:
  ColourGaussSeidel(Context& ctx, const GridShape& shape, const SmootherParams& params)
      : Smoother<T>(shape), omega_(static_cast<T>(damping_or(params, 1.0))), in_pieces_(!params.pieces.empty()) {
    if (ctx.on_gpu()) scratch_ = Vector<T>(ctx, shape);
  }

  void smooth(Context& ctx, const GridOperator<T>& a, GridView<const T> b, GridView<T> x, int steps, Guess guess,
              SweepOrder order) override;

  [[nodiscard]] std::optional<typename Smoother<T>::Reach> reach(int steps) const override {
    return {{2 * steps, false}};
  }
  [[nodiscard]] double words_per_step(int coefficient_words) const override { return 3.0 + coefficient_words; }

 private:
  T omega_;
  bool in_pieces_;     // one strip goes colour by colour as several do
  Vector<T> scratch_;  // on a GPU only
};

}  // namespace stratum
