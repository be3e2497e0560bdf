#pragma once

// A system that conjugate gradients take some hundred iterations for, and an operator that counts its products.

#include <cmath>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/solvers/stopping.hpp>

#include "backends.hpp"

namespace test {

using namespace stratum;

/// Counts products.
template <class T>
class Counting final : public LinearOperator<T> {
 public:
  explicit Counting(const LinearOperator<T>& a) : a_(a) {}
  [[nodiscard]] GridLayout<2> shape() const override { return a_.shape(); }
  void apply(Context& ctx, FieldView<const T> x, FieldView<T> y) const override {
    ++products;
    a_.apply(ctx, x, y);
  }
  void residual(Context& ctx, FieldView<const T> b, FieldView<const T> x, FieldView<T> r) const override {
    ++products;
    a_.residual(ctx, b, x, r);
  }
  mutable int products = 0;

 private:
  const LinearOperator<T>& a_;
};

class StretchedLaplace : public OnEveryBackend {
 protected:
  /// A on a mesh of 63 x 63 unknowns with cells up to four times as long as wide.
  template <class T>
  GridOperator<T> laplace() {
    return assemble_laplace<T>(ctx(), make_mesh(mesh_family("U2"), 6), StorageFormat::tensor);
  }
  Field<double> rhs(const GridLayout<2>& shape) {
    Random random(151);
    return random_vector<double>(ctx(), random, shape);
  }
  double true_residual(const LinearOperator<double>& a, const Field<double>& b, const Field<double>& x) {
    Field<double> r(ctx(), a.shape());
    a.residual(ctx(), b.cview(), x.cview(), r.view());
    return norm2(ctx(), r.cview());
  }
  static StoppingParams to(double rtol) {
    StoppingParams stop;
    stop.rtol = rtol;
    stop.max_iterations = 20000;
    return stop;
  }
};

}  // namespace test
