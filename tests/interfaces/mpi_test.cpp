// mpirun -n N test_mpi [peers | fail]: the communicator of MPI does what that of subdomains in one process does
// (tests/core/comm). `peers`: that of GPUs that store to each other, which may be one GPU; exit code 77 where there is none.
// `fail`: rank 1 gives up, and no other is left waiting.

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/comm/peer.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/mpi.hpp>
#include <stratum/solvers/krylov/conjugate_step.hpp>

#include "../support/all_to_all.hpp"

namespace {

using namespace stratum;

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s\n", what);
  ++failures;
}

/// Numbers that the Context's device and the host read; they are there after Context::synchronise.
class Numbers {
 public:
  Numbers(Context& ctx, std::size_t size, double value)
      : memory_(std::static_pointer_cast<double>(allocate_on_host(ctx, size * sizeof(double)))), size_(size) {
    std::fill_n(data(), size, value);
  }
  [[nodiscard]] double* data() const { return memory_.get(); }
  [[nodiscard]] double& operator[](std::size_t k) const { return memory_.get()[k]; }
  [[nodiscard]] bool are(const std::vector<double>& expected) const {
    return std::equal(data(), data() + size_, expected.begin(), expected.end());
  }

 private:
  std::shared_ptr<double> memory_;
  std::size_t size_;
};

void gathers(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size();
  const auto count = [](int n) { return static_cast<std::size_t>(n); };
  // Rank r has r + 1 numbers; they arrive in turn, the first rank's last.
  std::vector<std::size_t> counts, offsets;
  std::size_t end = count(size * (size + 1) / 2) * sizeof(double);
  const Numbers all(ctx, end / sizeof(double), -1), own(ctx, count(rank + 1), rank), evenly(ctx, count(size), -1);
  for (int r = 0; r < size; ++r) {
    counts.push_back(count(r + 1) * sizeof(double));
    offsets.push_back(end -= counts.back());
  }
  std::vector<double> expected, even, in_place;
  for (int r = size - 1; r >= 0; --r) expected.insert(expected.end(), count(r + 1), r);
  for (int r = 0; r < size; ++r) even.push_back(r), in_place.push_back(10 + r);
  comm.gather(ctx, own.data(), all.data(), counts, offsets);
  ctx.synchronise();
  check(all.are(expected), "numbers of several sizes");
  comm.gather(ctx, own.data(), evenly.data(), sizeof(double));
  ctx.synchronise();
  check(evenly.are(even), "a number of each");
  evenly[count(rank)] = 10 + rank;
  comm.gather(ctx, &evenly[count(rank)], evenly.data(), sizeof(double));
  ctx.synchronise();
  check(evenly.are(in_place), "a number of each, in place");
  check(comm.gathers() >= 3 && comm.exchanges() == 0, "gathers are counted");
  check(comm.join_on_host({own.data(), count(rank + 1)}).size() == expected.size(), "numbers one after another");
}

void exchanges(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size(), below = (rank + size - 1) % size, above = (rank + 1) % size;
  const Numbers row(ctx, 4, -1);
  row[0] = rank + 0.25, row[1] = rank + 0.5;
  comm.exchange(ctx, {&row[0], &row[1], &row[2], &row[3], sizeof(double)});
  ctx.synchronise();
  check(row[2] == below + 0.5 && row[3] == above + 0.25, "rows go around the ends");
  // One way, between the ends.
  row[2] = -1;
  const bool first = rank == 0, last = rank + 1 == size;
  comm.exchange(ctx, {nullptr, last ? nullptr : &row[1], first ? nullptr : &row[2], nullptr, sizeof(double)});
  ctx.synchronise();
  check(row[2] == (first ? -1 : rank - 0.5), "rows go upwards");
  check(comm.exchanges() == 2, "exchanges are counted");
  // Two kinds at once in two steps, one of them in lines of even and of odd ranks.
  constexpr std::size_t length = 1000;
  const Numbers numbers(ctx, 8 * length, -1);
  const auto at = [&](std::size_t k) { return &numbers[length * k]; };
  for (const std::size_t k : {0U, 1U, 4U, 5U}) std::fill_n(at(k), length, rank + 0.1 * static_cast<double>(k));
  const int step = size % 2 == 0 ? 2 : 1, before = (rank + size - step) % size, after = (rank + step) % size;
  const std::array<Communicator::Rows, 2> rows{{{at(0), at(1), at(2), at(3), length * sizeof(double)},
                                                {at(4), at(5), at(6), at(7), length * sizeof(double), before, after}}};
  comm.start_exchange(ctx, rows);
  (void)comm.gather_on_host(rank);
  comm.finish_exchange(ctx);
  ctx.synchronise();
  for (const std::size_t k : {std::size_t{0}, length - 1}) {
    check(at(2)[k] == below + 0.1 * 1 && at(3)[k] == above, "rows in two steps");
    check(at(6)[k] == before + 0.1 * 5 && at(7)[k] == after + 0.1 * 4, "rows of those that are named");
  }
}

