#include <stratum/solvers/deflation/deflation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <stratum/core/comm/faults.hpp>
#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum {

namespace {

constexpr int chunk_entries = 1024;

/// The sum of every row, zero where it is rounding.
std::vector<double> row_sums(const SparseRows& a, [[maybe_unused]] int threads) {
  std::vector<double> sums(std::size_t(a.rows));
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < a.rows; ++i) {
    double sum = 0, size = 0;
    for (int k = a.start[std::size_t(i)]; k < a.start[std::size_t(i) + 1]; ++k) {
      sum += a.value[std::size_t(k)];
      size += std::abs(a.value[std::size_t(k)]);
    }
    constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
    sums[std::size_t(i)] = std::abs(sum) <= rounding * size ? 0 : sum;
  }
  return sums;
}

/// Rows in their order from parts of them, of which each holds its own.
SparseRows joined(const std::vector<SparseRows>& parts, int columns, [[maybe_unused]] int threads) {
  SparseRows all;
  all.columns = columns;
  std::vector<std::size_t> first_row{0}, first_entry{0};
  for (const auto& part : parts) {
    first_row.push_back(first_row.back() + std::size_t(part.rows));
    first_entry.push_back(first_entry.back() + part.value.size());
  }
  all.rows = static_cast<int>(first_row.back());
  all.start.resize(first_row.back() + 1);
  all.column.resize(first_entry.back());
  all.value.resize(first_entry.back());
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto at = static_cast<std::ptrdiff_t>(first_entry[p]);
    std::copy(parts[p].column.begin(), parts[p].column.end(), all.column.begin() + at);
    std::copy(parts[p].value.begin(), parts[p].value.end(), all.value.begin() + at);
    for (std::size_t i = 0; i < std::size_t(parts[p].rows); ++i)
      all.start[first_row[p] + i + 1] = parts[p].start[i + 1] + static_cast<int>(first_entry[p]);
  }
  return all;
}

/// One entry of a row of sparse vectors.
struct Entry {
  int vector;
  double value;
};

/// (A Z)_i by differences, for any node in turn. Z is by A's columns, of which row i's own is `first` + i.
class ImageOfVectors {
 public:
  ImageOfVectors(const SparseRows& a, std::span<const double> sums, const SparseRows& z, int first)
      : a_(a), z_(z), first_(first), sums_(sums), slot_(std::size_t(z.columns), -1) {}
  /// In the order of the vectors.
  const std::vector<Entry>& row(int i) {
    entries_.clear();
    const int here = first_ + i, own = z_.start[std::size_t(here)], own_end = z_.start[std::size_t(here) + 1];
    for (int k = a_.start[std::size_t(i)]; k < a_.start[std::size_t(i) + 1]; ++k) {
      const int j = a_.column[std::size_t(k)];
      if (j == here) continue;
      const double a_ij = a_.value[std::size_t(k)];
      int p = own, q = z_.start[std::size_t(j)];
      const int q_end = z_.start[std::size_t(j) + 1];
      while (p < own_end || q < q_end) {
        const int from_i = p < own_end ? z_.column[std::size_t(p)] : std::numeric_limits<int>::max();
        const int from_j = q < q_end ? z_.column[std::size_t(q)] : std::numeric_limits<int>::max();
        double difference = 0;
        if (from_j <= from_i) difference += z_.value[std::size_t(q++)];
        if (from_i <= from_j) difference -= z_.value[std::size_t(p++)];
        add(std::min(from_i, from_j), a_ij * difference);
      }
    }
    const double sum = sums_[std::size_t(i)];
    for (int p = own; p < own_end; ++p) add(z_.column[std::size_t(p)], sum * z_.value[std::size_t(p)]);
    for (const Entry& entry : entries_) slot_[std::size_t(entry.vector)] = -1;
    std::erase_if(entries_, [](const Entry& entry) { return entry.value == 0; });
    std::sort(entries_.begin(), entries_.end(), [](const Entry& l, const Entry& r) { return l.vector < r.vector; });
    return entries_;
  }

 private:
  void add(int vector, double value) {
    int& slot = slot_[std::size_t(vector)];
    if (slot < 0) {
      slot = static_cast<int>(entries_.size());
      entries_.push_back({vector, 0});
    }
    entries_[std::size_t(slot)].value += value;
  }

  const SparseRows &a_, &z_;
  int first_;
  std::span<const double> sums_;
  std::vector<int> slot_;
  std::vector<Entry> entries_;
};

