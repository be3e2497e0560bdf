#pragma once

// InUse: an object that serves one thread at a time says so when two try, instead of mixing up their numbers.

#include <atomic>

#include <stratum/core/errors.hpp>

namespace stratum {

class InUse {
 public:
  /// The object is in use as long as one of these lives.
  class Hold {
   public:
    explicit Hold(std::atomic<bool>& held) : held_(held) {}
    ~Hold() { held_.store(false, std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::atomic<bool>& held_;
  };

  /// Throws UsageError where it is in use already. `what` names it.
  [[nodiscard]] Hold hold(const char* what) {
    if (held_.exchange(true, std::memory_order_acquire))
      throw UsageError(message("this ", what,
                               " is in use already, by another thread or further up in this one; it serves one at "
                               "a time: give each thread its own"));
    return Hold(held_);
  }

 private:
  std::atomic<bool> held_{false};
};

/// What copies of a preconditioner that iterates have in common.
struct InnerWork {
  InUse in_use;
  int iterations = 0;  // of the latest application
};

}  // namespace stratum
