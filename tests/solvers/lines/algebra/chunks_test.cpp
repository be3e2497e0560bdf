// Chunks of tridiagonal systems and their joins, on the host: what the threads of a GPU do, and the subdomains of a grid.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <stratum/solvers/lines/algebra/chunks.hpp>
#include <stratum/solvers/lines/algebra/reduced_system.hpp>

#include <gtest/gtest.h>

#include "support/random.hpp"

namespace {

using namespace stratum::line;

/// lower x_(i-1) + (sum - lower - upper) x_i + upper x_(i+1) = right
struct System {
  std::vector<double> lower, sum, upper, right;
  [[nodiscard]] std::size_t size() const { return sum.size(); }
  [[nodiscard]] std::vector<double> solution() const {
    const std::size_t n = size();
    std::vector<long double> q(n), z(n);
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) {
      const long double excess = sum[i] - lower[i] * (i > 0 ? q[i - 1] : 1.0L), pivot = excess - upper[i];
      q[i] = excess / pivot;
      z[i] = (right[i] - (i > 0 ? lower[i] * z[i - 1] : 0)) / pivot;
    }
    for (std::size_t i = n; i-- > 0;) x[i] = static_cast<double>(z[i] - (i + 1 < n ? (q[i] - 1) * x[i + 1] : 0));
    return x;
  }
};

/// Thin cells amid others, Neumann or Robin boundaries, and a small term that makes it regular: row sums of 1e-3 to 1e-13
/// beside entries of 1e10.
System thin_line(std::size_t n, bool symmetric) {
  test::Random random(5);
  System s;
  std::vector<double> k(n + 1);
  k.front() = 0;
  for (std::size_t i = 1; i < n; ++i) k[i] = std::pow(10.0, 10 * std::sin(0.4 * static_cast<double>(i)));
  k.back() = 0;
  s.right = random.values(n);
  for (double& f : s.right) f = std::abs(f);  // a sum that cancels would ask for more digits than a float has
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = symmetric ? 1 : 1 + 0.5 * std::sin(static_cast<double>(i));  // of the row
    s.lower.push_back(-weight * k[i]);
    s.upper.push_back(-weight * k[i + 1]);
    s.sum.push_back(weight * 1e-3 * (i > 0 ? std::min(1.0, 1 / k[i]) : 1));
  }
  return s;
}

/// The same where the ends are joined: by a second system that is the response to the last unknown.
std::vector<double> cyclic_solution(const System& s) {
  const std::size_t n = s.size();
  System
      inner;  // without the last unknown; its response to one at both ends is 1 - g, where g has the sums on the right
  for (std::size_t i = 0; i + 1 < n; ++i) {
    inner.lower.push_back(s.lower[i]);
    inner.sum.push_back(s.sum[i]);
    inner.upper.push_back(s.upper[i]);
    inner.right.push_back(s.right[i]);
  }
  std::vector<double> x = inner.solution();
  inner.right = inner.sum;
  const std::vector<double> g = inner.solution();
  const double l = s.lower[n - 1], u = s.upper[n - 1],
               last = (s.right[n - 1] - l * x[n - 2] - u * x[0]) / (s.sum[n - 1] - l * g[n - 2] - u * g[0]);
  for (std::size_t i = 0; i + 1 < n; ++i) x[i] += last * (1 - g[i]);
  x.push_back(last);
  return x;
}

/// Thin cells amid others, on a cyclic line.
System thin_cyclic_line(std::size_t n, bool symmetric) {
  System s = thin_line(n, symmetric);
  s.lower.front() = s.upper.back() = -1;
  return s;
}

template <class T, bool symmetric>
std::vector<double> cyclic_line_in_chunks(const System& s) {
  constexpr int size = 8;
  const int n = static_cast<int>(s.size()), count = (n + size - 1) / size;
  using Part = Segment<T, size, symmetric, true, true>;
  std::vector<Part> segments;
  for (int p = 0; p < count; ++p) {
    Part segment(std::min(n - 1 - p * size, size - 1));
    for (int k = 0; k < size; ++k) {
      const auto i = static_cast<std::size_t>(p * size + k);
      if (p * size + k < n)
        segment.push(k, static_cast<T>(s.lower[i]), static_cast<T>(s.sum[i]), static_cast<T>(s.upper[i]),
                     static_cast<T>(s.right[i]));
      else
        segment.push(k, T(0), T(1), T(0), T(0));
    }
    segments.push_back(segment);
  }
  ReducedChunk<T, true> whole = segments[0].chunk();
  std::vector<Row<T, true>> rows;  // last unknowns, by that of the cyclic line and that of the next chunk
  for (int p = 1; p < count; ++p) rows.push_back(append(whole, segments[static_cast<std::size_t>(p)].chunk()));
  const T is_cyclic = last_of_cyclic_line(whole);
  std::vector<double> x(s.size());
  T last = is_cyclic;
  for (int p = count - 1; p >= 0; --p) {
    Part& segment = segments[static_cast<std::size_t>(p)];
    const T before = p > 0 ? rows[static_cast<std::size_t>(p - 1)].f -
                                 rows[static_cast<std::size_t>(p - 1)].a * is_cyclic -
                                 rows[static_cast<std::size_t>(p - 1)].c * last
                           : is_cyclic;
    segment.substitute(before, last);
    for (int k = 0; k < size && p * size + k < n; ++k)
      x[static_cast<std::size_t>(p * size + k)] = static_cast<double>(segment[k]);
    last = before;
  }
  return x;
}

