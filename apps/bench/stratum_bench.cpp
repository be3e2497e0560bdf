// stratum_bench: how fast the kernels, the cycles and the solvers run, beside a copy of long vectors measured in the same run.
//
// Kernels are charged the bytes that they declare: words per unknown times unknowns times the size of a word. A cycle is
// charged its sweeps, restrictions and prolongations on every level; that a first sweep from zero moves less is
// not counted. Times are the shortest of several samples; those of solves are spread over rounds, so that a machine
// disturbed for a while still shows what it can do. Where hypre was found, its solvers solve the same systems in the same
// rounds.
//
// Tridiagonal systems are measured by themselves too: n lines of n unknowns. On a GPU cuSPARSE solves the same lines, each of
// its functions in the layout that it wants. Its gtsv2StridedBatch goes on from its own result; what gtsvInterleavedBatch
// overwrites is copied anew before every solve, and the time of the copies, measured alone, is taken off.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include <stratum/assembly/operators.hpp>
#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/assembly/sample_coefficients.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>
#include <stratum/solvers/lines/tridiagonal.hpp>
#include <stratum/version.h>

#include "auto_table.hpp"
#include "bench/peers/csr_peer.hpp"
#include "bench/peers/cudss.hpp"
#include "bench/peers/cufft.hpp"
#include "bench/peers/cusparse.hpp"
#include "bench/peers/hypre.hpp"
#include "bench/peers/sine_transform.hpp"
#include "matrix_study.hpp"
#include "support/program.hpp"
#include "support/solve_output.hpp"
#include "support/timing.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

// Discretisation errors are measured on the host, and only as long as that is quick.
constexpr int max_error_level = 12;
constexpr double rtol = 1e-8;
constexpr int max_iterations = 100;
constexpr double peer_bytes = 600;  // for an unknown: BoomerAMG takes 400 to 500
constexpr double cufft_bytes = 96;  // 32 and what plans take
constexpr double cudss_bytes = 2000;

/// A smoother and, for those that solve lines, their order: NAME or NAME:simultaneous.
struct SmootherVariant {
  std::string name;
  LineOrder order = LineOrder::zebra;

  [[nodiscard]] bool solves_lines() const { return name == "adi" || name.starts_with("line_"); }
  [[nodiscard]] std::string label() const {
    return order == LineOrder::zebra ? name : message(name, ":", to_string(order));
  }
  [[nodiscard]] SmootherParams params() const {
    SmootherParams params;
    params.line_order = order;
    return params;
  }
};

std::vector<SmootherVariant> all_smoothers() {
  std::vector<SmootherVariant> choices;
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries()) {
    choices.push_back({name});
    if (choices.back().solves_lines()) choices.push_back({name, LineOrder::simultaneous});
  }
  return choices;
}

template <class T>
constexpr const char* precision_of = std::is_same_v<T, float> ? "float" : "double";

/// What this process has spent on processors. With one thread that is the wall's time on an idle machine; on one shared
/// with others it is free of the waiting, though not of the bandwidth that they take.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Settings {
  bool kernels = true, solves = true, lines = true, coefficients = true, matrices = true;
  std::vector<int> levels;
  std::vector<std::string> meshes;
  std::vector<StorageFormat> kernel_formats{StorageFormat::tensor, StorageFormat::cell, StorageFormat::symmetric,
                                            StorageFormat::nine_band};
  std::vector<StorageFormat> solve_formats{StorageFormat::tensor};
  BoundaryConditions boundaries;           // of the grids of the kernels
  std::vector<SmootherVariant> smoothers;  // of the solves
  std::vector<std::string> peers;          // solvers of hypre
  std::vector<CsrPeer> csr_peers;          // of matrices in CSR
  bool sine_transforms = false;            // on uniform meshes
  bool cudss = false;
  std::string no_peers;     // why there are none
  std::string no_cusparse;  // why it takes no part
  int finest_peer_level = 0;
  int rounds = 1;
  Stopwatch now = wall_seconds;
  bool quick = false;
};

/// The processor by its own name, where the system tells it.
std::string processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "";
}

/// Processes that wanted to run during the last minute: about the number of our own threads on an idle machine.
double load_average() {
  double load = std::nan("");
  (void)getloadavg(&load, 1);
  return load;
}

/// Runs `solve` until it has been given half a second, but no more than seven times; twice where that is not too long:
/// the first run warms up. The report of the shortest.
template <class Solve>
SolveReport shortest_of_several(const Solve& solve) {
  SolveReport best = solve();
  double spent = best.solve_seconds;
  for (int run = 1; run < 7 && best.status == Status::converged && spent < (run == 1 ? 5 : 0.5); ++run) {
    SolveReport next = solve();
    spent += next.solve_seconds;
    if (next.solve_seconds < best.solve_seconds) best = std::move(next);
  }
  return best;
}

/// A x = b on a mesh, and its solution to compare others with.
struct System {
  TensorMesh<2> mesh;
  Field<double> b, x, converged;
  double converged_error = std::nan("");
  std::shared_ptr<const CellCoefficients> k;  // none: one
  GridOperator<double> nine_band;             // what the peers are given

  /// The load vector is assembled on the host, and takes longer than many a solve.
  System(Context& ctx, TensorMesh<2> m) : mesh(std::move(m)) {
    const GridLayout<2> shape = mesh.unknowns();
    expect_available(ctx, 3 * field_bytes<double>(ctx.backend(), shape));
    for (auto* vector : {&b, &x, &converged}) *vector = Field<double>(ctx, shape);
    assemble_load(ctx, mesh, {}, b.view());
  }

