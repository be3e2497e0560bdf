#pragma once

// What boundaries add to the operators of this folder: checks, and for stored bands the integrals of alpha phi_i phi_j over
// natural boundaries, by the 4-point Gauss rule.

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <stratum/assembly/gauss_rules.hpp>
#include <stratum/assembly/operators.hpp>
#include <stratum/core/field/blas.hpp>

namespace stratum::detail {

inline void check_alpha(BoundaryType end, const RobinCoefficient& alpha, const char* boundary) {
  if (alpha.is_zero()) return;
  expects(end == BoundaryType::neumann, "alpha belongs to Neumann or Robin boundaries; the ", boundary, " boundary is ",
          to_string(end));
  expects(std::isfinite(alpha.constant) && alpha.constant >= 0, "alpha of the ", boundary,
          " boundary must be finite and not negative, not ", alpha.constant);
}

inline void check_terms(const TensorMesh<2>& mesh, const OperatorTerms& terms) {
  expects(std::isfinite(terms.reaction) && terms.reaction >= 0,
          "the reaction coefficient c must be finite and not negative, not ", terms.reaction);
  check_alpha(mesh.x().first_boundary(), terms.left, "left");
  check_alpha(mesh.x().last_boundary(), terms.right, "right");
  check_alpha(mesh.y().first_boundary(), terms.bottom, "bottom");
  check_alpha(mesh.y().last_boundary(), terms.top, "top");
}

/// What a varying alpha adds to the nodes of a boundary: to a_(0,0), and to the coefficient towards the next node.
struct BoundaryMass {
  std::vector<double> own, next;
  BoundaryMass(const Geometry& mesh, const BoundaryPlace& boundary, const std::function<double(double)>& alpha);
};

inline BoundaryMass::BoundaryMass(const Geometry& mesh, const BoundaryPlace& boundary,
                                  const std::function<double(double)>& alpha)
    : own(static_cast<std::size_t>(mesh.along(boundary).unknowns()), 0.0), next(own) {
  const Axis& line = mesh.along(boundary);
  const int n = line.unknowns();
  for (int i = 0; i < line.size(); ++i) {
    const auto interval = static_cast<std::size_t>(i);
    double first = 0, both = 0, second = 0;
    for (const auto& [t, weight] : gauss4) {
      const double s = line.from_begin()[interval] + t * line.widths()[interval], value = alpha(s),
                   h = mesh.measure_on_side(boundary, i, t);
      expects(std::isfinite(value) && value >= 0, "alpha of a boundary is ", value, " at ", s,
              " along it; it must be finite and not negative");
      first += weight * h * value * (1 - t) * (1 - t);
      both += weight * h * value * (1 - t) * t;
      second += weight * h * value * t * t;
    }
    const int left = i - line.first_unknown(), right = line.is_periodic() && i + 1 == n ? 0 : left + 1;
    if (left >= 0 && left < n) own[static_cast<std::size_t>(left)] += first;
    if (right < n) own[static_cast<std::size_t>(right)] += second;
    if (left >= 0 && left < n && right < n) next[static_cast<std::size_t>(left)] += both;
  }
}

/// Numbers from `first` on.
template <class T>
void add_line(Context& ctx, FieldView<T> band, Direction along, int line, const std::vector<T>& numbers, int first) {
  const bool row = along == Direction::x;
  FieldView<T> part = band;
  part.data = row ? &band(0, line) : &band(line, 0);
  part.nx = row ? band.nx : 1;
  part.ny = row ? 1 : band.ny;
  std::vector<T> host(static_cast<std::size_t>(part.nodes()));
  copy_to_host(ctx, FieldView<const T>(part), host.data());
  for (std::size_t k = 0; k < host.size(); ++k) host[k] += numbers[static_cast<std::size_t>(first) + k];
  copy_from_host(ctx, host.data(), part);
}

/// Null where it is not stored.
template <class Bands>
Field<double>* band_of(Bands& a, int dx, int dy) {
  const int k = band_index(dx, dy) - Bands::first;
  return k < 0 ? nullptr : &a.band[static_cast<std::size_t>(k)];
}

/// Of a subdomain's bands, to the nodes of the boundary that are its own.
template <class Bands>
void add_boundary(Context& ctx, const Geometry& mesh, const BoundaryPlace& boundary, const RobinCoefficient& alpha,
                  Bands& a) {
  if (!alpha.varying) return;
  const auto [along, last] = boundary;
  const bool row = along == Direction::x;
  const GridLayout<2> shape = a.shape();
  if (row && (last ? shape.above : shape.below)) return;
  const BoundaryMass mass(mesh, boundary, alpha.varying);
  const int line = !last ? 0 : (row ? shape.ny : shape.nx) - 1;
  const int first = row ? 0 : shape.origin_y - mesh.along(boundary).first_unknown();
  add_line(ctx, band_of(a, 0, 0)->view(), along, line, mass.own, first);
  add_line(ctx, band_of(a, row ? 1 : 0, row ? 0 : 1)->view(), along, line, mass.next, first);
  auto* const back = band_of(a, row ? -1 : 0, row ? 0 : -1);
  if (back == nullptr) return;
  std::vector<double> before(mass.next);
  std::rotate(before.begin(), before.end() - 1, before.end());
  add_line(ctx, back->view(), along, line, before, first);
}

/// The bands and what an alpha that varies adds to them.
template <class Bands>
Bands with_boundaries(Context& ctx, const Geometry& mesh, const OperatorTerms& terms, Bands a) {
  add_boundary(ctx, mesh, {Direction::y, false}, terms.left, a);
  add_boundary(ctx, mesh, {Direction::y, true}, terms.right, a);
  add_boundary(ctx, mesh, {Direction::x, false}, terms.bottom, a);
  add_boundary(ctx, mesh, {Direction::x, true}, terms.top, a);
  if (terms.varies())
    for (auto& band : a.band) exchange(ctx, band);
  return a;
}

}  // namespace stratum::detail
