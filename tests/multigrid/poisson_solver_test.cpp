#include <stratum/multigrid/poisson_solver.hpp>

#include <cmath>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/mesh/named_meshes.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

class PoissonSolverTest : public test::OnEveryBackend {
 protected:
  struct Problem {
    Problem(Context& ctx, const TensorMesh<2>& m) : mesh(m), b(ctx, m.unknowns()), x(ctx, m.unknowns()) {}
    TensorMesh<2> mesh;
    Field<double> b, x;
  };
  Problem polynomial(const char* name, int level) {
    Problem p(ctx(), make_mesh(mesh_family(name), level));
    assemble_load(ctx(), p.mesh, {}, p.b);
    return p;
  }
  SolveReport solve(Problem& p, const PoissonSolverParams& params) {
    return PoissonSolver(ctx(), p.mesh, params).solve(ctx(), p.b.cview(), p.x.view());
  }
  double true_residual(const Problem& p) {
    const auto a = assemble_laplace<double>(ctx(), p.mesh, StorageFormat::tensor);
    Field<double> r(ctx(), p.mesh.unknowns());
    a.residual(ctx(), p.b.cview(), p.x.cview(), r.view());
    return norm2(ctx(), r.cview());
  }
};
INSTANTIATE_ON_EVERY_BACKEND(PoissonSolverTest);

constexpr Precision every_precision[] = {Precision::mixed, Precision::full};

TEST_P(PoissonSolverTest, SolvesOnRandomMeshes) {
  test::Random random(151);
  for (const auto& [cells_x, cells_y] :
       {std::pair{1, 1}, {2, 2}, {2, 9}, {33, 2}, {12, 20}, {17, 13}, {64, 6}, {96, 80}})
    for (const auto precision : every_precision)
      for (const auto method : values_of<Method>) {
        SCOPED_TRACE(testing::Message() << cells_x << " x " << cells_y << " cells, " << to_string(method));
        const Values hx = random.widths(cells_x, 3), hy = random.widths(cells_y, 3);
        Problem p(ctx(), {Axis(hx), Axis(hy)});
        const auto oracle = reference::laplace(hx, hy);
        p.b = test::to_device<double>(ctx(), p.mesh.unknowns(), random.values(oracle.size()));
        PoissonSolverParams params;
        params.precision = precision;
        params.method = method;
        const auto report = solve(p, params);
        EXPECT_EQ(report.status, Status::converged) << report.reason;
        EXPECT_LE(reference::norm(reference::residual(oracle, test::to_host(ctx(), p.b), test::to_host(ctx(), p.x))),
                  1.001e-8 * reference::norm(test::to_host(ctx(), p.b)));
      }
}

TEST_P(PoissonSolverTest, TheReportTellsTheTruth) {
  for (const auto precision : {Precision::mixed, Precision::full, Precision::single}) {
    auto p = polynomial("A3", 6);
    PoissonSolverParams params;
    params.precision = precision;
    params.multigrid.measure_levels = true;
    const auto report = solve(p, params);
    EXPECT_NEAR(report.residual / true_residual(p), 1, 1e-3);
    EXPECT_NEAR(report.reference_norm_value / norm2(ctx(), p.b.cview()), 1, 1e-6);
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    EXPECT_GT(report.solve_seconds, 0);
    EXPECT_GT(report.setup_seconds, 0);
    ASSERT_EQ(report.levels.size(), 6U);
    EXPECT_EQ(report.levels.back().nx, 63);
    EXPECT_FALSE(report.reason.empty());
    if (report.status == Status::converged) {
      EXPECT_LE(report.residual, 1e-8 * report.reference_norm_value);
    }
  }
}

TEST_P(PoissonSolverTest, CgConvergesInFewerIterationsThanTheSymmetricCycle) {
  for (const auto precision : every_precision) {
    auto p = polynomial("A5", 7);
    PoissonSolverParams params;
    params.precision = precision;
    params.multigrid.symmetric = true;
    const int cycles = solve(p, params).iterations;
    set(ctx(), 0.0, p.x.view());
    params.method = Method::cg;
    const auto report = solve(p, params);
    EXPECT_EQ(report.status, Status::converged) << report.reason;
    EXPECT_LT(report.iterations, cycles);
  }
}

