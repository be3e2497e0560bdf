#include "options.hpp"

#include <stratum/multigrid/poisson_solver.hpp>

#include "patches_settings.hpp"
#include "support/body_options.hpp"
#include "support/mapped_mesh_options.hpp"
#include "support/mesh_options.hpp"
#include "support/probe.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"
#include "support/solver_options.hpp"

namespace stratum::apps::poisson {

namespace {

constexpr const char* before_options =
    "Usage: poisson2d [OPTIONS]\n\nSolves -div(K grad u) + c u = f on a rectangle, or on a deformed one, by bilinear "
    "finite elements and geometric\nmultigrid. Cells may be up to 10^15 times as long as wide: the default smoother "
    "(adi) solves along whole lines of the\ngrid, which keeps the number of cycles small where point smoothers stall. "
    "Without options the program solves a\nproblem with a known solution, prints the convergence and the error, and "
    "writes a file for ParaView.\n";

constexpr const char* examples =
    "Examples:\n"
    "  poisson2d                                       square cells, 65025 unknowns; writes poisson2d_U1_L8.vtr\n"
    "  poisson2d --mesh A3 --smoother adi              cells up to 1e5 times as long as wide\n"
    "  poisson2d --mesh A2 --smoother jacobi           see a point smoother diverge there (exit code 3)\n"
    "  poisson2d --mesh A5 --level 10 --cycle fmg      one FMG cycle to discretisation accuracy\n"
    "  poisson2d --mesh U2 --smoother jacobi --solver cg  what the cycle alone does in 97, in 20\n"
    "  poisson2d --nu 0.3 --domain 2,1 --thin first,none --vtk layer.vtr\n"
    "  poisson2d --cells 160,96 --grade-x geometric:1.1,last --grade-y tanh:3,both\n"
    "  poisson2d --cells ,64 --grade-x widths:layer.txt --grade-y shishkin:0.01,first --convergence-table 0..3\n"
    "  poisson2d --rhs '2*pi^2*sin(pi*x)*sin(pi*y)' --exact 'sin(pi*x)*sin(pi*y)' --report run.json\n"
    "  poisson2d --rhs 0 --boundary 'x == 0 || y == b ? 1 : 0' --quiet --report - --vtk none\n"
    "  poisson2d --rhs 1 --left neumann --right robin:10,0 --reaction 4\n"
    "  poisson2d --rhs 1 --kappa file:k.npy --level 8\n"
    "  poisson2d --rhs 1 --kappa file:k.npy --level 8 --discretisation fv --vtk p.npy   a number for each cell\n"
    "  poisson2d --rhs file:f.vtr:source --kappa file:a.csv,0,1+x --left dirichlet:file:walls.npy\n"
    "  poisson2d --cells 300,200 --left periodic --right periodic --rhs 'sin(2*pi*x)' --vtk none\n"
    "  poisson2d --rhs 0 --body 'disc(0.5,0.5,0.2):value:1' --body 'x > 0.8 && y < 0.3:no-flux'\n"
    "  poisson2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --rhs 0 --boundary x\n"
    "  poisson2d --mesh-file wing.vts --rhs 1 --level 2\n"
    "  poisson2d --patches channel.msh --rhs 1 --boundary cylinder=dirichlet:1 --boundary outlet=neumann\n"
    "  mpirun -n 4 poisson2d --mesh A3 --level 11      on four ranks, a subdomain each\n"
    "  poisson2d --mesh A2 --convergence-table 4..9    the error falls by four from level to level\n"
    "  poisson2d --mesh A3 --rtol 1e-10 --print-config > a3.cfg; poisson2d --config a3.cfg\n\n";

}  // namespace

CommandLine make_command_line() {
  const PoissonSolverParams params;
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options<2>(), mapped_mesh_options(), patch_options("x and y"))},
      {"Problem: -div(K grad u) + c u = f, with a Dirichlet, Neumann, Robin or periodic condition on each boundary",
       joined(
           {expression_option("rhs", "EXPR", "",
                              "f, an expression in x and y, in the side lengths a and b, and in the distances xl, xr, "
                              "yl and yr to the "
                              "left, right, bottom and top boundary, as xr = a - x (2 (yl yr + xl xr)). Repeat the "
                              "option to solve for "
                              "several right-hand sides; each has its own report",
                              true),
            expression_option(
                "exact", "EXPR", "",
                "the exact solution, to compute the error (for the default f: xl xr yl yr); one for each --rhs", true),
            expression_option("boundary", "EXPR", "",
                              "u on Dirichlet boundaries that have no value of their own (the exact solution if it is "
                              "given, else 0). With --patches also NAME=TYPE, the condition on the boundary NAME, with "
                              "the types of --left; once for each",
                              true)},
           boundary_and_coefficient_options(),
           {body_option(),
            {"discretisation", "NAME", "elements",
             "elements (bilinear, unknowns at nodes), or fv (cell-centred finite volumes: unknowns in cells, harmonic "
             "means of K "
             "on faces, the five-point matrix of MAC grids; on rectangles)"},
            {"project", "", "",
             "subtract the mean of f if the problem is singular (only Neumann or periodic boundaries, no reaction) and "
             "its data are incompatible"}})},
      {"Solver",
       joined({{"solver", "NAME", "multigrid",
                "multigrid, or a Krylov method that is preconditioned by one cycle: cg, fcg, cr (by a symmetric "
                "cycle), gcr, gmres, bicgstab (by any). Take cg if neighbouring widths differ a thousandfold in both "
                "directions, or for a point smoother on stretched cells"},
               {"restart", "N", plain(params.krylov.restart),
                "directions that gcr and gmres keep, 1 .. 1000; each takes 16 bytes per unknown"},
               {"cycle", "NAME", "v",
                "v, w or f; w2: a W-cycle below the two finest levels, for rotated tensors K and aligned "
                "checkerboards; k: the same with two steps of flexible conjugate gradients, better for rotated tensors "
                "(with --solver fcg); fmg: one FMG cycle, followed by V-cycles or the method of --solver if --rtol, "
                "--atol or a Krylov method is given"},
               {"interpolation", "NAME", "",
                "for varying K and deformed meshes, how corrections are interpolated: conductance (weights from K cell "
                "by cell), split (weights from the x and y parts of the matrix: fewer iterations where K jumps, a "
                "longer set-up, rectangles only), matrix (weights from the whole matrix), or bilinear (conductance)"}},
              smoothing_options(),
              {{"distributed-smoothing", "NAME", std::string(to_string(params.multigrid.distributed_smoothing)),
                "on several ranks, how distributed levels are smoothed: exact (the same result as on one rank), "
                "overlap (with additional rows of the neighbours), or auto (on each level what costs less)"},
               {"deflate", "KIND", "none",
                "deflation vectors, which remove slow modes from cg where K varies: inclusions (one for each isolated "
                "inclusion whose K is at least 1000 times as large as around it: half the iterations), blocks:N (N x N "
                "blocks), ritz:K (the K lowest Ritz vectors of a preceding solve), or auto (inclusions if they save "
                "time)"},
               {"precision", "NAME", "mixed",
                "mixed (cycles in single, solution and residual in double precision), double, residual-replacement (CG "
                "in single precision whose residual is replaced by the true one from time to time: about the same "
                "iterations, each in less time), double-single (for GPUs with slow double precision: CG in single "
                "precision, x as a sum of two floats, with an error of 1e-7 in the energy norm and a residual above "
                "1e-8; tensor and element-coefficient operators), or single (to see it fail)"},
               {"inner", "KIND:N", message("cycles:", params.inner.cycles),
                "mixed precision: cycles between two double-precision updates, cycles:N (1 .. 1000), or rtol:X, as "
                "many as reduce the residual to X (1e-6 .. 1)"},
               {"operator", "NAME", "",
                "storage format: tensor (stores no entries), symmetric (5 numbers per unknown) or nine-band (9) "
                "(tensor; with --precision single nine-band, whose rounded entries make it fail)"},
               {"reproducible", "", "",
                message("the same bits on any number of ranks, up to ", PartitionLevels::most_fixed,
                        ", and threads: lines along y are solved in a fixed number of chunks. Only on CPUs, and not if "
                        "the interpolation follows coefficients or deformed cells")}})},
      {"Stopping",
       {{"rtol", "X", plain(params.stop.rtol),
         "stop when the residual is below X times the reference norm, X in (0, 1)"},
        {"atol", "X", plain(params.stop.atol), "or when it is below X, X >= 0"},
        {"reference-norm", "NAME", "",
         "rhs (norm of the right-hand side) or initial (norm of the first residual) (initial if Dirichlet values are "
         "given, because they make the right-hand side of thin cells large; else rhs)"},
        {"max-iterations", "N", plain(params.stop.max_iterations), "1 .. 1000000"}}},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "FILE.vtr",
                    "for ParaView: solution, exact solution, error, right-hand side and aspect ratios "
                    "(poisson2d_<mesh>_L<level>.vtr). FILE.vts with --map and --mesh-file; FILE.vtm with --patches; "
                    "FILE.pvtr or FILE.pvts, "
                    "with a subdomain of each rank, on several ranks; FILE.npy: only the solution, a NumPy array of "
                    "shape (ny + 1, nx + 1), the default of a build without VTK. With --discretisation fv fields are "
                    "those of cells, "
                    "arrays (ny, nx)"),
        compression_option(),
        output_file(
            "png", "FILE.png",
            "a picture of the solution (the first of several), and an enlarged part where the cells are thinnest"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        output_file("history", "FILE.csv", "the residual after every iteration"),
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, the solution at N points of the line from (X0, Y0) to (X1, Y1); columns: "
                    "x, y, distance from the first point, u"},
                   Names::output, probe_files),
        {"convergence-table", "L1..L2", "",
         "solve on every level from L1 to L2 and print a table of the errors; without an exact solution: the "
         "differences of successive levels, the observed order, and the estimated error"},
        {"quiet", "", "", "print errors and warnings only"}}}};
  return CommandLine(settings, other_options("level=9", {{"list-meshes", "", "", "list the named meshes"},
                                                         {"list-smoothers", "", "", "list the smoothers"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, about_files, examples, about_outputs, about_exit_codes);
}

}  // namespace stratum::apps::poisson
