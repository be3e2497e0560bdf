#include <stratum/core/operators/sparse_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include <stratum/core/errors.hpp>

namespace stratum {

double SparseRows::at(int i, int j) const {
  const auto begin = column.begin() + start[static_cast<std::size_t>(i)];
  const auto end = column.begin() + start[static_cast<std::size_t>(i) + 1];
  const auto found = std::lower_bound(begin, end, j);
  return found == end || *found != j ? 0 : value[static_cast<std::size_t>(found - column.begin())];
}

std::vector<double> SparseRows::diagonal() const {
  std::vector<double> d(static_cast<std::size_t>(rows));
  for (int i = 0; i < rows; ++i) d[static_cast<std::size_t>(i)] = at(i, i);
  return d;
}

bool SparseRows::is_symmetric(double tolerance) const {
  if (rows != columns) return false;
  std::vector<double> largest(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < largest.size(); ++i)
    for (auto k = static_cast<std::size_t>(start[i]); k < static_cast<std::size_t>(start[i + 1]); ++k)
      largest[i] = std::max(largest[i], std::abs(value[k]));
  for (int i = 0; i < rows; ++i)
    for (int k = start[static_cast<std::size_t>(i)]; k < start[static_cast<std::size_t>(i) + 1]; ++k) {
      const auto at_k = static_cast<std::size_t>(k);
      const int j = column[at_k];
      const double size = std::min(largest[static_cast<std::size_t>(i)], largest[static_cast<std::size_t>(j)]);
      if (!(std::abs(value[at_k] - at(j, i)) <= tolerance * size)) return false;
    }
  return true;
}

void SparseRows::validate() const {
  expects(rows >= 0 && columns >= 0, "a matrix cannot have ", rows, " x ", columns, " entries");
  expects(start.size() == static_cast<std::size_t>(rows) + 1, "a matrix of ", rows, " rows has ", rows + 1,
          " row starts, not ", start.size());
  expects(value.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
          "a matrix may have up to 2^31 - 1 ", "entries, not ", value.size());
  expects(column.size() == value.size(), "there are ", column.size(), " columns for ", value.size(), " values");
  expects(start.front() == 0 && start.back() == static_cast<int>(value.size()), "row starts must go from 0 to ",
          value.size(), ", not from ", start.front(), " to ", start.back());
  // All of them first: columns are looked for between them.
  expects_increasing<int>(start);
  for (int i = 0; i < rows; ++i) {
    const int begin = start[static_cast<std::size_t>(i)], end = start[static_cast<std::size_t>(i) + 1];
    for (int k = begin, previous = -1; k < end; ++k) {
      const int j = column[static_cast<std::size_t>(k)];
      expects(j > previous && j < columns, "row ", first_row + i, ": column ", j, " does not lie in ", previous + 1,
              " .. ", columns - 1, "; columns must increase");
      previous = j;
    }
  }
}

SparseRows sparse_rows(int rows, int columns, std::vector<SparseEntry> entries) {
  SparseRows a;
  a.rows = rows;
  a.columns = columns;
  a.start.assign(static_cast<std::size_t>(rows) + 1, 0);
  for (const auto& e : entries)
    expects(e.row >= 0 && e.row < rows && e.column >= 0 && e.column < columns, "entry (", e.row, ", ", e.column,
            ") lies outside the ", rows, " x ", columns, " matrix");
  // Stable, so that entries of one place are added in the order of their coming.
  std::stable_sort(entries.begin(), entries.end(), [](const SparseEntry& a_entry, const SparseEntry& b_entry) {
    return a_entry.row != b_entry.row ? a_entry.row < b_entry.row : a_entry.column < b_entry.column;
  });
  a.column.reserve(entries.size());
  a.value.reserve(entries.size());
  const SparseEntry* previous = nullptr;
  for (const auto& e : entries) {
    if (previous != nullptr && previous->row == e.row && previous->column == e.column) {
      a.value.back() += e.value;
    } else {
      a.column.push_back(e.column);
      a.value.push_back(e.value);
      ++a.start[static_cast<std::size_t>(e.row) + 1];
    }
    previous = &e;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) a.start[i + 1] += a.start[i];
  return a;
}

namespace {

/// Of A^T's shape, its entries still to be counted and put.
SparseRows room_for_transposed(const SparseRows& a) {
  SparseRows t;
  t.rows = a.columns;
  t.columns = a.rows;
  t.start.assign(std::size_t(t.rows) + 1, 0);
  t.column.resize(a.column.size());
  t.value.resize(a.value.size());
  return t;
}

/// In parallel by parts of A^T's rows, which every row of A is searched for: for few long rows.
SparseRows transposed_of_long_rows(const SparseRows& a, int threads) {
  SparseRows t = room_for_transposed(a);
  const auto for_part = [&](int part, const auto& take) {
    const auto bound = [&](int p) { return static_cast<int>(std::int64_t{a.columns} * p / threads); };
    for (int i = 0; i < a.rows; ++i) {
      const auto row_end = a.column.begin() + a.start[std::size_t(i) + 1];
      auto from = std::lower_bound(a.column.begin() + a.start[std::size_t(i)], row_end, bound(part));
      for (const int end = bound(part + 1); from != row_end && *from < end; ++from)
        take(i, *from, static_cast<std::size_t>(from - a.column.begin()));
    }
  };
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int part = 0; part < threads; ++part)
    for_part(part, [&](int /*i*/, int j, std::size_t /*k*/) { ++t.start[std::size_t(j) + 1]; });
  std::partial_sum(t.start.begin(), t.start.end(), t.start.begin());
  auto next = t.start;
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int part = 0; part < threads; ++part)
    for_part(part, [&](int i, int j, std::size_t k) {
      const auto to = static_cast<std::size_t>(next[std::size_t(j)]++);
      t.column[to] = i;
      t.value[to] = a.value[k];
    });
  return t;
}

/// In parallel by parts of A's rows, whose columns are counted apart: for many short rows, and for one thread.
SparseRows transposed_of_short_rows(const SparseRows& a, int threads) {
  // As much memory for counts as for columns, at most.
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(a.entries() / std::max(1, a.columns), 1, threads));
  SparseRows t = room_for_transposed(a);
  std::vector<std::vector<int>> next(std::size_t(parts), std::vector<int>(std::size_t(t.rows), 0));
  const auto bound = [&](int p) { return static_cast<int>(std::int64_t{a.rows} * p / parts); };
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part)
    for (int k = a.start[std::size_t(bound(part))]; k < a.start[std::size_t(bound(part + 1))]; ++k)
      ++next[std::size_t(part)][std::size_t(a.column[std::size_t(k)])];
  int entries = 0;
  for (std::size_t j = 0; j < std::size_t(t.rows); ++j) {
    for (auto& counts : next) entries += std::exchange(counts[j], entries);
    t.start[j + 1] = entries;
  }
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part)
    for (int i = bound(part); i < bound(part + 1); ++i)
      for (int k = a.start[std::size_t(i)]; k < a.start[std::size_t(i) + 1]; ++k) {
        const auto to = std::size_t(next[std::size_t(part)][std::size_t(a.column[std::size_t(k)])]++);
        t.column[to] = i;
        t.value[to] = a.value[std::size_t(k)];
      }
  return t;
}

}  // namespace

SparseRows transposed(const SparseRows& a, int threads) {
  return threads > 1 && a.rows < a.columns ? transposed_of_long_rows(a, threads) : transposed_of_short_rows(a, threads);
}

}  // namespace stratum
