// stratum_bench: how fast the kernels, the cycles and the solvers run, beside a copy of long vectors measured in the same run.
//
// Kernels are charged the bytes that they declare: words per node times unknowns times the size of a word. A cycle is
// charged its smoothing steps, restrictions and prolongations on every level; that a first sweep from zero moves less is
// not counted. Times are medians after a warm-up.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/core/blas.hpp>
#include <stratum/core/json.hpp>
#include <stratum/core/output_file.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "command_line.hpp"

namespace {

using namespace stratum;
using namespace stratum::apps;

// Discretisation errors are measured on the host, and only as long as that is quick.
constexpr int max_error_level = 10;
constexpr double rtol = 1e-8;

/// A smoother and, for those that solve lines, their order: NAME or NAME:simultaneous.
struct SmootherChoice {
  std::string name;
  LineOrder order = LineOrder::zebra;

  [[nodiscard]] bool solves_lines() const { return name == "adi" || name.starts_with("line_"); }
  [[nodiscard]] std::string label() const {
    return order == LineOrder::zebra ? name : message(name, ":", to_string(order));
  }
  [[nodiscard]] SmootherParams params() const {
    SmootherParams params;
    params.line_order = order;
    if (order == LineOrder::simultaneous) params.damping = 0.8;
    return params;
  }
};

std::vector<SmootherChoice> all_smoothers() {
  std::vector<SmootherChoice> choices;
  const auto registry = builtin_smoothers();
  for (const auto& [name, entry] : registry.entries()) {
    choices.push_back({name});
    if (choices.back().solves_lines()) choices.push_back({name, LineOrder::simultaneous});
  }
  return choices;
}

struct Settings {
  bool kernels = true, solves = true;
  std::vector<int> levels;
  std::vector<std::string> meshes;
  std::vector<OperatorForm> kernel_forms{OperatorForm::tensor, OperatorForm::symmetric, OperatorForm::nine_band};
  std::vector<OperatorForm> solve_forms{OperatorForm::tensor};
  std::vector<SmootherChoice> smoothers;  // of the solves
  bool quick = false;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The operands of kernels, set anew before every sample so that nothing overflows however often a kernel is repeated.
template <class T>
struct Operands {
  Vector<T> b, x, r;

  Operands(Context& ctx, const GridShape& shape) : b(ctx, shape), x(ctx, shape), r(ctx, shape) {}
  void reset(Context& ctx) {
    set(ctx, T(1), b.view());
    set(ctx, T(0.5), x.view());
  }
};

/// Median over samples; each repeats a short kernel until the resolution of the clock and the wait at the end do not matter.
template <class T, class Kernel>
double seconds_per_call(Context& ctx, Operands<T>& operands, const Kernel& kernel) {
  const auto timed = [&](int calls) {
    operands.reset(ctx);
    ctx.synchronise();
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) kernel();
    ctx.synchronise();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / calls;
  };
  (void)timed(1);
  const int calls = static_cast<int>(std::clamp(5e-3 / timed(1), 1.0, 200.0));
  std::vector<double> samples(7);
  for (auto& sample : samples) sample = timed(calls);
  return median(std::move(samples));
}

class Benchmark {
 public:
  Benchmark(Context& ctx, const Settings& settings) : ctx_(ctx), settings_(settings) {}

  /// False when something that was asked for did not fit.
  bool run() {
    measure_copy();
    for (const int level : settings_.levels)
      for (const auto form : settings_.kernel_forms) {
        if (!settings_.kernels) continue;
        const std::string what = message("kernels of level ", level, ", ", to_string(form));
        attempt(what + ", float", [&] { measure_kernels<float>(level, form); });
        attempt(what + ", double", [&] { measure_kernels<double>(level, form); });
      }
    if (settings_.solves) {
      std::printf("\nsolves to a relative residual of %g, and full multigrid (one pass; error / converged error)\n"
                  "%-4s %5s %-9s %-16s %-7s %-6s %9s %9s %5s %9s %9s %6s\n",
                  rtol, "mesh", "level", "operator", "smoother", "cycle", "prec.", "set-up s", "solve ms", "its",
                  "residual", "s/unk/dig", "error");
      for (const auto& mesh : settings_.meshes)
        for (const int level : settings_.levels)
          for (const auto form : settings_.solve_forms) measure_solves(mesh, level, form);
    }
    return left_out_.empty();
  }