  void assemble_nine_band(Context& ctx) {
    if (nine_band.shape() == mesh.unknowns()) return;
    nine_band = k ? stored(ctx, assemble_diffusion(ctx, mesh, *k, {}), StorageFormat::nine_band)
                  : assemble_laplace<double>(ctx, mesh, StorageFormat::nine_band);
  }
  [[nodiscard]] double error(Context& ctx, const Field<double>& u) const {
    return relative_l2_error(ctx, mesh, {}, u.cview()).value_or(std::nan(""));
  }
  /// || x - converged || / || converged - exact ||, overwriting x.
  [[nodiscard]] double algebraic_error(Context& ctx) {
    axpy<double, double>(ctx, -1, converged.cview(), x.view());
    const auto zero = [](const Point&) { return 0.0; };
    const double distance = relative_l2_error(ctx, mesh, {zero, zero, {}}, x.cview()).value_or(std::nan(""));
    // The norm of x (a - x) is a^(5/2) / sqrt(30).
    const double exact = std::pow(mesh.x().length() * mesh.y().length(), 2.5) / 30;
    return distance / (converged_error * exact);
  }
};

/// One line of the table of solves.
struct Contestant {
  std::string solver, format, smoother, cycle, precision;
  std::function<SolveReport(System&)> run;  // sets up, solves, leaves a solution in x
  SolveReport best = {};
  int rounds = 0;
  bool left_out = false;
  double error_ratio = std::nan(""), algebraic_error = std::nan("");

  [[nodiscard]] bool one_pass() const { return cycle.starts_with("fmg("); }
  void take(SolveReport report) {
    const double setup = rounds == 0 ? report.setup_seconds : std::min(report.setup_seconds, best.setup_seconds);
    if (rounds++ == 0 || report.solve_seconds < best.solve_seconds) best = std::move(report);
    best.setup_seconds = setup;
  }
};

constexpr std::string_view sine_transforms_name = "sine-transforms", cudss_name = "cuDSS";

class Benchmark {
 public:
  Benchmark(Context& ctx, const Settings& settings) : ctx_(ctx), settings_(settings) {
    if (!settings.peers.empty()) hypre_.emplace(settings.now);
  }

  /// False when something that was asked for did not fit.
  bool run() {
    measure_copy();
    for (const int level : settings_.levels)
      for (const auto format : settings_.kernel_formats) {
        if (!settings_.kernels) continue;
        const std::string what = message("kernels of level ", level, ", ", to_string(format));
        attempt(what + ", float", [&] { measure_kernels<float>(level, format); });
        attempt(what + ", double", [&] { measure_kernels<double>(level, format); });
      }
    if (settings_.lines) {
      std::printf("\ntridiagonal systems; peer: %s\n", line_peer().c_str());
      for (const int level : settings_.levels) {
        attempt(message("lines of level ", level, ", float"), [&] { measure_lines<float>(level); });
        attempt(message("lines of level ", level, ", double"), [&] { measure_lines<double>(level); });
      }
    }
    if (settings_.solves) {
      std::printf(
          "\nsolves to a relative residual of %g, and full multigrid (one FMG cycle); shortest of %d rounds; peers: "
          "%s\n"
          "error: that of the pass / of the converged solution; algebraic: distance of the two / error of the latter\n",
          rtol, settings_.rounds, peers().c_str());
      print_solves_heading();
      for (const auto& mesh : settings_.meshes)
        for (const int level : settings_.levels) measure_solves(mesh, level);
    }
    if (settings_.coefficients) measure_coefficients();
    if (settings_.matrices)
      attempt("matrices", [&] {
        matrices_ = run_matrix_study(ctx_, hypre_ ? &*hypre_ : nullptr, settings_.peers, settings_.csr_peers,
                                     settings_.now, settings_.quick ? 8 : 1);
      });
    return left_out_.empty();
  }

  [[nodiscard]] std::string json() const {
    JsonObject json;
    json.add("program", "stratum_bench").add("version", STRATUM_VERSION);
    add_machine(json, ctx_);
    json.add("processor", processor());
    json.add("clock", settings_.now == cpu_seconds ? "cpu" : "wall");
    json.add("load_average_before", load_before_).add("load_average_after", load_average());
    json.add("quick", settings_.quick).add("rounds", settings_.rounds);
    json.add("copy_vector_bytes", copy_bytes_).add("copy_gb_per_s", copy_rate_ * 1e-9);
    json.add("rtol", rtol).add("max_iterations", max_iterations).add("peers", peers());
    json.add("line_peer", line_peer());
    json.add("kernels", kernels_).add("lines", lines_).add("solves", solves_);
    json.add("matrices", matrices_).add("left_out", left_out_);
    return json.text();
  }

 private:
  /// What does not fit, or leaves the range of float, is named and left out; the others go on.
  template <class Body>
  void attempt(const std::string& what, const Body& body) {
    try {
      body();
    } catch (const std::exception& error) {
      std::printf("%s: left out, %s\n", what.c_str(), error.what());
      left_out_.push_back(message(what, ": ", error.what()));
    }
    (void)std::fflush(stdout);
  }

  static void print_solves_heading() {
    std::printf("%-5s %5s %-9s %-18s %-10s %-6s %9s %10s %4s %9s %9s %6s %9s\n", "mesh", "level", "operator",
                "smoother or peer", "cycle", "prec.", "set-up s", "solve ms", "its", "residual", "s/unk/dig", "error",
                "algebraic");
  }

