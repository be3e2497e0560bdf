#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace reference {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Solves the tridiagonal system lower_i x_(i-1) + diagonal_i x_i + upper_i x_(i+1) = rhs_i by elimination.
Values solve_tridiagonal(const Values& lower, Values diagonal, const Values& upper, Values rhs) {
  const std::size_t n = rhs.size();
  for (std::size_t i = 1; i < n; ++i) {
    const double factor = lower[i] / diagonal[i - 1];
    diagonal[i] -= factor * upper[i - 1];
    rhs[i] -= factor * rhs[i - 1];
  }
  rhs[n - 1] /= diagonal[n - 1];
  for (std::size_t i = n - 1; i-- > 0;) rhs[i] = (rhs[i] - upper[i] * rhs[i + 1]) / diagonal[i];
  return rhs;
}

/// The same where x_(-1) is x_(n-1) and x_n is x_0.
Values solve_cyclic(const Values& lower, const Values& diagonal, const Values& upper, const Values& rhs) {
  const std::size_t n = rhs.size() - 1;  // without the last unknown
  const auto first = [n](const Values& v) { return Values(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(n)); };
  Values response(n, 0.0);  // to the last unknown
  response.front() -= lower.front();
  response[n - 1] -= upper[n - 1];
  Values x = solve_tridiagonal(first(lower), first(diagonal), first(upper), first(rhs));
  const Values y = solve_tridiagonal(first(lower), first(diagonal), first(upper), response);
  const double last =
      (rhs[n] - lower[n] * x[n - 1] - upper[n] * x[0]) / (diagonal[n] + lower[n] * y[n - 1] + upper[n] * y[0]);
  for (std::size_t i = 0; i < n; ++i) x[i] += last * y[i];
  x.push_back(last);
  return x;
}

/// Adds omega times the solution for the defect r on line k along x (or along y).
void correct_line(const Stencil& a, const Values& r, Values& x, int k, bool along_x, double omega) {
  const int n = along_x ? a.nx : a.ny;
  Values lower(at(n)), diagonal(at(n)), upper(at(n)), rhs(at(n));
  for (int l = 0; l < n; ++l) {
    const int i = along_x ? l : k, j = along_x ? k : l;
    lower[at(l)] = along_x ? a.coefficient(-1, 0, i, j) : a.coefficient(0, -1, i, j);
    diagonal[at(l)] = a.coefficient(0, 0, i, j);
    upper[at(l)] = along_x ? a.coefficient(1, 0, i, j) : a.coefficient(0, 1, i, j);
    rhs[at(l)] = r[a.index(i, j)];
  }
  const bool cyclic = along_x ? a.periodic_x : a.periodic_y;
  const Values c = cyclic ? solve_cyclic(lower, diagonal, upper, rhs) : solve_tridiagonal(lower, diagonal, upper, rhs);
  for (int l = 0; l < n; ++l) x[along_x ? a.index(l, k) : a.index(k, l)] += omega * c[at(l)];
}

void lines(const Stencil& a, const Values& b, Values& x, bool along_x, Lines order, double omega, bool backward) {
  const int count = along_x ? a.ny : a.nx;
  if (order == Lines::simultaneous) {
    const Values r = residual(a, b, x);
    for (int k = 0; k < count; ++k) correct_line(a, r, x, k, along_x, omega);
    return;
  }
  const bool wraps = along_x ? a.periodic_y : a.periodic_x;
  const auto colour = [&](int k) {
    if (!wraps) return k % 2;
    return count % 2 != 0 && k == count - 1 ? 2 : (k + 1) % 2;
  };
  for (int step = 0; step < 3; ++step) {
    const Values r = residual(a, b, x);
    for (int k = 0; k < count; ++k)
      if (colour(k) == (backward ? 2 - step : step)) correct_line(a, r, x, k, along_x, omega);
  }
}

bool coarsens(const Values& h) { return h.size() > 2; }

struct Weight {
  int fine;
  int coarse;
  double value;
};

