#pragma once

// ReentrancyGuard: detects two threads that use an object at the same time, and throws instead of computing wrong numbers.

#include <atomic>

#include <stratum/core/errors.hpp>

namespace stratum {

class ReentrancyGuard {
 public:
  /// The object is in use as long as one of these lives.
  class Entered {
   public:
    explicit Entered(std::atomic<bool>& held) : held_(held) {}
    ~Entered() { held_.store(false, std::memory_order_release); }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    std::atomic<bool>& held_;
  };

  /// Throws UsageError where it is in use already. `what` names it.
  [[nodiscard]] Entered enter(const char* what) {
    if (held_.exchange(true, std::memory_order_acquire))
      throw UsageError(message("this ", what,
                               " is in use already, by another thread or further up in this one; it serves one at "
                               "a time: give each thread its own"));
    return Entered(held_);
  }

 private:
  std::atomic<bool> held_{false};
};

/// What copies of a preconditioner that iterates have in common.
struct InnerWork {
  ReentrancyGuard guard;
  int iterations = 0;  // of the latest application
};

}  // namespace stratum