TEST_P(PoissonSolverTest, WAndFCyclesConverge) {
  for (const auto precision : every_precision)
    for (const auto cycle : {Cycle::w, Cycle::f}) {
      auto p = polynomial("A4", 6);
      PoissonSolverParams params;
      params.precision = precision;
      const int v_cycles = solve(p, params).iterations;
      set(ctx(), 0.0, p.x.view());
      params.multigrid.cycle = cycle;
      const auto report = solve(p, params);
      EXPECT_EQ(report.status, Status::converged);
      EXPECT_LE(report.iterations, v_cycles);
    }
}

TEST_P(PoissonSolverTest, SolvesManyRightHandSidesFromAnyGuess) {
  auto p = polynomial("A2", 6);
  PoissonSolver solver(ctx(), p.mesh);
  const auto first = solver.solve(ctx(), p.b.cview(), p.x.view());
  const Values solution = test::to_host(ctx(), p.x);
  EXPECT_EQ(solver.solve(ctx(), p.b.cview(), p.x.view()).iterations, 0) << "the exact solution as a guess";
  set(ctx(), 0.0, p.x.view());
  const auto again = solver.solve(ctx(), p.b.cview(), p.x.view());
  EXPECT_EQ(again.history, first.history) << "the same input gives the same bits";
  EXPECT_EQ(test::to_host(ctx(), p.x), solution);
  EXPECT_EQ(solver.levels(), 6);
  EXPECT_EQ(solver.fine_operator().shape(), p.mesh.unknowns());
}

TEST_P(PoissonSolverTest, EndsAtRounding) {
  for (const auto precision : every_precision) {
    auto p = polynomial("A3", 6);
    PoissonSolverParams params;
    params.precision = precision;
    params.stop.rtol = 1e-16;
    const auto report = solve(p, params);
    EXPECT_EQ(report.status, Status::round_off_limit) << report.reason;
    EXPECT_NE(report.reason.find("rounding"), std::string::npos) << report.reason;
    EXPECT_LT(report.relative_residual(), 1e-12);
    EXPECT_LT(report.iterations, 20);
  }
}

TEST_P(PoissonSolverTest, SpecialRightHandSides) {
  for (const auto precision : {Precision::mixed, Precision::full, Precision::single})
    for (const int full_multigrid : {0, 1, 2}) {
      if (full_multigrid > 0 && precision == Precision::single) continue;  // refused
      auto p = polynomial("A1", 5);
      PoissonSolverParams params;
      params.precision = precision;
      params.full_multigrid = full_multigrid > 0;
      params.continue_after_full_multigrid = full_multigrid == 2;
      set(ctx(), 0.0, p.b.view());
      auto report = solve(p, params);
      EXPECT_EQ(report.status, Status::converged) << "zero: " << report.reason;
      EXPECT_EQ(norm_max(ctx(), p.x.cview()), 0);

      for (const double bad : {std::nan(""), HUGE_VAL}) {
        Values values(961, 1.0);
        values[480] = bad;
        p.b = test::to_device<double>(ctx(), p.mesh.unknowns(), values);
        set(ctx(), 0.0, p.x.view());
        report = solve(p, params);
        EXPECT_EQ(report.status, Status::non_finite) << bad << ": " << report.reason;
        EXPECT_FALSE(std::isfinite(report.residual));
      }

      for (const double scale : {1e-60, 1e60}) {
        p = polynomial("A1", 5);
        Field<double> b(ctx(), p.mesh.unknowns());
        copy_scaled(ctx(), scale, p.b.cview(), b.view());
        p.b = std::move(b);
        report = solve(p, params);
        if (precision == Precision::single) continue;
        EXPECT_EQ(report.status, Status::converged) << scale << ": " << report.reason;
        if (full_multigrid != 1) {
          EXPECT_LE(report.relative_residual(), 1e-8);
        }
      }
    }
}

