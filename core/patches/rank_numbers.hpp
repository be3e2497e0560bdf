#pragma once

// NumbersOfRanks: numbers that every rank has some of and all ranks need, in the memory of a Context. Each rank writes its own
// at `mine`, then `gather` (collective) makes those of all ranks the same on all:
//
//     number k of rank r is  all[place(r, k)]
//
// Nothing waits for the stream but where the communicator does (core/comm/communicator.hpp).

#include <algorithm>
#include <vector>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/field/field.hpp>

namespace stratum {

template <class T>
class NumbersOfRanks {
 public:
  NumbersOfRanks() = default;
  /// `counts`: of all ranks.
  NumbersOfRanks(Context& ctx, const std::vector<int>& counts) : rank_(ctx.communicator()->rank()) {
    // All the same, in whole cache lines, which every communicator moves best.
    constexpr int line = 32;
    each_ = (*std::max_element(counts.begin(), counts.end()) + line - 1) / line * line;
    if (each_ > 0) numbers_ = Field<T>(ctx, first + each_ * static_cast<int>(counts.size()));
  }

  [[nodiscard]] bool empty() const { return each_ == 0; }
  [[nodiscard]] int place(int rank, int k) const { return rank * each_ + k; }
  [[nodiscard]] T* mine() { return empty() ? nullptr : numbers_.view().data + first + place(rank_, 0); }
  [[nodiscard]] const T* all() const { return empty() ? nullptr : numbers_.view().data + first; }
  void gather(Context& ctx) {
    if (empty()) return;
    ctx.communicator()->gather(ctx, mine(), numbers_.view().data + first, static_cast<std::size_t>(each_) * sizeof(T));
  }

 private:
  static constexpr int first = 31;  // at a cache line's begin: number 0 of a vector lies one number behind one
  int rank_ = 0, each_ = 0;
  Field<T> numbers_;
};

}  // namespace stratum
