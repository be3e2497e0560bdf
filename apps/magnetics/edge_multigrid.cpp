#include <stratum/magnetics/edge_multigrid.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>
#include <stratum/core/operators/csr_matrix.hpp>
#include <stratum/core/operators/sliced_rows.hpp>
#include <stratum/solvers/deflation/coarse_factor.hpp>

namespace stratum {

namespace {

/// Rows of one colour, in place: x_i <- x_i + (b - A x)_i / a_ii.
template <class T>
struct RelaxRows {
  static constexpr bool hot = true;
  CsrView<T> a;
  const T* inverse;
  const int* rows;
  const T* b;
  T* x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*j*/) const {
    const int i = rows[k];
    T sum = b[i];
    for (int e = a.start[i]; e < a.start[i + 1]; ++e) sum -= a.value[e] * x[a.column[e]];
    x[i] += sum * inverse[i];
  }
};

/// What is left of RelaxRows once a kernel has the sum of row i.
template <class T>
struct RelaxRow {
  const T *inverse, *b;
  T* x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, T sum) const { x[i] += (b[i] - sum) * inverse[i]; }
};

/// r = b - A x, likewise.
template <class T>
struct ResidualRow {
  const T* b;
  T* r;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, T sum) const { r[i] = b[i] - sum; }
};

/// y = P x, or y + P x, likewise.
template <class T>
struct MultiplyRow {
  T* y;
  bool add;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, T sum) const { y[i] = add ? y[i] + sum : sum; }
};

template <class T>
struct MultiplyRows {
  static constexpr bool hot = true;
  CsrView<T> p;
  const T* x;
  T* y;
  bool add;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int /*j*/) const {
    T sum = add ? y[i] : T(0);
    for (int e = p.start[i]; e < p.start[i + 1]; ++e) sum += p.value[e] * x[p.column[e]];
    y[i] = sum;
  }
};

/// Rows that need not be as many as columns; in slices on a GPU.
template <class T>
struct Rows {
  int count = 0;
  Field<int> start, column;
  Field<T> value;
  SlicedRows<T> slices;

  Rows() = default;
  Rows(Context& ctx, const SparseRows& p) : count(p.rows) {
    if (ctx.on_gpu()) {
      slices = SlicedRows<T>(ctx, p, SlicedRows<T>::usual_lanes(p.rows));
      return;
    }
    start = vector_from_host(ctx, p.start);
    column = vector_from_host(ctx, p.column);
    value = vector_from_host(ctx, std::vector<T>(p.value.begin(), p.value.end()));
  }
  void multiply(Context& ctx, FieldView<const T> x, FieldView<T> y, bool add) const {
#if defined(__CUDACC__)
    if (ctx.on_gpu()) return slices.run(ctx, x.data, MultiplyRow<T>{y.data, add});
#endif
    const CsrView<T> view{start.cview().data, column.cview().data, value.cview().data};
    for_each_node(ctx, NodeRange<2>{0, count, 1, 0, 1, 1}, MultiplyRows<T>{view, x.data, y.data, add});
  }
};

constexpr double equal = 1e-9;  // planes of two grids, relative to the length of the grid

/// Where this plane of the fine grid lies in the coarse one: an interval, and the share of it that is on the left.
std::pair<int, double> place(const std::vector<double>& coarse, double at) {
  const double slack = equal * (coarse.back() - coarse.front());
  const auto above = std::upper_bound(coarse.begin() + 1, coarse.end() - 1, at + slack);
  const auto k = static_cast<int>(above - coarse.begin()) - 1;
  const double t = (at - coarse[std::size_t(k)]) / (coarse[std::size_t(k) + 1] - coarse[std::size_t(k)]);
  return {k, std::abs(t) < equal ? 0 : std::abs(t - 1) < equal ? 1 : t};
}

