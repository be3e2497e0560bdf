#include <stratum/multigrid/transfer/transfer_kernels.hpp>

namespace stratum {

template class Transfer<double>;
template void Transfer<double>::prolongate_plus(Context&, FieldView<const double>, double, FieldView<const float>,
                                                FieldView<double>, Ghosts) const;
template void Transfer<double>::prolongate_plus(Context&, FieldView<const double>, double, FieldView<const double>,
                                                FieldView<double>, Ghosts) const;

}  // namespace stratum
