// What is selected for what: a table of facts, and of the Plan that follows from them.

#include <functional>
#include <string>
#include <vector>

#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/select.hpp>

#include <gmock/gmock.h>

namespace {

using namespace stratum;
using Source = SolverFacts::Source;

struct Case {
  const char* name;
  PoissonSolverParams asked;
  SolverFacts facts;
  const char* plan;    // method, cycle, precision, finest smoother and sweeps, interpolation of products
  const char* reason;  // its beginning
};

PoissonSolverParams automatic() {
  PoissonSolverParams params;
  params.multigrid.smoother = "auto";
  return params;
}
template <class Change>
PoissonSolverParams automatic(const Change& change) {
  PoissonSolverParams params = automatic();
  change(params);
  return params;
}

SolverFacts of(const TensorMesh<2>& mesh, bool on_gpu = false) {
  SolverFacts facts;
  facts.meshes = mesh_hierarchy(mesh);
  facts.on_gpu = on_gpu;
  facts.has_halo = mesh.unknowns().has_halo();
  return facts;
}
SolverFacts of(const char* name, int level, bool on_gpu = false) {
  return of(make_mesh(mesh_family(name), level), on_gpu);
}
/// Shishkin's mesh in both directions: its widths jump where its lines cross.
SolverFacts crossing(int cells, double transition, bool on_gpu = false) {
  return of({shishkin(1, cells, transition, GradedSide::first), shishkin(1, cells, transition, GradedSide::last)},
            on_gpu);
}
SolverFacts of_matrix(const Couplings& found, Source source = Source::matrix,
                      StorageFormat format = StorageFormat::symmetric) {
  SolverFacts facts = of("U1", 6);
  facts.source = source;
  facts.couplings = found;
  facts.format = format;
  facts.has_conductances = source == Source::deformed_mesh;
  return facts;
}
SolverFacts of_user(const MatrixFacts& matrix, const Couplings& found = {}) {
  SolverFacts facts = of_matrix(found);
  facts.matrix = matrix;
  return facts;
}
SolverFacts without_numbers(SolverFacts facts) {
  facts.couplings.reset();
  return facts;
}
SolverFacts with_films(SolverFacts facts) {
  facts.has_films = true;
  return facts;
}
SolverFacts periodic(bool on_gpu) {
  const Axis x = uniform(1, 64);
  return of({x.with_boundaries(BoundaryType::periodic, BoundaryType::periodic), x, "around"}, on_gpu);
}
SolverFacts without_modes(SolverFacts facts) {
  facts.has_modes = false;
  return facts;
}
TensorMesh<2> neumann() {
  const Axis x = uniform(1, 64).with_boundaries(BoundaryType::neumann, BoundaryType::neumann);
  return {x, x, "neumann"};
}

const Couplings alike{1.1, 1.1, 0, 1, 1}, jumping{1.1, 1.1, 0, 1, 100}, rotated{1.5, 1.5, 1, 0.02, 1},
    rotated_and_jumping{1.5, 1.5, 1, 0.02, 1e4};

PoissonSolverParams with_cells(PoissonSolverParams params = automatic()) {
  params.coefficients = std::make_shared<const CellCoefficients>();
  return params;
}
PoissonSolverParams symmetric(PoissonSolverParams params = automatic()) {
  params.multigrid.symmetric = true;
  return params;
}

std::vector<Case> table() {
  const char *const v = "V-cycles: neighbouring widths differ", *const f = "F-cycles: neighbouring widths differ",
                    *const cg = "conjugate gradients: neighbouring widths differ";
  const auto method = [](Method m) { return [m](PoissonSolverParams& p) { p.method = m; }; };
  return {
      // The published meshes.
      {"U1", automatic(), of("U1", 8), "multigrid v mixed colour_gs 2", v},
      {"A1", automatic(), of("A1", 8), "multigrid v mixed adi 2", v},
      {"A2", automatic(), of("A2", 8), "multigrid v mixed adi 2", v},
      {"A3", automatic(), of("A3", 8), "multigrid v mixed adi 2", v},
      {"A4", automatic(), of("A4", 8), "multigrid f mixed adi 2", f},
      {"A5", automatic(), of("A5", 8), "multigrid f mixed adi 2", f},
      {"A5, small", automatic(), of("A5", 6), "cg v mixed adi 2", cg},
      {"A5 on a GPU, large", automatic(), of("A5", 10, true), "cg v mixed adi 2", cg},
      // On a GPU few unknowns in one direction are solved without a cycle.
      {"A5 on a GPU, small", automatic(), of("A5", 8, true), "cg v double adi 2 direct", cg},
      {"modes that rounding loses", automatic(), without_modes(of("A5", 8, true)), "cg v mixed adi 2", cg},
      {"single precision stays", automatic([](auto& p) { p.precision = Precision::single; }), of("U1", 6, true),
       "multigrid v single colour_gs 2", v},
      {"inner digits stay", automatic([](auto& p) { p.inner.rtol = 0.01; }), of("U1", 6, true),
       "multigrid v mixed colour_gs 2", ""},
      {"sweeps are a cycle's", automatic([](auto& p) { p.multigrid.sweeps = 4; }), of("U1", 6, true),
       "multigrid v mixed colour_gs 4", v},
      {"periodic, on a GPU", automatic(), periodic(true), "multigrid v mixed colour_gs 2", v},
      {"periodic", automatic(), periodic(false), "multigrid v mixed colour_gs 2", v},
      {"Neumann, on a GPU", automatic(), of(neumann(), true), "multigrid v double colour_gs 2 direct", v},
      // Widths that jump in both directions.
      {"crossing, small", automatic(), crossing(64, 1e-2), "cg v mixed adi 2", cg},
      {"crossing, large", automatic(), crossing(256, 1e-2), "multigrid f mixed adi 2", f},
      {"crossing, far", automatic(), crossing(256, 1e-6), "cg v mixed adi 2", cg},
      {"crossing, large, on a GPU", automatic(), crossing(1024, 1e-2, true), "cg v mixed adi 2", cg},
      {"crossing, with a method", automatic(method(Method::multigrid)), crossing(256, 1e-6), "multigrid f mixed adi 2",
       f},
      {"crossing, not asked for", {}, crossing(64, 1e-6), "multigrid v mixed adi 4", ""},
      {"not asked for, on a GPU", {}, of("A3", 8, true), "multigrid v mixed adi 2", ""},
      {"a cycle", automatic([](auto& p) { p.multigrid.cycle = Cycle::w; }), crossing(64, 1e-6),
       "multigrid w mixed adi 2", ""},
      {"a method", automatic(method(Method::cg)), of("U1", 6), "cg v mixed colour_gs 2", ""},
      {"FMG", automatic([](auto& p) { p.full_multigrid = true; }), of("U1", 6, true), "multigrid v mixed colour_gs 2",
       ""},
      // Tiny grids.
      {"one unknown", automatic(), of("U1", 1, true), "multigrid v mixed jacobi 0", v},
      {"none", automatic(), of("U1", 0), "multigrid v mixed jacobi 0", v},
      // Precisions that have a method.
      {"residual replacement", automatic([](auto& p) { p.precision = Precision::residual_replacement; }), of("U1", 6),
       "cg v residual-replacement colour_gs 2", ""},
      {"double-single", automatic([](auto& p) { p.precision = Precision::double_single; }), of("U1", 6),
       "cg v double-single colour_gs 2", ""},
      // K by cells.
      {"K that is even", with_cells(), of_matrix(alike, Source::cells, StorageFormat::cell), "cg v mixed by matrix",
       "conjugate gradients: K varies"},
      {"K that jumps", with_cells(), of_matrix(jumping, Source::cells, StorageFormat::cell), "cg v mixed by matrix",
       "conjugate gradients: K jumps by up to 1e+02"},
      {"anisotropic K", with_cells(), of_matrix(rotated, Source::cells, StorageFormat::cell), "fcg k mixed by matrix",
       "flexible conjugate gradients around K-cycles: K is rotated against the mesh"},
      {"anisotropic K that jumps", with_cells(), of_matrix(rotated_and_jumping, Source::cells, StorageFormat::cell),
       "cg w2 mixed by matrix", "conjugate gradients around W2-cycles: K is rotated against the mesh"},
      {"anisotropic K, with a method", with_cells(automatic(method(Method::multigrid))),
       of_matrix(rotated, Source::cells, StorageFormat::cell), "multigrid k mixed by matrix", "K-cycles: K is rotated"},
      {"in a memory dry run", with_cells(), without_numbers(of_matrix(alike, Source::cells, StorageFormat::cell)),
       "fcg k mixed by matrix", ""},
      {"K, and no auto", with_cells({}), of_matrix(rotated, Source::cells, StorageFormat::cell), "cg v mixed adi 4",
       "conjugate gradients: K varies"},
      // Deformed meshes.
      {"deformed", automatic(), of_matrix(alike, Source::deformed_mesh), "cg v mixed by matrix",
       "conjugate gradients: the mesh is deformed"},
      {"deformed and rotated", automatic(), of_matrix(rotated, Source::deformed_mesh), "fcg k mixed by matrix",
       "flexible conjugate gradients around K-cycles: K in logical coordinates is rotated"},
      // Matrices.
      {"nine bands", symmetric(), of_matrix(alike, Source::matrix, StorageFormat::nine_band),
       "cg v mixed by matrix bilinear", "conjugate gradients: the matrix is symmetric"},
      {"nine bands that jump", symmetric(), of_matrix(jumping, Source::matrix, StorageFormat::nine_band),
       "cg v mixed by matrix matrix", "conjugate gradients: K jumps"},
      {"without numbers", symmetric(), without_numbers(of_matrix(alike)), "fcg k mixed by matrix matrix", ""},
      {"in films", symmetric(), with_films(of_matrix(alike)), "cg v double by matrix bilinear",
       "conjugate gradients: the matrix is symmetric; cycles in double: cells between boundaries without values"},
      // Somebody's.
      {"a symmetric one", automatic(), of_user({.symmetric = true}, alike), "cg v mixed by matrix bilinear",
       "conjugate gradients: the matrix is symmetric"},
      {"a nonsymmetric one", automatic(), of_user({}), "gmres v mixed adi 4 matrix", ""},
      {"a cycle of scaled rows", automatic(), of_user({.symmetric = true, .cycle_is_scaled = true}, alike),
       "gmres v mixed by matrix bilinear", ""},
      {"in singular parts", automatic(),
       of_user({.symmetric = true, .has_parts = true, .has_singular_parts = true}, alike),
       "cg v double by matrix matrix", "conjugate gradients: the matrix is symmetric"},
      {"lost in float", automatic(), of_user({.symmetric = true, .singular = true, .lost_in_float = 0.1}, alike),
       "cg v double by matrix bilinear",
       "conjugate gradients: the matrix is symmetric; cycles in double: in float the rows of this singular matrix"},
      {"a node that is held", automatic(), of_user({.symmetric = true, .holds_nodes_alone = true}, alike),
       "cg v double by matrix bilinear",
       "conjugate gradients: the matrix is symmetric; cycles in double: a node is held"},
  };
}

std::string text(const Plan& plan) {
  const PoissonSolverParams& p = plan.params;
  std::string text =
      message(to_string(*p.method), " ", to_string(*p.multigrid.cycle), " ", to_string(p.precision), " ");
  if (plan.smoothers.empty())
    text += "by matrix";
  else
    text += message(plan.smoothers.back().smoother, " ", plan.smoothers.back().sweeps);
  if (plan.is_direct) text += " direct";
  if (p.interpolation) text += message(" ", to_string(*p.interpolation));
  return text;
}

TEST(Select, FollowsTheTable) {
  for (const Case& row : table()) {
    const Plan plan = select(row.asked, row.facts);
    EXPECT_EQ(text(plan), row.plan) << row.name;
    EXPECT_THAT(plan.reason(), testing::StartsWith(row.reason)) << row.name;
    EXPECT_EQ(plan.reason().empty(), std::string(row.reason).empty()) << row.name;
  }
}

/// Nothing is left to decide: what a Plan says is what is selected for it.
TEST(Select, HasNothingLeftOpen) {
  for (const Case& row : table()) {
    SolverFacts facts = row.facts;
    const Plan plan = select(row.asked, facts);
    EXPECT_TRUE(plan.params.method && plan.params.multigrid.cycle) << row.name;
    const Plan again = select(plan.params, facts);
    EXPECT_EQ(again.params.method, plan.params.method) << row.name;
    EXPECT_EQ(again.params.multigrid.cycle, plan.params.multigrid.cycle) << row.name;
    EXPECT_EQ(again.params.precision, plan.params.precision) << row.name;
    EXPECT_EQ(again.params.interpolation, plan.params.interpolation) << row.name;
  }
}

TEST(Select, RefusesWhatDoesNotGoTogether) {
  const auto refused = [](PoissonSolverParams params, const SolverFacts& facts, const char* why) {
    EXPECT_THAT([&] { (void)select(params, facts); }, testing::ThrowsMessage<UsageError>(testing::HasSubstr(why)));
  };
  refused(automatic([](auto& p) {
            p.precision = Precision::single;
            p.full_multigrid = true;
          }),
          of("U1", 6), "full multigrid keeps its iterate in double");
  refused(automatic([](auto& p) {
            p.precision = Precision::residual_replacement;
            p.method = Method::gmres;
          }),
          of("U1", 6), "are the method cg, not gmres");
  refused(automatic([](auto& p) {
            p.method = Method::cg;
            p.multigrid.cycle = Cycle::k;
          }),
          of("U1", 6), "needs a constant preconditioner, which a k-cycle is not");
  refused(automatic([](auto& p) { p.interpolation = InterpolationKind::split; }), of("U1", 6), "interpolation split");
  refused(automatic([](auto& p) { p.deflate.by = DeflateBy::inclusions; }), of("U1", 6), "deflation is for");
  refused(automatic([](auto& p) { p.full_multigrid = true; }), of_user({.symmetric = true}),
          "full multigrid is for meshes");
  refused(automatic([](auto& p) { p.method = Method::cg; }), of_user({.symmetric = true, .cycle_is_scaled = true}),
          "scales of rows are for");
}

}  // namespace