/// A + s G G^T, s the mean of the diagonal: regular, and where b has no gradient part the solution is one of A x = b.
SparseRows regular(const EdgeElements& elements, const SparseRows& a) {
  const SparseRows g = elements.gradient(), gt = transposed(g);
  double s = 0;
  for (const double d : a.diagonal()) s += d / a.rows;
  std::vector<SparseEntry> entries;
  for (int i = 0; i < a.rows; ++i) {
    for (int k = a.start[std::size_t(i)]; k < a.start[std::size_t(i) + 1]; ++k)
      entries.push_back({i, a.column[std::size_t(k)], a.value[std::size_t(k)]});
    for (int k = g.start[std::size_t(i)]; k < g.start[std::size_t(i) + 1]; ++k) {
      const auto node = std::size_t(g.column[std::size_t(k)]);
      for (int l = gt.start[node]; l < gt.start[node + 1]; ++l)
        entries.push_back({i, gt.column[std::size_t(l)], s * g.value[std::size_t(k)] * gt.value[std::size_t(l)]});
    }
  }
  return sparse_rows(a.rows, a.columns, std::move(entries));
}

/// The inverse as rows that hold every column.
SparseRows inverse(const SparseRows& a, int threads) {
  std::vector<double> sums(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < sums.size(); ++i)
    for (int k = a.start[i]; k < a.start[i + 1]; ++k) sums[i] += a.value[std::size_t(k)];
  SparseRows full;
  full.rows = full.columns = a.rows;
  full.value = CoarseFactor(a, std::move(sums)).inverse(threads);
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.rows; ++j) full.column.push_back(j);
    full.start.push_back(static_cast<int>(full.column.size()));
  }
  return full;
}

/// Volume means of nu over the boxes of a coarser grid, one for each.
std::vector<double> averaged(const EdgeElements& fine, const std::vector<double>& nu, const BoxGrid& coarse) {
  std::vector<double> sum(static_cast<std::size_t>(coarse.boxes())), volume(sum.size());
  const BoxGrid& grid = fine.grid();
  std::array<std::vector<int>, 3> to;
  for (int d = 0; d < 3; ++d)
    for (int i = 0; i < grid.cells(d); ++i)
      to[std::size_t(d)].push_back(place(coarse.planes(d), grid.plane(d, i) + grid.width(d, i) / 2).first);
  for (int e = 0; e < fine.elements(); ++e) {
    const Index3 at = grid.place(fine.box_of(e));
    const auto box =
        std::size_t(coarse.number({to[0][std::size_t(at[0])], to[1][std::size_t(at[1])], to[2][std::size_t(at[2])]}));
    sum[box] += nu[std::size_t(e)] * fine.volume(e);
    volume[box] += fine.volume(e);
  }
  for (std::size_t box = 0; box < sum.size(); ++box) sum[box] /= volume[box];
  return sum;
}

}  // namespace

KeptPlanes planes_between_marks(const BoxGrid& grid, const std::vector<int>& marks) {
  expects(marks.size() == static_cast<std::size_t>(grid.boxes()), "a grid of ", grid.boxes(),
          " boxes needs as many marks, not ", marks.size());
  KeptPlanes kept;
  for (std::size_t d = 0; d < 3; ++d) {
    kept[d].assign(grid.planes(static_cast<int>(d)).size(), false);
    kept[d].front() = kept[d].back() = true;
  }
  for (int box = 0; box < grid.boxes(); ++box)
    for (std::size_t d = 0; d < 3; ++d) {
      Index3 at = grid.place(box);
      const int plane = at[d];
      if (plane == 0) continue;
      --at[d];
      if (marks[std::size_t(box)] != marks[std::size_t(grid.number(at))]) kept[d][std::size_t(plane)] = true;
    }
  return kept;
}

