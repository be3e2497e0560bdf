// The three steps on the CPU, in packs: batches of lines go along with each other as in solvers/lines/cpu/thomas.hpp, W lines
// of a tensor operator in registers, many of others row by row.

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include <stratum/solvers/lines/cpu/thomas.hpp>
#include <stratum/solvers/lines/partitioned_equations.hpp>

namespace stratum::line {

namespace {

/// A tensor operator's lines first + 2 k, k < count <= W, position after position.
template <class R, class View, class T>
struct TensorBatch {
  using Pack = typename R::Pack;
  static constexpr int w = batch_width<T>, width = R::width, packs = R::packs;
  static constexpr int bytes = width * static_cast<int>(sizeof(T));

  View a;
  FieldView<const T> b, x;
  int start, count;  // the column before lane 0
  bool whole;
  PanelRows<T> rows;
  PanelsAhead<T> ahead;
  PanelLines<R, false, true, View, true> lines;
  Pack left[packs], right[packs];  // the columns beside the lines

  STRATUM_INLINE TensorBatch(const PartitionedLine<View, T>& cut, int first_line, int lines_of_batch)
      : a(along<Direction::y>(cut.rhs.a)), b(cut.rhs.b), x(cut.rhs.x), start(cut.column(first_line) - 1),
        count(lines_of_batch), whole(start >= 0 && start + 2 * w <= x.nx), rows(start, -1, x.nx),
        ahead(start, x.nx, x.ny), lines(a, {Direction::y, start + 1, 2, lines_of_batch}) {}

  STRATUM_INLINE static Pack own(const T* from, int v) { return R::odds(from, v); }
  STRATUM_INLINE void take_neighbours(int j) {
    const T* const from = rows.row(x, j);
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) left[v] = R::evens(from, v);
    const Pack behind = simd::filled<T, bytes>(rows.behind(x, j));
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) right[v] = simd::one_ahead<T, bytes>(left[v], v + 1 < packs ? left[v + 1] : behind);
  }
  STRATUM_INLINE void begin() {
    take_neighbours(-1);
    for (int v = 0; v < packs; ++v) lines.before(v, left[v], right[v]);
    take_neighbours(0);
    for (int v = 0; v < packs; ++v) lines.start(a, v, left[v], right[v]);
  }
  /// At position j, one after the other.
  STRATUM_INLINE void right_sides(int j, Pack (&sides)[packs]) {
    const T* const from = rows.row(b, j);
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) sides[v] = own(from, v);
    ahead.prefetch(b, j, 0, 4);
    take_neighbours(j + 1);
    ahead.prefetch(x, j, 0, 4);
#pragma GCC unroll 8
    for (int v = 0; v < packs; ++v) sides[v] = lines.right_side(a, j, v, sides[v], left[v], right[v]);
  }
};

template <class View, class T>
struct EliminateTensorBatch {
  static constexpr int most = batch_width<T>;
  PartitionedLine<View, T> cut;
  SidesOfLines<T> sides;
  int me, first, count;  // the chunk, and the lines of the batch

  template <int bytes>
  STRATUM_INLINE void run() const {
    using R = Registers<T, bytes>;
    using Pack = typename R::Pack;
    TensorBatch<R, View, T> batch(cut, first, count);
    batch.begin();
    ChunkElimination<Pack, false> chunk[R::packs];
    for (auto& p : chunk) p.start(Pack{});
    const View& a = batch.a;
    Pack right[R::packs];
    for (int j = 0, n = cut.y.ny; j < n; ++j) {
      batch.right_sides(j, right);
      const T k = a.ky[j + 1], m = a.my[j + 1], both_k = a.ky[j] + k, both_m = a.my[j] + m;
#pragma GCC unroll 8
      for (int v = 0; v < R::packs; ++v) {
        auto& line = batch.lines.lines[v];
        const Pack lower = line.upper;
        line.upper = line.next(k, m);
        chunk[v].step(j + 1 == n, lower, line.own(both_k, both_m), line.upper, right[v]);
      }
    }
    for (int v = 0; v < R::packs; ++v)
      for (int k = 0; k < std::min(R::width, count - v * R::width); ++k) {
        const int line = first + v * R::width + k;
        sides.last(me, line) = chunk[v].z[k];
        sides.first(me, line) = chunk[v].first_f[k];
      }
  }
};

