// The study of S. Ikuno, Y. Kawaguchi, N. Fujita, T. Itoh, S. Nakata, K. Watanabe, Iterative Solver for Linear System Obtained
// by Edge Element: Variable Preconditioned Method with Mixed Precision on GPU, 2012: problem 20 of the TEAM Workshop with a
// permeability of 200 and 1000 ampere-turns, eps_in 1e-3, eps_out 1e-8, restarts after 100 directions.
//
// Table 2 is the paper's: outer iterations M of methods around an inner solve of at most N_max iterations, in double and with
// the inner solve in float. Its mesh had 603356 unknowns on 535898 tetrahedra and is not known; ours are hexahedra and
// tetrahedra of three sizes each, the largest with 615067 unknowns on 544320 tetrahedra. Its scaling of the system is not known
// either: here there is none, which is what the counts tell. CG and CR alone stand beside.
//
// Table 3 is ours: conjugate gradients with other preconditioners, by permeability; hypre's AMS among them where it was found.
// Table 4, on a GPU: products with the matrix in the layouts that there are, beside a copy of long vectors.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/cusparse.hpp"
#include "bench/peers/hypre.hpp"
#include "magnetics/edge_system.hpp"
#include "studies.hpp"
#include "support/program.hpp"
#include "support/table.hpp"

namespace stratum::apps {

namespace {

class EdgeStudy {
 public:
  EdgeStudy(Context& ctx, bool csv) : ctx_(ctx), csv_(csv) {}

  /// Sizes of about 10^4, 10^5 and 6 10^5 unknowns.
  static constexpr int first_level = 7, last_level = 9;

  void print_table2(int max_level) {
    const Table table(csv_,
                      message("Table 2: outer iterations, eps_in 1e-3, eps_out 1e-8, beside those of the paper on ",
                              "603356 unknowns; seconds (", ctx_.description(), ")"),
                      {"mesh         ", "unknowns", "method      ", "N_max", "double", "paper", "mixed", "paper",
                       "s double", "s mixed", "inner double", "inner mixed"});
    for (const auto& mesh : meshes(max_level)) {
      const System system(ctx_, mesh, 200);
      for (const auto& row : published) {
        std::vector<std::string> cells{mesh.name(), message(system.a.rows), row.name(),
                                       row.limit == 0 ? "" : message(row.limit)};
        std::string seconds[2], inner[2];
        for (const bool mixed : {false, true}) {
          if (mixed && row.limit == 0) {
            cells.insert(cells.end(), {"", ""});
            continue;
          }
          EdgeMethod method;
          method.method = row.method;
          for (const auto& known : variable_methods)
            if (std::string_view(known.name) == row.method) {
              method.method = known.outer;
              method.inner = known.inner;
            }
          method.inner_stop.rtol = 1e-3;
          method.inner_stop.max_iterations = row.limit;
          method.mixed = mixed;
          const SolveReport report = solve(system, method, row.limit == 0 ? 100000 : 300);
          cells.insert(cells.end(), {count(report), mixed ? row.mixed : row.in_double});
          seconds[mixed ? 1 : 0] = scientific(report.solve_seconds, 1);
          inner[mixed ? 1 : 0] = message(report.inner_iterations);
        }
        cells.insert(cells.end(), {seconds[0], seconds[1], inner[0], inner[1]});
        table.row(cells);
      }
    }
  }

