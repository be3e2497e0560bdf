#include <gtest/gtest.h>

#include <set>
#include <string>

#include <stratum/core/names.hpp>
#include <stratum/multigrid/heat_solver.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/solvers/jacobi_sweeps.hpp>

namespace stratum {
namespace {

/// Values count from 0 on, and each has one name of its own.
template <class E>
void expect_a_name_for_each(E last) {
  std::set<std::string> names;
  std::set<E> values;
  for (const auto& [value, name] : names_of<E>) {
    names.insert(name);
    values.insert(value);
    EXPECT_EQ(to_string(value), name);
  }
  EXPECT_EQ(names.size(), names_of<E>.size());
  EXPECT_EQ(values.size(), static_cast<std::size_t>(last) + 1) << list_of_names(values_of<E>);
  EXPECT_EQ(to_string(static_cast<E>(static_cast<int>(last) + 1)), "unknown") << "the last value is another one now";
}

TEST(Names, EveryValueHasOne) {
  expect_a_name_for_each(Cycle::k);
  expect_a_name_for_each(Method::bicgstab);
  expect_a_name_for_each(Precision::residual_replacement);
  expect_a_name_for_each(InterpolationKind::matrix);
  expect_a_name_for_each(DistributedSmoothing::overlap);
  expect_a_name_for_each(DeflateBy::automatic);
  expect_a_name_for_each(BoundaryConditionType::periodic);
  expect_a_name_for_each(TimeMethod::tr_bdf2);
  expect_a_name_for_each(Status::non_finite);
  expect_a_name_for_each(ReferenceNorm::initial);
  expect_a_name_for_each(LineOrder::simultaneous);
  expect_a_name_for_each(SweepTest::residual);
}

TEST(Names, AreThoseThatUsersType) {
  EXPECT_EQ(list_of_names(values_of<Cycle>), "v, w, f, w2, k");
  EXPECT_EQ(list_of_names(values_of<Method>), "multigrid, cg, fcg, cr, gcr, gmres, bicgstab");
  EXPECT_EQ(list_of_names(values_of<Precision>), "mixed, double, residual-replacement, double-single, single");
  EXPECT_EQ(list_of_names(values_of<InterpolationKind>), "conductance, split, bilinear, matrix");
  EXPECT_EQ(list_of_names(values_of<DistributedSmoothing>), "auto, exact, overlap");
  EXPECT_EQ(list_of_names(values_of<BoundaryConditionType>), "dirichlet, neumann, robin, periodic");
  EXPECT_EQ(list_of_names(values_of<DeflateBy>), "none, inclusions, blocks, ritz, auto");
  EXPECT_EQ(list_of_names(values_of<TimeMethod>), "euler, crank-nicolson, tr-bdf2");
  EXPECT_EQ(list_of_names(values_of<Status>),
            "converged, round-off limit, max iterations, stagnated, diverged, breakdown, non-finite input");
  EXPECT_EQ(list_of_names(values_of<ReferenceNorm>), "rhs, initial");
  EXPECT_EQ(list_of_names(values_of<LineOrder>), "zebra, simultaneous");
  EXPECT_EQ(list_of_names(values_of<SweepTest>), "increment, residual");
}

}  // namespace
}  // namespace stratum