  void measure_copy() {
    // One piece of memory on a GPU, where the device's own copy is what kernels are measured against.
    const GridLayout<2> shape = settings_.quick ? GridLayout<2>{4096, 2048}
                                : ctx_.on_gpu() ? GridLayout<2>::flat(1 << 28)
                                                : GridLayout<2>{4096, 8192};
    Operands<double> operands(ctx_, shape);
    const double seconds = seconds_per_call(
        ctx_, settings_.now, operands, [&] { copy<double, double>(ctx_, operands.x.cview(), operands.r.view()); }, 21);
    copy_bytes_ = static_cast<double>(shape.nodes()) * sizeof(double);
    copy_rate_ = 2 * copy_bytes_ / seconds;
    std::printf("stratum_bench %s on %s; copy of %.0f MiB: %.4g GB/s\n", STRATUM_VERSION, ctx_.description().c_str(),
                copy_bytes_ / 1048576, copy_rate_ * 1e-9);
  }

  /// A line of a table, and the end of its JSON.
  template <class T>
  Json report_rate(JsonObject json, const std::string& name, double words, const GridLayout<2>& shape,
                   double seconds) const {
    const double rate = words * static_cast<double>(shape.nodes()) * sizeof(T) / seconds;
    std::printf("%-28s %8.4g %10.4f %9.1f %7.1f\n", name.c_str(), words, seconds * 1e3, rate * 1e-9,
                100 * rate / copy_rate_);
    json.add("words_per_unknown", words).add("milliseconds", seconds * 1e3).add("gb_per_s", rate * 1e-9);
    return json.add("percent_of_copy", 100 * rate / copy_rate_).value();
  }
  static void print_rate_heading(const char* what) {
    std::printf("%-28s %8s %10s %9s %7s\n", what, "words", "ms", "GB/s", "% copy");
  }

  [[nodiscard]] std::string line_peer() const {
    return settings_.no_cusparse.empty() ? "cuSPARSE " + cusparse_version() : "none, " + settings_.no_cusparse;
  }

  /// All methods and peers on 2^level lines of 2^level unknowns, in both directions. Whoever differs from the first is an
  /// error.
  template <class T>
  void measure_lines(int level) {
    const int n = 1 << level;
    const GridLayout<2> shape{n, n};
    const int vectors = settings_.no_cusparse.empty() ? 10 : 6;  // cuSPARSE has layouts of its own
    expect_available(ctx_, vectors * field_bytes<T>(ctx_.backend(), shape));
    std::printf("\n%d lines of %d, %s\n", n, n, precision_of<T>);
    print_rate_heading("method");

    Operands<T> operands(ctx_, shape);  // r: the first solution
    Field<T> lower(ctx_, shape), centre(ctx_, shape), upper(ctx_, shape);
    const TridiagonalView<T> a{lower.cview(), centre.cview(), upper.cview()};
    for (const auto direction : {Direction::x, Direction::y}) {
      const bool along_x = direction == Direction::x;
      set(ctx_, T(-1), lower.view());
      set(ctx_, T(3), centre.view());
      set(ctx_, T(-1), upper.view());
      FieldView<T> first = lower.view(), last = upper.view();  // what couples to no unknown
      (along_x ? first.nx : first.ny) = (along_x ? last.nx : last.ny) = 1;
      last.data += along_x ? n - 1 : (n - 1) * last.pitch;
      const std::vector<T> zeros(static_cast<std::size_t>(n));
      copy_from_host(ctx_, zeros.data(), first);
      copy_from_host(ctx_, zeros.data(), last);

      const auto entry = [&](const std::string& method) {
        JsonObject json;
        json.add("level", level).add("lines", n).add("length", n).add("direction", along_x ? "x" : "y");
        json.add("precision", precision_of<T>).add("method", method);
        return json;
      };
      const auto report = [&](const std::string& method, double seconds) {
        const std::string label = message(method, along_x ? " x" : " y");
        lines_.push_back(report_rate<T>(entry(method), label, 5, shape, seconds));
      };
      const auto compare = [&](const std::string& method) {  // what it left in x
        axpy<T, T>(ctx_, -1, operands.r.cview(), operands.x.view());
        const double difference = norm_max(ctx_, operands.x.cview());
        if (!(difference < (sizeof(T) == sizeof(float) ? 1e-5 : 1e-13)))
          throw std::runtime_error(message(method, " differs from segments by ", difference));
      };
      for (const auto method : {TridiagonalMethod::segments, TridiagonalMethod::cyclic_reduction,
                                TridiagonalMethod::cyclic_reduction_in_place}) {
        const std::string name(to_string(method));
        std::optional<TridiagonalSolver<T>> solver;
        try {
          solver.emplace(ctx_, shape, direction, method);
        } catch (const UsageError& error) {
          std::printf("%s %s: left out, %s\n", name.c_str(), along_x ? "x" : "y", error.what());
          lines_.push_back(entry(name).add("left_out", error.what()).value());
          continue;
        }
        report(name, seconds_per_call(ctx_, settings_.now, operands,
                                      [&] { solver->solve(ctx_, a, operands.b.cview(), operands.x.view()); }));
        if (method == TridiagonalMethod::segments) copy<T, T>(ctx_, operands.x.cview(), operands.r.view());
        compare(name);
      }
      if (!settings_.no_cusparse.empty()) continue;
      CusparseLines<T> peer(ctx_, shape, direction);
      const auto load = [&] { peer.load(ctx_, a, operands.b.cview()); };
      const auto seconds = [&](const auto& kernel) { return seconds_per_call(ctx_, settings_.now, operands, kernel); };
      load();
      peer.solve();
      peer.store(ctx_, operands.x.view());
      compare(peer.name());
      report(peer.name(), peer.overwrites_coefficients() ? seconds([&] { load(), peer.solve(); }) - seconds(load)
                                                         : seconds([&] { peer.solve(); }));
    }
  }

