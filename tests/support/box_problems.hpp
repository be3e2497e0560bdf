#pragma once

// Problems in a box for tests of its multigrid: widths by name, K by cells by name, and the solve that published counts are of.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/multigrid/box_multigrid.hpp>
#include <stratum/solvers/krylov/cg.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

#include "backends.hpp"
#include "random.hpp"

namespace test {

/// Thin cells at the first end.
struct Widths {
  /// Geometric, the thinnest `ratio` of the whole.
  static std::vector<double> geometric(int n, double ratio) {
    double low = 1, high = 1e6;
    const auto first = [n](double growth) {
      double sum = 0, width = 1;
      for (int i = 0; i < n; ++i, width *= growth) sum += width;
      return 1 / sum;
    };
    for (int step = 0; step < 200; ++step) (first(std::sqrt(low * high)) > ratio ? low : high) = std::sqrt(low * high);
    std::vector<double> widths;
    for (int i = 0; i < n; ++i) widths.push_back(std::pow(low, i) * ratio);
    return widths;
  }
  /// By bisection: the thinnest into nu / 2 and the rest, the others into halves.
  static std::vector<double> bisected(int n, double nu) {
    std::vector<double> widths{1};
    while (static_cast<int>(widths.size()) < n) {
      std::vector<double> finer{nu / 2 * widths[0], (1 - nu / 2) * widths[0]};
      for (std::size_t i = 1; i < widths.size(); ++i) finer.insert(finer.end(), 2, widths[i] / 2);
      widths = finer;
    }
    return widths;
  }
  static std::vector<double> uniform(int n, double length = 1) { return std::vector<double>(n, length / n); }
  /// Half of the cells in the first `part`.
  static std::vector<double> shishkin(int n, double part) {
    std::vector<double> widths(n, part * 2 / n);
    std::fill(widths.begin() + n / 2, widths.end(), (1 - part) / (n - n / 2));
    return widths;
  }
  static std::vector<double> lognormal(int n, double sigma) {
    std::mt19937 engine(7 + static_cast<unsigned>(n));
    std::normal_distribution<double> normal;
    std::vector<double> widths;
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += widths.emplace_back(std::exp(sigma * normal(engine)));
    for (double& w : widths) w /= sum;
    return widths;
  }
  /// u uniform, g geometric to 1e-6, h to 1e-3, a and b by bisection with nu 0.25 and 0.0625, s, l; c 100 times as short
  static std::vector<double> named(char name, int n) {
    switch (name) {
      case 'g': return geometric(n, 1e-6);
      case 'h': return geometric(n, 1e-3);
      case 'a': return bisected(n, 0.25);
      case 'b': return bisected(n, 0.0625);
      case 's': return shishkin(n, 1e-3);
      case 'l': return lognormal(n, 2);
      case 'c': return uniform(n, 0.01);
      default: return uniform(n);
    }
  }
};

struct BoxProblem {
  std::array<std::vector<double>, 3> widths;
  std::array<std::string, 3> ends{"DD", "DD", "DD"};  // of each direction: D, N, R (alpha 1), or PP
  std::vector<double> k{}, kyy{}, kzz{};              // of cells, x fastest; empty: 1
  double reaction = 0;
  double alpha = 1;

  /// "ugg": widths by name, of `cells` intervals; ends alike.
  static BoxProblem named(std::string_view names, std::array<int, 3> cells, const std::string& ends = "DD") {
    BoxProblem p;
    for (std::size_t d = 0; d < 3; ++d) p.widths[d] = Widths::named(names[d], cells[d]);
    p.ends = {ends, ends, ends};
    return p;
  }
  [[nodiscard]] bool periodic(std::size_t d) const { return ends[d] == "PP"; }
  [[nodiscard]] int cells(std::size_t d) const { return static_cast<int>(widths[d].size()); }
  [[nodiscard]] bool singular() const {
    for (const auto& e : ends)
      if (e.find('D') != std::string::npos || e.find('R') != std::string::npos) return false;
    return reaction == 0;
  }

