// Continuous doubt: random problems, solved by poisson2d as users call it, against a serial solution in long double.
//
//     random_problems POISSON2D [COUNT [SEED]]     (random_support.hpp)
//
// A problem is a mesh (gradings, files, published families), functions, and any choice of solver, smoother, cycle and
// precision. Everything here is written from the definitions and shares nothing with the library: widths, Q1 matrices, loads by
// the 4 x 4 Gauss rule, elimination within the band. Checked on every problem:
//
//     the solution in the .vtr file has the residual that the report claims, and the error;
//     `converged` and `round-off limit` are true of it, and where ADI smooths, a converged solution is the discrete one;
//     the exit code is that of the status; where cells are graded smoothly, ADI converges.

#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <vtkRectilinearGrid.h>
#include <vtkXMLRectilinearGridReader.h>

#include "random_support.hpp"

namespace {

using namespace random_test;

// --- meshes ----------------------------------------------------------------------------------------------------------------

struct Line {
  Reals h, from_begin, from_end;
  Real length = 0;

  Line() = default;
  explicit Line(Reals widths) : h(std::move(widths)), from_begin(h.size() + 1, 0), from_end(h.size() + 1, 0) {
    for (std::size_t i = 0; i < h.size(); ++i) from_begin[i + 1] = from_begin[i] + h[i];
    for (std::size_t i = h.size(); i-- > 0;) from_end[i] = from_end[i + 1] + h[i];
    length = from_begin.back();
  }
  [[nodiscard]] int cells() const { return static_cast<int>(h.size()); }
};

/// w(k) for the k-th interval from the thin end, scaled to the length.
Line graded(Real length, int n, const std::string& side, const std::function<Real(Real k, Real reach)>& w) {
  Reals h(static_cast<std::size_t>(n));
  Real sum = 0;
  for (int i = 0; i < n; ++i) {
    const int k = side == "first" ? i : side == "last" ? n - 1 - i : std::min(i, n - 1 - i);
    h[static_cast<std::size_t>(i)] = w(k, side == "both" ? Real(n) / 2 : Real(n));
    sum += h[static_cast<std::size_t>(i)];
  }
  for (Real& width : h) width *= length / sum;
  return Line(h);
}

/// Every interval halved, but the one at the thin end, which is split nu/2 to 1 - nu/2.
Line bisected(Real length, int level, const std::string& thin, Real nu) {
  Reals h{length};
  for (int l = 0; l < level; ++l) {
    Reals finer;
    for (std::size_t i = 0; i < h.size(); ++i) {
      const bool first = thin == "first" && i == 0, last = thin == "last" && i + 1 == h.size();
      const Real left = first ? nu / 2 : last ? 1 - nu / 2 : Real(0.5);
      finer.push_back(h[i] * left);
      finer.push_back(h[i] * (1 - left));
    }
    h = finer;
  }
  return Line(h);
}

Line halved(const Line& line, int times) {
  Reals h;
  for (const Real w : line.h) h.insert(h.end(), std::size_t(1) << times, std::ldexp(w, -times));
  return Line(h);
}

// --- functions -------------------------------------------------------------------------------------------------------------

struct Point {
  Real x, y, xr, yr;
};

struct Function {
  std::string text;
  std::function<Real(const Point&)> value;
};

Function random_function(Chance& chance) {
  const auto factor = [&]() -> Function {
    const double c = chance.magnitude(0.3, 20);
    const std::string k = text_of(c);
    switch (chance.integer(0, 7)) {
      case 0: return {"x", [](const Point& p) { return p.x; }};
      case 1: return {"yr", [](const Point& p) { return p.yr; }};
      case 2: return {"(xr*y)", [](const Point& p) { return p.xr * p.y; }};
      case 3:
        return {"sin(pi*" + k + "*x/a+0.3)",
                [c](const Point& p) { return std::sin(pi * c * p.x / (p.x + p.xr) + 0.3L); }};
      case 4: return {"cos(" + k + "*y/b)", [c](const Point& p) { return std::cos(c * p.y / (p.y + p.yr)); }};
      case 5: return {"exp(-" + k + "*xr)", [c](const Point& p) { return std::exp(-c * p.xr); }};
      case 6: {  // no point of a mesh lies on the edge
        const double slope = chance.real(0.1, 2);
        return {"(y/b<" + text_of(slope) + "*x/a?1:0.5)", [slope](const Point& p) {
                  return p.y / (p.y + p.yr) < slope * p.x / (p.x + p.xr) ? Real(1) : Real(0.5);
                }};
      }
      default: return {"y^2", [](const Point& p) { return p.y * p.y; }};
    }
  };
  std::vector<Function> parts;
  std::string text;
  std::vector<double> scale;
  for (int k = chance.integer(1, 3); k > 0; --k) {
    scale.push_back(chance.magnitude(0.1, 10) * (chance.once_in(3) ? -1 : 1));
    parts.push_back(factor());
    parts.push_back(factor());
    text += (text.empty() ? "" : "+") + ("(" + text_of(scale.back()) + ")") + "*" + parts[parts.size() - 2].text + "*" +
            parts.back().text;
  }
  return {text, [=](const Point& p) {
            Real sum = 0;
            for (std::size_t k = 0; k < scale.size(); ++k)
              sum += scale[k] * parts[2 * k].value(p) * parts[2 * k + 1].value(p);
            return sum;
          }};
}

// --- one problem -----------------------------------------------------------------------------------------------------------

struct Problem {
  Line x, y;
  Function f, g, exact;
  bool has_exact = false;
  bool smooth = true;      // neighbouring cells differ by a factor of four at most
  bool dependable = true;  // its solver is made for any such mesh
  bool zero_boundary = true;
  bool tolerance_given = false;
  bool one_pass = false;  // of full multigrid: no tolerance is claimed
  std::string precision = "mixed";
  std::string arguments;

