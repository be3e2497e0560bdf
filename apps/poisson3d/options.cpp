#include "options.hpp"

#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "bodies.hpp"
#include "probe.hpp"
#include "problem.hpp"
#include "support/mesh_options.hpp"
#include "support/problem_options.hpp"
#include "support/program.hpp"
#include "support/solution_files.hpp"

namespace stratum::apps::poisson3d {

namespace {

constexpr const char* before_options =
    "Usage: poisson3d [OPTIONS]\n\n"
    "Solves the Poisson problem -div(K grad u) + c u = f in a box with trilinear finite elements: directly, by fast\n"
    "diagonalization, where K is a product of functions of x, y and z, else by multigrid. Both take much the same "
    "time\n"
    "however far the cells are stretched in any direction. By default it solves a problem with a known solution,\n"
    "prints how large the error is, and writes a file for ParaView.\n";

constexpr const char* examples =
    "The faces of the box\n"
    "            top (last y)\n"
    "          +-----------+          y\n"
    "         /|   back   /|          |   z, away from you\n"
    "        / | (last z)/ |          |  /\n"
    "       +-----------+  |          | /\n"
    " left  |  +--------|--+  right   |/\n"
    " (first| / front   | /   (last   +------ x\n"
    "   x)  |/ (first z)|/      x)\n"
    "       +-----------+\n"
    "          bottom (first y)\n\n"
    "Examples:\n"
    "  poisson3d                                       cubic cells, 250047 unknowns; writes poisson3d_U1_L6.vtr\n"
    "  poisson3d --mesh A3 --graded xyz                cells up to 9e3 times as long as wide, thin in all directions\n"
    "  poisson3d --mesh A5 --graded z --level 7 --vtk none --report run.json\n"
    "  poisson3d --cells 96,64,40 --domain 3,2,1 --grade-z tanh:3,both\n"
    "  poisson3d --cells 64,64, --grade-z widths:layers.txt --rhs 1 --bottom neumann --top robin:10,0\n"
    "  poisson3d --cells 32 --rhs '3*pi^2*sin(pi*x)*sin(pi*y)*sin(pi*z)' --exact 'sin(pi*x)*sin(pi*y)*sin(pi*z)'\n"
    "  poisson3d --cells 64 --left periodic --right periodic --front neumann --back neumann --rhs 'sin(2*pi*x)'\n"
    "  poisson3d --cells 64 --rhs 1 --kz '1+z^2' --png slice.png --slice x=0.5\n"
    "  poisson3d --cells 64 --rhs 1 --kappa 'x+y>1 ? 1000 : 1'   a jump that is no product: multigrid\n"
    "  poisson3d --cells 64 --rhs 1 --probe 0,0,0,1,1,1,101:diagonal.csv --vtk none\n"
    "  mpirun -n 4 poisson3d --mesh A3 --graded yz --level 8     on four ranks, a slab each\n"
    "  poisson3d --mesh A2 --convergence-table 2..6    the error falls by four from level to level\n\n";

}  // namespace

CommandLine make_command_line() {
  const PoissonSolver3DParams params;
  const std::vector<OptionGroup> settings{
      {"Mesh", mesh_options<3>()},
      {"Problem: -div(K grad u) + c u = f; on every face u, its outward derivative or both are given, or it is "
       "periodic",
       joined(
           {expression_option(
                "rhs", "EXPR", "",
                "f in x, y, z, the lengths a, b and d of the edges, and the distances xl, xr, yl, yr, zl, zr to the "
                "left, right, bottom, top, front and back face (that of the exact solution xl xr yl yr zl zr); or, as "
                "everywhere below, file:PATH.vtr:ARRAY, .vti, .nc or file:PATH.npy, an array of shape (nz, ny, nx) on "
                "the "
                "cells or (nz + 1, ny + 1, nx + "
                "1) at the nodes, of the mesh or of a coarser level"),
            expression_option("exact", "EXPR", "",
                              "the exact solution, to measure the error by (of the default f: xl xr yl yr zl zr)"),
            expression_option(
                "boundary", "EXPR", "",
                "u on the faces that have no value of their own (the exact solution where it is given, else 0)")},
           joined(boundary_options<3>(), coefficient_options()),
           {{"reaction", "C", "0", "c, a number from 0 on"},
            box_body_option(),
            {"quadrature", "N", "",
             "f and the values on faces are integrated by N points in every direction of a cell, 1 .. 4 (4 in boxes of "
             "up to "
             "2^18 cells, 2 in larger ones, where expressions take longer than the solve)"},
            {"project", "", "",
             "where u is known up to a constant only, subtract from f what keeps the problem from having a "
             "solution"}})},
      {"Method",
       {{"method", "NAME", "auto",
         "direct: fast diagonalization, where kx depends on x, ky on y and kz on z alone, times the same products of "
         "functions of the other two in all, and kappa is a product of functions of x, y and z; multigrid: conjugate "
         "gradients around a multigrid cycle, for every K; planes: for K = 1 and boxes that are long in two "
         "directions, "
         "the modes of the third and multigrid in a plane for each; fd-cg: conjugate gradients around fast "
         "diagonalization scaled by K, for a smooth kappa; auto chooses and says why. Several ranks take all "
         "but planes"},
        {"precision", "NAME", "double", "mixed: multigrid cycles in single precision, in half the memory"}}},
      {"Stopping: the solution is refined until",
       {{"rtol", "X", plain(params.stop.rtol),
         "the residual is below X times the norm of the right-hand side, X in (0, 1)"},
        {"atol", "X", plain(params.stop.atol), "or below X itself, X from 0 on"},
        {"max-iterations", "N", plain(params.stop.max_iterations), "or N solves or iterations are done, 1 .. 1000"}}},
      machine_options_of_ranks(),
      {"Output",
       {output_file("vtk", "FILE.vtr",
                    "solution, exact solution, error, right-hand side, K and aspect ratios for ParaView "
                    "(poisson3d_<mesh>_L<level>.vtr); FILE.pvtr on several ranks: a file of each rank's subdomain, and "
                    "one that tells of them, so that nothing is gathered; FILE.npy: the solution alone, an array for "
                    "NumPy of shape "
                    "(nz + 1, ny + 1, nx + 1), which is written where VTK is missing"),
        compression_option(),
        output_file("png", "FILE.png",
                    "a picture of the solution on the front, the right and the top face, or on --slice"),
        {"slice", "AXIS=AT", "", "draw the solution on a plane instead, as z=0.5, and enlarged where cells are thin"},
        output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
        output_file("history", "FILE.csv", "the residual after every solve or iteration"),
        with_files({"probe", "WHERE:FILE", "",
                    "X0,Y0,Z0,X1,Y1,Z1,N:FILE.csv, the solution along a line, at N points from (X0, Y0, Z0) to "
                    "(X1, Y1, Z1): x, y, z, the distance from the first end and u; or AXIS=AT,M,N:FILE.csv, at M x N "
                    "points on a plane, as z=0.5,65,33: x, y, z and u"},
                   Names::output, probe_files),
        {"convergence-table", "L1..L2", "",
         "solve on every level from L1 to L2 and print the errors side by side; without an exact solution the "
         "differences of successive levels, the order they show, and the error that follows"},
        {"quiet", "", "", "print errors and warnings only"}}}};
  return CommandLine(settings, other_options("level=7", {{"list-meshes", "", "", "list the named meshes"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() {
  return message(about_expressions, about_gradings, examples, about_outputs, about_exit_codes);
}

}  // namespace stratum::apps::poisson3d