std::vector<BoxGrid> coarsened(const BoxGrid& grid, const EdgeMultigridParams& params) {
  KeptPlanes kept = params.kept;
  std::vector<double> widths;
  for (int d = 0; d < 3; ++d) {
    auto& keep = kept[std::size_t(d)];
    if (keep.empty()) keep.assign(grid.planes(d).size(), false);
    expects(keep.size() == grid.planes(d).size(), "direction ", d, " has ", grid.planes(d).size(),
            " planes, and marks for ", keep.size());
    for (int i = 0; i < grid.cells(d); ++i) widths.push_back(grid.width(d, i));
  }
  std::sort(widths.begin(), widths.end());
  const double median = widths[widths.size() / 2], least = widths.front();
  double longest = 0;
  for (int d = 0; d < 3; ++d) longest = std::max(longest, grid.planes(d).back() - grid.planes(d).front());
  constexpr double thin = 0.25, slack = 1.001;
  std::vector<BoxGrid> grids{grid};
  const auto unknowns = [](const BoxGrid& g) {
    const int a = g.cells(0), b = g.cells(1), c = g.cells(2);
    return a * (b - 1) * (c - 1) + (a - 1) * b * (c - 1) + (a - 1) * (b - 1) * c;
  };
  for (double h = 2 * (least < thin * median ? least : median);
       unknowns(grids.back()) > params.coarsest && h < 2 * longest; h *= 2) {
    std::array<std::vector<double>, 3> planes;
    KeptPlanes left;
    bool merged = false;
    for (std::size_t d = 0; d < 3; ++d) {
      const auto& p = grids.back().planes(static_cast<int>(d));
      // Two planes stay between the first and the last, or nothing would be left to solve for.
      std::size_t count = p.size();
      for (std::size_t i = 0; i < p.size();) {
        planes[d].push_back(p[i]);
        left[d].push_back(kept[d][i]);
        const bool merges = i + 2 < p.size() && !kept[d][i + 1] && p[i + 2] - p[i] <= slack * h && count > 3;
        if (merges) --count;
        merged = merged || merges;
        i += merges ? 2 : 1;
      }
    }
    if (!merged) continue;
    grids.emplace_back(std::move(planes));
    kept = std::move(left);
  }
  return grids;
}

SparseRows edge_prolongation(const EdgeElements& fine, const EdgeElements& coarse) {
  expects(coarse.element() == EdgeElement::hexahedron, "edges are interpolated from hexahedra");
  const BoxGrid &grid = fine.grid(), &to = coarse.grid();
  struct Place {
    int cell;
    double left, right;  // the place of the fine plane in it, from 0 to 1, and that of the next one
  };
  std::array<std::vector<Place>, 3> places;
  for (int d = 0; d < 3; ++d) {
    const auto& p = to.planes(d);
    const double slack = equal * (p.back() - p.front());
    for (const double at : p) {
      const auto near = std::lower_bound(grid.planes(d).begin(), grid.planes(d).end(), at - slack);
      expects(near != grid.planes(d).end() && *near <= at + slack, "the coarse plane at ", at,
              " is none of the fine grid");
    }
    for (int i = 0; i <= grid.cells(d); ++i) {
      const auto [cell, t] = place(p, grid.plane(d, i));
      const double next = i < grid.cells(d) ? t + grid.width(d, i) / to.width(d, cell) : t;
      places[std::size_t(d)].push_back({cell, t, std::abs(next - 1) < equal ? 1 : next});
    }
  }
  SparseRows prolongation;
  prolongation.rows = fine.unknowns();
  prolongation.columns = coarse.unknowns();
  std::vector<std::pair<int, double>> row;
  for (int unknown = 0; unknown < fine.unknowns(); ++unknown) {
    const auto [along, node] = fine.edge(unknown);
    // The circulation of a coarse function w = phi phi / h along s is the integral over the edge, which is straight from
    // `left` to `right` in the directions that it goes: of a product of two linear functions at most, Simpson's rule is exact.
    const std::array<const Place*, 3> at{&places[0][std::size_t(node[0])], &places[1][std::size_t(node[1])],
                                         &places[2][std::size_t(node[2])]};
    row.clear();
    for (std::size_t s = 0; s < 3; ++s) {
      if ((along >> s & 1) == 0) continue;
      const std::size_t e = (s + 1) % 3, f = (s + 2) % 3;
      for (int corner = 0; corner < 4; ++corner) {
        const bool high_e = (corner & 1) != 0, high_f = (corner & 2) != 0;
        const auto phi = [&](std::size_t d, bool high, double part) {
          const double end = (along >> d & 1) != 0 ? at[d]->right : at[d]->left;
          const double xi = at[d]->left + part * (end - at[d]->left);
          return high ? xi : 1 - xi;
        };
        double mean = 0;
        for (const auto& [part, weight] : {std::pair{0.0, 1.0 / 6}, std::pair{0.5, 4.0 / 6}, std::pair{1.0, 1.0 / 6}})
          mean += weight * phi(e, high_e, part) * phi(f, high_f, part);
        const double value = mean * (at[s]->right - at[s]->left);
        if (value == 0) continue;
        Index3 from{};
        from[s] = at[s]->cell;
        from[e] = at[e]->cell + (high_e ? 1 : 0);
        from[f] = at[f]->cell + (high_f ? 1 : 0);
        const int column = coarse.unknown(1 << s, from);
        if (column >= 0) row.emplace_back(column, value);
      }
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      prolongation.column.push_back(column);
      prolongation.value.push_back(value);
    }
    prolongation.start.push_back(static_cast<int>(prolongation.value.size()));
  }
  return prolongation;
}