  void add(const std::string& name, const std::string& value) { arguments += " --" + name + " '" + value + "'"; }
};

std::string draw_direction(Chance& chance, const std::string& name, int cells, Real length, Line& line, bool& smooth,
                           bool& from_file) {
  const std::string side = chance.one_of<std::string>({"first", "last", "both"});
  const double n = cells;
  from_file = false;
  switch (chance.integer(0, 8)) {
    case 0:
    case 1: line = graded(length, cells, side, [](Real, Real) { return Real(1); }); return "uniform";
    case 2: {
      const double r = Chance::rounded(std::min(2.0, std::pow(10.0, chance.real(0, 12) / n)));
      line = graded(length, cells, side, [r](Real k, Real) { return std::pow(Real(r), k); });
      return "geometric:" + text_of(std::max(1.0, r)) + "," + side;
    }
    case 3: {
      const double d = chance.magnitude(0.2, 12);
      line = graded(length, cells, side, [d](Real k, Real reach) {
        return 1 / (std::cosh(d * (1 - k / reach)) * std::cosh(d * (1 - (k + 1) / reach)));
      });
      smooth = smooth && d * 2 / n < 0.6;
      return "tanh:" + text_of(d) + "," + side;
    }
    case 4:
      line = graded(length, cells, side, [](Real k, Real reach) { return std::sin(pi * (2 * k + 1) / (4 * reach)); });
      return "cosine," + side;
    case 5: {
      const int ends = side == "both" ? 2 : 1, thin = cells / (2 * ends);
      if (cells % (2 * ends) != 0 || thin == 0) {
        line = graded(length, cells, side, [](Real, Real) { return Real(1); });
        return "uniform";
      }
      const double t = Chance::rounded(static_cast<double>(length) * chance.magnitude(1e-4, 0.2) / ends);
      line = graded(length, cells, side, [=](Real k, Real) {
        return k < thin ? Real(t) / thin : (length - ends * Real(t)) / (cells - ends * thin);
      });
      smooth = false;
      return "shishkin:" + text_of(t) + "," + side;
    }
    case 6: {  // coordinates
      std::ofstream file(name + ".txt");
      Reals at{0}, h;
      file << 0;
      for (int i = 0; i < cells; ++i) {
        const double next = static_cast<double>(at.back()) + chance.magnitude(0.01, 1);
        file << (i % 7 == 0 ? "\n" : ", ") << text_of(next);
        h.push_back(next - at.back());
        at.push_back(next);
      }
      file << '\n';
      line = Line(h);
      smooth = false;
      from_file = true;
      return "file:" + name + ".txt";
    }
    default: {
      const double decades = chance.once_in(2) ? 1 : 4;
      std::ofstream file(name + ".txt");
      Reals h;
      for (int i = 0; i < cells; ++i) {
        h.push_back(chance.magnitude(std::pow(10, -decades), 1));
        file << text_of(static_cast<double>(h.back())) << " # " << i << '\n';
      }
      line = Line(h);
      smooth = false;
      from_file = true;
      return "widths:" + name + ".txt";
    }
  }
}

void draw_mesh(Chance& chance, Problem& p) {
  const auto size = [&] { return static_cast<int>(std::lround(std::exp(chance.real(std::log(2), std::log(90))))); };
  if (chance.once_in(3)) {  // bisection
    const int level = chance.integer(1, 6);
    p.add("level", std::to_string(level));
    if (chance.once_in(2)) {
      struct Published {
        std::string name;
        double a, nu;
      };
      const auto mesh = chance.one_of<Published>(
          {{"U1", 1, 1}, {"U3", 0.0625, 1}, {"A2", 1, 0.5}, {"A3", 1, 0.25}, {"A5", 1, 0.03125}});
      p.add("mesh", mesh.name);
      p.x = bisected(mesh.a, level, "last", mesh.nu);
      p.y = bisected(1, level, "first", mesh.nu);
      p.smooth = mesh.nu >= 0.25;
      return;
    }
    const double nu = chance.magnitude(0.1, 1.9), a = chance.magnitude(0.1, 10), b = chance.magnitude(0.1, 10);
    const auto thin_x = chance.one_of<std::string>({"first", "last", "none"});
    const auto thin_y = chance.one_of<std::string>({"first", "last", "none"});
    p.add("nu", text_of(nu));
    p.add("domain", text_of(a) + "," + text_of(b));
    p.add("thin", thin_x + "," + thin_y);
    p.x = bisected(a, level, thin_x, nu);
    p.y = bisected(b, level, thin_y, nu);
    p.smooth = nu >= 0.25 && nu <= 1.75;
    return;
  }
  const int nx = size(), ny = size();
  const double a = chance.magnitude(1e-3, 100), b = chance.once_in(2) ? a : chance.magnitude(1e-3, 100);
  bool file_x = false, file_y = false;
  p.add("grade-x", draw_direction(chance, "x", nx, a, p.x, p.smooth, file_x));
  p.add("grade-y", draw_direction(chance, "y", ny, b, p.y, p.smooth, file_y));
  if (!file_x || !file_y) {
    p.add("cells", (file_x ? "" : std::to_string(nx)) + "," + (file_y ? "" : std::to_string(ny)));
    p.add("domain", (file_x ? "" : text_of(a)) + "," + (file_y ? "" : text_of(b)));
  }
  if (chance.once_in(4) && nx * ny < 1600) {
    const int times = chance.integer(1, 2);
    p.add("level", std::to_string(times));
    p.x = halved(p.x, times);
    p.y = halved(p.y, times);
  }
}

void draw_functions(Chance& chance, Problem& p) {
  const Function zero{"0", [](const Point&) { return Real(0); }};
  p.g = zero;
  switch (chance.integer(0, 3)) {
    case 0:  // the default
      p.f = {"", [](const Point& q) { return 2 * (q.y * q.yr + q.x * q.xr); }};
      p.exact = {"", [](const Point& q) { return q.x * q.xr * q.y * q.yr; }};
      p.has_exact = true;
      return;
    case 1: p.f = random_function(chance); break;
    case 2:
      p.f = random_function(chance);
      p.exact = p.g = random_function(chance);
      p.zero_boundary = false;
      p.has_exact = true;
      p.add("exact", p.exact.text);
      break;
    default:
      p.f = chance.once_in(2) ? zero : random_function(chance);
      p.g = random_function(chance);
      p.zero_boundary = false;
      p.add("boundary", p.g.text);
  }
  p.add("rhs", p.f.text);
}

void draw_solver(Chance& chance, Problem& p) {
  const auto smoother =
      chance.one_of<std::string>({"adi", "adi", "adi", "auto", "colour_gs", "jacobi", "line_x", "line_y"});
  const auto solver = chance.one_of<std::string>(
      {"multigrid", "multigrid", "multigrid", "multigrid", "cg", "fcg", "cr", "gcr", "gmres", "bicgstab"});
  p.precision = chance.one_of<std::string>({"mixed", "mixed", "double", "double", "single"});
  const auto cycle = chance.one_of<std::string>({"v", "v", "v", "w", "f", p.precision == "single" ? "v" : "fmg"});
  p.add("smoother", smoother);
  p.add("solver", solver);
  p.add("cycle", cycle);
  p.add("precision", p.precision);
  p.dependable = smoother == "adi" && p.precision != "single" && solver != "bicgstab";

  if (chance.once_in(3)) p.add("sweeps", std::to_string(2 * chance.integer(1, 4)));
  if (chance.once_in(6)) {
    p.add("damping", text_of(chance.magnitude(0.4, 1.99)));
    p.dependable = false;
  }
  if (chance.once_in(6)) {
    p.add("line-order", "simultaneous");
    p.dependable = false;
  }
  if (chance.once_in(4)) p.add("operator", chance.one_of<std::string>({"tensor", "symmetric", "nine-band"}));
  if (chance.once_in(5) && p.precision == "mixed" && solver == "multigrid" && cycle != "fmg")
    p.add("inner", chance.one_of<std::string>({"cycles:2", "cycles:3", "rtol:1e-2"}));
  bool asked = false;
  if (chance.once_in(2)) {
    p.add("rtol", chance.one_of<std::string>({"1e-3", "1e-6", "1e-10", "1e-12", "1e-15"}));
    p.tolerance_given = asked = true;
  }
  if (chance.once_in(6)) p.add("reference-norm", "initial");
  if (chance.once_in(6)) {
    p.add("max-iterations", std::to_string(chance.integer(1, 30)));
    p.dependable = false;
  }
  p.one_pass = cycle == "fmg" && !asked;
  p.add("threads", std::to_string(chance.integer(1, 2)));
}

// --- the solution in long double -------------------------------------------------------------------------------------------

struct Gauss {
  Reals at, weight;
};

Gauss gauss3() {
  const Real a = std::sqrt(Real(3) / 5) / 2;
  return {{Real(0.5) - a, Real(0.5), Real(0.5) + a}, {Real(5) / 18, Real(8) / 18, Real(5) / 18}};
}

Gauss gauss4() {
  const Real root = 2 * std::sqrt(Real(6) / 5) / 7, inner = std::sqrt(Real(3) / 7 - root) / 2,
             outer = std::sqrt(Real(3) / 7 + root) / 2;
  const Real large = (18 + std::sqrt(Real(30))) / 72, small = (18 - std::sqrt(Real(30))) / 72;
  return {{Real(0.5) - outer, Real(0.5) - inner, Real(0.5) + inner, Real(0.5) + outer}, {small, large, large, small}};
}

class Reference {
 public:
  explicit Reference(const Problem& p) : p_(p), nx_(p.x.cells() - 1), ny_(p.y.cells() - 1) {
    load_.assign(unknowns(), 0);
    load_size_.assign(unknowns(), 0);
    for_each_cell(gauss4(), [&](int cell_x, int cell_y, Real s, Real t, Real weight, const Point& at) {
      const Real f = p_.f.value(at);
      for (int dy = 0; dy <= 1; ++dy)
        for (int dx = 0; dx <= 1; ++dx) {
          const int i = cell_x + dx - 1, j = cell_y + dy - 1;
          if (i < 0 || i >= nx_ || j < 0 || j >= ny_) continue;
          const Real part = weight * f * (dx == 1 ? s : 1 - s) * (dy == 1 ? t : 1 - t);
          load_[index(i, j)] += part;
          load_size_[index(i, j)] += std::abs(part);
        }
    });
  }

