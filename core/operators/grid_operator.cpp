#include <stratum/core/operators/grid_operator.hpp>

#include <cmath>
#include <limits>
#include <string>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/reduce.hpp>
#include <stratum/core/grid/vector_functors.hpp>
#include <stratum/core/operators/residual_row.hpp>
#include <stratum/core/operators/stencil_formulas.hpp>
#if defined(__CUDACC__)
#include <stratum/core/grid/march.hpp>
#endif

namespace stratum {

OperatorForm operator_form(std::string_view name) {
  std::string known;
  for (const auto form : operator_forms) {
    if (name == to_string(form)) return form;
    known.append(known.empty() ? "" : ", ").append(to_string(form));
  }
  throw UsageError(message("unknown operator '", name, "'; known: ", known));
}

namespace {

template <class View, class T>
struct Apply {
  View a;
  GridView<const T> x;
  GridView<T> y;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return a.sum(x, i, j); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { y(i, j) = value; }
};

/// r = formula(b, x), formula b - A x times a number.
template <class View, class T, class Formula, class R>
struct Residual {
  View a;
  GridView<const T> b, x;
  GridView<R> r;
  Formula formula;
  STRATUM_HOST_DEVICE STRATUM_INLINE T value(int i, int j) const { return static_cast<T>(formula(a, b, x, i, j)); }
  STRATUM_HOST_DEVICE STRATUM_INLINE void store(int i, int j, T value) const { r(i, j) = static_cast<R>(value); }
};

template <class View, class T>
struct WriteProductRow {
  Apply<View, T> node;
  int j;
  template <int bytes>
  STRATUM_INLINE void run() const {
    const Apply<View, T> f = node;
    if constexpr (!ResidualRow<bytes, View>::in_packs) {
#pragma omp simd
      for (int i = 0; i < f.y.nx; ++i) f.store(i, j, f.value(i, j));
    } else {
      ResidualRow<bytes, View> row(f.a, f.x, f.x, j);
      for (int i = row.begin; i < row.end; i += row.width) row.store(row.product(i), i - row.width, &f.y(0, j));
    }
  }
};

template <class View, class T, class R>
struct WriteResidualRow {
  View a;
  GridView<const T> b, x;
  T scale;
  GridView<R> r;
  int j;
  template <int bytes>
  STRATUM_INLINE void run() const {
    R* const to = &r(0, j);
    const T factor = scale;
    residual_row<bytes>(
        a, b, x, j,
        [ to, factor ](int i, T value) __attribute__((always_inline)) { to[i] = static_cast<R>(factor * value); });
  }
};

/// |A| max(|x|, least) + |b|
template <class View, class T>
struct Magnitudes {
  View a;
  GridView<const T> b, x;
  T least;
  STRATUM_HOST_DEVICE STRATUM_INLINE static T size(T value) { return value < 0 ? -value : value; }
  template <int dx, int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T term(int i, int j) const {
    const T of_x = size(x(i + dx, j + dy));
    return size(a.template coefficient<dx, dy>(i, j)) * (of_x < least ? least : of_x);
  }
  template <int dy>
  STRATUM_HOST_DEVICE STRATUM_INLINE T row(int i, int j) const {
    return term<-1, dy>(i, j) + term<0, dy>(i, j) + term<1, dy>(i, j);
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    return static_cast<double>(row<-1>(i, j) + row<0>(i, j) + row<1>(i, j) + size(b(i, j)));
  }
};

/// |b - A x| / (|A| max(|x|, least) + |b|)
template <class View, class T>
struct BackwardError {
  Magnitudes<View, T> of;
  static constexpr bool takes_maximum = true;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int i, int j) const {
    const double size = of(i, j), residual = of.size(of.b(i, j) - of.a.sum(of.x, i, j));
    return residual == 0 ? 0 : residual / size;
  }
};

template <class View, class T>
struct Diagonal {
  View a;
  GridView<T> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    d(i, j) = a.template coefficient<0, 0>(i, j);
  }
};

template <class To, class From>
void copy_checked(Context& ctx, GridView<const From> from, GridView<To> to) {
  expects((from.data == nullptr) == (to.data == nullptr), "an operator has a term that the other one lacks");
  if (from.data == nullptr) return;
  const double largest = norm_max(ctx, from);
  expects(largest <= static_cast<double>(std::numeric_limits<To>::max()), "a coefficient of size ", largest,
          " does not fit the precision of the operator, which ends at ",
          static_cast<double>(std::numeric_limits<To>::max()),
          "; compute in double precision (--precision double; in Python single_precision=False)");
  copy(ctx, from, to);
  exchange(ctx, to);
}

}  // namespace

