#pragma once

// The processes of one run, `mpirun -n N PROGRAM`: every rank has a subdomain of the rows, rank 0 speaks for all.
//
// A program that no mpirun has started never calls MPI, nor does one that is started as one process. What other ranks print
// goes nowhere but for the reason for which a rank ends, which ends all.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/errors.hpp>

#if defined(STRATUM_HAVE_MPI)
#include <stratum/mpi.hpp>
#endif

namespace stratum::apps {

/// As the launchers of Open MPI, of MPICH and those that are made from it, and srun say.
[[nodiscard]] inline int launched_processes() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"})
    if (const char* const text = std::getenv(name)) return std::max(1, std::atoi(text));
  return 1;
}

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Null where there is one rank.
  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  /// Of those on this host.
  [[nodiscard]] int rank_on_host() const { return on_host_; }
  [[nodiscard]] int ranks_of_host() const { return ranks_of_host_; }
  /// CPU threads of a rank that was not told how many to take: its share of the host's cores.
  [[nodiscard]] int threads() const {
    if (size_ == 1 || std::getenv("OMP_NUM_THREADS") != nullptr) return omp_get_max_threads();
    return std::clamp(get_nprocs() / ranks_of_host_, 1, omp_get_max_threads());
  }
  /// Where mpirun has bound a rank to fewer cores than it has use for: what is wrong, and what helps; else nothing. `threads`:
  /// what it was told to take, or 0. A GPU's driver and NCCL have threads of their own, which one core would run in turns.
  [[nodiscard]] std::string binding_fault(int threads, bool on_gpu) const {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (size_ == 1 || sched_getaffinity(0, sizeof(mask), &mask) != 0) return "";
    const int cores = CPU_COUNT(&mask), share = std::max(1, get_nprocs() / ranks_of_host_);
    if (threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) threads = omp_get_max_threads();
    const int wanted = on_gpu ? std::max(threads, std::min(share, 2)) : threads > 0 ? threads : share;
    if (cores >= wanted) return "";
    return message("mpirun has bound each rank to ", cores, cores == 1 ? " core" : " cores", ", and it has use for ",
                   wanted, ": its threads", on_gpu ? ", its GPU's driver and NCCL" : "",
                   " wait for each other; mpirun --bind-to none lets it use all");
  }

#if defined(STRATUM_HAVE_MPI)
  /// Throws UsageError where ranks are not alike.
  void start() {
    if (launched_processes() == 1) return;
    int level = 0;
    expects(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) == MPI_SUCCESS &&
                level >= MPI_THREAD_FUNNELED,
            "MPI cannot be initialised with threads");
    started_ = true;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size_);
    expects(size_ > 1, "started as ", launched_processes(),
            " processes, of which MPI knows one: by another MPI's mpirun?");
    if (rank_ > 0) be_silent();
    communicator_ = mpi_communicator(MPI_COMM_WORLD);
    on_host_ = stratum::rank_on_host(MPI_COMM_WORLD);
    for (const int other : communicator_->gather_on_host(on_host_))
      ranks_of_host_ = std::max(ranks_of_host_, other + 1);
  }
  /// After a failure all ranks end, with this exit code. Where all fail alike rank 0 says so.
  void end_all(const char* program, const char* reason, int code) {
    if (size_ == 1) return;
    if (rank_ > 0) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
      (void)dprintf(standard_error_, "%s: rank %d: %s\n", program, rank_, reason);
    }
    (void)MPI_Abort(MPI_COMM_WORLD, code);
  }
  ~Ranks() {
    communicator_.reset();
    if (started_) (void)MPI_Finalize();
  }

 private:
  void be_silent() {
    standard_error_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)dup2(nowhere, STDOUT_FILENO);
    (void)dup2(nowhere, STDERR_FILENO);
    (void)close(nowhere);
  }
  bool started_ = false;
#else
  void start() {
    expects(launched_processes() == 1, "started as ", launched_processes(),
            " processes, and this build has no MPI (Debian: libopenmpi-dev)");
  }
  void end_all(const char* /*program*/, const char* /*reason*/, int /*code*/) {}

 private:
#endif
  std::shared_ptr<Communicator> communicator_;
  int rank_ = 0, size_ = 1, on_host_ = 0, ranks_of_host_ = 1;
  int standard_error_ = STDERR_FILENO;
};

}  // namespace stratum::apps
