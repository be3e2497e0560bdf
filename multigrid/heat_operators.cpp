#include <stratum/multigrid/heat_operators.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include <stratum/assembly/films.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/multigrid/identity_rows.hpp>
#include <stratum/multigrid/poisson_solver_bodies.hpp>
#include <stratum/multigrid/transfer/operator_dependent.hpp>

namespace stratum {

namespace {

std::optional<double> constant_of(const std::vector<double>& values) {
  const double first = values.front();
  if (std::all_of(values.begin(), values.end(), [first](double value) { return value == first; })) return first;
  return std::nullopt;
}

/// K = 0, and c the capacity.
CellCoefficients mass_coefficients(const CellCoefficients& k, const std::vector<double>& capacity) {
  return {k.nx, k.ny, std::vector<double>(capacity.size(), 0.0), {}, {}, capacity};
}

TensorMesh<2> first_cell(const TensorMesh<2>& mesh) {
  const auto first = [](const Axis& line) {
    return Axis(std::vector<double>{line.widths().front()}).starting_at(line.origin());
  };
  return {first(mesh.x()), first(mesh.y()), mesh.name()};
}

/// In y, by this factor.
TensorMesh<2> stretched(const TensorMesh<2>& mesh, double factor) {
  const Axis& y = mesh.y();
  std::vector<double> widths = y.widths();
  for (double& width : widths) width *= factor;
  return {mesh.x(), Axis(std::move(widths), factor * y.length()).with_boundaries(y.first_boundary(), y.last_boundary()),
          mesh.name()};
}

Field<double> reaction_of(Context& ctx, const TensorMesh<2>& mesh, const CellFields& fields) {
  return std::move(Conductances(ctx, mesh, fields).reaction);
}

/// sum = a + s mass, of one form.
void add(Context& ctx, const GridOperator<double>& a, double s, const GridOperator<double>& mass,
         GridOperator<double>& sum) {
  if (ctx.is_dry_run()) return;  // whose vectors all lie in one place
  std::visit(
      [&](auto& to) {
        using Format = std::decay_t<decltype(to)>;
        const auto from = std::get<Format>(std::as_const(a).storage()).parts();
        const auto more = std::get<Format>(mass.storage()).parts();
        const auto parts = to.parts();
        const auto has_mass = [&to](const FieldView<double>& part) {
          if constexpr (requires { to.m; })
            return part.data == &to.m.view()(0, to.first_row());
          else
            return Format::View::has_bands;
        };
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if (parts[k].data == nullptr) continue;
          copy(ctx, from[k], parts[k]);
          if (has_mass(parts[k])) axpy(ctx, s, more[k], parts[k]);
          if (Format::View::has_bands) exchange(ctx, sum.shape(), parts[k]);
        }
      },
      sum.storage());
}

}  // namespace

HeatOperators::HeatOperators(Context& ctx, const Geometry& mesh, const HeatProblem& problem, double t, double s,
                             const PoissonSolverParams& params, const SmootherRegistry& registry)
    : mesh_(mesh), stretched_(mesh.logical()),
      subdomain_(PartitionLevels(ctx, mesh_hierarchy(mesh.logical()), params.multigrid.partition()).finest()),
      problem_(problem), t_(t), s_(s), varies_(coefficients_vary(problem)) {
  expects(params.precision == Precision::mixed || params.precision == Precision::full,
          "steps in time are not for single or double-single precision: take mixed or double");
  expects(!params.full_multigrid, "an FMG cycle takes no start, which a step in time has; take cycles");
  // Of numbers one cell knows all.
  const Coefficients now = coefficients_are_numbers(mesh, problem, t) && !problem.lumped
                               ? at(ctx, first_cell(mesh.logical()), t)
                               : at(ctx, mesh, t);
  const bool constant = !mesh_.mapped() && now.k.xy.empty() && constant_of(now.k.xx) &&
                        (now.k.yy.empty() || constant_of(now.k.yy)) && constant_of(now.k.c) &&
                        constant_of(now.capacity);
  if (now.k.bodies && now.k.bodies->has_solids())
    make_around_bodies(ctx, now, params, registry);
  else if (constant && !varies_ && !now.terms.varies() && !problem_.lumped)
    make_tensor(ctx, now, params, registry);
  else
    make_cells(ctx, now, params, registry);
  find_boundary_types(t, now);
  if (solver_->fine_operator().traits().has_bands) {
    const bool of_all = now.k.nx == mesh_.logical().x().size() && now.k.ny == mesh_.logical().y().size();
    lost_ = stratum::round_off_of_films(mesh_, of_all ? &now.k : nullptr, 0);
  }
  if (problem.capacity.constant || constant) return;
  if (!mesh_.mapped()) {
    even_mass_ = assemble_mass(ctx, mesh_.logical(), 1, subdomain_);
    return;
  }
  const auto even = mass_coefficients(now.k, std::vector<double>(now.capacity.size(), 1.0));
  even_mass_ =
      assemble_diffusion(ctx, *mesh_.mapped(), MappedCells(ctx, *mesh_.mapped(), &even), OperatorTerms(), subdomain_);
}

