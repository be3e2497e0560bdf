#include "options.hpp"

#include <cstdio>

#include <stratum/solvers/solver.hpp>

#include "settings.hpp"
#include "support/program.hpp"

namespace stratum::apps::magnetics {

namespace {

constexpr const char* before_options =
    "Usage: team20 [OPTIONS]\n\nComputes the magnetic field of problem 20 of the TEAM Workshop, a coil around a steel "
    "pole below a yoke, by edge\nelements without a gauge. The matrix is singular and the right-hand side is "
    "orthogonal to its kernel, so that Krylov\nmethods converge. Prints force, energy and flux densities beside the "
    "measured values.\n";

constexpr const char* examples =
    "Examples:\n"
    "  team20                                                    106131 unknowns, conjugate gradients\n"
    "  team20 --preconditioner multigrid --permeability 1500     16 iterations, nearer to the steel that it was\n"
    "  team20 --curve --ampere-turns 3000 --preconditioner multigrid    beside what was measured\n"
    "  team20 --method vpgcr --precision mixed --inner-max 200   a preconditioner that is a solve in float\n"
    "  team20 --element tetrahedra --spacing 5 --growth 1.4 --preconditioner jacobi --vtk field.vtu\n\n";

}  // namespace

CommandLine make_command_line() {
  const Settings defaults;
  return CommandLine(
      {{"Problem: curl (1/mu curl A) = J in a quarter of the device",
        {{"element", "NAME", "hexahedra", "hexahedra, or tetrahedra (six for each box)"},
         {"spacing", "H", "3.2", "millimetres between planes of the grid in the device, 0.3 .. 50"},
         {"growth", "G", plain(defaults.grid.growth), "growth factor of the cells around the device, 1 .. 10"},
         {"gap-cells", "N", plain(defaults.grid.gap_cells),
          "least number of cells across the gaps of 1 and 1.5 mm, 1 .. 100"},
         {"permeability", "MU", plain(defaults.permeability), "relative permeability of the steel, above 0"},
         {"curve", "", "", "use the magnetisation curve of the steel instead: a nonlinear problem"},
         {"ampere-turns", "NI", plain(defaults.ampere_turns), "ampere-turns of the coil, above 0"}}},
       {"Solver",
        {{"method", "NAME", "cg",
          "vpcg, vpgcr or vpgmres, preconditioned by an inner solve, or see --list-methods (cg, cr ...)"},
         {"restart", "N", plain(defaults.solver.restart),
          "directions that gcr and gmres keep before they restart, 1 .. 10000"},
         {"rtol", "X", "1e-8", "stop when the true residual is below X ||b||, X in (0, 1)"},
         {"nonlinear", "NAME", std::string(to_string(defaults.nonlinear.method)),
          "with --curve: newton (steps that lower the energy), or anderson (accelerated fixed-point iteration)"},
         {"nonlinear-max", "N", plain(defaults.nonlinear.max_iterations),
          "largest number of nonlinear iterations, 1 .. 1000000"},
         {"damping", "X", plain(defaults.nonlinear.damping), "damping of anderson, in (0, 1]"},
         {"max-iterations", "N", "", "1 .. 1000000000 (100000; 1000 around an inner solve)"},
         {"inner", "METHOD", "", "method of the inner solve, see --list-methods (vpcg: cg; vpgcr and vpgmres: cr)"},
         {"inner-tolerance", "X", "1e-3", "tolerance of the inner solve, in (0, 1)"},
         {"inner-max", "N", "300", "iterations of the inner solve, 1 .. 1000000000"},
         {"precision", "NAME", "double", "double, or mixed: preconditioner and inner solve in single precision"},
         {"preconditioner", "NAME", "none",
          "none, or see --list-preconditioners; with an inner solve it applies to that one"},
         {"block-size", "N", plain(IncompleteCholeskyParams::usual_block_size),
          "block-ic: rows of a block, 1 .. 1000000000"},
         {"ic-shift", "X", "1e-3", "ic, block-ic: factorise A + X diag(A), X >= 0, since A is singular"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("inner-history", "FILE.csv", "the residuals of every inner solve"),
         output_file("png", "FILE.png", "a picture of |B| in the plane y = 0"),
         output_file("vtk", "FILE.vtu", "for ParaView: B, H, |B|, J and the material of every element"),
         {"quiet", "", "", "print errors only"}}}},
      other_options("spacing=5", {{"list-methods", "", "", "list the methods and what they ask of the matrix"},
                                  {"list-preconditioners", "", "", "list the preconditioners, likewise"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() { return message(examples, about_outputs, about_exit_codes); }

void list_methods() {
  for (const auto& m : variable_methods)
    std::printf("%-11s %s, preconditioned by an inner solve, by %s unless --inner says otherwise\n", m.name, m.outer,
                m.inner);
  for (const auto& [name, entry] : solver_entries()) std::printf("%-11s %s\n", name.c_str(), entry.description.c_str());
}

void list_preconditioners() {
  const auto registry = edge_preconditioners();
  for (const auto& [name, entry] : registry.entries())
    std::printf("%-18s %s\n", name.c_str(), entry.description.c_str());
}

}  // namespace stratum::apps::magnetics