namespace {

/// What the rows of b - A x need.
template <class T>
void prepare(Context& ctx, const GridShape& shape, GridView<const T> b, GridView<const T> x) {
  expects_fit(ctx, "b", b, shape);
  expects_fit(ctx, "x", x, shape);
  exchange(ctx, x);
}

}  // namespace

template <class T>
void GridOperator<T>::apply(Context& ctx, GridView<const T> x, GridView<T> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  exchange(ctx, x);
  visit([&](const auto& a) {
    const Apply<std::decay_t<decltype(a)>, T> node{a, x, y};
    if (ctx.on_gpu()) return for_each_node_on_gpu(ctx, all_nodes(y), node);
    if (ctx.plans()) return;
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (y.nodes() > serial_limit)
    for (int j = 0; j < y.ny; ++j) simd::run_widest(WriteProductRow<std::decay_t<decltype(a)>, T>{node, j});
  });
}

// Row j of A p follows row j + 1 of p. Those at the ends of a thread's rows, which two threads read, come first.
template <class T>
double GridOperator<T>::next_direction(Context& ctx, GridView<const T> z, double beta, GridView<T> p,
                                       GridView<T> q) const {
  if (ctx.on_gpu() || ctx.plans() || p.has_halo() || p.ny == 1)
    return LinearOperator<T>::next_direction(ctx, z, beta, p, q);
  expects_fit(ctx, "z", z, shape());
  expects_fit(ctx, "p", p, shape());
  expects_fit(ctx, "A p", q, shape());
  const auto hold = ctx.hold_scratch();
  double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(p.ny));
  const Xpay<T> direction{z, beta, p};
  const Product<T> product{p, q};
  const int parts = p.nodes() > serial_limit ? std::min(ctx.threads(), p.ny) : 1;
  const auto begin = [&](int part) { return static_cast<int>(std::int64_t{p.ny} * part / parts); };
  const auto next = [&](int j) { for_row(direction, 0, p.nx, 1, j); };
  visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    const Apply<View, T> node{a, p, q};
#pragma omp parallel num_threads(ctx.threads()) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part) {
        next(begin(part));
        if (begin(part + 1) - begin(part) > 1) next(begin(part + 1) - 1);
      }
#pragma omp for schedule(static, 1)
      for (int part = 0; part < parts; ++part)
        for (int j = begin(part), last = begin(part + 1) - 1; j <= last; ++j) {
          if (j + 1 < last) next(j + 1);
          simd::run_widest(WriteProductRow<View, T>{node, j});
          partial[j] = detail::reduce_row(product, 0, p.nx, j);
        }
    }
  });
  return detail::total_of<Product<T>>(ctx, partial, p.ny);
}

#if defined(__CUDACC__)
namespace {

/// The rows of z + beta p.
template <class T>
struct NextDirection {
  using Number = T;
  cuda::Given<T> z, p;
  T beta;
  struct Rows {
    T beta;
    typename cuda::Given<T>::Rows z, p;
    __device__ STRATUM_INLINE Rows(const NextDirection& stage, const cuda::Lane<T>& lane, int first)
        : beta(stage.beta), z(stage.z, lane, first), p(stage.p, lane, first) {}
    __device__ STRATUM_INLINE cuda::Chunk<T> next() {
      const auto of_z = z.next(), of_p = p.next();
      cuda::Chunk<T> sum;
#pragma unroll
      for (int e = 0; e < cuda::chunk_width<T>; ++e) sum.v[e] = of_z.v[e] + beta * of_p.v[e];
      return sum;
    }
  };
};

/// Stores p = z + beta p_before and q = A p, and adds up (p, q).
template <class View>
struct StoreDirection {
  using Number = typename View::Number;
  using T = Number;
  View a;
  NextDirection<T> direction;
  GridView<T> p, q;
  double* partial;
  int strips;