// Widths below 1e-38 have no reciprocal in float.
TEST_P(PoissonSolverTest, MeshesThatLeaveTheRangeOfFloatAreRefusedInMixedAndSolvedInDouble) {
  MeshFamily family = mesh_family("A1");
  family.nu = 1e-8;  // h_min = (5e-9)^5 = 3e-42
  family.name = "thin";
  Problem p(ctx(), make_mesh(family, 5));
  assemble_load(ctx(), p.mesh, {}, p.b);
  PoissonSolverParams params;
  EXPECT_THROW(solve(p, params), UsageError);
  params.precision = Precision::full;
  const auto report = solve(p, params);
  EXPECT_EQ(report.status, Status::converged) << report.reason;
}

TEST_P(PoissonSolverTest, BadParametersAreRefused) {
  auto p = polynomial("U1", 3);
  int line = 0;
  const auto refused = [&](auto change) {
    PoissonSolverParams params;
    change(params);
    EXPECT_THROW(solve(p, params), UsageError) << "bad parameter " << line;
    ++line;
  };
  refused([](auto& q) { q.multigrid.sweeps = 3; });
  refused([](auto& q) { q.multigrid.sweeps = -2; });
  refused([](auto& q) { q.multigrid.smoother = "ilu"; });
  refused([](auto& q) { q.multigrid.smoother_params.damping = 2.5; });
  refused([](auto& q) { q.stop.rtol = 0; });
  refused([](auto& q) { q.stop.rtol = std::nan(""); });
  refused([](auto& q) { q.stop.max_iterations = -1; });
  refused([](auto& q) { q.inner.cycles = 0; });
  refused([](auto& q) { q.inner.rtol = -1; });
  for (const auto method : {Method::cg, Method::cr})
    refused([method](auto& q) {
      q.method = method;
      q.inner.rtol = 1e-2;
    });
  refused([](auto& q) {
    q.method = Method::gcr;
    q.krylov.restart = 0;
  });
  Field<double> b(ctx(), test::unknowns(6, 7));
  PoissonSolver solver(ctx(), p.mesh);
  EXPECT_THROW(solver.solve(ctx(), b.cview(), p.x.view()), UsageError);
}

/// The Context's peak over set-up and two solves.
double peak_memory(Backend backend, const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                   const SmootherRegistry& registry, double* required) {
  Context own(backend, backend == Backend::cpu ? test::cpu_threads : 0);
  Field<double> b(own, mesh.unknowns()), x(own, mesh.unknowns());
  assemble_load(own, mesh, {}, b);  // takes memory of its own, and gives it back
  PoissonSolver solver(own, mesh, params, registry);
  for (int k = 0; k < 2; ++k) (void)solver.solve(own, b.cview(), x.view());
  *required = static_cast<double>(required_memory(own, mesh, params, registry));
  return static_cast<double>(own.memory()->peak_bytes);
}

void expect_memory(Backend backend, const TensorMesh<2>& mesh, const PoissonSolverParams& params,
                   const std::string& what, const SmootherRegistry& registry = builtin_smoothers()) {
  double required = 0;
  const double peak = peak_memory(backend, mesh, params, registry, &required);
  EXPECT_GT(required, 0.98 * peak) << what;
  EXPECT_LT(required, 1.02 * peak) << what;
}

TEST_P(PoissonSolverTest, RequiredMemoryIsThePeak) {
  const TensorMesh<2> meshes[] = {make_mesh(mesh_family("A2"), 8),
                                  {uniform(1, 97), uniform(1, 101), "no coarser one"},
                                  {uniform(2, 384), uniform(1, 20), "a subdomain"},
                                  {uniform(1, 7), uniform(1, 320), "y alone"}};
  for (const auto& mesh : meshes)
    for (const auto precision : {Precision::mixed, Precision::full, Precision::single})
      for (const auto format : test::every_storage_format)
        for (const auto method : {Method::multigrid, Method::cg})
          for (const bool full_multigrid : {false, true}) {
            if (full_multigrid && precision == Precision::single) continue;
            PoissonSolverParams params;
            params.precision = precision;
            params.format = format;
            params.method = method;
            params.full_multigrid = full_multigrid;
            params.retry_in_double = false;
            params.stop.max_iterations = 2;
            expect_memory(GetParam(), mesh, params,
                          message(mesh.name(), ", ", to_string(format), ", precision ", static_cast<int>(precision),
                                  ", method ", static_cast<int>(method), full_multigrid ? ", full multigrid" : ""));
          }
}

