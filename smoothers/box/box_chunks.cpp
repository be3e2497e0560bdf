#include <stratum/smoothers/box/box_chunks.hpp>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/smoothers/box/box_smoothers.hpp>
#include <stratum/solvers/lines/algebra/reduced_system.hpp>

namespace stratum {

namespace {

/// The matrix of a line's chunk: pivots and factors of its rows, what the unknown before the chunk gives to each, and what is
/// left of it.
template <class Rows, class T>
struct EliminateMatrix {
  Rows rows;
  BoxLineNumbers<T> to;
  FieldView<T, 3> before;
  line::ChunksOfLines<double> chunk;

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const auto& [nx, ny, nz] = rows.shape.n;
    const int line = j * nx + i;
    // Towards the node behind node k.
    const auto coupling = [&](int k) {
      return rows.shape.has(2, k) && rows.shape.has(2, k + 1) ? rows.edge(2, i, j, k) : 0.0;
    };
    line::ChunkElimination<double> e;
    e.start(0);
    double of_before = coupling(-1), from_before = of_before, factor = 0;
    for (int k = 0; k < nz; ++k) {
      const double sum = rows.line_excess(2, i, j, k), behind = coupling(k);
      const double inverse = 1 / (sum + of_before * e.q + behind);
      e.step(k + 1 == nz, -of_before, sum, -behind, 0);
      to.inverse(i, j, k) = static_cast<T>(inverse);
      to.factor(i, j, k) = static_cast<T>(factor);
      before(i, j, k) = static_cast<T>(from_before);
      factor = behind * inverse;
      from_before *= factor;
      of_before = behind;
    }
    chunk.put_last(0, line, e.last());
    chunk.put_first(0, line, e.first());
  }
};

struct FactorInterface {
  line::FactoredInterface<double> interface;
  int count;
  bool cyclic;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, int /*j*/) const {
    interface.factor(count, cyclic, line);
  }
};

#if defined(__CUDACC__)
/// Nodes of a line that a thread asks for before it waits for one.
constexpr int batch = 8;
#endif

/// Lines of one colour.
template <class T>
struct ColourOfChunks {
  BoxLineNumbers<T> a;
  FieldView<T, 3> r, x;
  FieldView<const T, 3> before;
  line::SidesOfLines<T> sides;
  AxisRange p, q;
  int me, count;
  bool cyclic;

  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE int line(int i, int j) const {
    return (j - q.begin) / q.step * p.count() + (i - p.begin) / p.step;
  }
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE T left_of_chunk(int line) const {
    return me > 0 ? sides.last(me - 1, line) : cyclic ? sides.last(count - 1, line) : T(0);
  }
};

/// What is left of the right-hand side of chunks: on a CPU of up to `width` lines side by side, on a GPU of one.
template <class T>
struct EliminateSides : ColourOfChunks<T> {
  static constexpr bool strided = true;