  [[nodiscard]] stratum::AxisFactors factors(std::size_t d) const {
    stratum::AxisFactors f;
    f.periodic = periodic(d);
    const auto put = [&](double k_of, double m) {
      f.k.push_back(k_of);
      f.m.push_back(m);
    };
    const auto end = [&](char kind) {
      if (kind == 'N') put(0, 0);
      if (kind == 'R') put(alpha, 0);
    };
    if (f.periodic) put(1 / widths[d].back(), widths[d].back() / 6);
    end(ends[d][0]);
    for (const double h : widths[d]) put(1 / h, h / 6);
    end(ends[d][1]);
    return f;
  }
  /// Cell i of an axis' intervals: of the mesh, or -1 outside.
  [[nodiscard]] int cell(std::size_t d, int interval) const {
    if (periodic(d)) return (interval + cells(d) - 1) % cells(d);
    const int i = interval - (ends[d][0] == 'D' ? 0 : 1);
    return i >= 0 && i < cells(d) ? i : -1;
  }
  [[nodiscard]] stratum::BoxCoefficients coefficients() const {
    stratum::BoxCoefficients c;
    for (std::size_t d = 0; d < 3; ++d) c.axes[d] = factors(d);
    c.reaction = reaction;
    const auto spread = [&](const std::vector<double>& of_cells) {
      std::vector<double> all;
      if (of_cells.empty() && !k.empty()) return all;
      const auto n = [&](std::size_t d) { return static_cast<int>(c.axes[d].k.size()); };
      for (int l = 0; l < n(2); ++l)
        for (int j = 0; j < n(1); ++j)
          for (int i = 0; i < n(0); ++i) {
            const int x = cell(0, i), y = cell(1, j), z = cell(2, l);
            const bool inside = x >= 0 && y >= 0 && z >= 0;
            all.push_back(inside && !of_cells.empty()
                              ? of_cells[(static_cast<std::size_t>(z) * widths[1].size() + y) * widths[0].size() + x]
                              : 1.0);
          }
      return all;
    };
    c.xx = spread(k);
    c.yy = spread(kyy);
    c.zz = spread(kzz);
    return c;
  }
  [[nodiscard]] bool scalar() const { return kyy.empty(); }
  [[nodiscard]] std::array<stratum::GatedAxis, 3> gate_axes() const {
    std::array<stratum::GatedAxis, 3> axes;
    for (std::size_t d = 0; d < 3; ++d)
      axes[d] = {widths[d], ends[d][0] == 'N' || ends[d][0] == 'R', ends[d][1] == 'N' || ends[d][1] == 'R',
                 periodic(d)};
    return axes;
  }
};

/// K by cells, places counted in cells so that layers see jumps, too.
struct CellK {
  static std::vector<double> of(const BoxProblem& p, const auto& value) {
    std::vector<double> k;
    const int nx = p.cells(0), ny = p.cells(1), nz = p.cells(2);
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) k.push_back(value((x + .5) / nx, (y + .5) / ny, (z + .5) / nz));
    return k;
  }
  static std::vector<double> checkerboard(const BoxProblem& p, int blocks, double contrast) {
    return of(p, [=](double x, double y, double z) {
      const int sum = static_cast<int>(x * blocks) + static_cast<int>(y * blocks) + static_cast<int>(z * blocks);
      return sum % 2 == 1 ? contrast : 1.0;
    });
  }
  static std::vector<double> spheres(const BoxProblem& p, int count, double inside) {
    std::mt19937 engine(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<std::array<double, 4>> balls;
    for (int b = 0; b < count; ++b) {
      std::array<double, 4> ball{};
      for (int d = 0; d < 3; ++d) ball[static_cast<std::size_t>(d)] = uniform(engine);
      ball[3] = .03 + .07 * uniform(engine);
      balls.push_back(ball);
    }
    return of(p, [&](double x, double y, double z) {
      for (const auto& [a, b, c, r] : balls)
        if ((x - a) * (x - a) + (y - b) * (y - b) + (z - c) * (z - c) < r * r) return inside;
      return 1.0;
    });
  }
  static std::vector<double> lognormal(const BoxProblem& p, double sigma) {
    std::mt19937 engine(5);
    std::normal_distribution<double> normal;
    return of(p, [&](double, double, double) { return std::exp(sigma * normal(engine)); });
  }
  static std::vector<double> channels(const BoxProblem& p, double inside) {
    return of(p, [=](double x, double y, double z) {
      const bool first = std::abs(y - .3) < .03 && std::abs(z - .4) < .03;
      const bool second = std::abs(x - .6) < .03 && std::abs(z - .7) < .03;
      return first || second ? inside : 1.0;
    });
  }
};

/// A dense matrix of long double.
class DenseMatrix {
 public:
  DenseMatrix(std::size_t rows, std::size_t columns) : columns_(columns), numbers_(rows * columns, 0) {}
  [[nodiscard]] long double& operator()(std::size_t i, std::size_t j) { return numbers_[i * columns_ + j]; }
  [[nodiscard]] long double operator()(std::size_t i, std::size_t j) const { return numbers_[i * columns_ + j]; }
  [[nodiscard]] std::size_t rows() const { return numbers_.size() / columns_; }
  [[nodiscard]] std::size_t columns() const { return columns_; }
  /// Row behind row.
  [[nodiscard]] const std::vector<long double>& numbers() const { return numbers_; }