TEST_P(PoissonSolverTest, RequiredMemoryOfEverySmoother) {
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries())
    for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
      for (const auto precision : {Precision::mixed, Precision::full})
        for (const char* coarse : {"automatic", "cg_adi", "cg_jacobi"})
          for (const int inner : {1, 2}) {
            PoissonSolverParams params;
            params.multigrid.smoother = name;
            params.multigrid.smoother_params.line_order = order;
            params.multigrid.coarse = coarse;
            params.precision = precision;
            params.inner.cycles = inner;
            params.stop.max_iterations = 1;
            expect_memory(GetParam(), {uniform(1, 180), uniform(1, 180), "odd after two"}, params,
                          message(name, ", ", to_string(order), ", ", coarse));
          }
}

// What has no assembled levels takes the same methods: cycles, Krylov methods, full multigrid and its discretisation accuracy.
TEST_P(PoissonSolverTest, SolvesForAMatrixAsForItsMesh) {
  for (const char* name : {"U1", "A3"})
    for (const auto precision : every_precision)
      for (const auto method : {Method::multigrid, Method::cg})
        for (const bool full_multigrid : {false, true}) {
          if (full_multigrid && method == Method::cg) continue;
          SCOPED_TRACE(testing::Message() << name << ", " << to_string(method) << (full_multigrid ? ", a pass" : ""));
          auto p = polynomial(name, 7);
          const auto a = assemble_laplace<double>(ctx(), p.mesh, StorageFormat::symmetric);
          PoissonSolverParams params;
          params.precision = precision;
          params.method = method;
          params.full_multigrid = full_multigrid;
          params.multigrid.sweeps = 4;
          const auto assembled = solve(p, params);
          const double error = *relative_l2_error(ctx(), p.mesh, {}, p.x);
          set(ctx(), 0.0, p.x.view());
          PoissonSolver solver(ctx(), a, p.mesh, params);
          const auto report = solver.solve(ctx(), p.b.cview(), p.x.view());
          EXPECT_EQ(report.status, assembled.status) << report.reason;
          EXPECT_NEAR(report.iterations, assembled.iterations, 1);
          // Of a pass: a GPU solves coarse levels exactly where they are of tensor form.
          EXPECT_NEAR(*relative_l2_error(ctx(), p.mesh, {}, p.x), error, (full_multigrid ? 3e-2 : 1e-3) * error);
        }
}

TEST_P(PoissonSolverTest, APlanTakesNoMemoryAndComputesNothing) {
  Context dry_run = ctx().memory_dry_run();
  const auto before = ctx().memory()->allocations.load();
  const TensorMesh<2> mesh{uniform(1, 30000), uniform(1, 20000)};
  PoissonSolverParams params;
  params.format = StorageFormat::nine_band;
  const PoissonSolver solver(dry_run, mesh, params);
  EXPECT_GT(dry_run.memory()->bytes, std::int64_t{600'000'000} * (9 * 8 + 5 * 4))
      << "nine bands in double, five in float";
  EXPECT_EQ(ctx().memory()->allocations, before);
}

/// Does nothing, and keeps as much as three vectors for it.
template <class T>
class Hoarder final : public Smoother<T> {
 public:
  Hoarder(Context& ctx, const GridLayout<2>& shape, const SmootherParams& /*params*/) : kept_(ctx, tripled(shape)) {}
  void smooth(Context& ctx, const GridOperator<T>& /*a*/, FieldView<const T> /*b*/, FieldView<T> x, int /*sweeps*/,
              Guess guess, SweepOrder /*order*/, Ghosts /*ghosts_of_x*/) override {
    if (guess == Guess::zero) set(ctx, T(0), x);
  }
  [[nodiscard]] double words_per_step(int /*coefficient_words*/) const override { return 0; }

