// Poisson problems in a box for Python: a mesh, conditions on six faces and coefficients in, u on all nodes out
// (assembly/poisson_problem_3d.hpp, multigrid/poisson_solver_3d.hpp). As in poisson.cpp functions of Python have become arrays.

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include <stratum/assembly/box_bodies.hpp>
#include <stratum/assembly/box_values.hpp>
#include <stratum/assembly/corner_contacts.hpp>
#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/assembly/point_values.hpp>
#include <stratum/multigrid/poisson_solver_3d.hpp>

#include "problems.hpp"

namespace stratum::python {

namespace {

std::pair<std::size_t, double> interval_of_point(const TensorMesh<3>& mesh, int d, const Point3D& p) {
  const std::array<double, 3> begin{p.to_left, p.to_bottom, p.to_front}, end{p.to_right, p.to_top, p.to_back};
  const auto [interval, t] =
      interval_at(mesh.axis(d), begin[static_cast<std::size_t>(d)], end[static_cast<std::size_t>(d)]);
  return {static_cast<std::size_t>(interval), t};
}

using Values = std::shared_ptr<const std::vector<double>>;
using Mesh = SharedBox;

/// Values at the nodes of a face, bilinear between them; the first direction along it runs fastest.
struct OnFace {
  Mesh mesh;
  int first, second;
  Values values;

  double operator()(const Point3D& p) const {
    const auto [i, t] = interval_of_point(*mesh, first, p);
    const auto [j, s] = interval_of_point(*mesh, second, p);
    const auto nodes = static_cast<std::size_t>(mesh->axis(first).size()) + 1;
    const double *low = &(*values)[j * nodes + i], *high = low + nodes;
    return (1 - s) * ((1 - t) * low[0] + t * low[1]) + s * ((1 - t) * high[0] + t * high[1]);
  }
};

ScalarFunction3D constant(double value) {
  return [value](const Point3D& /*p*/) { return value; };
}

ScalarFunction3D expression(const TensorMesh<3>& mesh, const std::string& text) {
  expects(expressions_available(), "'", shown(text),
          "': this build has no expressions, which take muParser; give a function of arrays, lambda x, y, z: ...");
  return parse_expression(text, {mesh.x().length(), mesh.y().length(), mesh.z().length()});
}

/// A number, text, or an array at the nodes of the face, the first direction along it fastest.
ScalarFunction3D face_function(const Mesh& mesh, BoxFace face, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return expression(*mesh, nb::cast<std::string>(value));
  if (double number = 0; nb::try_cast(value, number)) return number == 0 ? ScalarFunction3D{} : constant(number);
  const auto values = nb::cast<HostArray<double, 2>>(value);
  const int across = static_cast<int>(face) / 2, first = across == 0 ? 1 : 0, second = across == 2 ? 1 : 2;
  const auto nodes = [&](int d) { return static_cast<std::size_t>(mesh->axis(d).size()) + 1; };
  expects(values.shape(0) == nodes(second) && values.shape(1) == nodes(first), "the ", to_string(face), " face has (",
          nodes(second), ", ", nodes(first), ") nodes; its values have shape ", shape_of(values));
  return OnFace{mesh, first, second, std::make_shared<const std::vector<double>>(vector_of(values))};
}

/// None, a number, text, or an array on the cells, (nz, ny, nx), any of which may be 1.
ScalarFunction3D coefficient(const Mesh& mesh, const char* name, nb::handle value) {
  if (value.is_none()) return {};
  if (nb::isinstance<nb::str>(value)) return expression(*mesh, nb::cast<std::string>(value));
  if (double number = 0; nb::try_cast(value, number)) return constant(number);
  const auto values = nb::cast<HostArray<double, 3>>(value);
  std::array<std::size_t, 3> count{};
  for (std::size_t d = 0; d < 3; ++d) {
    count[d] = values.shape(2 - d);
    expects(count[d] == 1 || count[d] == static_cast<std::size_t>(mesh->axis(static_cast<int>(d)).size()), name,
            " has a number for each of (", mesh->z().size(), ", ", mesh->y().size(), ", ", mesh->x().size(),
            ") cells; given is shape ", shape_of(values));
  }
  return on_cells(*mesh, count, vector_of(values));
}

BoundaryCondition3D face_condition(const Mesh& mesh, BoxFace face, const nb::tuple& given) {
  BoundaryCondition3D condition;
  condition.kind = by_name("a face", nb::cast<std::string>(given[0]), values_of<BoundaryConditionType>);
  condition.value = face_function(mesh, face, given[1]);
  if (has_alpha(condition.kind)) {
    condition.alpha = face_function(mesh, face, given[2]);
    if (!condition.alpha) condition.kind = BoundaryConditionType::neumann;  // alpha = 0
  }
  return condition;
}

/// (inside, kind, value) as of Poisson: numbers, text or arrays, on the cells, g at the nodes.
Body3D body_of(const Mesh& mesh, const nb::tuple& given) {
  Body3D body;
  body.inside = coefficient(mesh, "the shape of a body", given[0]);
  body.kind = by_name("the kind of a body", nb::cast<std::string>(given[1]), values_of<BodyKind>);
  if (body.kind == BodyKind::contact) {
    body.resistance = nb::cast<double>(given[2]);
  } else if (body.kind == BodyKind::coefficient || nb::isinstance<nb::str>(given[2])) {
    body.value = coefficient(mesh, "K of a body", given[2]);
  } else if (body.kind == BodyKind::value) {
    double number = 0;
    body.value = nb::try_cast(given[2], number) ? constant(number)
                                                : on_nodes(*mesh, vector_of(nb::cast<HostArray<double, 3>>(given[2])));
  }
  return body;
}

}  // namespace

PoissonProblem3D problem_of(const SharedBox& mesh, const std::array<nb::tuple, 6>& faces,
                            const std::array<nb::object, 3>& kappa, double reaction, const nb::list& bodies) {
  PoissonProblem3D problem;
  for (const BoxFace face : all_box_faces)
    problem.boundaries[face] = face_condition(mesh, face, faces[static_cast<std::size_t>(face)]);
  problem.rhs = constant(0);
  problem.diffusion = {coefficient(mesh, "kappa", kappa[0]), coefficient(mesh, "kappa_yy", kappa[1]),
                       coefficient(mesh, "kappa_zz", kappa[2])};
  problem.reaction = reaction;
  for (const nb::handle body : bodies) problem.bodies.push_back(body_of(mesh, nb::cast<nb::tuple>(body)));
  return problem;
}

ScalarFunction3D function_on_box(const TensorMesh<3>& mesh, const nb::object& f) {
  if (double number = 0; nb::try_cast(f, number)) return constant(number);
  const auto values = nb::cast<HostArray<double, 3>>(f);
  const auto cells = [&](int d) { return static_cast<std::size_t>(mesh.axis(d).size()); };
  if (values.shape(0) == cells(2) && values.shape(1) == cells(1) && values.shape(2) == cells(0))
    return on_cells(mesh, {cells(0), cells(1), cells(2)}, vector_of(values));
  return on_nodes(mesh, vector_of(values));
}

namespace {

class PoissonSystem3D {
 public:
  PoissonSystem3D(const TensorMesh<3>& mesh, const std::array<nb::tuple, 6>& faces,
                  const std::array<nb::object, 3>& kappa, double reaction, const nb::list& bodies,
                  const std::string& device, int threads)
      : ctx_(make_context(device, threads)), mesh_(std::make_shared<const TensorMesh<3>>(mesh)) {
    problem_ = problem_of(mesh_, faces, kappa, reaction, bodies);
    const WithoutGil computing;
    const TensorMesh<3> box = with_boundaries(mesh, problem_.boundaries);
    const auto on_mesh = bodies_on(ctx_, box, problem_);
    has_solids_ = on_mesh && on_mesh->has_solids();
    if (has_solids_) warning_ = corner_contacts(box, *on_mesh).warning();
    set_up();
    singular_ = has_solids_ ? rooms_of(box, problem_, *on_mesh).any_singular() : is_singular(box, problem_);
    setup_seconds_ = clock_.seconds();
  }

