// paper_tables --study bubbly: R. Gupta, Implementation of the Deflated Preconditioned Conjugate Gradient Method for Bubbly
// Flow on the Graphical Processing Unit, 2010, Figures 74 to 79, and what came of it.
//
// Figures 74 to 76, five points with 4 and -1, block IC and stripes. The thesis stops at "1e-6" without saying of what; its
// counts are those of ||r|| <= rtol ||b|| with b = A x, x uniform in 0 .. 1, and rtol = 1.55e-6 (n = 128), 1.57e-5 (256),
// 2.84e-5 (512): the tolerances used here.
//
// Figures 77 to 79, two layers of densities 10 : 1. The thesis stops at 1e-2, or not at all ("NC", after 1000 iterations): its
// printed matrix is indefinite, one unknown is pinned, and E^-1 is rounded to single precision. Here the matrix is that of the
// links, singular and consistent, the right-hand side white, and the columns go on to 1e-10.
//
// Tables 1 and 2 are ours: iterations of deflated conjugate gradients with stripes (S) and square blocks (Q) by the number of
// their vectors. Table 3: which method when, hypre's among them where it was found.

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/hypre.hpp"
#include "studies.hpp"
#include "support/program.hpp"
#include "support/table.hpp"
#include "two_phase/pressure_solver.hpp"

namespace stratum::apps {

namespace {

class BubblyStudy {
 public:
  /// On a GPU, the figures on the CPU beside it.
  BubblyStudy(const Machine& machine, bool csv) : cpu_(Backend::cpu, machine.threads), csv_(csv) {
    if (machine.backend == Backend::cuda) gpu_.emplace(Backend::cuda);
  }

  static constexpr int first_level = 7;

  /// Of its grid.
  [[nodiscard]] static int level_of(int number) {
    return static_cast<int>(std::lround(std::log2(figures[static_cast<std::size_t>(number - first_bubbly_figure)].n)));
  }

  void print_figure(int number) {
    const Figure& figure = figures[static_cast<std::size_t>(number - first_bubbly_figure)];
    std::vector<std::string> header{"vectors", "blocks", "ours"};
    if (figure.two_phase)
      header.insert(header.end(), {"1e-6", "1e-10"});
    else
      header.insert(header.end(), {"error"});
    header.insert(header.end(), {"host", "device", "speed-up", "thesis", "seconds"});
    const Table table(csv_,
                      message("Figure ", number, ": ", figure.n, " x ", figure.n, ", ",
                              figure.two_phase ? "two layers, 10 : 1" : "Poisson type",
                              "; block IC and stripes: iterations to ", figure.rtol,
                              " beside the thesis's on host and device, speed-ups (", machine().description(), ")"),
                      header);
    const PressureSystem system = figure.two_phase ? layered_system(figure.n, 10) : poisson_system(figure.n, figure.n);
    for (const auto& row : figure.rows) {
      if (row.vectors == 0) continue;
      for (std::size_t k = 0; k < figure.blocks.size(); ++k) {
        PressureParams params = deflated("block-ic", DeflatePressure::stripes, row.vectors);
        params.blocks = figure.blocks[k];
        const Run run = solve(machine(), system, params, figure.two_phase ? 1e-10 : figure.rtol, !figure.two_phase);
        std::vector<std::string> cells{message(row.vectors), message(figure.blocks[k])};
        if (figure.two_phase)
          for (const double rtol : {figure.rtol, 1e-6, 1e-10}) cells.push_back(run.count(rtol));
        else
          cells.insert(cells.end(), {run.count(figure.rtol), scientific(run.error, 2)});
        std::string speedup;
        if (gpu_) {
          const Run host = solve(cpu_, system, params, figure.two_phase ? 1e-10 : figure.rtol, !figure.two_phase);
          speedup = ratio(host.report.solve_seconds, run.report.solve_seconds);
        }
        const auto& thesis = row.of[k];
        cells.insert(cells.end(), {thesis.host, thesis.device, speedup, message(thesis.speedup),
                                   scientific(run.report.solve_seconds, 1)});
        table.row(cells);
      }
    }
  }