template <class T, bool symmetric, bool by_row_sums>
std::vector<double> solved_in_chunks(const System& s) {
  constexpr int size = 8;
  const std::size_t count = s.size() / size;
  std::vector<Segment<T, size, symmetric, by_row_sums>> segments(count);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const T lower = static_cast<T>(s.lower[i]), upper = static_cast<T>(s.upper[i]), sum = static_cast<T>(s.sum[i]);
    segments[i / size].push(static_cast<int>(i % size), lower, by_row_sums ? sum : sum - lower - upper, upper,
                            static_cast<T>(s.right[i]));
  }
  // Last unknowns, from chunk to chunk and back.
  std::vector<Row<T, by_row_sums>> rows(count);
  for (std::size_t p = 0; p < count; ++p) {
    const auto next = p + 1 < count ? segments[p + 1].chunk().first : zero_row<T, by_row_sums>();
    rows[p] = with_left(with_right(segments[p].chunk().last, next), p > 0 ? rows[p - 1] : zero_row<T, by_row_sums>());
  }
  std::vector<T> last(count);
  for (std::size_t p = count; p-- > 0;) last[p] = rows[p].f - (p + 1 < count ? rows[p].c * last[p + 1] : 0);
  std::vector<double> x;
  for (std::size_t p = 0; p < count; ++p) {
    segments[p].substitute(p > 0 ? last[p - 1] : T(0), last[p]);
    for (int k = 0; k < size; ++k) x.push_back(static_cast<double>(segments[p][k]));
  }
  return x;
}

double relative_error(const std::vector<double>& x, const std::vector<double>& expected) {
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::isfinite(x[i]) ? std::abs(x[i] - expected[i]) : 1e300);
    largest = std::max(largest, std::abs(expected[i]));
  }
  return error / largest;
}

TEST(Chunks, RowSumsKeepWhatEntriesLose) {
  for (const std::size_t n : {8, 64, 1024}) {
    const System symmetric = thin_line(n, true), other = thin_line(n, false);
    // Some rounding an unknown: where q is below it, 1 - q is 1.
    const double some = 10 * static_cast<double>(n), in_float = some * 6e-8, in_double = some * 1.1e-16;
    EXPECT_LT(relative_error(solved_in_chunks<float, true, true>(symmetric), symmetric.solution()), in_float) << n;
    EXPECT_LT(relative_error(solved_in_chunks<float, false, true>(other), other.solution()), in_float) << n;
    EXPECT_LT(relative_error(solved_in_chunks<double, true, true>(symmetric), symmetric.solution()), in_double) << n;
    EXPECT_GT(relative_error(solved_in_chunks<float, true, false>(symmetric), symmetric.solution()), 1e-2) << n;
    EXPECT_GT(relative_error(solved_in_chunks<float, false, false>(other), other.solution()), 1e-2) << n;
  }
}

// Where nothing cancels both forms are the same.
TEST(Chunks, BothFormsAgreeOnWellConditionedLines) {
  test::Random random(7);
  System s;
  for (int i = 0; i < 128; ++i) {
    s.lower.push_back(i > 0 ? random.values(1)[0] : 0);
    s.upper.push_back(i < 127 ? random.values(1)[0] : 0);
    s.sum.push_back(2.5 + s.lower.back() + s.upper.back());
    s.right.push_back(random.values(1)[0]);
  }
  const auto x = s.solution();
  EXPECT_LT(relative_error(solved_in_chunks<double, false, true>(s), x), 1e-13);
  EXPECT_LT(relative_error(solved_in_chunks<double, false, false>(s), x), 1e-13);
}