  template <class T>
  void measure_kernels(int level, StorageFormat format) {
    const auto mesh = with_boundaries(make_mesh(mesh_family("A3"), level), settings_.boundaries);
    const auto shape = mesh.unknowns();
    PoissonSolverParams params;
    params.format = format;
    params.precision = sizeof(T) == sizeof(float) ? Precision::mixed : Precision::full;
    expect_available(ctx_, required_memory(ctx_, mesh, params));
    std::printf("\nlevel %d, %s operator, %s\n", level, std::string(to_string(format)).c_str(), precision_of<T>);
    print_rate_heading("kernel");

    Operands<T> operands(ctx_, shape);
    Field<T>&b = operands.b, &x = operands.x, &r = operands.r;
    const auto measure = [&](const std::string& name, double words, const auto& kernel) {
      const double seconds = seconds_per_call(ctx_, settings_.now, operands, kernel);
      JsonObject json;
      json.add("level", level).add("unknowns", shape.nodes()).add("operator", to_string(format));
      json.add("precision", precision_of<T>).add("kernel", name);
      kernels_.push_back(report_rate<T>(std::move(json), name, words, shape, seconds));
    };

    const auto registry = builtin_smoothers();
    for (const int sweeps : {2, 4}) {
      MultigridParams cycle;
      cycle.sweeps = sweeps;
      Multigrid<T> multigrid(ctx_, mesh_hierarchy(mesh), format, cycle);
      const int finest = multigrid.levels() - 1;
      const auto& a = multigrid.level_operator(finest);
      const int coefficients = a.coefficient_words();
      if (sweeps == 2) {
        measure("copy", 2, [&] { copy<T, T>(ctx_, x.cview(), r.view()); });
        measure("axpy", 3, [&] { axpy<T, T>(ctx_, 1e-3, b.cview(), x.view()); });
        measure("residual", 3 + coefficients, [&] { a.residual(ctx_, b.cview(), x.cview(), r.view()); });
        for (const auto& choice : all_smoothers()) {
          auto smoother_params = choice.params();
          smoother_params.format = format;
          const auto smoother = registry.template make<T>(ctx_, choice.name, shape, smoother_params);
          // As a cycle takes them: smoothers that go back and forth between two vectors end where they began.
          constexpr int pair = 2;
          measure(choice.label(), pair * smoother->words_per_step(coefficients),
                  [&] { smoother->smooth(ctx_, a, b.cview(), x.view(), pair, Guess::given, SweepOrder::forward); });
        }
        const auto& transfer = multigrid.transfer(finest);
        Field<T> coarse(ctx_, multigrid.level_operator(finest - 1).shape());
        measure("restrict_residual", 2.25 + coefficients,
                [&] { transfer.restrict_residual(ctx_, a, b.cview(), x.cview(), coarse.view()); });
        measure("prolongate_add", 2.25, [&] { transfer.prolongate_add(ctx_, coarse.cview(), x.view()); });
      }
      const auto smoother = registry.template make<T>(ctx_, cycle.smoother, {1, 1}, cycle.smoother_params);
      double nodes = 0;  // of all levels but the coarsest
      for (int l = 1; l <= finest; ++l) nodes += static_cast<double>(multigrid.level_operator(l).shape().nodes());
      const double words = 2 * sweeps * smoother->words_per_step(coefficients) + 2.25 + coefficients + 2.25;
      measure(message("V(", sweeps, ",", sweeps, ") ", cycle.smoother),
              words * nodes / static_cast<double>(shape.nodes()), [&] { multigrid.apply(ctx_, b.cview(), r.view()); });
    }
  }

  [[nodiscard]] std::string peers() const {
    std::string names = settings_.peers.empty() ? "" : message("hypre ", Hypre::version());
    if (ctx_.on_gpu() && (settings_.sine_transforms || settings_.cudss)) {
      if (settings_.sine_transforms) names = CufftSines::version();
      if (settings_.cudss) names += message(names.empty() ? "" : ", ", Cudss::version());
      return names;
    }
    if (settings_.sine_transforms) names += message(names.empty() ? "" : ", ", SineTransforms::version());
    return names.empty() ? "none, " + settings_.no_peers : names + " on one core";
  }

  void measure_solves(const std::string& mesh_name, int level) {
    measure_solves(mesh_name, level, {}, own_contestants());
  }
  /// Every contestant in every round, so that the samples of each are spread in time; then their lines.
  void measure_solves(const std::string& name, int level, const std::shared_ptr<const CellCoefficients>& k,
                      std::vector<Contestant> contestants) {
    const std::string where = message(name, ", level ", level, ", "), mesh_name = k ? "U1" : name;
    attempt(where + "right-hand side", [&] {
      System system(ctx_, make_mesh(mesh_family(mesh_name), level));
      system.k = k;
      if (level <= settings_.finest_peer_level)
        for (const auto& peer : settings_.peers) contestants.push_back(peer_contestant(peer));
      if (settings_.sine_transforms && level <= settings_.finest_peer_level && !k &&
          SineTransforms::solves(system.mesh))
        contestants.push_back(sine_transforms());
      if (settings_.cudss && level <= settings_.finest_peer_level && !k) contestants.push_back(cudss());
      for (int round = 0; round < settings_.rounds; ++round)
        for (auto& contestant : contestants) {
          // What failed on a mesh fails on its finer levels too, and in double as in mixed precision.
          const std::string series =
              message(name, contestant.solver, contestant.format, contestant.smoother, contestant.cycle);
          if (contestant.left_out || failed_.count(series) > 0) continue;
          contestant.left_out = true;
          attempt(message(where, contestant.format, ", ", contestant.solver, " ", contestant.smoother), [&] {
            contestant.take(contestant.run(system));
            contestant.left_out = false;
            if (contestant.best.status != Status::converged)
              failed_.insert(series);
            else if (round == 0 && level <= max_error_level && !k)
              measure_error(system, contestant);
          });
        }
      for (const auto& contestant : contestants)
        if (contestant.rounds > 0) report(name, level, system, contestant);
    });
  }

