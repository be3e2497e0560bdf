#include <stratum/core/operators/sparse_rows.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

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
  for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i)
    expects(start[i] <= start[i + 1], "row ", first_row + static_cast<std::int64_t>(i), " starts at ", start[i],
            " and ends at ", start[i + 1]);
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

SparseRows transposed(const SparseRows& a) {
  SparseRows t;
  t.rows = a.columns;
  t.columns = a.rows;
  t.start.assign(static_cast<std::size_t>(t.rows) + 1, 0);
  t.column.resize(a.column.size());
  t.value.resize(a.value.size());
  for (const int j : a.column) ++t.start[static_cast<std::size_t>(j) + 1];
  for (std::size_t j = 0; j < static_cast<std::size_t>(t.rows); ++j) t.start[j + 1] += t.start[j];
  auto next = t.start;
  for (int i = 0; i < a.rows; ++i)
    for (int k = a.start[static_cast<std::size_t>(i)]; k < a.start[static_cast<std::size_t>(i) + 1]; ++k) {
      const auto from = static_cast<std::size_t>(k);
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(a.column[from])]++);
      t.column[to] = i;
      t.value[to] = a.value[from];
    }
  return t;
}

}  // namespace stratum