 private:
  static GridLayout<2> tripled(const GridLayout<2>& shape) { return {shape.nx, 3 * shape.ny}; }
  Field<T> kept_;
};

TEST_P(PoissonSolverTest, RequiredMemoryCountsASmootherOfTheUsers) {
  auto registry = builtin_smoothers();
  registry.add<Hoarder>("hoarder", "for this test");
  const auto mesh = make_mesh(mesh_family("U1"), 8);
  PoissonSolverParams params;
  params.multigrid.smoother = "hoarder";
  params.stop.max_iterations = 1;
  params.retry_in_double = false;
  for (const auto precision : {Precision::mixed, Precision::full, Precision::single}) {
    params.precision = precision;
    expect_memory(GetParam(), mesh, params, "hoarder", registry);
  }
}

TEST_P(PoissonSolverTest, RequiredMemoryOfEveryMethod) {
  for (const auto method : values_of<Method>)
    for (const int restart : {2, 20}) {
      Context own(GetParam(), GetParam() == Backend::cpu ? test::cpu_threads : 0);
      const auto mesh = make_mesh(mesh_family("A2"), 8);
      PoissonSolverParams params;
      params.method = method;
      params.krylov.restart = restart;
      Field<double> b(own, mesh.unknowns()), x(own, mesh.unknowns());
      PoissonSolver solver(own, mesh, params);
      const auto taken = static_cast<double>(own.memory()->bytes.load());
      const auto required = static_cast<double>(required_memory(own, mesh, params));
      EXPECT_NEAR(required / taken, 1, 0.1) << to_string(method) << ", restart " << restart;
    }
}

TEST_P(PoissonSolverTest, RequiredMemoryOfABatch) {
  const auto count = [](const Context& own, int level, std::size_t systems) {
    return required_memory(own, make_mesh(mesh_family("A2"), level), {}, builtin_smoothers(), systems);
  };
  Context own(GetParam(), GetParam() == Backend::cpu ? 3 : 0);
  const Context one(Backend::cpu, 1);
  const auto vectors = [&own](int level) {
    return 2 * field_bytes<double>(own.backend(), make_mesh(mesh_family("A2"), level).unknowns());
  };
  for (const std::size_t systems : {2U, 5U}) {
    const auto others = static_cast<std::int64_t>(systems) - 1;
    EXPECT_EQ(count(own, 10, systems), count(own, 10, 1) + others * vectors(10)) << "one by one";
    const auto threads = own.on_gpu() ? 0 : std::min<std::int64_t>(3, others + 1);
    EXPECT_EQ(count(own, 8, systems),
              count(own, 8, 1) + others * vectors(8) + threads * (count(one, 8, 1) - vectors(8)))
        << "a hierarchy a thread";
  }
}

TEST_P(PoissonSolverTest, MethodsThatTakeAnyPreconditionerTakeInnerDigits) {
  for (const auto method : {Method::fcg, Method::gcr, Method::gmres, Method::bicgstab}) {
    auto p = polynomial("A3", 6);
    PoissonSolverParams params;
    params.method = method;
    params.inner.rtol = 1e-2;
    const auto report = solve(p, params);
    EXPECT_EQ(report.status, Status::converged) << to_string(method) << report.reason;
    EXPECT_GT(report.inner_iterations, report.iterations);
    EXPECT_LE(true_residual(p), 1e-8 * norm2(ctx(), p.b.cview()));
  }
}

/// Jacobi damped so little that its cycle amplifies some errors more than twice is no positive definite preconditioner.
TEST_P(PoissonSolverTest, ABreakdownIsTakenUpAgainInDouble) {
  for (const bool retry : {true, false}) {
    auto p = polynomial("U1", 5);
    PoissonSolverParams params;
    params.method = Method::cg;
    params.multigrid.smoother = "jacobi";
    params.multigrid.smoother_params.damping = 1.9;
    params.retry_in_double = retry;
    const auto report = solve(p, params);
    EXPECT_EQ(report.status, Status::breakdown) << report.reason;
    EXPECT_NE(report.reason.find("not positive definite"), std::string::npos) << report.reason;
    EXPECT_EQ(report.reason.find("double-precision fallback") != std::string::npos, retry) << report.reason;
    EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  }
}

