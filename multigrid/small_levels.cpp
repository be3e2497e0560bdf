#include <stratum/multigrid/small_levels.hpp>

#include <variant>

#if defined(__CUDACC__)
#include <stratum/multigrid/transfer_functors.hpp>
#include <stratum/smoothers/line_kernels.hpp>
#endif

namespace stratum {

template <class T>
int SmallLevels<T>::suited(const Context& ctx, const std::vector<Level>& levels) {
  if (!ctx.on_gpu() || levels.empty() || levels[0].a->shape().nodes() != 1) return 0;
  int count = 0;
  for (const auto& level : levels) {
    const GridShape shape = level.a->shape();
    if (level.a->form() != OperatorForm::tensor || shape.nx > max_nodes || shape.ny > max_nodes || count == max_levels)
      break;
    ++count;
  }
  return count;
}

#if defined(__CUDACC__)

namespace {

constexpr int warps = 32;

template <class T>
struct SmallLevel {
  int nx, ny;
  TensorView<T> a;
  TransferView<T> x, y;  // to the coarser level
};

template <class T>
struct SmallHierarchy {
  int levels, steps;
  bool symmetric;
  SmallLevel<T> level[SmallLevels<T>::max_levels];
};

/// A grid in shared memory: an odd pitch, so that walks along columns meet different banks, and a halo of one.
STRATUM_HOST_DEVICE constexpr int small_pitch(int nx) { return (nx + 2) | 1; }
STRATUM_HOST_DEVICE constexpr int small_size(int nx, int ny) { return small_pitch(nx) * (ny + 2); }

/// All lines of one colour along x of the view, a warp a line, two positions a lane.
template <class T>
__device__ void solve_colour(const TensorView<T>& a, GridView<const T> b, GridView<T> x, bool transposed, int first,
                             bool coupled) {
  // With x and y exchanged the views keep their memory; `at` finds the node.
  const int n = transposed ? b.ny : b.nx, lines = transposed ? b.nx : b.ny;
  const int lane = static_cast<int>(threadIdx.x) % cuda::warp, my_warp = static_cast<int>(threadIdx.x) / cuda::warp;
  const int j = first + 2 * my_warp;
  if (j < lines) {
    const std::int64_t along = transposed ? b.pitch : 1, across = transposed ? 1 : b.pitch;
    const T ks = a.ky[j], kn = a.ky[j + 1], ms = a.my[j], mn = a.my[j + 1];
    const T stiffness = ks + kn, mass = 2 * (ms + mn);
    T r[2], l[2], d[2], u[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      const int i = 2 * lane + k;
      r[k] = l[k] = u[k] = 0;
      d[k] = 1;
      if (i < n) {
        const std::int64_t node = i * along + j * across;
        const T kl = a.kx[i], ku = a.kx[i + 1], ml = a.mx[i], mu = a.mx[i + 1];
        r[k] = b.data[node];
        if (coupled) {
          const T *s = x.data + node - across, *t = x.data + node + across;
          const T mw = ms * s[-along] + mn * t[-along], kw = ks * s[-along] + kn * t[-along];
          const T mc = ms * s[0] + mn * t[0], kc = ks * s[0] + kn * t[0];
          const T me = ms * s[along] + mn * t[along], ke = ks * s[along] + kn * t[along];
          r[k] -= kl * (mc - mw) + ku * (mc - me) - ml * (kw + 2 * kc) - mu * (2 * kc + ke);
        }
        l[k] = i > 0 ? ml * stiffness - kl * mass : T(0);
        u[k] = i < n - 1 ? mu * stiffness - ku * mass : T(0);
        d[k] = (kl + ku) * mass + 2 * (ml + mu) * stiffness;
      }
    }
    const T p0 = cuda::reciprocal(d[0]);
    const T f0 = r[0] * p0, a0 = l[0] * p0, c0 = u[0] * p0;
    const T p1 = cuda::reciprocal(d[1] - l[1] * c0);
    const T f1 = (r[1] - l[1] * f0) * p1, a1 = -l[1] * a0 * p1, c1 = u[1] * p1;
    const T nf = __shfl_down_sync(cuda::all_lanes, f0, 1), na = __shfl_down_sync(cuda::all_lanes, a0, 1);
    const T nc = __shfl_down_sync(cuda::all_lanes, c0, 1);
    const T pivot = cuda::reciprocal(1 - c1 * na);
    cuda::Row<T> row{a1 * pivot, -c1 * nc * pivot, (f1 - c1 * nf) * pivot};
    row = cuda::reduce_lanes(row, lane, cuda::warp);
    const T own = row.f;
    T left = __shfl_up_sync(cuda::all_lanes, own, 1);
    if (lane == 0) left = 0;
    if (2 * lane < n) x.data[2 * lane * along + j * across] = f0 - a0 * left - c0 * own;
    if (2 * lane + 1 < n) x.data[(2 * lane + 1) * along + j * across] = own;
  }
  __syncthreads();
}

/// steps elementary steps of zebra ADI.
template <class T>
__device__ void smooth_small(const TensorView<T>& a, GridView<const T> b, GridView<T> x, int steps, bool from_zero,
                             bool backward) {
  const TensorView<T> at{{}, a.ky, a.my, a.kx, a.mx};
  for (int s = 0; s < steps; s += 2) {
    for (int half = 0; half < 2; ++half) {
      const bool transposed = (half == 1) != backward;
      // Odd global lines have even local numbers.
      const int first = backward ? 1 : 0;
      const TensorView<T>& view = transposed ? at : a;
      solve_colour(view, b, x, transposed, first, !(from_zero && s == 0 && half == 0));
      solve_colour(view, b, x, transposed, 1 - first, true);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(warps* cuda::warp)
    small_levels_kernel(const SmallHierarchy<T> h, const GridView<const T> b_in, const GridView<T> x_out) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int threads = static_cast<int>(blockDim.x), t = static_cast<int>(threadIdx.x);
  const int top = h.levels - 1;
  GridView<T> b[SmallLevels<T>::max_levels], x[SmallLevels<T>::max_levels];
  T* next = reinterpret_cast<T*>(memory);
  for (int l = top; l >= 0; --l) {
    const int nx = h.level[l].nx, ny = h.level[l].ny, pitch = small_pitch(nx);
    for (GridView<T>* v : {&b[l], &x[l]}) {
      *v = {next + pitch + 1, nx, ny, pitch};
      next += small_size(nx, ny);
    }
  }
  for (T* p = reinterpret_cast<T*>(memory) + t; p < next; p += threads) *p = 0;
  __syncthreads();
  for (int k = t; k < b_in.nx * b_in.ny; k += threads)
    b[top](k % b_in.nx, k / b_in.nx) = b_in(k % b_in.nx, k / b_in.nx);
  __syncthreads();

  for (int l = top; l > 0; --l) {
    const SmallLevel<T>& level = h.level[l];
    if (h.steps > 0) smooth_small<T>(level.a, b[l], x[l], h.steps, true, false);
    const ComputedDefect<TensorView<T>, T> defect{level.a, b[l], x[l]};
    const Restrict<ComputedDefect<TensorView<T>, T>, T> restrict_node{level.x, level.y, defect, b[l - 1]};
    const int nx = h.level[l - 1].nx, nodes = nx * h.level[l - 1].ny;
    for (int k = t; k < nodes; k += threads) restrict_node(k % nx, k / nx);
    __syncthreads();
  }
  if (t == 0) x[0](0, 0) = b[0](0, 0) / h.level[0].a.template coefficient<0, 0>(0, 0);
  __syncthreads();
  for (int l = 1; l <= top; ++l) {
    const SmallLevel<T>& level = h.level[l];
    const GridView<const T> coarse = x[l - 1];
    if (level.x.left != nullptr) {
      const ProlongateCoarsened<true, T> prolongate{level.x, level.y, coarse, x[l]};
      const int pairs = coarse.nx + 1;
      for (int k = t; k < pairs * level.ny; k += threads) prolongate(k % pairs, k / pairs);
    } else {
      const ProlongateIdentity<true, T> prolongate{level.y, coarse, x[l]};
      for (int k = t; k < level.nx * level.ny; k += threads) prolongate(k % level.nx, k / level.nx);
    }
    __syncthreads();
    smooth_small<T>(level.a, b[l], x[l], h.steps, false, h.symmetric);
  }
  for (int k = t; k < x_out.nx * x_out.ny; k += threads)
    x_out(k % x_out.nx, k / x_out.nx) = x[top](k % x_out.nx, k / x_out.nx);
}

}  // namespace

template <class T>
struct SmallLevels<T>::Hierarchy : SmallHierarchy<T> {
  std::size_t shared_bytes = 0;
};

template <class T>
SmallLevels<T>::SmallLevels(const std::vector<Level>& levels, int steps, bool symmetric) {
  auto hierarchy = std::make_shared<Hierarchy>();
  hierarchy->levels = static_cast<int>(levels.size());
  hierarchy->steps = steps;
  hierarchy->symmetric = symmetric;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    const GridShape shape = levels[l].a->shape();
    SmallLevel<T>& level = hierarchy->level[l];
    level = {shape.nx, shape.ny, std::get<TensorOperator<T>>(levels[l].a->storage()).view(), {}, {}};
    if (l > 0) {
      level.x = levels[l].transfer->x_view();
      level.y = levels[l].transfer->y_view();
    }
    hierarchy->shared_bytes += 2 * sizeof(T) * static_cast<std::size_t>(small_size(shape.nx, shape.ny));
  }
  STRATUM_CUDA_CHECK(cudaFuncSetAttribute(small_levels_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(hierarchy->shared_bytes)));
  hierarchy_ = std::move(hierarchy);
}

template <class T>
void SmallLevels<T>::apply(Context& ctx, GridView<const T> b, GridView<T> x) const {
  small_levels_kernel<T>
      <<<1, warps * cuda::warp, hierarchy_->shared_bytes, static_cast<cudaStream_t>(ctx.stream())>>>(*hierarchy_, b, x);
}

#else

template <class T>
struct SmallLevels<T>::Hierarchy {};

template <class T>
SmallLevels<T>::SmallLevels(const std::vector<Level>& /*levels*/, int /*steps*/, bool /*symmetric*/) {}

template <class T>
void SmallLevels<T>::apply(Context& /*ctx*/, GridView<const T> /*b*/, GridView<T> /*x*/) const {}

#endif

template class SmallLevels<float>;
template class SmallLevels<double>;

}  // namespace stratum
