#pragma once

// Subdomains of a grid in the processes of an MPI communicator: rank r has the r-th subdomain (core/comm/communicator.hpp).
//
//     Context ctx(Backend::cpu, 1);
//     ctx.set_communicator(mpi_communicator(MPI_COMM_WORLD));
//
// The library is stratum::mpi (find_package(stratum COMPONENTS mpi)); stratum::stratum itself knows nothing of MPI. MPI is
// initialised by the caller, at least for MPI_THREAD_FUNNELED, and finalised once all that has the communicator is gone.
//
// Rows and numbers of a GPU go by way of page-locked memory of the host, so that any MPI will do; such calls wait for the
// stream, which therefore cannot be recorded with them in it.
//
// Calls throw std::runtime_error with MPI's message where MPI reports an error, UsageError for subdomains that are not alike.

#include <memory>

#include <mpi.h>

#include <stratum/core/comm/communicator.hpp>

namespace stratum {

/// All processes of `comm` call it; `comm` is duplicated. Throws UsageError where they run different versions of Stratum.
/// Communicator::abandon ends all processes, by MPI_Abort.
[[nodiscard]] std::shared_ptr<Communicator> mpi_communicator(MPI_Comm comm);

/// Among the processes that share this one's memory: the number of the GPU to take (select_device of core/device/context.hpp).
/// All processes of `comm` call it.
[[nodiscard]] int rank_on_host(MPI_Comm comm);

}  // namespace stratum
