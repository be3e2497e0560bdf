#include <stratum/solvers/gmres.hpp>

namespace stratum {

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

}  // namespace

template <class T>
Gmres<T>::Gmres(Context& ctx, const GridShape& shape, int restart) : Solver<T>(shape), r_(ctx, shape) {
  expects(restart >= 1, "restart must be 1 or more, not ", restart);
  v_ = Basis<T>(ctx, shape, restart);
  z_ = Basis<T>(ctx, shape, restart);
}

template <class T>
SolveReport Gmres<T>::run(Context& ctx, const LinearOperator<T>& a, Preconditioner<T>* m, GridView<const T> b,
                          GridView<T> x, const StoppingParams& stop, const Monitor& monitor) {
  const auto r = r_.view();
  KrylovIteration<T> iteration(ctx, a, m, b, x, r, stop, monitor);
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

template class Gmres<float>;
template class Gmres<double>;

}  // namespace stratum
