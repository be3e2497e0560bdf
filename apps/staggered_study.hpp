#pragma once

// The study of Y.-C. Jang, H.-J. Kim, W. Lee, Multi GPU Performance of Conjugate Gradient Solver with Staggered Fermions in
// Mixed Precision, 2011. Table 1: one D in double and in single precision, beside the published times of a GeForce GTX 480. Not
// of the paper, which gives no iterations: what conjugate gradients take in double, in mixed precision by the paper's schemes,
// and without the parts that its text asks for; 8 x 8 x 8 x 16 sites, a normal source, true residual down by 1e-10.

#include <string>
#include <vector>

#include <stratum/core/grid/blas.hpp>
#include <stratum/solvers/iterative/cg.hpp>
#include <stratum/solvers/reliable_cg.hpp>

#include "staggered/propagator.hpp"
#include "support/table.hpp"
#include "support/timing.hpp"

namespace stratum::apps {

class StaggeredStudy {
 public:
  StaggeredStudy(Context& ctx, bool csv) : ctx_(ctx), csv_(csv) {}

  /// Seconds of D on the sites of one parity, bytes and flops by the formula.
  void print_table1() {
    // The paper's MILC fine lattice has 28^3 x 96 sites.
    const staggered::Lattice lattice =
        ctx_.on_gpu() ? staggered::Lattice{28, 28, 28, 96} : staggered::Lattice{16, 16, 16, 32};
    const Table table(
        csv_,
        message("Table 1: one D on the even sites of ", lattice.nx, "^3 x ", lattice.nt, " (", ctx_.description(),
                "); the paper's are of a whole solver on a GeForce GTX 480, without communication"),
        {"reals a link", "double ms", "GB/s", "GFLOP/s", "paper", "float ms", "GB/s", "GFLOP/s", "paper"});
    const auto field = staggered::GaugeField::near_unit(lattice, 0.3, 1);
    for (const auto reals : {staggered::Reals::r18, staggered::Reals::r12, staggered::Reals::r10}) {
      std::vector<std::string> row{message(static_cast<int>(reals))};
      const auto measure = [&]<class T>(T /*number*/, const char* paper) {
        const staggered::StaggeredOperator<T> a(ctx_, field, 1, reals);
        Operands<T> v(ctx_, a.shape());
        const double seconds = seconds_per_call(
            ctx_, wall_seconds, v, [&] { a.hop(ctx_, staggered::Parity::even, v.x.cview(), v.r.view()); }, 3);
        const auto rate = [&](int of_a_site) {
          return message(std::round(1e-8 * of_a_site * lattice.half() / seconds) / 10);
        };
        row.push_back(scientific(1e3 * seconds, 2));
        row.push_back(rate(staggered::bytes_per_site(reals, sizeof(T))));
        row.push_back(rate(staggered::flops_per_site));
        row.emplace_back(reals == staggered::Reals::r10 ? paper : "");
      };
      measure(double(), "55");
      measure(float(), "145");
      table.row(row);
    }
  }

  void print_iterations() {
    const Table table(csv_,
                      "Iterations to a true residual of 1e-10 ('!': ended above it, with what it ended at); near is "
                      "the projection of "
                      "1 + 0.3 X on SU(3), random uniform there",
                      {"scheme                 ", "near m=.1", ".03", ".01", "random .1", ".03", ".01"}, 9);
    const staggered::Lattice lattice{8, 8, 8, 16};
    const System systems[] = {{ctx_, staggered::GaugeField::near_unit(lattice, 0.3, seed)},
                              {ctx_, staggered::GaugeField::random(lattice, seed)}};
    const auto b = vector_from_host(ctx_, staggered::source(lattice, staggered::Source::random, 0, seed));
    const auto row = [&](const std::string& name, const auto& solve) {
      std::vector<std::string> cells{name};
      for (const auto& system : systems)
        for (const double mass : {0.1, 0.03, 0.01}) {
          progress(message(name, ", m = ", mass, " ...\r"));
          Vector<double> x(ctx_, b.shape());
          const SolveReport report = solve(system, mass, x);
          cells.push_back(report.status == Status::converged ? message(report.iterations)
                                                             : scientific(report.relative_residual(), 0) + "!");
        }
      progress("");
      table.row(cells);
    };
    row("double", [&](const System& system, double mass, Vector<double>& x) {
      const staggered::StaggeredOperator<double> a(ctx_, system.links, mass);
      return ConjugateGradients<double>(ctx_, a.shape()).solve(ctx_, a, nullptr, b.cview(), x.view(), stop());
    });
    for (const auto& [name, params] : schemes())
      row(name, [&, &with = params](const System& system, double mass, Vector<double>& x) {
        const staggered::StaggeredOperator<double> a(ctx_, system.links, mass);
        const staggered::StaggeredOperator<float> inner(ctx_, system.inner_links, mass);
        return ReliableCg(ctx_, a.shape(), with).solve(ctx_, a, inner, b.cview(), x.view(), stop());
      });
  }

 private:
  static constexpr std::uint64_t seed = 1;
  struct System {
    std::shared_ptr<const staggered::PackedLinks<double>> links;
    std::shared_ptr<const staggered::PackedLinks<float>> inner_links;
    System(Context& ctx, const staggered::GaugeField& field)
        : links(std::make_shared<const staggered::PackedLinks<double>>(ctx, field, staggered::Reals::r18)),
          inner_links(std::make_shared<const staggered::PackedLinks<float>>(ctx, field, staggered::Reals::r18)) {}
  };
  static StoppingParams stop() {
    StoppingParams params;
    params.rtol = 1e-10;
    params.max_iterations = 30000;
    return params;
  }
  static std::vector<std::pair<std::string, ReliableCgParams>> schemes() {
    return {{"restart 1e-1", {.carry_direction = false}},
            {"restart 1e-2", {.delta = 1e-2, .carry_direction = false}},
            {"corrected 1e-1", {.beta = UpdateBeta::by_true}},
            {"corrected 1e-2", {.delta = 1e-2, .beta = UpdateBeta::by_true}},
            {"corrected 1e-3", {.delta = 1e-3, .beta = UpdateBeta::by_true}},
            {"guarded beta 1e-1", {}},
            {"guarded beta 1e-3", {.delta = 1e-3}},
            {"recursive beta 1e-3", {.delta = 1e-3, .beta = UpdateBeta::by_recursive}},
            {"x in double 1e-3", {.delta = 1e-3, .solution_in_double = true}},
            {"reliable update alone", {.reset_solution = false}},
            {"group-wise update alone", {.replace_residual = false}}};
  }

  Context& ctx_;
  bool csv_;
};

}  // namespace stratum::apps