 private:
  std::size_t columns_;
  std::vector<long double> numbers_;
};

/// The problem's matrix, assembled by itself: cell by cell by Gauss points, Robin faces likewise; Dirichlet nodes left out.
inline DenseMatrix assembled(const BoxProblem& p) {
  using Number = long double;
  std::array<int, 3> n{}, unknowns{}, first{};
  for (std::size_t d = 0; d < 3; ++d) {
    n[d] = p.cells(d);
    first[d] = !p.periodic(d) && p.ends[d][0] == 'D' ? 1 : 0;
    unknowns[d] = p.periodic(d) ? n[d] : n[d] + 1 - first[d] - (p.ends[d][1] == 'D' ? 1 : 0);
  }
  const auto number = [&](const std::array<int, 3>& node) {
    int result = 0;
    for (std::size_t d = 3; d-- > 0;) {
      const int i = p.periodic(d) ? node[d] % n[d] : node[d] - first[d];
      if (i < 0 || i >= unknowns[d]) return -1;
      result = result * unknowns[d] + i;
    }
    return result;
  };
  const auto size = static_cast<std::size_t>(unknowns[0]) * unknowns[1] * unknowns[2];
  DenseMatrix a(size, size);
  const std::array<Number, 2> points{(1 - 1 / std::sqrt(Number(3))) / 2, (1 + 1 / std::sqrt(Number(3))) / 2};
  const auto hat = [](int corner, Number t) { return corner == 1 ? t : 1 - t; };
  for (int z = 0; z < n[2]; ++z)
    for (int y = 0; y < n[1]; ++y)
      for (int x = 0; x < n[0]; ++x) {
        const std::array<int, 3> cell{x, y, z};
        const std::size_t at = (static_cast<std::size_t>(z) * n[1] + y) * n[0] + x;
        std::array<Number, 3> h{}, k{};
        for (std::size_t d = 0; d < 3; ++d) h[d] = p.widths[d][static_cast<std::size_t>(cell[d])];
        k[0] = p.k.empty() ? 1 : p.k[at];
        k[1] = p.kyy.empty() ? k[0] : p.kyy[at];
        k[2] = p.kzz.empty() ? k[0] : p.kzz[at];
        for (int r = 0; r < 8; ++r)
          for (int s = 0; s < 8; ++s) {
            std::array<int, 3> of_r = cell, of_s = cell;
            for (std::size_t d = 0; d < 3; ++d) of_r[d] += r >> d & 1, of_s[d] += s >> d & 1;
            const int row = number(of_r), column = number(of_s);
            if (row < 0 || column < 0) continue;
            Number sum = 0;
            for (int point = 0; point < 8; ++point) {
              std::array<Number, 3> t{};
              for (std::size_t d = 0; d < 3; ++d) t[d] = points[static_cast<std::size_t>(point >> d & 1)];
              Number mass = p.reaction;
              for (std::size_t d = 0; d < 3; ++d) mass *= hat(r >> d & 1, t[d]) * hat(s >> d & 1, t[d]);
              sum += mass;
              for (std::size_t d = 0; d < 3; ++d) {
                Number slope = k[d] / (h[d] * h[d]) * ((r >> d & 1) == (s >> d & 1) ? 1 : -1);
                for (std::size_t e = 0; e < 3; ++e)
                  if (e != d) slope *= hat(r >> e & 1, t[e]) * hat(s >> e & 1, t[e]);
                sum += slope;
              }
            }
            a(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) += sum * h[0] * h[1] * h[2] / 8;
          }
      }
  for (std::size_t d = 0; d < 3; ++d)
    for (int end = 0; end < 2; ++end) {
      if (p.ends[d][static_cast<std::size_t>(end)] != 'R') continue;
      const std::size_t e = (d + 1) % 3, f = (d + 2) % 3;
      for (int v = 0; v < n[f]; ++v)
        for (int u = 0; u < n[e]; ++u)
          for (int r = 0; r < 4; ++r)
            for (int s = 0; s < 4; ++s) {
              std::array<int, 3> of_r{}, of_s{};
              of_r[d] = of_s[d] = end * n[d];
              of_r[e] = u + (r & 1), of_r[f] = v + (r >> 1), of_s[e] = u + (s & 1), of_s[f] = v + (s >> 1);
              const int row = number(of_r), column = number(of_s);
              if (row < 0 || column < 0) continue;
              Number mass =
                  p.alpha * p.widths[e][static_cast<std::size_t>(u)] * p.widths[f][static_cast<std::size_t>(v)];
              mass /= (r & 1) == (s & 1) ? 3 : 6;
              mass /= (r >> 1) == (s >> 1) ? 3 : 6;
              a(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) += mass;
            }
    }
  return a;
}

/// Of random widths over `decades`, K by cells, ends and c; number by number other kinds.
inline BoxProblem random_box(Random& random, int number, double decades = 1.5) {
  static const std::vector<std::string> kinds{"DD", "ND", "DN", "NN", "RD", "NR", "PP", "RR"};
  BoxProblem p;
  std::size_t cells = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    p.ends[d] = kinds[static_cast<std::size_t>(random.uniform(0, static_cast<double>(kinds.size()) - .01))];
    const int n = 3 + static_cast<int>(random.uniform(0, 3.9));
    p.widths[d] = random.widths(n, decades);
    cells *= static_cast<std::size_t>(n);
  }
  const auto of_cells = [&] {
    auto k = random.values(cells, -1, 1);
    for (double& v : k) v = std::pow(10, 2 * v);
    return k;
  };
  if (number % 4 != 3) p.k = of_cells();
  if (number % 2 == 1 && !p.k.empty()) p.kyy = of_cells(), p.kzz = of_cells();
  if (number % 3 == 1) p.reaction = random.uniform(0.1, 100);
  p.alpha = random.uniform(0.5, 20);
  return p;
}

