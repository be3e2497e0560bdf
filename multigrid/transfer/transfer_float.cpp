#include <stratum/multigrid/transfer/transfer_kernels.hpp>

namespace stratum {

template class Transfer<float>;

}  // namespace stratum