/// A Z by nodes, and where vectors cover the grid the same by differences from the vector of each node, which comes first.
std::pair<SparseRows, SparseRows> images(const SparseRows& a, std::span<const double> sums, const SparseRows& z,
                                         int first, bool covers, int threads) {
  const int parts = threads == 1 ? 1 : 8 * threads;
  std::vector<SparseRows> az(std::size_t(parts), SparseRows{}), az_of_home = az;
  const auto bound = [&](int p) { return static_cast<int>(std::int64_t{a.rows} * p / parts); };
  const auto append = [](SparseRows& rows, int vector, double value) {
    rows.column.push_back(vector);
    rows.value.push_back(value);
  };
  const auto end_row = [](SparseRows& rows) {
    rows.start.push_back(static_cast<int>(rows.column.size()));
    ++rows.rows;
  };
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int part = 0; part < parts; ++part) {
    ImageOfVectors image(a, sums, z, first);
    auto &to = az[std::size_t(part)], &to_of_home = az_of_home[std::size_t(part)];
    for (int i = bound(part); i < bound(part + 1); ++i) {
      const auto& entries = image.row(i);
      for (const Entry& entry : entries) append(to, entry.vector, entry.value);
      end_row(to);
      if (!covers) continue;
      const int home = z.column[std::size_t(z.start[std::size_t(first + i)])];
      const double sum = sums[std::size_t(i)];
      const bool others =
          std::any_of(entries.begin(), entries.end(), [home](const Entry& e) { return e.vector != home; });
      if (others || sum != 0) append(to_of_home, home, sum);
      for (const Entry& entry : entries)
        if (entry.vector != home) append(to_of_home, entry.vector, entry.value);
      end_row(to_of_home);
    }
  }
  return {joined(az, z.columns, threads), joined(az_of_home, z.columns, threads)};
}

/// Z^T (A Z), entries of both triangles averaged: of Z by vectors, A Z by nodes.
SparseRows coarse_matrix(const SparseRows& vectors, const SparseRows& az, [[maybe_unused]] int threads) {
  std::vector<std::vector<Entry>> rows(std::size_t(vectors.rows));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int d = 0; d < vectors.rows; ++d) {
    auto& row = rows[std::size_t(d)];
    for (int p = vectors.start[std::size_t(d)]; p < vectors.start[std::size_t(d) + 1]; ++p) {
      const auto node = std::size_t(vectors.column[std::size_t(p)]);
      for (int q = az.start[node]; q < az.start[node + 1]; ++q) {
        const int vector = az.column[std::size_t(q)];
        const double product = vectors.value[std::size_t(p)] * az.value[std::size_t(q)];
        const auto found =
            std::find_if(row.begin(), row.end(), [vector](const Entry& e) { return e.vector == vector; });
        if (found == row.end())
          row.push_back({vector, product});
        else
          found->value += product;
      }
    }
  }
  std::vector<SparseEntry> entries;
  for (int d = 0; d < vectors.rows; ++d)
    for (const Entry& entry : rows[std::size_t(d)]) {
      entries.push_back({d, entry.vector, entry.value / 2});
      entries.push_back({entry.vector, d, entry.value / 2});
    }
  return sparse_rows(vectors.rows, vectors.rows, std::move(entries));
}

/// Z^T A Z 1, without cancellation: of Z by vectors and by A's columns.
std::vector<double> coarse_sums(const SparseRows& a, std::span<const double> row_sums, const SparseRows& vectors,
                                const SparseRows& z, int first, [[maybe_unused]] int threads) {
  std::vector<double> all(std::size_t(z.rows)), image(std::size_t(a.rows)), sums(std::size_t(vectors.rows), 0.0);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < z.rows; ++i)
    for (int p = z.start[std::size_t(i)]; p < z.start[std::size_t(i) + 1]; ++p)
      all[std::size_t(i)] += z.value[std::size_t(p)];
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int i = 0; i < a.rows; ++i) {
    const double own = all[std::size_t(first + i)];
    double sum = row_sums[std::size_t(i)] * own;
    for (int k = a.start[std::size_t(i)]; k < a.start[std::size_t(i) + 1]; ++k)
      sum += a.value[std::size_t(k)] * (all[std::size_t(a.column[std::size_t(k)])] - own);
    image[std::size_t(i)] = sum;
  }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int d = 0; d < vectors.rows; ++d)
    for (int p = vectors.start[std::size_t(d)]; p < vectors.start[std::size_t(d) + 1]; ++p)
      sums[std::size_t(d)] += vectors.value[std::size_t(p)] * image[std::size_t(vectors.column[std::size_t(p)])];
  return sums;
}