  [[nodiscard]] int rows() const { return q.ny; }
  __device__ STRATUM_INLINE void run(const cuda::Lane<T>& lane, int begin, int end) const {
    cuda::LaneOperator<View> a_lane(a, lane, begin);
    typename NextDirection<T>::Rows given(direction, lane, begin - 1);
    cuda::Window<T> window;
    window.set(0, given.next());
    window.set(1, given.next());
    double sum = 0;
#pragma unroll cuda::rows_ahead
    for (int j = begin; j < end; ++j) {
      window.advance(given.next());
      a_lane.row(lane, j);
      const View local = a_lane.view();
      const auto own = window.chunk(0);
      cuda::Chunk<T> product;
#pragma unroll
      for (int e = 0; e < lane.n; ++e) product.v[e] = local.sum(window, e, 0);
      lane.clear_outside(product);
      lane.store(p, j, own);
      lane.store(q, j, product);
#pragma unroll
      for (int e = 0; e < lane.n; ++e) sum += static_cast<double>(own.v[e]) * static_cast<double>(product.v[e]);
    }
    cuda::store_sum(lane, sum, partial, strips);
  }
};

}  // namespace
#endif

template <class T>
bool GridOperator<T>::next_direction_on_gpu([[maybe_unused]] Context& ctx, [[maybe_unused]] GridView<const T> z,
                                            [[maybe_unused]] double beta, [[maybe_unused]] GridView<const T> p,
                                            [[maybe_unused]] GridView<T> next, [[maybe_unused]] GridView<T> q) const {
#if defined(__CUDACC__)
  if (shape().has_halo() || !cuda::can_march(z, p, next, q)) return false;
  expects_fit(ctx, "z", z, shape());
  expects_fit(ctx, "p", p, shape());
  expects_fit(ctx, "the next p", next, shape());
  expects_fit(ctx, "A p", q, shape());
  return visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    if constexpr (View::marches_alone) {
      const cuda::MarchGrid<T> most(q.nx, q.ny, 1);
      double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(most.count()));
      const StoreDirection<View> march{a, {{z}, {p}, static_cast<T>(beta)}, next, q, partial, most.strips};
      const int count = cuda::run_march(ctx, march, q.nx, q.ny).count();
      const cuda::Launch one_block{1, detail::reduction_threads};
      one_block(ctx, detail::reduce_partials<Product<T>>, partial, count, ctx.host_number());
    }
    return View::marches_alone;
  });
#else
  return false;
#endif
}

namespace {

template <class T, class Formula, class R>
void residual_impl(Context& ctx, const GridOperator<T>& op, const Formula& formula, T scale, GridView<const T> b,
                   GridView<const T> x, GridView<R> r) {
  expects_fit(ctx, "b - A x", r, op.shape());
  prepare(ctx, op.shape(), b, x);
  op.visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
#if defined(__CUDACC__)
    if constexpr (View::marches_alone)
      if (ctx.on_gpu() && cuda::can_march(b, x, r)) {
        return cuda::with_rows_of(x, [&](const auto& rows) {
          using Rows = cuda::Stencil<View, std::decay_t<decltype(rows)>, Formula>;
          cuda::run_march(ctx, cuda::StoreRows<Rows, R>{{a, {b}, rows, formula}, r}, r.nx, r.ny);
        });
      }
#endif
    if (ctx.on_gpu())
      return for_each_node_on_gpu(ctx, all_nodes(r), Residual<View, T, Formula, R>{a, b, x, r, formula});
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (r.nodes() > serial_limit)
    for (int j = 0; j < r.ny; ++j) simd::run_widest(WriteResidualRow<View, T, R>{a, b, x, scale, r, j});
  });
}

}  // namespace

template <class T>
void GridOperator<T>::residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const {
  residual_impl(ctx, *this, DefectFormula{}, T(1), b, x, r);
}

template <class T>
template <class R>
void GridOperator<T>::scaled_residual(Context& ctx, double scale, GridView<const T> b, GridView<const T> x,
                                      GridView<R> r) const {
  residual_impl(ctx, *this, ScaledDefectFormula{scale}, static_cast<T>(scale), b, x, r);
}

