#include <stratum/solvers/deflation/coarse_factor.hpp>

#include <algorithm>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

CoarseFactor::CoarseFactor(const SparseRows& e, std::vector<double> sums) : pivots_(static_cast<std::size_t>(e.rows)) {
  e.validate();
  expects(e.rows == e.columns && sums.size() == pivots_.size(), "a coarse matrix of ", e.rows, " x ", e.columns,
          " with ", sums.size(), " row sums");
  accurate_ = std::all_of(sums.begin(), sums.end(), [](double v) { return v >= 0; });
  for (int i = 0; i < e.rows; ++i)
    for (int k = e.start[std::size_t(i)]; k < e.start[std::size_t(i) + 1]; ++k) {
      width_ = std::max(width_, i - e.column[std::size_t(k)]);
      accurate_ = accurate_ && (e.column[std::size_t(k)] == i || e.value[std::size_t(k)] <= 0);
    }
  const std::int64_t bytes = std::int64_t{e.rows} * (width_ + 1) * 8,
                     available = available_memory(Context(Backend::cpu, 1));
  if (bytes > available)
    throw ResourceError(message("the coarse matrix of ", e.rows, " deflation vectors takes ", bytes >> 20,
                                " MB for its factors, and there are ", available >> 20, "; use fewer vectors"));
  lower_.assign(pivots_.size() * (std::size_t(width_) + 1), 0.0);
  for (int i = 0; i < e.rows; ++i)
    for (int k = e.start[std::size_t(i)]; k < e.start[std::size_t(i) + 1]; ++k)
      if (e.column[std::size_t(k)] <= i) row(i)[e.column[std::size_t(k)]] = e.value[std::size_t(k)];
  if (accurate_)
    factorise_by_sums(std::move(sums));
  else
    factorise();
}

void CoarseFactor::factorise_by_sums(std::vector<double> sums) {
  const int m = count();
  for (int k = 0; k < m; ++k) {
    const int end = std::min(m, k + width_ + 1);
    double pivot = sums[std::size_t(k)];
    for (int i = k + 1; i < end; ++i) pivot -= row(i)[k];
    pivots_[std::size_t(k)] = pivot;
    for (int i = k + 1; i < end; ++i) {
      const double a_ik = row(i)[k];
      if (a_ik == 0) continue;
      const double l = a_ik / pivot;
      sums[std::size_t(i)] -= l * sums[std::size_t(k)];
      for (int j = k + 1; j < i; ++j) row(i)[j] -= l * row(j)[k];
    }
    for (int i = k + 1; i < end; ++i)
      if (pivot > 0) row(i)[k] /= pivot;
  }
}

void CoarseFactor::factorise() {
  const int m = count();
  constexpr double least = 1e-12;
  for (int i = 0; i < m; ++i) {
    double* l = row(i);
    const int first = std::max(0, i - width_);
    const double diagonal = l[i];
    // Row i holds L_ik d_k until it is done.
    for (int j = first; j < i; ++j) {
      if (pivots_[std::size_t(j)] == 0) {
        l[j] = 0;
        continue;
      }
      const double* lj = row(j);
      for (int k = std::max(first, j - width_); k < j; ++k) l[j] -= l[k] * lj[k];
    }
    double pivot = diagonal;
    for (int j = first; j < i; ++j) {
      if (pivots_[std::size_t(j)] == 0) continue;
      const double value = l[j] / pivots_[std::size_t(j)];
      pivot -= l[j] * value;
      l[j] = value;
    }
    pivots_[std::size_t(i)] = pivot > least * diagonal ? pivot : 0;
  }
}

int CoarseFactor::dropped() const { return static_cast<int>(std::count(pivots_.begin(), pivots_.end(), 0.0)); }

template <int columns>
void CoarseFactor::solve_all(double* y) const {
  const int m = count();
  const auto at = [y](int i) { return y + std::size_t(i) * columns; };
  for (int i = 0; i < m; ++i) {
    const double* l = row(i);
    double* to = at(i);
    for (int k = std::max(0, i - width_); k < i; ++k) {
      const double factor = l[k];
      if (factor == 0) continue;
      const double* from = at(k);
      for (int c = 0; c < columns; ++c) to[c] -= factor * from[c];
    }
    // What was left out takes no part in later rows.
    if (pivots_[std::size_t(i)] == 0)
      for (int c = 0; c < columns; ++c) to[c] = 0;
  }
  for (int i = 0; i < m; ++i)
    if (pivots_[std::size_t(i)] != 0)
      for (int c = 0; c < columns; ++c) at(i)[c] /= pivots_[std::size_t(i)];
  for (int i = m - 1; i > 0; --i) {
    const double* l = row(i);
    const double* from = at(i);
    for (int k = std::max(0, i - width_); k < i; ++k) {
      const double factor = l[k];
      if (factor == 0 || pivots_[std::size_t(k)] == 0) continue;
      for (int c = 0; c < columns; ++c) at(k)[c] -= factor * from[c];
    }
  }
}

void CoarseFactor::solve(double* y) const { solve_all<1>(y); }

std::vector<double> CoarseFactor::inverse([[maybe_unused]] int threads) const {
  const int m = count();
  constexpr int together = 16;
  std::vector<double> all(std::size_t(m) * std::size_t(m));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int first = 0; first < m; first += together) {
    std::vector<double> y(std::size_t(m) * together, 0.0);
    const int last = std::min(m, first + together);
    for (int k = first; k < last; ++k) y[std::size_t(k) * together + std::size_t(k - first)] = 1;
    solve_all<together>(y.data());
    for (int k = first; k < last; ++k)
      for (int i = 0; i < m; ++i)
        all[std::size_t(k) * std::size_t(m) + std::size_t(i)] = y[std::size_t(i) * together + std::size_t(k - first)];
  }
  return all;
}

}  // namespace stratum
