// Smoothers, products and interpolation of boxes that are wider than the tiles and chunks of kernels, against those of a CPU:
// from a vector and from zero, in either order, of cells and of bands, going round or not.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/box_problems.hpp"

namespace {

using namespace stratum;
using test::BoxProblem;
using test::Random;

struct Case {
  std::array<int, 3> cells;
  std::array<std::string, 3> ends;
  double reaction;
  bool scalar, bands;
};

std::vector<Case> cases() {
  return {{{131, 16, 5}, {"DD", "DD", "DD"}, 0, true, false}, {{64, 21, 6}, {"NN", "RD", "ND"}, 0, true, false},
          {{130, 14, 6}, {"PP", "PP", "PP"}, 0, true, false}, {{61, 15, 7}, {"DD", "NN", "PP"}, 3, true, false},
          {{67, 20, 4}, {"RR", "DN", "DD"}, 0, false, false}, {{60, 12, 8}, {"PP", "DD", "NN"}, 2, false, false},
          {{131, 9, 5}, {"DD", "NN", "DD"}, 1, true, true},   {{64, 16, 6}, {"PP", "PP", "DD"}, 0, true, true}};
}

BoxProblem problem_of(const Case& c, Random& random) {
  BoxProblem p;
  std::size_t cells = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    p.widths[d] = random.widths(c.cells[d], 1);
    cells *= static_cast<std::size_t>(c.cells[d]);
  }
  p.ends = c.ends;
  p.reaction = c.reaction;
  for (auto* k : {&p.k, &p.kyy, &p.kzz}) {
    *k = random.values(cells, 0.1, 10);
    if (c.scalar) break;
  }
  return p;
}

std::string name_of(const Case& c) {
  return c.ends[0] + ' ' + c.ends[1] + ' ' + c.ends[2] + (c.bands ? ", bands" : c.scalar ? "" : ", K of three numbers");
}

template <class T>
BoxMatrix<T> matrix_of(Context& ctx, const Case& c, const BoxProblem& p) {
  BoxMatrix<double> a = BoxCells<double>(ctx, p.coefficients(), p.scalar());
  if (c.bands) a = BoxMatrix<double>(bands_of(ctx, a));
  if constexpr (std::is_same_v<T, double>)
    return a;
  else
    return BoxMatrix<T>(ctx, a);
}

/// Largest difference, by the largest number.
double apart(const std::vector<double>& found, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference = std::isfinite(found[i]) ? std::max(difference, std::abs(found[i] - expected[i])) : HUGE_VAL;
    size = std::max(size, std::abs(expected[i]));
  }
  return difference / size;
}

struct Start {
  std::vector<double> x, b;
  bool reversed, from_zero;
};

/// A step by points, or by lines along an axis.
template <class T>
std::vector<double> stepped(Context& ctx, const Case& c, const BoxProblem& p, const Start& s, int axis) {
  const BoxMatrix<T> a = matrix_of<T>(ctx, c, p);
  const BoxShape& shape = a.shape();
  auto x = test::box_field<T>(ctx, shape, s.x);
  const auto b = test::box_field<T>(ctx, shape, s.b, 0);
  if (axis < 0) {
    Field<T, 3> other(ctx, shape.layout(1));
    box_points<T>(ctx, a, b.cview(), x, other, s.reversed, s.from_zero);
  } else {
    Field<T, 3> r(ctx, shape.layout(0));
    BoxLines<T>(ctx, matrix_of<double>(ctx, c, p), axis).apply(ctx, a, b.cview(), x.view(), r.view(), s.reversed);
  }
  return test::numbers_of<T>(ctx, x.cview());
}

template <class T>
std::vector<double> residual_in_float(Context& ctx, const Case& c, const BoxProblem& p, const Start& s) {
  const BoxLinearOperator<T> a(ctx, matrix_of<T>(ctx, c, p));
  const auto shape = a.shape();
  Field<T> x(ctx, shape), b(ctx, shape);
  const std::vector<T> of_x(s.x.begin(), s.x.end()), of_b(s.b.begin(), s.b.end());
  copy_from_host<T>(ctx, of_x.data(), x.view());
  copy_from_host<T>(ctx, of_b.data(), b.view());
  Field<float> r(ctx, shape);
  const double norm = a.residual_in_float(ctx, 0.5, b.cview(), x.cview(), r.view());
  std::vector<float> numbers(s.x.size());
  copy_to_host<float>(ctx, r.cview(), numbers.data());
  std::vector<double> result(numbers.begin(), numbers.end());
  result.push_back(norm);
  return result;
}