  [[nodiscard]] int nx() const { return nx_; }
  [[nodiscard]] int ny() const { return ny_; }
  [[nodiscard]] std::size_t unknowns() const { return static_cast<std::size_t>(nx_) * static_cast<std::size_t>(ny_); }
  [[nodiscard]] std::size_t node(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx_ + 2) + static_cast<std::size_t>(i);
  }
  [[nodiscard]] bool on_boundary(int i, int j) const { return i == 0 || i == nx_ + 1 || j == 0 || j == ny_ + 1; }
  [[nodiscard]] Point point(int i, int j) const {
    const auto k = static_cast<std::size_t>(i), l = static_cast<std::size_t>(j);
    return {p_.x.from_begin[k], p_.y.from_begin[l], p_.x.from_end[k], p_.y.from_end[l]};
  }

  /// || b - A u || for u at all nodes; `level`: || |b| + |A| |u| ||, what its rounding is measured by.
  [[nodiscard]] Real residual(const Reals& u, Real& level) const {
    Real sum = 0, sizes = 0;
    for (int j = 1; j <= ny_; ++j)
      for (int i = 1; i <= nx_; ++i) {
        Real r = load_[index(i - 1, j - 1)], size = load_size_[index(i - 1, j - 1)];
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            const Real a = entry(i, j, dx, dy), value = u[node(i + dx, j + dy)];
            r -= a * value;
            size += std::abs(a * value);
          }
        sum += r * r;
        sizes += size * size;
      }
    level = std::sqrt(sizes);
    return std::sqrt(sum);
  }

  /// Norm of the right-hand side: the residual of what is zero inside.
  [[nodiscard]] Real rhs_norm(Real& level) const { return residual(boundary_values(), level); }

  [[nodiscard]] Reals boundary_values() const {
    Reals u(static_cast<std::size_t>(nx_ + 2) * static_cast<std::size_t>(ny_ + 2), 0);
    for (int j = 0; j <= ny_ + 1; ++j)
      for (int i = 0; i <= nx_ + 1; ++i)
        if (on_boundary(i, j)) u[node(i, j)] = p_.g.value(point(i, j));
    return u;
  }

  /// By Cholesky's elimination within the band, along the shorter direction.
  [[nodiscard]] Reals solution() const {
    const bool along_x = nx_ <= ny_;
    const int inner = along_x ? nx_ : ny_, n = static_cast<int>(unknowns()), width = inner + 2;
    Reals u = boundary_values(), band(static_cast<std::size_t>(n) * static_cast<std::size_t>(width), 0),
          b(static_cast<std::size_t>(n));
    const auto at = [&](int row, int column) -> Real& {  // column <= row
      return band[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(row - column)];
    };
    const auto i_of = [&](int row) { return (along_x ? row % inner : row / inner) + 1; };
    const auto j_of = [&](int row) { return (along_x ? row / inner : row % inner) + 1; };
    for (int row = 0; row < n; ++row) {
      const int i = i_of(row), j = j_of(row);
      b[static_cast<std::size_t>(row)] = load_[index(i - 1, j - 1)];
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          const Real a = entry(i, j, dx, dy);
          const int column = row + (along_x ? dy * inner + dx : dx * inner + dy);
          if (on_boundary(i + dx, j + dy))
            b[static_cast<std::size_t>(row)] -= a * u[node(i + dx, j + dy)];
          else if (column <= row)
            at(row, column) = a;
        }
    }
    for (int row = 0; row < n; ++row) {
      const int first = std::max(0, row - width + 1);
      for (int column = first; column <= row; ++column) {
        Real sum = at(row, column);
        for (int k = std::max(first, column - width + 1); k < column; ++k) sum -= at(row, k) * at(column, k);
        at(row, column) = column == row ? std::sqrt(sum) : sum / at(column, column);
      }
      Real sum = b[static_cast<std::size_t>(row)];
      for (int k = first; k < row; ++k) sum -= at(row, k) * b[static_cast<std::size_t>(k)];
      b[static_cast<std::size_t>(row)] = sum / at(row, row);
    }
    for (int row = n; row-- > 0;) {
      Real sum = b[static_cast<std::size_t>(row)];
      for (int k = row + 1; k < std::min(n, row + width); ++k) sum -= at(k, row) * b[static_cast<std::size_t>(k)];
      b[static_cast<std::size_t>(row)] = sum / at(row, row);
      u[node(i_of(row), j_of(row))] = b[static_cast<std::size_t>(row)];
    }
    return u;
  }

  /// || u_h - u || / || u || in L2 by the 3 x 3 Gauss rule.
  [[nodiscard]] Real error(const Reals& u) const {
    Real difference = 0, size = 0;
    for_each_cell(gauss3(), [&](int i, int j, Real s, Real t, Real weight, const Point& at) {
      const Real exact = p_.exact.value(at);
      const Real value = (1 - t) * ((1 - s) * u[node(i, j)] + s * u[node(i + 1, j)]) +
                         t * ((1 - s) * u[node(i, j + 1)] + s * u[node(i + 1, j + 1)]);
      difference += weight * (value - exact) * (value - exact);
      size += weight * exact * exact;
    });
    return std::sqrt(difference) / (size > 0 ? std::sqrt(size) : 1);
  }

 private:
  [[nodiscard]] std::size_t index(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx_) + static_cast<std::size_t>(i);
  }

  /// A between node (i, j) and (i + dx, j + dy), nodes counted from the side.
  [[nodiscard]] Real entry(int i, int j, int dx, int dy) const {
    const auto stiffness = [](const Line& line, int k, int d) {
      const Real left = line.h[static_cast<std::size_t>(k) - 1], right = line.h[static_cast<std::size_t>(k)];
      return d == 0 ? 1 / left + 1 / right : -1 / (d < 0 ? left : right);
    };
    const auto mass = [](const Line& line, int k, int d) {
      const Real left = line.h[static_cast<std::size_t>(k) - 1], right = line.h[static_cast<std::size_t>(k)];
      return d == 0 ? (left + right) / 3 : (d < 0 ? left : right) / 6;
    };
    return stiffness(p_.x, i, dx) * mass(p_.y, j, dy) + mass(p_.x, i, dx) * stiffness(p_.y, j, dy);
  }

  template <class Body>
  void for_each_cell(const Gauss& rule, const Body& body) const {
    for (int j = 0; j < p_.y.cells(); ++j)
      for (int i = 0; i < p_.x.cells(); ++i)
        for (std::size_t l = 0; l < rule.at.size(); ++l)
          for (std::size_t k = 0; k < rule.at.size(); ++k) {
            const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
            const Real s = rule.at[k], t = rule.at[l], hx = p_.x.h[a], hy = p_.y.h[b];
            body(i, j, s, t, rule.weight[k] * rule.weight[l] * hx * hy,
                 Point{p_.x.from_begin[a] + s * hx, p_.y.from_begin[b] + t * hy, p_.x.from_end[a + 1] + (1 - s) * hx,
                       p_.y.from_end[b + 1] + (1 - t) * hy});
          }
  }

  const Problem& p_;
  int nx_, ny_;
  Reals load_, load_size_;
};

