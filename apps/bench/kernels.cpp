#include "kernels.hpp"

#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace stratum::apps::bench {

namespace {

template <class T>
void measure_level(Recorder& recorder, int level, StorageFormat format, Json& rows) {
  Context& ctx = recorder.ctx();
  const Settings& settings = recorder.settings();
  const auto mesh = with_boundaries(make_mesh(mesh_family("A3"), level), settings.boundaries);
  const auto shape = mesh.unknowns();
  PoissonSolverParams params;
  params.format = format;
  params.precision = sizeof(T) == sizeof(float) ? Precision::mixed : Precision::full;
  expect_available(ctx, required_memory(ctx, mesh, params));
  std::printf("\nlevel %d, %s operator, %s\n", level, std::string(to_string(format)).c_str(), precision_of<T>);
  print_rate_heading("kernel");

  Operands<T> operands(ctx, shape);
  Field<T>&b = operands.b, &x = operands.x, &r = operands.r;
  const auto measure = [&](const std::string& name, double words, const auto& kernel) {
    const double seconds = seconds_per_call(ctx, settings.now, operands, kernel);
    JsonObject json;
    json.add("level", level).add("unknowns", shape.nodes()).add("operator", to_string(format));
    json.add("precision", precision_of<T>).add("kernel", name);
    rows.push_back(recorder.rate(std::move(json), name, words, static_cast<double>(shape.nodes()), sizeof(T), seconds));
  };

  const auto registry = builtin_smoothers();
  for (const int sweeps : {2, 4}) {
    MultigridParams cycle;
    cycle.sweeps = sweeps;
    Multigrid<T> multigrid(ctx, mesh_hierarchy(mesh), format, cycle);
    const int finest = multigrid.levels() - 1;
    const auto& a = multigrid.level_operator(finest);
    const int coefficients = a.coefficient_words();
    if (sweeps == 2) {
      measure("copy", 2, [&] { copy<T, T>(ctx, x.cview(), r.view()); });
      measure("axpy", 3, [&] { axpy<T, T>(ctx, 1e-3, b.cview(), x.view()); });
      measure("residual", 3 + coefficients, [&] { a.residual(ctx, b.cview(), x.cview(), r.view()); });
      for (const auto& choice : all_smoothers()) {
        auto smoother_params = choice.params();
        smoother_params.format = format;
        const auto smoother = registry.template make<T>(ctx, choice.name, shape, smoother_params);
        // As a cycle takes them: smoothers that go back and forth between two vectors end where they began.
        constexpr int pair = 2;
        measure(choice.label(), pair * smoother->words_per_step(coefficients),
                [&] { smoother->smooth(ctx, a, b.cview(), x.view(), pair, Guess::given, SweepOrder::forward); });
      }
      const auto& transfer = multigrid.transfer(finest);
      Field<T> coarse(ctx, multigrid.level_operator(finest - 1).shape());
      measure("restrict_residual", 2.25 + coefficients,
              [&] { transfer.restrict_residual(ctx, a, b.cview(), x.cview(), coarse.view()); });
      measure("prolongate_add", 2.25, [&] { transfer.prolongate_add(ctx, coarse.cview(), x.view()); });
    }
    const auto smoother = registry.template make<T>(ctx, cycle.smoother, {1, 1}, cycle.smoother_params);
    double nodes = 0;  // of all levels but the coarsest
    for (int l = 1; l <= finest; ++l) nodes += static_cast<double>(multigrid.level_operator(l).shape().nodes());
    const double words = 2 * sweeps * smoother->words_per_step(coefficients) + 2.25 + coefficients + 2.25;
    measure(message("V(", sweeps, ",", sweeps, ") ", cycle.smoother),
            words * nodes / static_cast<double>(shape.nodes()), [&] { multigrid.apply(ctx, b.cview(), r.view()); });
  }
}

}  // namespace

Json measure_kernels(Recorder& recorder) {
  Json rows = Json::array();
  for (const int level : recorder.settings().levels)
    for (const auto format : recorder.settings().kernel_formats) {
      const std::string what = message("kernels of level ", level, ", ", to_string(format));
      recorder.attempt(what + ", float", [&] { measure_level<float>(recorder, level, format, rows); });
      recorder.attempt(what + ", double", [&] { measure_level<double>(recorder, level, format, rows); });
    }
  return rows;
}

}  // namespace stratum::apps::bench