  struct State {
    T y = 0, weight = 1, first = 0;
    STRATUM_HOST_DEVICE STRATUM_INLINE T next(T rhs, T factor, T inverse, bool is_first, bool is_last) {
      y = rhs + factor * y;
      weight *= is_first ? T(1) : factor;
      first += is_last ? T(0) : weight * y * inverse;
      return y;
    }
  };
  template <int width>
  STRATUM_INLINE void run(int i, int lines, int j) const {
    const int nz = this->r.extents.nz, step = this->p.step, line = this->line(i, j);
    T y[width], weight[width], first[width];
    for (int c = 0; c < lines; ++c) y[c] = 0, weight[c] = 1, first[c] = 0;
    for (int k = 0; k < nz; ++k) {
      T* const rhs = this->r.row(j, k) + i;
      const T *const f = this->a.factor.row(j, k) + i, *const inverse = this->a.inverse.row(j, k) + i;
      const bool is_first = k == 0, is_last = k + 1 == nz;
#pragma omp simd
      for (int c = 0; c < lines; ++c) {
        State s{y[c], weight[c], first[c]};
        rhs[c * step] = s.next(rhs[c * step], f[c * step], inverse[c * step], is_first, is_last);
        y[c] = is_last ? s.y * inverse[c * step] : s.y;
        weight[c] = s.weight;
        first[c] = s.first;
      }
    }
    for (int c = 0; c < lines; ++c) {
      this->sides.last(this->me, line + c) = y[c];
      this->sides.first(this->me, line + c) = first[c];
    }
  }
#if defined(__CUDACC__)
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int nz = this->r.extents.nz, line = this->line(i, j);
    State s;
    T inverse = 0;
    for (int begin = 0; begin < nz; begin += batch) {
      T rhs[batch], factors[batch], inverses[batch];
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int k = begin + n < nz ? begin + n : nz - 1;
        rhs[n] = this->r(i, j, k);
        factors[n] = this->a.factor(i, j, k);
        inverses[n] = this->a.inverse(i, j, k);
      }
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int k = begin + n;
        if (k >= nz) continue;
        inverse = inverses[n];
        this->r(i, j, k) = s.next(rhs[n], factors[n], inverse, k == 0, k + 1 == nz);
      }
    }
    this->sides.last(this->me, line) = s.y * inverse;
    this->sides.first(this->me, line) = s.first;
  }
#endif
};

template <class T>
struct SolveInterface : ColourOfChunks<T> {
  static constexpr bool strided = true;
  line::FactoredInterface<T> interface;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    interface.solve(this->sides, this->count, this->cyclic, this->line(i, j), j * this->r.extents.nx + i);
  }
};

/// From the unknowns between chunks, which are the last ones of each, to all others.
template <class T>
struct SubstituteSides : ColourOfChunks<T> {
  static constexpr bool strided = true;
  [[nodiscard]] STRATUM_HOST_DEVICE STRATUM_INLINE static T next(T rhs, T before, T left, T inverse, T factor, T d) {
    return (rhs + before * left) * inverse + factor * d;
  }
  template <int width>
  STRATUM_INLINE void run(int i, int lines, int j) const {
    const int nz = this->r.extents.nz, step = this->p.step, line = this->line(i, j);
    T left[width], d[width];
    T* const last = this->x.row(j, nz - 1) + i;
    for (int c = 0; c < lines; ++c) {
      left[c] = this->left_of_chunk(line + c);
      d[c] = this->sides.last(this->me, line + c);
      last[c * step] += d[c];
    }
    for (int k = nz - 2; k >= 0; --k) {
      const T *const rhs = this->r.row(j, k) + i, *const inverse = this->a.inverse.row(j, k) + i;
      const T *const of_before = this->before.row(j, k) + i, *const f = this->a.factor.row(j, k + 1) + i;
      T* const u = this->x.row(j, k) + i;
#pragma omp simd
      for (int c = 0; c < lines; ++c) {
        d[c] = next(rhs[c * step], of_before[c * step], left[c], inverse[c * step], f[c * step], d[c]);
        u[c * step] += d[c];
      }
    }
  }
#if defined(__CUDACC__)
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int nz = this->r.extents.nz, line = this->line(i, j);
    const T left = this->left_of_chunk(line);
    T d = this->sides.last(this->me, line), factor = this->a.factor(i, j, nz - 1);
    this->x(i, j, nz - 1) += d;
    for (int end = nz - 1; end > 0; end -= batch) {
      T rhs[batch], of_before[batch], inverses[batch], factors[batch], u[batch];
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int k = end - 1 - n > 0 ? end - 1 - n : 0;
        rhs[n] = this->r(i, j, k);
        of_before[n] = this->before(i, j, k);
        inverses[n] = this->a.inverse(i, j, k);
        factors[n] = this->a.factor(i, j, k);
        u[n] = this->x(i, j, k);
      }
#pragma unroll
      for (int n = 0; n < batch; ++n) {
        const int k = end - 1 - n;
        if (k < 0) continue;
        d = next(rhs[n], of_before[n], left, inverses[n], factor, d);
        factor = factors[n];
        this->x(i, j, k) = u[n] + d;
      }
    }
  }
