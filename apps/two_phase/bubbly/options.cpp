#include "options.hpp"

#include <vector>

#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "two_phase/pressure_solver.hpp"

namespace stratum::apps::bubbly {

namespace {

constexpr const char* before_options =
    "Usage: bubbly2d [OPTIONS]\n\nSolves the pressure equation of two fluids, whose densities may differ by 10^6, on "
    "the cells of a box, by conjugate\ngradients with a preconditioner of your choice. Deflation vectors remove the "
    "modes that the preconditioner leaves\nslow. Between walls the pressure is determined up to a constant; the system "
    "is singular and is solved as it is.\n";

constexpr const char* examples =
    "Examples:\n"
    "  bubbly2d                                          3 x 3 light bubbles, a thousandth as dense as what is around\n"
    "  bubbly2d --bubbles 25 --contrast 1e6 --rhs gravity --vtk bubbles.vtr\n"
    "  bubbly2d --problem layers --preconditioner block-ic --deflate blocks:32 --rtol 1e-6\n"
    "  bubbly2d --problem poisson --preconditioner ic --deflate stripes:512\n"
    "  bubbly2d --phase colour.npy --densities 1.2,1000 --rhs 'sin(pi*x)*cos(pi*y)'\n"
    "  bubbly2d --bubbles 10 --time-steps 100 --vtk rising.pvd\n\n";

/// Of FILE[:ARRAY].
std::vector<std::string> phase_files(const std::string& text) {
  return files_of_expressions(std::string(file_prefix) + text);
}

}  // namespace

CommandLine make_command_line() {
  const PressureParams defaults;
  return CommandLine(
      {{"Problem: -div(1/density grad p) = f in cells, walls all around",
        {{"problem", "NAME", "bubbles",
          "bubbles; layers (two, the heavy one above); poisson (five points with 4 and -1, zero beyond the "
          "boundaries)"},
         with_files({"phase", "FILE[:ARRAY]", "",
                     "instead of --problem: the volume fraction of the inner fluid on the cells, 0 .. 1; .npy, .csv, "
                     ".vti or .vtr"},
                    Names::input, phase_files),
         {"cells", "N|NX,NY", "128", "N x N or NX x NY cells, each number in 2 .. 32768 (the cells of --phase)"},
         {"domain", "W,H", "1,1", "bubbles, --phase: width and height of the box, above 0"},
         {"contrast", "C", "1000", "density of the heavy fluid over that of the light one, 1 .. 1e12"},
         {"inside", "NAME", "light", "bubbles, --phase: the fluid inside is light (1/C, and 1 outside) or heavy (C)"},
         {"densities", "IN,OUT", "", "bubbles, --phase: densities inside and outside instead, above 0"},
         {"bubbles", "N|NxN", "3x3", "N bubbles at random places, or N x N in rows, 1 .. 10000 in all"},
         {"bubble", "X,Y,R", "", "a bubble by its centre and radius, instead of --bubbles; may be repeated", true},
         expression_option("rhs", "RHS", "",
                           "white (noise), ax (A times a random solution, which is then known), gravity (the weight "
                           "of the fluids at rest), file:PATH as for --phase, or an expression in x and y (white; "
                           "poisson: ax; with --time-steps: gravity)"),
         {"project", "", "", "subtract the mean of an incompatible right-hand side"},
         {"seed", "N", "12345", "seed of random bubbles and right-hand sides, 0 .. 2147483647"},
         {"pin", "", "",
          "fix p in the last cell instead of its mean, as some codes do; this costs digits and iterations"}}},
       {"Solver: conjugate gradients",
        {{"preconditioner", "NAME", defaults.preconditioner,
          "none, jacobi, ic, block-ic, incomplete-poisson, multigrid, or auto"},
         {"blocks", "N", "", "block-ic: number of blocks, 1 .. the number of cells (a block for every two rows)"},
         {"ip-form", "NAME", "scaled", "incomplete-poisson: scaled by the diagonal, or printed, as published"},
         {"smoother", "NAME", defaults.smoother, "multigrid: see poisson2d --list-smoothers"},
         {"sweeps", "N", plain(defaults.sweeps), "multigrid: sweeps before and after, 1 .. 1000"},
         {"interpolation", "NAME", std::string(to_string(defaults.interpolation)),
          "multigrid: interpolation of corrections, split (weights from the couplings along x and y), conductance, "
          "matrix or bilinear"},
         {"deflate", "VECTORS", "auto",
          "deflation vectors: none; stripes:D (D stripes of consecutive cells); blocks:Q (Q x Q blocks); "
          "split-blocks:Q (blocks that are split where two fluids meet in one); inclusions (one for each inclusion of "
          "low density); ritz:K (K Ritz vectors of a preceding solve); or auto"},
         {"precision", "NAME", "double", "double, or mixed: the preconditioner in single precision"},
         {"rtol", "X", "1e-8", "stop when the true residual is below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "10000", "1 .. 1000000000"}}},
       {"Time: bubbles rise and turn",
        {{"time-steps", "N", "", "number of time steps, each followed by a solve, 1 .. 1000000"},
         {"dt", "DT", "0.01", "length of a time step; in a time of 1 a bubble rises by the height of the box"},
         {"reuse", "WHAT", "auto",
          "what a solve takes from the step before: none, guess (its p as initial guess), ritz:K (its p, and its K "
          "lowest Ritz vectors for deflation, K in 1 .. 100) or auto (its p if that is nearer to the new p than zero "
          "is, in the energy norm)"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("vtk", "FILE.vtr",
                     "density, p, f and numbers of deflation vectors on the cells; FILE.pvd with --time-steps"),
         output_file("npy", "FILE.npy", "p alone, as a NumPy array"),
         output_file("png", "FILE.png", "a picture of p"),
         {"quiet", "", "", "print errors only"}}}},
      other_options("contrast=10"));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() { return message(about_expressions, examples, about_outputs, about_exit_codes); }

}  // namespace stratum::apps::bubbly