/// Numbers of all subdomains, added by rank; one subdomain's own.
std::vector<double> added_up(Communicator* comm, std::vector<double> own) {
  if (comm == nullptr) return own;
  const auto all = comm->join_on_host(own);
  for (std::size_t k = 0; k < own.size(); ++k) {
    own[k] = all[k];
    for (std::size_t r = 1; r < std::size_t(comm->size()); ++r) own[k] += all[r * own.size() + k];
  }
  return own;
}

/// The same of matrices.
SparseRows added_up(Communicator* comm, SparseRows own) {
  if (comm == nullptr) return own;
  std::vector<double> numbers;
  for (int i = 0; i < own.rows; ++i)
    for (int k = own.start[std::size_t(i)]; k < own.start[std::size_t(i) + 1]; ++k)
      numbers.insert(numbers.end(), {double(i), double(own.column[std::size_t(k)]), own.value[std::size_t(k)]});
  numbers = comm->join_on_host(numbers);
  std::vector<SparseEntry> entries;
  for (std::size_t k = 0; k < numbers.size(); k += 3)
    entries.push_back({static_cast<int>(numbers[k]), static_cast<int>(numbers[k + 1]), numbers[k + 2]});
  return sparse_rows(own.rows, own.columns, std::move(entries));
}

/// Z by nodes with those of the rows beside: of the subdomains below and above, none where there is no such subdomain.
SparseRows with_rows_beside(Communicator& comm, const SparseRows& z, const GridLayout<2>& shape) {
  const int subdomains = comm.size(), below = (comm.rank() + subdomains - 1) % subdomains,
            above = (comm.rank() + 1) % subdomains;
  // A row as numbers: of every node how many vectors it has, which, and their values there.
  const auto packed = [&](bool there, int first) {
    std::vector<double> numbers;
    for (int k = first; there && k < first + shape.nx; ++k) {
      const int begin = z.start[std::size_t(k)], end = z.start[std::size_t(k) + 1];
      numbers.push_back(end - begin);
      for (int e = begin; e < end; ++e)
        numbers.insert(numbers.end(), {double(z.column[std::size_t(e)]), z.value[std::size_t(e)]});
    }
    return numbers;
  };
  const auto down = packed(shape.below, 0), up = packed(shape.above, z.rows - shape.nx);
  const auto sizes = comm.gather_on_host(std::array{down.size(), up.size()});
  std::vector<std::size_t> to, from;
  std::vector<double> out;
  std::size_t arriving = 0;
  // Where one subdomain is below and above what goes down is first.
  for (int r = 0; r < subdomains; ++r) {
    const std::size_t before = out.size(), from_above = r == above ? sizes[std::size_t(r)][0] : 0,
                      from_below = r == below ? sizes[std::size_t(r)][1] : 0;
    if (r == below) out.insert(out.end(), down.begin(), down.end());
    if (r == above) out.insert(out.end(), up.begin(), up.end());
    to.push_back((out.size() - before) * sizeof(double));
    from.push_back((from_above + from_below) * sizeof(double));
    arriving += from_above + from_below;
  }
  std::vector<double> in(arriving);
  comm.all_to_all_on_host(out.data(), to, in.data(), from);
  SparseRows row_below, row_above;
  std::size_t next = 0;
  const auto unpack = [&](bool there, SparseRows& row) {
    row.rows = shape.nx;
    for (int k = 0; k < shape.nx; ++k) {
      for (int left = there ? static_cast<int>(in[next++]) : 0; left > 0; --left) {
        row.column.push_back(static_cast<int>(in[next++]));
        row.value.push_back(in[next++]);
      }
      row.start.push_back(static_cast<int>(row.value.size()));
    }
  };
  for (int r = 0; r < subdomains; ++r) {
    if (r == above) unpack(shape.above, row_above);
    if (r == below) unpack(shape.below, row_below);
  }
  return joined({row_below, z, row_above}, z.columns, 1);
}

/// Number of a node of the grid.
struct Nodes {
  FieldView<const double> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE double operator()(int node) const { return x(node % x.nx, node / x.nx); }
};

/// d_k <- keep d_k + factor times the sum of the chunks of vector k
struct SumChunks {
  const int* first_chunk;
  const double* partial;
  double keep, factor;
  FieldView<double> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*row*/) const {
    double sum = 0;
    for (int c = first_chunk[k]; c < first_chunk[k + 1]; ++c) sum += partial[c];
    d[k] = (keep == 0 ? 0 : keep * d[k]) + factor * sum;
  }
};

