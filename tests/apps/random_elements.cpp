// Problems with elements (random_systems.cpp): mixtures of boundary conditions, K and c by regions, tensors, deformed meshes,
// steps in time.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <vtkRectilinearGrid.h>
#include <vtkStructuredGrid.h>
#include <vtkXMLRectilinearGridReader.h>
#include <vtkXMLStructuredGridReader.h>

#include "random_systems.hpp"

namespace random_test {

namespace {

struct Side {
  char kind = 'D';  // dirichlet, neumann, robin, periodic
  double alpha = 0, value = 0;
};

struct Problem {
  int nx = 0, ny = 0;
  std::vector<Wide> x, y;  // of the nodes of the rectangle
  double shear = 0, bend = 0;
  Side boundaries[4];                      // left, right, bottom, top
  double g[3] = {}, f[4] = {};             // u on Dirichlet boundaries, the right-hand side
  std::vector<int> region;                 // of cells
  std::vector<double> kappa, c, capacity;  // of regions
  double tensor[3] = {1, 0, 1};
  double reaction = 0;
  double initial[3] = {};
  bool mapped = false, mild = false;
  std::string arguments;

  void add(const std::string& name, const std::string& value) { arguments += " --" + name + " '" + value + "'"; }
  [[nodiscard]] int columns() const { return nx + 1; }
  [[nodiscard]] bool periodic_x() const { return boundaries[0].kind == 'P'; }
  [[nodiscard]] bool periodic_y() const { return boundaries[2].kind == 'P'; }
  [[nodiscard]] std::size_t node(int i, int j) const {
    return static_cast<std::size_t>(j) * static_cast<std::size_t>(nx + 1) + static_cast<std::size_t>(i);
  }
  /// The node that stands for it where boundaries are periodic.
  [[nodiscard]] std::size_t own(int i, int j) const {
    return node(periodic_x() && i == nx ? 0 : i, periodic_y() && j == ny ? 0 : j);
  }
  [[nodiscard]] std::pair<Wide, Wide> place(int i, int j) const {
    const Wide p = x[static_cast<std::size_t>(i)], q = y[static_cast<std::size_t>(j)];
    if (!mapped) return {p, q};
    return {p + Wide(shear) * q, q + Wide(bend) * p * q};
  }
  [[nodiscard]] int region_of(int i, int j) const {
    return region[static_cast<std::size_t>(j) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool is_singular() const {
    bool held = reaction > 0;
    for (const Side& side : boundaries) held = held || side.kind == 'D' || side.kind == 'R';
    for (const double value : c) held = held || value > 0;
    return !held;
  }
};

std::string number(double value) { return value < 0 ? "(" + text_of(value) + ")" : text_of(value); }

void draw_axis(Chance& chance, const std::string& name, int cells, std::vector<Wide>& at, Problem& p) {
  std::ofstream file(name + ".txt");
  const double growth = chance.once_in(2) ? 1 : Chance::rounded(chance.real(0.7, 1.4));
  double width = chance.magnitude(0.05, 1);
  at = {Wide(0)};
  for (int k = 0; k < cells; ++k) {
    file << text_of(width) << '\n';
    at.push_back(at.back() + Wide(width));
    width *= growth;
  }
  p.add("grade-" + name, "widths:" + name + ".txt");
}

void write_cells(const Problem& p, const std::string& name, const std::vector<double>& of_regions) {
  std::ofstream file(name);
  for (int j = 0; j < p.ny; ++j)
    for (int i = 0; i < p.nx; ++i)
      file << text_of(of_regions[static_cast<std::size_t>(p.region_of(i, j))]) << (i + 1 == p.nx ? "\n" : ",");
}

Problem draw(Chance& chance, bool mild, bool heat) {
  Problem p;
  p.mild = mild;
  const double decades = mild ? 1 : 8, of_k = mild ? 1 : 4;
  p.nx = chance.integer(3, 14);
  p.ny = chance.integer(3, 14);
  draw_axis(chance, "x", p.nx, p.x, p);
  draw_axis(chance, "y", p.ny, p.y, p);
  p.mapped = chance.once_in(4);
  if (p.mapped) {
    p.shear = Chance::rounded(chance.real(-0.5, 0.5));
    p.bend = Chance::rounded(chance.real(0, 0.3) / static_cast<double>(std::max(p.x.back(), p.y.back())));
    p.add("map", "x+" + number(p.shear) + "*y,y+" + number(p.bend) + "*x*y");
  }
  // Boundaries.
  const char* const names[] = {"left", "right", "bottom", "top"};
  for (int s = 0; s < 4; s += 2)
    if (!p.mapped && chance.once_in(5)) p.boundaries[s].kind = p.boundaries[s + 1].kind = 'P';
  for (double& value : p.g) value = Chance::rounded(chance.real(-2, 2));
  if (p.periodic_x()) p.g[1] = 0;  // a corner has one value
  if (p.periodic_y()) p.g[2] = 0;
  p.add("boundary", number(p.g[0]) + "+" + number(p.g[1]) + "*x+" + number(p.g[2]) + "*y");
  for (int s = 0; s < 4; ++s) {
    Side& side = p.boundaries[s];
    if (side.kind != 'P') side.kind = chance.one_of<char>({'D', 'D', 'N', 'R'});
    side.value = Chance::rounded(chance.real(-2, 2));
    if (side.kind == 'R') {
      side.alpha = scale(chance, decades);
      side.value *= std::max(1.0, side.alpha);
    }
    if (side.kind == 'N') p.add(names[s], "neumann:" + number(side.value));
    if (side.kind == 'R') p.add(names[s], "robin:" + number(side.alpha) + "," + number(side.value));
    if (side.kind == 'P') p.add(names[s], "periodic");
  }
  // Regions of cells: blocks, discs, or each by itself.
  const int regions = chance.integer(1, 4), how = chance.integer(0, 2);
  const double centre_x = chance.real(0, p.nx), centre_y = chance.real(0, p.ny), radius = chance.real(1, p.nx);
  for (int j = 0; j < p.ny; ++j)
    for (int i = 0; i < p.nx; ++i)
      p.region.push_back(how == 0   ? (i / 3 + 2 * (j / 4)) % regions
                         : how == 1 ? (std::hypot(i - centre_x, j - centre_y) < radius ? regions - 1 : 0)
                                    : chance.integer(0, regions - 1));
  const auto by_regions = [&](const std::string& option, std::vector<double>& to, double range, bool may_be_zero) {
    for (int r = 0; r < regions; ++r) to.push_back(may_be_zero && chance.once_in(3) ? 0 : scale(chance, range));
    write_cells(p, option + ".csv", to);
    p.add(option, "file:" + option + ".csv");
  };
  p.kappa.assign(static_cast<std::size_t>(regions), 1);
  switch (chance.integer(0, 3)) {
    case 0:
      p.tensor[0] = chance.magnitude(0.1, 10);
      p.tensor[2] = chance.magnitude(0.1, 10);
      p.tensor[1] = Chance::rounded(chance.real(-0.7, 0.7) * std::sqrt(p.tensor[0] * p.tensor[2]));
      p.add("kappa", number(p.tensor[0]) + "," + number(p.tensor[1]) + "," + number(p.tensor[2]));
      break;
    case 1: break;
    default: p.kappa.clear(); by_regions("kappa", p.kappa, of_k, false);
  }
  p.c.assign(static_cast<std::size_t>(regions), 0);
  if (chance.once_in(3)) {
    p.reaction = scale(chance, decades);
    p.add("reaction", number(p.reaction));
  } else if (chance.once_in(2)) {
    p.c.clear();
    by_regions("reaction", p.c, decades, true);
  }
  for (double& value : p.f) value = Chance::rounded(chance.real(-3, 3));
  p.add("rhs", number(p.f[0]) + "+" + number(p.f[1]) + "*x+" + number(p.f[2]) + "*sin(" + number(p.f[3]) + "*y)");
  p.capacity.assign(static_cast<std::size_t>(regions), 1);
  if (heat) {
    if (chance.once_in(2)) {
      p.capacity.clear();
      by_regions("capacity", p.capacity, decades, false);
    }
    for (double& value : p.initial) value = Chance::rounded(chance.real(-2, 2));
    p.add("initial", number(p.initial[0]) + "+" + number(p.initial[1]) + "*x+" + number(p.initial[2]) + "*y");
  }
  return p;
}

/// A, M and F of all nodes, and what the boundaries say.
struct System {
  explicit System(const Problem& p)
      : a(static_cast<std::size_t>((p.nx + 1) * (p.ny + 1))), mass(a.size()), load(a.size(), Wide(0)), hats(load),
        is_free(a.size(), false), value(a.size(), Wide(0)) {
    for (int j = 0; j < p.ny; ++j)
      for (int i = 0; i < p.nx; ++i) add_cell(p, i, j);
    for (int j = 0; j < p.ny; ++j) {
      add_edge(p, p.boundaries[0], 0, j, 0, j + 1);
      add_edge(p, p.boundaries[1], p.nx, j, p.nx, j + 1);
    }
    for (int i = 0; i < p.nx; ++i) {
      add_edge(p, p.boundaries[2], i, 0, i + 1, 0);
      add_edge(p, p.boundaries[3], i, p.ny, i + 1, p.ny);
    }
    for (int j = 0; j <= p.ny; ++j)
      for (int i = 0; i <= p.nx; ++i) {
        if (p.own(i, j) == p.node(i, j)) is_free[p.node(i, j)] = true;
      }
    const auto hold = [&](int i, int j) {
      is_free[p.own(i, j)] = false;
      const auto [x, y] = p.place(i, j);
      value[p.own(i, j)] = Wide(p.g[0]) + Wide(p.g[1]) * x + Wide(p.g[2]) * y;
    };
    for (int j = 0; j <= p.ny; ++j) {
      if (p.boundaries[0].kind == 'D') hold(0, j);
      if (p.boundaries[1].kind == 'D') hold(p.nx, j);
    }
    for (int i = 0; i <= p.nx; ++i) {
      if (p.boundaries[2].kind == 'D') hold(i, 0);
      if (p.boundaries[3].kind == 'D') hold(i, p.ny);
    }
    for (std::size_t k = 0; k < a.size(); ++k)
      if (is_free[k]) free.push_back(k);
  }

  [[nodiscard]] Matrix of_free(const Matrix& m, const Matrix* more = nullptr, Wide s = 0) const {
    Matrix part(free.size());
    for (std::size_t i = 0; i < free.size(); ++i)
      for (std::size_t j = 0; j < free.size(); ++j) {
        part(i, j) = m(free[i], free[j]);
        if (more != nullptr) part(i, j) += s * (*more)(free[i], free[j]);
      }
    return part;
  }
  /// F - A_D g
  [[nodiscard]] Wides rhs() const {
    Wides b;
    for (const std::size_t k : free) {
      b.push_back(load[k]);
      for (std::size_t n = 0; n < a.size(); ++n)
        if (!is_free[n] && a(k, n) != 0) b.back() -= a(k, n) * value[n];
    }
    return b;
  }
  /// On all nodes, from those that are free.
  [[nodiscard]] Wides on_nodes(const Problem& p, const Wides& u) const {
    Wides all = value;
    for (std::size_t k = 0; k < free.size(); ++k) all[free[k]] = u[k];
    for (int j = 0; j <= p.ny; ++j)
      for (int i = 0; i <= p.nx; ++i) all[p.node(i, j)] = all[p.own(i, j)];
    return all;
  }

  Matrix a, mass;
  Wides load, hats;  // F; integrals of phi
  std::vector<bool> is_free;
  Wides value;  // of Dirichlet nodes
  std::vector<std::size_t> free;

 private:
  static std::vector<std::pair<Wide, Wide>> gauss(int points) {
    if (points == 2) {
      const Wide d = 1 / root(Wide(3)) / 2;
      return {{Wide(0.5) - d, Wide(0.5)}, {Wide(0.5) + d, Wide(0.5)}};
    }
    const Wide r = 2 * root(Wide(6) / 5) / 7, inner = root(Wide(3) / 7 - r) / 2, outer = root(Wide(3) / 7 + r) / 2;
    const Wide large = (18 + root(Wide(30))) / 72, small = (18 - root(Wide(30))) / 72, half = Wide(0.5);
    return {{half - outer, small}, {half - inner, large}, {half + inner, large}, {half + outer, small}};
  }

  void add_cell(const Problem& p, int i, int j) {
    std::size_t n[4];
    Wide px[4], py[4];
    for (int k = 0; k < 4; ++k) {
      n[k] = p.own(i + k % 2, j + k / 2);
      const auto [x, y] = p.place(i + k % 2, j + k / 2);
      px[k] = x;
      py[k] = y;
    }
    const auto region = static_cast<std::size_t>(p.region_of(i, j));
    const Wide k = p.kappa[region], c = Wide(p.c[region]) + Wide(p.reaction), capacity = p.capacity[region];
    const Wide xx = k * Wide(p.tensor[0]), xy = k * Wide(p.tensor[1]), yy = k * Wide(p.tensor[2]);
    const auto visit = [&](int points, const auto& use) {
      for (const auto& [t, weight_t] : gauss(points))
        for (const auto& [s, weight_s] : gauss(points)) {
          const Wide phi[4] = {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t};
          const Wide ds[4] = {t - 1, 1 - t, -t, t}, dt[4] = {s - 1, -s, 1 - s, s};
          Wide xs = 0, xt = 0, ys = 0, yt = 0, x = 0, y = 0;
          for (int m = 0; m < 4; ++m) {
            x += phi[m] * px[m];
            y += phi[m] * py[m];
            xs += ds[m] * px[m];
            xt += dt[m] * px[m];
            ys += ds[m] * py[m];
            yt += dt[m] * py[m];
          }
          const Wide det = xs * yt - xt * ys;
          Wide dx[4], dy[4];
          for (int m = 0; m < 4; ++m) {
            dx[m] = (yt * ds[m] - ys * dt[m]) / det;
            dy[m] = (xs * dt[m] - xt * ds[m]) / det;
          }
          use(phi, dx, dy, weight_s * weight_t * det, x, y);
        }
    };
    visit(2, [&](const Wide* phi, const Wide* dx, const Wide* dy, Wide weight, Wide, Wide) {
      for (int q = 0; q < 4; ++q)
        for (int r = 0; r < 4; ++r) {
          a(n[q], n[r]) +=
              weight * (dx[q] * (xx * dx[r] + xy * dy[r]) + dy[q] * (xy * dx[r] + yy * dy[r]) + c * phi[q] * phi[r]);
          mass(n[q], n[r]) += weight * capacity * phi[q] * phi[r];
        }
    });
    visit(4, [&](const Wide* phi, const Wide*, const Wide*, Wide weight, Wide x, Wide y) {
      const Wide f =
          Wide(p.f[0]) + Wide(p.f[1]) * x + Wide(p.f[2]) * Wide(std::sin(static_cast<Real>(Wide(p.f[3]) * y)));
      for (int q = 0; q < 4; ++q) {
        load[n[q]] += weight * f * phi[q];
        hats[n[q]] += weight * phi[q];
      }
    });
  }

  void add_edge(const Problem& p, const Side& side, int i, int j, int k, int l) {
    if (side.kind != 'N' && side.kind != 'R') return;
    const auto [x0, y0] = p.place(i, j);
    const auto [x1, y1] = p.place(k, l);
    const Wide length = root((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0));
    const std::size_t n[2] = {p.own(i, j), p.own(k, l)};
    for (int q = 0; q < 2; ++q) {
      load[n[q]] += length * Wide(side.value) / 2;
      for (int r = 0; r < 2; ++r)
        if (side.kind == 'R') a(n[q], n[r]) += length * Wide(side.alpha) * Wide(q == r ? 2 : 1) / 6;
    }
  }
};

/// The steady state. Without a hold, f less a constant, and u with integral zero.
Wides steady(const Problem& p, const System& system) {
  Wides b = system.rhs();
  Matrix a = system.of_free(system.a);
  if (!p.is_singular()) return system.on_nodes(p, a.solve(b));
  const Wide area = std::accumulate(system.hats.begin(), system.hats.end(), Wide(0));
  const Wide sum = std::accumulate(b.begin(), b.end(), Wide(0));
  Wide trace = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    b[k] -= sum / area * system.hats[system.free[k]];
    trace += a(k, k);
  }
  const Wide constant = trace / Wide(static_cast<double>(b.size() * b.size()));
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) a(i, j) += constant;
  Wides u = a.solve(b);
  Wide mean = 0;
  for (std::size_t k = 0; k < u.size(); ++k) mean += u[k] * system.hats[system.free[k]] / area;
  for (Wide& value : u) value -= mean;
  return system.on_nodes(p, u);
}

/// After so many steps of a method.
Wides stepped(const Problem& p, const System& system, const std::string& method, Wide dt, int steps) {
  const Wide two = root(Wide(2)), gamma = 2 - two, d = gamma / 2, w = two / 4;
  std::vector<std::vector<Wide>> rows;
  if (method == "euler") rows = {{Wide(1)}};
  if (method == "crank-nicolson") rows = {{}, {Wide(0.5), Wide(0.5)}};
  if (method == "tr-bdf2") rows = {{}, {d, d}, {w, w, d}};
  const Wide s = 1 / (rows.back().back() * dt);
  const Matrix mass = system.of_free(system.mass), a = system.of_free(system.a),
               sum = system.of_free(system.a, &system.mass, s);
  const Wides rhs = system.rhs();
  Wides u;
  for (int j = 0; j <= p.ny; ++j)
    for (int i = 0; i <= p.nx; ++i) {
      if (!system.is_free[p.node(i, j)] || p.own(i, j) != p.node(i, j)) continue;
      const auto [x, y] = p.place(i, j);
      u.push_back(Wide(p.initial[0]) + Wide(p.initial[1]) * x + Wide(p.initial[2]) * y);
    }
  for (int n = 0; n < steps; ++n) {
    std::vector<Wides> k;
    Wides stage = u;
    for (const auto& row : rows) {
      if (row.empty()) {
        Wides slope = rhs;
        const Wides au = a.times(u);
        for (std::size_t m = 0; m < slope.size(); ++m) slope[m] -= au[m];
        k.push_back(mass.solve(slope));
        continue;
      }
      Wides before = u;
      for (std::size_t l = 0; l < k.size(); ++l)
        for (std::size_t m = 0; m < u.size(); ++m) before[m] += dt * row[l] * k[l][m];
      Wides b = mass.times(before);
      for (std::size_t m = 0; m < b.size(); ++m) b[m] = s * b[m] + rhs[m];
      stage = sum.solve(b);
      Wides slope(u.size());
      for (std::size_t m = 0; m < u.size(); ++m) slope[m] = s * (stage[m] - before[m]);
      k.push_back(slope);
    }
    u = stage;
  }
  return system.on_nodes(p, u);
}

/// Nodes by the regions of K around them, those between two regions left out where a region has others.
std::vector<std::vector<std::size_t>> sets_of(const Problem& p) {
  std::vector<std::vector<std::size_t>> inside(p.kappa.size()), all(p.kappa.size());
  for (int j = 0; j <= p.ny; ++j)
    for (int i = 0; i <= p.nx; ++i) {
      std::vector<int> around;
      for (int l = std::max(0, j - 1); l <= std::min(j, p.ny - 1); ++l)
        for (int k = std::max(0, i - 1); k <= std::min(i, p.nx - 1); ++k) around.push_back(p.region_of(k, l));
      std::sort(around.begin(), around.end());
      around.erase(std::unique(around.begin(), around.end()), around.end());
      for (const int r : around) all[static_cast<std::size_t>(r)].push_back(p.node(i, j));
      if (around.size() == 1) inside[static_cast<std::size_t>(around[0])].push_back(p.node(i, j));
    }
  for (std::size_t r = 0; r < all.size(); ++r)
    if (inside[r].empty()) inside[r] = all[r];
  return inside;
}

}  // namespace

Verdict solve_with_elements(Chance& chance, const std::string& program, bool heat, bool mild) {
  Problem p = draw(chance, mild, heat);
  std::string method;
  double dt = 0;
  int steps = 0;
  const bool singular = p.is_singular();
  if (heat) {
    method = chance.one_of<std::string>({"euler", "crank-nicolson", "tr-bdf2"});
    dt = chance.magnitude(1e-3, 1);
    steps = chance.integer(1, 4);
    p.add("method", method);
    p.add("dt", text_of(dt));
    p.add("end", text_of(steps * dt));
    if (chance.once_in(3)) p.add("precision", "double");
  } else {
    if (singular) p.arguments += " --project";
    const auto precision = chance.one_of<std::string>({"mixed", "mixed", "double", "residual-replacement"});
    p.add("precision", precision);
    if (precision != "residual-replacement" && chance.once_in(3))
      p.add("solver", chance.one_of<std::string>({"cg", "fcg", "gmres"}));
    if (chance.once_in(4)) p.add("reference-norm", chance.one_of<std::string>({"rhs", "initial"}));
  }
  const std::string output = heat ? "u.pvd" : p.mapped ? "u.vts" : "u.vtr";
  const std::string written = !heat ? output : p.mapped ? "u_0001.vts" : "u_0001.vtr";
  Verdict verdict;
  verdict.command = program + p.arguments + " --backend cpu --threads 1 --quiet --report report.json --vtk " + output;
  for (const std::string& name : {std::string("report.json"), written}) std::remove(name.c_str());
  const int code = run_command(verdict.command);
  Complaints complaints;
  verdict.status = field(whole_file("report.json"), "status");
  if (verdict.status.empty()) verdict.status = "exit code " + std::to_string(code);
  complaints.check(code == 0 || (code == 2 && !mild) || (code == 3 && !mild),
                   "exit code " + std::to_string(code) + ": " + whole_file("errors.txt"));
  if (code == 0) {
    const System system(p);
    const Wides expected = heat ? stepped(p, system, method, Wide(steps * dt) / Wide(steps), steps) : steady(p, system);
    const char* const array = heat ? "u" : "solution";
    const Reals u = p.mapped ? read_nodes<vtkXMLStructuredGridReader>(written, array, expected.size())
                             : read_nodes<vtkXMLRectilinearGridReader>(written, array, expected.size());
    complaints.check(!u.empty(), "no solution in '" + written + "'");
    if (!u.empty())
      compare(
          complaints, "region", sets_of(p), expected, [&u](std::size_t k) { return u[k]; }, right_to, claimed);
  }
  verdict.complaints = complaints.list();
  return verdict;
}

}  // namespace random_test