/// The entries of nine bands do not add up to zero in float, which thin layers beside Neumann or Robin boundaries feel.
TEST_P(PoissonSolverTest, WhatGrowsByTheRoundingOfFloatIsTakenUpAgainInDouble) {
  for (const bool retry : {true, false})
    for (const bool after_a_pass : {true, false}) {
      PoissonProblem problem;
      problem.boundaries.bottom.kind = problem.boundaries.top.kind = BoundaryConditionType::neumann;
      Problem p(ctx(), with_boundaries(make_mesh(mesh_family("A4"), 8), problem.boundaries));
      assemble_load(ctx(), p.mesh, problem, p.b);
      PoissonSolverParams params;
      params.format = StorageFormat::nine_band;
      params.full_multigrid = params.continue_after_full_multigrid = after_a_pass;
      params.retry_in_double = retry;
      const auto report = solve(p, params);
      EXPECT_EQ(report.status, retry ? Status::round_off_limit : Status::diverged) << report.reason;
      EXPECT_EQ(report.reason.find("double-precision fallback") != std::string::npos, retry) << report.reason;
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    }
}

TEST_P(PoissonSolverTest, WhatGrowsByItselfIsNotTakenUpAgain) {
  auto p = polynomial("A2", 7);
  PoissonSolverParams params;
  params.multigrid.smoother = "jacobi";
  params.multigrid.smoother_params.damping = 1.2;
  const auto report = solve(p, params);
  EXPECT_EQ(report.status, Status::diverged) << report.reason;
  EXPECT_EQ(report.reason.find("double-precision fallback"), std::string::npos) << report.reason;
}

TEST_P(PoissonSolverTest, WhatDoesNotFitInMemoryIsRefusedBeforeItIsAllocated) {
  const auto mesh = make_mesh(mesh_family("U1"), 19);  // 2.7e11 unknowns
  try {
    PoissonSolver solver(ctx(), mesh);
    FAIL() << "terabytes were allocated";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("GiB"), std::string::npos) << error.what();
  }
  EXPECT_LT(ctx().memory()->peak_bytes, 1 << 28);
}

TEST_P(PoissonSolverTest, ASolveAllocatesNothing) {
  for (const auto precision : every_precision) {
    auto p = polynomial("A3", 6);
    PoissonSolverParams params;
    params.precision = precision;
    PoissonSolver solver(ctx(), p.mesh, params);
    solver.solve(ctx(), p.b.cview(), p.x.view());
    set(ctx(), 0.0, p.x.view());
    const auto before = ctx().memory()->allocations.load();
    solver.solve(ctx(), p.b.cview(), p.x.view());
    EXPECT_EQ(ctx().memory()->allocations, before);
  }
}

// --- batches ------------------------------------------------------------------------------------------------------------

/// Right-hand sides that take different numbers of iterations, the third of them zero.
struct Batch {
  std::vector<Field<double>> b, x;
  std::vector<FieldView<const double>> rhs;
  std::vector<FieldView<double>> solution;

  Batch(Context& ctx, const TensorMesh<2>& mesh, std::size_t count) {
    test::Random random(157);
    const auto nodes = static_cast<std::size_t>(mesh.unknowns().nodes());
    for (std::size_t k = 0; k < count; ++k) {
      auto values = random.values(nodes, k == 2 ? 0 : -1, k == 2 ? 0 : 1);
      if (k % 2 == 1) std::fill(values.begin(), values.end(), 1.0);
      b.push_back(test::to_device<double>(ctx, mesh.unknowns(), values));
      x.emplace_back(ctx, mesh.unknowns());
    }
    for (std::size_t k = 0; k < count; ++k) {
      rhs.push_back(b[k].cview());
      solution.push_back(x[k].view());
    }
  }
};