/// d_k <- keep d_k + factor times the sum of what the subdomains have
struct SumSubdomains {
  const double* of_subdomains;
  int count, subdomains;
  double keep, factor;
  FieldView<double> d;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int k, int /*row*/) const {
    double sum = 0;
    for (int r = 0; r < subdomains; ++r) sum += of_subdomains[static_cast<std::int64_t>(r) * count + k];
    d[k] = (keep == 0 ? 0 : keep * d[k]) + factor * sum;
  }
};

/// x_ij <- x_ij + alpha sum over the node's entries of value c
struct AddRow {
  static constexpr bool hot = true;
  const int *start, *vector;
  const double* value;
  bool differences;
  double alpha;
  FieldView<const double> c;
  FieldView<double> x;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int node = j * x.nx + i, begin = start[node], end = start[node + 1];
    if (begin == end) return;
    double sum = 0;
    if (differences) {
      const double home = c[vector[begin]];
      sum = value[begin] * home;
      for (int k = begin + 1; k < end; ++k) sum += value[k] * (c[vector[k]] - home);
    } else {
      for (int k = begin; k < end; ++k) sum += value[k] * c[vector[k]];
    }
    x(i, j) += alpha * sum;
  }
};

#if defined(__CUDACC__)

constexpr int warps_a_block = 4;

__device__ double sum_of_warp(double value) {
  for (int width = 16; width > 0; width /= 2) value += __shfl_down_sync(0xffffffffU, value, width);
  return value;
}

/// A warp a chunk.
__global__ void sum_chunks(const int* begin, const int* node, const double* value, const Nodes x, double* partial,
                           int chunks) {
  cuda::after_previous();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int chunk = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (chunk >= chunks) return;
  double sum = 0;
  for (int k = begin[chunk] + lane; k < begin[chunk + 1]; k += 32) sum += value[k] * x(node[k]);
  sum = sum_of_warp(sum);
  if (lane == 0) partial[chunk] = sum;
}

/// A warp a row of the inverse.
__global__ void multiply_rows(const double* inverse, const double* d, double* c, int count) {
  cuda::after_previous();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int i = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  if (i >= count) return;
  const double* row = inverse + static_cast<std::int64_t>(i) * count;
  double sum = 0;
#pragma unroll 8
  for (int k = lane; k < count; k += 32) sum += row[k] * d[k];
  sum = sum_of_warp(sum);
  if (lane == 0) c[i] = sum;
}

#endif

}  // namespace