  /// Poisson type.
  void print_table1(int max_level) {
    std::vector<std::string> header{"n    M     "};
    for (const auto& v : vectors) header.push_back(v.name());
    const Table table(
        csv_,
        message("Table 1: 4 and -1, b = A x: iterations to 1e-6 by deflation vectors (", machine().description(), ")"),
        header);
    for (int level = std::min(first_level, max_level); level <= max_level; ++level) {
      const int n = 1 << level;
      const PressureSystem system = poisson_system(n, n);
      for (const auto& [label, m] : labels)
        print_row(
            table, message(n, "  ", label), system, m, [](const Run& run) { return run.count(1e-6); }, 1e-6, true);
    }
  }

  /// Two layers.
  void print_table2(int max_level) {
    std::vector<std::string> header{"n    contrast M     "};
    for (const auto& v : vectors) header.push_back(v.name());
    const Table table(csv_,
                      message("Table 2: two layers between walls, white right-hand side: iterations to 1e-6/1e-10 (",
                              machine().description(), ")"),
                      header, 9);
    for (int level = std::min(first_level, max_level); level <= max_level; ++level)
      for (const double contrast : {1e1, 1e3, 1e6}) {
        const int n = 1 << level;
        const PressureSystem system = layered_system(n, contrast);
        for (const auto& [label, m] : labels)
          print_row(
              table, message(n, "  ", contrast, " ", label), system, m,
              [](const Run& run) { return run.count(1e-6) + "/" + run.count(1e-10); }, 1e-10, false);
      }
  }

  /// Which when.
  void print_table3(int max_level) {
    if (Hypre::available() && !gpu_) hypre_.emplace(wall_seconds);
    std::vector<Method> methods{{"IC", with("block-ic", DeflatePressure::none)},
                                {"IC, Q", with("block-ic", DeflatePressure::automatic)},
                                {"IP, Q", with("incomplete-poisson", DeflatePressure::automatic)},
                                {"MG", with("multigrid", DeflatePressure::none)},
                                {"MG, incl.", with("multigrid", DeflatePressure::inclusions)},
                                {"float MG, incl.", with("multigrid", DeflatePressure::inclusions, true)}};
    std::vector<std::string> header{"n   contrast problem     "}, peers;
    if (hypre_) peers = {"PFMG-CG", "BoomerAMG-CG"};
    for (const auto& method : methods) header.emplace_back(method.name);
    for (const auto& peer : peers) header.push_back(peer);
    const Table table(csv_,
                      message("Table 3: iterations to 1e-8, and seconds with set-up; Q: blocks of 8 x 8 cells split by "
                              "phase, MG: a cycle, incl.: a vector for every bubble (",
                              machine().description(), hypre_ ? "; hypre on one rank" : "", ")"),
                      header, 10);
    for (int level = std::min(first_level, max_level); level <= max_level; ++level)
      for (const bool bubbles : {false, true})
        for (const double contrast : {1e1, 1e3, 1e6}) {
          const int n = 1 << level;
          const PressureSystem system =
              bubbles ? flow_system(n, n, densities_of_discs(n, n, random_bubbles(25, seed), 1 / contrast, 1))
                      : layered_system(n, contrast);
          std::vector<std::string> cells{message(n, " ", contrast, " ", bubbles ? "25 bubbles" : "layers")};
          for (const auto& method : methods) {
            const Run run = solve(machine(), system, method.params, 1e-8, false);
            cells.push_back(run.count(1e-8) + " " + scientific(run.seconds(), 1));
          }
          for (const auto& peer : peers) cells.push_back(solve_with_hypre(peer, system));
          table.row(cells);
        }
  }

 private:
  static constexpr unsigned seed = 12345;