TEST_P(PoissonSolverTest, ABatchIsWhatItsSystemsAreOneByOneBitForBit) {
  for (const auto method : {Method::multigrid, Method::cg})
    for (const auto precision : {Precision::mixed, Precision::full, Precision::single}) {
      const auto mesh = make_mesh(mesh_family("A3"), 6);
      PoissonSolverParams params;
      params.method = method;
      params.precision = precision;
      params.stop.rtol = precision == Precision::single ? 1e-3 : 1e-8;
      PoissonSolver solver(ctx(), mesh, params);
      Batch together(ctx(), mesh, 7), alone(ctx(), mesh, 7);
      for (int again = 0; again < 2; ++again) {
        for (auto& x : together.x) set(ctx(), 0.0, x.view());
        const auto reports = solver.solve(ctx(), together.rhs, together.solution);
        ASSERT_EQ(reports.size(), 7U);
        for (std::size_t k = 0; k < 7; ++k) {
          set(ctx(), 0.0, alone.x[k].view());
          const auto report = solver.solve(ctx(), alone.b[k].cview(), alone.x[k].view());
          EXPECT_EQ(reports[k].status, report.status);
          EXPECT_EQ(reports[k].iterations, report.iterations);
          EXPECT_EQ(reports[k].history, report.history);
          EXPECT_EQ(test::to_host(ctx(), together.x[k]), test::to_host(ctx(), alone.x[k]));
          EXPECT_EQ(reports[k].levels.size(), report.levels.size());
        }
        EXPECT_EQ(reports[2].iterations, 0);
        EXPECT_NE(reports[0].history, reports[1].history);
      }
    }
}

TEST_P(PoissonSolverTest, OneBadSystemOfABatchSpoilsNoOther) {
  const auto mesh = make_mesh(mesh_family("U1"), 5);
  Batch batch(ctx(), mesh, 4);
  set(ctx(), std::nan(""), batch.b[1].view());
  const auto reports = PoissonSolver(ctx(), mesh).solve(ctx(), batch.rhs, batch.solution);
  EXPECT_EQ(reports[1].status, Status::non_finite);
  for (const std::size_t k : {0U, 2U, 3U}) EXPECT_EQ(reports[k].status, Status::converged) << reports[k].reason;
}

TEST_P(PoissonSolverTest, ABatchTooLargeForOneAThreadGoesOneByOne) {
  const auto mesh = make_mesh(mesh_family("U1"), 10);
  ASSERT_GT(mesh.unknowns().nodes(), PoissonSolver::most_unknowns_side_by_side);
  Batch batch(ctx(), mesh, 2);
  for (const auto& report : PoissonSolver(ctx(), mesh).solve(ctx(), batch.rhs, batch.solution))
    EXPECT_EQ(report.status, Status::converged) << report.reason;
}

TEST_P(PoissonSolverTest, BatchesMustMatch) {
  const auto mesh = make_mesh(mesh_family("U1"), 4);
  PoissonSolver solver(ctx(), mesh);
  EXPECT_TRUE(solver.solve(ctx(), std::span<const FieldView<const double>>{}, {}).empty());
  Batch batch(ctx(), mesh, 3);
  batch.solution.pop_back();
  EXPECT_THROW(solver.solve(ctx(), batch.rhs, batch.solution), UsageError);
  Field<double> other(ctx(), test::unknowns(6, 7));
  batch.solution.push_back(other.view());
  EXPECT_THROW(solver.solve(ctx(), batch.rhs, batch.solution), UsageError);
}

TEST(PoissonSolverThreads, TheNumberOfThreadsDoesNotChangeABit) {
  for (const auto precision : every_precision) {
    std::vector<double> expected;
    for (const int threads : {1, 2, 3}) {
      Context ctx(Backend::cpu, threads);
      const auto mesh = make_mesh(mesh_family("A3"), 7);
      PoissonSolverParams params;
      params.precision = precision;
      Field<double> b(ctx, mesh.unknowns()), x(ctx, mesh.unknowns());
      assemble_load(ctx, mesh, {}, b);
      const auto report = PoissonSolver(ctx, mesh, params).solve(ctx, b.cview(), x.view());
      if (threads == 1) expected = report.history;
      EXPECT_EQ(report.history, expected) << threads << " threads";
    }
  }
}

}  // namespace
