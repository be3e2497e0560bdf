#include <stratum/multigrid/transfer/transfer_kernels.hpp>

namespace stratum {

template class Transfer<double>;
template void Transfer<double>::prolongate_plus(Context&, GridView<const double>, double, GridView<const float>,
                                                GridView<double>) const;
template void Transfer<double>::prolongate_plus(Context&, GridView<const double>, double, GridView<const double>,
                                                GridView<double>) const;

}  // namespace stratum