HeatOperators::Coefficients HeatOperators::at(Context& ctx, const Geometry& cells, double t) const {
  const PoissonProblem now = at_time(problem_, t);
  Coefficients found{on_cells(ctx, cells, now.diffusion, now.reaction_of_cells), {}, operator_terms(mesh_, now)};
  found.capacity = capacity_on_cells(ctx, cells, at_time(problem_.capacity, t), &found.k.averaged);
  found.k.c.resize(found.k.xx.size(), 0.0);
  for (double& c : found.k.c) c += now.reaction;
  found.terms.reaction = 0;
  const auto map = bodies_on(ctx, cells, now);
  if (!map) return found;
  set_bodies(ctx, cells, now.bodies, map, 0, found.k);
  found.k.c.resize(found.k.xx.size(), 0.0);
  for (std::size_t c = 0; c < map->cell.size(); ++c)
    if (map->cell[c] != BodyMap::live) found.capacity[c] = 0;
  return found;
}

void HeatOperators::make_tensor(Context& ctx, const Coefficients& now, PoissonSolverParams params,
                                const SmootherRegistry& registry) {
  const double kxx = now.k.xx.front(), kyy = now.k.kyy(0, 0), of_x = 1 / kxx;
  if (kxx != kyy) stretched_ = stretched(mesh_.logical(), std::sqrt(kxx / kyy));
  const TensorMesh<2>& mesh = stretched_;
  scale_ = kxx == kyy ? of_x : 1 / (std::sqrt(kxx) * std::sqrt(kyy));
  reaction_ = of_x * now.k.c.front();
  capacity_ = of_x * now.capacity.front();
  OperatorTerms terms = now.terms;
  terms.left.constant *= of_x;
  terms.right.constant *= of_x;
  terms.bottom.constant *= scale_;
  terms.top.constant *= scale_;
  terms.reaction = reaction_;
  a_ = assemble_operator<double>(ctx, mesh, StorageFormat::tensor, terms, subdomain_);
  mass_ = assemble_mass(ctx, mesh, capacity_, subdomain_);
  // Made with a small mass term, whatever the first step: a direct solve of a coarse level rounds stiffness beside it.
  const double length = std::max(mesh.x().length(), mesh.y().length());
  terms.reaction += 1 / (length * length);
  params.format = StorageFormat::tensor;
  params.terms = terms;
  solver_.emplace(ctx, StructuredProblem{.mesh = mesh}, params, registry);
  if (!ctx.is_dry_run()) solver_->set_reaction(ctx, reaction_ + s_ * capacity_);
}