/// Rows and numbers of every length, both ways and one way, in turn.
void long_rows(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size();
  constexpr std::size_t longest = 200'000;
  const Numbers own(ctx, longest, 0), up(ctx, longest, -1), down(ctx, longest, -1),
      all(ctx, longest * static_cast<std::size_t>(size), -1);
  double step = 0;
  for (const std::size_t n : {std::size_t{1}, std::size_t{255}, std::size_t{256}, std::size_t{257}, std::size_t{70'001},
                              std::size_t{3}, longest, std::size_t{4096}})
    for (int again = 0; again < 3; ++again) {
      ++step;
      const auto number = [&](int r) { return 1000 * ((r + size) % size) + step; };
      std::fill_n(own.data(), longest, number(rank));
      const auto came = [&](const double* row, int from) {
        return std::count(row, row + n, number(from)) == static_cast<std::ptrdiff_t>(n);
      };
      const std::size_t bytes = n * sizeof(double);
      comm.exchange(ctx, {nullptr, own.data(), up.data(), nullptr, bytes});
      comm.exchange(ctx, {own.data(), own.data(), down.data(), all.data(), bytes});
      ctx.synchronise();
      check(came(up.data(), rank - 1) && came(down.data(), rank - 1) && came(all.data(), rank + 1),
            "rows of any length");
      // Not around the ends: the first and the last one have one neighbour, the others two.
      const bool first = rank == 0, last = rank + 1 == size;
      std::fill_n(down.data(), longest, -1);
      std::fill_n(all.data(), longest, -1);
      comm.exchange(ctx, {first ? nullptr : own.data(), last ? nullptr : own.data(), first ? nullptr : down.data(),
                          last ? nullptr : all.data(), bytes});
      ctx.synchronise();
      check((first || came(down.data(), rank - 1)) && (last || came(all.data(), rank + 1)), "rows between the ends");
      comm.gather(ctx, own.data(), all.data(), bytes);
      ctx.synchronise();
      for (int r = 0; r < size; ++r) check(came(&all[n * static_cast<std::size_t>(r)], r), "as many numbers of each");
    }
}

/// What goes up and what comes down between two, and what goes to either side, have lengths of their own.
void rows_of_several_lengths(Context& ctx, Communicator& comm) {
  const int rank = comm.rank(), size = comm.size(), below = (rank + size - 1) % size, above = (rank + 1) % size;
  constexpr std::size_t longest = 200'000;
  constexpr std::array<std::size_t, 6> lengths{1, longest, 700, 50'000, 4096, 2};
  const Numbers own(ctx, longest, 0), up(ctx, longest, -1), down(ctx, longest, -1);
  for (std::size_t step = 0; step < 2 * lengths.size(); ++step) {
    const auto length = [&](int r, std::size_t way) {
      return lengths[(step + 2 * static_cast<std::size_t>(r) + 3 * way) % lengths.size()];
    };
    const auto number = [&](int r) { return 1000.0 * r + static_cast<double>(step); };
    for (const auto& [row, value] : {std::pair{&own, number(rank)}, {&up, -1.0}, {&down, -1.0}})
      std::fill_n(row->data(), longest, value);
    // In turn around the ends and between them.
    const bool around = step % 2 == 0, first = rank == 0 && !around, last = rank + 1 == size && !around;
    Communicator::Rows rows{first ? nullptr : own.data(), last ? nullptr : own.data(), first ? nullptr : up.data(),
                            last ? nullptr : down.data()};
    rows.bytes.to_above = length(rank, 0) * sizeof(double);
    rows.bytes.to_below = length(rank, 1) * sizeof(double);
    rows.bytes.from_below = length(below, 0) * sizeof(double);
    rows.bytes.from_above = length(above, 1) * sizeof(double);
    comm.exchange(ctx, rows);
    ctx.synchronise();
    const auto came = [&](const Numbers& row, double value, std::size_t n) {
      return std::count(row.data(), row.data() + n, value) == static_cast<std::ptrdiff_t>(n) &&
             std::count(row.data() + n, row.data() + longest, -1.0) == static_cast<std::ptrdiff_t>(longest - n);
    };
    check(came(up, number(below), first ? 0 : length(below, 0)), "rows of several lengths from below");
    check(came(down, number(above), last ? 0 : length(above, 1)), "rows of several lengths from above");
  }
}

/// 2
class Twice final : public LinearOperator<float> {
 public:
  explicit Twice(const GridLayout<2>& shape) : shape_(shape) {}
  [[nodiscard]] GridLayout<2> shape() const override { return shape_; }
  [[nodiscard]] bool is_recordable() const override { return true; }
  void apply(Context& ctx, FieldView<const float> x, FieldView<float> y) const override {
    set(ctx, 0.0F, y);
    axpy<float, float>(ctx, 2, x, y);
  }
  void residual(Context& ctx, FieldView<const float> b, FieldView<const float> x, FieldView<float> r) const override {
    if (b.data != r.data) copy<float, float>(ctx, b, r);
    axpy<float, float>(ctx, -2, x, r);
  }

 private:
  GridLayout<2> shape_;
};

/// Sums over all ranks that kernels make by themselves, recorded and not, with numbers that are gathered between them. All
/// numbers are exact.
void sums_of_steps(const std::shared_ptr<Communicator>& comm, Backend backend) {
  Context ctx(backend, 1);
  ctx.set_communicator(comm);
  const int rank = comm->rank(), size = comm->size();
  for (const int n : {5000, 3}) {
    const GridLayout<2> shape = GridLayout<2>::flat(n);
    const Twice a(shape);
    QueuedSteps<float> steps(ctx, shape);
    Field<float> p(ctx, shape), q(ctx, shape), x(ctx, shape), r(ctx, shape);
    const Numbers all(ctx, static_cast<std::size_t>(size), -1), own(ctx, 1, rank);
    for (int round = 1; round <= 5; ++round) {
      double square = 0;
      for (int k = 0; k < size; ++k) square += 1.0 * n * (k + round) * (k + round);
      set(ctx, static_cast<float>(rank + round), r.view());
      set(ctx, 0.0F, p.view());
      set(ctx, 0.0F, x.view());
      steps.start(ctx, square / 2, 0);
      steps.submit(ctx, a, p.view(), q.view(), x.view(), r.view());
      comm->gather(ctx, own.data(), all.data(), sizeof(double));
      steps.submit(ctx, a, p.view(), q.view(), x.view(), r.view());
      const ConjugateStep first = steps.await(ctx), second = steps.await(ctx);
      check(first.curvature == 2 * square && first.square == square / 4, "sums of the first step");
      check(second.curvature == 2 * square && second.square == square / 16, "sums of the second step");
      check(all[static_cast<std::size_t>(size - 1)] == size - 1, "numbers between steps");
    }
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

/// All that needs no other communicator.
void try_all(Context& ctx, Communicator& comm) {
  gathers(ctx, comm);
  exchanges(ctx, comm);
  long_rows(ctx, comm);
  rows_of_several_lengths(ctx, comm);
  all_to_all(comm);
  agreement(comm);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string argument = argc > 1 ? argv[1] : "";
  const bool peers = argument == "peers";
  constexpr int skipped = 77;
  if (peers && !cuda_available()) {
    MPI_Finalize();
    return skipped;
  }
  {
    const auto comm = mpi_communicator(MPI_COMM_WORLD);
    const Backend backend = peers ? Backend::cuda : Backend::cpu;
    Context ctx(backend, 1);
    const auto of_backend = peers ? peer_communicator(ctx, comm, true) : comm;
    try_all(ctx, *of_backend);
    sums_of_steps(of_backend, backend);
    check(rank_on_host(MPI_COMM_WORLD) == comm->rank(), "all ranks on one host");
    if (argument == "fail" && comm->rank() == 1) comm->abandon();
    comm->barrier();
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
