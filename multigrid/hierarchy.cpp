#include <stratum/multigrid/hierarchy.hpp>

#include <algorithm>
#include <array>
#include <variant>

#include <stratum/multigrid/galerkin.hpp>
#include <stratum/multigrid/identity_rows.hpp>

namespace stratum {

std::vector<TensorMesh<2>> mesh_hierarchy(const TensorMesh<2>& fine) {
  std::vector<TensorMesh<2>> meshes{fine};
  while (meshes.back().can_coarsen()) meshes.push_back(meshes.back().coarser());
  std::reverse(meshes.begin(), meshes.end());
  return meshes;
}

TensorMesh<2> uniform_mesh(const GridLayout<2>& unknowns) {
  expects(unknowns.nx >= 1 && unknowns.ny >= 1, "a matrix needs unknowns, not ", unknowns.nx, " x ", unknowns.ny);
  const auto ones = [](int nodes) { return Axis(std::vector<double>(static_cast<std::size_t>(nodes) + 1, 1.0)); };
  return {ones(unknowns.nx), ones(unknowns.ny), "widths not known"};
}

namespace {

/// A level's place in its arrays.
template <class Levels>
const auto& at_level(const Levels& levels, int level, int lowest, const char* what) {
  const int count = static_cast<int>(levels.size());
  expects(level >= lowest && level < count, what, " to ", count - 1, ", not ", level);
  return levels[static_cast<std::size_t>(level)];
}

void expect_cells(const Conductances& k, const TensorMesh<2>& mesh) {
  const GridLayout<2> cells = k.x.shape();
  expects(cells.nx == mesh.x().size() && cells.ny == mesh.y().size(), "conductances of ", cells.nx, " x ", cells.ny,
          " cells do not belong to a mesh of ", mesh.x().size(), " x ", mesh.y().size());
}

/// Of levels below the finest: the one of fewest words.
StorageFormat coarse_format(const std::pair<StorageFormat, OperatorTerms>& assembly) {
  const auto& [format, terms] = assembly;
  return terms.varies() ? format : StorageFormat::tensor;
}

/// Where an operator keeps its coefficients.
std::array<const void*, 9> addresses(const GridOperator<double>& a) {
  std::array<const void*, 9> found{};
  std::visit(
      [&found](const auto& format) {
        const auto parts = format.parts();
        static_assert(parts.size() <= found.size());
        for (std::size_t k = 0; k < parts.size(); ++k) found[k] = parts[k].data;
      },
      a.storage());
  return found;
}

}  // namespace

template <class T>
Hierarchy<T>::State::State(Context& ctx, std::vector<TensorMesh<2>> all, const PartitionLevels& s, bool weighted)
    : meshes(std::move(all)), partition(s), transfer(meshes.size()) {
  for (int l = 1; l < static_cast<int>(meshes.size()); ++l) {
    const GridLayout<2>& fine = partition.unknowns(l);
    const GridLayout<2>& coarse = l == partition.replicated() + 1 ? partition.own() : partition.unknowns(l - 1);
    const auto at = static_cast<std::size_t>(l);
    transfer[at] = weighted ? Transfer<T>::weighted(ctx, meshes[at], meshes[at - 1], fine, coarse)
                            : Transfer<T>(ctx, meshes[at], meshes[at - 1], fine, coarse);
  }
}

template <class T>
Hierarchy<T> Hierarchy<T>::assembled(Context& ctx, const std::vector<TensorMesh<2>>& meshes, StorageFormat format,
                                     const OperatorTerms& terms, const PartitionParams& partition_params) {
  auto state = std::make_shared<State>(ctx, meshes, PartitionLevels(ctx, meshes, partition_params));
  state->traits = {true, stratum::is_singular(meshes.back(), terms)};
  state->assembly = {format, terms};
  Context alone = ctx.alone();
  const int finest = static_cast<int>(meshes.size()) - 1;
  for (int l = 0; l <= finest; ++l)
    state->a.push_back(assemble_operator<T>(
        state->partition.is_distributed(l) ? ctx : alone, meshes[static_cast<std::size_t>(l)],
        l == finest ? format : coarse_format(*state->assembly), terms, state->partition.unknowns(l)));
  state->kept.resize(meshes.size());
  Hierarchy hierarchy(std::move(state));
  hierarchy.keep_in_double(ctx, 0);
  return hierarchy;
}

template <class T>
void Hierarchy<T>::keep_in_double(Context& ctx, int level) {
  if (!state_->assembly) return;
  Context alone = ctx.alone();
  state_->kept[static_cast<std::size_t>(level)] = assemble_operator<double>(
      alone, meshes()[static_cast<std::size_t>(level)], coarse_format(*state_->assembly), state_->assembly->second);
}

/// The levels below the finest one, from it. `k`: other conductances; `parts`: of split sums.
template <class T>
void Hierarchy<T>::form_products(Context& ctx, const Conductances* k, std::optional<SplitParts> parts, State& state) {
  // clang++ before 16 instantiates this for float, too.
  if constexpr (std::is_same_v<T, double>) {
    const bool of_matrix = state.k.size() == state.a.size(), identity_rows = state.traits.identity_rows;
    Context alone = ctx.alone();
    Field<double> diagonal;  // of the finest level
    if (identity_rows) diagonal = hide_identity_rows(ctx, state.a.back());
    for (std::size_t l = state.a.size(); l-- > 1;) {
      const int level = static_cast<int>(l);
      const bool distributed = state.partition.is_distributed(level),
                 to_replicated = distributed && !state.partition.is_distributed(level - 1);
      Context& on = distributed ? ctx : alone;
      if (of_matrix) {
        set_conductance_weights(on, state.a[l], state.k[l], EdgeWeights::matrix, state.transfer[l], identity_rows);
      } else if (k != nullptr) {
        if (parts)
          parts->set_weights(on, state.a[l], *k, state.transfer[l]);
        else
          set_conductance_weights(on, state.a[l], *k, EdgeWeights::conductances, state.transfer[l], identity_rows);
        if (parts && l > 1) {
          parts->coarsen(on, state.transfer[l], state.meshes[l - 1]);
          if (to_replicated) parts->gather(ctx, state.partition);
        }
        coarsen(on, *k, state.k[l - 1]);
        k = &state.k[l - 1];
      }
      GridOperator<double>& product = to_replicated ? state.own : state.a[l - 1];
      galerkin_product(on, state.a[l], state.transfer[l], product);
      if (identity_rows)
        hide_coarse_rows(on, state.a[l], state.transfer[l], state.meshes[l].x().size(), state.meshes[l].y().size(),
                         product);
      if (to_replicated) gather(ctx, state.partition, state.own, state.a[l - 1]);
    }
    if (!identity_rows) return;
    restore_diagonal(ctx, diagonal, state.a.back());
    for (std::size_t l = 0; l + 1 < state.a.size(); ++l)
      firm_identity_rows(state.partition.is_distributed(static_cast<int>(l)) ? ctx : alone, state.a[l]);
  }
}

template <class T>
Hierarchy<T> Hierarchy<T>::galerkin(Context& ctx, const GridOperator<double>& a, const TensorMesh<2>& mesh,
                                    const MatrixTraits& traits, const Interpolation& interpolation,
                                    const PartitionParams& partition_params) requires std::is_same_v<T, double> {
  // clang++ before 16 instantiates this for float, too.
  if constexpr (std::is_same_v<T, double>) {
    const auto meshes = mesh_hierarchy(mesh);
    const PartitionLevels partition(ctx, meshes, partition_params);
    const GridLayout<2> shape = a.shape(), unknowns = partition.finest();
    const bool cuts = ctx.subdomains() > 1;
    expects(shape.nx == unknowns.nx && shape.ny == unknowns.ny, "a mesh of ", mesh.x().size(), " x ", mesh.y().size(),
            " cells has ", unknowns.nx, " x ", unknowns.ny, " unknowns", cuts ? " on this subdomain" : "",
            "; the matrix is for ", shape.nx, " x ", shape.ny);
    expects(!cuts || shape == unknowns, "the matrix of this subdomain must begin at row ", unknowns.origin_y, ", not ",
            shape.origin_y);
    expects(!cuts || !interpolation.by_split_links(),
            "on subdomains of a grid the interpolation does not go by split sums of links");
    const Conductances* k = interpolation.conductances();
    if (k != nullptr) expect_cells(*k, mesh);
    check_coefficients(ctx, a, traits.symmetric);
    auto state = std::make_shared<State>(ctx, meshes, partition, !interpolation.by_widths());
    state->traits = traits;
    if (cuts) state->own = galerkin_operator(ctx, a, partition.own(), traits.symmetric);
    for (const auto& level : state->meshes) {
      const bool finest = &level == &state->meshes.back();
      const GridLayout<2>& unknowns_here = partition.unknowns(static_cast<int>(state->a.size()));
      state->a.push_back(finest ? a : galerkin_operator(ctx, a, unknowns_here, traits.symmetric));
      if (k != nullptr && !finest) state->k.emplace_back(ctx, level, !k->reaction.empty());
      if (k == nullptr && !interpolation.by_widths()) state->k.emplace_back(ctx, level);
    }
    std::optional<SplitParts> parts;
    if (interpolation.split_cells() != nullptr) parts.emplace(ctx, mesh, *interpolation.split_cells(), unknowns);
    if (interpolation.by_split_links()) parts.emplace(ctx, mesh, a);
    state->by_split_sums = parts.has_value();
    form_products(ctx, k, std::move(parts), *state);
    return Hierarchy(std::move(state));
  }
}

template <class T>
Hierarchy<T>::Hierarchy(Context& ctx, const Hierarchy<double>& other) {
  if constexpr (std::is_same_v<T, double>) {
    state_ = other.state_;
  } else if (other.state_->assembly) {
    const auto& [format, terms] = *other.state_->assembly;
    const PartitionLevels& partition = other.partition();
    *this = assembled(ctx, other.meshes(), format, terms, partition.params());
  } else {
    state_ = std::make_shared<State>(ctx, other.meshes(), other.partition(), other.is_weighted());
    state_->traits = other.state_->traits;
    state_->in_double = std::make_shared<Hierarchy<double>>(other);
    Context alone = ctx.alone();
    for (const auto& a : other.state_->a) {
      const bool distributed = partition().is_distributed(static_cast<int>(state_->a.size()));
      state_->a.push_back(convert<T>(distributed ? ctx : alone, a, state_->traits.symmetric));
    }
    round_weights(ctx);
  }
}

template <class T>
const GridOperator<T>& Hierarchy<T>::level_operator(int level) const {
  return at_level(state_->a, level, 0, "level must be between 0");
}

template <class T>
const Transfer<T>& Hierarchy<T>::transfer(int level) const {
  return at_level(state_->transfer, level, 1, "transfers belong to levels 1");
}

template <class T>
const GridOperator<double>& Hierarchy<T>::level_in_double(int level) const {
  if (state_->assembly) return at_level(state_->kept, level, 0, "level must be between 0");
  if constexpr (std::is_same_v<T, double>)
    return level_operator(level);
  else
    return state_->in_double->level_operator(level);
}

template <class T>
bool Hierarchy<T>::is_weighted() const {
  return levels() > 1 && state_->transfer.back().is_weighted();
}

template <class T>
void Hierarchy<T>::round_weights(Context& ctx) {
  for (std::size_t l = 1; l < state_->transfer.size(); ++l)
    state_->transfer[l].assign_weights(ctx, state_->in_double->transfer(static_cast<int>(l)));
}

template <class T>
void Hierarchy<T>::set_reaction(Context& ctx, double c) {
  expects(state_->assembly && state_->assembly->first == StorageFormat::tensor && reaction() > 0 && c > 0,
          "another reaction coefficient, above 0, is for hierarchies that were assembled of tensor operators with one; "
          "given was ",
          c);
  OperatorTerms& terms = state_->assembly->second;
  terms.reaction = c;
  for (std::size_t l = 0; l < state_->a.size(); ++l) stratum::set_reaction(ctx, state_->meshes[l], terms, state_->a[l]);
  for (std::size_t l = 0; l < state_->kept.size(); ++l)
    if (state_->kept[l].shape().nodes() > 0) stratum::set_reaction(ctx, state_->meshes[l], terms, state_->kept[l]);
}

template <class T>
bool Hierarchy<T>::update(Context& ctx, const GridOperator<double>& a, const Conductances* k) {
  expects(!state_->assembly, "this hierarchy was assembled from meshes; only one made from a matrix can be updated");
  const GridLayout<2> shape = finest().shape(), given = a.shape();
  StorageFormat format = finest().format();
  if constexpr (!std::is_same_v<T, double>) format = state_->in_double->finest().format();
  expects(given.nx == shape.nx && given.ny == shape.ny && a.format() == format, "the hierarchy is for a ",
          to_string(format), " matrix on ", shape.nx, " x ", shape.ny, " unknowns; given was a ", to_string(a.format()),
          " one on ", given.nx, " x ", given.ny);
  if constexpr (std::is_same_v<T, double>) {
    expects(k == nullptr || !state_->by_split_sums,
            "the hierarchy's interpolation goes by split sums, for which a new one is to be made");
    if (k != nullptr) {
      expects(levels() == 1 || (is_weighted() && state_->k.size() < state_->a.size()),
              "the hierarchy's interpolation goes by widths or the matrix; it follows no conductances");
      expect_cells(*k, meshes().back());
      expects(state_->k.empty() || k->reaction.empty() == state_->k.front().reaction.empty(), "the hierarchy was made ",
              k->reaction.empty() ? "with" : "without", " a reaction term");
    }
    check_coefficients(ctx, a, state_->traits.symmetric);
    const bool in_place = addresses(finest()) == addresses(a);
    state_->a.back() = a;
    form_products(ctx, k, std::nullopt, *state_);
    ctx.synchronise();  // kernels may read coefficients before those that came before have ended
    return in_place;
  } else {
    (void)state_->in_double->update(ctx, a, k);
    Context alone = ctx.alone();
    for (int l = 0; l < levels(); ++l)
      assign(partition().is_distributed(l) ? ctx : alone, state_->in_double->level_operator(l),
             state_->a[static_cast<std::size_t>(l)]);
    round_weights(ctx);
    return true;
  }
}

template class Hierarchy<double>;
template class Hierarchy<float>;

}  // namespace stratum