template <class T>
struct EdgeMultigrid<T>::Level {
  CsrMatrix<T> a;        // the inverse at the bottom
  SlicedRows<T> slices;  // the matrix by colours, on a GPU in place of a
  Field<T> inverse_diagonal, x, b, r;
  Field<int> rows;           // by colour
  std::vector<int> colours;  // where each begins, and the end
  Rows<T> prolongation, restriction;

  void sweep(Context& ctx, FieldView<const T> rhs, FieldView<T> to, bool forward) const {
    const std::size_t count = colours.size() - 1;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t c = forward ? k : count - 1 - k;
#if defined(__CUDACC__)
      if (ctx.on_gpu()) {
        const auto colour = static_cast<int>(c);
        slices.run(ctx, colour, colour + 1, to.data, RelaxRow<T>{inverse_diagonal.cview().data, rhs.data, to.data});
        continue;
      }
#endif
      for_each_node(ctx, NodeRange<2>{colours[c], colours[c + 1], 1, 0, 1, 1},
                    RelaxRows<T>{a.view(), inverse_diagonal.cview().data, rows.cview().data, rhs.data, to.data});
    }
  }
  void residual(Context& ctx, FieldView<const T> rhs, FieldView<const T> of) {
#if defined(__CUDACC__)
    if (ctx.on_gpu()) return slices.run(ctx, of.data, ResidualRow<T>{rhs.data, r.view().data});
#endif
    a.residual(ctx, rhs, of, r.view());
  }
};

