#pragma once

// The Q1 equations of a problem in a box, assembled independently: cell by cell with an element matrix by quadrature (3 x 3 x 3
// points), face by face, into a dense matrix in long double, and solved by elimination with pivots. Of small boxes.

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <stratum/assembly/poisson_problem_3d.hpp>

#include "reference/elimination.hpp"

namespace test {

class DenseBox {
 public:
  using Number = long double;
  using Numbers = std::vector<Number>;

  DenseBox(const stratum::TensorMesh<3>& mesh, const stratum::PoissonProblem3D& problem)
      : mesh_(mesh), problem_(problem) {
    for (int d = 0; d < 3; ++d) {
      n_[d] = mesh.axis(d).size();
      periodic_[d] =
          problem.boundaries.faces[static_cast<std::size_t>(2 * d)].kind == stratum::BoundaryConditionType::periodic;
    }
    const std::size_t count = size();
    matrix_.assign(count * count, 0);
    load_.assign(count, 0);
    dirichlet_.assign(count, false);
    values_.assign(count, 0);
    assemble_cells();
    assemble_faces();
  }

  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(n_[0] + 1) * static_cast<std::size_t>(n_[1] + 1) *
           static_cast<std::size_t>(n_[2] + 1);
  }
  /// Of a node, those of periodic faces the same.
  [[nodiscard]] std::size_t number(int i, int j, int k) const {
    if (periodic_[0]) i %= n_[0];
    if (periodic_[1]) j %= n_[1];
    if (periodic_[2]) k %= n_[2];
    return (static_cast<std::size_t>(k) * static_cast<std::size_t>(n_[1] + 1) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(n_[0] + 1) +
           static_cast<std::size_t>(i);
  }

  /// At all nodes, x fastest. `singular`: with a zero integral, of loads less their mean.
  [[nodiscard]] std::vector<double> solve(bool singular = false) {
    std::vector<std::size_t> unknowns;
    std::vector<bool> used(size(), false);
    each_node([&](int i, int j, int k) {
      const std::size_t n = number(i, j, k);
      if (used[n] || dirichlet_[n]) return;
      used[n] = true;
      unknowns.push_back(n);
    });
    const std::size_t m = unknowns.size(), all = m + (singular ? 1 : 0);
    std::vector<Numbers> a(all, Numbers(all, 0));
    Numbers b(all, 0);
    for (std::size_t p = 0; p < m; ++p) {
      for (std::size_t q = 0; q < m; ++q) a[p][q] = matrix_[unknowns[p] * size() + unknowns[q]];
      b[p] = load_[unknowns[p]];
      for (std::size_t q = 0; q < size(); ++q)
        if (dirichlet_[q]) b[p] -= matrix_[unknowns[p] * size() + q] * values_[q];
      if (singular) a[p][m] = a[m][p] = mean_[unknowns[p]];
    }
    const Numbers x = reference::eliminated(std::move(a), std::move(b));
    std::vector<double> nodal(size(), 0.0);
    Numbers of_number(values_);
    for (std::size_t p = 0; p < m; ++p) of_number[unknowns[p]] = x[p];
    std::size_t next = 0;
    each_node([&](int i, int j, int k) { nodal[next++] = static_cast<double>(of_number[number(i, j, k)]); });
    return nodal;
  }

 private:
  struct Quadrature {
    Number t, weight;
  };
  static std::array<Quadrature, 3> rule3() {
    const Number d = std::sqrt(Number(3) / 5) / 2;
    return {{{0.5L - d, 5.0L / 18}, {0.5L, 8.0L / 18}, {0.5L + d, 5.0L / 18}}};
  }
  /// Loads need what the library takes: a rule of four points.
  static std::array<Quadrature, 4> rule4() {
    const Number r = std::sqrt(Number(6) / 5) * 2 / 7, a = std::sqrt(Number(3) / 7 - r) / 2,
                 b = std::sqrt(Number(3) / 7 + r) / 2;
    const Number wa = (18 + std::sqrt(Number(30))) / 72, wb = (18 - std::sqrt(Number(30))) / 72;
    return {{{0.5L - b, wb}, {0.5L - a, wa}, {0.5L + a, wa}, {0.5L + b, wb}}};
  }
  template <class F>
  void each_node(const F& f) const {
    for (int k = 0; k <= n_[2]; ++k)
      for (int j = 0; j <= n_[1]; ++j)
        for (int i = 0; i <= n_[0]; ++i) f(i, j, k);
  }
  [[nodiscard]] Number width(int d, int i) const { return mesh_.axis(d).widths()[static_cast<std::size_t>(i)]; }
  [[nodiscard]] stratum::Point3D point(const std::array<int, 3>& cell, const std::array<Number, 3>& t) const {
    std::array<double, 3> begin{}, end{}, at{};
    for (int d = 0; d < 3; ++d) {
      const auto& axis = mesh_.axis(d);
      begin[d] = axis.from_begin()[static_cast<std::size_t>(cell[d])] + static_cast<double>(t[d] * width(d, cell[d]));
      end[d] =
          axis.from_end()[static_cast<std::size_t>(cell[d]) + 1] + static_cast<double>((1 - t[d]) * width(d, cell[d]));
      at[d] = axis.origin() + begin[d];
    }
    return {at[0], at[1], at[2], end[0], end[1], end[2], begin[0], begin[1], begin[2]};
  }

  void assemble_cells() {
    mean_.assign(size(), 0);
    const auto& k_of = problem_.diffusion;
    const stratum::ScalarFunction3D f = stratum::rhs_function(problem_);
    for (int ck = 0; ck < n_[2]; ++ck)
      for (int cj = 0; cj < n_[1]; ++cj)
        for (int ci = 0; ci < n_[0]; ++ci) {
          const std::array<int, 3> cell{ci, cj, ck};
          const stratum::Point3D centre = point(cell, {0.5L, 0.5L, 0.5L});
          const Number kx = k_of.xx ? k_of.xx(centre) : 1, ky = k_of.yy ? k_of.yy(centre) : kx,
                       kz = k_of.zz ? k_of.zz(centre) : kx;
          const std::array<Number, 3> h{width(0, ci), width(1, cj), width(2, ck)}, k{kx, ky, kz};
          std::array<std::size_t, 8> corner{};
          for (int a = 0; a < 8; ++a)
            corner[static_cast<std::size_t>(a)] = number(ci + (a & 1), cj + (a >> 1 & 1), ck + (a >> 2));
          const auto hat = [](int a, int d, Number t) { return (a >> d & 1) != 0 ? t : 1 - t; };
          const auto value = [&](int a, const std::array<Number, 3>& t) {
            return hat(a, 0, t[0]) * hat(a, 1, t[1]) * hat(a, 2, t[2]);
          };
          const auto slope = [&](int a, int d, const std::array<Number, 3>& t) {
            Number product = ((a >> d & 1) != 0 ? 1 : -1) / h[d];
            for (int e = 0; e < 3; ++e)
              if (e != d) product *= hat(a, e, t[e]);
            return product;
          };
          const Number volume = h[0] * h[1] * h[2];
          for (const auto& [r, wr] : rule3())
            for (const auto& [s, ws] : rule3())
              for (const auto& [t, wt] : rule3()) {
                const std::array<Number, 3> at{t, s, r};
                for (int a = 0; a < 8; ++a)
                  for (int b = 0; b < 8; ++b) {
                    Number sum = problem_.reaction * value(a, at) * value(b, at);
                    for (int d = 0; d < 3; ++d) sum += k[d] * slope(a, d, at) * slope(b, d, at);
                    matrix_[corner[static_cast<std::size_t>(a)] * size() + corner[static_cast<std::size_t>(b)]] +=
                        wr * ws * wt * volume * sum;
                  }
              }
          for (const auto& [r, wr] : rule4())
            for (const auto& [s, ws] : rule4())
              for (const auto& [t, wt] : rule4()) {
                const std::array<Number, 3> at{t, s, r};
                const Number of_f = f(point(cell, at));
                for (int a = 0; a < 8; ++a) {
                  load_[corner[static_cast<std::size_t>(a)]] += wr * ws * wt * volume * of_f * value(a, at);
                  mean_[corner[static_cast<std::size_t>(a)]] += wr * ws * wt * volume * value(a, at);
                }
              }
        }
  }

  void assemble_faces() {
    using Kind = stratum::BoundaryConditionType;
    const stratum::ScalarFunction3D g = stratum::boundary_function(problem_);
    for (int face = 5; face >= 0; --face) {  // the first faces have the last word
      const auto& condition = problem_.boundaries.faces[static_cast<std::size_t>(face)];
      const int d = face / 2, e = (d + 1) % 3, f = (d + 2) % 3, end = face % 2;
      if (condition.kind == Kind::periodic) continue;
      if (condition.kind == Kind::dirichlet) {
        each_node([&](int i, int j, int k) {
          const std::array<int, 3> n{i, j, k};
          if (n[d] != end * n_[d]) return;
          // A node as the corner of a cell, the first one of a periodic direction.
          std::array<int, 3> cell{};
          std::array<Number, 3> t{};
          for (int c = 0; c < 3; ++c) {
            const int node = periodic_[c] ? n[c] % n_[c] : n[c];
            cell[c] = node == n_[c] ? node - 1 : node;
            t[c] = node == n_[c] ? 1 : 0;
          }
          const std::size_t at = number(i, j, k);
          dirichlet_[at] = true;
          values_[at] = (condition.value ? condition.value : g)(point(cell, t));
        });
        continue;
      }
      for (int q = 0; q < n_[f]; ++q)
        for (int p = 0; p < n_[e]; ++p) {
          std::array<int, 3> cell{};
          cell[d] = end == 0 ? 0 : n_[d] - 1;
          cell[e] = p;
          cell[f] = q;
          const Number area = width(e, p) * width(f, q);
          for (const auto& [s, ws] : rule4())
            for (const auto& [t, wt] : rule4()) {
              std::array<Number, 3> at{};
              at[d] = end;
              at[e] = t;
              at[f] = s;
              const stratum::Point3D where = point(cell, at);
              const Number value = condition.value ? condition.value(where) : 0;
              const Number alpha = condition.kind == Kind::robin ? condition.alpha(where) : 0;
              for (int a = 0; a < 4; ++a) {
                std::array<int, 3> na = cell;
                na[d] += end;
                na[e] += a & 1;
                na[f] += a >> 1;
                const Number phi_a = ((a & 1) != 0 ? t : 1 - t) * ((a >> 1) != 0 ? s : 1 - s);
                const std::size_t row = number(na[0], na[1], na[2]);
                load_[row] += ws * wt * area * value * phi_a;
                for (int b = 0; b < 4; ++b) {
                  std::array<int, 3> nb = cell;
                  nb[d] += end;
                  nb[e] += b & 1;
                  nb[f] += b >> 1;
                  const Number phi_b = ((b & 1) != 0 ? t : 1 - t) * ((b >> 1) != 0 ? s : 1 - s);
                  matrix_[row * size() + number(nb[0], nb[1], nb[2])] += ws * wt * area * alpha * phi_a * phi_b;
                }
              }
            }
        }
    }
  }

  const stratum::TensorMesh<3>& mesh_;
  const stratum::PoissonProblem3D& problem_;
  std::array<int, 3> n_{};
  std::array<bool, 3> periodic_{};
  Numbers matrix_, load_, values_, mean_;
  std::vector<bool> dirichlet_;
};

}  // namespace test