template <class View, class T>
struct SubstituteTensorBatch {
  PartitionedLine<View, T> cut;
  InterfaceOfLines<T> ends;
  int first, count;
  bool alone;  // only columns of the lines may be written
  LineScratch<T> scratch;

  template <int bytes>
  STRATUM_INLINE void run() const {
    cut.omega == T(1) ? solve<bytes, false>() : solve<bytes, true>();
  }

 private:
  template <int bytes, bool damped>
  STRATUM_INLINE void solve() const {
    using R = Registers<T, bytes>;
    using Pack = typename R::Pack;
    constexpr int w = batch_width<T>, width = R::width, packs = R::packs;
    const int n = cut.y.ny;
    const T omega = cut.omega, keep = T(1) - omega;
    TensorBatch<R, View, T> batch(cut, first, count);
    const Eliminated<T> to{scratch.multipliers, scratch.eliminated, nullptr};
    const int start = batch.start;
    batch.begin();
    alignas(64) T known[2][w] = {}, row[w];
    std::copy_n(&ends.left(first), count, known[0]);
    std::copy_n(&ends.right(first), count, known[1]);
    Pack right[packs], next[packs];
    for (int v = 0; v < packs; ++v) {
      batch.lines.lines[v].z = R::pack(known[0] + v * width);
      next[v] = R::pack(known[1] + v * width);
    }
    const auto& a = batch.a;
    for (int j = 0; j < n; ++j) {
      batch.right_sides(j, right);
      const T k = a.ky[j + 1], m = a.my[j + 1], both_k = a.ky[j] + k, both_m = a.my[j] + m;
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        batch.lines.lines[v].step(both_k, both_m, k, m, right[v]);
        batch.lines.keep(v, j, n, to);
      }
    }
    const bool packed = batch.whole && !alone && batch.x.data == cut.y.data;
    for (int j = n - 1; j >= 0; --j) {
      batch.take_neighbours(j);
      T* const line = &cut.y(start, j);
      const T* old = line;
      if constexpr (damped) old = batch.rows.row(batch.x, j);
#pragma GCC unroll 8
      for (int v = 0; v < packs; ++v) {
        const std::int64_t at = std::int64_t{j} * w + v * width;
        next[v] = substituted<true, Pack>(R::pack(to.multipliers + at), R::pack(to.z + at), next[v]);
        Pack value = next[v] + batch.lines.beside[v].near(batch.left[v], batch.right[v]);
        if constexpr (damped) value = keep * batch.own(old, v) + omega * value;
        if (packed) {  // together with the columns between, which stay
          R::pack(line + 2 * v * width) = simd::woven_low<T, bytes>(batch.left[v], value);
          R::pack(line + (2 * v + 1) * width) = simd::woven_high<T, bytes>(batch.left[v], value);
        } else {
          R::pack(row + v * width) = value;
        }
      }
      if (!packed)
        for (int k = 0; k < count; ++k) line[1 + 2 * k] = row[k];
    }
  }
};

/// Elimination of many lines with bands or of cells, row by row.
template <class View, class T>
struct EliminateRows {
  static constexpr int most = 512;
  PartitionedLine<View, T> cut;
  SidesOfLines<T> sides;
  int me, first, count;

  template <int bytes>
  STRATUM_INLINE void run() const {
    State state;
    ChunkElimination<T, false> start;
    start.start(0);
    for (int k = 0; k < most; ++k) state.put(k, start);
    const int n = cut.y.ny;
    for (int j = 0; j + 1 < n; ++j) eliminate<Registers<T, bytes>>(state, j, std::false_type());
    eliminate<Registers<T, bytes>>(state, n - 1, std::true_type());
    for (int k = 0; k < count; ++k) {
      const ChunkElimination<T, false> chunk = state.template get<T>(k);
      sides.last(me, first + k) = chunk.z;
      sides.first(me, first + k) = chunk.first_f;
    }
  }

 private:
  /// Of every line, in arrays as long as packs of lanes without a line need.
  struct State {
    alignas(64) T numbers[4][most], lower[most];
    template <class Number>
    [[nodiscard]] STRATUM_INLINE ChunkElimination<Number, false> get(int k) const {
      const auto number = [&](int n) __attribute__((always_inline)) { return take<Number>(numbers[n] + k); };
      return {{}, number(0), number(1), number(2), number(3)};
    }
    template <class Number>
    STRATUM_INLINE void put(int k, const ChunkElimination<Number, false>& p) {
      give(p.q, numbers[0] + k), give(p.z, numbers[1] + k);
      give(p.weight, numbers[2] + k), give(p.first_f, numbers[3] + k);
    }

