#include <stratum/solvers/lines/tridiagonal.hpp>

#include <algorithm>

#include <stratum/core/operators/grid_operator.hpp>
#include <stratum/solvers/lines/algebra/chunks.hpp>
#include <stratum/solvers/lines/algebra/cyclic_reduction.hpp>
#include <stratum/solvers/lines/cpu/thomas.hpp>
#if defined(__CUDACC__)
#include <stratum/core/device/launch.hpp>
#include <stratum/core/field/streaming_stencil.hpp>
#include <stratum/solvers/lines/cuda/joined_chunks.hpp>
#include <stratum/solvers/lines/cuda/sweep.hpp>
#endif

namespace stratum {

std::string_view to_string(TridiagonalMethod method) {
  switch (method) {
    case TridiagonalMethod::cyclic_reduction: return "cyclic_reduction";
    case TridiagonalMethod::cyclic_reduction_in_place: return "cyclic_reduction_in_place";
    case TridiagonalMethod::segments: break;
  }
  return "segments";
}

namespace {

/// Calls f(layout) with the layout that a method of cyclic reduction keeps n equations in.
template <class T, class F>
auto visit_layout(TridiagonalMethod method, int n, const F& f) {
  return method == TridiagonalMethod::cyclic_reduction ? f(cyclic::EvenOdd<T>(n)) : f(cyclic::InPlace<T>(n));
}

template <class T>
int slots(TridiagonalMethod method, int n) {
  return visit_layout<T>(method, n, [](const auto& layout) { return layout.slots(); });
}

/// A nine-band operator of which line solves see only what lies along the lines.
template <class T>
NineBandView<T> along(Direction direction, const TridiagonalView<T>& a) {
  NineBandView<T> view;
  const int dx = direction == Direction::x ? 1 : 0, dy = 1 - dx;
  view.band[band_index(-dx, -dy)] = a.lower.data;
  view.band[band_index(0, 0)] = a.centre.data;
  view.band[band_index(dx, dy)] = a.upper.data;
  view.pitch = a.centre.pitch;
  return view;
}

/// Numbers of one line of a grid function; from one to the next it is `stride`.
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE T* begin_of(Direction direction, const FieldView<T>& view, int line) {
  return direction == Direction::x ? &view(0, line) : &view(line, 0);
}
template <class T>
STRATUM_HOST_DEVICE STRATUM_INLINE std::int64_t stride(Direction direction, const FieldView<T>& view) {
  return direction == Direction::x ? 1 : view.pitch;
}

/// Solves one line by a team, in memory of its own: 4 vectors `apart` numbers apart.
template <class Layout, class T>
struct ReduceLine {
  Layout layout;
  Direction direction;
  TridiagonalView<T> a;
  FieldView<const T> b;
  FieldView<T> x;

  template <class Team>
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int line, T* memory, std::ptrdiff_t apart,
                                                     const Team& team) const {
    const cyclic::System<T> system(memory, apart);
    const T *const lower = begin_of(direction, a.lower, line), *const centre = begin_of(direction, a.centre, line);
    const T *const upper = begin_of(direction, a.upper, line), *const right = begin_of(direction, b, line);
    const std::int64_t step = stride(direction, a.centre), b_step = stride(direction, b);
    for (int i = team.rank; i < layout.n; i += team.size)
      system.put(layout.equation(0, i), {lower[i * step], centre[i * step], upper[i * step], right[i * b_step]});
    team.sync();
    cyclic::solve(layout, system, team);
    T* const to = begin_of(direction, x, line);
    const std::int64_t x_step = stride(direction, x);
    for (int i = team.rank; i < layout.n; i += team.size) to[i * x_step] = system.v[layout.solution(0, i)];
  }
};

/// A thread of a CPU.
struct OneThread {
  static constexpr int rank = 0, size = 1;
  STRATUM_HOST_DEVICE STRATUM_INLINE void sync() const {}
};

}  // namespace

template <class T>
TridiagonalSolver<T>::TridiagonalSolver(Context& ctx, const GridLayout<2>& shape, Direction direction,
                                        TridiagonalMethod method)
    : shape_(shape), direction_(direction), method_(method), threads_(ctx.threads()) {
  expects(shape.nx >= 0 && shape.ny >= 0, "a grid cannot have ", shape.nx, " x ", shape.ny, " nodes");
  if (shape.nodes() == 0) return;
  if (ctx.on_gpu()) {
    expect_room();
    if (method == TridiagonalMethod::segments) scratch_ = Field<T>(ctx, line::interface_numbers(shape.nx, shape.ny));
  } else if (method == TridiagonalMethod::segments) {
    const auto size = line::LineScratch<T>::size(shape, threads_, StorageFormat::nine_band);
    scratch_ = Field<T>(ctx, GridLayout<2>{static_cast<int>(size), threads_});
  } else {
    scratch_ = Field<T>(ctx, GridLayout<2>{slots<T>(method, length()), 4 * threads_});
  }
}