#if defined(__CUDACC__)
namespace {

/// The rows of x + alpha c, and so many of their halos.
template <class T, class C, int halo>
struct Updated {
  using Number = T;
  using GivenRows = cuda::Given<T, cuda::rows_ahead, halo>;
  GivenRows x;
  GridView<const C> c;
  T alpha;
  struct Rows {
    static constexpr int n = cuda::chunk_width<T>, depth = cuda::rows_ahead;
    const Updated& stage;
    const cuda::Lane<T>& lane;
    int j;
    typename GivenRows::Rows x;
    cuda::Chunk<C, n> ahead[depth];
    __device__ STRATUM_INLINE Rows(const Updated& s, const cuda::Lane<T>& l, int first)
        : stage(s), lane(l), j(first), x(s.x, l, first) {
#pragma unroll
      for (int k = 0; k < depth; ++k) ahead[k] = load(j + k);
    }
    [[nodiscard]] __device__ STRATUM_INLINE cuda::Chunk<C, n> load(int row) const {
      if (!lane.inside || row < -halo || row >= lane.ny + halo) return {};
      return cuda::load_chunk<n>(&stage.c(lane.column, row));
    }
    __device__ STRATUM_INLINE cuda::Chunk<T> next() {
      cuda::Chunk<T> sum = x.next();
      const cuda::Chunk<C, n> own = ahead[0];
#pragma unroll
      for (int k = 1; k < depth; ++k) ahead[k - 1] = ahead[k];
      ahead[depth - 1] = load(j + depth);
      ++j;
#pragma unroll
      for (int e = 0; e < n; ++e) sum.v[e] += stage.alpha * static_cast<T>(own.v[e]);
      return sum;
    }
  };
};

/// r = scale (b - A x), the rows of x those of a stage, and its norm; `keeps`: what x is goes to `kept`.
template <bool keeps, class T, class Source, class R>
double march_residual(Context& ctx, const GridOperator<T>& op, double scale, GridView<const T> b, const Source& x,
                      GridView<T> kept, GridView<R> r, const std::function<void()>& meanwhile) {
  const cuda::MarchGrid<T> most(r.nx, r.ny, 1);
  double* const partial = ctx.reduction_scratch(static_cast<std::size_t>(most.count()));
  int count = 0;
  op.visit([&](const auto& a) {
    using View = std::decay_t<decltype(a)>;
    if constexpr (View::marches) {
      using Rows = cuda::Stencil<View, Source, ScaledDefectFormula>;
      const cuda::StoreRowsAndSquares<Rows, R, keeps> march{{a, {b}, x, {scale}}, r, partial, most.strips, kept};
      count = cuda::run_march(ctx, march, r.nx, r.ny).count();
    }
  });
  const double square = sum_of_scratch(ctx, count, meanwhile);
  return std::isnormal(square) ? std::sqrt(square) : norm2<R>(ctx, r);
}

}  // namespace
#endif

template <class T>
template <class R>
double GridOperator<T>::scaled_residual_norm(Context& ctx, double scale, GridView<const T> b, GridView<const T> x,
                                             GridView<R> r,
                                             [[maybe_unused]] const std::function<void()>& meanwhile) const {
#if defined(__CUDACC__)
  if (ctx.on_gpu() && traits().marches && cuda::can_march(b, x, r)) {
    expects_fit(ctx, "b - A x", r, shape());
    prepare(ctx, shape(), b, x);
    double norm = 0;
    cuda::with_rows_of(
        x, [&](const auto& rows) { norm = march_residual<false, T>(ctx, *this, scale, b, rows, {}, r, meanwhile); });
    return norm;
  }
#endif
  scaled_residual(ctx, scale, b, x, r);
  return norm2<R>(ctx, r);
}

template <class T>
bool GridOperator<T>::fuses_update([[maybe_unused]] const Context& ctx, [[maybe_unused]] GridView<const T> b,
                                   [[maybe_unused]] GridView<const T> x) const {
#if defined(__CUDACC__)
  return ctx.on_gpu() && traits().marches && cuda::can_march(b, x);
#else
  return false;
#endif
}

template <class T>
template <class R>
double GridOperator<T>::updated_residual_norm(Context& ctx, [[maybe_unused]] double scale, GridView<const T> b,
                                              GridView<const T> x, [[maybe_unused]] double alpha, GridView<const R> c,
                                              GridView<T> next, GridView<R> r,
                                              [[maybe_unused]] const std::function<void()>& meanwhile) const {
  expects(fuses_update(ctx, b, x), "updated_residual_norm: not for this operator, backend or memory");
  expects_fit(ctx, "b - A x", r, shape());
  expects_fit(ctx, "c", c, shape());
  expects_fit(ctx, "x + alpha c", next, shape());
  prepare(ctx, shape(), b, x);
#if defined(__CUDACC__)
  const auto pass = [&]<int halo>() {
    const Updated<T, R, halo> updated{{x}, c, static_cast<T>(alpha)};
    return march_residual<true, T>(ctx, *this, scale, b, updated, next, r, meanwhile);
  };
  if (!shape().has_halo()) return pass.template operator()<0>();
  exchange(ctx, c);
  return pass.template operator()<1>();
#else
  return 0;
#endif
}