/// With ghosts, of numbers of the unknowns.
template <class T>
stratum::Field<T, 3> box_field(Context& ctx, const stratum::BoxShape& shape, const std::vector<double>& numbers,
                               int ghosts = 1) {
  stratum::Field<T, 3> field(ctx, shape.layout(ghosts));
  const std::vector<T> converted(numbers.begin(), numbers.end());
  stratum::copy_from_host<T>(ctx, converted.data(), field.view());
  if (ghosts == 1) stratum::fill_periodic_ghosts(ctx, shape.periodic, field.view());
  return field;
}
template <class T>
std::vector<double> numbers_of(Context& ctx, stratum::FieldView<const T, 3> field) {
  std::vector<T> numbers(static_cast<std::size_t>(field.nodes()));
  stratum::copy_to_host<T>(ctx, field, numbers.data());
  return {numbers.begin(), numbers.end()};
}

struct BoxRun {
  stratum::SolveReport report;
  double nodes = 0;  // of all levels
  std::size_t levels = 0;
};

/// Conjugate gradients to 1e-8 for a load of random f, the cycle in T.
template <class T = double>
BoxRun solve_box(stratum::Context& ctx, const BoxProblem& p, int most = 60) {
  using namespace stratum;
  const BoxCoefficients c = p.coefficients();
  const BoxMatrix<double> a(BoxCells<double>(ctx, c, p.scalar()));
  const auto cycle =
      std::make_shared<BoxMultigrid<T>>(ctx, a, p.gate_axes(), BoxMultigridParams{.singular = p.singular()});
  const BoxLinearOperator<double> op(ctx, a);
  const BoxShape shape = a.shape();
  std::mt19937 engine(1);
  std::uniform_real_distribution<double> uniform(.5, 1.5);
  std::vector<double> load;
  const auto& [nx, ny, nz] = shape.n;
  for (int k = 0; k < nz; ++k)
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i) {
        const auto width = [&](std::size_t d, int n) { return 3 * (c.axes[d].m[n] + c.axes[d].m[n + 1]); };
        load.push_back(uniform(engine) * width(0, i) * width(1, j) * width(2, k));
      }
  if (p.singular()) {
    double mean = 0;
    for (const double v : load) mean += v / static_cast<double>(load.size());
    for (double& v : load) v -= mean;
  }
  Field<double> b(ctx, rows_of(shape)), x(ctx, rows_of(shape));
  copy_from_host<double>(ctx, load.data(), b.view());
  ConjugateGradients<double> cg(ctx, rows_of(shape));
  StoppingParams stop{.rtol = 1e-8, .max_iterations = most, .error_tol = std::numeric_limits<double>::infinity()};
  const auto m = [&]() -> Shared<Preconditioner<double>> {
    if constexpr (std::is_same_v<T, double>)
      return cycle;
    else
      return PrecisionCast<double, T>(ctx, rows_of(shape), cycle);
  }();
  return {cg.solve(ctx, op, *m, b.cview(), x.view(), stop), cycle->nodes(), cycle->gate().size()};
}

}  // namespace test
