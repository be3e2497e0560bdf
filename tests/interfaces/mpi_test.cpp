// mpirun -n N test_mpi [fail]: the communicator of MPI does what that of pieces in one process does (tests/core/comm); `fail`:
// rank 1 gives up, and no other is left waiting.

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/mpi.hpp>

#include "../support/all_to_all.hpp"

namespace {

using namespace stratum;

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

void gathers(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size();
  // Rank r has r + 1 numbers; they arrive in turn, the first rank's last.
  std::vector<std::size_t> counts, offsets;
  std::size_t end = static_cast<std::size_t>(size * (size + 1) / 2) * sizeof(double);
  std::vector<double> all(end / sizeof(double), -1), expected, own(static_cast<std::size_t>(rank + 1), rank);
  for (int r = 0; r < size; ++r) {
    counts.push_back(static_cast<std::size_t>(r + 1) * sizeof(double));
    offsets.push_back(end -= counts.back());
  }
  for (int r = size - 1; r >= 0; --r) expected.insert(expected.end(), static_cast<std::size_t>(r + 1), r);
  comm.gather(ctx, own.data(), all.data(), counts, offsets);
  check(all == expected, "numbers of several sizes");
  std::vector<double> evenly(static_cast<std::size_t>(size));
  comm.gather(ctx, own.data(), evenly.data(), sizeof(double));
  for (int r = 0; r < size; ++r) check(evenly[static_cast<std::size_t>(r)] == r, "a number of each");
  evenly[static_cast<std::size_t>(rank)] = 10 + rank;
  comm.gather(ctx, &evenly[static_cast<std::size_t>(rank)], evenly.data(), sizeof(double));
  for (int r = 0; r < size; ++r) check(evenly[static_cast<std::size_t>(r)] == 10 + r, "a number of each, in place");
  check(comm.gathers() >= 3 && comm.exchanges() == 0, "gathers are counted");
  check(comm.join_on_host(own).size() == expected.size(), "numbers one after another");
}

void exchanges(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size();
  std::array<double, 4> row{rank + 0.25, rank + 0.5, -1, -1};
  comm.exchange(ctx, {&row[0], &row[1], &row[2], &row[3], sizeof(double)});
  check(row[2] == (rank + size - 1) % size + 0.5 && row[3] == (rank + 1) % size + 0.25, "rows go around the ends");
  // One way, between the ends.
  row[2] = -1;
  const bool first = rank == 0, last = rank + 1 == size;
  comm.exchange(ctx, {nullptr, last ? nullptr : &row[1], first ? nullptr : &row[2], nullptr, sizeof(double)});
  check(row[2] == (first ? -1 : rank - 0.5), "rows go upwards");
  check(comm.exchanges() == 2, "exchanges are counted");
  // Two kinds at once in two steps, one of them in lines of even and of odd ranks.
  std::vector<double> numbers(8000, -1);
  const auto at = [&](int k) { return &numbers[static_cast<std::size_t>(1000 * k)]; };
  for (const int k : {0, 1, 4, 5}) std::fill_n(at(k), 1000, rank + 0.1 * k);
  const int step = size % 2 == 0 ? 2 : 1, before = (rank + size - step) % size, after = (rank + step) % size;
  const std::array<Communicator::Rows, 2> rows{{{at(0), at(1), at(2), at(3), 1000 * sizeof(double)},
                                                {at(4), at(5), at(6), at(7), 1000 * sizeof(double), before, after}}};
  comm.start_exchange(ctx, rows);
  row.fill(static_cast<double>(comm.gather_on_host(rank).back()));
  comm.finish_exchange(ctx);
  for (const int k : {0, 999}) {
    check(at(2)[k] == (rank + size - 1) % size + 0.1 * 1 && at(3)[k] == (rank + 1) % size, "rows in two steps");
    check(at(6)[k] == before + 0.1 * 5 && at(7)[k] == after + 0.1 * 4, "rows of those that are named");
  }
}

/// Rank r gives q r + 1 numbers to rank q.
void all_to_all(Communicator& comm) {
  const test::AllToAll numbers(comm.rank(), comm.size());
  check(numbers.sent(comm) == numbers.expected, "from all to all");
}

void agreement(Communicator& comm) {
  comm.agree("level", "3");
  std::string reason;
  try {
    comm.agree("level", comm.rank() == 1 ? "4" : "3");
  } catch (const UsageError& error) {
    reason = error.what();
  }
  check(comm.size() == 1 || reason == "all ranks need the same level: rank 0 has '3', rank 1 has '4'", "disagreement");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    Context ctx(Backend::cpu, 1);
    const auto comm = mpi_communicator(MPI_COMM_WORLD);
    gathers(ctx, *comm);
    exchanges(ctx, *comm);
    all_to_all(*comm);
    agreement(*comm);
    check(rank_on_host(MPI_COMM_WORLD) == comm->rank(), "all ranks on one host");
    if (argc > 1 && comm->rank() == 1) comm->abandon();
    comm->barrier();
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
