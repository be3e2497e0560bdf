#include <stratum/mpi.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/version.h>

namespace stratum {

namespace {

void expect_success(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  (void)MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(message(call, ": ", std::string(text.data(), static_cast<std::size_t>(length))));
}
#define STRATUM_MPI_CHECK(call) expect_success(call, #call)

/// MPI counts in int.
constexpr std::size_t most_bytes = std::numeric_limits<int>::max();

/// Memory of the host that grows with what is asked for.
class Stage {
 public:
  std::byte* at_least(const Context& ctx, std::size_t bytes) {
    if (bytes > bytes_) {
      memory_ = allocate_on_host(ctx, bytes);
      bytes_ = bytes;
    }
    return static_cast<std::byte*>(memory_.get());
  }

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_ = 0;
};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(MPI_Comm comm) {
    STRATUM_MPI_CHECK(MPI_Comm_dup(comm, &comm_));
    STRATUM_MPI_CHECK(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
    STRATUM_MPI_CHECK(MPI_Comm_rank(comm_, &rank_));
    STRATUM_MPI_CHECK(MPI_Comm_size(comm_, &size_));
  }
  ~MpiCommunicator() override {
    int finalised = 0;
    (void)MPI_Finalized(&finalised);
    if (finalised == 0) (void)MPI_Comm_free(&comm_);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string_view name() const override { return "mpi"; }
  void barrier() override { STRATUM_MPI_CHECK(MPI_Barrier(comm_)); }
  void abandon() override { (void)MPI_Abort(comm_, 1); }

 private:
  void do_gather_on_host(const void* mine, void* all, std::size_t bytes) override {
    expects(bytes <= most_bytes, "a gather on the host takes up to ", most_bytes, " bytes of a rank, not ", bytes);
    const int count = static_cast<int>(bytes);
    STRATUM_MPI_CHECK(MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm_));
  }

  void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                             std::span<const std::size_t> from) override {
    // Counts of MPI_Alltoallv are int, messages of other ranks may be long: parts of what fits.
    constexpr int tag = 3;
    std::vector<MPI_Request> requests;
    const auto in_parts = [&](std::span<const std::size_t> counts, const auto& call) {
      std::size_t begin = 0;
      for (std::size_t r = 0; r < counts.size(); begin += counts[r++]) {
        if (r == static_cast<std::size_t>(rank_)) continue;
        for (std::size_t done = 0; done < counts[r]; done += most_bytes)
          call(begin + done, static_cast<int>(std::min(most_bytes, counts[r] - done)), static_cast<int>(r),
               &requests.emplace_back());
      }
    };
    in_parts(from, [&](std::size_t at, int bytes, int r, MPI_Request* request) {
      STRATUM_MPI_CHECK(MPI_Irecv(static_cast<std::byte*>(in) + at, bytes, MPI_BYTE, r, tag, comm_, request));
    });
    in_parts(to, [&](std::size_t at, int bytes, int r, MPI_Request* request) {
      STRATUM_MPI_CHECK(MPI_Isend(static_cast<const std::byte*>(out) + at, bytes, MPI_BYTE, r, tag, comm_, request));
    });
    const auto own = static_cast<std::size_t>(rank_);
    const auto begin = [&](std::span<const std::size_t> counts) {
      return std::accumulate(counts.begin(), counts.begin() + rank_, std::size_t{0});
    };
    if (to[own] > 0)
      std::memcpy(static_cast<std::byte*>(in) + begin(from), static_cast<const std::byte*>(out) + begin(to), to[own]);
    STRATUM_MPI_CHECK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  }

