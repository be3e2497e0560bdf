#pragma once

// Implementation of `couplings`. The build generates one source per number type.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <stratum/core/field/reduce.hpp>
#include <stratum/multigrid/couplings.hpp>

namespace stratum {

namespace {

constexpr double infinite = std::numeric_limits<double>::max();

template <class View>
struct Sums {
  View a;
  int first_x, first_y, nodes_x;

  struct Of {
    double x, y, mixed;
    /// 1 - 4 m^2 / (s_x s_y); 1 where rounding decides.
    [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE double alignment() const {
      constexpr double least = 1e-12;
      return x > least * y && y > least * x ? 1 - 4 * (mixed / x) * (mixed / y) : 1.0;
    }
  };
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE Of of(int column, int row) const {
    const int i = column + first_x, j = row + first_y;
    const double sw = a.template coefficient<-1, -1>(i, j), s = a.template coefficient<0, -1>(i, j),
                 se = a.template coefficient<1, -1>(i, j), w = a.template coefficient<-1, 0>(i, j),
                 e = a.template coefficient<1, 0>(i, j), nw = a.template coefficient<-1, 1>(i, j),
                 n = a.template coefficient<0, 1>(i, j), ne = a.template coefficient<1, 1>(i, j);
    // Of one cell each, or differences of widths would not cancel.
    double mixed = 0;
    int columns = 0;
    if (i > 0) {
      mixed += (nw - a.template coefficient<1, 1>(i - 1, j)) + (a.template coefficient<1, -1>(i - 1, j) - sw);
      ++columns;
    }
    if (i + 1 < nodes_x) {
      mixed += (a.template coefficient<-1, 1>(i + 1, j) - ne) + (se - a.template coefficient<-1, -1>(i + 1, j));
      ++columns;
    }
    return {-((sw + w + nw) + (se + e + ne)), -((sw + s + se) + (nw + n + ne)),
            columns > 0 ? mixed / (2 * columns) : 0.0};
  }
};

/// s_x / s_y, or the reverse.
template <class View>
struct Strength : Sums<View> {
  bool in_x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const auto s = this->of(i, j);
    const double own = in_x ? s.x : s.y, other = in_x ? s.y : s.x;
    return own <= 0 ? 0.0 : other <= 0 ? infinite : own / other;
  }
};

template <class View>
struct Misaligned : Sums<View> {
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const { return 1 - this->of(i, j).alignment(); }
};

template <class View>
struct IsRotated : Sums<View> {
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return this->of(i, j).alignment() < Couplings::aligned ? 1.0 : 0.0;
  }
};

/// Ratio of s_x s_y to the right or upper neighbour's, or the reverse.
template <class View>
struct Jump : Sums<View> {
  int nx, ny;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double own = size(i, j), right = i + 1 < nx ? size(i + 1, j) : own, upper = j + 1 < ny ? size(i, j + 1) : own;
    return larger(ratio(own, right), ratio(own, upper));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double size(int i, int j) const {
    const auto s = this->of(i, j);
    constexpr double least = 1e-12;
    return s.x > least * s.y && s.y > least * s.x ? sqrt(s.x) * sqrt(s.y) : 0.0;
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE static double larger(double a, double b) { return a > b ? a : b; }
  STRATUM_HOST_DEVICE STRATUM_INLINE static double ratio(double a, double b) {
    return a > 0 && b > 0 ? larger(a / b, b / a) : 1.0;
  }
};

/// Of the first row, for the subdomain below.
template <class View>
struct FirstSizes {
  Jump<View> of;
  FieldView<double> sizes;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*row*/) const { sizes(i, 0) = of.size(i, 0); }
};
/// From the last row to the first one of the subdomain above.
template <class View>
struct JumpAbove {
  Jump<View> of;
  FieldView<const double> sizes;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int /*row*/) const {
    return of.ratio(of.size(i, of.ny - 1), sizes(i, 1));
  }
};

/// Between the rows beside a cut.
template <class View>
double jump_across_cuts(Context& ctx, const GridLayout<2>& subdomain, const Jump<View>& jump) {
  GridLayout<2> row{jump.nx, 1};
  row.below = subdomain.below;
  row.above = subdomain.above;
  Field<double> sizes(ctx, row);
  for_each_node(ctx, {0, jump.nx, 1, 0, 1, 1}, FirstSizes<View>{jump, sizes.view()});
  exchange(ctx, sizes);
  const bool is_last = ctx.communicator()->rank() + 1 == ctx.subdomains();
  return largest_of(ctx, is_last ? 0 : jump.nx, 1, JumpAbove<View>{jump, sizes.cview()});
}

struct One {
  static constexpr bool takes_maximum = false;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int /*i*/, int /*j*/) const { return 1; }
};

/// Lines at either end that do not count.
int margin(int nodes) { return nodes > 8 ? 2 : nodes > 2 ? 1 : 0; }

}  // namespace

template <class T>
Couplings couplings(Context& ctx, const GridOperator<T>& a) {
  const GridLayout<2> shape = a.shape();
  if (shape.nodes() == 0 || ctx.is_dry_run()) return {};
  // Of a subdomain the physical boundaries'.
  const int out_x = margin(shape.nx), out_y = margin(shape.ny), first_y = shape.below ? 0 : out_y,
            nx = shape.nx - 2 * out_x, ny = shape.ny - first_y - (shape.above ? 0 : out_y);
  return a.visit([&](const auto& view) {
    using View = std::decay_t<decltype(view)>;
    const Sums<View> sums{view, out_x, first_y, shape.nx};
    Couplings found;
    found.along_x = std::sqrt(largest_of(ctx, nx, ny, Strength<View>{sums, true}));
    found.along_y = std::sqrt(largest_of(ctx, nx, ny, Strength<View>{sums, false}));
    found.least_aligned = 1 - largest_of(ctx, nx, ny, Misaligned<View>{sums});
    if (found.least_aligned < Couplings::aligned)
      found.rotated = reduce(ctx, nx, ny, IsRotated<View>{sums}) / reduce(ctx, nx, ny, One{});
    const Jump<View> jump{sums, nx, ny};
    found.jump = largest_of(ctx, nx, ny, jump);
    if (shape.below || shape.above) found.jump = std::max(found.jump, jump_across_cuts(ctx, shape, jump));
    return found;
  });
}

}  // namespace stratum
