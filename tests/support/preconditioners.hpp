#pragma once

// Preconditioners and operators with known behaviour.

#include <stratum/core/blas.hpp>
#include <stratum/solvers/direct.hpp>

#include "support/backends.hpp"

namespace test {

/// theta A^-1: refinement with it multiplies the error by 1 - theta.
template <class T>
class ScaledInverse final : public stratum::Preconditioner<T> {
 public:
  ScaledInverse(Context& ctx, const GridOperator<T>& a, double theta, bool constant = true, bool symmetric = true)
      : factor_(ctx, a), theta_(theta), constant_(constant), symmetric_(symmetric) {}
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
    factor_.solve(ctx, r, z);
    stratum::copy_scaled<T, T>(ctx, theta_, z, z);
  }
  [[nodiscard]] bool is_constant() const override { return constant_; }
  [[nodiscard]] bool is_symmetric() const override { return symmetric_; }

 private:
  stratum::BandCholesky<T> factor_;
  double theta_;
  bool constant_, symmetric_;
};

/// factor times the identity.
template <class T>
class ScaledIdentity final : public stratum::Preconditioner<T> {
 public:
  explicit ScaledIdentity(double factor) : factor_(factor) {}
  void apply(Context& ctx, GridView<const T> r, GridView<T> z) override {
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

/// A - shift I: indefinite for a large enough shift.
template <class T>
class Shifted final : public stratum::LinearOperator<T> {
 public:
  Shifted(const GridOperator<T>& a, double shift) : a_(a), shift_(shift) {}
  [[nodiscard]] GridShape shape() const override { return a_.shape(); }
  void apply(Context& ctx, GridView<const T> x, GridView<T> y) const override {
    a_.apply(ctx, x, y);
    stratum::axpy<T, T>(ctx, -shift_, x, y);
  }
  void residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const override {
    a_.residual(ctx, b, x, r);
    stratum::axpy<T, T>(ctx, shift_, x, r);
  }

 private:
  const GridOperator<T>& a_;
  double shift_;
};

}  // namespace test
