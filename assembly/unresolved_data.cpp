#include <stratum/assembly/unresolved_data.hpp>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/data_samples.hpp>
#include <stratum/assembly/problem_boundary.hpp>

namespace stratum {

namespace {

using detail::DataCheck;

/// Of a mesh in two dimensions.
struct AreaCells {
  static constexpr std::size_t D = 2;
  using P = Point;
  const Geometry& mesh;

  struct Cell {
    CellPoints points;
    [[nodiscard]] Point at(const std::array<double, 2>& f) const { return points.at(f[0], f[1]); }
    [[nodiscard]] double measure(const std::array<double, 2>& f) const { return points.measure(f[0], f[1]); }
  };
  [[nodiscard]] std::array<int, 2> sizes() const { return {mesh.logical().x().size(), mesh.logical().y().size()}; }
  [[nodiscard]] std::int64_t count() const { return std::int64_t{sizes()[0]} * sizes()[1]; }
  [[nodiscard]] Cell cell(std::int64_t k) const {
    const int nx = mesh.logical().x().size();
    return {mesh.cell(static_cast<int>(k % nx), static_cast<int>(k / nx))};
  }
};

/// The intervals of one of its boundaries.
struct SideIntervals {
  static constexpr std::size_t D = 1;
  using P = Point;
  const Geometry& mesh;
  BoundaryPlace place;

  struct Cell {
    const SideIntervals& of;
    int k;
    [[nodiscard]] Point at(const std::array<double, 1>& f) const { return of.mesh.on_boundary(of.place, k, f[0]); }
    [[nodiscard]] double measure(const std::array<double, 1>& f) const {
      return of.mesh.measure_on_side(of.place, k, f[0]);
    }
  };
  [[nodiscard]] std::int64_t count() const { return mesh.along(place).size(); }
  [[nodiscard]] Cell cell(std::int64_t k) const { return {*this, static_cast<int>(k)}; }
};

/// Of a box, or of one of its faces: D intervals, and on a face the place across.
template <std::size_t Dimensions>
struct BoxCells {
  static constexpr std::size_t D = Dimensions;
  using P = Point3D;
  const TensorMesh<3>& mesh;
  std::array<int, D> axes;
  BoxFace face = BoxFace::left;  // where D = 2