  struct Thesis {
    const char *host, *device;
    double speedup;
  };
  struct Row {
    int vectors;  // 0: no row
    std::array<Thesis, 3> of;
  };
  struct Figure {
    int n;
    bool two_phase;
    double rtol;
    std::array<int, 3> blocks;
    std::array<Row, 3> rows;
  };
  static constexpr const char* nc = "1000 NC";
  static constexpr std::array<Figure, 6> figures{
      {{128,
        false,
        1.55e-6,
        {64, 32, 16},
        {{{256, {{{"68", "68", 7.824}, {"58", "58", 4.879}, {"54", "54", 2.871}}}},
          {512, {{{"53", "53", 12.8469}, {"46", "46", 8.4908}, {"42", "42", 5.1213}}}},
          {1024, {{{"34", "35", 18.873}, {"30", "30", 13.594}, {"27", "28", 8.9253}}}}}}},
       {256,
        false,
        1.57e-5,
        {128, 64, 32},
        {{{512, {{{"49", "49", 16.723}, {"44", "44", 14.0283}, {"40", "40", 9.271}}}},
          {1024, {{{"44", "44", 24.84}, {"43", "43", 21.676}, {"36", "36", 15.421}}}},
          {2048, {{{"38", "38", 31.935}, {"35", "35", 29.508}, {"31", "31", 22.865}}}}}}},
       {512,
        false,
        2.84e-5,
        {256, 128, 64},
        {{{1024, {{{"43", "43", 18.693}, {"38", "38", 21.133}, {"34", "34", 18.162}}}},
          {2048, {{{"43", "43", 23.8}, {"38", "38", 25.686}, {"34", "34", 23.175}}}},
          {}}}},
       {128,
        true,
        1e-2,
        {64, 32, 16},
        {{{256, {{{"3", "3", 1.155}, {"3", "3", 0.6866}, {"3", "3", 0.393}}}},
          {512, {{{"3", "3", 1.2471}, {"3", "3", 0.7808}, {"3", "3", 0.4575}}}},
          {1024, {{{"4", "4", 1.757}, {"3", "3", 1.172}, {"3", "3", 0.717}}}}}}},
       {256,
        true,
        1e-2,
        {128, 64, 32},
        {{{512, {{{"4", "4", 1.739}, {"4", "4", 1.376}, {"4", "4", 0.808}}}},
          {1024, {{{nc, nc, 1.967}, {"4", "4", 1.64}, {"4", "4", 0.99}}}},
          {2048, {{{nc, nc, 2.38}, {nc, nc, 1.949}, {nc, nc, 1.217}}}}}}},
       {512,
        true,
        1e-2,
        {256, 128, 64},
        {{{1024, {{{"4", "4", 1.511}, {"3", "3", 2.07}, {"3", "3", 1.478}}}},
          {2048, {{{nc, nc, 1.583}, {nc, nc, 2.13}, {nc, nc, 1.532}}}},
          {4096, {{{nc, nc, 2.026}, {nc, nc, 2.606}, {nc, nc, 2.022}}}}}}}}};

  struct Vectors {
    DeflatePressure kind;
    int count;
    [[nodiscard]] std::string name() const {
      return kind == DeflatePressure::none ? "none" : message(kind == DeflatePressure::stripes ? "S" : "Q", count);
    }
  };
  static constexpr std::array<Vectors, 10> vectors{{{DeflatePressure::none, 0},
                                                    {DeflatePressure::stripes, 256},
                                                    {DeflatePressure::stripes, 512},
                                                    {DeflatePressure::stripes, 1024},
                                                    {DeflatePressure::stripes, 2048},
                                                    {DeflatePressure::stripes, 4096},
                                                    {DeflatePressure::blocks, 64},
                                                    {DeflatePressure::blocks, 256},
                                                    {DeflatePressure::blocks, 1024},
                                                    {DeflatePressure::blocks, 4096}}};
  static constexpr std::array<std::pair<const char*, const char*>, 3> labels{
      {{"diag", "jacobi"}, {"IP", "incomplete-poisson"}, {"IC n/2", "block-ic"}}};
  struct Method {
    const char* name;
    PressureParams params;
  };
  struct Run {
    SolveReport report;
    double setup = 0, error = 0;

