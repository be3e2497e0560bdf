#include "krylov.hpp"

#include <cmath>
#include <utility>

#include "elimination.hpp"

namespace reference {

namespace {

/// x + alpha y
Values plus(const Values& x, double alpha, const Values& y) {
  Values z(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) z[k] = x[k] + alpha * y[k];
  return z;
}

}  // namespace

Dense::Dense(const Stencil& a) : Dense(a.size()) {
  for (int j = 0; j < a.ny; ++j)
    for (int i = 0; i < a.nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (a.inside(i + dx, j + dy)) (*this)(a.index(i, j), a.index(i + dx, j + dy)) = a.coefficient(dx, dy, i, j);
}

Values multiply(const Dense& a, const Values& x) {
  Values y(a.n, 0.0);
  for (std::size_t i = 0; i < a.n; ++i)
    for (std::size_t j = 0; j < a.n; ++j) y[i] += a(i, j) * x[j];
  return y;
}

Values solve(Dense a, Values b) { return eliminated(std::move(a.entries), std::move(b)); }

Iterates conjugate_gradients(const Dense& a, const Dense& m, const Values& b, int steps) {
  Iterates iterates;
  Values x(a.n, 0.0), r = b, d = multiply(m, r);
  double delta = dot(r, d);
  for (int k = 0; k < steps; ++k) {
    const Values q = multiply(a, d);
    const double alpha = delta / dot(d, q);
    x = plus(x, alpha, d);
    r = plus(r, -alpha, q);
    const Values s = multiply(m, r);
    const double next = dot(r, s);
    d = plus(s, next / delta, d);
    delta = next;
    iterates.push_back(x);
  }
  return iterates;
}

Iterates smallest_residuals(const Dense& a, const Dense& m, const Values& b, int steps, bool in_norm_of_m) {
  Iterates iterates, basis, images;
  Values next = multiply(m, b);
  for (int k = 0; k < steps; ++k) {
    // Modified Gram-Schmidt, twice, keeps the normal equations solvable.
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& v : basis) next = plus(next, -dot(v, next), v);
    const double length = norm(next);
    for (double& value : next) value /= length;
    basis.push_back(next);
    images.push_back(multiply(a, next));
    const auto count = basis.size();
    Dense normal(count);
    Values rhs(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Values weighted = in_norm_of_m ? multiply(m, images[i]) : images[i];
      for (std::size_t j = 0; j < count; ++j) normal(i, j) = dot(weighted, images[j]);
      rhs[i] = dot(weighted, b);
    }
    const Values y = solve(normal, rhs);
    Values x(a.n, 0.0);
    for (std::size_t i = 0; i < count; ++i) x = plus(x, y[i], basis[i]);
    iterates.push_back(x);
    next = multiply(m, images.back());
  }
  return iterates;
}

Iterates bicgstab(const Dense& a, const Dense& m, const Values& b, int steps) {
  Iterates iterates;
  Values x(a.n, 0.0), r = b, p(a.n, 0.0), v(a.n, 0.0);
  const Values shadow = r;
  double rho = 1, alpha = 1, omega = 1;
  for (int k = 0; k < steps; ++k) {
    const double next = dot(shadow, r);
    const double beta = next / rho * (alpha / omega);
    rho = next;
    p = plus(r, beta, plus(p, -omega, v));
    const Values y = multiply(m, p);
    v = multiply(a, y);
    alpha = rho / dot(shadow, v);
    const Values s = plus(r, -alpha, v), z = multiply(m, s), t = multiply(a, z);
    omega = dot(t, s) / dot(t, t);
    x = plus(plus(x, alpha, y), omega, z);
    r = plus(s, -omega, t);
    iterates.push_back(x);
  }
  return iterates;
}

Iterates richardson(const Dense& a, const Dense& m, const Values& b, int steps) {
  Iterates iterates;
  Values x(a.n, 0.0);
  for (int k = 0; k < steps; ++k) {
    x = plus(x, 1, multiply(m, plus(b, -1, multiply(a, x))));
    iterates.push_back(x);
  }
  return iterates;
}

}  // namespace reference