#endif
};

template <class Kernel>
STRATUM_SIMD_CLONES void run_row(const Kernel& kernel, const AxisRange& p, int j) {
  constexpr int most = 64;
  for (int n = 0; n < p.count(); n += most)
    kernel.template run<most>(p.begin + n * p.step, std::min(most, p.count() - n), j);
}

/// On a CPU lines go side by side along x.
template <class Kernel>
void run_lines(Context& ctx, const Kernel& kernel, const AxisRange& p, const AxisRange& q) {
  if (ctx.is_dry_run()) return;
#if defined(__CUDACC__)
  if (ctx.on_gpu()) return for_each_node(ctx, {p.begin, p.end, p.step, q.begin, q.end, q.step}, kernel);
#endif
#pragma omp parallel for schedule(static) \
    num_threads(ctx.threads()) if (std::int64_t{kernel.r.extents.nz} * p.count() * q.count() > serial_limit)
  for (int j = q.begin; j < q.end; j += q.step) run_row(kernel, p, j);
}

}  // namespace

template <class T>
BoxChunks<T>::BoxChunks(Context& ctx, const BoxMatrix<double>& a, const BoxLineNumbers<T>& numbers)
    : me_(ctx.communicator()->rank()), count_(ctx.subdomains()), nx_(a.shape().n.nx), lines_(nx_ * a.shape().n.ny),
      cyclic_(a.shape().slab.around) {
  using Factors = line::FactoredInterface<double>;
  const int of_chunk = Factors::rows * lines_;
  Field<double> factors(ctx, GridLayout<2>::flat(of_chunk * count_));
  factors_ = SharedField<T>(ctx, GridLayout<2>::flat(of_chunk * count_));
  before_ = std::make_shared<Field<T, 3>>(ctx, GridLayout<3>::box(a.shape().n, {}, 0));
  // Of the largest colour.
  const auto half = [](int n) { return (n + 1) / 2; };
  sides_ = SharedField<T>(ctx, GridLayout<2>::flat(2 * count_ * half(nx_) * half(a.shape().n.ny)));
  const Factors interface { factors.view().data, lines_ };
  const line::ChunksOfLines<double> own = interface.chunk(ctx.is_dry_run() ? 0 : me_);
  a.with_rows([&](const auto& rows) {
    using Rows = std::remove_cvref_t<decltype(rows)>;
    for_each_node(ctx, {0, nx_, 1, 0, a.shape().n.ny, 1},
                  EliminateMatrix<Rows, T>{rows, numbers, before_->view(), own});
  });
  ctx.communicator()->gather(ctx, own.numbers, interface.numbers, sizeof(double) * static_cast<std::size_t>(of_chunk));
  for_each_node(ctx, {0, lines_, 1, 0, 1, 1}, FactorInterface{interface, count_, cyclic_});
  copy<double, T>(ctx, factors.cview(), factors_.view());
  ctx.synchronise();
}

template <class T>
void BoxChunks<T>::apply(Context& ctx, const BoxLineNumbers<T>& numbers, FieldView<T, 3> r, FieldView<T, 3> x,
                         const AxisRange& p, const AxisRange& q) const {
  const int lines = p.count() * q.count();
  if (lines == 0) return;
  const line::SidesOfLines<T> sides{sides_.view().data, lines};
  const ColourOfChunks<T> colour{numbers, r, x, before_->cview(), sides, p, q, me_, count_, cyclic_};
  run_lines(ctx, EliminateSides<T>{colour}, p, q);
  ctx.communicator()->gather(ctx, &sides.last(me_, 0), sides.numbers, sizeof(T) * 2 * static_cast<std::size_t>(lines));
  for_each_node(ctx, {p.begin, p.end, p.step, q.begin, q.end, q.step},
                SolveInterface<T>{colour, {factors_.view().data, lines_}});
  run_lines(ctx, SubstituteSides<T>{colour}, p, q);
}

template class BoxChunks<float>;
template class BoxChunks<double>;

}  // namespace stratum