  [[nodiscard]] bool is_singular_problem() const { return singular_; }
  [[nodiscard]] const std::string& warning() const { return warning_; }

  /// f as text, or integrals of f phi_i at all nodes, boundary included; beside bodies numbers at nodes or on cells, unless it
  /// is `integrals`, over live cells.
  nb::tuple solve(const nb::object& f, const StoppingParams& stop, bool project, const nb::object& callback,
                  bool integrals) {
    ScalarFunction3D rhs;
    HostArray<double, 3> load;
    if (nb::isinstance<nb::str>(f))
      rhs = expression(*mesh_, nb::cast<std::string>(f));
    else if (!problem_.bodies.empty() && !integrals)
      rhs = function_on_box(*mesh_, f);
    else
      load = nb::cast<HostArray<double, 3>>(f);
    const auto nodes = [&](int d) { return static_cast<std::size_t>(mesh_->axis(d).size()) + 1; };
    expects(rhs || (load.shape(0) == nodes(2) && load.shape(1) == nodes(1) && load.shape(2) == nodes(0)),
            "loads are for (", nodes(2), ", ", nodes(1), ", ", nodes(0), ") nodes; given is shape ",
            load.is_valid() ? shape_of(load) : "");
    const Monitor monitor = monitor_of(callback);
    SolveReport report;
    std::vector<double> nodal;
    std::vector<BoxBodyFlux> bodies;
    {
      const WithoutGil computing;
      if (!solver_ || (has_solids_ && project != project_)) {
        project_ = project;
        set_up();
      }
      if (rhs)
        solver_->set_rhs(rhs);
      else
        solver_->set_load({load.data(), load.size()});
      const auto& found = solver_->compatibility();
      if (found && !has_solids_) expect_compatible(*found, project, "the integral of f plus the boundary fluxes");
      solver_->set_stop(stop);
      report = solver_->solve(monitor);
      nodal = solver_->nodal_solution();
      bodies = solver_->body_fluxes();
    }
    nb::dict said = dictionary_of(report, setup_seconds_);
    nb::list of_bodies;
    for (const BoxBodyFlux& body : bodies) {
      nb::dict one;
      one["cells"] = body.cells;
      one["volume"] = body.volume;
      one["flux"] = body.flux ? nb::cast(*body.flux) : nb::none();
      one["mean"] = body.mean;
      of_bodies.append(one);
    }
    if (!bodies.empty()) said["bodies"] = of_bodies;
    return nb::make_tuple(numpy_array(std::move(nodal), {nodes(2), nodes(1), nodes(0)}), said);
  }