  [[nodiscard]] std::string json() const {
    const auto lines = [](const std::vector<std::string>& entries) {
      return JsonObject::array(entries, [](const std::string& entry) { return "\n    " + entry; });
    };
    JsonObject json;
    json.add("program", "stratum_bench").add("version", STRATUM_VERSION);
    json.add("backend", ctx_.on_gpu() ? "cuda" : "cpu").add("device", ctx_.description());
    json.add("threads", ctx_.threads()).add_raw("quick", settings_.quick ? "true" : "false");
    json.add("copy_vector_bytes", copy_bytes_).add("copy_gb_per_s", copy_rate_ * 1e-9).add("rtol", rtol);
    json.add_raw("kernels", lines(kernels_)).add_raw("solves", lines(solves_)).add_raw("left_out", lines(left_out_));
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
      left_out_.push_back(JsonObject::string(message(what, ": ", error.what())));
    }
    (void)std::fflush(stdout);
  }

  static std::string one_line(const JsonObject& object) {
    std::string text = object.text();
    std::erase(text, '\n');
    return text;
  }

  void measure_copy() {
    const GridShape shape{4096, settings_.quick ? 2048 : 8192};
    Operands<double> operands(ctx_, shape);
    const double seconds =
        seconds_per_call(ctx_, operands, [&] { copy<double, double>(ctx_, operands.x.cview(), operands.r.view()); });
    copy_bytes_ = static_cast<double>(shape.nodes()) * sizeof(double);
    copy_rate_ = 2 * copy_bytes_ / seconds;
    std::printf("stratum_bench %s on %s; copy of %.0f MiB: %.4g GB/s\n", STRATUM_VERSION, ctx_.description().c_str(),
                copy_bytes_ / 1048576, copy_rate_ * 1e-9);
  }