  /// Jumps of K on square cells, by CG: K given by cells, and as the matrix alone.
  void measure_coefficients() {
    std::printf("\nK that jumps, on U1, to a relative residual of %g by CG, V(2,2)\n", rtol);
    print_solves_heading();
    for (const int level : settings_.levels) {
      const TensorMesh<2> mesh = make_mesh(mesh_family("U1"), level);
      for (const auto& [name, cells] : {std::pair{"board", checkerboard(mesh, 13, 1e4)}, {"discs", discs(mesh, 1e3)}}) {
        const auto k = std::make_shared<const CellCoefficients>(cells);
        std::vector<Contestant> contestants;
        for (const char* smoother : {"adi", "colour_gs"})
          for (const auto format : {StorageFormat::cell, StorageFormat::nine_band}) {
            PoissonSolverParams params;
            params.format = format;
            params.stop.rtol = rtol;
            params.stop.max_iterations = max_iterations;
            params.retry_in_double = false;
            params.method = Method::cg;
            params.multigrid.smoother = smoother;
            params.multigrid.symmetric = true;
            contestants.push_back(own_contestant(params, 2, smoother, k));
            if (format != StorageFormat::cell) continue;
            // What takes the least time on a GPU.
            params.interpolation = InterpolationKind::matrix;
            const std::string label = message(smoother, ":matrix");
            contestants.push_back(own_contestant(params, 2, label, k));
            params.precision = Precision::residual_replacement;
            for (const bool pass : {false, true}) {
              params.full_multigrid = params.continue_after_full_multigrid = pass;
              contestants.push_back(own_contestant(params, 2, label, k));
              if (smoother == std::string("colour_gs")) contestants.push_back(own_contestant(params, 1, label, k));
            }
          }
        measure_solves(name, level, k, std::move(contestants));
      }
    }
  }

  /// With K by cells: given as such, or, in another form than cell, as the matrix alone.
  [[nodiscard]] Contestant own_contestant(PoissonSolverParams params, int sweeps, const std::string& label,
                                          const std::shared_ptr<const CellCoefficients>& k) const {
    params.multigrid.sweeps = sweeps;
    const bool matrix = k && params.format != StorageFormat::cell;
    if (k && !matrix) params.coefficients = k;
    if (matrix) params.interpolation = InterpolationKind::matrix;
    const std::string kind = !params.full_multigrid ? "V" : params.continue_after_full_multigrid ? "fmg+V" : "fmg";
    const auto run = [this, params, matrix](System& system) {
      const auto now = settings_.now;
      if (matrix) system.assemble_nine_band(ctx_);
      ctx_.synchronise();
      double begin = now();
      PoissonSolver solver = matrix ? PoissonSolver(ctx_, system.nine_band, system.mesh, params)
                                    : PoissonSolver(ctx_, system.mesh, params);
      ctx_.synchronise();
      const double setup_seconds = now() - begin;
      return shortest_of_several([&] {
        set(ctx_, 0.0, system.x.view());
        ctx_.synchronise();
        begin = now();
        SolveReport report = solver.solve(ctx_, system.b.cview(), system.x.view());
        report.solve_seconds = now() - begin;
        report.setup_seconds = setup_seconds;
        return report;
      });
    };
    return {"stratum",
            std::string(to_string(params.format)),
            label,
            message(params.method == Method::cg ? "cg+" : "", kind, "(", sweeps, ",", sweeps, ")"),
            std::string(to_string(params.precision)),
            run};
  }

  [[nodiscard]] std::vector<Contestant> own_contestants() const {
    std::vector<Contestant> contestants;
    const auto add = [&](PoissonSolverParams params, int sweeps, const SmootherVariant& choice) {
      contestants.push_back(own_contestant(params, sweeps, choice.label(), {}));
    };
    for (const auto format : settings_.solve_formats)
      for (const auto& choice : settings_.smoothers) {
        PoissonSolverParams params;
        params.format = format;
        params.stop.rtol = rtol;
        params.stop.max_iterations = max_iterations;
        params.retry_in_double = false;
        params.multigrid.smoother = choice.name;
        params.multigrid.smoother_params = choice.params();
        for (const int sweeps : {2, 4})
          for (const auto precision : {Precision::mixed, Precision::full}) {
            params.precision = precision;
            add(params, sweeps, choice);
          }
        params.precision = Precision::mixed;
        params.full_multigrid = true;
        for (const bool go_on : {true, false})
          for (const int sweeps : {2, 4}) {
            params.continue_after_full_multigrid = go_on;
            add(params, sweeps, choice);
          }
      }
    return contestants;
  }

  [[nodiscard]] Contestant peer_contestant(const std::string& name) const {
    const auto run = [this, name](System& system) {
      const double unknowns = static_cast<double>(system.mesh.unknowns().nodes());
      expect_available(ctx_, static_cast<std::int64_t>(peer_bytes * unknowns), "about ");
      system.assemble_nine_band(ctx_);
      const auto solver = hypre_->set_up(name, system.nine_band, rtol, max_iterations);
      return shortest_of_several([&] { return solver->solve(ctx_, system.b.cview(), system.x.view()); });
    };
    return {"hypre " + name, std::string(to_string(StorageFormat::nine_band)), "", "", "double", run};
  }