   private:
    template <class Number>
    STRATUM_INLINE static Number take(const T* from) {
      if constexpr (std::is_same_v<Number, T>)
        return *from;
      else
        return simd::pack<static_cast<int>(sizeof(Number))>(from);
    }
    template <class Number>
    STRATUM_INLINE static void give(Number value, T* to) {
      if constexpr (std::is_same_v<Number, T>)
        *to = value;
      else
        simd::pack<static_cast<int>(sizeof(Number))>(to) = value;
    }
  };

  template <class R, bool scalar>
  STRATUM_INLINE static CellColumns<R, true, 2, T, scalar>
  cell_columns(const LineRhs<Direction::y, true, ElementView<T, scalar>, T>& rhs, int j, int start) {
    return {rhs, j, start};
  }

  template <class R, class Last>
  STRATUM_INLINE void eliminate(State& state, int j, Last /*is_last*/) const {
    const int column = cut.column(first);
    const auto& rhs = cut.rhs;
    if constexpr (is_cells<View>) {
      using Pack = typename R::Pack;
      if (j == 0)
        for (int k = 0; k < count; ++k) state.lower[k] = rhs.a.template coefficient<0, -1>(column + 2 * k, 0);
      for (int k = 0; k < count; k += R::width) {
        const auto columns = cell_columns<R>(rhs, j, column + 2 * k - 1);
        auto chunk = state.template get<Pack>(k);
        chunk.step(Last::value, R::pack(state.lower + k), columns.sum, columns.upper, columns.right);
        state.put(k, chunk);
        R::pack(state.lower + k) = columns.upper;
      }
    } else {
#pragma omp simd
      for (int k = 0; k < count; ++k) {
        const int i = column + 2 * k;
        const LineRow<T> r = cut.row(i, j);
        auto chunk = state.template get<T>(k);
        chunk.step(Last::value, r.lower, r.diagonal, r.upper, rhs(i, j));
        state.put(k, chunk);
      }
    }
  }
};

template <class View, class T>
struct SubstituteRows {
  PartitionedLine<View, T> cut;
  InterfaceOfLines<T> ends;
  int first, count;
  LineScratch<T> scratch;
  template <int bytes>
  STRATUM_INLINE void run() const {
    const KnownNeighbours<T> known{&ends.left(first), &ends.right(first)};
    solve_wide_batch<Registers<T, bytes>, 2, false>(cut.rhs, cut.column(first), count, cut.y.ny, cut.omega,
                                                    T(1) - cut.omega, cut.y, scratch, known);
  }
};

}  // namespace

template <class T>
PartitionedLines<T>::PartitionedLines(Context& ctx, const GridLayout<2>& shape, std::span<const int> chunks)
    : grid_(shape) {
  const bool cut = shape.below || shape.above;
  expects(!cut || ctx.communicator() != nullptr,
          "line smoothers need whole lines, and this is a subdomain of rows whose context has no communicator");
  const int ranks = cut ? ctx.subdomains() : 1, rank = cut ? ctx.communicator()->rank() : 0;
  int rows = shape.ny;
  if (chunks.empty()) {
    rows_ = {0, shape.ny};
    me_ = rank;
    for (int r = 0; r <= ranks; ++r) begins_.push_back(r);
    if (cut) {
      const auto all = ctx.communicator()->gather_on_host(shape.ny);
      rows = std::accumulate(all.begin(), all.end(), 0);
    }
  } else {
    expects(!ctx.on_gpu(), "lines in given chunks are for the CPU");
    const auto first = std::find(chunks.begin(), chunks.end(), shape.origin_y);
    const auto end = std::find(chunks.begin(), chunks.end(), shape.origin_y + shape.ny);
    expects(first != chunks.end() && end != chunks.end(), "a subdomain of rows ", shape.origin_y, " to ",
            shape.origin_y + shape.ny - 1, " must begin and end with given chunks of lines");
    for (auto row = first; row <= end; ++row) rows_.push_back(*row - shape.origin_y);
    me_ = static_cast<int>(first - chunks.begin());
    begins_ = cut ? ctx.communicator()->gather_on_host(me_) : std::vector<int>{me_};
    begins_.push_back(static_cast<int>(chunks.size()) - 1);
    rows = chunks.back() - chunks.front();
  }
  count_ = begins_.back();
  last_ = rank + 1 == ranks;
  third_row_ = grid_.periodic_y && rows % 2 != 0;
  sides_ = Field<T>(ctx, ChunksOfLines<T>::sides * shape.nx * count_);
  factors_ = Field<T>(ctx, FactoredInterface<T>::rows * shape.nx * count_);
  ends_ = Field<T>(ctx, 6 * shape.nx * own_chunks());
  if (!ctx.on_gpu()) return;
  own_ = Field<T>(ctx, ChunksOfLines<T>::rows * shape.nx);
  segments_ = Field<T>(ctx, static_cast<int>(segment_numbers(segment_rows<T>, shape)));
}