  template <class T>
  void measure_kernels(int level, OperatorForm form) {
    const auto mesh = make_mesh(mesh_family("A3"), level);
    const auto shape = mesh.unknowns();
    const char* precision = sizeof(T) == sizeof(float) ? "float" : "double";
    PoissonSolverParams params;
    params.form = form;
    params.precision = sizeof(T) == sizeof(float) ? Precision::mixed : Precision::full;
    const auto needed = required_memory(ctx_, mesh, params), there = available_memory(ctx_);
    if (needed > there) throw ResourceError(message(needed >> 20, " MiB needed, ", there >> 20, " available"));
    std::printf("\nlevel %d, %s operator, %s\n%-20s %8s %10s %9s %7s\n", level, std::string(to_string(form)).c_str(),
                precision, "kernel", "words", "ms", "GB/s", "% copy");

    Operands<T> operands(ctx_, shape);
    auto& [b, x, r] = operands;
    const auto measure = [&](const std::string& name, double words, const auto& kernel) {
      const double seconds = seconds_per_call(ctx_, operands, kernel);
      const double rate = words * static_cast<double>(shape.nodes()) * sizeof(T) / seconds;
      std::printf("%-20s %8.4g %10.4f %9.1f %7.1f\n", name.c_str(), words, seconds * 1e3, rate * 1e-9,
                  100 * rate / copy_rate_);
      JsonObject json;
      json.add("level", level).add("unknowns", static_cast<double>(shape.nodes())).add("operator", to_string(form));
      json.add("precision", precision).add("kernel", name).add("words_per_unknown", words);
      json.add("milliseconds", seconds * 1e3).add("gb_per_s", rate * 1e-9);
      kernels_.push_back(one_line(json.add("percent_of_copy", 100 * rate / copy_rate_)));
    };

    const auto registry = builtin_smoothers();
    for (const int steps : {2, 4}) {
      MultigridParams cycle;
      cycle.steps = steps;
      Multigrid<T> multigrid(ctx_, mesh_hierarchy(mesh), form, cycle);
      const int finest = multigrid.levels() - 1;
      const auto& a = multigrid.level_operator(finest);
      const int coefficients = a.coefficient_words();
      if (steps == 2) {
        measure("copy", 2, [&] { copy<T, T>(ctx_, x.cview(), r.view()); });
        measure("axpy", 3, [&] { axpy<T, T>(ctx_, 1e-3, b.cview(), x.view()); });
        measure("residual", 3 + coefficients, [&] { a.residual(ctx_, b.cview(), x.cview(), r.view()); });
        for (const auto& choice : all_smoothers()) {
          const auto smoother = registry.template make<T>(ctx_, choice.name, shape, choice.params());
          const int elementary = smoother->elementary_steps();
          measure(choice.label(), elementary * smoother->words_per_step(coefficients), [&] {
            smoother->smooth(ctx_, a, b.cview(), x.view(), elementary, Guess::given, SweepOrder::forward);
          });
        }
        const auto& transfer = multigrid.transfer(finest);
        Vector<T> coarse(ctx_, multigrid.level_operator(finest - 1).shape());
        measure("restrict_residual", 2.25 + coefficients,
                [&] { transfer.restrict_residual(ctx_, a, b.cview(), x.cview(), coarse.view()); });
        measure("prolongate_add", 2.25, [&] { transfer.prolongate_add(ctx_, coarse.cview(), x.view()); });
      }
      const auto smoother = registry.template make<T>(ctx_, cycle.smoother, {1, 1}, cycle.smoother_params);
      double nodes = 0;  // of all levels but the coarsest
      for (int l = 1; l <= finest; ++l) nodes += static_cast<double>(multigrid.level_operator(l).shape().nodes());
      const double words = 2 * steps * smoother->words_per_step(coefficients) + 2.25 + coefficients + 2.25;
      measure(message("V(", steps, ",", steps, ") ", cycle.smoother),
              words * nodes / static_cast<double>(shape.nodes()), [&] { multigrid.apply(ctx_, b.cview(), r.view()); });
    }
  }

  void measure_solves(const std::string& mesh_name, int level, OperatorForm form) {
    double converged_error = std::nan("");
    for (const auto& choice : settings_.smoothers) {
      PoissonSolverParams params;
      params.form = form;
      params.stop.rtol = rtol;
      params.stop.max_iterations = 60;
      params.retry_in_double = false;
      params.multigrid.smoother = choice.name;
      params.multigrid.smoother_params = choice.params();
      const auto solve = [&] {
        attempt(message("solve of ", mesh_name, ", level ", level, ", ", to_string(form), ", ", choice.label()),
                [&] { measure_solve(mesh_name, level, params, choice, converged_error); });
      };
      for (const int steps : {2, 4})
        for (const auto precision : {Precision::mixed, Precision::full}) {
          params.multigrid.steps = steps;
          params.precision = precision;
          solve();
        }
      params.multigrid.steps = 2;
      params.precision = Precision::mixed;
      params.full_multigrid = true;
      solve();
    }
  }

