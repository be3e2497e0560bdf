#include "options.hpp"

#include "settings.hpp"
#include "support/program.hpp"

namespace stratum::apps::krylov {

namespace {

constexpr const char* before_options =
    "Usage: krylov [OPTIONS]\n\n"
    "Solves a sparse linear system by a Krylov method. The matrix comes from a Matrix Market file (matrices of the\n"
    "SuiteSparse collection are such files) or is generated. Start with a symmetric matrix and\n"
    "--preconditioner block-ic, or with jacobi where the matrix is not symmetric; watch the residuals, and change one\n"
    "thing at a time. Rows are numbered from 1, as in the files.\n";

constexpr const char* examples =
    "Examples:\n"
    "  krylov                                                    five points, 100 x 100, conjugate gradients\n"
    "  krylov --preconditioner ic                                fewer than half of the iterations\n"
    "  krylov --matrix bcsstk18.mtx --preconditioner block-ic --ic-shift 0.01 --solution x.mtx\n"
    "  krylov --matrix orani678.mtx --rhs b.mtx --method bicgstab --preconditioner jacobi --history run.csv\n"
    "  krylov --matrix box.mtx --grid 64,64,64                   7 or 27 points in a box, multigrid\n"
    "  krylov --problem mesh --mesh A5 --level 8 --preconditioner multigrid    10^11 times as long as wide, 9 "
    "iterations\n"
    "  krylov --problem toeplitz --gamma 0.8 --method gcr --inner jacobi --inner-test increment --inner-precision "
    "single\n"
    "  krylov --problem laplacian --unknowns 64,64 --save-matrix laplacian.mtx --quiet\n\n";

}  // namespace

CommandLine make_command_line() {
  const Settings defaults;
  return CommandLine(
      {{"System A x = b",
        {input_file("matrix", "FILE.mtx",
                    "A, a Matrix Market file: coordinate or array, real, integer or pattern, general, symmetric or "
                    "hermitian; with b behind it where a line %%AMGX rhs says so"),
         {"triangle", "NAME", "",
          "a file that is said to be general and has one triangle alone: symmetric, where it is half of the matrix, or "
          "general, where it is all of it"},
         input_file(
             "rhs", "FILE.mtx",
             "b, a Matrix Market file (what stands behind the matrix, else A times ones, so that the solution is one "
             "everywhere)"),
         {"problem", "NAME", "laplacian",
          "without --matrix: laplacian (five points, seven in a box), toeplitz (2 on the diagonal, 1 above, gamma two "
          "below) or mesh "
          "(bilinear elements on a named mesh)"},
         {"unknowns", "N|NX,NY[,NZ]", "100,100", "laplacian: unknowns in x and y, or x, y and z, each 1 .. 46340"},
         {"epsilon", "X", "1", "laplacian: weight of the differences in y, of a box in z, above 0"},
         {"n", "N", "2048", "toeplitz: rows, 1 .. 100000000"},
         {"gamma", "X", "0.4", "toeplitz: gamma in [-10, 10]; the larger, the harder"},
         {"mesh", "NAME", "A3", "mesh: see poisson2d --list-meshes"},
         {"level", "N", "6", "mesh: 2^N x 2^N cells, N in 1 .. 12"},
         {"grid", "N|NX,NY[,NZ]", "",
          "with --matrix, for multigrid: the grid whose nodes are the rows; rows may only couple neighbours. Of two "
          "directions rows are numbered along x first, of three in any order of these"},
         input_file("coordinates", "FILE.mtx",
                    "with --matrix, for multigrid in place of --grid: a Matrix Market array of x, y and z, or of x and "
                    "y, of every row; rows in any order"),
         {"storage", "NAME", "auto", "band, csr, or auto: bands if they take no more memory"}}},
       {"Method",
        {{"method", "NAME", "",
          "see --list-methods (cg for a symmetric matrix, fcg if an inner solve is the preconditioner, gmres for other "
          "matrices)"},
         {"restart", "N", plain(defaults.restart),
          "directions that gcr and gmres keep before they restart, 1 .. 10000"},
         {"rtol", "X", plain(defaults.stop.rtol), "stop when the residual has fallen below X ||b||, X in (0, 1)"},
         {"max-iterations", "N", "10000", "1 .. 1000000000"},
         {"precision", "NAME", "double", "double, or single: everything in single precision"}}},
       {"Preconditioner",
        {{"preconditioner", "NAME", "none",
          "none, or see --list-preconditioners (jacobi, ic, block-ic, incomplete-poisson, multigrid)"},
         {"block-size", "N", plain(IncompleteCholeskyParams::usual_block_size),
          "block-ic: rows of a block, 1 .. 1000000000"},
         {"blocks", "N", "",
          "block-ic: number of blocks instead, 1 .. 1000000000 (n / 2 on n x n: two rows of the grid in each)"},
         {"ic-shift", "X", plain(defaults.incomplete_cholesky.shift),
          "ic, block-ic: factorise A + X diag(A), X >= 0, if a pivot is not positive"},
         {"ip-form", "NAME", "scaled",
          "incomplete-poisson: scaled by the diagonal, or printed, as published for a constant one"},
         {"smoother", "NAME", defaults.multigrid.smoother, "multigrid: see poisson2d --list-smoothers"},
         {"sweeps", "N", plain(defaults.sweeps), "multigrid: sweeps before and after, 1 .. 1000"},
         {"inner", "METHOD", "",
          "use a rough solve with A as the preconditioner (variable preconditioning): a method of --list-methods, or "
          "jacobi sweeps. --preconditioner then applies to this inner solve"},
         {"inner-tolerance", "X", plain(JacobiSweepsParams{}.tolerance), "tolerance of the inner solve, in (0, 1)"},
         {"inner-max", "N", "1000", "iterations of the inner solve, 1 .. 1000000000"},
         {"inner-test", "NAME", std::string(to_string(defaults.sweep_test)),
          "what stops jacobi sweeps: residual, or increment (of the solution)"},
         {"inner-precision", "NAME", "",
          "precision of preconditioner and inner solve: double or single (that of --precision)"}}},
       machine_options(),
       {"Output",
        {output_file("report", "FILE.json", "everything that is printed and more, as JSON"),
         output_file("history", "FILE.csv", "the residual after every iteration"),
         output_file("save-matrix", "FILE.mtx", "A as a Matrix Market file"),
         output_file("solution", "FILE.mtx", "x as a Matrix Market array"),
         {"quiet", "", "", "print errors only"}}}},
      other_options("rtol=1e-10", {{"list-methods", "", "", "list the methods and what they ask of the matrix"},
                                   {"list-preconditioners", "", "", "list the preconditioners, likewise"}}));
}

std::string text_before_options() { return before_options; }

std::string text_after_options() { return message(examples, about_outputs, about_exit_codes); }

}  // namespace stratum::apps::krylov
