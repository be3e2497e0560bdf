// Smoothers on a grid cut into strips of rows, a thread and a Context each, against the same smoother on one piece, for every
// form of operator, every kind of side and strips of one row. Halos hold NaN before.

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;
using enum LineEnd;

struct Sides {
  LineEnd left, right, bottom, top;
};
constexpr Sides every_side[] = {{dirichlet, dirichlet, dirichlet, dirichlet}, {natural, natural, natural, dirichlet},
                                {dirichlet, natural, natural, natural},       {natural, dirichlet, periodic, periodic},
                                {periodic, periodic, dirichlet, natural},     {periodic, periodic, periodic, periodic}};

/// An operator of the tests: a form, with or without reaction; of cells with so many numbers each, none for those of the mesh.
struct Kind {
  const char* name;
  OperatorForm form;
  bool reaction;
  int numbers = 0;
};
constexpr Kind every_kind[] = {
    {"tensor", OperatorForm::tensor, false},       {"tensor with reaction", OperatorForm::tensor, true},
    {"five bands", OperatorForm::symmetric, true}, {"nine bands", OperatorForm::nine_band, true},
    {"scalar K", OperatorForm::cell, false, 1},    {"full K", OperatorForm::cell, true, 3}};

/// Rows begin .. end - 1 of the mesh's unknowns, counted from 0.
GridShape strip_of(const TensorMesh& mesh, int begin, int end) {
  GridShape shape = mesh.unknowns();
  if (end - begin == shape.ny) return shape;
  shape.below = begin > 0 || shape.periodic_y;
  shape.above = end < shape.ny || shape.periodic_y;
  shape.periodic_y = false;
  shape.origin_y += begin;
  shape.ny = end - begin;
  return shape;
}

template <class T>
GridOperator<T> make_operator(Context& ctx, const TensorMesh& mesh, const Kind& kind, const GridShape& strip) {
  OperatorTerms terms;
  if (kind.reaction) {
    terms.reaction = 3;
    if (mesh.x().first_end() == natural) terms.left.constant = 2;
    if (mesh.y().last_end() == natural) terms.top.constant = 5;
  }
  if (kind.numbers == 0) return assemble_operator<T>(ctx, mesh, kind.form, terms, strip);
  test::Random random(11);
  const auto draw = [&](double low, double high) {
    return random.values(static_cast<std::size_t>(mesh.cells()), low, high);
  };
  CellCoefficients k{mesh.x().size(), mesh.y().size(), draw(1, 9), {}, {}, {}};
  if (kind.numbers == 3) k.xy = draw(-0.9, 0.9), k.yy = draw(1, 9), k.c = draw(0, 2);
  const CellFields fields(ctx, mesh, k, terms.reaction);
  return convert<T>(ctx, assemble_diffusion(ctx, mesh, k, fields, terms, strip));
}

/// What a smoother is to do.
struct Work {
  std::string smoother;
  LineOrder line_order = LineOrder::zebra;
  Guess guess = Guess::given;
  SweepOrder order = SweepOrder::forward;
  int applications = 2;
};

template <class S>
class SmootherStrips : public test::OnEverySetting<S> {
 protected:
  using T = typename S::Number;