  struct Cell {
    const BoxCells& of;
    std::array<LineInterval, D> intervals;
    [[nodiscard]] Point3D at(const std::array<double, D>& f) const {
      if constexpr (D == 3) {
        return make_point(intervals[0].at(f[0]), intervals[1].at(f[1]), intervals[2].at(f[2]));
      } else {
        const FacePlace place(of.face);
        return place.point(node_of(of.mesh.axis(place.across), place.node(of.mesh)), intervals[0].at(f[0]),
                           intervals[1].at(f[1]));
      }
    }
    [[nodiscard]] double measure(const std::array<double, D>& /*f*/) const {
      double product = 1;
      for (const LineInterval& interval : intervals) product *= interval.width;
      return product;
    }
  };
  [[nodiscard]] std::array<int, D> sizes() const {
    std::array<int, D> found{};
    for (std::size_t d = 0; d < D; ++d) found[d] = mesh.axis(axes[d]).size();
    return found;
  }
  [[nodiscard]] std::int64_t count() const {
    std::int64_t product = 1;
    for (const int size : sizes()) product *= size;
    return product;
  }
  [[nodiscard]] Cell cell(std::int64_t k) const {
    Cell found{*this, {}};
    for (std::size_t d = 0; d < D; ++d) {
      const Axis& axis = mesh.axis(axes[d]);
      found.intervals[d] = LineInterval(axis, static_cast<int>(k % axis.size()));
      k /= axis.size();
    }
    return found;
  }
};
BoxCells<3> cells_of(const TensorMesh<3>& mesh) { return {mesh, {0, 1, 2}}; }
BoxCells<2> cells_of(const TensorMesh<3>& mesh, BoxFace face) {
  const FacePlace place(face);
  return {mesh, {place.first, place.second}, face};
}

/// Of one boundary.
template <class P, class Condition, class Cells>
void add_boundary(DataCheck<P>& check, const std::string& name, const Condition& condition,
                  const std::function<double(const P&)>& of_problem, const Cells& cells, bool means) {
  if (boundary_type(condition.kind) == BoundaryType::periodic) return;
  if (has_alpha(condition.kind)) check.add_integrals("alpha of the " + name, condition.alpha, cells, gauss4);
  if (const auto g = flux_function(condition)) return check.add_integrals("g of the " + name, g, cells, gauss4);
  if (boundary_type(condition.kind) != BoundaryType::dirichlet) return;
  const auto& g = condition.value ? condition.value : of_problem;
  if (means)
    check.add_integrals("u of the " + name, g, cells, gauss4);
  else
    check.add_nodal("u of the " + name, g, cells);
}

template <class Problem>
auto values_of_problem(const Problem& problem) {
  return problem.boundary ? problem.boundary : problem.exact;
}

/// Which have values of their own.
template <class Bodies>
bool have_values(const Bodies& bodies) {
  return std::any_of(bodies.begin(), bodies.end(), [](const auto& body) { return body.kind == BodyKind::value; });
}

void add_data(DataCheck<Point>& check, const Geometry& mesh, const PoissonProblem& problem, const DataRule& rule) {
  check.add_integrals("the right-hand side", problem.rhs, AreaCells{mesh},
                      gauss_rule(rule.points == 0 ? 4 : rule.points), true);
  const Diffusion& k = problem.diffusion;
  const auto is_periodic = [](const BoundaryCondition& side) { return side.kind == BoundaryConditionType::periodic; };
  const std::array<bool, 2> periodic{is_periodic(problem.boundaries.left), is_periodic(problem.boundaries.bottom)};
  check.add_layers(k.yy.is_given() ? "kxx" : "K", k.xx.function, AreaCells{mesh}, periodic);
  check.add_layers("kyy", k.yy.function, AreaCells{mesh}, periodic);
  for (const detail::BoundaryOf& boundary : detail::all_boundaries(problem.boundaries))
    add_boundary(check, message(boundary.name, " boundary"), boundary.condition, values_of_problem(problem),
                 SideIntervals{mesh, boundary.place}, rule.boundary_means);
}

void add_data(DataCheck<Point3D>& check, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
              const DataRule& rule) {
  constexpr std::int64_t small_box = std::int64_t{1} << 18;
  const int points = rule.points != 0 ? rule.points : mesh.cells() <= small_box ? 4 : 2;
  check.add_integrals("the right-hand side", problem.rhs, cells_of(mesh), gauss_rule(points), true);
  const Diffusion3D& k = problem.diffusion;
  const auto is_periodic = [&](BoxFace face) {
    return problem.boundaries[face].kind == BoundaryConditionType::periodic;
  };
  const std::array<bool, 3> periodic{is_periodic(BoxFace::left), is_periodic(BoxFace::bottom),
                                     is_periodic(BoxFace::front)};
  check.add_layers(k.yy || k.zz ? "kxx" : "K", k.xx, cells_of(mesh), periodic);
  check.add_layers("kyy", k.yy, cells_of(mesh), periodic);
  check.add_layers("kzz", k.zz, cells_of(mesh), periodic);
  for (const BoxFace face : all_box_faces)
    add_boundary(check, message(to_string(face), " face"), problem.boundaries[face], values_of_problem(problem),
                 cells_of(mesh, face), rule.boundary_means);
}

AreaCells cells_of(const Geometry& mesh) { return {mesh}; }

/// A problem without f is one of a source that is known.
template <class P, class Mesh, class Problem>
std::string warning_of_steady(const Context& ctx, const Mesh& mesh, const Problem& problem, const DataRule& rule) {
  DataCheck<P> check(ctx);
  if (!problem.rhs || (have_values(problem.bodies) && !rule.vanishes)) check.is_not_zero();
  add_data(check, mesh, problem, rule);
  return check.warning(rule.vanishes);
}

template <class P>
bool is_steady(const std::function<double(const P&)>& function) {
  return !function || !detail::text_of_steady(function).empty();
}

/// At a time. Expressions without it stay ones, so that numbers are known to be that.
PoissonProblem bound(const HeatProblem& problem, double t) {
  PoissonProblem now = problem.space;
  const auto bind = [t](ScalarFunction& f) {
    if (!is_steady(f)) f = at_time(f, t);
  };
  bind(now.rhs);
  bind(now.exact);
  bind(now.boundary);
  for (BoundaryCondition* side :
       {&now.boundaries.left, &now.boundaries.right, &now.boundaries.bottom, &now.boundaries.top}) {
    bind(side->value);
    bind(side->alpha);
  }
  if (!problem.steady_coefficients) {
    bind(now.diffusion.xx.function);
    bind(now.diffusion.yy.function);
  }
  return now;
}
PoissonProblem3D bound(const HeatProblem3D& problem, double t) {
  PoissonProblem3D now = at_time(problem, t);
  if (!problem.space.rhs) now.rhs = {};
  return now;
}

bool is_steady(const PoissonProblem& space) {
  const auto& [left, right, bottom, top] = space.boundaries;
  return is_steady(space.rhs) && is_steady(space.boundary) && is_steady(space.exact) && is_steady(left.value) &&
         is_steady(right.value) && is_steady(bottom.value) && is_steady(top.value);
}
bool is_steady(const PoissonProblem3D& space) {
  const auto& faces = space.boundaries.faces;
  return is_steady(space.rhs) && is_steady(space.boundary) && is_steady(space.exact) &&
         std::all_of(faces.begin(), faces.end(), [](const auto& face) { return is_steady(face.value); });
}

/// K may change.
bool k_moves(const HeatProblem& problem) {
  const auto& [xx, xy, yy] = problem.space.diffusion;
  return !problem.steady_coefficients && !(is_steady(xx.function) && is_steady(yy.function));
}
bool k_moves(const HeatProblem3D& /*problem*/) { return false; }

/// At the start with the initial values, in the middle and at the end of a run.
template <class P, class Mesh, class Problem>
std::string warning_of_run(const Context& ctx, const Mesh& mesh, const Problem& problem, double start, double end,
                           const DataRule& rule) {
  const bool steady = is_steady(problem.space);
  for (const double t : {start, (start + end) / 2, end}) {
    DataCheck<P> check(ctx);
    if (!steady || have_values(problem.space.bodies)) check.is_not_zero();
    add_data(check, mesh, bound(problem, t), rule);
    if (t == start) {
      const bool given = problem.initial && is_steady(problem.initial);
      if (given || problem.initial || problem.space.exact)
        check.add_nodal("u at the start", given ? problem.initial : initial_function(problem, start), cells_of(mesh));
    }
    if (const auto text = check.warning(false); !text.empty()) return message("at t = ", t, " ", text);
    if (steady && !k_moves(problem)) break;
  }
  return {};
}

}  // namespace

std::string warning_of_data(Context& ctx, const Geometry& mesh, const PoissonProblem& problem, const DataRule& rule) {
  return warning_of_steady<Point>(ctx, mesh, problem, rule);
}

std::string warning_of_data(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                            const DataRule& rule) {
  return warning_of_steady<Point3D>(ctx, mesh, problem, rule);
}

std::string warning_of_data(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double start, double end,
                            const DataRule& rule) {
  DataRule of_load = rule;
  if (rule.points == 0 && !problem.steady_rhs) of_load.points = 2;
  return warning_of_run<Point>(ctx, mesh, problem, start, end, of_load);
}

std::string warning_of_data(Context& ctx, const TensorMesh<3>& mesh, const HeatProblem3D& problem, double start,
                            double end, const DataRule& rule) {
  DataRule of_load = rule;
  if (rule.points == 0 && !has_steady_rhs(problem)) of_load.points = 2;
  return warning_of_run<Point3D>(ctx, mesh, problem, start, end, of_load);
}

}  // namespace stratum
