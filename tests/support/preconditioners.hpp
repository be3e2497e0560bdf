#pragma once

// Preconditioners and operators with known behaviour.

#include <algorithm>
#include <vector>

#include <stratum/core/field/blas.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "backends.hpp"
#include "reference/krylov.hpp"

namespace test {

/// The rows of an operator, for oracles: A applied to the nine vectors that are one at every third node in each direction, so
/// that every entry shows up alone.
template <class T>
[[nodiscard]] reference::Stencil stencil_of(Context& ctx, const GridOperator<T>& a) {
  const GridLayout<2> shape = a.shape();
  reference::Stencil stencil(shape.nx, shape.ny);
  Field<T> image(ctx, shape);
  for (int sy = 0; sy < 3; ++sy)
    for (int sx = 0; sx < 3; ++sx) {
      Values ones(stencil.size(), 0.0);
      for (int j = sy; j < shape.ny; j += 3)
        for (int i = sx; i < shape.nx; i += 3) ones[stencil.index(i, j)] = 1;
      const auto x = to_device<T>(ctx, shape, ones);
      a.apply(ctx, x.cview(), image.view());
      const Values found = to_host(ctx, image);
      for (int j = 0; j < shape.ny; ++j)
        for (int i = 0; i < shape.nx; ++i) {
          const int dx = (sx - i % 3 + 4) % 3 - 1, dy = (sy - j % 3 + 4) % 3 - 1;
          if (stencil.inside(i + dx, j + dy)) stencil.at(dx, dy, i, j) = found[stencil.index(i, j)];
        }
    }
  return stencil;
}

/// x = A^-1 b by the oracle.
template <class T>
void solve_exactly(Context& ctx, const reference::Stencil& a, FieldView<const T> b, FieldView<T> x) {
  std::vector<T> host(static_cast<std::size_t>(b.nodes()));
  stratum::copy_to_host(ctx, b, host.data());
  const Values solution = reference::solve(a, Values(host.begin(), host.end()));
  std::copy(solution.begin(), solution.end(), host.begin());
  stratum::copy_from_host(ctx, host.data(), x);
}

/// theta A^-1: refinement with it multiplies the error by 1 - theta.
template <class T>
class ScaledInverse final : public stratum::Preconditioner<T> {
 public:
  ScaledInverse(Context& ctx, const GridOperator<T>& a, double theta, bool constant = true, bool symmetric = true)
      : a_(stencil_of(ctx, a)), theta_(theta), constant_(constant), symmetric_(symmetric) {}
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    solve_exactly<T>(ctx, a_, r, z);
    stratum::copy_scaled<T, T>(ctx, theta_, z, z);
  }
  [[nodiscard]] bool is_constant() const override { return constant_; }
  [[nodiscard]] bool is_symmetric() const override { return symmetric_; }

 private:
  reference::Stencil a_;
  double theta_;
  bool constant_, symmetric_;
};

/// factor times the identity.
template <class T>
class ScaledIdentity final : public stratum::Preconditioner<T> {
 public:
  explicit ScaledIdentity(double factor) : factor_(factor) {}
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    stratum::copy_scaled<T, T>(ctx, factor_, r, z);
    largest_seen_ = std::max(largest_seen_, stratum::norm_max<T>(ctx, r));
  }
  [[nodiscard]] bool is_constant() const override { return true; }
  [[nodiscard]] bool is_symmetric() const override { return true; }
  [[nodiscard]] double largest_seen() const { return largest_seen_; }

 private:
  double factor_;
  double largest_seen_ = 0;
};

/// Steps of a smoother, from zero; `vary` takes one step more at every second call.
template <class T>
class Smoothing final : public stratum::Preconditioner<T> {
 public:
  Smoothing(Context& ctx, const GridOperator<T>& a, const std::string& name, double damping, bool vary = false)
      : a_(a),
        smoother_(stratum::builtin_smoothers().make<T>(ctx, name, a.shape(), {stratum::LineOrder::zebra, damping})),
        vary_(vary) {}
  void apply(Context& ctx, FieldView<const T> r, FieldView<T> z) override {
    const int sweeps = smoother_->sweeps_per_application() * (vary_ && calls_++ % 2 == 1 ? 2 : 1);
    smoother_->smooth(ctx, a_, r, z, sweeps, stratum::Guess::zero, stratum::SweepOrder::forward);
  }
  [[nodiscard]] bool is_constant() const override { return !vary_; }
  [[nodiscard]] bool is_symmetric() const override { return true; }

 private:
  const GridOperator<T>& a_;
  std::unique_ptr<stratum::Smoother<T>> smoother_;
  bool vary_;
  int calls_ = 0;
};

/// A dense matrix, multiplied on the host: for systems that no grid operator can be.
template <class T>
class DenseOperator final : public stratum::LinearOperator<T> {
 public:
  explicit DenseOperator(reference::Dense a) : a_(std::move(a)) {}
  [[nodiscard]] GridLayout<2> shape() const override { return GridLayout<2>::flat(static_cast<int>(a_.n)); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override { put(ctx, product(ctx, x), y); }
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override {
    Values values = product(ctx, x);
    const Values of_b = host(ctx, b);
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = of_b[k] - values[k];
    put(ctx, values, r);
  }

 private:
  [[nodiscard]] static Values host(Context& ctx, FieldView<const T> x) {
    std::vector<T> values(static_cast<std::size_t>(x.nx));
    stratum::copy_to_host(ctx, x, values.data());
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Values product(Context& ctx, FieldView<const T> x) const { return multiply(a_, host(ctx, x)); }
  static void put(Context& ctx, const Values& values, FieldView<T> y) {
    const std::vector<T> narrowed(values.begin(), values.end());
    stratum::copy_from_host(ctx, narrowed.data(), y);
  }

  reference::Dense a_;
};

/// A - shift I: indefinite for a large enough shift.
template <class T>
class Shifted final : public stratum::LinearOperator<T> {
 public:
  Shifted(const GridOperator<T>& a, double shift) : a_(a), shift_(shift) {}
  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override {
    a_.apply(ctx, x, y);
    stratum::axpy<T, T>(ctx, -shift_, x, y);
  }
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override {
    a_.residual(ctx, b, x, r);
    stratum::axpy<T, T>(ctx, shift_, x, r);
  }

 private:
  const GridOperator<T>& a_;
  double shift_;
};

}  // namespace test
