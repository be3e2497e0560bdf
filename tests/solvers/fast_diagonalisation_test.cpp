#include <stratum/solvers/fast_diagonalisation.hpp>

#include <utility>

#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class S>
class FastDiagonalisationTest : public test::OnEverySetting<S> {};
TYPED_TEST_SUITE(FastDiagonalisationTest, test::EverySetting);

Intervals uniform(int nodes) { return Intervals(Values(static_cast<std::size_t>(nodes) + 1, 1.0)); }

/// More than 64 nodes need float and, on a GPU, clusters of blocks.
template <class T>
bool has_room(Context& ctx, const GridShape& shape) {
  if (std::max(shape.nx, shape.ny) <= 64) return true;
  Context plan = ctx.plan();
  const auto a = assemble_laplace<T>(plan, {uniform(shape.nx), uniform(shape.ny)}, OperatorForm::tensor);
  return FastDiagonalisation<T>::make(plan, a) != nullptr;
}

TYPED_TEST(FastDiagonalisationTest, AgreesWithElimination) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(121);
  for (const auto& [nx, ny] : {std::pair{1, 1}, {1, 7}, {9, 2}, {15, 15}, {31, 32}, {33, 5}, {3, 64}, {40, 33}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    const auto [oracle, a] = test::random_operator<T>(ctx, random, nx, ny, OperatorForm::tensor);
    const auto b = test::random_vector<T>(ctx, random, a.shape());
    Vector<T> x(ctx, a.shape());
    const auto taken = ctx.memory()->bytes.load();
    const auto solver = FastDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    Context plan = ctx.plan();
    const auto planned = FastDiagonalisation<T>::make(plan, a);
    EXPECT_EQ(ctx.memory()->bytes - taken, plan.memory()->bytes);
    const auto before = ctx.memory()->allocations.load();
    solver->apply(ctx, b.cview(), x.view());
    EXPECT_EQ(ctx.memory()->allocations, before);
    // The factors themselves are rounded to T.
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), reference::solve(oracle, test::to_host(ctx, b))),
              (std::is_same_v<T, float>) ? 1e-2 : 1e-10);
    EXPECT_TRUE(test::halo_is_zero(ctx, x));
  }
}

TYPED_TEST(FastDiagonalisationTest, MoreThan64Nodes) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(124);
  for (const auto& [nx, ny] : {std::pair{65, 3}, {2, 128}, {70, 101}, {128, 97}, {127, 127}}) {
    if (!has_room<T>(ctx, {nx, ny})) continue;
    SCOPED_TRACE(testing::Message() << nx << " x " << ny);
    const Values hx = random.widths(nx + 1, 0.5), hy = random.widths(ny + 1, 0.5);
    const auto a = assemble_laplace<T>(ctx, {Intervals(hx), Intervals(hy)}, OperatorForm::tensor);
    const auto b = test::random_vector<T>(ctx, random, a.shape());
    Vector<T> x(ctx, a.shape());
    const auto solver = FastDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    for (int repeated = 0; repeated < 3; ++repeated) solver->apply(ctx, b.cview(), x.view());
    const auto exact = reference::solve(reference::laplace(hx, hy), test::to_host(ctx, b));
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), exact), (std::is_same_v<T, float>) ? 1e-3 : 1e-10);
  }
}

// Eigenvalues from 10 to 1e20 in one direction.
TYPED_TEST(FastDiagonalisationTest, BoundaryLayersDoNotSpoilIt) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(122);
  for (const auto& [name, level] : {std::pair{"U3", 6}, {"A3", 6}, {"A5", 6}, {"U1", 7}, {"A3", 7}, {"A5", 7}}) {
    SCOPED_TRACE(testing::Message() << name << ", level " << level);
    const auto a = assemble_laplace<T>(ctx, make_mesh(mesh_family(name), level), OperatorForm::tensor);
    if (!has_room<T>(ctx, a.shape())) continue;
    const auto exact = test::random_vector<T>(ctx, random, a.shape());
    Vector<T> b(ctx, a.shape()), x(ctx, a.shape()), r(ctx, a.shape());
    a.apply(ctx, exact.cview(), b.view());
    const auto solver = FastDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver);
    solver->apply(ctx, b.cview(), x.view());
    a.residual(ctx, b.cview(), x.cview(), r.view());
    EXPECT_LT(norm2(ctx, r.cview()), (std::is_same_v<T, float> ? 1e-5 : 1e-13) * norm2(ctx, b.cview()));
  }
}

