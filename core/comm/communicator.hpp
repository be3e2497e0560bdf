#pragma once

// Communicator: what the pieces of one grid have to say to each other. Every piece has a Context of its own, with its
// communicator, and computes on its strip of rows; all pieces make the same calls in the same order.
//
//     pieces in one process   `pieces(p)`: p communicators for p threads, which see each other's memory
//
// A piece that ends by an exception leaves the others waiting: `abandon` lets them throw, too.

#include <memory>
#include <vector>

namespace stratum {

class Communicator {
 public:
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// What all pieces gave, by rank, when all have given. Addresses stay good until the piece's next call.
  [[nodiscard]] virtual std::vector<const void*> gather(const void* mine) = 0;
  /// Waits until all pieces are here. Throws std::runtime_error when one has given up.
  virtual void barrier() = 0;
  /// Of a piece that takes no further part.
  virtual void abandon() = 0;
};

/// Pieces that lie in one process, a thread each.
[[nodiscard]] std::vector<std::shared_ptr<Communicator>> pieces(int count);

}  // namespace stratum