/// The entries of 1-D interpolation to the interior nodes of intervals h.
std::vector<Weight> interpolation(const Values& h) {
  std::vector<Weight> weights;
  const int fine_nodes = static_cast<int>(h.size()) - 1;
  if (!coarsens(h)) {
    for (int i = 0; i < fine_nodes; ++i) weights.push_back({i, i, 1});
    return weights;
  }
  const int coarse_nodes = static_cast<int>(h.size() + 1) / 2 - 1;  // the last interval of an odd number stays alone
  for (int node = 1; node <= fine_nodes; ++node) {
    if (node % 2 == 0) {
      weights.push_back({node - 1, node / 2 - 1, 1});
      continue;
    }
    const double wl = h[at(node - 1)], wr = h[at(node)];
    const int left = node / 2, right = left + 1;  // coarse nodes; 0 and the last are the boundary
    if (left >= 1) weights.push_back({node - 1, left - 1, wr / (wl + wr)});
    if (right <= coarse_nodes) weights.push_back({node - 1, right - 1, wl / (wl + wr)});
  }
  return weights;
}

}  // namespace

Stencil::Stencil(int nodes_x, int nodes_y, bool joined_x, bool joined_y)
    : nx(nodes_x), ny(nodes_y), periodic_x(joined_x), periodic_y(joined_y) {
  for (auto& values : band) values.assign(size(), 0.0);
}

std::size_t Stencil::index(int i, int j) const {
  if (periodic_x) i = (i + nx) % nx;
  if (periodic_y) j = (j + ny) % ny;
  return reference::at(j) * reference::at(nx) + reference::at(i);
}

double& Stencil::at(int dx, int dy, int i, int j) { return band[reference::at(3 * (dy + 1) + dx + 1)][index(i, j)]; }

double Stencil::coefficient(int dx, int dy, int i, int j) const {
  return band[reference::at(3 * (dy + 1) + dx + 1)][index(i, j)];
}