void HeatOperators::make_cells(Context& ctx, const Coefficients& now, PoissonSolverParams params,
                               const SmootherRegistry& registry) {
  const TensorMesh<2>& mesh = mesh_.logical();
  if (mesh_.mapped()) {
    assemble_quadrilaterals(ctx, now);
    sum_ = assemble_diffusion(ctx, *mesh_.mapped(), MappedCells(ctx, *mesh_.mapped(), &now.k), now.terms, subdomain_);
    params.multigrid.cycle = params.multigrid.cycle.value_or(Cycle::v);  // widths are not asked
  } else {
    const Coefficient &xy = problem_.space.diffusion.xy, &yy = problem_.space.diffusion.yy;
    // What K may become.
    const auto& bodies = problem_.space.bodies;
    const bool of_body =
        std::any_of(bodies.begin(), bodies.end(), [](const Body& body) { return body.kxy || body.kyy; });
    const auto least = varies_ && (xy.is_given() || of_body) ? CellTensor::full
                       : varies_ && yy.is_given()            ? CellTensor::diagonal
                                                             : CellTensor::scalar;
    const auto tensor = std::max(least, cell_tensor(mesh, now.k));
    const bool bands = now.terms.varies() || alpha_may_vary() || problem_.lumped;
    const auto format = bands ? StorageFormat::symmetric : StorageFormat::cell;
    has_films_ = problem_.lumped && has_films(now);
    const CellCoefficients mass = mass_coefficients(now.k, now.capacity);
    fields_.emplace(ctx, mesh, now.k);
    fields_of_mass_.emplace(ctx, mesh, mass);
    a_ = assemble_cells(ctx, mesh, *fields_, now.terms, tensor, format, subdomain_);
    mass_ = assemble_cells(ctx, mesh, *fields_of_mass_, {}, CellTensor::scalar, format, subdomain_);
    sum_ = assemble_cells(ctx, mesh, *fields_, now.terms, tensor, format, subdomain_);
    bands_of_a_ = a_;
    if (has_films_) {
      a_ = assemble_cells(ctx, mesh, *fields_, now.terms, tensor, StorageFormat::cell, subdomain_);
      by_differences_ = std::make_shared<SumByDifferences>(ctx, a_, nullptr);
    }
    conductances_.emplace(ctx, mesh, *fields_);
    reaction_of_a_ = reaction_of(ctx, mesh, *fields_);
    reaction_of_mass_ = reaction_of(ctx, mesh, *fields_of_mass_);
  }
  lump(ctx, t_, now, mass_);
  add_up(ctx);
  if (!params.method) params.method = Method::cg;
  params.multigrid.symmetric = true;
  params.multigrid.singular = false;
  params.coefficients = nullptr;
  solver_.emplace(ctx,
                  StructuredProblem{
                      .mesh = mesh, .matrix = sum_, .conductances = &*conductances_, .by_differences = by_differences_},
                  params, registry);
}

GridOperator<double> HeatOperators::bands(Context& ctx, const CellCoefficients& k, const OperatorTerms& terms) const {
  GridOperator<double> a;
  const TensorMesh<2>& mesh = mesh_.logical();
  if (mesh_.mapped())
    a = assemble_diffusion(ctx, *mesh_.mapped(), MappedCells(ctx, *mesh_.mapped(), &k), terms, subdomain_);
  else
    a = assemble_cells(ctx, mesh, CellFields(ctx, mesh, k), terms, cell_tensor(mesh, k), StorageFormat::symmetric,
                       subdomain_);
  ctx.synchronise();  // the fields of K may be gone before the stream is here
  return a;
}

GridOperator<double> HeatOperators::cells(Context& ctx, const CellCoefficients& k, const OperatorTerms& terms) const {
  const TensorMesh<2>& mesh = mesh_.logical();
  GridOperator<double> a =
      assemble_cells(ctx, mesh, CellFields(ctx, mesh, k), terms, cell_tensor(mesh, k), StorageFormat::cell, subdomain_);
  ctx.synchronise();  // as above
  return a;
}

bool HeatOperators::alpha_may_vary() const {
  const auto& [left, right, bottom, top] = problem_.space.boundaries;
  return varies_ && (has_alpha(left.kind) || has_alpha(right.kind) || has_alpha(bottom.kind) || has_alpha(top.kind));
}

bool HeatOperators::has_films(const Coefficients& now) const {
  return !mesh_.mapped() && !now.terms.varies() && !alpha_may_vary() &&
         stratum::round_off_of_films(mesh_, &now.k, 0) > film;
}

