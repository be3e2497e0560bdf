#include <stratum/multigrid/patches/patch_transfer.hpp>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/patches/for_each_patch_node.hpp>
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

}  // namespace

template <class T>
PatchTransfer<T>::PatchTransfer(Context& ctx, const PatchLayout& fine, const PatchLayout& coarse,
                                const PatchWeightsOnHost& weights) {
  const auto patches = coarsenings(fine, coarse);
  coarsenings_ = allocate(ctx, patches.size() * sizeof(PatchCoarsening));
  if (!ctx.is_dry_run()) {
    copy_bytes(ctx, patches.data(), coarsenings_.get(), patches.size() * sizeof(PatchCoarsening));
    ctx.synchronise();
  }
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

template class PatchTransfer<float>;
template class PatchTransfer<double>;

}  // namespace stratum
