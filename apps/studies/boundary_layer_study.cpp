// paper_tables --study boundary-layers:
//
//     -eps Laplace u + u = f  in the unit square,  u = 0 on its boundaries,      u = X(x) X(y),  X = 1 - E
//     E(s) = (exp(-s/sqrt(eps)) + exp(-(1-s)/sqrt(eps))) / (1 + exp(-1/sqrt(eps))),        f = 1 - E(x) E(y)
//
// on N x N cells, square ones and those of Shishkin's mesh: a quarter of the cells within t = min(1/4, 2 sqrt(eps) ln N) of
// either end of a direction. There the error is c (ln N / N)^2 with one c for all eps; on square cells it is that of a solution
// without layers as soon as these are thinner than a cell.
// Source: H.-G. Roos, M. Stynes, L. Tobiska, Robust Numerical Methods for Singularly Perturbed Differential Equations, 2008,
// III.3.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/graded.hpp>
#include <stratum/multigrid/poisson_solver.hpp>

#include "studies.hpp"
#include "support/program.hpp"
#include "support/table.hpp"

namespace stratum::apps {

namespace {

class BoundaryLayerStudy {
 public:
  BoundaryLayerStudy(Context& ctx, bool csv) : ctx_(ctx), csv_(csv) {}

  void print(int level) {
    const int n = 1 << level;
    const Table table(
        csv_,
        message("-eps Laplace u + u = f with layers at all boundaries: largest error at the nodes, and in L2 "
                "relative to u, on ",
                n, " x ", n, " cells; ratio: to that with half as many in each direction (", ctx_.description(), ")"),
        {"eps   ", "square: max", "L2", "cycles", "Shishkin: max", "ratio", "L2", "ratio", "cycles", "cells 1 :"});
    for (int k = 0; k <= 8; ++k) {
      const double eps = std::pow(10.0, -k);
      const Result square = solve(eps, mesh(n, eps, false)), layered = solve(eps, mesh(n, eps, true)),
                   coarser = solve(eps, mesh(n / 2, eps, true));
      table.row({scientific(eps, 0), scientific(square.largest, 2), scientific(square.l2, 2), count(square.report),
                 scientific(layered.largest, 2), ratio(coarser.largest, layered.largest), scientific(layered.l2, 2),
                 ratio(coarser.l2, layered.l2), count(layered.report), scientific(layered.aspect, 1)});
    }
  }

 private:
  struct Result {
    SolveReport report;
    double largest = 0, l2 = 0, aspect = 1;
  };

  static std::string count(const SolveReport& report) {
    const bool there = report.status == Status::converged || report.status == Status::round_off_limit;
    return message(report.iterations, there ? "" : "!");
  }

  static TensorMesh<2> mesh(int n, double eps, bool layered) {
    const double transition = std::min(0.25, 2 * std::sqrt(eps) * std::log(n));
    const Axis line = layered ? shishkin(1, n, transition, GradedSide::both) : uniform(1, n);
    return {line, line};
  }

  Result solve(double eps, const TensorMesh<2>& mesh) {
    progress(message("eps ", eps, " ..."));
    const double width = std::sqrt(eps);
    const auto layers = [width](double from_first, double from_last) {
      return (std::exp(-from_first / width) + std::exp(-from_last / width)) / (1 + std::exp(-1 / width));
    };
    PoissonProblem problem;
    problem.diffusion.xx = eps;
    problem.reaction = 1;
    problem.rhs = [layers](const Point& p) {
      return 1 - layers(p.to_left, p.to_right) * layers(p.to_bottom, p.to_top);
    };
    problem.exact = [layers](const Point& p) {
      return (1 - layers(p.to_left, p.to_right)) * (1 - layers(p.to_bottom, p.to_top));
    };
    problem.boundary = [](const Point&) { return 0.0; };
    PoissonSolverParams params;
    params.terms = operator_terms(mesh, problem);
    params.coefficients = std::make_shared<const CellCoefficients>(*cell_coefficients(ctx_, mesh, problem));
    Field<double> b(ctx_, mesh.unknowns()), x(ctx_, mesh.unknowns());
    assemble_load(ctx_, mesh, problem, b);
    Result result;
    result.report = PoissonSolver(ctx_, mesh, params).solve(ctx_, b.cview(), x.view());
    result.l2 = relative_l2_error(ctx_, mesh, problem, x).value_or(std::nan(""));
    const auto found = nodal_solution(ctx_, mesh, problem, x), exact = at_nodes(ctx_, mesh, exact_function(problem));
    for (std::size_t k = 0; k < found.size(); ++k)
      result.largest = std::max(result.largest, std::abs(found[k] - exact[k]));
    result.aspect = mesh.largest_aspect_ratio();
    progress("");
    return result;
  }

  Context& ctx_;
  bool csv_;
};

}  // namespace

void print_boundary_layer_study(const Machine& machine, const StudySelection& selection) {
  Context ctx = machine.context();
  BoundaryLayerStudy(ctx, selection.csv).print(selection.level);
}

}  // namespace stratum::apps
