#include <stratum/multigrid/box_solids.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/assembly/box_points.hpp>
#include <stratum/assembly/points.hpp>
#include <stratum/assembly/room_balance.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas_3d.hpp>
#include <stratum/multigrid/box_plan.hpp>
#include <stratum/multigrid/box_slabs.hpp>
#include <stratum/multigrid/room_parts.hpp>
#include <stratum/solvers/mixed/precision_cast.hpp>

namespace stratum {

namespace {

using Values = std::vector<double>;

/// Bands on the host, of a slab with the planes beside it.
struct HostBands {
  BoxShape shape;
  std::vector<Values> band;  // 0: what is left of rows

  HostBands(Context& ctx, const BoxBands<double>& bands) : shape(bands.rows().shape) {
    shape.n.nz = shape.stored_planes();
    for (int n = 0; n <= box_neighbours; ++n) {
      band.emplace_back(static_cast<std::size_t>(shape.n.nx) * static_cast<std::size_t>(shape.n.ny) *
                        static_cast<std::size_t>(shape.n.nz));
      copy_to_host<double>(ctx, FieldView<const double, 3>(bands.stored_band(n)), band.back().data());
    }
  }
  void put(Context& ctx, const BoxBands<double>& bands) const {
    for (int n = 0; n <= box_neighbours; ++n)
      copy_from_host<double>(ctx, band[static_cast<std::size_t>(n)].data(), bands.stored_band(n));
  }
  /// use(unknown, neighbour, entry) of every pair.
  template <class Use>
  void for_each_pair(const Use& use) {
    const auto& [nx, ny, nz] = shape.n;
    const auto wrap = [&](int axis, int i) {
      const int n = shape.size(axis);
      return shape.periodic[static_cast<std::size_t>(axis)] ? (i + n) % n : i;
    };
    for (int n = 1; n <= box_neighbours; ++n) {
      const BoxOffset o(n);
      std::size_t own = 0;
      for (int k = 0; k < nz; ++k)
        for (int j = 0; j < ny; ++j)
          for (int i = 0; i < nx; ++i, ++own) {
            const int x = wrap(0, i + o.x), y = wrap(1, j + o.y), z = wrap(2, k + o.z);
            if (x < 0 || x >= nx || y < 0 || y >= ny || z < 0 || z >= nz) continue;
            const auto other =
                (static_cast<std::size_t>(z) * static_cast<std::size_t>(ny) + static_cast<std::size_t>(y)) *
                    static_cast<std::size_t>(nx) +
                static_cast<std::size_t>(x);
            use(own, other, band[static_cast<std::size_t>(n)][own]);
          }
    }
  }
  [[nodiscard]] Values diagonal() {
    Values sums = band[0];
    for_each_pair([&](std::size_t own, std::size_t other, double a) {
      sums[own] -= a;
      sums[other] -= a;
    });
    return sums;
  }
};

/// Nodes that are `fixed`, of all stored planes, lose their couplings, which others keep on the diagonal where the node has a value; their own is next
/// to nothing.
BoxBands<double> decoupled(Context& ctx, const BoxMatrix<double>& a, const std::vector<char>& fixed) {
  BoxBands<double> bands = bands_of(ctx, a);
  if (ctx.is_dry_run()) return bands;
  if (a.shape().is_slab()) bands.fill_ghosts(ctx);
  HostBands host(ctx, bands);
  double least = HUGE_VAL;
  const Values diagonal = host.diagonal();
  // Of the slab's own planes, and of all ranks'.
  const auto plane = static_cast<std::size_t>(a.shape().n.nx) * static_cast<std::size_t>(a.shape().n.ny),
             first = plane * static_cast<std::size_t>(a.shape().slab.before),
             end = first + plane * static_cast<std::size_t>(a.shape().n.nz);
  for (std::size_t n = first; n < end; ++n)
    if (fixed[n] == 0 && diagonal[n] > 0) least = std::min(least, diagonal[n]);
  if (a.shape().is_slab())
    for (const double of_rank : ctx.communicator()->gather_on_host(least)) least = std::min(least, of_rank);
  host.for_each_pair([&](std::size_t own, std::size_t other, double& entry) {
    if (fixed[own] == 0 && fixed[other] == 0) return;
    if (fixed[own] == 0) host.band[0][own] -= entry;
    if (fixed[other] == 0) host.band[0][other] -= entry;
    entry = 0;
  });
  for (std::size_t n = 0; n < fixed.size(); ++n)
    if (fixed[n] != 0) host.band[0][n] = conductance_of_solids * least;
  host.put(ctx, bands);
  bands.fill_ghosts(ctx);
  ctx.synchronise();
  return bands;
}

}  // namespace

BoxSolids::BoxSolids(Context& ctx, const TensorMesh<3>& mesh, const PoissonProblem3D& problem,
                     const BoxMaterial& material, const BoxCoefficients& c, const std::vector<int>& cuts,
                     bool float_cycles, std::optional<double> shift)
    : bodies_(material.bodies), rooms_(rooms_of(mesh, problem, *bodies_)), gate_(gate_of(mesh, material)), cuts_(cuts),
      float_cycles_(float_cycles), singular_(rooms_.any_singular()),
      free_(!bodies_->has_held_cells && rooms_.all_singular()), cells_(BoxCells<double>(ctx, c, material.yy.empty())) {
  if (shift)
    for (BoxRooms::Room& room : rooms_.rooms) room.singular = false;
  std::vector<char> fixed, given;
  const BoxShape& own = cells_.shape();
  const auto node_at = [&](int i, int j, int k) {
    const auto place = [&](int d, int unknown) {
      return static_cast<std::size_t>(unknown + mesh.axis(d).first_unknown());
    };
    return bodies_->node_number(place(0, i), place(1, j), place(2, k));
  };
  // use(node) of planes of unknowns begin .. end - 1 of the whole box, or around it
  const auto for_each_node_of_planes = [&](int begin, int end, const auto& use) {
    const int all = own.all_planes();
    for (int k = begin; k < end; ++k)
      for (int j = 0; j < own.n.ny; ++j)
        for (int i = 0; i < own.n.nx; ++i) use(node_at(i, j, (k % all + all) % all));
  };
  const BoxSlab& slab = own.slab;
  for_each_node_of_planes(slab.first - slab.before, slab.first + own.n.nz + slab.behind, [&](std::size_t node) {
    fixed.push_back(bodies_->node[node] == BoxBodies::unknown ? 0 : 1);
    given.push_back(bodies_->node[node] == BoxBodies::given ? 1 : 0);
  });
  for_each_node_of_planes(slab.first, slab.first + own.n.nz, [&](std::size_t node) {
    const int room = rooms_.of_node[node];
    const bool singular = room >= 0 && rooms_.rooms[static_cast<std::size_t>(room)].singular;
    node_of_unknown_.push_back(node);
    in_rooms_.room.push_back(singular ? room : -1);
    in_rooms_.integral.push_back(rooms_.integral[node]);
  });
  for_each_node_of_planes(0, own.all_planes(), [&](std::size_t node) { of_unknown_.push_back(rooms_.of_node[node]); });
  const BoxBands<double> bands = decoupled(ctx, cells_, fixed);
  matrix_ = bands;
  matrix_of_cycle_ = [bands](Context& /*ctx*/) { return bands; };
  if (bodies_->has_empty_cells) {
    BoxCoefficients conducting = c;
    for (const auto& [of_box, k] :
         {std::pair{&material.xx, &conducting.xx}, {&material.yy, &conducting.yy}, {&material.zz, &conducting.zz}}) {
      double least = HUGE_VAL;
      for (const double value : *of_box)
        if (value > 0) least = std::min(least, value);
      std::replace(k->begin(), k->end(), 0.0, conductance_of_solids * least);
    }
    matrix_of_cycle_ = [conducting = std::move(conducting), given, scalar = material.yy.empty()](Context& there) {
      return decoupled(there, BoxCells<double>(there, conducting, scalar), given);
    };
  }
  if (!shift) {
    make_cycle(ctx);
    if (!has_float_cycle()) matrix_of_cycle_ = {};
    return;
  }
  const BoxBands<double> of_cycle = bodies_->has_empty_cells ? matrix_of_cycle_(ctx) : decoupled(ctx, cells_, fixed);
  matrix_of_cycle_ = {};
  const GridLayout<3> box = GridLayout<3>::box(own.n, {}, 0);
  masses_ = Field<double, 3>(ctx, box);
  if (!ctx.is_dry_run()) copy_from_host<double>(ctx, masses().data(), masses_.view());
  for (auto [to, from] : {std::pair{&of_matrix_, &bands}, {&of_cycle_, &of_cycle}}) {
    to->emplace(Shifted{*from, Field<double, 3>(ctx, box)});
    if (!ctx.is_dry_run()) copy<double, double>(ctx, FieldView<const double, 3>(from->band(0)), (*to)->of_rows.view());
  }
  (void)set_shift(ctx, *shift);
}

template <class T>
std::shared_ptr<BoxMultigrid<T>> BoxSolids::multigrid(Context& ctx) const {
  return std::make_shared<BoxMultigrid<T>>(
      ctx, of_cycle_ ? of_cycle_->bands : matrix_of_cycle_(ctx), gate_,
      BoxMultigridParams{.gate = {}, .singular = free_ && !of_cycle_, .cuts = cuts_});
}

std::shared_ptr<Preconditioner<double>> BoxSolids::projected(Context& ctx,
                                                             std::shared_ptr<Preconditioner<double>> cycle) const {
  const BoxShape& own = matrix_.shape();
  const GridLayout<2> shape = rows_of(own);
  const std::size_t before = static_cast<std::size_t>(own.slab.first) * static_cast<std::size_t>(own.n.nx) *
                             static_cast<std::size_t>(own.n.ny);
  return std::make_shared<PartsProjected>(
      ctx, shape, PartMeans(ctx, shape, parts_of_rooms(rooms_.rooms, of_unknown_, before, unknowns())),
      std::move(cycle));
}

void BoxSolids::make_cycle(Context& ctx) {
  const auto take = [&](const auto& made) {
    distributed_ = made->distributed_levels();
    return made;
  };
  if (has_float_cycle()) {
    try {
      cycle_ = projected(ctx, std::make_shared<PrecisionCast<double, float>>(ctx, rows_of(matrix_.shape()),
                                                                             take(multigrid<float>(ctx))));
      return;
    } catch (const BreakdownError&) {
      float_cycles_ = false;  // as in BoxIteration
    }
  }
  cycle_ = projected(ctx, take(multigrid<double>(ctx)));
}

std::shared_ptr<Preconditioner<double>> BoxSolids::cycle_in_double(Context& ctx) const {
  return projected(ctx, multigrid<double>(ctx));
}

void BoxSolids::Shifted::set(Context& ctx, const Field<double, 3>& masses, double to) {
  shift = to;
  if (ctx.is_dry_run()) return;
  copy<double, double>(ctx, of_rows.cview(), bands.band(0));
  axpy<double, double>(ctx, shift, masses.cview(), bands.band(0));
  bands.fill_ghosts(ctx);
}

bool BoxSolids::set_shift(Context& ctx, double shift) {
  of_matrix_->set(ctx, masses_, shift);
  // Levels that depend on the shift alone: a run goes on from a state with the same bits.
  const double of_levels = PoissonSolver3D::levels_reaction(shift);
  if (cycle_ != nullptr && of_levels == of_cycle_->shift) return false;
  cycle_.reset();  // makes room
  of_cycle_->set(ctx, masses_, of_levels);
  make_cycle(ctx);
  return true;
}

std::vector<double> BoxSolids::masses(BoxBodies::Node kind) const {
  Values found(unknowns());
  for (std::size_t k = 0; k < found.size(); ++k)
    found[k] = bodies_->node[node_of_unknown_[k]] == kind ? in_rooms_.integral[k] : 0;
  return found;
}
std::vector<double> BoxSolids::kept() const {
  Values found(unknowns());
  for (std::size_t k = 0; k < found.size(); ++k)
    found[k] = bodies_->node[node_of_unknown_[k]] == BoxBodies::unknown ? 1 : 0;
  return found;
}
std::vector<double> BoxSolids::held_values(const TensorMesh<3>& mesh, const PoissonProblem3D& problem) const {
  Values found(unknowns(), 0.0);
  if (!bodies_->has_held_cells) return found;
  const std::size_t columns = bodies_->cells_of_axes[0] + 1, rows = bodies_->cells_of_axes[1] + 1;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::size_t node = node_of_unknown_[k];
    if (bodies_->node[node] != BoxBodies::given) continue;
    const Point3D p = node_point(mesh, static_cast<int>(node % columns), static_cast<int>(node / columns % rows),
                                 static_cast<int>(node / (columns * rows)));
    found[k] = evaluate(problem.bodies[static_cast<std::size_t>(bodies_->holder[node])].value, p, "value of a body");
  }
  return found;
}
double BoxSolids::integral(const Context& ctx, const std::vector<double>& nodal, int first_plane) const {
  double sum = 0;
  const std::size_t before = bodies_->node_number(0, 0, static_cast<std::size_t>(first_plane));
  // The last plane is the next rank's first one.
  const bool is_last = ctx.subdomains() == 1 || ctx.communicator()->rank() + 1 == ctx.subdomains();
  const std::size_t end = nodal.size() - (is_last ? 0 : bodies_->node_number(0, 0, 1));
  for (std::size_t n = 0; n < end; ++n)
    if (rooms_.integral[before + n] > 0) sum += rooms_.integral[before + n] * nodal[n];
  return sums_of_ranks(ctx, {sum}).front();
}