template <class T>
void expect_alike(Context& ctx, double tolerance) {
  Context host(Backend::cpu, 1);
  Random random(21);
  for (const Case& c : cases()) {
    SCOPED_TRACE(name_of(c));
    const BoxProblem p = problem_of(c, random);
    const auto n = matrix_of<double>(host, c, p).shape().n.nodes();
    Start start{random.values(n), random.values(n), false, false};
    EXPECT_LT(apart(residual_in_float<T>(ctx, c, p, start), residual_in_float<T>(host, c, p, start)), 2e-6);
    for (int order = 0; order < 4; ++order) {
      start.reversed = order % 2 == 1;
      start.from_zero = order / 2 == 1;
      Start from = start;
      if (start.from_zero) from = {std::vector<double>(start.x.size(), 0), start.b, start.reversed, false};
      EXPECT_LT(apart(stepped<T>(ctx, c, p, start, -1), stepped<T>(host, c, p, from, -1)), tolerance) << order;
    }
    for (int axis = 0; axis < 3; ++axis) {
      start.reversed = axis == 1;
      start.from_zero = false;
      EXPECT_LT(apart(stepped<T>(ctx, c, p, start, axis), stepped<T>(host, c, p, start, axis)), tolerance) << axis;
    }
  }
}

TEST(BoxKernels, AreThoseOfACpu) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    expect_alike<double>(ctx, 1e-12);
    expect_alike<float>(ctx, 2e-4);
  }
}

/// A GPU takes a line by one thread or by 2 to 128, in chunks of 1 to 16 nodes, those that are too long for a block apart, and
/// by a thread each where they are many.
TEST(BoxKernels, LinesOfAnyLengthAreThoseOfACpu) {
  Context host(Backend::cpu, 1);
  Random random(5);
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    for (const int length : {2, 3, 6, 17, 130, 257, 513, 1025, 2050, 4200}) {
      if (!ctx.on_gpu() && length > 17) break;
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const bool bands : {false, true}) {
          Case c{{19, 6, 5}, {"DD", "DN", "DD"}, bands ? 0.0 : 2.0, true, bands};
          c.cells[axis] = length;
          SCOPED_TRACE(std::to_string(length) + " cells in direction " + std::to_string(axis) + ", " + name_of(c));
          const BoxProblem p = problem_of(c, random);
          const auto n = matrix_of<double>(host, c, p).shape().n.nodes();
          const Start start{random.values(n), random.values(n), length % 2 == 1, false};
          const int along = static_cast<int>(axis);
          EXPECT_LT(apart(stepped<double>(ctx, c, p, start, along), stepped<double>(host, c, p, start, along)), 1e-11);
          EXPECT_LT(apart(stepped<float>(ctx, c, p, start, along), stepped<float>(host, c, p, start, along)), 1e-4);
        }
    }
    for (const int axis : {1, 2}) {
      if (!ctx.on_gpu()) break;
      const Case many{{401, axis == 1 ? 11 : 401, axis == 1 ? 401 : 11}, {"DD", "DD", "DD"}, 0, true, false};
      const BoxProblem p = problem_of(many, random);
      const auto n = matrix_of<double>(host, many, p).shape().n.nodes();
      const Start start{random.values(n), random.values(n), false, false};
      EXPECT_LT(apart(stepped<double>(ctx, many, p, start, axis), stepped<double>(host, many, p, start, axis)), 1e-11);
    }
  }
}

/// (P c, r) = (c, P^T r)
TEST(BoxKernels, ProlongAsTheyRestrict) {
  for (const Backend backend : test::available_backends()) {
    Context ctx = test::context_on(backend);
    Random random(22);
    for (const Case& c : cases()) {
      SCOPED_TRACE(name_of(c));
      const BoxProblem p = problem_of(c, random);
      const auto levels = gated_levels(p.gate_axes());
      const BoxTransfer<double> transfer(ctx, levels.front(),
                                         matrix_of<double>(ctx, {c.cells, c.ends, c.reaction, c.scalar, false}, p), {});
      const BoxShape fine = transfer.view().fine, coarse = transfer.coarse();
      const auto of_coarse = random.values(coarse.n.nodes()), of_fine = random.values(fine.n.nodes());
      Field<double, 3> x(ctx, fine.layout(1)), b(ctx, coarse.layout(0));
      transfer.prolong(ctx, test::box_field<double>(ctx, coarse, of_coarse).cview(), x.view());
      transfer.restrict_to(ctx, test::box_field<double>(ctx, fine, of_fine, 0).cview(), b.view());
      const auto prolonged = test::numbers_of<double>(ctx, x.cview()),
                 restricted = test::numbers_of<double>(ctx, b.cview());
      long double one = 0, other = 0, size = 0;
      for (std::size_t i = 0; i < of_fine.size(); ++i)
        one += prolonged[i] * of_fine[i], size += std::abs(prolonged[i] * of_fine[i]);
      for (std::size_t i = 0; i < of_coarse.size(); ++i) other += restricted[i] * of_coarse[i];
      EXPECT_LT(static_cast<double>(std::abs(one - other) / size), 1e-14);
    }
  }
}

}  // namespace
