// Flexible GMRES, right preconditioned, restarted after k directions, for any A and any M, which may vary from step to step.
// From v_0 = r / ||r|| Arnoldi's process builds
//
//     z_j = M_j^-1 v_j,   A Z = V H ,   V orthonormal, H upper Hessenberg, made triangular by Givens rotations,
//
// and x <- x + Z y with y minimising || ||r|| e_0 - H y ||, which is the norm of the new residual, so that the residual is
// known before x is. x is formed when that estimate reaches the target, at the restart and at the limit of iterations.
// Classical Gram-Schmidt, measured and repeated when needed: one group of reductions an iteration, two or three when repeated.
// Source: Saad, A flexible inner-outer preconditioned GMRES algorithm, 1993.

#include <stratum/solvers/krylov/krylov.hpp>

namespace stratum {

void register_gmres(SolverRegistry& registry);

namespace {

/// The least-squares problem min || beta e_0 - H y ||, a column of H at a time.
class HessenbergLeastSquares {
 public:
  explicit HessenbergLeastSquares(double beta) : g_{beta} {}

  /// Appends the column h_0 .. h_j, h_(j+1); the norm of the residual that is left.
  double append(std::vector<double> column) {
    for (std::size_t i = 0; i < cosine_.size(); ++i) {
      const double upper = column[i], lower = column[i + 1];
      column[i] = cosine_[i] * upper + sine_[i] * lower;
      column[i + 1] = cosine_[i] * lower - sine_[i] * upper;
    }
    const std::size_t j = cosine_.size();
    const double radius = std::hypot(column[j], column[j + 1]);
    // A column of zeros gains nothing: the norm stays.
    cosine_.push_back(radius == 0 ? 0 : column[j] / radius);
    sine_.push_back(radius == 0 ? 1 : column[j + 1] / radius);
    column[j] = radius;
    column.pop_back();
    r_.push_back(std::move(column));
    g_.push_back(-sine_[j] * g_[j]);
    g_[j] *= cosine_[j];
    return std::abs(g_.back());
  }

  /// y; a last column that depends on the others, as of a singular A, takes no part.
  [[nodiscard]] std::vector<double> solution() const {
    std::vector<double> y(r_.size());
    for (std::size_t i = y.size(); i-- > 0;) {
      double sum = g_[i];
      for (std::size_t k = i + 1; k < y.size(); ++k) sum -= r_[k][i] * y[k];
      y[i] = r_[i][i] == 0 ? 0 : sum / r_[i][i];
    }
    return y;
  }

 private:
  std::vector<std::vector<double>> r_;  // columns of the triangle
  std::vector<double> cosine_, sine_, g_;
};

template <class T>
class Gmres final : public Solver<T> {
 public:
  Gmres(Context& ctx, const GridLayout<2>& shape, const SolverParams& params)
      : Solver<T>(shape), r_(ctx, shape), v_(ctx, shape, params.restart), z_(ctx, shape, params.restart) {}

 private:
  SolveReport run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, FieldView<const T> b, FieldView<T> x,
                  const StoppingParams& stop, const Monitor& monitor) override {
    const auto r = r_.view();
    KrylovIteration<T> iteration(ctx, a, m, b, x, r, z_[0], stop, monitor);
    std::vector<double> h;
    while (!iteration.done()) {
      // r is the true residual here; between restarts it serves as the vector that becomes the next v.
      HessenbergLeastSquares least_squares(iteration.residual());
      copy_scaled<T, T>(ctx, 1 / iteration.residual(), r, v_[0]);
      bool exhausted = false, claimed = false, finite = true;
      for (int k = 0; !iteration.done();) {
        const auto z = iteration.precondition(v_[k], z_[k]);
        if (z.data != z_[k].data) copy<T, T>(ctx, z, z_[k]);
        a.apply(ctx, z_[k], r);
        const double norm = v_.orthogonalise(ctx, k + 1, r, h);
        finite = std::isfinite(norm);
        if (!finite) break;
        h.push_back(norm);
        const double estimate = least_squares.append(h);
        ++k;
        exhausted = norm == 0;
        claimed = estimate <= iteration.target();
        if (exhausted || claimed || k == v_.capacity() || iteration.at_limit()) break;
        iteration.record(estimate);
        copy_scaled<T, T>(ctx, 1 / norm, r, v_[k]);
      }
      const auto y = least_squares.solution();
      axpys<T>(ctx, y, z_.first(static_cast<int>(y.size())), x);
      if (iteration.done()) break;  // stagnated by its estimates
      if (!finite) {
        (void)iteration.recover("the operator or the preconditioner gave numbers that are not finite");
        continue;
      }
      iteration.advance_truly(claimed);
      if (exhausted && !iteration.done()) (void)iteration.recover("the Krylov space holds no better solution");
    }
    return iteration.finish();
  }

  Field<T> r_;
  Basis<T> v_, z_;
};

}  // namespace

void register_gmres(SolverRegistry& registry) {
  registry.add<Gmres>("gmres", "flexible GMRES, restarted: any A, M may vary",
                      {.vectors = 1, .vectors_per_restart = 2});
}

}  // namespace stratum