Deflation::Deflation(Context& ctx, const SparseRows& a, const GridLayout<2>& shape, const DeflationVectors& vectors,
                     std::span<const double> given_sums, const std::optional<GridLayout<2>>& blocks)
    : shape_(shape), count_(vectors.count()) {
  Communicator* const comm = ctx.subdomains() > 1 ? ctx.communicator() : nullptr;
  const GridLayout<2> beside = blocks.value_or(shape);
  std::string fault;
  try {
    check(a, vectors, given_sums, comm == nullptr ? 0 : 2 * beside.nx);
  } catch (const UsageError& error) {
    if (comm == nullptr) throw;
    fault = message("rank ", comm->rank(), ": ", error.what());
  }
  if (comm != nullptr) {
    refuse_on_all(*comm, fault);
    comm->agree("number of deflation vectors", message(count_));
  }
  // Of all subdomains: nodes of every vector, of every core, and subdomains whose nodes have a vector each.
  std::vector<double> counted(2 * std::size_t(count_) + 1, 0.0);
  for (std::size_t d = 0; d < std::size_t(count_); ++d) counted[d] = vectors.z.start[d + 1] - vectors.z.start[d];
  for (const int d : vectors.core)
    if (d >= 0) ++counted[std::size_t(count_ + d)];
  counted.back() = vectors.covers ? 1 : 0;
  counted = added_up(comm, std::move(counted));
  const bool covers = counted.back() == ctx.subdomains();
  const std::span<const double> nodes(counted.data(), std::size_t(count_)),
      cores(&counted[std::size_t(count_)], nodes.size());
  for (std::size_t d = 0; d < nodes.size(); ++d) expects(nodes[d] > 0, "deflation vector ", d, " is zero");
  has_cores_ = std::any_of(cores.begin(), cores.end(), [](double size) { return size > 0; });
  if (ctx.on_gpu()) {
    const std::int64_t bytes = std::int64_t{count_} * count_ * 8, available = available_memory(ctx);
    if (bytes > available || std::int64_t{count_} * count_ > std::numeric_limits<int>::max())
      throw ResourceError(message("the inverse of the coarse matrix of ", count_, " deflation vectors takes ",
                                  bytes >> 20, " MB, and there are ", available >> 20, "; use fewer vectors"));
  }
  const int threads = a.rows > serial_limit ? ctx.threads() : 1;
  const SparseRows z = transposed(vectors.z, threads);
  const std::vector<double> sums =
      given_sums.empty() ? row_sums(a, threads) : std::vector<double>(given_sums.begin(), given_sums.end());
  const SparseRows of_columns = comm == nullptr ? SparseRows() : with_rows_beside(*comm, z, beside);
  const SparseRows& z_of_columns = comm == nullptr ? z : of_columns;
  const int first = comm == nullptr ? 0 : beside.nx;
  const auto [az, az_of_home] = images(a, sums, z_of_columns, first, covers, threads);
  factor_ =
      std::make_shared<CoarseFactor>(added_up(comm, coarse_matrix(vectors.z, az, threads)),
                                     added_up(comm, coarse_sums(a, sums, vectors.z, z_of_columns, first, threads)));
  z_by_vectors_ = by_vectors(ctx, vectors.z);
  az_by_vectors_ = by_vectors(ctx, transposed(az, threads));
  z_by_nodes_ = by_nodes(ctx, z, false);
  az_by_nodes_ = covers ? by_nodes(ctx, az_of_home, true) : by_nodes(ctx, az, false);
  if (has_cores_) {
    // A row of 1 / size for every vector, at its core's nodes.
    SparseRows means;
    means.rows = count_;
    means.columns = a.rows;
    means.start.assign(std::size_t(count_) + 1, 0);
    for (const int d : vectors.core)
      if (d >= 0) ++means.start[std::size_t(d) + 1];
    std::partial_sum(means.start.begin(), means.start.end(), means.start.begin());
    means.column.resize(std::size_t(means.start.back()));
    means.value.resize(means.column.size());
    auto next = means.start;
    for (std::size_t k = 0; k < vectors.core.size(); ++k) {
      const int d = vectors.core[k];
      if (d < 0) continue;
      const auto to = std::size_t(next[std::size_t(d)]++);
      means.column[to] = static_cast<int>(k);
      means.value[to] = 1 / cores[std::size_t(d)];
    }
    cores_ = by_vectors(ctx, means);
  }
  if (ctx.on_gpu()) inverse_ = vector_from_host(ctx, factor_->inverse(ctx.threads()));
  means_ = SharedField<double>(ctx, count_);
  right_ = SharedField<double>(ctx, count_);
  if (comm == nullptr) return;
  own_ = SharedField<double>(ctx, count_);
  of_subdomains_ = SharedField<double>(ctx, count_ * comm->size());
}

/// `beside`: nodes of the rows beside a subdomain's own.
void Deflation::check(const SparseRows& a, const DeflationVectors& vectors, std::span<const double> given_sums,
                      int beside) const {
  a.validate();
  vectors.z.validate();
  expects(a.columns == a.rows + beside && shape_.nodes() == a.rows && vectors.z.columns == a.rows,
          "deflation vectors of ", vectors.z.columns, " numbers, a matrix of ", a.rows, " x ", a.columns,
          ", and a grid of ", shape_.nx, " x ", shape_.ny);
  expects(vectors.core.empty() || vectors.core.size() == std::size_t(a.rows), vectors.core.size(), " cores of ", a.rows,
          " nodes");
  expects(given_sums.empty() || given_sums.size() == std::size_t(a.rows), given_sums.size(), " row sums of ", a.rows,
          " rows");
  for (const int d : vectors.core) expects(d >= -1 && d < count_, "a core of vector ", d, ", where there are ", count_);
}

Deflation::ByVectors Deflation::by_vectors(Context& ctx, const SparseRows& rows) const {
  std::vector<int> begin, first_chunk{0};
  for (int d = 0; d < rows.rows; ++d) {
    for (int k = rows.start[std::size_t(d)]; k < rows.start[std::size_t(d) + 1]; k += chunk_entries) begin.push_back(k);
    first_chunk.push_back(static_cast<int>(begin.size()));
  }
  ByVectors w;
  w.chunks = static_cast<int>(begin.size());
  begin.push_back(rows.start.back());
  w.node = vector_from_host(ctx, rows.column);
  w.value = vector_from_host(ctx, rows.value);
  w.begin = vector_from_host(ctx, begin);
  w.first_chunk = vector_from_host(ctx, first_chunk);
  w.partial = SharedField<double>(ctx, w.chunks);
  return w;
}