  [[nodiscard]] Contestant sine_transforms() const {
    const auto run = [this](System& system) {
      const auto a = assemble_laplace<double>(ctx_, system.mesh, StorageFormat::tensor);
      const auto measured = [&](const auto& solver) {
        return shortest_of_several([&] { return solver.solve(ctx_, a, system.b.cview(), system.x.view(), rtol); });
      };
      if (!ctx_.on_gpu()) return measured(SineTransforms(system.mesh, settings_.now));
      expect_available(
          ctx_, static_cast<std::int64_t>(cufft_bytes * static_cast<double>(system.mesh.unknowns().nodes())), "about ");
      return measured(CufftSines(ctx_, system.mesh, settings_.now));
    };
    return {std::string(sine_transforms_name), "none", "", "", "double", run};
  }

  [[nodiscard]] Contestant cudss() const {
    const auto run = [this](System& system) {
      const auto a = assemble_laplace<double>(ctx_, system.mesh, StorageFormat::tensor);
      expect_available(
          ctx_, static_cast<std::int64_t>(cudss_bytes * static_cast<double>(system.mesh.unknowns().nodes())), "about ");
      const Cudss solver(ctx_, system.mesh, settings_.now);
      return shortest_of_several([&] { return solver.solve(ctx_, a, system.b.cview(), system.x.view(), rtol); });
    };
    return {std::string(cudss_name), "symmetric", "", "", "double", run};
  }

  /// The first that converges is what the passes of full multigrid are compared with.
  void measure_error(System& system, Contestant& contestant) const {
    if (!contestant.one_pass()) {
      if (!std::isnan(system.converged_error)) return;
      copy<double, double>(ctx_, system.x.cview(), system.converged.view());
      system.converged_error = system.error(ctx_, system.converged);
    } else if (!std::isnan(system.converged_error)) {
      contestant.error_ratio = system.error(ctx_, system.x) / system.converged_error;
      contestant.algebraic_error = system.algebraic_error(ctx_);
    }
  }

  void report(const std::string& mesh_name, int level, const System& system, const Contestant& contestant) {
    const auto& [solver, format, smoother, cycle, precision, run, best, rounds, left_out, ratio, algebraic] =
        contestant;
    const bool converged = best.status == Status::converged;
    const auto unknowns = static_cast<double>(system.mesh.unknowns().nodes());
    const double seconds = converged ? best.solve_seconds : std::nan("");
    const double per_digit = seconds / (unknowns * best.digits());
    std::printf("%-5s %5d %-9s %-18s %-10s %-6s %9.4f ", mesh_name.c_str(), level, format.c_str(),
                (smoother.empty() ? solver : smoother).c_str(), cycle.c_str(), precision.c_str(), best.setup_seconds);
    if (converged)
      std::printf("%10.3f %4d %9.2e %9.2e", seconds * 1e3, best.iterations, best.relative_residual(), per_digit);
    else
      std::printf("%s after %d, residual %.2e, %.3g ms", std::string(to_string(best.status)).c_str(), best.iterations,
                  best.relative_residual(), best.solve_seconds * 1e3);
    if (!std::isnan(ratio)) std::printf(" %6.3f %9.3f", ratio, algebraic);
    std::printf("%s%s\n", solver == cudss_name ? "  " : "", solver == cudss_name ? best.choice.c_str() : "");

    JsonObject json;
    json.add("mesh", mesh_name).add("level", level).add("unknowns", unknowns).add("solver", solver);
    json.add("operator", format);
    if (!smoother.empty()) json.add("smoother", smoother).add("cycle", cycle);
    json.add("precision", precision).add("status", to_string(best.status)).add("setup_seconds", best.setup_seconds);
    json.add("solve_seconds", seconds).add("iterations", best.iterations);
    json.add("relative_residual", best.relative_residual()).add("seconds_per_unknown_per_digit", per_digit);
    if (contestant.one_pass())
      json.add("error_to_converged_error", ratio).add("algebraic_to_converged_error", algebraic);
    solves_.push_back(json.value());
  }

  Context& ctx_;
  const Settings& settings_;
  std::optional<Hypre> hypre_;
  double copy_bytes_ = 0, copy_rate_ = 0, load_before_ = load_average();
  Json kernels_ = Json::array(), lines_ = Json::array(), solves_ = Json::array(), matrices_ = Json::array(),
       left_out_ = Json::array();
  std::set<std::string> failed_;
};

template <class Parse>
auto parse_list(const std::string& option, const std::string& text, const Parse& parse) {
  std::vector<decltype(parse(text))> values;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) values.push_back(parse(item));
  expects(!values.empty(), option, ": nothing given");
  return values;
}

/// "8,10..12" is 8, 10, 11, 12.
std::vector<int> parse_levels(const std::string& text) {
  std::vector<int> levels;
  (void)parse_list("--levels", text, [&levels](const std::string& item) {
    const auto dots = item.find("..");
    const int first = parse_integer("--levels", item.substr(0, dots), 2, 15);
    const int last = dots == std::string::npos ? first : parse_integer("--levels", item.substr(dots + 2), first, 15);
    for (int level = first; level <= last; ++level) levels.push_back(level);
    return last;
  });
  return levels;
}