void BoxSolids::set_values(Context& ctx, FieldView<double, 3> x) const {
  if (!bodies_->has_held_cells) return;
  Values values(unknowns());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = bodies_->value[node_of_unknown_[k]];
  copy_from_host<double>(ctx, values.data(), x);
}

std::vector<Compatibility> BoxSolids::make_rhs(Context& ctx, bool project, FieldView<double, 3> r) const {
  Values values(unknowns());
  copy_to_host<double>(ctx, FieldView<const double, 3>(r), values.data());
  for (std::size_t k = 0; k < values.size(); ++k)
    if (bodies_->node[node_of_unknown_[k]] != BoxBodies::unknown) values[k] = 0;
  const auto found = balance_in_rooms(rooms_.rooms.size(), in_rooms_, values,
                                      [&](Values own) { return sums_of_ranks(ctx, std::move(own)); });
  expect_balanced(rooms_.rooms, found, project);
  copy_from_host<double>(ctx, values.data(), r);
  std::vector<Compatibility> of_singular;
  for (std::size_t n = 0; n < found.size(); ++n)
    if (rooms_.rooms[n].singular) of_singular.push_back(found[n]);
  return of_singular;
}

void BoxSolids::complete(Context& ctx, FieldView<double, 3> x) const {
  Values values(unknowns());
  copy_to_host<double>(ctx, FieldView<const double, 3>(x), values.data());
  std::array<double, 2> some{};  // the value of the first unknown, where there is one
  for (std::size_t k = values.size(); k-- > 0;)
    if (bodies_->node[node_of_unknown_[k]] == BoxBodies::unknown) some = {1, values[k]};
  subtract_means_in_rooms(rooms_.rooms.size(), in_rooms_, values,
                          [&](Values own) { return sums_of_ranks(ctx, std::move(own)); });
  if (ctx.subdomains() > 1) {
    const auto of_ranks = ctx.communicator()->gather_on_host(some);
    const auto first =
        std::find_if(of_ranks.begin(), of_ranks.end(), [](const auto& of_rank) { return of_rank[0] > 0; });
    if (first != of_ranks.end()) some = *first;
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::size_t node = node_of_unknown_[k];
    if (bodies_->node[node] == BoxBodies::given)
      values[k] = bodies_->value[node];
    else if (bodies_->node[node] == BoxBodies::inactive)
      values[k] = some[1];
  }
  copy_from_host<double>(ctx, values.data(), x);
}