// Of any length: the last chunk ends anywhere in its segment, at the first unknown, too.
TEST(Chunks, ARingBordersOnItself) {
  test::Random random(8);
  for (const std::size_t n : {3, 4, 7, 8, 9, 15, 16, 17, 100}) {
    System s;
    for (std::size_t i = 0; i < n; ++i) {
      s.lower.push_back(random.values(1)[0]);
      s.upper.push_back(random.values(1)[0]);
      s.sum.push_back(2.5 + s.lower.back() + s.upper.back());
      s.right.push_back(random.values(1)[0]);
    }
    EXPECT_LT(relative_error(cyclic_line_in_chunks<double, false>(s), cyclic_solution(s)), 1e-13) << n;
    for (std::size_t i = 0; i < n; ++i) {
      s.upper[i] = s.lower[(i + 1) % n];
      s.sum[i] = 2.5 + s.lower[i] + s.upper[i];
    }
    EXPECT_LT(relative_error(cyclic_line_in_chunks<double, true>(s), cyclic_solution(s)), 1e-13) << n;
  }
}

TEST(Chunks, RowSumsKeepWhatEntriesLoseOnARing) {
  for (const std::size_t n : {9, 60, 64, 1021}) {
    const System symmetric = thin_cyclic_line(n, true), other = thin_cyclic_line(n, false);
    const double in_float = 10 * static_cast<double>(n) * 6e-8;
    EXPECT_LT(relative_error(cyclic_line_in_chunks<float, true>(symmetric), cyclic_solution(symmetric)), in_float) << n;
    EXPECT_LT(relative_error(cyclic_line_in_chunks<float, false>(other), cyclic_solution(other)), in_float) << n;
  }
}

template <bool with_sum>
void expect_row(const Row<double, with_sum>& row, double a, double c, double f) {
  EXPECT_NEAR(row.a, a, 1e-14);
  EXPECT_NEAR(row.c, c, 1e-14);
  EXPECT_NEAR(row.f, f, 1e-14);
  if constexpr (with_sum) {
    EXPECT_NEAR(row.s, 1 + a + c, 1e-14);
  }
}

TEST(Chunks, RowsPutIntoRows) {
  const Row<double, true> row{-0.3, -0.5, 2, 0.2}, left{-0.4, -0.1, 1, 0.5}, right{-0.25, -0.6, 3, 0.15};
  const double d = 1 - 0.5 * 0.25, e = 1 - 0.3 * 0.1;
  expect_row(with_right(row, right), -0.3 / d, -0.5 * 0.6 / d, (2 + 0.5 * 3) / d);
  expect_row(with_left(row, left), -0.3 * 0.4 / e, -0.5 / e, (2 + 0.3) / e);
  expect_row(with_both(row, left, right), -0.12 / (e + d - 1), -0.3 / (e + d - 1), (2 + 0.3 + 1.5) / (e + d - 1));
  expect_row(beyond_right(row, right), -0.3 - 0.5 * 0.25, -0.3, 2 + 1.5);
  // Neighbours that are the unknowns left and right themselves change nothing.
  expect_row(with_both(row, same_as_left<double, true>(), same_as_right<double, true>()), row.a, row.c, row.f);
}

