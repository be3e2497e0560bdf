#include <stratum/multigrid/patches/patch_transfer.hpp>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/for_each_patch_node.hpp>
#include <stratum/core/patches/in_memory.hpp>
#include <stratum/multigrid/patches/patch_transfer_formulas.hpp>

namespace stratum {

namespace {

template <class T>
struct Prolongate {
  PatchWeights<T> weights;
  const PatchCoarsening* patches;
  const T* e;
  T* x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int number, const PatchLayout::Patch& p, int i, int j) const {
    const detail::PatchInterpolation<T> at{weights, patches[number]};
    x[p.node(i, j)] += at.interpolated(e, i, j);
  }
};

template <class T>
struct Restrict {
  PatchWeights<T> weights;
  const PatchCoarsening* patches;
  const T* r;
  T* b;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int number, const PatchLayout::Patch& p, int i, int j) const {
    const detail::PatchInterpolation<T> at{weights, patches[number]};
    b[p.node(i, j)] = at.restricted(r, i, j);
  }
};

/// Of b - A x.
template <class T>
struct ResidualNumbers {
  PatchBands<T> a;
  const T *b, *x;
  int pitch;
  STRATUM_HOST_DEVICE STRATUM_INLINE T operator[](int k) const {
    const auto row = a.row(k, pitch);
    return a.is_fixed(row) ? T(0) : b[k] - a.product(row, x, k, pitch);
  }
};

template <class T>
struct RestrictResidual {
  PatchWeights<T> weights;
  const PatchCoarsening* patches;
  PatchBands<T> a;
  const T *b, *x;
  T *coarse_b, *coarse_x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int number, const PatchLayout::Patch& p, int i, int j) const {
    const detail::PatchInterpolation<T> at{weights, patches[number]};
    const int k = p.node(i, j);
    coarse_b[k] = at.restricted(ResidualNumbers<T>{a, b, x, at.patch.fine.pitch}, i, j);
    coarse_x[k] = 0;
  }
};

}  // namespace

template <class T>
PatchTransfer<T>::PatchTransfer(Context& ctx, const PatchLayout& fine, const PatchLayout& coarse,
                                const PatchWeightsOnHost& weights) {
  coarsenings_ = in_memory(ctx, coarsenings(fine, coarse));
  for (std::size_t k = 0; k < 6; ++k)
    numbers_[k] = vector_from_host(ctx, std::vector<T>(weights.numbers[k].begin(), weights.numbers[k].end()));
}

template <class T>
PatchWeights<T> PatchTransfer<T>::weights() const {
  return {numbers_[0].view().data, numbers_[1].view().data, numbers_[2].view().data,
          numbers_[3].view().data, numbers_[4].view().data, numbers_[5].view().data};
}

template <class T>
void PatchTransfer<T>::prolongate(Context& ctx, const PatchRows& fine, const Consistent<T>& e, Consistent<T>& x) const {
  for_each_patch_node(ctx, fine,
                      Prolongate<T>{weights(), static_cast<const PatchCoarsening*>(coarsenings_.get()),
                                    e.numbers.view().data, x.numbers.view().data});
}

template <class T>
void PatchTransfer<T>::restrict_to(Context& ctx, const PatchRows& coarse, const Partial<T>& r, Partial<T>& b) const {
  for_each_patch_node(ctx, coarse,
                      Restrict<T>{weights(), static_cast<const PatchCoarsening*>(coarsenings_.get()),
                                  r.numbers.view().data, b.numbers.view().data});
}

template <class T>
void PatchTransfer<T>::restrict_residual(Context& ctx, const PatchRows& coarse, const PatchOperator<T>& a,
                                         const Partial<T>& b, const Consistent<T>& x, Partial<T>& coarse_b,
                                         Consistent<T>& coarse_x) const {
  for_each_patch_node(ctx, coarse,
                      RestrictResidual<T>{weights(), static_cast<const PatchCoarsening*>(coarsenings_.get()), a.bands(),
                                          b.numbers.view().data, x.numbers.view().data, coarse_b.numbers.view().data,
                                          coarse_x.numbers.view().data});
}

template class PatchTransfer<float>;
template class PatchTransfer<double>;

}  // namespace stratum
