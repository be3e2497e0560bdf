#pragma once

// Communicator: the exchange of data between the subdomains of one grid. Every subdomain has its own Context, which refers to
// its communicator, and computes on its part of the grid. All subdomains make the same calls in the same order.
//
//     threads of one process   `subdomains(p)` makes p communicators for p threads, which share memory
//     processes                `mpi_communicator` of <stratum/mpi.hpp>, if the build has MPI
//     one GPU per rank         in addition `nccl_communicator` of core/comm/nccl.hpp or, for processes of one host,
//                              `peer_communicator` of core/comm/peer.hpp
//
// Ranks are 0 .. size - 1, from the lowest rows of the grid to the uppermost. A gathered array is the same on every rank, bit
// for bit, so that all ranks take the same decisions from it.
//
// Functions that take a Context read and write memory of its device, in the order of its stream: work that is submitted later
// may read what has arrived. They do nothing on a Context of a memory dry run.
//
// A rank that ends by an exception leaves the others waiting. `abandon` makes them throw.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace stratum {

class Context;
struct PeerNumbers;

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// By what subdomains exchange: subdomains, mpi, nccl, peer.
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// `bytes` of every subdomain, by rank: `all` has size() * bytes. `mine` may be where it goes to.
  void gather(Context& ctx, const void* mine, void* all, std::size_t bytes);
  /// Subdomains of different sizes: counts[r] bytes of subdomain r go to all + offsets[r]. Both are the same on all subdomains.
  void gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
              std::span<const std::size_t> offsets);

  /// Rows for the subdomains below and above, and from them; null: none that way, which the subdomain there sees alike. These
  /// subdomains are rank - 1 and rank + 1, around the ends, unless others are named, which name this one in turn.
  struct Rows {
    /// What goes each way, all of one length or not. What one subdomain sends has as many bytes as the other one waits for.
    struct Bytes {
      Bytes() = default;
      // NOLINTNEXTLINE(google-explicit-constructor): most often all are of one length
      Bytes(std::size_t each) : to_below(each), to_above(each), from_below(each), from_above(each) {}
      std::size_t to_below = 0, to_above = 0, from_below = 0, from_above = 0;
    };

    const void* to_below = nullptr;
    const void* to_above = nullptr;
    void* from_below = nullptr;
    void* from_above = nullptr;
    Bytes bytes{};
    int below = -1, above = -1;
  };
  void exchange(Context& ctx, const Rows& rows);
  /// The same in two steps, for several kinds of rows at once, on all subdomains in the same order: what is computed between
  /// them neither reads what comes nor writes what goes. On a GPU both are in the order of its stream. Throws UsageError where
  /// rows are exchanged or numbers gathered through a Context meanwhile.
  void start_exchange(Context& ctx, std::span<const Rows> rows);
  void finish_exchange(Context& ctx);

  /// Numbers of the host, which are there when this returns.
  void gather_on_host(const void* mine, void* all, std::size_t bytes);
  template <class T>
  [[nodiscard]] std::vector<T> gather_on_host(const T& mine) {
    std::vector<T> all(static_cast<std::size_t>(size()));
    gather_on_host(&mine, all.data(), sizeof(T));
    return all;
  }
  /// Bytes of the host from every subdomain to every subdomain, by rank one after another: to[r] bytes of `out` go to subdomain
  /// r, and from[r] bytes of subdomain r come into `in`, as many as that subdomain gives.
  void all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                          std::span<const std::size_t> from);
  /// Of subdomains that have different numbers of them, one after another.
  [[nodiscard]] std::vector<double> join_on_host(std::span<const double> mine);
  /// The same on the first subdomain alone, the others get none: in parts, so that they hold little.
  [[nodiscard]] std::vector<double> join_on_first(std::span<const double> mine);
  /// Throws UsageError on every subdomain where `value`, called `name` in the message, is not the same on all.
  void agree(std::string_view name, std::string_view value);

  /// Calls with a Context on a GPU do not wait for the stream: they can be recorded (core/device/recording.hpp).
  [[nodiscard]] virtual bool keeps_order() const { return false; }
  /// Of one that does: throws std::runtime_error where its library has reported an error since. Context::synchronise asks while
  /// it waits.
  virtual void check() {}
  /// How kernels gather numbers of all subdomains by themselves (core/comm/peer_numbers.hpp), as long as the communicator
  /// lives; null where they cannot.
  [[nodiscard]] virtual const PeerNumbers* peer_numbers() const { return nullptr; }

  /// Waits until all subdomains are here.
  virtual void barrier() = 0;
  /// Of a subdomain that takes no further part. Subdomains in one process: the others throw std::runtime_error in their next
  /// call.
  virtual void abandon() = 0;

  /// How often this subdomain has exchanged rows and gathered.
  [[nodiscard]] std::int64_t exchanges() const { return exchanges_; }
  [[nodiscard]] std::int64_t gathers() const { return gathers_; }

 private:
  virtual void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                         std::span<const std::size_t> offsets) = 0;
  virtual void do_exchange(Context& ctx, const Rows& rows) = 0;
  /// Where nothing can travel by itself it does so at the end.
  virtual void do_start(Context& /*ctx*/, std::span<const Rows> /*rows*/) {}
  virtual void do_finish(Context& ctx, std::span<const Rows> rows);
  virtual void do_gather_on_host(const void* mine, void* all, std::size_t bytes) = 0;
  virtual void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                                     std::span<const std::size_t> from) = 0;

  /// With the subdomains' names.
  [[nodiscard]] Rows named(const Rows& rows) const;
  void expect_none_under_way() const;

  std::vector<Rows> under_way_;
  std::int64_t exchanges_ = 0;
  std::int64_t gathers_ = 0;
};

/// Subdomains that lie in one process, a thread each. Every call waits for the Context's stream and for all other subdomains.
[[nodiscard]] std::vector<std::shared_ptr<Communicator>> thread_communicators(int count);

}  // namespace stratum