/// In the three steps, in chunks of so many unknowns each. `group` > 0: so many chunks are joined to one before.
template <class T>
std::vector<double> solved_in_steps(const System& s, const std::vector<int>& lengths, bool is_cyclic, int group = 0) {
  const int count = static_cast<int>(lengths.size());
  std::vector<T> numbers(static_cast<std::size_t>(ChunksOfLines<T>::rows * count)), above(numbers.size());
  const ChunksOfLines<T> chunks{numbers.data(), 1}, joined{above.data(), 1};
  const auto solve = [is_cyclic](const ChunksOfLines<T>& some, int some_count) {
    const auto size = static_cast<std::size_t>(some_count);
    std::vector<T> right(ChunksOfLines<T>::sides * size), matrix(FactoredInterface<T>::rows * size);
    const SidesOfLines<T> sides{right.data(), 1};
    const FactoredInterface<T> factors{matrix.data(), 1};
    for (int r = 0; r < some_count; ++r) {
      sides.last(r, 0) = some.x_last(r, 0);
      sides.first(r, 0) = some.x_first(r, 0);
      for (int k = 0; k < ChunksOfLines<T>::rows; ++k) factors.chunk(r).at(0, k, 0) = some.at(r, k, 0);
    }
    factors.factor(some_count, is_cyclic, 0);
    factors.solve(sides, some_count, is_cyclic, 0, 0);
    for (int r = 0; r < some_count; ++r) {
      some.x_last(r, 0) = sides.last(r, 0);
      some.x_first(r, 0) = sides.first(r, 0);
    }
  };
  const auto number = [](const std::vector<double>& v, int i) {
    return static_cast<T>(v[static_cast<std::size_t>(i)]);
  };
  int begin = 0;
  for (int p = 0; p < count; ++p) {
    ChunkElimination<T> chunk;
    chunk.start(0);
    const int n = lengths[static_cast<std::size_t>(p)];
    for (int i = begin; i < begin + n; ++i)
      chunk.step(i + 1 == begin + n, number(s.lower, i), number(s.sum, i), number(s.upper, i), number(s.right, i));
    chunks.put_last(p, 0, chunk.last());
    chunks.put_first(p, 0, chunk.first());
    begin += n;
  }
  if (group == 0) {
    solve(chunks, count);
  } else {
    const int groups = (count + group - 1) / group;
    const auto end = [&](int g) { return std::min(count, (g + 1) * group); };
    for (int g = 0; g < groups; ++g) {
      const ReducedChunk<T, true> chunk = chunks.joined(g * group, end(g), 0);
      joined.put_last(g, 0, chunk.last);
      joined.put_first(g, 0, chunk.first);
    }
    solve(joined, groups);
    for (int g = 0; g < groups; ++g) {
      const T left = g > 0 ? joined.x_last(g - 1, 0) : is_cyclic ? joined.x_last(groups - 1, 0) : T(0);
      chunks.open(g * group, end(g), 0, left, joined.x_last(g, 0));
    }
  }
  std::vector<double> x(s.size());
  begin = 0;
  for (int p = 0; p < count; ++p) {
    const int n = lengths[static_cast<std::size_t>(p)];
    std::vector<T> q, z;
    T before = 1, f = p > 0 ? chunks.x_last(p - 1, 0) : is_cyclic ? chunks.x_last(count - 1, 0) : T(0);
    for (int i = begin; i + 1 < begin + n; ++i) {
      const T excess = number(s.sum, i) - number(s.lower, i) * before, pivot = 1 / (excess - number(s.upper, i));
      z.push_back(f = (number(s.right, i) - number(s.lower, i) * f) * pivot);
      q.push_back(before = excess * pivot);
    }
    T value = chunks.x_last(p, 0);
    for (int i = begin + n - 1; i >= begin; --i) {
      const auto k = static_cast<std::size_t>(i - begin);
      if (k < z.size()) value += z[k] - q[k] * value;
      x[static_cast<std::size_t>(i)] = static_cast<double>(value);
    }
    if (group == 0) {
      EXPECT_NEAR(chunks.x_first(p, 0), x[static_cast<std::size_t>(begin)],
                  1e-3 * (1 + std::abs(x[static_cast<std::size_t>(begin)])));
    }
    begin += n;
  }
  return x;
}

TEST(Chunks, ThreeStepsSolveALine) {
  test::Random random(9);
  for (const auto& lengths :
       std::vector<std::vector<int>>{{9}, {4, 5}, {1, 1, 1, 1}, {7, 1, 20, 1, 1, 3}, {30, 2, 30, 30, 1, 9, 8, 14}}) {
    System s;
    int n = 0;
    for (const int length : lengths) n += length;
    for (int i = 0; i < n; ++i) {
      s.lower.push_back(random.values(1)[0]);
      s.upper.push_back(random.values(1)[0]);
      s.sum.push_back(2.5 + s.lower.back() + s.upper.back());
      s.right.push_back(random.values(1)[0]);
    }
    for (const int group : {0, 1, 2, 3}) {
      EXPECT_LT(relative_error(solved_in_steps<double>(s, lengths, true, group), cyclic_solution(s)), 1e-13) << n;
      System chain = s;
      chain.sum.front() -= chain.lower.front();  // entries beyond the ends meet zeros
      chain.sum.back() -= chain.upper.back();
      chain.lower.front() = chain.upper.back() = 0;
      EXPECT_LT(relative_error(solved_in_steps<double>(chain, lengths, false, group), chain.solution()), 1e-13) << n;
    }
  }
}

// Chunks that lie in thin cells altogether have row sums that their entries do not show.
TEST(Chunks, ThreeStepsKeepRowSums) {
  for (const int count : {2, 3, 8, 32}) {
    const std::size_t n = 32 * static_cast<std::size_t>(count);
    const std::vector<int> lengths(static_cast<std::size_t>(count), 32);
    for (const bool symmetric : {true, false}) {
      const System line = thin_line(n, symmetric), is_cyclic = thin_cyclic_line(n, symmetric);
      const double in_float = 10 * static_cast<double>(n) * 6e-8;
      for (const int group : {0, 4}) {
        EXPECT_LT(relative_error(solved_in_steps<float>(line, lengths, false, group), line.solution()), in_float) << n;
        EXPECT_LT(relative_error(solved_in_steps<float>(is_cyclic, lengths, true, group), cyclic_solution(is_cyclic)),
                  in_float)
            << n;
      }
    }
  }
}

}  // namespace
