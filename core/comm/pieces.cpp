#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

struct Meeting {
  explicit Meeting(int count) : given(static_cast<std::size_t>(count)) {}

  void wait() {
    std::unique_lock lock(mutex);
    if (abandoned) throw std::runtime_error("another piece of the grid has given up");
    const auto now = round;
    if (++here == given.size()) {
      here = 0;
      ++round;
      all_here.notify_all();
      return;
    }
    all_here.wait(lock, [&] { return round != now || abandoned; });
    if (round == now) throw std::runtime_error("another piece of the grid has given up");
  }

  std::mutex mutex;
  std::condition_variable all_here;
  std::vector<const void*> given;
  std::size_t here = 0;
  unsigned long round = 0;
  bool abandoned = false;
};

class Piece final : public Communicator {
 public:
  Piece(std::shared_ptr<Meeting> meeting, int rank) : meeting_(std::move(meeting)), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(meeting_->given.size()); }
  [[nodiscard]] std::vector<const void*> gather(const void* mine) override {
    meeting_->given[static_cast<std::size_t>(rank_)] = mine;
    meeting_->wait();
    auto all = meeting_->given;
    meeting_->wait();  // nobody gives anew before all have read
    return all;
  }
  void barrier() override { meeting_->wait(); }
  void abandon() override {
    const std::scoped_lock lock(meeting_->mutex);
    meeting_->abandoned = true;
    meeting_->all_here.notify_all();
  }

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

std::vector<std::shared_ptr<Communicator>> pieces(int count) {
  expects(count >= 1, "a grid has one piece or more, not ", count);
  const auto meeting = std::make_shared<Meeting>(count);
  std::vector<std::shared_ptr<Communicator>> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) all.push_back(std::make_shared<Piece>(meeting, rank));
  return all;
}

}  // namespace stratum