Stencil kronecker(const Values& kx, const Values& mx, const Values& ky, const Values& my, double c, bool periodic_x,
                  bool periodic_y) {
  Stencil a(static_cast<int>(kx.size()) - 1, static_cast<int>(ky.size()) - 1, periodic_x, periodic_y);
  const auto stiffness = [](const Values& k, int i, int d) {
    if (d == 0) return k[at(i)] + k[at(i + 1)];
    return d < 0 ? -k[at(i)] : -k[at(i + 1)];
  };
  const auto mass = [](const Values& m, int i, int d) {
    if (d == 0) return 2 * m[at(i)] + 2 * m[at(i + 1)];
    return d < 0 ? m[at(i)] : m[at(i + 1)];
  };
  for (int j = 0; j < a.ny; ++j)
    for (int i = 0; i < a.nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (a.inside(i + dx, j + dy))
            a.at(dx, dy, i, j) = stiffness(kx, i, dx) * mass(my, j, dy) + mass(mx, i, dx) * stiffness(ky, j, dy) +
                                 c * mass(mx, i, dx) * mass(my, j, dy);
  return a;
}

Stencil laplace(const Values& hx, const Values& hy) {
  Values kx, mx, ky, my;
  for (const double h : hx) {
    kx.push_back(1 / h);
    mx.push_back(h / 6);
  }
  for (const double h : hy) {
    ky.push_back(1 / h);
    my.push_back(h / 6);
  }
  return kronecker(kx, mx, ky, my);
}

Stencil diffusion(const Values& hx, const Values& hy, const std::function<CellTerms(int, int)>& terms, bool periodic_x,
                  bool periodic_y) {
  const int cells_x = static_cast<int>(hx.size()), cells_y = static_cast<int>(hy.size());
  const int left = periodic_x ? 0 : -1, below = periodic_y ? 0 : -1;  // of cell 0: its first node
  Stencil a(cells_x + left, cells_y + below, periodic_x, periodic_y);
  const double offset = 0.5 / std::sqrt(3.0);
  for (int cy = 0; cy < cells_y; ++cy)
    for (int cx = 0; cx < cells_x; ++cx) {
      const CellTerms k = terms(cx, cy);
      const double wx = hx[at(cx)], wy = hy[at(cy)];
      for (int p = 0; p < 4; ++p)
        for (int q = 0; q < 4; ++q) {
          const int i = cx + left + p % 2, j = cy + below + p / 2, dx = q % 2 - p % 2, dy = q / 2 - p / 2;
          if (!a.inside(i, j) || !a.inside(i + dx, j + dy)) continue;
          double value = 0;
          for (const double s : {0.5 - offset, 0.5 + offset})
            for (const double t : {0.5 - offset, 0.5 + offset}) {
              const auto phi = [](int side, double z) { return side == 0 ? 1 - z : z; };
              const auto slope = [](int side, double h) { return (side == 0 ? -1 : 1) / h; };
              const double px = slope(p % 2, wx) * phi(p / 2, s), py = phi(p % 2, t) * slope(p / 2, wy);
              const double qx = slope(q % 2, wx) * phi(q / 2, s), qy = phi(q % 2, t) * slope(q / 2, wy);
              const double mass = phi(p % 2, t) * phi(p / 2, s) * phi(q % 2, t) * phi(q / 2, s);
              value += wx * wy / 4 * (k.xx * px * qx + k.xy * (px * qy + py * qx) + k.yy * py * qy + k.c * mass);
            }
          a.at(dx, dy, i, j) += value;
        }
    }
  return a;
}

Values apply(const Stencil& a, const Values& x) {
  Values y(a.size(), 0.0);
  for (int j = 0; j < a.ny; ++j)
    for (int i = 0; i < a.nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (a.inside(i + dx, j + dy)) y[a.index(i, j)] += a.coefficient(dx, dy, i, j) * x[a.index(i + dx, j + dy)];
  return y;
}

Values residual(const Stencil& a, const Values& b, const Values& x) {
  Values r = apply(a, x);
  for (std::size_t k = 0; k < r.size(); ++k) r[k] = b[k] - r[k];
  return r;
}

double dot(const Values& x, const Values& y) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  return sum;
}

double norm(const Values& x) { return std::sqrt(dot(x, x)); }

double relative_difference(const Values& x, const Values& y) {
  if (x.size() != y.size()) throw std::invalid_argument("relative_difference: sizes differ");
  double difference = 0, largest = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!std::isfinite(x[k]) || !std::isfinite(y[k])) return INFINITY;
    difference = std::max(difference, std::abs(x[k] - y[k]));
    largest = std::max(largest, std::abs(y[k]));
  }
  return largest > 0 ? difference / largest : difference;
}

Values solve(const Stencil& a, const Values& b) {
  const int n = a.nx * a.ny, width = a.nx + 1;
  // Row r, column c lies at matrix[r][c - r + width].
  std::vector<Values> matrix(at(n), Values(at(2 * width + 1), 0.0));
  for (int j = 0; j < a.ny; ++j)
    for (int i = 0; i < a.nx; ++i)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
          if (a.inside(i + dx, j + dy))
            matrix[a.index(i, j)][at(dy * a.nx + dx + width)] += a.coefficient(dx, dy, i, j);
  Values x = b;
  for (int p = 0; p < n; ++p)
    for (int r = p + 1; r <= std::min(n - 1, p + width); ++r) {
      const double factor = matrix[at(r)][at(p - r + width)] / matrix[at(p)][at(width)];
      if (factor == 0) continue;
      for (int c = p; c <= std::min(n - 1, p + width); ++c)
        matrix[at(r)][at(c - r + width)] -= factor * matrix[at(p)][at(c - p + width)];
      x[at(r)] -= factor * x[at(p)];
    }
  for (int r = n - 1; r >= 0; --r) {
    for (int c = r + 1; c <= std::min(n - 1, r + width); ++c) x[at(r)] -= matrix[at(r)][at(c - r + width)] * x[at(c)];
    x[at(r)] /= matrix[at(r)][at(width)];
  }
  return x;
}

void jacobi(const Stencil& a, const Values& b, Values& x, double omega) {
  const Values r = residual(a, b, x);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] += omega * r[k] / a.band[4][k];
}