  /// Of contact bodies the w of 1 / K_dd + w R, of every cell, for d = x, y and z.
  [[nodiscard]] nb::tuple contact_weights() const {
    PoissonProblem3D unit;
    unit.boundaries = problem_.boundaries;
    for (const Body3D& body : problem_.bodies) {
      if (body.kind != BodyKind::contact) continue;
      unit.bodies.push_back(body);
      unit.bodies.back().resistance = 1;
    }
    const TensorMesh<3> box = with_boundaries(*mesh_, problem_.boundaries);
    std::array<std::vector<double>, 3> k;
    for (auto& one : k) one.assign(static_cast<std::size_t>(box.cells()), 1.0);
    set_bodies(ctx_, box, unit, *bodies_on(ctx_, box, unit), k[0], k[1], k[2]);
    const auto weights = [&](std::vector<double> conductance) {
      for (double& one : conductance) one = 1 / one - 1;
      return numpy_array(std::move(conductance),
                         {static_cast<std::size_t>(box.z().size()), static_cast<std::size_t>(box.y().size()),
                          static_cast<std::size_t>(box.x().size())});
    };
    return nb::make_tuple(weights(k[0]), weights(k[1]), weights(k[2]));
  }

  /// In a child process, which does not have the threads of its parent: on a CPU what follows runs on one.
  void after_fork() {
    if (ctx_.on_gpu()) return;
    ctx_ = Context(Backend::cpu, 1);
    solver_.reset();  // it has the threads of before; the next solve makes another one
  }

 private:
  void set_up() {
    PoissonSolver3DParams params;
    // Of f = 0, whose boundary data alone need not balance; every solve looks for itself.
    params.project = project_ || !has_solids_;
    solver_ = std::make_unique<PoissonSolver3D>(ctx_, *mesh_, problem_, params);
  }

  Clock clock_;  // first, to measure what follows
  Context ctx_;
  Mesh mesh_;
  PoissonProblem3D problem_{};
  bool singular_ = false, has_solids_ = false, project_ = false;
  std::string warning_;  // of bodies
  double setup_seconds_ = 0;
  std::unique_ptr<PoissonSolver3D> solver_;
};

}  // namespace

void add_poisson_3d(nb::module_& m) {
  nb::class_<PoissonSystem3D>(m, "PoissonSystem3D", "The compiled part of stratum.Poisson in a box.")
      .def(
          "__init__",
          [](PoissonSystem3D* self, const TensorMesh<3>& mesh, nb::tuple left, nb::tuple right, nb::tuple bottom,
             nb::tuple top, nb::tuple front, nb::tuple back, const nb::object& xx, const nb::object& yy,
             const nb::object& zz, double reaction, const nb::list& bodies, const std::string& device, int threads) {
            new (self) PoissonSystem3D(mesh,
                                       {std::move(left), std::move(right), std::move(bottom), std::move(top),
                                        std::move(front), std::move(back)},
                                       {xx, yy, zz}, reaction, bodies, device, threads);
          },
          nb::arg("mesh"), nb::arg("left"), nb::arg("right"), nb::arg("bottom"), nb::arg("top"), nb::arg("front"),
          nb::arg("back"), nb::arg("kxx").none(), nb::arg("kyy").none(), nb::arg("kzz").none(), nb::arg("reaction"),
          nb::arg("bodies"), nb::arg("device"), nb::arg("threads"))
      .def(
          "solve",
          [](PoissonSystem3D& self, const nb::object& f, double rtol, double atol, int maxiter,
             const std::optional<std::string>& reference_norm, bool project, const nb::object& callback,
             bool integrals) {
            return self.solve(f, stopping_of(rtol, atol, maxiter, reference_norm), project, callback, integrals);
          },
          nb::arg("f"), nb::arg("rtol"), nb::arg("atol"), nb::arg("maxiter"), nb::arg("reference_norm").none(),
          nb::arg("project"), nb::arg("callback").none(), nb::arg("integrals") = false)
      .def("contact_weights", &PoissonSystem3D::contact_weights)
      .def("after_fork", &PoissonSystem3D::after_fork)
      .def_prop_ro("singular", &PoissonSystem3D::is_singular_problem)
      .def_prop_ro("warning", &PoissonSystem3D::warning);
}

}  // namespace stratum::python