/// All but their sum.
void HeatOperators::assemble_around_bodies(Context& ctx, const Coefficients& now) {
  Solids& solids = *solids_;
  const BodyMap& map = *now.k.bodies;
  const CellCoefficients mass = mass_coefficients(now.k, now.capacity);
  bands_of_a_ = bands(ctx, now.k, now.terms);
  mass_ = bands(ctx, mass, {});
  lump(ctx, t_, now, mass_);
  decouple(ctx, solids.keep, bands_of_a_);
  a_ = has_films_ ? cells(ctx, now.k, now.terms) : bands_of_a_;
  decouple(ctx, solids.keep, mass_);
  if (map.has_held()) {
    solids.all_a = has_films_ ? a_ : bands(ctx, now.k, now.terms);
    if (!problem_.lumped) solids.all_mass = bands(ctx, mass, {});
  }
  const CellCoefficients conducting = map.has_empty_cells ? conducting_next_to_nothing(now.k) : now.k;
  if (map.has_empty_cells) {
    solids.cycle_a = bands(ctx, conducting, now.terms);
    solids.cycle_m = bands(ctx, mass, {});
    lump(ctx, t_, now, solids.cycle_m);
    if (map.has_held()) {
      decouple(ctx, solids.not_given, solids.cycle_a);
      decouple(ctx, solids.not_given, solids.cycle_m);
    }
  }
  const auto conductances_of = [&](const CellCoefficients& k) {
    Conductances made = mesh_.mapped() ? Conductances(ctx, *mesh_.mapped(), MappedCells(ctx, *mesh_.mapped(), &k))
                                       : Conductances(ctx, mesh_.logical(), CellFields(ctx, mesh_.logical(), k));
    ctx.synchronise();
    return made;
  };
  reaction_of_mass_ = std::move(conductances_of(mass).reaction);
  conductances_.emplace(conductances_of(conducting));
  reaction_of_a_ = Field<double>(ctx, reaction_of_mass_.shape());
  copy(ctx, conductances_->reaction.cview(), reaction_of_a_.view());
}

void HeatOperators::make_around_bodies(Context& ctx, const Coefficients& now, PoissonSolverParams params,
                                       const SmootherRegistry& registry) {
  const TensorMesh<2>& mesh = mesh_.logical();
  const BodyMap& map = *now.k.bodies;
  solids_.emplace();
  Solids& solids = *solids_;
  SingularParts parts;  // none; nodes that are no unknowns
  std::vector<double> keeps, not_given;
  for (int j = 0; j < subdomain_.ny; ++j)
    for (int i = 0; i < subdomain_.nx; ++i) {
      const int node = map.node_at(i + mesh.x().first_unknown(), j + subdomain_.origin_y);
      keeps.push_back(node == BodyMap::unknown ? 1 : 0);
      not_given.push_back(node == BodyMap::given ? 0 : 1);
      parts.of_node.push_back(node == BodyMap::unknown ? SingularParts::regular : SingularParts::fixed);
    }
  const auto field = [&](const std::vector<double>& values) {
    Field<double> made(ctx, subdomain_);
    if (!ctx.is_dry_run()) copy_from_host(ctx, values.data(), made.view());
    exchange(ctx, made);
    return made;
  };
  solids.keep = field(keeps);
  solids.not_given = field(not_given);
  solids.keep_rows = std::make_shared<Field<double>>(ctx, GridLayout<2>::flat(static_cast<int>(subdomain_.nodes())));
  if (!ctx.is_dry_run()) copy_from_host(ctx, keeps.data(), solids.keep_rows->view());
  has_films_ = has_films(now);
  solids.conducts = map.has_empty_cells;
  solids.product = Field<double>(ctx, subdomain_);
  assemble_around_bodies(ctx, now);
  if (has_films_) by_differences_ = std::make_shared<SumByDifferences>(ctx, a_, solids.keep_rows);
  sum_ = bands(ctx, now.k, now.terms);
  if (solids.conducts) solids.cycle_sum = bands(ctx, now.k, now.terms);
  add_up(ctx);
  if (!params.method) params.method = Method::cg;
  params.multigrid.symmetric = true;
  params.multigrid.singular = false;
  params.multigrid.cycle = params.multigrid.cycle.value_or(Cycle::v);
  params.coefficients = nullptr;
  StructuredProblem problem{.mesh = mesh,
                            .matrix = solids.conducts ? solids.cycle_sum : sum_,
                            .conductances = &*conductances_,
                            .identity_rows = map.has_held(),
                            .by_differences = by_differences_};
  if (solids.conducts) {
    problem.iterated_on = sum_;
    problem.means = PartMeans(ctx, subdomain_, parts);
  }
  solver_.emplace(ctx, std::move(problem), params, registry);
}