  void print_table3(int max_level) {
    if (Hypre::available()) hypre_.emplace(wall_seconds);
    const std::vector<std::pair<const char*, EdgeMethod>> methods{{"Jacobi", with("jacobi")},
                                                                  {"block IC", with("block-ic")},
                                                                  {"multigrid", with("multigrid")},
                                                                  {"float multigrid", with("multigrid", true)}};
    std::vector<std::string> header{"mesh         ", "unknowns", "mu_r"};
    for (const auto& method : methods) header.emplace_back(method.first);
    if (hypre_) header.emplace_back("hypre AMS");
    const Table table(csv_,
                      message("Table 3: iterations of conjugate gradients to 1e-8, and seconds with set-up (",
                              ctx_.description(), hypre_ ? "; hypre on one rank)" : ")"),
                      header, 12);
    for (const auto& mesh : meshes(max_level))
      for (const double permeability : {1.0, 200.0, 1e3, 1e5}) {
        const System system(ctx_, mesh, permeability);
        std::vector<std::string> cells{mesh.name(), message(system.a.rows), message(permeability)};
        for (const auto& [name, method] : methods) {
          const SolveReport report = solve(system, method, 100000);
          cells.push_back(count(report) + " " + scientific(report.setup_seconds + report.solve_seconds, 1));
        }
        if (hypre_) cells.push_back(solve_with_ams(system));
        table.row(cells);
      }
  }

  /// Bytes of values, columns, row starts, x and y, each once.
  void print_table4(int max_level) {
    if (!ctx_.on_gpu()) throw ResourceError("table 4 is about layouts on a GPU; use --backend cuda");
    Operands<double> long_vectors(ctx_, GridLayout<2>::flat(1 << 26));
    const double copy_rate = 2e-9 * sizeof(double) * (1 << 26) /
                             seconds_per_call(ctx_, wall_seconds, long_vectors,
                                              [&] { copy(ctx_, long_vectors.x.cview(), long_vectors.r.view()); });
    const Table table(csv_,
                      message("Table 4: products with the matrix, beside a copy of ", std::round(copy_rate), " GB/s (",
                              ctx_.description(), ")"),
                      {"mesh         ", "unknowns", "entries", "numbers", "layout        ", "us", "GB/s", "% copy"}, 8);
    for (const auto& mesh : meshes(max_level)) {
      const System system(ctx_, mesh, 200);
      const auto measure = [&]<class T>(T /*number*/, const char* numbers) {
        Operands<T> v(ctx_, GridLayout<2>::flat(system.a.rows));
        const auto row = [&](const std::string& layout, const auto& product) {
          const double seconds = seconds_per_call(ctx_, wall_seconds, v, product);
          const double bytes = static_cast<double>(system.a.entries()) * (sizeof(T) + 4.0) +
                               static_cast<double>(system.a.rows) * (2.0 * sizeof(T) + 4.0);
          table.row({mesh.name(), message(system.a.rows), message(system.a.entries()), numbers, layout,
                     message(std::round(1e7 * seconds) / 10), message(std::round(1e-9 * bytes / seconds)),
                     message(std::round(1e-7 * bytes / seconds / copy_rate))});
        };
        const auto ours = [&](const std::string& layout, const CsrMatrix<T>& a) {
          row(layout, [&] { a.apply(ctx_, v.x.cview(), v.r.view()); });
        };
        ours("rows", CsrMatrix<T>(ctx_, system.a, RowLayout::rows, 0));
        for (const int lanes : {1, 4})
          ours(message("slices, ", lanes), CsrMatrix<T>(ctx_, system.a, RowLayout::slices, lanes));
        if (!cusparse_available()) return;
        const CusparseMatrix<T> peer(ctx_, system.a);
        row("cuSPARSE", [&] { peer.apply(v.x.cview(), v.r.view()); });
      };
      measure(double(), "double");
      measure(float(), "float");
    }
  }

 private:
  struct Mesh {
    EdgeElement element;
    double spacing, growth;
    int level;
    [[nodiscard]] std::string name() const { return message(to_string(element), " ", spacing); }
  };
  static constexpr Mesh all[] = {{EdgeElement::hexahedron, 7.7, 1.45, 7}, {EdgeElement::hexahedron, 3.2, 1.3, 8},
                                 {EdgeElement::hexahedron, 1.65, 1.2, 9}, {EdgeElement::tetrahedron, 12, 2.7, 7},
                                 {EdgeElement::tetrahedron, 5, 1.4, 8},   {EdgeElement::tetrahedron, 2.2, 1.25, 9}};
  static std::vector<Mesh> meshes(int max_level) {
    std::vector<Mesh> some;
    for (const auto& mesh : all)
      if (mesh.level <= max_level) some.push_back(mesh);
    return some;
  }

