// The study of Y.-C. Jang, H.-J. Kim, W. Lee, Multi GPU Performance of Conjugate Gradient Solver with Staggered Fermions in
// Mixed Precision, 2011. Table 1: one D in double and in single precision, beside the published times of a GeForce GTX 480. Not
// of the paper, which gives no iterations: what conjugate gradients take in double, in mixed precision by the paper's schemes,
// and without the parts that its text asks for; 8 x 8 x 8 x 16 sites, a normal source, true residual down by 1e-10 (table 2).
// Table 3: one D beside a copy of long vectors; table 4: time to solve by the precision that steps are taken in; table 5: by
// the number of subdomains and how the lattice is cut.

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/reliable_cg.hpp>

#include "studies.hpp"
#include "support/gpu_exchange.hpp"
#include "support/program.hpp"
#include "support/table.hpp"
#include "support/timing.hpp"
#include <stratum/staggered/propagator.hpp>

namespace stratum::apps {

namespace {

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
        row.push_back(rate(staggered::bytes_per_site<T>(reals)));
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
          Field<double> x(ctx_, b.shape());
          const SolveReport report = solve(system, mass, x);
          cells.push_back(report.status == Status::converged ? message(report.iterations)
                                                             : scientific(report.relative_residual(), 0) + "!");
        }
      progress("");
      table.row(cells);
    };
    row("double", [&](const System& system, double mass, Field<double>& x) {
      const staggered::StaggeredOperator<double> a(ctx_, system.links, mass);
      return ConjugateGradients<double>(ctx_, a.shape()).solve(ctx_, a, nullptr, b.cview(), x.view(), stop());
    });
    for (const double delta : {ReliableCgParams().delta, staggered::delta_of_shorts})
      row("16 bits " + scientific(delta, 0), [&](const System& system, double mass, Field<double>& x) {
        const staggered::StaggeredOperator<double> a(ctx_, system.links, mass);
        const staggered::StaggeredOperator<staggered::Short> inner(ctx_, system.short_links, mass);
        return ReliableCg(ctx_, a.shape(), {.delta = delta}).solve(ctx_, a, inner, b.cview(), x.view(), stop());
      });
    for (const auto& [name, params] : schemes())
      row(name, [&, &with = params](const System& system, double mass, Field<double>& x) {
        const staggered::StaggeredOperator<double> a(ctx_, system.links, mass);
        const staggered::StaggeredOperator<float> inner(ctx_, system.inner_links, mass);
        return ReliableCg(ctx_, a.shape(), with).solve(ctx_, a, inner, b.cview(), x.view(), stop());
      });
  }

  /// Shares of a copy, by the bytes that D has to move when every number is read once for every use (staggered/dirac.hpp): what
  /// caches keep of the vectors makes them larger than one.
  void print_table3() {
    const double copy_rate = bytes_per_second_of_copy();
    const Table table(csv_,
                      message("Table 3: one D on the even sites, beside a copy of ", std::round(copy_rate * 1e-8) / 10,
                              " GB/s (", ctx_.description(), "); 576 flop a site; 16 bits: half of A"),
                      {"lattice    ", "numbers", "reals", "bytes", "ms", "GB/s", "% copy", "GFLOP/s"}, 8);
    for (const auto& lattice : lattices()) {
      progress(message(name(lattice), " ..."));
      const auto field = staggered::GaugeField::near_unit(lattice, 0.3, seed);
      progress("");
      const auto measure = [&]<class Format>(Format /*format*/, const char* numbers) {
        constexpr bool shorts = std::is_same_v<Format, staggered::Short>;
        using T = typename staggered::NumbersOf<Format>::Number;
        for (const auto reals : {staggered::Reals::r18, staggered::Reals::r12, staggered::Reals::r10}) {
          if (shorts && reals == staggered::Reals::r10) continue;
          const staggered::StaggeredOperator<Format> a(ctx_, field, 1, reals);
          Operands<T> v(ctx_, a.shape());
          const auto product = [&] {
            if (shorts)
              a.apply(ctx_, v.x.cview(), v.r.view());
            else
              a.hop(ctx_, staggered::Parity::even, v.x.cview(), v.r.view());
          };
          const double seconds = seconds_per_call(ctx_, wall_seconds, v, product) / (shorts ? 2 : 1);
          const int bytes = staggered::bytes_per_site<Format>(reals);
          const double rate = 1.0 * bytes * lattice.half() / seconds;
          table.row({name(lattice), numbers, message(static_cast<int>(reals)), message(bytes),
                     scientific(1e3 * seconds, 2), message(std::round(rate * 1e-9)),
                     message(std::round(100 * rate / copy_rate)),
                     message(std::round(1e-9 * staggered::flops_per_site * lattice.half() / seconds))});
        }
      };
      measure(double(), "double");
      measure(float(), "float");
      measure(staggered::Short(), "16 bits");
    }
  }

  void print_table4() {
    const staggered::Lattice lattice = lattices().front();
    const Table table(csv_,
                      message("Table 4: conjugate gradients on ", name(lattice), " near the unit field, m = ", light,
                              ", to a true residual of 1e-10 (", ctx_.description(), ")"),
                      {"steps in       ", "iterations", "updates", "seconds", "us/iteration", "faster"});
    const auto field = staggered::GaugeField::near_unit(lattice, 0.3, seed);
    const auto b = vector_from_host(ctx_, staggered::source(lattice, staggered::Source::random, 0, seed));
    const staggered::StaggeredOperator<double> a(ctx_, field, light);
    Field<double> x(ctx_, a.shape());
    double in_double = 0;
    const auto row = [&](const std::string& steps, const auto& solve, const auto& updates) {
      // The second solve: the first makes what is made once.
      double seconds = 0;
      SolveReport report;
      for (int run = 0; run < 2; ++run) {
        set(ctx_, 0, x.view());
        ctx_.synchronise();
        const double begin = wall_seconds();
        report = solve();
        seconds = wall_seconds() - begin;
      }
      if (in_double == 0) in_double = seconds;
      table.row({steps, message(report.iterations, report.status == Status::converged ? "" : "!"), updates(),
                 scientific(seconds, 3), message(std::round(1e7 * seconds / report.iterations) / 10),
                 ratio(in_double, seconds)});
    };
    ConjugateGradients<double> cg(ctx_, a.shape());
    row(
        "double", [&] { return cg.solve(ctx_, a, nullptr, b.cview(), x.view(), stop()); },
        [] { return std::string(); });
    const auto mixed = [&]<class Format>(Format /*format*/, const char* numbers) {
      for (const auto reals : {staggered::Reals::r18, staggered::Reals::r12}) {
        const staggered::StaggeredOperator<Format> inner(ctx_, field, light, reals);
        ReliableCg solver(ctx_, a.shape());
        row(
            message(numbers, ", ", static_cast<int>(reals), " reals"),
            [&] { return solver.solve(ctx_, a, inner, b.cview(), x.view(), stop()); },
            [&] { return message(solver.updates()); });
      }
    };
    mixed(float(), "float");
    mixed(staggered::Short(), "16 bits");
  }

  /// Subdomains are threads of this process, with a GPU each where there are so many, or with one thread of the CPU.
  void print_table5() {
    staggered::Lattice whole = ctx_.on_gpu() ? staggered::Lattice{32, 32, 32, 64} : staggered::Lattice{16, 16, 16, 32};
    staggered::Lattice half = whole;
    half.nt /= 2;
    const Table table(csv_,
                      message("Table 5: conjugate gradients near the unit field, m = ", light,
                              ", steps in float, to a true residual of 1e-10, on subdomains (", ctx_.description(),
                              "); faster than on one"),
                      {"lattice    ", "t x z", "sites travel", "iterations", "seconds", "us/iteration", "faster"});
    const auto row = [&](const staggered::Lattice& lattice, const staggered::GaugeField& field,
                         const staggered::LatticePartition& partition, double alone) {
      progress(message(name(lattice), " on ", partition.t, " x ", partition.z, " subdomains ..."));
      const auto [report, seconds] = solved_on_subdomains(field, partition);
      progress("");
      table.row({name(lattice), message(partition.t, " x ", partition.z),
                 partition.t * partition.z == 1 ? "" : (*partition.overlap ? "meanwhile" : "first"),
                 message(report.iterations, report.status == Status::converged ? "" : "!"), scientific(seconds, 3),
                 message(std::round(1e7 * seconds / report.iterations) / 10), alone == 0 ? "" : ratio(alone, seconds)});
      return seconds;
    };
    (void)row(half, staggered::GaugeField::near_unit(half, 0.3, seed), {1, 1, false}, 0);
    const auto field = staggered::GaugeField::near_unit(whole, 0.3, seed);
    const double alone = row(whole, field, {1, 1, false}, 0);
    for (const auto& [t, z] : {std::pair(2, 1), {1, 2}, {4, 1}, {2, 2}})
      if (t * z <= std::max(2, ctx_.on_gpu() ? 2 : ctx_.threads()))
        for (const bool overlap : {false, true}) (void)row(whole, field, {t, z, overlap}, alone);
  }

 private:
  static constexpr std::uint64_t seed = 1;
  static constexpr double light = 0.02;  // the mass of tables 4 and 5

  /// What the first subdomain says of the second solve, and its time.
  std::pair<SolveReport, double> solved_on_subdomains(const staggered::GaugeField& field,
                                                      const staggered::LatticePartition& partition) const {
    const auto communicators = thread_communicators(partition.t * partition.z);
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> errors(communicators.size());
    SolveReport report;
    double seconds = 0;
    const auto work = [&](std::size_t k) {
      if (ctx_.on_gpu()) select_device(static_cast<int>(k));
      Context ctx(ctx_.backend(), 1);
      if (communicators.size() > 1) ctx.set_communicator(communicators[k]);
      if (communicators.size() > 1 && ctx.on_gpu()) ctx.set_communicator(among_gpus(ctx, communicators[k]));
      const staggered::StaggeredOperator<double> a(ctx, field, light, staggered::Reals::r18, partition);
      const staggered::StaggeredOperator<float> inner(ctx, field, light, staggered::Reals::r18, partition);
      const auto b = vector_from_host(
          ctx, of_subdomain(a.links()->subdomain(), source(field.lattice, staggered::Source::random, 0, seed)));
      Field<double> x(ctx, a.shape());
      ReliableCg solver(ctx, a.shape());
      for (int run = 0; run < 2; ++run) {
        set(ctx, 0, x.view());
        ctx.synchronise();
        communicators[k]->barrier();
        const double begin = wall_seconds();
        const SolveReport own = solver.solve(ctx, a, inner, b.cview(), x.view(), stop());
        communicators[k]->barrier();
        if (k == 0) seconds = wall_seconds() - begin, report = own;
      }
    };
    for (std::size_t k = 0; k < communicators.size(); ++k)
      threads.emplace_back([&, k] {
        try {
          work(k);
        } catch (...) {
          errors[k] = std::current_exception();
          communicators[k]->abandon();
        }
      });
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
    return {report, seconds};
  }
  [[nodiscard]] std::vector<staggered::Lattice> lattices() const {
    if (ctx_.on_gpu()) return {{32, 32, 32, 32}, {48, 48, 48, 64}};
    return {{16, 16, 16, 32}};
  }
  static std::string name(const staggered::Lattice& l) { return message(l.nx, "^3 x ", l.nt); }
  double bytes_per_second_of_copy() {
    Operands<double> v(ctx_, GridLayout<2>::flat(1 << 26));
    const double seconds = seconds_per_call(ctx_, wall_seconds, v, [&] { copy(ctx_, v.x.cview(), v.r.view()); });
    return 2 * sizeof(double) * static_cast<double>(v.x.shape().nodes()) / seconds;
  }
  struct System {
    std::shared_ptr<const staggered::PackedLinks<double>> links;
    std::shared_ptr<const staggered::PackedLinks<float>> inner_links;
    std::shared_ptr<const staggered::PackedLinks<staggered::Short>> short_links;
    System(Context& ctx, const staggered::GaugeField& field)
        : links(std::make_shared<const staggered::PackedLinks<double>>(ctx, field, staggered::Reals::r18)),
          inner_links(std::make_shared<const staggered::PackedLinks<float>>(ctx, field, staggered::Reals::r18)),
          short_links(
              std::make_shared<const staggered::PackedLinks<staggered::Short>>(ctx, field, staggered::Reals::r18)) {}
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

}  // namespace

void print_staggered_study(const Machine& machine, const StudySelection& selection) {
  Context ctx = machine.context();
  StaggeredStudy tables(ctx, selection.csv);
  if (selection.has_table(1)) tables.print_table1();
  if (selection.has_table(2)) tables.print_iterations();
  if (selection.has_table(3)) tables.print_table3();
  if (selection.has_table(4)) tables.print_table4();
  if (selection.has_table(5)) tables.print_table5();
}

}  // namespace stratum::apps