  void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                 std::span<const std::size_t> offsets) override {
    const auto own = static_cast<std::size_t>(rank_);
    auto* const to = static_cast<std::byte*>(all);
    if (!ctx.on_gpu()) {
      if (mine != to + offsets[own]) copy_bytes(ctx, mine, to + offsets[own], counts[own]);
      return gather_in_place(to, counts, offsets);
    }
    std::size_t end = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) end = std::max(end, offsets[r] + counts[r]);
    std::byte* const stage = arriving_.at_least(ctx, end);
    copy_bytes(ctx, mine, stage + offsets[own], counts[own]);
    ctx.synchronise();
    gather_in_place(stage, counts, offsets);
    for (std::size_t r = 0; r < counts.size(); ++r)
      copy_bytes(ctx, r == own ? mine : stage + offsets[r], to + offsets[r], counts[r]);
    ctx.synchronise();  // the next call writes to the stage
  }

  /// On the host; the own numbers are there.
  void gather_in_place(std::byte* all, std::span<const std::size_t> counts, std::span<const std::size_t> offsets) {
    const auto fits = [&](std::size_t r) { return counts[r] <= most_bytes && offsets[r] <= most_bytes; };
    bool all_fit = true;
    for (std::size_t r = 0; r < counts.size(); ++r) all_fit = all_fit && fits(r);
    if (all_fit) {
      const std::vector<int> count(counts.begin(), counts.end()), offset(offsets.begin(), offsets.end());
      STRATUM_MPI_CHECK(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, all, count.data(), offset.data(), MPI_BYTE, comm_));
      return;
    }
    for (std::size_t r = 0; r < counts.size(); ++r)
      for (std::size_t done = 0; done < counts[r]; done += most_bytes)
        STRATUM_MPI_CHECK(MPI_Bcast(all + offsets[r] + done, static_cast<int>(std::min(most_bytes, counts[r] - done)),
                                    MPI_BYTE, static_cast<int>(r), comm_));
  }

  void do_exchange(Context& ctx, const Rows& rows) override {
    do_start(ctx, {&rows, 1});
    do_finish(ctx, {&rows, 1});
  }

  void do_start(Context& ctx, std::span<const Rows> rows) override {
    if (!ctx.on_gpu()) return post(rows);
    std::vector<Rows> staged(rows.begin(), rows.end());
    std::byte* leaving = leaving_.at_least(ctx, leaving_bytes(rows));
    std::byte* arriving = arriving_.at_least(ctx, arriving_bytes(rows));
    const auto leave = [&](const void*& from, std::size_t bytes) {
      if (from != nullptr) copy_bytes(ctx, from, leaving, bytes), from = leaving;
      leaving += bytes;
    };
    const auto arrive = [&](void*& to, std::size_t bytes) {
      if (to != nullptr) to = arriving;
      arriving += bytes;
    };
    for (auto& one : staged) {
      leave(one.to_below, one.bytes.to_below);
      leave(one.to_above, one.bytes.to_above);
      arrive(one.from_below, one.bytes.from_below);
      arrive(one.from_above, one.bytes.from_above);
    }
    ctx.synchronise();  // what arrived before has left the stage, too
    post(staged);
  }

  void do_finish(Context& ctx, std::span<const Rows> rows) override {
    STRATUM_MPI_CHECK(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    requests_.clear();
    if (!ctx.on_gpu()) return;
    const std::byte* arrived = arriving_.at_least(ctx, arriving_bytes(rows));
    const auto take = [&](void* to, std::size_t bytes) {
      if (to != nullptr) copy_bytes(ctx, arrived, to, bytes);
      arrived += bytes;
    };
    for (const auto& one : rows) {
      take(one.from_below, one.bytes.from_below);
      take(one.from_above, one.bytes.from_above);
    }
  }

  static std::size_t leaving_bytes(std::span<const Rows> rows) {
    std::size_t bytes = 0;
    for (const auto& one : rows) bytes += one.bytes.to_below + one.bytes.to_above;
    return bytes;
  }
  static std::size_t arriving_bytes(std::span<const Rows> rows) {
    std::size_t bytes = 0;
    for (const auto& one : rows) bytes += one.bytes.from_below + one.bytes.from_above;
    return bytes;
  }

  /// On the host.
  void post(std::span<const Rows> rows) {
    int upward = 0, downward = 1;
    const auto count = [](std::size_t bytes) {
      expects(bytes <= most_bytes, "a row has up to ", most_bytes, " bytes, not ", bytes);
      return static_cast<int>(bytes);
    };
    const auto receive = [&](void* to, std::size_t bytes, int from, int tag) {
      if (to != nullptr)
        STRATUM_MPI_CHECK(MPI_Irecv(to, count(bytes), MPI_BYTE, from, tag, comm_, &requests_.emplace_back()));
    };
    const auto send = [&](const void* from, std::size_t bytes, int to, int tag) {
      if (from != nullptr)
        STRATUM_MPI_CHECK(MPI_Isend(from, count(bytes), MPI_BYTE, to, tag, comm_, &requests_.emplace_back()));
    };
    for (const auto& one : rows) {
      receive(one.from_below, one.bytes.from_below, one.below, upward);
      receive(one.from_above, one.bytes.from_above, one.above, downward);
      send(one.to_below, one.bytes.to_below, one.below, downward);
      send(one.to_above, one.bytes.to_above, one.above, upward);
      upward += 2;
      downward += 2;
    }
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<MPI_Request> requests_;  // of the exchange under way
  Stage leaving_, arriving_;           // of rows and numbers of a GPU
};

}  // namespace

std::shared_ptr<Communicator> mpi_communicator(MPI_Comm comm) {
  auto communicator = std::make_shared<MpiCommunicator>(comm);
  communicator->agree("version of Stratum", STRATUM_VERSION);
  return communicator;
}

int rank_on_host(MPI_Comm comm) {
  MPI_Comm host = MPI_COMM_NULL;
  STRATUM_MPI_CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  int rank = 0;
  const int code = MPI_Comm_rank(host, &rank);
  STRATUM_MPI_CHECK(MPI_Comm_free(&host));
  expect_success(code, "MPI_Comm_rank");
  return rank;
}

}  // namespace stratum
