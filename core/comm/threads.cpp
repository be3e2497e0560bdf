#include <condition_variable>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

struct Meeting {
  explicit Meeting(int count) : given(static_cast<std::size_t>(count)), calls(given.size()), rows(given.size()) {}

  void wait() {
    std::unique_lock lock(mutex);
    if (abandoned) throw std::runtime_error("another subdomain of the grid has given up");
    const auto now = round;
    if (++here == given.size()) {
      here = 0;
      ++round;
      all_here.notify_all();
      return;
    }
    all_here.wait(lock, [&] { return round != now || abandoned; });
    if (round == now) throw std::runtime_error("another subdomain of the grid has given up");
  }

  std::mutex mutex;
  std::condition_variable all_here;
  std::vector<const void*> given;
  std::vector<const char*> calls;        // of the subdomains
  std::vector<Communicator::Rows> rows;  // here, since a subdomain that throws leaves while others look at its rows
  std::size_t here = 0;
  unsigned long round = 0;
  bool abandoned = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(meeting_->given.size()); }
  [[nodiscard]] std::string_view name() const override { return "subdomains"; }
  void barrier() override {
    meet("waits", nullptr, [](const auto& /*given*/) {});
  }
  void abandon() override {
    const std::scoped_lock lock(meeting_->mutex);
    meeting_->abandoned = true;
    meeting_->all_here.notify_all();
  }

 private:
  /// Shows `mine` to the others, and is done with theirs when all are.
  template <class Read>
  void meet(const char* call, const void* mine, const Read& read) {
    auto& given = meeting_->given;
    auto& calls = meeting_->calls;
    given[static_cast<std::size_t>(rank_)] = mine;
    calls[static_cast<std::size_t>(rank_)] = call;
    meeting_->wait();
    for (std::size_t r = 0; r < calls.size(); ++r)
      if (calls[r] != call)
        throw std::logic_error(message("subdomain ", rank_, " ", call, ", and subdomain ", r, " ", calls[r]));
    read(given);
    meeting_->wait();
  }

  void do_gather_on_host(const void* mine, void* all, std::size_t bytes) override {
    meet("gathers on the host", mine, [&](const auto& given) {
      for (std::size_t r = 0; r < given.size(); ++r)
        if (bytes > 0) std::memcpy(static_cast<std::byte*>(all) + r * bytes, given[r], bytes);
    });
  }

  void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                             std::span<const std::size_t> from) override {
    struct Given {
      const void* out;
      std::span<const std::size_t> to;
    } mine{out, to};
    meet("sends to all", &mine, [&](const auto& given) {
      auto* next = static_cast<std::byte*>(in);
      for (std::size_t r = 0; r < given.size(); ++r) {
        const auto& other = *static_cast<const Given*>(given[r]);
        const auto own = static_cast<std::size_t>(rank_);
        expects(other.to[own] == from[r], "subdomain ", rank_, " waits for ", from[r], " bytes, and subdomain ", r,
                " gives ", other.to[own]);
        std::size_t begin = 0;
        for (std::size_t q = 0; q < own; ++q) begin += other.to[q];
        if (from[r] > 0) std::memcpy(next, static_cast<const std::byte*>(other.out) + begin, from[r]);
        next += from[r];
      }
    });
  }

  void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                 std::span<const std::size_t> offsets) override {
    ctx.synchronise();
    meet("gathers", mine, [&](const auto& given) {
      for (std::size_t r = 0; r < given.size(); ++r)
        copy_bytes(ctx, given[r], static_cast<std::byte*>(all) + offsets[r], counts[r]);
      ctx.synchronise();
    });
  }

  void do_exchange(Context& ctx, const Rows& rows) override {
    ctx.synchronise();
    auto& shown_rows = meeting_->rows[static_cast<std::size_t>(rank_)];
    shown_rows = rows;
    meet("exchanges rows", &shown_rows, [&](const auto& given) {
      const auto& below = *static_cast<const Rows*>(given[static_cast<std::size_t>(rows.below)]);
      const auto& above = *static_cast<const Rows*>(given[static_cast<std::size_t>(rows.above)]);
      expects(below.above == rank_ && above.below == rank_, "subdomain ", rank_, " names subdomains ", rows.below,
              " and ", rows.above, " below and above it, which name ", below.above, " and ", above.below,
              " above and below");
      const auto take = [&](const void* from, std::size_t given_bytes, void* to, std::size_t bytes) {
        if (to == nullptr) return;
        expects(from != nullptr && given_bytes == bytes, "a subdomain waits for a row of ", bytes,
                " bytes, and the one beside it gives ", from == nullptr ? 0 : given_bytes);
        copy_bytes(ctx, from, to, bytes);
      };
      take(below.to_above, below.bytes.to_above, rows.from_below, rows.bytes.from_below);
      take(above.to_below, above.bytes.to_below, rows.from_above, rows.bytes.from_above);
      ctx.synchronise();
    });
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> thread_communicators(int count) {
  expects(count >= 1, "a grid has one subdomain or more, not ", count);
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::shared_ptr<Communicator>> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) all.push_back(std::make_shared<ThreadCommunicator>(meeting, rank));
  return all;
}

}  // namespace stratum