  struct Published {
    std::string_view method;
    int limit;
    const char *in_double, *mixed;  // on CPU and GPU alike
    [[nodiscard]] std::string name() const {
      return std::string(method) + (limit == 0 ? "" : method == "vpcg" ? " (cg)" : " (cr)");
    }
  };
  static constexpr Published published[] = {{"cg", 0, "", ""},         {"cr", 0, "", ""},
                                            {"vpcg", 600, "18", "19"}, {"vpgcr", 300, "27", ""},
                                            {"vpgcr", 200, "", "43"},  {"vpgmres", 350, "24", "25"},
                                            {"vpgmres", 400, "21", ""}};

  struct System {
    EdgeElements elements;
    std::vector<double> nu, b;
    EdgeMultigridParams params;
    SparseRows a;

    System(Context& ctx, const Mesh& mesh, double permeability)
        : elements(team20::make_grid({mesh.spacing * 1e-3, mesh.growth}), mesh.element) {
      progress(message(mesh.name(), " ..."));
      const auto materials = team20::materials(elements.grid());
      for (int e = 0; e < elements.elements(); ++e) {
        const auto box = static_cast<std::size_t>(elements.box_of(e));
        nu.push_back(team20::is_steel(materials[box]) ? 1 / permeability : 1);
      }
      params.kept = planes_of_steel(elements.grid(), materials);
      a = elements.curl_curl(ctx, nu);
      b = elements.load(ctx, team20::current_potential(1000));
      progress("");
    }
  };

  static EdgeMethod with(const char* preconditioner, bool mixed = false) {
    EdgeMethod method;
    method.preconditioner = preconditioner;
    method.incomplete_cholesky.block_size = IncompleteCholeskyParams::usual_block_size;
    method.incomplete_cholesky.shift = 1e-3;  // A is singular
    method.mixed = mixed;
    return method;
  }

  SolveReport solve(const System& system, const EdgeMethod& method, int limit) {
    progress(message(system.a.rows, " unknowns ..."));
    std::vector<double> x(system.b.size());
    const auto report =
        solve_edge_system(ctx_, system.a, {system.elements, system.nu, system.params}, system.b, x, method,
                          {.rtol = 1e-8, .max_iterations = limit}, [](double) { return Monitor{}; });
    progress("");
    return report;
  }

  std::string solve_with_ams(const System& system) {
    Context host(Backend::cpu, ctx_.threads());
    const CsrMatrix<double> a(host, system.a);
    const BoxGrid& grid = system.elements.grid();
    std::array<std::vector<double>, 3> points;
    for (int k = 0; k <= grid.cells(2); ++k)
      for (int j = 0; j <= grid.cells(1); ++j)
        for (int i = 0; i <= grid.cells(0); ++i) {
          points[0].push_back(grid.plane(0, i));
          points[1].push_back(grid.plane(1, j));
          points[2].push_back(grid.plane(2, k));
        }
    const auto solver = hypre_->set_up_ams(a, system.a, system.elements.gradient(true), points, 1e-8, 2000);
    Field<double> x(host, a.shape());
    const auto report = solver->solve(host, vector_from_host(host, system.b).cview(), x.view());
    return count(report) + " " + scientific(report.setup_seconds + report.solve_seconds, 1);
  }

  /// `!` where the tolerance was not reached.
  static std::string count(const SolveReport& report) {
    return message(report.iterations, report.status == Status::converged ? "" : "!");
  }

  Context& ctx_;
  std::optional<Hypre> hypre_;
  bool csv_;
};

}  // namespace

void print_edge_study(const Machine& machine, const StudySelection& selection) {
  Context ctx = machine.context();
  EdgeStudy tables(ctx, selection.csv);
  if (selection.has_table(2)) tables.print_table2(selection.level);
  if (selection.has_table(3)) tables.print_table3(selection.level);
  if (selection.all() ? ctx.on_gpu() : selection.table == 4) tables.print_table4(selection.level);
}

}  // namespace stratum::apps