  /// x after the work on strips of so many rows each, and what the strips said to each other.
  Values smoothed(const TensorMesh& mesh, const Kind& kind, const Work& work, const Values& xs, const Values& bs,
                  const std::vector<int>& rows) {
    const auto count = rows.size();
    const auto communicators = pieces(static_cast<int>(count));
    std::vector<Values> parts(count);
    std::vector<std::string> errors(count);
    std::vector<std::thread> threads;
    int begin = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const int end = begin + rows[k];
      threads.emplace_back([&, k, shape = strip_of(mesh, begin, end), begin, end] {
        try {
          Context ctx(S::backend, 1);
          if (count > 1) ctx.set_communicator(communicators[k]);
          const auto part = [&, begin, end](const Values& all) {
            const auto row = [&](int j) { return all.begin() + std::int64_t{j} * shape.nx; };
            auto v = test::to_device<T>(ctx, shape, Values(row(begin), row(end)));
            poison(ctx, v);
            return v;
          };
          const auto a = make_operator<T>(ctx, mesh, kind, shape);
          SmootherParams params;
          params.line_order = work.line_order;
          params.form = kind.form;
          const auto smoother = builtin_smoothers().make<T>(ctx, work.smoother, shape, params);
          auto x = part(xs), b = part(bs);
          smoother->smooth(ctx, a, b.cview(), x.view(), work.applications * smoother->elementary_steps(), work.guess,
                           work.order);
          parts[k] = test::to_host(ctx, x);
        } catch (const std::exception& error) {
          errors[k] = error.what();
          communicators[k]->abandon();
        }
      });
      begin = end;
    }
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) EXPECT_EQ(error, "");
    Values all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  Values numbers(const TensorMesh& mesh) { return random_.values(static_cast<std::size_t>(mesh.unknowns().nodes())); }
  [[nodiscard]] TensorMesh mesh(const Sides& sides, int nx, int ny) {
    return {Line(random_.widths(nx)).with_ends(sides.left, sides.right),
            Line(random_.widths(ny)).with_ends(sides.bottom, sides.top)};
  }

  test::Random random_{431};

 private:
  /// NaN where the halo belongs to others.
  static void poison(Context& ctx, Vector<T>& v) {
    const auto put = [&](int i, int j, int nx, int ny) {
      GridView<T> halo = v.view();
      halo.data = &halo(i, j);
      halo.nx = nx;
      halo.ny = ny;
      set(ctx, std::numeric_limits<T>::quiet_NaN(), halo);
    };
    const GridShape s = v.shape();
    if (s.below || s.periodic_y) put(0, -1, s.nx, 1);
    if (s.above || s.periodic_y) put(0, s.ny, s.nx, 1);
    if (!s.periodic_x) return;
    put(-1, 0, 1, s.ny);
    put(s.nx, 0, 1, s.ny);
  }
};
TYPED_TEST_SUITE(SmootherStrips, test::EverySetting);

/// `rows` rows in `count` strips, the last with what is left; or one row each but for one strip.
std::vector<int> shared_out(int rows, int count, bool single = false) {
  std::vector<int> strips(static_cast<std::size_t>(count), single ? 1 : rows / count);
  strips[single ? strips.size() / 2 : strips.size() - 1] += rows - count * strips[0];
  return strips;
}

TYPED_TEST(SmootherStrips, SeveralEqualOne) {
  using Number = typename TypeParam::Number;
  const double tolerance = std::is_same_v<Number, double> ? 1e-13 : 2e-5;
  for (const Sides& sides : every_side)
    for (const auto& [nx, ny] : {std::pair{20, 24}, {37, 17}}) {
      const TensorMesh mesh = this->mesh(sides, nx, ny);
      const Values xs = this->numbers(mesh), bs = this->numbers(mesh);
      const int rows = mesh.unknowns().ny;
      for (const Kind& kind : every_kind)
        for (const char* name : {"line_x", "line_y", "adi", "jacobi"})
          for (const auto line_order : {LineOrder::zebra, LineOrder::simultaneous})
            for (const auto guess : {Guess::given, Guess::zero})
              for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
                const Work work{name, line_order, guess, order};
                SCOPED_TRACE(testing::Message()
                             << mesh.unknowns().nx << " x " << rows << ", " << to_string(sides.left) << " "
                             << to_string(sides.right) << " " << to_string(sides.bottom) << " " << to_string(sides.top)
                             << ", " << kind.name << ", " << name << ", " << to_string(line_order)
                             << (guess == Guess::zero ? ", from zero" : "")
                             << (order == SweepOrder::backward ? ", backward" : ""));
                const Values one = this->smoothed(mesh, kind, work, xs, bs, {rows});
                double largest = 0;
                for (const double value : one) largest = std::max(largest, std::abs(value));
                for (const auto& strips : {shared_out(rows, 2), shared_out(rows, 3, true), shared_out(rows, 5)}) {
                  const Values several = this->smoothed(mesh, kind, work, xs, bs, strips);
                  ASSERT_EQ(several.size(), one.size());
                  for (std::size_t k = 0; k < one.size(); ++k)
                    ASSERT_NEAR(several[k], one[k], tolerance * largest) << strips.size() << " strips, number " << k;
                }
              }
    }
}

}  // namespace