template <class T>
Interface<T> PartitionedLines<T>::interface_of(const LineBatch& lines, int k) {
  return {{own_.empty() ? nullptr : own_.view().data, lines.count},
          {sides_.view().data, lines.count},
          {factors_.view().data, grid_.nx},
          {ends_.view().data + std::int64_t{6} * k * lines.count, lines.count},
          me_ + k,
          count_,
          grid_.periodic_y};
}

template <class T>
void PartitionedLines<T>::gather(Context& ctx, T* numbers, int each) const {
  if (begins_.size() == 2) return;
  std::vector<std::size_t> counts, offsets;
  for (std::size_t r = 0; r + 1 < begins_.size(); ++r) {
    const auto bytes = [&](int chunk) {
      return sizeof(T) * static_cast<std::size_t>(each) * static_cast<std::size_t>(chunk);
    };
    offsets.push_back(bytes(begins_[r]));
    counts.push_back(bytes(begins_[r + 1] - begins_[r]));
  }
  ctx.communicator()->gather(ctx, numbers + std::int64_t{each} * me_, numbers, counts, offsets);
}

template <class T>
FactorInterface<T> PartitionedLines<T>::gathered_factors(Context& ctx) {
  T* const factors = factors_.view().data;
  gather(ctx, factors, FactoredInterface<T>::rows * grid_.nx);
  return {{factors, grid_.nx}, count_, grid_.periodic_y};
}

template <class T>
void PartitionedLines<T>::set_up(Context& ctx, const GridOperator<T>& a, const T* zeros) {
  if (ctx.is_dry_run()) return;
  a_ = a;
  FieldView<T> y;  // of this shape, without numbers
  y.nx = grid_.nx;
  y.ny = rows_.back();
  const LineBatch lines{Direction::y, 0, 1, grid_.nx};
  if (ctx.on_gpu()) return set_up_on_gpu(ctx, a, zeros, y);
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_row_sums<View>)
      for (int k = 0; k < own_chunks(); ++k) {
        const auto at = static_cast<std::size_t>(k);
        const PartitionedLine<View, T> all{{view, y, y}, y, T(1), lines};
        eliminate_matrix<std::numeric_limits<int>::max()>(ctx, chunk_of(all, rows_[at], rows_[at + 1], false, false),
                                                          interface_of(lines, k), segments_.view().data);
      }
  });
  for_each_node(ctx, {0, grid_.nx, 1, 0, 1, 1}, gathered_factors(ctx));
}

template <class T>
void PartitionedLines<T>::sweep(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b,
                                FieldView<const T> x, FieldView<T> y, T omega, LineOrder line_order, SweepOrder order,
                                FieldView<T> memory) {
  if (ctx.is_dry_run()) return;
  if (&a.storage() != &a_.storage()) set_up(ctx, a, zeros);
  const auto solve = [&](const LineBatch& lines) {
    if (lines.count == 0) return;
    ctx.on_gpu() ? solve_on_gpu(ctx, a, zeros, b, x, y, omega, lines)
                 : solve_on_cpu(ctx, a, zeros, b, x, y, omega, lines, memory);
  };
  if (line_order == LineOrder::simultaneous && ctx.on_gpu()) return solve({Direction::y, 0, 1, y.nx});
  if (line_order == LineOrder::simultaneous) {
    solve({Direction::y, 0, 2, (y.nx + 1) / 2});
    return solve({Direction::y, 1, 2, y.nx / 2});
  }
  const ZebraSchedule zebra(grid_, Direction::y, order);
  const auto two_colours = [&] {
    solve(zebra.first_colour());
    solve(zebra.second_colour());
  };
  // Both ends of rows are the subdomain's own, and a solve brings their ghosts up to date.
  zebra.run(
      two_colours, [&] { solve(zebra.third_colour()); }, [] {});
}