Deflation::ByNodes Deflation::by_nodes(Context& ctx, const SparseRows& rows, bool differences) const {
  return {vector_from_host(ctx, rows.start), vector_from_host(ctx, rows.column), vector_from_host(ctx, rows.value),
          differences};
}

void Deflation::multiply_transposed(Context& ctx, const ByVectors& w, FieldView<const double> x, double keep,
                                    double factor, FieldView<double> d) const {
  expects_fit(ctx, "x", x, shape_);
  const int *begin = w.begin.view().data, *node = w.node.view().data;
  const double* value = w.value.view().data;
  double* partial = w.partial.view().data;
  const Nodes at{x};
  // A subdomain may have no node of any vector.
  if (ctx.on_gpu() && w.chunks > 0) {
#if defined(__CUDACC__)
    cuda::Launch{static_cast<unsigned>(cuda::divide_up(w.chunks, warps_a_block)),
                 32 * warps_a_block}(ctx, sum_chunks, begin, node, value, at, partial, w.chunks);
#endif
  } else {
#pragma omp parallel for schedule(static) num_threads(ctx.threads()) if (x.nodes() > serial_limit)
    for (int c = 0; c < w.chunks; ++c) {
      double part = 0;
      for (int k = begin[c]; k < begin[c + 1]; ++k) part += value[k] * at(node[k]);
      partial[c] = part;
    }
  }
  const int* const first_chunk = w.first_chunk.view().data;
  if (own_.empty()) return for_each_node(ctx, all_nodes(d), SumChunks{first_chunk, partial, keep, factor, d});
  for_each_node(ctx, all_nodes(d), SumChunks{first_chunk, partial, 0, 1, own_.view()});
  const double* const of_subdomains = of_subdomains_.view().data;
  ctx.communicator()->gather(ctx, own_.view().data, of_subdomains_.view().data, std::size_t(count_) * sizeof(double));
  for_each_node(ctx, all_nodes(d), SumSubdomains{of_subdomains, count_, ctx.subdomains(), keep, factor, d});
}

void Deflation::multiply_add(Context& ctx, const ByNodes& w, double alpha, FieldView<const double> c,
                             FieldView<double> x) const {
  expects_fit(ctx, "x", x, shape_);
  for_each_node(ctx, all_nodes(x),
                AddRow{w.start.view().data, w.vector.view().data, w.value.view().data, w.differences, alpha, c, x});
}

void Deflation::restrict_to(Context& ctx, FieldView<const double> r, FieldView<double> d) const {
  multiply_transposed(ctx, z_by_vectors_, r, 0, 1, d);
}

void Deflation::subtract_products(Context& ctx, FieldView<const double> x, FieldView<double> d) const {
  multiply_transposed(ctx, az_by_vectors_, x, 1, -1, d);
}

void Deflation::solve(Context& ctx, FieldView<const double> d, FieldView<double> c) const {
  if (d.data == c.data) {
    copy<double, double>(ctx, d, right_.view());
    d = right_.cview();
  }
#if defined(__CUDACC__)
  if (ctx.on_gpu())
    return cuda::Launch{static_cast<unsigned>(cuda::divide_up(count_, warps_a_block)),
                        32 * warps_a_block}(ctx, multiply_rows, inverse_.view().data, d.data, c.data, count_);
#endif
  copy<double, double>(ctx, d, c);
  factor_->solve(c.data);
}

void Deflation::add(Context& ctx, FieldView<const double> c, FieldView<double> x) const {
  multiply_add(ctx, z_by_nodes_, 1, c, x);
}

void Deflation::add_image(Context& ctx, double alpha, FieldView<const double> c, FieldView<double> r) const {
  multiply_add(ctx, az_by_nodes_, alpha, c, r);
}

void Deflation::move_means(Context& ctx, FieldView<double> x, FieldView<double> c) const {
  const auto means = means_.view();
  multiply_transposed(ctx, cores_, x, 0, 1, means);
  axpy<double, double>(ctx, 1, means, c);
  multiply_add(ctx, z_by_nodes_, -1, means, x);
}

}  // namespace stratum