void BoxSolids::hide_inactive(std::vector<double>& nodal, int first_plane) const {
  const std::size_t before = bodies_->node_number(0, 0, static_cast<std::size_t>(first_plane));
  for (std::size_t n = 0; n < nodal.size(); ++n)
    if (bodies_->node[before + n] == BoxBodies::inactive) nodal[n] = std::nan("");
}

void BoxSolids::add_fluxes(Context& ctx, FieldView<const double, 3> b, FieldView<const double, 3> x,
                           FieldView<double, 3> r, std::vector<BoxBodyFlux>& of_bodies) const {
  cells_.residual(ctx, b, x, r);
  Values residual(unknowns());
  copy_to_host<double>(ctx, FieldView<const double, 3>(r), residual.data());
  Values fluxes(of_bodies.size(), 0.0), nodes(fluxes);
  for (std::size_t k = 0; k < residual.size() && bodies_->has_held_cells; ++k)
    if (const int holder = bodies_->holder[node_of_unknown_[k]]; holder >= 0) {
      fluxes[static_cast<std::size_t>(holder)] -= residual[k];
      ++nodes[static_cast<std::size_t>(holder)];
    }
  fluxes = sums_of_ranks(ctx, std::move(fluxes));
  nodes = sums_of_ranks(ctx, std::move(nodes));
  const double of_residual = 2 * std::numeric_limits<double>::epsilon() * cells_.magnitude(ctx, b, x);
  for (std::size_t n = 0; n < of_bodies.size(); ++n) {
    if (bodies_->kinds[n] == BodyKind::value || bodies_->kinds[n] == BodyKind::no_flux) of_bodies[n].flux = fluxes[n];
    of_bodies[n].rounding = of_residual * std::sqrt(nodes[n]);
  }
}

BoxIteration::MakeCycle in_double(const BoxSolids& solids) {
  if (!solids.has_float_cycle()) return {};
  return [&solids](Context& ctx) { return solids.cycle_in_double(ctx); };
}

}  // namespace stratum
