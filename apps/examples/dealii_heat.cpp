// The problem of deal.II's step-26, the heat equation, on a rectangle whose cells become thin,
//
//     u_t - Laplace u = f(t, x) on (0, 1)^2,   u = 0 at x = 0 and x = 1,   no flux at y = 0 and y = 1,   u(0) = 0,
//
// two squares being heated in turn; by the theta scheme
//
//     (M + theta k A) u_n = (M - (1 - theta) k A) u_(n-1) + k (theta f_n + (1 - theta) f_(n-1)),   theta = 1/2,
//
// each step by conjugate gradients with one of several preconditioners. Half way the time step k becomes four times as long,
// and the preconditioner is updated. Iterations of all steps, and seconds of all set-ups and all solves, side by side.
//
//     dealii_heat [refinements = 4] [ratio = 0.25] [steps = 40]

#include <cmath>
#include <cstdlib>

#include "dealii_comparison.hpp"

namespace {

using Point = dealii::Point<2>;
using Values = dealii::Vector<double>;
constexpr double theta = 0.5;

/// Whether square 0 or 1 is heated at a time: one after the other for a fifth of a turn, which takes half a time unit.
bool is_heated(int square, double t) {
  const double turn = t / 0.5 - std::floor(t / 0.5);
  return square == 0 ? turn <= 0.2 : turn >= 0.5 && turn <= 0.7;
}
bool is_in(int square, const Point& p) {
  const double x = square == 0 ? 0.25 : 0.75;
  return std::abs(p[0] - x) < 0.2 && std::abs(p[1] - (1 - x)) < 0.2;
}

class Heat {
 public:
  Heat(unsigned int refinements, double ratio, int steps)
      : system(Point(0, 0), Point(1, 1), refinements, ratio, {0, 1}), steps_(steps) {
    const auto one = [](const Point&) { return 1.0; };
    const auto indicator = [](int square) { return [square](const Point& p) { return is_in(square, p) ? 1.0 : 0.0; }; };
    system.assemble([](const Point&) { return 0.0; }, 1, indicator(0));
    mass_.reinit(system.sparsity_pattern);
    mass_.copy_from(system.matrix);
    load_[0] = system.rhs;
    system.assemble(one, 0, indicator(1));
    load_[1] = system.rhs;
    stiffness_.reinit(system.sparsity_pattern);
    stiffness_.copy_from(system.matrix);
  }

  /// All steps by one method; a row of the table. True where every solve converged, and to what the first method found.
  bool run(const example::Method& method) {
    Values u(system.rhs.size()), product(u.size());
    dealii::Timer setup, solving;
    setup.reset();
    solving.reset();
    unsigned int iterations = 0;
    double t = 0, k = 0;
    bool good = true;
    for (int n = 0; n < steps_; ++n) {
      const double step = 0.5 / steps_ * (n < steps_ / 2 ? 1 : 4);
      if (step != k) {
        k = step;
        // Constrained rows hold a diagonal in both matrices, and do so in their sum.
        system.matrix.copy_from(mass_);
        system.matrix.add(theta * k, stiffness_);
        setup.start();
        method.prepare();
        setup.stop();
      }
      mass_.vmult(system.rhs, u);
      stiffness_.vmult(product, u);
      system.rhs.add(-(1 - theta) * k, product);
      for (const int square : {0, 1})
        system.rhs.add(k * ((1 - theta) * is_heated(square, t) + theta * is_heated(square, t + k)), load_[square]);
      system.constraints.set_zero(system.rhs);
      t += k;
      dealii::SolverControl control(10000, 1e-8 * system.rhs.l2_norm());
      dealii::SolverCG<Values> cg(control);
      solving.start();
      try {
        method.solve(cg, u, system.rhs);
      } catch (const dealii::SolverControl::NoConvergence&) {
        good = false;
      }
      solving.stop();
      system.constraints.distribute(u);
      iterations += control.last_step();
    }
    example::print_row(method.name, iterations, setup.wall_time(), solving.wall_time());
    if (!good) std::printf("%s does not converge\n", method.name.c_str());
    if (first_.size() == 0) first_ = u;
    u -= first_;
    return good && u.l2_norm() <= 1e-5 * first_.l2_norm();
  }

  example::System system;

 private:
  const int steps_;
  dealii::SparseMatrix<double> mass_, stiffness_;
  Values load_[2];  // of the squares
  Values first_;
};

}  // namespace

int main(int argc, char** argv) {
  const int refinements = argc > 1 ? std::atoi(argv[1]) : 4, steps = argc > 3 ? std::atoi(argv[3]) : 40;
  const double ratio = argc > 2 ? std::atof(argv[2]) : 0.25;
  if (argc > 4 || refinements < 1 || refinements > 9 || !(ratio > 0 && ratio <= 1) || steps < 2) {
    std::fprintf(stderr, "usage: dealii_heat [refinements, 1 to 9] [ratio in (0, 1]] [steps, 2 at least]\n");
    return 1;
  }
  return example::run_program(argc, argv, [&] {
    Heat heat(static_cast<unsigned int>(refinements), ratio, steps);
    std::printf("%u unknowns, aspect ratio up to %.1e, %d steps; residual down by 1e-8\n\n",
                heat.system.dof_handler.n_dofs(), heat.system.aspect_ratio(), steps);
    example::print_heading();
    bool good = true;
    for (const auto& method : example::every_method(heat.system)) good = heat.run(method) && good;
    return good;
  });
}