template <class T>
void PartitionedLines<T>::solve_on_cpu(Context& ctx, const GridOperator<T>& a, const T* zeros, FieldView<const T> b,
                                       FieldView<const T> x, FieldView<T> y, T omega, const LineBatch& lines,
                                       FieldView<T> memory) {
  const auto scratch = [&](int part) { return LineScratch<T>(&memory(-1, part), y.ny, memory.nx); };
  // Calls work(first, count, part, is_first_of_part) for the lines in batches.
  const auto in_batches = [&](int width, const auto& work) {
    const int batches = (lines.count + width - 1) / width;
    const int parts = y.nodes() > serial_limit ? std::max(1, std::min({ctx.threads(), memory.ny, batches})) : 1;
#pragma omp parallel for schedule(static, 1) num_threads(ctx.threads()) if (parts > 1)
    for (int part = 0; part < parts; ++part) {
      const auto share = [&](int p) { return static_cast<int>(std::int64_t{batches} * p / parts); };
      for (int n = share(part); n < share(part + 1); ++n)
        work(n * width, std::min(width, lines.count - n * width), part, n == share(part));
    }
  };
  visit(a, zeros, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || by_row_sums<View>) {
      using Part = std::pair<PartitionedLine<View, T>, Interface<T>>;
      const PartitionedLine<View, T> all{{view, b, x}, y, omega, lines};
      const auto chunk = [&](int k) {
        const auto at = static_cast<std::size_t>(k);
        const bool below = k > 0 || grid_.below || grid_.periodic_y,
                   above = k + 1 < own_chunks() || grid_.above || grid_.periodic_y;
        return Part(chunk_of(all, rows_[at], rows_[at + 1], below, above), interface_of(lines, k));
      };
      const auto eliminate = [&](const Part& p) {
        const auto& cut = p.first;
        const auto& interface = p.second;
        using Eliminate = std::conditional_t<is_tensor<View>, EliminateTensorBatch<View, T>, EliminateRows<View, T>>;
        in_batches(Eliminate::most, [&](int first, int count, int /*part*/, bool /*alone*/) {
          simd::run_widest(Eliminate{cut, interface.sides, interface.me, first, count});
        });
      };
      const auto substitute = [&](const Part& p) {
        const auto& cut = p.first;
        const auto& interface = p.second;
        if constexpr (is_tensor<View>)
          in_batches(batch_width<T>, [&](int first, int count, int part, bool alone) {
            simd::run_widest(SubstituteTensorBatch<View, T>{cut, interface.ends, first, count, alone, scratch(part)});
          });
        else
          in_batches(scratch(0).wide, [&](int first, int count, int part, bool /*alone*/) {
            simd::run_widest(SubstituteRows<View, T>{cut, interface.ends, first, count, scratch(part)});
          });
      };
      T* const sides = sides_.view().data;
      solve_partitioned_lines(
          ctx, own_chunks(), chunk, eliminate, [&] { gather(ctx, sides, ChunksOfLines<T>::sides * lines.count); },
          substitute);
    }
  });
  if (grid_.periodic_x) for_each_node(ctx, WrapRow<T>::range(y), WrapRow<T>{y});
}

#if !defined(STRATUM_HAVE_CUDA)  // else solvers/lines/cuda/partitioned_lines.cu has it

template <class T>
void PartitionedLines<T>::solve_on_gpu(Context& /*ctx*/, const GridOperator<T>& /*a*/, const T* /*zeros*/,
                                       FieldView<const T> /*b*/, FieldView<const T> /*x*/, FieldView<T> /*y*/,
                                       T /*omega*/, const LineBatch& /*lines*/) {}
template <class T>
void PartitionedLines<T>::set_up_on_gpu(Context& /*ctx*/, const GridOperator<T>& /*a*/, const T* /*zeros*/,
                                        FieldView<T> /*shape*/) {}
#endif

template class PartitionedLines<float>;
template class PartitionedLines<double>;

}  // namespace stratum::line
