#include "options.hpp"

#include <stratum/multigrid/poisson_solver.hpp>

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
    "Usage: poisson2d [OPTIONS]\n\n"
    "Solves the Poisson problem -Laplace u = f on a rectangle with bilinear finite elements and geometric\n"
    "multigrid. The mesh may be stretched as far as double precision reaches: a smoother that solves along whole\n"
    "lines (adi) keeps the number of cycles small where point smoothers stall. By default it solves a problem\n"
    "with a known solution, prints how it converges and how large the error is, and writes a file for ParaView.\n";

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
    "  poisson2d --rhs file:f.vtr:source --kappa file:a.csv,0,1+x --left dirichlet:file:walls.npy\n"
    "  poisson2d --cells 300,200 --left periodic --right periodic --rhs 'sin(2*pi*x)' --vtk none\n"
    "  poisson2d --map '(1+x)*cos(pi/2*y),(1+x)*sin(pi/2*y)' --rhs 0 --boundary x\n"
    "  poisson2d --mesh-file wing.vts --rhs 1 --level 2\n"
    "  mpirun -n 4 poisson2d --mesh A3 --level 11      on four ranks, a subdomain each\n"
    "  poisson2d --mesh A2 --convergence-table 4..9    the error falls by four from level to level\n"
    "  poisson2d --mesh A3 --rtol 1e-10 --print-config > a3.cfg; poisson2d --config a3.cfg\n\n";

}  // namespace

CommandLine make_command_line() {
  const PoissonSolverParams params;
  const std::vector<OptionGroup> settings{
      {"Mesh", joined(mesh_options<2>(), mapped_mesh_options())},
      {"Problem: -Laplace u + c u = f; on every boundary u, its outward derivative or both are given, or it is "
       "periodic",
       joined(
           {expression_option("rhs", "EXPR", "",
                              "f in x, y, the lengths a and b of the boundaries, and the distances xl, xr, yl, yr to "
                              "the left, right, "
                              "lower "
                              "and "
                              "upper boundary, xr = a - x (2 (yl yr + xl xr)); given several times, all are solved "
                              "for, each with its "
                              "own "
                              "report",
                              true),
            expression_option(
                "exact", "EXPR", "",
                "the exact solution, to measure the error by (of the default f: xl xr yl yr); once for each --rhs",
                true),
            expression_option(
                "boundary", "EXPR", "",
                "u on the boundaries that have no value of their own (the exact solution where it is given, else 0)")},
           boundary_and_coefficient_options(),
           {{"project", "", "",
             "where u is known up to a constant only, subtract from f what keeps the problem from having a "
             "solution"}})},
      {"Solver",
       joined(
           {{"solver", "NAME", "multigrid",
             "multigrid; or a Krylov method with the cycle as its preconditioner: cg, fcg, cr (a symmetric cycle), "
             "gcr, "
             "gmres, bicgstab (any). cg is the one to take where neighbouring widths jump a thousandfold in both "
             "directions, or for a point smoother where cells are stretched"},
            {"restart", "N", plain(params.krylov.restart),
             "directions that gcr and gmres keep, each 16 bytes an unknown, 1 .. 1000"},
            {"cycle", "NAME", "v",
             "v, w, f; w2: twice below the two finest levels, for rotated tensors K and aligned boards; k: the same "
             "by two steps of flexible conjugate gradients, better for rotated tensors (solver fcg there); or fmg: "
             "one FMG cycle, and after it V-cycles, or the Krylov method of --solver, when --rtol, "
             "--atol or a Krylov method is given"},
            {"interpolation", "NAME", "",
             "where K varies or the mesh is deformed: conductance (of the cells' conductances), split (sums of the "
             "matrix's parts in x and y: fewer iterations where K jumps, more to set up; on rectangles), bilinear, or "
             "matrix (conductance)"}},
           smoothing_options(),
           {{"distributed-smoothing", "NAME", std::string(to_string(params.multigrid.distributed_smoothing)),
             "of several ranks, how distributed levels are smoothed: exact, as if they were not; overlap, with rows "
             "of "
             "the neighbours, where these are enough; or auto, level by level what costs less"},
            {"deflate", "KIND", "none",
             "cg where K varies: vectors that take slow modes out of it, inclusions (a vector for each isolated one of "
             "high K, from 1000 times the rest on: half the iterations), blocks:N (N x N of them), ritz:K (the lowest "
             "of another solve), or auto: inclusions where they pay"},
            {"precision", "NAME", "mixed",
             "mixed (float cycles, double defect and update), double, residual-replacement (CG in float as well, set "
             "right in "
             "double now and then: much the same iterations, each in less time), double-single (for GPUs whose double "
             "is "
             "slow: CG in float, x in two of them, right to 1e-7 in the energy norm with a residual above 1e-8; tensor "
             "and element-coefficient operators), or single (to see it fail)"},
            {"inner", "KIND:N", message("cycles:", params.inner.cycles),
             "mixed precision: between updates in double cycles:N (1 .. 1000), or rtol:X, as many as reduce the "
             "residual to X (1e-6 .. 1)"},
            {"operator", "NAME", "",
             "storage: tensor (none), symmetric (5 words per unknown) or nine-band (9) (tensor; with single nine-band, "
             "whose "
             "rounded entries are what fails)"},
            {"reproducible", "", "",
             message("the same bits on any number of ranks, up to ", PartitionLevels::most_fixed,
                     ", and threads: lines along y are solved in chunks that are always the same; on CPUs, not where "
                     "interpolation follows coefficients or deformed cells")}})},
      {"Stopping",
       {{"rtol", "X", plain(params.stop.rtol),
         "stop when the residual has fallen below X times the reference norm, X in (0, 1)"},
        {"atol", "X", plain(params.stop.atol), "or below X itself, X from 0 on"},
        {"reference-norm", "NAME", "",
         "rhs (norm of the right-hand side) or initial (norm of the first residual) (initial with values on Dirichlet "
         "boundaries, which make the right-hand side of thin cells large; else rhs)"},
        {"max-iterations", "N", plain(params.stop.max_iterations), "1 .. 1000000"}}},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "FILE.vtr",
                    "solution, exact solution, error, right-hand side and aspect ratios for ParaView "
                    "(poisson2d_<mesh>_L<level>.vtr); FILE.vts with --map and --mesh-file; FILE.npy: the solution "
                    "alone, an array "
                    "for NumPy of shape (ny + 1, nx + 1), which is written where VTK is missing; FILE.pvtr or .pvts, "
                    "with a subdomain of each, on several ranks"),
        compression_option(),
        output_file("png", "FILE.png",
                    "a picture: the solution (the first one of several) in colours, and enlarged where cells are thin"),
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        output_file("history", "FILE.csv", "the residual after every iteration"),
        with_files({"probe", "LINE:FILE", "",
                    "X0,Y0,X1,Y1,N:FILE.csv, the solution along a line, at N points from (X0, Y0) to (X1, Y1): x, y, "
                    "the distance from the first end and u"},
                   Names::output, probe_files),
        {"convergence-table", "L1..L2", "",
         "solve on every level from L1 to L2 and print the errors side by side; without an exact solution the "
         "differences of successive levels, the order they show, and the error that follows"},
        {"quiet", "", "", "print errors only"}}}};
  return CommandLine(settings, other_options("level=9", {{"list-meshes", "", "", "list the named meshes"},
                                                         {"list-smoothers", "", "", "list the smoothers"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, about_files, examples, about_outputs, about_exit_codes);
}

}  // namespace stratum::apps::poisson