TYPED_TEST(FastDiagonalisationTest, AMassTermMovesItsEigenvalues) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(123);
  const TensorMesh mesh = make_mesh(mesh_family("A2"), 5);
  const auto made = assemble_laplace<T>(ctx, mesh, OperatorForm::tensor);
  const auto solver = FastDiagonalisation<T>::make(ctx, made);
  const auto exact = test::random_vector<T>(ctx, random, made.shape());
  Vector<T> b(ctx, made.shape()), x(ctx, made.shape()), r(ctx, made.shape());
  for (const double c : {1e8, 1e3, 7.0, 0.0}) {
    OperatorTerms terms;
    terms.reaction = c;
    const auto a = assemble_operator<T>(ctx, mesh, OperatorForm::tensor, terms);
    a.apply(ctx, exact.cview(), b.view());
    const auto before = ctx.memory()->allocations.load();
    solver->set_mass(ctx, c);
    EXPECT_EQ(ctx.memory()->allocations, before);
    solver->apply(ctx, b.cview(), x.view());
    a.residual(ctx, b.cview(), x.cview(), r.view());
    EXPECT_LT(norm2(ctx, r.cview()), (std::is_same_v<T, float> ? 1e-5 : 1e-12) * norm2(ctx, b.cview())) << c;
  }
}

// 1 / h < c h / 6, so that an interval's coupling is positive.
TYPED_TEST(FastDiagonalisationTest, ALargeMassTerm) {
  using T = typename TypeParam::Number;
  auto& ctx = this->ctx();
  test::Random random(125);
  OperatorTerms terms;
  terms.reaction = 3e4;
  for (const char* name : {"U1", "A2"}) {
    const auto a = assemble_operator<T>(ctx, make_mesh(mesh_family(name), 5), OperatorForm::tensor, terms);
    const auto exact = test::random_vector<T>(ctx, random, a.shape());
    Vector<T> b(ctx, a.shape()), x(ctx, a.shape()), r(ctx, a.shape());
    a.apply(ctx, exact.cview(), b.view());
    const auto solver = FastDiagonalisation<T>::make(ctx, a);
    ASSERT_TRUE(solver) << name;
    solver->apply(ctx, b.cview(), x.view());
    a.residual(ctx, b.cview(), x.cview(), r.view());
    EXPECT_LT(norm2(ctx, r.cview()), (std::is_same_v<T, float> ? 1e-5 : 1e-12) * norm2(ctx, b.cview())) << name;
  }
}

TEST(FastDiagonalisationLimits, WhatItCannotSolveIsRefused) {
  Context ctx(Backend::cpu, 1);
  test::Random random(123);
  const auto [large_oracle, large] = test::random_operator<double>(ctx, random, 65, 3, OperatorForm::tensor);
  const auto [stored_oracle, stored] = test::random_operator<double>(ctx, random, 3, 3, OperatorForm::symmetric);
  EXPECT_FALSE(FastDiagonalisation<double>::make(ctx, large));
  EXPECT_FALSE(FastDiagonalisation<double>::make(ctx, stored));
  // Widths from 1e-5 on, each 300 times the one before: rounded to float, the vectors have lost all digits.
  Values widths;
  for (double h = 1e-5; widths.size() < 16; h *= 300) widths.push_back(h);
  const auto thin = assemble_laplace<float>(ctx, {Intervals(widths), Intervals(widths)}, OperatorForm::tensor);
  EXPECT_FALSE(FastDiagonalisation<float>::make(ctx, thin));
}

}  // namespace
