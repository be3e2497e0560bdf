#include <stratum/multigrid/transfer_kernels.hpp>

namespace stratum {

template class Transfer<double>;
#define STRATUM_INSTANTIATE(R)                                                                                       \
  template void Transfer<double>::interpolated_residual(Context&, const GridOperator<double>&, double,               \
                                                        GridView<const double>, GridView<const double>, GridView<R>) \
      const;                                                                                                         \
  template void Transfer<double>::prolongate_plus(Context&, GridView<const double>, double, GridView<const R>,       \
                                                  GridView<double>) const;
STRATUM_INSTANTIATE(float)
STRATUM_INSTANTIATE(double)
#undef STRATUM_INSTANTIATE

}  // namespace stratum