  void measure_solve(const std::string& mesh_name, int level, const PoissonSolverParams& params,
                     const SmootherChoice& choice, double& converged_error) {
    const bool full_multigrid = params.full_multigrid;
    const int steps = params.multigrid.steps;
    const std::string cycle = full_multigrid ? "fmg" : message("V(", steps, ",", steps, ")");
    // What failed on a mesh fails on its finer levels too, and in double as in mixed precision.
    const std::string series = message(mesh_name, " ", choice.label(), " ", cycle);
    if (failed_.count(series) > 0) return;

    const auto mesh = make_mesh(mesh_family(mesh_name), level);
    PoissonSolver solver(ctx_, mesh, params);
    load(mesh);
    auto& [name, b, x] = loaded_;
    const auto once = [&] {
      set(ctx_, 0.0, x.view());
      ctx_.synchronise();
      return solver.solve(ctx_, b.cview(), x.view());
    };
    const SolveReport report = once();  // warms up as well
    const bool converged = report.status == Status::converged;
    if (!converged) failed_.insert(series);
    double seconds = std::nan(""), ratio = std::nan("");
    if (converged) {
      std::vector<double> samples(report.solve_seconds < 0.2 ? 7 : 3);
      for (auto& sample : samples) sample = once().solve_seconds;
      seconds = median(std::move(samples));
      if (level <= max_error_level && (full_multigrid || std::isnan(converged_error))) {
        const double error = relative_l2_error(ctx_, mesh, {}, x.cview()).value_or(std::nan(""));
        (full_multigrid ? ratio : converged_error) = full_multigrid ? error / converged_error : error;
      }
    }
    const auto unknowns = static_cast<double>(mesh.unknowns().nodes());
    const double per_digit = seconds / (unknowns * -std::log10(report.residual / report.initial_residual));
    const char* precision = params.precision == Precision::mixed ? "mixed" : "double";
    std::printf("%-4s %5d %-9s %-16s %-7s %-6s %9.4f ", mesh_name.c_str(), level,
                std::string(to_string(params.form)).c_str(), choice.label().c_str(), cycle.c_str(), precision,
                report.setup_seconds);
    if (converged)
      std::printf("%9.3f %5d %9.2e %9.2e", seconds * 1e3, report.iterations, report.relative_residual(), per_digit);
    else
      std::printf("%s after %d", std::string(to_string(report.status)).c_str(), report.iterations);
    std::printf(std::isnan(ratio) ? "\n" : " %6.3f\n", ratio);
    JsonObject json;
    json.add("mesh", mesh_name).add("level", level).add("unknowns", unknowns).add("operator", to_string(params.form));
    json.add("smoother", choice.label()).add("cycle", cycle).add("precision", precision);
    json.add("status", to_string(report.status)).add("setup_seconds", report.setup_seconds);
    json.add("solve_seconds", seconds).add("iterations", report.iterations);
    json.add("relative_residual", report.relative_residual()).add("seconds_per_unknown_per_digit", per_digit);
    solves_.push_back(one_line(json.add("error_to_converged_error", ratio)));
  }

  /// The load vector of the latest mesh is kept: assembled on the host, it takes longer than many a solve.
  void load(const TensorMesh& mesh) {
    const std::string name = message(mesh.name(), " ", mesh.x().size());
    if (loaded_.name == name) return;
    loaded_ = {"", Vector<double>(ctx_, mesh.unknowns()), Vector<double>(ctx_, mesh.unknowns())};
    assemble_load(ctx_, mesh, {}, loaded_.b.view());
    loaded_.name = name;
  }

