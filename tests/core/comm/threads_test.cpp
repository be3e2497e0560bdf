// Subdomains in one process: what they gather and exchange, what is counted, and how the others learn of one that gives up.

#include <algorithm>
#include <array>
#include <functional>
#include <thread>

#include <stratum/core/comm/communicator.hpp>
#include <stratum/core/comm/redistribution.hpp>
#include <stratum/core/field/blas.hpp>

#include <gmock/gmock.h>

#include "support/all_to_all.hpp"
#include "support/backends.hpp"

namespace {

using namespace stratum;

using Work = std::function<void(Communicator&, Context&)>;

/// On as many threads; errors by rank.
std::vector<std::string> on_subdomains(int count, Backend backend, const Work& work) {
  const auto communicators = thread_communicators(count);
  std::vector<std::string> errors(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < communicators.size(); ++k)
    threads.emplace_back([&, k] {
      try {
        Context ctx(backend, 1);
        ctx.set_communicator(communicators[k]);
        work(*communicators[k], ctx);
      } catch (const std::exception& error) {
        errors[k] = error.what();
        communicators[k]->abandon();
      }
    });
  for (auto& thread : threads) thread.join();
  return errors;
}

template <class T>
class ThreadCommunicatorsTest : public test::OnEverySetting<T> {
 protected:
  void expect_of_all(int count, const Work& work) {
    const auto errors = on_subdomains(count, this->backend(), work);
    EXPECT_EQ(errors, std::vector<std::string>(errors.size()));
  }
};

TEST_ON_EVERY_SETTING(ThreadCommunicatorsTest, GatherByRank) {
  for (const int count : {1, 2, 5}) {
    this->expect_of_all(count, [&](Communicator& comm, Context& ctx) {
      // Subdomain r has r + 1 numbers; they arrive in turn, the first subdomain's last.
      const int rank = comm.rank(), total = count * (count + 1) / 2;
      std::vector<std::size_t> counts, offsets;
      std::size_t end = static_cast<std::size_t>(total) * sizeof(T);
      for (int r = 0; r < count; ++r) {
        counts.push_back(static_cast<std::size_t>(r + 1) * sizeof(T));
        offsets.push_back(end -= counts.back());
      }
      const auto own = test::to_device<T>(ctx, GridLayout<2>::flat(rank + 1),
                                          std::vector<double>(static_cast<std::size_t>(rank + 1), rank));
      Field<T> all(ctx, total), evenly(ctx, count);
      comm.gather(ctx, own.cview().data, all.view().data, counts, offsets);
      std::vector<double> expected;
      for (int r = count - 1; r >= 0; --r) expected.insert(expected.end(), static_cast<std::size_t>(r + 1), r);
      EXPECT_EQ(test::to_host(ctx, all), expected);
      comm.gather(ctx, own.cview().data, evenly.view().data, sizeof(T));
      for (int r = 0; r < count; ++r) EXPECT_EQ(test::to_host(ctx, evenly)[static_cast<std::size_t>(r)], r);
      EXPECT_EQ(comm.gathers(), 2);
      EXPECT_EQ(comm.exchanges(), 0);
      const auto of_host = comm.gather_on_host(std::array{rank, -rank});
      for (int r = 0; r < count; ++r) EXPECT_EQ(of_host[static_cast<std::size_t>(r)], (std::array{r, -r}));
      const auto joined = comm.join_on_host(std::vector<double>(static_cast<std::size_t>(rank), rank));
      std::vector<double> in_turn;
      for (int r = 0; r < count; ++r) in_turn.insert(in_turn.end(), static_cast<std::size_t>(r), r);
      EXPECT_EQ(joined, in_turn);
      const auto before = comm.gathers();
      Context dry_run = ctx.memory_dry_run();
      dry_run.communicator()->gather(dry_run, nullptr, nullptr, 8);
      dry_run.communicator()->exchange(dry_run, {});
      EXPECT_EQ(comm.gathers(), before);
    });
  }
}

TEST_ON_EVERY_SETTING(ThreadCommunicatorsTest, RowsGoAroundTheEnds) {
  for (const int count : {1, 2, 3}) {
    this->expect_of_all(count, [&](Communicator& comm, Context& ctx) {
      const int rank = comm.rank();
      const auto rows = test::to_device<T>(ctx, GridLayout<2>::flat(4), {rank + 0.25, rank + 0.5, -1, -1});
      T* const at = rows.cview().data == nullptr ? nullptr : const_cast<T*>(rows.cview().data);
      comm.exchange(ctx, {at, at + 1, at + 2, at + 3, sizeof(T)});
      const auto found = test::to_host(ctx, rows);
      EXPECT_EQ(found[2], (rank + count - 1) % count + 0.5);
      EXPECT_EQ(found[3], (rank + 1) % count + 0.25);
      EXPECT_EQ(comm.exchanges(), 1);
    });
  }
}

/// 2 x 3 subdomains: lines of two and lines of three, in two steps at once.
TEST_ON_EVERY_SETTING(ThreadCommunicatorsTest, RowsGoToThoseThatAreNamed) {
  this->expect_of_all(6, [&](Communicator& comm, Context& ctx) {
    const int rank = comm.rank(), i = rank / 3, j = rank % 3;
    const auto at = [](int row, int column) { return (row + 2) % 2 * 3 + (column + 3) % 3; };
    const auto numbers = test::to_device<T>(ctx, GridLayout<2>::flat(8),
                                            {rank + 0.25, rank + 0.5, -1, -1, rank + 10.25, rank + 10.5, -1, -1});
    T* const k = const_cast<T*>(numbers.cview().data);
    const std::array<Communicator::Rows, 2> rows{{{k, k + 1, k + 2, k + 3, sizeof(T), at(i - 1, j), at(i + 1, j)},
                                                  {k + 4, k + 5, k + 6, k + 7, sizeof(T), at(i, j - 1), at(i, j + 1)}}};
    comm.start_exchange(ctx, rows);
    EXPECT_THAT([&] { comm.exchange(ctx, rows[0]); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr("under way")));
    EXPECT_THAT([&] { comm.gather(ctx, k, k, 1); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr("under way")));
    EXPECT_THAT([&] { comm.start_exchange(ctx, rows); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr("under way")));
    comm.finish_exchange(ctx);
    EXPECT_THAT([&] { comm.finish_exchange(ctx); },
                testing::ThrowsMessage<UsageError>(testing::HasSubstr("no exchange of rows")));
    EXPECT_EQ(test::to_host(ctx, numbers),
              (std::vector<double>{rank + 0.25, rank + 0.5, at(i - 1, j) + 0.5, at(i + 1, j) + 0.25, rank + 10.25,
                                   rank + 10.5, at(i, j - 1) + 10.5, at(i, j + 1) + 10.25}));
    EXPECT_EQ(comm.exchanges(), 1);
    Context dry_run = ctx.memory_dry_run();
    comm.start_exchange(dry_run, rows);
    comm.finish_exchange(dry_run);
    EXPECT_EQ(comm.exchanges(), 1);
  });
}

// Rows and numbers of a block's chunk, of several and of many rounds, in turn and one way, more often than there are slots.
TEST_ON_EVERY_SETTING(ThreadCommunicatorsTest, LongRowsAgainAndAgain) {
  constexpr int longest = 600'000;
  for (const int count : {2, 3})
    this->expect_of_all(count, [&](Communicator& comm, Context& ctx) {
      const int rank = comm.rank();
      const bool first = rank == 0, last = rank + 1 == count;
      Field<T> up(ctx, longest), down(ctx, longest), own(ctx, longest), all(ctx, count * longest);
      comm.barrier();
      for (const int n : {1, 511, 512, 513, 4096, 70'001, longest, 3})
        for (const T step : {T(0), T(1), T(2)}) {
          const auto number = [&](int r) { return T(10 * r) + step; };
          set(ctx, number(rank), own.view());
          comm.exchange(ctx, {nullptr, last ? nullptr : own.cview().data, first ? nullptr : up.view().data, nullptr,
                              static_cast<std::size_t>(n) * sizeof(T)});
          comm.exchange(ctx, {own.cview().data, own.cview().data, down.view().data, all.view().data,
                              static_cast<std::size_t>(n) * sizeof(T)});
          const auto lower = number((rank + count - 1) % count), upper = number((rank + 1) % count);
          const auto expect_row = [&](const Field<T>& row, int begin, T expected) {
            auto part = row.cview();
            part.data += begin;
            part.nx = n;
            std::vector<T> found(static_cast<std::size_t>(n));
            copy_to_host(ctx, part, found.data());
            ASSERT_EQ(std::count(found.begin(), found.end(), expected), n) << n << " numbers, step " << step;
          };
          if (!first) expect_row(up, 0, lower);
          expect_row(down, 0, lower);
          expect_row(all, 0, upper);
          comm.gather(ctx, own.cview().data, all.view().data, static_cast<std::size_t>(n) * sizeof(T));
          for (int r = 0; r < count; ++r) expect_row(all, r * n, number(r));
        }
    });
}

// What goes up and what comes down between two, and what goes to either side, have lengths of their own: of one chunk, of some,
// of many.
TEST_ON_EVERY_SETTING(ThreadCommunicatorsTest, RowsOfSeveralLengths) {
  constexpr int longest = 300'000;
  constexpr std::array lengths{1, longest, 700, 90'000, 4096, 2};
  for (const int count : {2, 3, 4})
    this->expect_of_all(count, [&](Communicator& comm, Context& ctx) {
      const int rank = comm.rank(), below = (rank + count - 1) % count, above = (rank + 1) % count;
      Field<T> up(ctx, longest), down(ctx, longest), own(ctx, longest);
      for (std::size_t step = 0; step < 2 * lengths.size(); ++step) {
        const auto length = [&](int r, std::size_t way) {
          return lengths[(step + 2 * static_cast<std::size_t>(r) + 3 * way) % lengths.size()];
        };
        const auto bytes = [&](int r, std::size_t way) { return static_cast<std::size_t>(length(r, way)) * sizeof(T); };
        const auto number = [&](int r) { return T(10 * r) + T(step); };
        set(ctx, number(rank), own.view());
        set(ctx, T(-1), up.view());
        set(ctx, T(-1), down.view());
        // In turn around the ends and between them.
        const bool around = step % 2 == 0, first = rank == 0 && !around, last = rank + 1 == count && !around;
        Communicator::Rows rows{first ? nullptr : own.cview().data, last ? nullptr : own.cview().data,
                                first ? nullptr : up.view().data, last ? nullptr : down.view().data};
        rows.bytes.to_above = bytes(rank, 0);
        rows.bytes.to_below = bytes(rank, 1);
        rows.bytes.from_below = bytes(below, 0);
        rows.bytes.from_above = bytes(above, 1);
        comm.exchange(ctx, rows);
        const auto expect_row = [&](const Field<T>& row, T expected, int n) {
          const auto found = test::to_host(ctx, row);
          ASSERT_EQ(std::count(found.begin(), found.begin() + n, double{expected}), n) << step;
          ASSERT_EQ(std::count(found.begin() + n, found.end(), -1.0), longest - n) << step;
        };
        expect_row(up, number(below), first ? 0 : length(below, 0));
        expect_row(down, number(above), last ? 0 : length(above, 1));
      }
    });
}

TEST(ThreadCommunicators, NameEachOther) {
  const auto errors = on_subdomains(3, Backend::cpu, [&](Communicator& comm, Context& ctx) {
    Communicator::Rows rows;
    if (comm.rank() == 2) rows.below = 0;
    comm.exchange(ctx, rows);
  });
  EXPECT_EQ(errors[2], "subdomain 2 names subdomains 0 and 0 below and above it, which name 1 and 2 above and below");
  const auto there_is_none = on_subdomains(1, Backend::cpu, [&](Communicator& comm, Context& ctx) {
    Communicator::Rows rows;
    rows.above = 1;
    comm.exchange(ctx, rows);
  });
  EXPECT_EQ(there_is_none[0], "subdomains have ranks below 1, not 0 and 1");
}

/// Subdomain r gives q r + 1 numbers to subdomain q.
TEST(ThreadCommunicators, FromAllToAll) {
  const auto errors = on_subdomains(3, Backend::cpu, [&](Communicator& comm, Context&) {
    const test::AllToAll numbers(comm.rank(), comm.size());
    EXPECT_EQ(numbers.sent(comm), numbers.expected);
  });
  EXPECT_EQ(errors, std::vector<std::string>(3));
}

/// Numbers of nodes in any order come to subdomains with a line of others, and back.
TEST(ThreadCommunicators, RedistributeNodes) {
  constexpr int nx = 3, ny = 5;
  for (const bool periodic : {false, true})
    for (const int halo : {0, 1, 2}) {
      const auto errors = on_subdomains(2, Backend::cpu, [&](Communicator& comm, Context&) {
        std::vector<int> node;
        for (int k = nx * ny - 1; k >= 0; --k)
          if (k % 2 == comm.rank()) node.push_back(k);
        const Redistribution moved(comm, node, nx, {0, 2, 5}, halo, periodic);
        const std::vector<double> own(node.begin(), node.end());
        std::vector<double> subdomain(moved.subdomain_size(), -1), back(own.size());
        moved.to_subdomain(comm, own, subdomain);
        const int first = comm.rank() == 0 ? 0 : 2, lines = comm.rank() == 0 ? 2 : 3;
        ASSERT_EQ(subdomain.size(), static_cast<std::size_t>((lines + 2 * halo) * nx));
        for (int line = -halo; line < lines + halo; ++line)
          for (int i = 0; i < nx; ++i) {
            const int j = periodic ? (first + line + ny) % ny : first + line;
            EXPECT_EQ(subdomain[static_cast<std::size_t>((line + halo) * nx + i)], j < 0 || j >= ny ? 0 : j * nx + i);
          }
        moved.to_own(comm, subdomain, back);
        EXPECT_EQ(back, own);
        EXPECT_FALSE(moved.in_place());
      });
      EXPECT_EQ(errors, std::vector<std::string>(2));
    }
}

TEST(ThreadCommunicators, RedistributeNothingWhereSubdomainsAreThere) {
  const auto errors = on_subdomains(2, Backend::cpu, [&](Communicator& comm, Context&) {
    const std::vector<int> node = comm.rank() == 0 ? std::vector{0, 1, 2, 3} : std::vector{4, 5};
    const Redistribution moved(comm, node, 2, {0, 2, 3}, 0, false);
    EXPECT_TRUE(moved.in_place());
    const auto before = comm.exchanges();
    std::vector<double> own(node.begin(), node.end()), subdomain(own.size());
    moved.to_subdomain(comm, own, subdomain);
    EXPECT_EQ(subdomain, own);
    EXPECT_EQ(comm.exchanges(), before);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2));
}

TEST(ThreadCommunicators, NodesBelongToOneSubdomainEach) {
  struct Case {
    std::vector<int> first, second;
    const char* reason;
  };
  for (const Case& c : {Case{{0, 1, 2}, {3, 4}, "no rank has the unknown of node (1, 2)"},
                        Case{{0, 1, 2, 5}, {3, 4, 5}, "node (1, 2) is said to be of two unknowns"},
                        Case{{0, 1, 2}, {3, 4, 6}, "unknown 2 of rank 1 is said to be node 6 of a grid of 2 x 3"},
                        Case{{-1, 1, 2}, {3, 4, 5}, "unknown 0 of rank 0 is said to be node -1"}}) {
    const auto errors = on_subdomains(2, Backend::cpu, [&](Communicator& comm, Context&) {
      const Redistribution moved(comm, comm.rank() == 0 ? c.first : c.second, 2, {0, 2, 3}, 0, false);
    });
    for (const auto& error : errors) EXPECT_THAT(error, testing::HasSubstr(c.reason));
  }
}

TEST(ThreadCommunicators, RowsOfOneLengthOnly) {
  for (const bool nothing : {false, true}) {
    const auto errors = on_subdomains(2, Backend::cpu, [&](Communicator& comm, Context& ctx) {
      std::array<double, 4> row{};
      Communicator::Rows rows;
      rows.bytes = comm.rank() == 0 ? 8 : 16;
      if (comm.rank() == 1)
        rows.from_below = row.data();
      else if (!nothing)
        rows.to_above = row.data();
      comm.exchange(ctx, rows);
    });
    EXPECT_THAT(errors[1], testing::HasSubstr(nothing ? "16 bytes, and the one beside it gives 0" : "gives 8"));
    EXPECT_THAT(errors[0], testing::HasSubstr("given up"));
  }
}

TEST(ThreadCommunicators, AgreeOrAllThrow) {
  for (const char* other : {"v", "", "ww"}) {
    const auto errors = on_subdomains(3, Backend::cpu, [&](Communicator& comm, Context&) {
      comm.agree("version", "1.0");
      comm.agree("cycle", message("level=3\n", comm.rank() == 2 ? other : "v"));
    });
    for (const auto& error : errors)
      if (other == std::string("v"))
        EXPECT_EQ(error, "");
      else
        EXPECT_EQ(error, message("all ranks need the same cycle: rank 0 has 'v', rank 2 has '", other, "'"));
  }
}

TEST(ThreadCommunicators, MakeTheSameCalls) {
  const auto errors = on_subdomains(2, Backend::cpu, [&](Communicator& comm, Context& ctx) {
    if (comm.rank() == 0)
      comm.barrier();
    else
      comm.exchange(ctx, {});
  });
  EXPECT_EQ(errors[0], "subdomain 0 waits, and subdomain 1 exchanges rows");
  EXPECT_EQ(errors[1], "subdomain 1 exchanges rows, and subdomain 0 waits");
}

TEST(ThreadCommunicators, OneGivesUpAndTheOthersLearnOfIt) {
  const auto errors = on_subdomains(3, Backend::cpu, [&](Communicator& comm, Context&) {
    if (comm.rank() == 1) throw std::runtime_error("mine");
    comm.barrier();
  });
  EXPECT_EQ(errors[1], "mine");
  EXPECT_THAT(errors[0], testing::HasSubstr("another subdomain"));
  EXPECT_THAT(errors[2], testing::HasSubstr("another subdomain"));
}

}  // namespace