void colour_gs(const Stencil& a, const Values& b, Values& x, double omega, bool backward) {
  for (int step = 0; step < 4; ++step) {
    const int colour = backward ? 3 - step : step;
    const int first_i = colour % 2, first_j = colour / 2;
    for (int j = first_j; j < a.ny; j += 2)
      for (int i = first_i; i < a.nx; i += 2) {
        double defect = b[a.index(i, j)];
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx)
            if (a.inside(i + dx, j + dy)) defect -= a.coefficient(dx, dy, i, j) * x[a.index(i + dx, j + dy)];
        x[a.index(i, j)] += omega * defect / a.coefficient(0, 0, i, j);
      }
  }
}

void line_x(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward) {
  lines(a, b, x, true, order, omega, backward);
}

void line_y(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward) {
  lines(a, b, x, false, order, omega, backward);
}

void adi(const Stencil& a, const Values& b, Values& x, Lines order, double omega, bool backward) {
  lines(a, b, x, !backward, order, omega, backward);
  lines(a, b, x, backward, order, omega, backward);
}

void smooth(const SmootherChoice& choice, const Stencil& a, const Values& b, Values& x, int sweeps, bool backward) {
  const int applications = choice.name == "adi" ? sweeps / 2 : sweeps;
  for (int k = 0; k < applications; ++k) {
    if (choice.name == "jacobi")
      jacobi(a, b, x, choice.omega);
    else if (choice.name == "colour_gs")
      colour_gs(a, b, x, choice.omega, backward);
    else if (choice.name == "line_x")
      line_x(a, b, x, choice.order, choice.omega, backward);
    else if (choice.name == "line_y")
      line_y(a, b, x, choice.order, choice.omega, backward);
    else if (choice.name == "adi")
      adi(a, b, x, choice.order, choice.omega, backward);
    else
      throw std::invalid_argument("no oracle for smoother " + choice.name);
  }
}

Values coarser(const Values& h) {
  if (!coarsens(h)) return h;
  Values merged;
  for (std::size_t k = 0; k < h.size(); k += 2) merged.push_back(k + 1 < h.size() ? h[k] + h[k + 1] : h[k]);
  return merged;
}

Values prolongate(const Values& hx, const Values& hy, const Values& coarse) {
  const std::size_t nx = hx.size() - 1, ny = hy.size() - 1, coarse_nx = coarser(hx).size() - 1;
  Values fine(nx * ny, 0.0);
  for (const Weight& y : interpolation(hy))
    for (const Weight& x : interpolation(hx))
      fine[at(y.fine) * nx + at(x.fine)] += y.value * x.value * coarse[at(y.coarse) * coarse_nx + at(x.coarse)];
  return fine;
}

Values restrict_to(const Values& hx, const Values& hy, const Values& fine) {
  const std::size_t nx = hx.size() - 1, coarse_nx = coarser(hx).size() - 1, coarse_ny = coarser(hy).size() - 1;
  Values coarse(coarse_nx * coarse_ny, 0.0);
  for (const Weight& y : interpolation(hy))
    for (const Weight& x : interpolation(hx))
      coarse[at(y.coarse) * coarse_nx + at(x.coarse)] += y.value * x.value * fine[at(y.fine) * nx + at(x.fine)];
  return coarse;
}

void cycle(const CycleChoice& choice, const Values& hx, const Values& hy, const Values& b, Values& x) {
  const Stencil a = laplace(hx, hy);
  if (!coarsens(hx) && !coarsens(hy)) {
    x = solve(a, b);
    return;
  }
  smooth(choice.smoother, a, b, x, choice.sweeps, false);
  const Values d = restrict_to(hx, hy, residual(a, b, x));
  Values e(d.size(), 0.0);
  CycleChoice below = choice;
  cycle(below, coarser(hx), coarser(hy), d, e);
  if (choice.shape == Shape::f) below.shape = Shape::v;
  if (choice.shape != Shape::v) cycle(below, coarser(hx), coarser(hy), d, e);
  const Values correction = prolongate(hx, hy, e);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] += correction[k];
  smooth(choice.smoother, a, b, x, choice.sweeps, choice.symmetric);
}

}  // namespace reference