  Context& ctx_;
  const Settings& settings_;
  double copy_bytes_ = 0, copy_rate_ = 0;
  std::vector<std::string> kernels_, solves_, left_out_;  // JSON
  std::set<std::string> failed_;
  struct {
    std::string name;
    Vector<double> b, x;
  } loaded_;
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

SmootherChoice parse_smoother(const std::string& text) {
  for (const auto& choice : all_smoothers())
    if (choice.label() == text) return choice;
  const auto label = [](const SmootherChoice& choice) { return choice.label(); };
  throw UsageError(message("--smoothers: unknown '", text, "'; known are ", JsonObject::array(all_smoothers(), label)));
}

CommandLine make_command_line() {
  return CommandLine(
      {{"Options",
        {{"what", "NAME", "all", "kernels, solves or all"},
         {"meshes", "LIST", "U1,U2,U3,A1,A2,A3,A4,A5", "meshes of the solves; kernels are measured on A3"},
         {"levels", "LIST", "", "levels 2 .. 15, as in 8..10,12 (8,10 on a CPU, 10,12,13 on a GPU)"},
         {"operators", "LIST", "", "tensor, symmetric, nine-band (kernels: all; solves: tensor)"},
         {"smoothers", "LIST", "adi,adi:simultaneous,colour_gs,jacobi", "smoothers of the solves"},
         {"quick", "", "", "level 7, U1 and A3, a copy of 64 MiB: seconds, to see that it works"},
         {"backend", "NAME", "auto", "cpu, cuda, or auto: cuda where a device answers"},
         {"threads", "N", "", "CPU threads, 1 .. 4096 (all)"},
         {"json", "FILE", "", "everything that is printed, as JSON"}}}},
      {"Other", {{"help", "", "", "print this"}, {"version", "", "", "print the version"}}});
}

Settings parse_settings(const CommandLine& options, const Context& ctx) {
  Settings settings;
  const int what = choice<int>("--what", options.text("what"), {{"kernels", 1}, {"solves", 2}, {"all", 3}});
  settings.kernels = (what & 1) != 0;
  settings.solves = (what & 2) != 0;
  settings.quick = options.is_set("quick");
  settings.levels = options.has("levels") ? parse_levels(options.text("levels"))
                    : settings.quick      ? std::vector{7}
                    : ctx.on_gpu()        ? std::vector{10, 12, 13}
                                          : std::vector{8, 10};
  const std::string meshes = settings.quick && !options.has("meshes") ? "U1,A3" : options.text("meshes");
  settings.meshes = parse_list("--meshes", meshes, [](const std::string& name) { return mesh_family(name).name; });
  if (options.has("operators"))
    settings.kernel_forms = settings.solve_forms = parse_list("--operators", options.text("operators"), operator_form);
  settings.smoothers = parse_list("--smoothers", options.text("smoothers"), parse_smoother);
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("stratum_bench", [argc, argv] {
    auto options = make_command_line();
    options.parse(argc, argv);
    if (options.is_set("help")) {
      std::printf(
          "Usage: stratum_bench [OPTIONS]\n\n"
          "Measures kernels, cycles and solves, in GB/s of declared bytes beside a copy of long vectors in the same\n"
          "run, and in time to a relative residual of 1e-8 and to discretisation accuracy. Solves that do not\n"
          "converge are named and not timed; what does not fit in memory is left out (exit code 4 at the end).\n"
          "Kernels whose data fit a cache can exceed the copy.\n"
          "%s\n"
          "Examples:\n"
          "  stratum_bench --quick                                     seconds, to see that it works\n"
          "  stratum_bench --threads 1 --levels 10 --what kernels\n"
          "  stratum_bench --what solves --meshes A3 --levels 8..12 --smoothers adi --json a3.json\n"
          "  stratum_bench --backend cuda --what solves --meshes A3 --operators nine-band --levels 13\n",
          options.help().c_str());
      return 0;
    }
    if (options.is_set("version")) return std::printf("stratum_bench %s\n", STRATUM_VERSION), 0;
    const auto backend = choice<Backend>(
        "--backend", options.text("backend"),
        {{"auto", cuda_available() ? Backend::cuda : Backend::cpu}, {"cpu", Backend::cpu}, {"cuda", Backend::cuda}});
    Context ctx(backend, options.has("threads") ? options.integer("threads", 1, 4096) : 0);
    const Settings settings = parse_settings(options, ctx);
    const std::string json = options.has("json") ? options.text("json") : "";
    if (!json.empty()) check_writable(json);
    Benchmark benchmark(ctx, settings);
    const bool complete = benchmark.run();
    if (!json.empty()) write_whole_text(json, benchmark.json());
    return complete ? 0 : 4;
  });
}