template <class T>
EdgeMultigrid<T>::EdgeMultigrid(Context& ctx, const EdgeElements& elements, const SparseRows& a,
                                const std::vector<double>& nu, const EdgeMultigridParams& params) {
  expects(a.rows == elements.unknowns() && a.columns == a.rows, "multigrid for ", elements.unknowns(),
          " edges and a matrix of ", a.rows, " x ", a.columns);
  expects(nu.size() == static_cast<std::size_t>(elements.elements()), "multigrid for ", elements.elements(),
          " elements and ", nu.size(), " reluctivities");
  std::vector<EdgeElements> spaces{elements};
  const auto grids = coarsened(elements.grid(), params);
  for (std::size_t k = elements.element() == EdgeElement::hexahedron ? 1 : 0; k < grids.size(); ++k)
    spaces.emplace_back(grids[k], EdgeElement::hexahedron);
  auto levels = std::make_shared<std::vector<Level>>();
  for (std::size_t k = 0; k < spaces.size(); ++k) {
    const EdgeElements& space = spaces[k];
    const bool bottom = k + 1 == spaces.size();
    const SparseRows coarse = k == 0 ? SparseRows{} : space.curl_curl(ctx, averaged(elements, nu, space.grid()));
    const SparseRows& matrix = k == 0 ? a : coarse;
    const int n = space.unknowns();
    unknowns_.push_back(n);
    Level level;
    if (bottom) {
      level.a = CsrMatrix<T>(ctx, inverse(regular(space, matrix), ctx.threads()));
    } else {
      std::vector<T> reciprocal;
      for (const double d : matrix.diagonal()) {
        breaks_down_unless(d > 0, "an entry of the diagonal is ", d, ", not above zero");
        reciprocal.push_back(static_cast<T>(1 / d));
      }
      level.inverse_diagonal = vector_from_host(ctx, reciprocal);
      std::vector<std::vector<int>> by_colour(64);
      for (int row = 0; row < n; ++row) {
        const auto [along, node] = space.edge(row);
        int colour = 8 * along;
        for (std::size_t d = 0; d < 3; ++d)
          if ((along >> d & 1) == 0) colour += (node[d] & 1) << d;
        by_colour[std::size_t(colour)].push_back(row);
      }
      std::erase_if(by_colour, [](const auto& colour) { return colour.empty(); });
      if (ctx.on_gpu())
        level.slices =
            SlicedRows<T>(ctx, matrix, SlicedRows<T>::usual_lanes(n / static_cast<int>(by_colour.size())), by_colour);
      else
        level.a = CsrMatrix<T>(ctx, matrix);
      std::vector<int> rows;
      level.colours.push_back(0);
      for (const auto& colour : by_colour) {
        rows.insert(rows.end(), colour.begin(), colour.end());
        level.colours.push_back(static_cast<int>(rows.size()));
      }
      level.rows = vector_from_host(ctx, rows);
      const SparseRows p = edge_prolongation(space, spaces[k + 1]);
      level.prolongation = Rows<T>(ctx, p);
      level.restriction = Rows<T>(ctx, transposed(p));
      level.r = Field<T>(ctx, n);
    }
    if (k > 0) {
      level.x = Field<T>(ctx, n);
      level.b = Field<T>(ctx, n);
    }
    levels->push_back(std::move(level));
  }
  levels_ = std::move(levels);
}

template <class T>
void EdgeMultigrid<T>::cycle(Context& ctx, std::size_t k, FieldView<const T> b, FieldView<T> x) {
  Level& level = (*levels_)[k];
  if (k + 1 == levels_->size()) return level.a.apply(ctx, b, x);
  Level& coarse = (*levels_)[k + 1];
  set(ctx, T(0), x);
  level.sweep(ctx, b, x, true);
  level.residual(ctx, b, x);
  level.restriction.multiply(ctx, level.r.cview(), coarse.b.view(), false);
  cycle(ctx, k + 1, coarse.b.cview(), coarse.x.view());
  level.prolongation.multiply(ctx, coarse.x.cview(), x, true);
  level.sweep(ctx, b, x, false);
}

template <class T>
void EdgeMultigrid<T>::apply(Context& ctx, FieldView<const T> r, FieldView<T> z) {
  const auto shape = GridLayout<2>::flat(unknowns_.front());
  expects_fit(ctx, "r", r, shape);
  expects_fit(ctx, "z", z, shape);
  const auto entered = guard_->enter("cycle");
  recording_->run(ctx, r.data, z.data, [&] { cycle(ctx, 0, r, z); });
}

template class EdgeMultigrid<float>;
template class EdgeMultigrid<double>;

}  // namespace stratum