template <class T>
void TridiagonalSolver<T>::solve(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b, FieldView<T> x) {
  expects_fit(ctx, "lower", a.lower, shape_);
  expects_fit(ctx, "centre", a.centre, shape_);
  expects_fit(ctx, "upper", a.upper, shape_);
  expects_fit(ctx, "b", b, shape_);
  expects_fit(ctx, "x", x, shape_);
  expects(a.lower.pitch == a.centre.pitch && a.upper.pitch == a.centre.pitch,
          "the coefficients must have one pitch, not ", a.lower.pitch, ", ", a.centre.pitch, " and ", a.upper.pitch);
  if (shape_.nodes() == 0) return;
  if (ctx.on_gpu()) return solve_on_gpu(ctx, a, b, x);

  expects(ctx.threads() <= threads_, "this solver was made for ", threads_, " threads, not ", ctx.threads());
  if (method_ == TridiagonalMethod::segments) {
    const auto thomas = [&]<Direction d>() {
      line::Sweep<d, NineBandView<T>, T>{along(d, a), b, x, x, T(1), true, ctx.threads(), scratch_.view()}
          .simultaneous();
    };
    return direction_ == Direction::x ? thomas.template operator()<Direction::x>()
                                      : thomas.template operator()<Direction::y>();
  }
  visit_layout<T>(method_, length(), [&](const auto& layout) {
    const ReduceLine<std::decay_t<decltype(layout)>, T> reduce{layout, direction_, a, b, x};
    const FieldView<T> scratch = scratch_.view();
    const int parts = shape_.nodes() > serial_limit ? std::min(ctx.threads(), lines()) : 1;
#pragma omp parallel for schedule(static, 1) num_threads(ctx.threads()) if (parts > 1)
    for (int part = 0; part < parts; ++part)
      for (int line = part; line < lines(); line += parts)
        reduce(line, &scratch(-1, 4 * part), scratch.pitch, OneThread{});  // column -1 is where rows are aligned
  });
}

#if defined(__CUDACC__)

namespace {

constexpr int block_threads = 1024;

/// The threads of a block.
struct Block {
  int rank, size;
  STRATUM_HOST_DEVICE STRATUM_INLINE void sync() const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
  }
};

/// Block number l solves line number l in its shared memory.
template <class Layout, class T>
__global__ void __launch_bounds__(block_threads) reduce_lines(const ReduceLine<Layout, T> reduce) {
  extern __shared__ __align__(128) unsigned char memory[];
  cuda::after_previous();
  const Block block{static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x)};
  reduce(static_cast<int>(blockIdx.x), reinterpret_cast<T*>(memory), reduce.layout.slots(), block);
}

template <class T>
std::size_t shared_bytes(TridiagonalMethod method, int n) {
  return 4 * sizeof(T) * static_cast<std::size_t>(slots<T>(method, n));
}

}  // namespace

template <class T>
void TridiagonalSolver<T>::expect_room() const {
  if (method_ == TridiagonalMethod::segments) return;
  const auto there = static_cast<std::size_t>(cuda::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  int longest = std::min(length(), static_cast<int>(there / (4 * sizeof(T))));
  while (shared_bytes<T>(method_, longest) > there) --longest;
  expects(length() <= longest, to_string(method_), ": lines of up to ", longest,
          " nodes fit into the shared memory of a block, not ", length());
}

template <class T>
void TridiagonalSolver<T>::solve_on_gpu(Context& ctx, const TridiagonalView<T>& a, FieldView<const T> b,
                                        FieldView<T> x) {
  expects(cuda::has_chunks(a.lower, a.centre, a.upper, b, x),
          "on a GPU column -1 of every row must lie at a multiple of 16 bytes");
  if (method_ == TridiagonalMethod::segments) {
    // Lines by themselves, all at once: nothing borders on them.
    cuda::GpuSweep<NineBandView<T>, T> sweep{along(direction_, a), b, x, x, LineOrder::simultaneous};
    sweep.zero = true;
    sweep.memory = scratch_.view().data;
    return direction_ == Direction::x ? cuda::sweep_lines<Direction::x>(ctx, sweep)
                                      : cuda::sweep_lines<Direction::y>(ctx, sweep);
  }
  visit_layout<T>(method_, length(), [&](const auto& layout) {
    using Reduce = ReduceLine<std::decay_t<decltype(layout)>, T>;
    // A thread for each equation of level 1, the first that is computed.
    const int threads = std::clamp(cuda::divide_up(length() / 2, cuda::warp) * cuda::warp, cuda::warp, block_threads);
    const cuda::Launch launch{lines(), threads, shared_bytes<T>(method_, length())};
    launch(ctx, reduce_lines<std::decay_t<decltype(layout)>, T>, Reduce{layout, direction_, a, b, x});
  });
}

#else

template <class T>
void TridiagonalSolver<T>::expect_room() const {}

template <class T>
void TridiagonalSolver<T>::solve_on_gpu(Context& /*ctx*/, const TridiagonalView<T>& /*a*/, FieldView<const T> /*b*/,
                                        FieldView<T> /*x*/) {}

#endif

template class TridiagonalSolver<float>;
template class TridiagonalSolver<double>;

}  // namespace stratum