SmootherVariant parse_smoother(const std::string& text) {
  for (const auto& choice : all_smoothers())
    if (choice.label() == text) return choice;
  std::string known;
  for (const auto& choice : all_smoothers()) known += (known.empty() ? "" : ", ") + choice.label();
  throw UsageError(message("--smoothers: unknown '", text, "'; known are ", known));
}

CommandLine make_command_line() {
  return CommandLine(
      {{"Options",
        {{"what", "NAME", "all",
          "kernels, lines (tridiagonal systems), solves, coefficients (solves with K that jumps), matrices (CSR "
          "without a mesh) "
          "or all"},
         {"meshes", "LIST", "U1,U2,U3,A1,A2,A3,A4,A5", "meshes of the solves; kernels are measured on A3"},
         {"levels", "LIST", "", "levels 2 .. 15, as in 8..10,12 (8,10 on a CPU, 10,12,13 on a GPU)"},
         {"operators", "LIST", "", "tensor, cell, symmetric, nine-band (kernels: all; solves: tensor)"},
         {"periodic", "NAME", "", "x, y or xy: kernels on grids that are periodic in these directions"},
         {"neumann", "NAME", "",
          "x, y or xy: kernels on grids whose lines end at Neumann boundaries in these directions"},
         {"smoothers", "LIST", "adi,adi:simultaneous,colour_gs,jacobi", "smoothers of the solves"},
         {"auto", "", "",
          "instead: smoother auto beside every fixed choice, on --meshes at --levels and on random meshes"},
         {"random", "N", "50", "how many random meshes for --auto, 0 .. 1000"},
         {"rounds", "N", "3", "how often all solves of a mesh and level take turns, 1 .. 100 (with --quick: 1)"},
         {"peers", "LIST", "all",
          "solvers of hypre: SMG, SMG-CG, PFMG-CG, BoomerAMG-CG; sine-transforms, by FFTW or on a GPU cuFFT, which "
          "solve on uniform meshes; amgcl and ginkgo, of matrices in CSR; on a GPU cuDSS, a direct solver; all that "
          "are "
          "there, or none (no cuSPARSE either)"},
         {"peer-level", "N", "10", "finest level that peers solve too, 2 .. 15"},
         {"quick", "", "", "level 7, U1 and A3, a copy of 64 MiB: seconds, to see that it works"},
         {"clock", "NAME", "wall", "wall, or cpu: what one thread has spent, for a machine shared with others"},
         output_file("json", "FILE", "everything that is printed, as JSON")}},
       machine_options()},
      {"Other", {{"help", "", "", "print this"}, {"version", "", "", "print the version"}}});
}

/// Peers of the CPU run in this process, on one core: they are compared with one thread of our own, or not at all. On a GPU
/// there are sine transforms and a direct solver.
void parse_peers(const std::string& text, const Context& ctx, Settings& settings) {
  if (text == "none") {
    settings.no_peers = "not asked for";
    return;
  }
  const bool on_gpu = ctx.on_gpu(), has_sines = on_gpu ? CufftSines::available() : SineTransforms::available();
  const bool has_cudss = on_gpu && Cudss::available(), one_core = !on_gpu && ctx.threads() == 1;
  const auto of_csr = csr_peers();
  if (on_gpu && !has_sines && !has_cudss)
    settings.no_peers = "built without cuFFT and cuDSS; other peers have one core: --backend cpu --threads 1 compares";
  else if (!on_gpu && ctx.threads() != 1)
    settings.no_peers = "peers have one core: --backend cpu --threads 1 compares";
  else if (!on_gpu && !Hypre::available() && !has_sines)
    settings.no_peers = "built without hypre and FFTW (Debian: libhypre-dev, libfftw3-dev)";
  if (text == "all") {
    if (one_core) std::ranges::copy_if(of_csr, std::back_inserter(settings.csr_peers), &CsrPeer::available);
    if (!settings.no_peers.empty()) return;
    if (Hypre::available() && !on_gpu) settings.peers = Hypre::solvers();
    settings.sine_transforms = has_sines;
    settings.cudss = has_cudss;
    return;
  }
  std::vector<std::pair<std::string, std::string>> known{
      {std::string(sine_transforms_name), std::string(sine_transforms_name)},
      {std::string(cudss_name), std::string(cudss_name)}};
  for (const auto& peer : of_csr) known.emplace_back(peer.option, peer.option);
  for (const auto& solver : Hypre::solvers()) known.emplace_back(solver, solver);
  for (const auto& name :
       parse_list("--peers", text, [&](const std::string& peer) { return choice("--peers", peer, known); })) {
    if (const auto csr = std::ranges::find(of_csr, name, &CsrPeer::option); csr != of_csr.end()) {
      expects(one_core, "--peers ", name, ": it has one core; --backend cpu --threads 1 compares");
      expects(csr->available(), "--peers ", name, ": built without ", csr->library);
      settings.csr_peers.push_back(*csr);
      continue;
    }
    const bool sines = name == sine_transforms_name, direct = name == cudss_name;
    expects(settings.no_peers.empty(), "--peers ", text, ": ", settings.no_peers);
    expects(sines || direct == on_gpu, "--peers ", name, ": on a GPU there are ", sine_transforms_name, " and ",
            cudss_name);
    expects(direct  ? has_cudss
            : sines ? has_sines
                    : Hypre::available(),
            "--peers ", name, ": built without ",
            direct  ? "cuDSS (pip: nvidia-cudss-cu13)"
            : sines ? (on_gpu ? "cuFFT" : "FFTW (Debian: libfftw3-dev)")
                    : "hypre (Debian: libhypre-dev)");
    if (sines)
      settings.sine_transforms = true;
    else if (direct)
      settings.cudss = true;
    else
      settings.peers.push_back(name);
  }
}