// --- what the program wrote ------------------------------------------------------------------------------------------------

std::string numbers(Real a, Real b) {
  return text_of(static_cast<double>(a)) + " and " + text_of(static_cast<double>(b));
}

std::vector<std::string> judge(const Problem& p, int code, std::string& status) {
  Complaints complaints;
  const std::string json = whole_file("report.json");
  status = field(json, "status");
  const std::map<std::string, int> codes{{"converged", 0},       {"round-off limit", p.tolerance_given ? 2 : 0},
                                         {"stagnated", 2},       {"max iterations", 2},
                                         {"diverged", 3},        {"breakdown", 3},
                                         {"non-finite input", 3}};
  if (codes.count(status) == 0) {
    complaints.check(false,
                     "exit code " + std::to_string(code) + ", status '" + status + "': " + whole_file("errors.txt"));
    return complaints.list();
  }
  const bool good = status == "converged" || status == "round-off limit";
  complaints.check(code == (p.precision == "single" && status == "round-off limit" ? code : codes.at(status)),
                   "exit code " + std::to_string(code) + " for " + status);
  complaints.check(good || !p.dependable || !p.smooth, "ADI ends with " + status);
  if (code == 3) return complaints.list();

  const Reference reference(p);
  const Reals u = read_nodes<vtkXMLRectilinearGridReader>("u.vtr", "solution", reference.boundary_values().size());
  if (u.empty()) {
    complaints.check(false, "no solution in the .vtr file");
    return complaints.list();
  }
  const Real eps = std::numeric_limits<double>::epsilon();
  Real level = 0;
  const Real residual = reference.residual(u, level), claimed = std::stold(field(json, "residual"));
  complaints.check(std::abs(claimed - residual) <= 1e-6L * residual + 100 * eps * level,
                   "residual claimed and true: " + numbers(claimed, residual) + " at a rounding level of " +
                       text_of(static_cast<double>(eps * level)));
  const Real own_eps = p.precision == "single" ? std::numeric_limits<float>::epsilon() : eps;
  if (status == "round-off limit")
    complaints.check(residual <= 64 * own_eps * level,
                     "residual and rounding level: " + numbers(residual, own_eps * level));
  if (status == "converged" && !p.one_pass) {
    const Real bound = std::stold(field(json, "rtol")) * std::stold(field(json, "reference_norm_value"));
    complaints.check(residual <= 1.001L * bound + 100 * eps * level, "residual and bound: " + numbers(residual, bound));
    if (field(json, "reference_norm") == "rhs") {
      const Real norm = std::stold(field(json, "reference_norm_value")), expected = reference.rhs_norm(level);
      complaints.check(std::abs(norm - expected) <= 100 * own_eps * level,
                       "norms of the right-hand side: " + numbers(norm, expected));
    }
  }
  if (p.has_exact) {
    const Real error = reference.error(u), stated = std::stold(field(json, "relative_l2_error"));
    complaints.check(std::abs(stated - error) <= 1e-8L * error + 1e-14L,
                     "error stated and true: " + numbers(stated, error));
  }
  // Boundary values beside thin cells make ||b|| so large that smooth errors hide below 1e-8 of it.
  if (status == "converged" && !p.one_pass && p.dependable && (p.zero_boundary || p.smooth) &&
      std::stold(field(json, "rtol")) < 1e-7L) {
    const Reals solution = reference.solution();
    Real difference = 0, size = 0;
    for (std::size_t k = 0; k < u.size(); ++k) {
      difference = std::max(difference, std::abs(u[k] - solution[k]));
      size = std::max(size, std::abs(solution[k]));
    }
    complaints.check(difference <= 1e-4L * size,
                     "largest difference and size of the solution: " + numbers(difference, size));
  }
  return complaints.list();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: random_problems POISSON2D [COUNT [SEED]]\n";
    return 1;
  }
  const std::string program = argv[1];
  return run_problems({argv + 2, argv + argc}, 300, [&program](Chance& chance) {
    Problem p;
    draw_mesh(chance, p);
    draw_functions(chance, p);
    draw_solver(chance, p);
    const std::string command = program + p.arguments + " --backend cpu --vtk u.vtr --report report.json --quiet";
    std::remove("u.vtr");
    std::remove("report.json");
    const int code = run_command(command);
    std::string status;
    auto complaints = judge(p, code, status);
    return Verdict{command, status, std::move(complaints)};
  });
}