void HeatOperators::subtract_held(Context& ctx, const Field<double>& g, const Field<double>& k,
                                  FieldView<double> y) const {
  solids_->all_a.apply(ctx, g.cview(), solids_->product.view());
  axpy(ctx, -1.0, solids_->product.cview(), y);
  if (problem_.lumped) return;
  solids_->all_mass.apply(ctx, k.cview(), solids_->product.view());
  axpy(ctx, -1.0, solids_->product.cview(), y);
}

/// All but their sum.
void HeatOperators::assemble_quadrilaterals(Context& ctx, const Coefficients& now) {
  const MappedMesh& mesh = *mesh_.mapped();
  a_ = bands_of_a_ = mass_ = {};  // makes room
  const auto assemble = [&](const CellCoefficients& k, const OperatorTerms& terms, GridOperator<double>& to) {
    const MappedCells cells(ctx, mesh, &k);
    to = assemble_diffusion(ctx, mesh, cells, terms, subdomain_);
    conductances_.emplace(ctx, mesh, cells);
  };
  assemble(mass_coefficients(now.k, now.capacity), {}, mass_);
  reaction_of_mass_ = std::move(conductances_->reaction);
  assemble(now.k, now.terms, a_);
  bands_of_a_ = a_;
  reaction_of_a_ = Field<double>(ctx, reaction_of_mass_.shape());
  copy(ctx, conductances_->reaction.cview(), reaction_of_a_.view());
}

void HeatOperators::find_boundary_types(double t, const Coefficients& now) {
  averaged_ = now.k.averaged;
  const bool no_reaction = std::all_of(now.k.c.begin(), now.k.c.end(), [](double c) { return c == 0; });
  const BodyMap* const map = now.k.bodies.get();
  conserves_ = no_reaction && is_singular(mesh_.logical(), now.terms) && (map == nullptr || !map->has_held());
  PoissonProblem boundaries = at_time(problem_, t);
  if (!conductances_) {
    // Numbers, those of the solver.
    const auto take = [](const RobinCoefficient& alpha, BoundaryCondition& side) {
      if (side.alpha) side.alpha = [value = alpha.constant](const Point& /*p*/) { return value; };
    };
    const OperatorTerms& terms = solver_->params().terms;
    take(terms.left, boundaries.boundaries.left);
    take(terms.right, boundaries.boundaries.right);
    take(terms.bottom, boundaries.boundaries.bottom);
    take(terms.top, boundaries.boundaries.top);
    entries_of_a_ = dirichlet_entries(stretched_, boundaries, nullptr, reaction_);
    entries_of_mass_ = dirichlet_mass_entries(stretched_, boundaries, capacity_);
    return;
  }
  entries_of_a_ = dirichlet_entries(mesh_, boundaries, &now.k, 0);
  if (!problem_.lumped) entries_of_mass_ = mass_entries(t, now);
  if (map == nullptr || !map->has_solids()) return;
  const TensorMesh<2>& mesh = mesh_.logical();
  const auto is_of_body = [&](const DirichletEntry& entry) {
    return map->node_at(entry.i + mesh.x().first_unknown(), entry.j + mesh.y().first_unknown()) != BodyMap::unknown;
  };
  std::erase_if(entries_of_a_, is_of_body);
  std::erase_if(entries_of_mass_, is_of_body);
}

std::vector<DirichletEntry> HeatOperators::mass_entries(double t, const Coefficients& now) const {
  PoissonProblem boundaries = at_time(problem_, t);
  for (BoundaryCondition* side : {&boundaries.boundaries.left, &boundaries.boundaries.right,
                                  &boundaries.boundaries.bottom, &boundaries.boundaries.top})
    if (side->alpha) side->alpha = [](const Point& /*p*/) { return 0.0; };
  const CellCoefficients mass = mass_coefficients(now.k, now.capacity);
  return dirichlet_entries(mesh_, boundaries, &mass, 0);
}