Settings parse_settings(const CommandLine& options, const Context& ctx) {
  Settings settings;
  const int what =
      choice<int>("--what", options.text("what"),
                  {{"kernels", 1}, {"lines", 2}, {"solves", 4}, {"coefficients", 8}, {"matrices", 16}, {"all", 31}});
  settings.kernels = (what & 1) != 0;
  settings.lines = (what & 2) != 0;
  settings.solves = (what & 4) != 0;
  settings.coefficients = (what & 8) != 0;
  settings.matrices = (what & 16) != 0;
  settings.quick = options.is_set("quick");
  settings.levels = options.has("levels") ? parse_levels(options.text("levels"))
                    : settings.quick      ? std::vector{7}
                    : ctx.on_gpu()        ? std::vector{10, 12, 13}
                                          : std::vector{8, 10};
  const std::string meshes = settings.quick && !options.has("meshes") ? "U1,A3" : options.text("meshes");
  settings.meshes = parse_list("--meshes", meshes, [](const std::string& name) { return mesh_family(name).name; });
  if (options.has("operators"))
    settings.kernel_formats = settings.solve_formats =
        parse_list("--operators", options.text("operators"), storage_format);
  const auto directions = [&](const std::string& option) {
    return options.has(option) ? choice<int>("--" + option, options.text(option), {{"x", 1}, {"y", 2}, {"xy", 3}}) : 0;
  };
  const int periodic = directions("periodic"), neumann = directions("neumann");
  if ((periodic & neumann) != 0) throw UsageError("--periodic and --neumann: one of them in each direction");
  const auto kind_in = [&](int direction) {
    return (periodic & direction) != 0  ? BoundaryConditionType::periodic
           : (neumann & direction) != 0 ? BoundaryConditionType::neumann
                                        : BoundaryConditionType::dirichlet;
  };
  settings.boundaries.left.kind = settings.boundaries.right.kind = kind_in(1);
  settings.boundaries.bottom.kind = settings.boundaries.top.kind = kind_in(2);
  settings.smoothers = parse_list("--smoothers", options.text("smoothers"), parse_smoother);
  settings.rounds = settings.quick && !options.has("rounds") ? 1 : options.integer("rounds", 1, 100);
  settings.finest_peer_level = options.integer("peer-level", 2, 15);
  parse_peers(options.text("peers"), ctx, settings);
  settings.no_cusparse = !ctx.on_gpu()                     ? "cuSPARSE runs on a GPU"
                         : !cusparse_available()           ? "built without cuSPARSE"
                         : options.text("peers") == "none" ? "not asked for"
                                                           : "";
  settings.now = choice<Stopwatch>("--clock", options.text("clock"), {{"wall", wall_seconds}, {"cpu", cpu_seconds}});
  expects(settings.now == wall_seconds || (!ctx.on_gpu() && ctx.threads() == 1),
          "--clock cpu is for one thread on a CPU, not for ", ctx.description());
  return settings;
}

constexpr const char* before_options =
    "Usage: stratum_bench [OPTIONS]\n\n"
    "Measures kernels, tridiagonal systems, cycles and solves, in GB/s of declared bytes beside a copy of long\n"
    "vectors in the same run, and in time to a relative residual of 1e-8 and to discretisation accuracy. Solves\n"
    "that do not converge are named and not timed; what does not fit in memory is left out (exit code 4 at the\n"
    "end). Lines too long for a method's shared memory are named, and no error.\n"
    "Kernels whose data fit a cache can exceed the copy.\n";

constexpr const char* examples =
    "Examples:\n"
    "  stratum_bench --quick                                     seconds, to see that it works\n"
    "  stratum_bench --threads 1 --levels 10 --what kernels\n"
    "  stratum_bench --levels 10 --what kernels --neumann xy\n"
    "  stratum_bench --backend cuda --what lines                 tridiagonal systems, beside cuSPARSE\n"
    "  stratum_bench --threads 1 --levels 10 --what solves --smoothers adi       beside hypre, where it was found\n"
    "  stratum_bench --threads 1 --what matrices                 CSR of any origin, beside hypre\n"
    "  stratum_bench --what solves --meshes A3 --levels 8..12 --smoothers adi --json a3.json\n"
    "  stratum_bench --auto --threads 1 --clock cpu --levels 8,10 --json auto.json\n"
    "  stratum_bench --backend cuda --what solves --meshes A3 --operators nine-band --levels 13\n";

int run(Context ctx, const Settings& settings, const CommandLine& options, OutputFiles outputs) {
  outputs.check();
  if (options.is_set("auto")) {
    outputs.write_text("json", print_auto_table(ctx, settings.now, options.text("clock"), settings.meshes,
                                                settings.levels, options.integer("random", 0, 1000)));
    return 0;
  }
  Benchmark benchmark(ctx, settings);
  const bool complete = benchmark.run();
  outputs.write_text("json", benchmark.json());
  return complete ? 0 : 4;
}

/// What the options ask for.
std::function<int()> prepare(const CommandLine& options) {
  const Context ctx = parse_machine(options).context();
  expects(options.is_set("auto") || !options.has("random"), "--random: only --auto takes random meshes");
  (void)options.integer("random", 0, 1000);
  return [ctx, settings = parse_settings(options, ctx), outputs = OutputFiles(options), &options] {
    return run(ctx, settings, options, outputs);
  };
}

}  // namespace

int main(int argc, char** argv) {
  Program program{"stratum_bench", before_options, message(examples, about_outputs), make_command_line(), {}, prepare};
  return run_program(program, argc, argv);
}