template <class T>
double GridOperator<T>::magnitude(Context& ctx, GridView<const T> b, GridView<const T> x) const {
  prepare(ctx, shape(), b, x);
  return visit([&](const auto& a) {
    return norm_of(ctx, x.nx, x.ny, Magnitudes<std::decay_t<decltype(a)>, T>{a, b, x, T(0)});
  });
}

template <class T>
double GridOperator<T>::backward_error(Context& ctx, GridView<const T> b, GridView<const T> x, double least) const {
  prepare(ctx, shape(), b, x);
  return visit([&](const auto& a) {
    return reduce(ctx, x.nx, x.ny, BackwardError<std::decay_t<decltype(a)>, T>{{a, b, x, static_cast<T>(least)}});
  });
}

template <class To, class From>
void assign(Context& ctx, const GridOperator<From>& from, GridOperator<To>& to) {
  const GridShape f = from.shape(), t = to.shape();
  const auto* nine = std::get_if<NineBandMatrix<From>>(&from.storage());
  auto* five = nine != nullptr ? std::get_if<SymmetricNineBand<To>>(&to.storage()) : nullptr;
  expects((from.form() == to.form() || five != nullptr) && f.nx == t.nx && f.ny == t.ny, "a ", to_string(to.form()),
          " operator on ", t.nx, " x ", t.ny, " nodes cannot take the coefficients of a ", to_string(from.form()),
          " one on ", f.nx, " x ", f.ny);
  if (five != nullptr) {
    constexpr std::size_t first = SymmetricNineBand<To>::first;
    for (std::size_t k = 0; k < five->band.size(); ++k)
      copy_checked<To, From>(ctx, nine->band[first + k].cview(), five->band[k].view());
  } else {
    std::visit(
        [&](const auto& source) {
          using Form = typename std::decay_t<decltype(source)>::template In<To>;
          const auto given = source.parts();
          auto taken = std::get<Form>(to.storage()).parts();
          for (std::size_t k = 0; k < given.size(); ++k) copy_checked<To, From>(ctx, given[k], taken[k]);
        },
        from.storage());
  }
  ctx.synchronise();  // kernels may read coefficients before those that came before have ended
}

template <class To, class From>
GridOperator<To> convert(Context& ctx, const GridOperator<From>& a, bool symmetric) {
  const auto like = [&](const auto& source) {
    if constexpr (std::is_same_v<std::decay_t<decltype(source)>, NineBandMatrix<From>>)
      if (symmetric) return GridOperator<To>(SymmetricNineBand<To>(ctx, a.shape()));
    return GridOperator<To>(source.template make_like<To>(ctx));
  };
  GridOperator<To> c = std::visit(like, a.storage());
  assign(ctx, a, c);
  return c;
}

template <class T>
void diagonal(Context& ctx, const GridOperator<T>& a, GridView<T> d) {
  expects_fit(ctx, "the diagonal", d, a.shape());
  a.visit([&](const auto& v) { for_each_node(ctx, all_nodes(d), Diagonal<std::decay_t<decltype(v)>, T>{v, d}); });
}

template class GridOperator<float>;
template class GridOperator<double>;
template void GridOperator<double>::scaled_residual(Context&, double, GridView<const double>, GridView<const double>,
                                                    GridView<float>) const;
template void GridOperator<double>::scaled_residual(Context&, double, GridView<const double>, GridView<const double>,
                                                    GridView<double>) const;
template double GridOperator<double>::scaled_residual_norm(Context&, double, GridView<const double>,
                                                           GridView<const double>, GridView<float>,
                                                           const std::function<void()>&) const;
template double GridOperator<double>::scaled_residual_norm(Context&, double, GridView<const double>,
                                                           GridView<const double>, GridView<double>,
                                                           const std::function<void()>&) const;
template double GridOperator<double>::updated_residual_norm(Context&, double, GridView<const double>,
                                                            GridView<const double>, double, GridView<const float>,
                                                            GridView<double>, GridView<float>,
                                                            const std::function<void()>&) const;
template GridOperator<float> convert(Context&, const GridOperator<double>&, bool);
template GridOperator<double> convert(Context&, const GridOperator<double>&, bool);
template GridOperator<double> convert(Context&, const GridOperator<float>&, bool);
template void assign(Context&, const GridOperator<double>&, GridOperator<float>&);
template void assign(Context&, const GridOperator<double>&, GridOperator<double>&);
template void assign(Context&, const GridOperator<float>&, GridOperator<double>&);
template void diagonal(Context&, const GridOperator<float>&, GridView<float>);
template void diagonal(Context&, const GridOperator<double>&, GridView<double>);

}  // namespace stratum