void HeatOperators::lump(Context& ctx, double t, const Coefficients& now, GridOperator<double>& mass) const {
  if (!problem_.lumped || ctx.is_dry_run()) return;
  Field<double> ones(ctx, subdomain_), sums(ctx, subdomain_);
  stratum::set(ctx, 1.0, ones.view());
  mass.apply(ctx, ones.cview(), sums.view());
  std::vector<double> diagonal(static_cast<std::size_t>(subdomain_.nodes()));
  copy_to_host(ctx, sums.cview(), diagonal.data());
  const int first = subdomain_.origin_y - mesh_.logical().unknowns().origin_y;
  for (const DirichletEntry& entry : mass_entries(t, now))
    if (entry.j >= first && entry.j < first + subdomain_.ny)
      diagonal[static_cast<std::size_t>(entry.j - first) * static_cast<std::size_t>(subdomain_.nx) +
               static_cast<std::size_t>(entry.i)] += entry.value;
  auto& bands = std::get<SymmetricNineBand<double>>(mass.storage()).band;
  copy_from_host(ctx, diagonal.data(), bands[0].view());
  for (std::size_t k = 1; k < bands.size(); ++k) stratum::set(ctx, 0.0, bands[k].view());
  for (const auto& band : bands) exchange(ctx, band);
}

void HeatOperators::add_up(Context& ctx) {
  add(ctx, bands_of_a_, s_, mass_, sum_);
  if (by_differences_) by_differences_->assign(a_, s_, mass_);
  if (solids_ && solids_->conducts) add(ctx, solids_->cycle_a, s_, solids_->cycle_m, solids_->cycle_sum);
  copy(ctx, reaction_of_a_.cview(), conductances_->reaction.view());
  axpy(ctx, s_, reaction_of_mass_.cview(), conductances_->reaction.view());
}

void HeatOperators::count_memory_of_changes(Context& ctx) {
  if (!varies_) return;
  if (solids_)
    assemble_around_bodies(ctx, at(ctx, mesh_, t_));
  else if (mesh_.mapped())
    assemble_quadrilaterals(ctx, at(ctx, mesh_, t_));
}

bool HeatOperators::set(Context& ctx, double t, double s) {
  const bool moved = varies_ && t != t_;
  if (!moved && s == s_) return false;
  s_ = s;
  if (!conductances_) {
    solver_->set_reaction(ctx, reaction_ + s * capacity_);
    return true;
  }
  if (moved) {
    t_ = t;
    const Coefficients now = at(ctx, mesh_, t);
    if (solids_) {
      assemble_around_bodies(ctx, now);
    } else if (mesh_.mapped()) {
      assemble_quadrilaterals(ctx, now);
    } else {
      const TensorMesh<2>& mesh = mesh_.logical();
      const CellCoefficients mass = mass_coefficients(now.k, now.capacity);
      fields_->assign(ctx, now.k);
      fields_of_mass_->assign(ctx, mass);
      assign_cells(ctx, mesh, now.k, *fields_, now.terms, a_);
      if (has_films_) assign_cells(ctx, mesh, now.k, *fields_, now.terms, bands_of_a_);
      assign_cells(ctx, mesh, mass, *fields_of_mass_, {}, mass_);
      conductances_->assign(ctx, *fields_of_mass_);
      copy(ctx, conductances_->reaction.cview(), reaction_of_mass_.view());
      conductances_->assign(ctx, *fields_);
      copy(ctx, conductances_->reaction.cview(), reaction_of_a_.view());
    }
    if (!solids_) lump(ctx, t, now, mass_);
    find_boundary_types(t, now);
  }
  add_up(ctx);
  if (solids_ && solids_->conducts)
    solver_->update(ctx, solids_->cycle_sum, &*conductances_, sum_);
  else
    solver_->update(ctx, sum_, &*conductances_);
  return true;
}

}  // namespace stratum