    /// Iterations until the residual was below this part of ||b||, `!` where it never was.
    [[nodiscard]] std::string count(double rtol) const {
      for (std::size_t k = 0; k < report.history.size(); ++k)
        if (report.history[k] <= rtol * report.reference_norm_value) return message(k);
      return message(report.iterations, "!");
    }
    [[nodiscard]] double seconds() const { return setup + report.solve_seconds; }
  };

  Context& machine() { return gpu_ ? *gpu_ : cpu_; }

  static PressureParams with(const char* preconditioner, DeflatePressure by, bool mixed = false) {
    PressureParams params;
    params.preconditioner = preconditioner;
    params.deflate = by;
    params.mixed = mixed;
    return params;
  }
  /// `count` vectors.
  static PressureParams deflated(const char* preconditioner, DeflatePressure by, int count) {
    PressureParams params = with(preconditioner, by);
    params.count = by == DeflatePressure::blocks ? static_cast<int>(std::lround(std::sqrt(count))) : count;
    return params;
  }

  template <class Text>
  void print_row(const Table& table, const std::string& name, const PressureSystem& system, const char* preconditioner,
                 const Text& text, double rtol, bool known) {
    std::vector<std::string> cells{name};
    for (const auto& [kind, count] : vectors) {
      // A stripe of half a row and a block of four cells are the smallest here.
      const int n = system.links.nx, most = kind == DeflatePressure::stripes ? 8 * n : n * n / 4;
      cells.push_back(
          count > most ? "" : text(solve(machine(), system, deflated(preconditioner, kind, count), rtol, known)));
    }
    table.row(cells);
  }

  /// With b = A x, or white.
  Run solve(Context& ctx, const PressureSystem& system, const PressureParams& params, double rtol, bool known) {
    progress(message(system.links.nx, " x ", system.links.ny, " ..."));
    Run run;
    const double begin = wall_seconds();
    PressureSolver solver(ctx, system, params);
    ctx.synchronise();
    run.setup = wall_seconds() - begin;
    const GridLayout<2> shape = solver.a().shape();
    Field<double> b(ctx, shape), x(ctx, shape), exact(ctx, shape);
    const auto count = static_cast<std::size_t>(shape.nodes());
    if (known) {
      copy_from_host(ctx, uniform_noise(count, seed).data(), exact.view());
      solver.a().apply(ctx, exact.cview(), b.view());
    } else {
      copy_from_host(ctx, white_noise(count, seed, true).data(), b.view());
    }
    run.report = solver.solve(ctx, b.cview(), x.view(), {.rtol = rtol, .max_iterations = 3000});
    if (known) {
      const double norm = norm2(ctx, exact.cview());
      axpy<double, double>(ctx, -1, x.cview(), exact.view());
      run.error = norm2(ctx, exact.cview()) / norm;
    }
    progress("");
    return run;
  }

  std::string solve_with_hypre(const std::string& name, const PressureSystem& system) {
    const auto a = five_point_operator(cpu_, system.links);
    Field<double> b(cpu_, a.shape()), x(cpu_, a.shape());
    copy_from_host(cpu_, white_noise(static_cast<std::size_t>(a.shape().nodes()), seed, true).data(), b.view());
    const SolveReport report = hypre_->set_up(name, a, 1e-8, 1000, true)->solve(cpu_, b.cview(), x.view());
    if (report.status != Status::converged)
      return message(report.iterations, "! to ", scientific(report.relative_residual(), 0));
    return message(report.iterations, " ", scientific(report.setup_seconds + report.solve_seconds, 1));
  }

  Context cpu_;
  std::optional<Context> gpu_;
  std::optional<Hypre> hypre_;
  bool csv_;
};

}  // namespace

void print_bubbly_study(const Machine& machine, const StudySelection& selection) {
  BubblyStudy tables(machine, selection.csv);
  for (int number = first_bubbly_figure; number <= last_bubbly_figure; ++number)
    if (selection.figure == number || (selection.all() && tables.level_of(number) <= selection.level))
      tables.print_figure(number);
  if (selection.has_table(1)) tables.print_table1(selection.level);
  if (selection.has_table(2)) tables.print_table2(selection.level);
  if (selection.has_table(3)) tables.print_table3(selection.level);
}

}  // namespace stratum::apps
