// Layouts, fields, BLAS-1, reductions and the exchange of ghosts in three dimensions.

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <stratum/core/field/blas_3d.hpp>
#include <stratum/core/field/for_each_node_3d.hpp>
#include <stratum/core/field/ghost_exchange.hpp>

#include "support/backends.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;

static_assert(std::is_trivially_copyable_v<FieldView<double, 3>>);
static_assert(sizeof(FieldView<double, 3>) == 40, "a pointer, extents and strides");
static_assert(std::is_convertible_v<FieldView<double, 3>, FieldView<const double, 3>>);
static_assert(!std::is_convertible_v<FieldView<const double, 3>, FieldView<double, 3>>);
static_assert(!std::is_copy_constructible_v<Field<double, 3>>, "copies of fields are explicit");

const std::vector<Extents<3>> shapes{{1, 1, 1}, {7, 1, 1},  {1, 5, 1},  {1, 1, 6},
                                     {2, 3, 4}, {17, 5, 3}, {31, 2, 9}, {130, 3, 2}};

std::size_t number_of(const Extents<3>& e, int i, int j, int k) {
  return (static_cast<std::size_t>(k) * static_cast<std::size_t>(e.ny) + static_cast<std::size_t>(j)) *
             static_cast<std::size_t>(e.nx) +
         static_cast<std::size_t>(i);
}

template <class T>
Field<T, 3> field_of(Context& ctx, const GridLayout<3>& layout, const Values& host) {
  Field<T, 3> field(ctx, layout);
  const std::vector<T> numbers(host.begin(), host.end());
  copy_from_host(ctx, numbers.data(), field.view());
  return field;
}
template <class T>
Values to_host(Context& ctx, const FieldView<const T, 3>& view) {
  std::vector<T> host(static_cast<std::size_t>(view.nodes()));
  copy_to_host(ctx, view, host.data());
  return {host.begin(), host.end()};
}

template <class T>
class ThreeDimensions : public test::OnEverySetting<T> {
 protected:
  static constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  test::Random random_{3};

  Field<T, 3> random_field(const GridLayout<3>& layout) {
    return field_of<T>(this->ctx(), layout, random_.values(layout.nodes()));
  }
  void expect_values(const Field<T, 3>& field, const Values& expected) {
    EXPECT_LE(reference::relative_difference(to_host<T>(this->ctx(), field.cview()), expected), rounding);
    EXPECT_TRUE(ghosts_are_zero(this->ctx(), field));
  }
};

TEST_ON_EVERY_SETTING(ThreeDimensions, FieldsAreZeroWhenMadeAndLieAsTheirHeaderSays) {
  auto& ctx = this->ctx();
  for (const int width : {0, 1})
    for (const Extents<3>& e : shapes) {
      const auto layout = GridLayout<3>::box(e, {}, width);
      const auto before = ctx.memory()->bytes.load();
      const Field<T, 3> field(ctx, layout);
      EXPECT_EQ(ctx.memory()->bytes - before, field_bytes<T>(this->backend(), layout));
      const auto view = field.cview();
      EXPECT_EQ(view.strides, layout.strides(this->backend()));
      EXPECT_EQ(view.strides.row % 16, 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data - width) % 64, 0U);
      EXPECT_EQ(view.strides.plane, view.strides.row * (e.ny + 2 * width));
      EXPECT_EQ(&view(e.nx - 1, e.ny - 1, e.nz - 1) - view.data,
                (e.nz - 1) * view.strides.plane + (e.ny - 1) * view.strides.row + e.nx - 1);
      EXPECT_EQ(to_host<T>(ctx, view), Values(static_cast<std::size_t>(e.nodes()), 0.0));
      EXPECT_TRUE(ghosts_are_zero(ctx, field));
    }
}

TEST_ON_EVERY_SETTING(ThreeDimensions, AMemoryDryRunCountsFields) {
  Context dry = this->ctx().memory_dry_run();
  const auto layout = GridLayout<3>::box({2000, 2000, 2000});
  Field<T, 3> field(dry, layout), other(dry, layout);
  EXPECT_EQ(dry.memory()->peak_bytes, 2 * field_bytes<T>(this->backend(), layout));
  axpy(dry, 2, field.view(), other.view());
  EXPECT_EQ(norm2(dry, field.view()), 0);
}

TEST_ON_EVERY_SETTING(ThreeDimensions, UpdatesAgreeWithTheirFormulae) {
  using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
  auto& ctx = this->ctx();
  for (const int width : {0, 1})
    for (const Extents<3>& e : shapes) {
      SCOPED_TRACE(testing::Message() << e.nx << " x " << e.ny << " x " << e.nz << ", ghosts " << width);
      const auto layout = GridLayout<3>::box(e, {}, width);
      const auto x = this->random_field(layout), y = this->random_field(layout);
      const Values host_x = to_host<T>(ctx, x.cview()), host_y = to_host<T>(ctx, y.cview());
      const std::size_t n = host_x.size();
      Values expected(n);
      Field<T, 3> z(ctx, layout);

      set(ctx, T(2.5), z.view());
      this->expect_values(z, Values(n, 2.5));
      copy(ctx, x.cview(), z.view());
      this->expect_values(z, host_x);
      copy_scaled(ctx, -0.3, x.cview(), z.view());
      for (std::size_t k = 0; k < n; ++k) expected[k] = -0.3 * host_x[k];
      this->expect_values(z, expected);
      copy(ctx, y.cview(), z.view());
      axpy(ctx, 1.7, x.cview(), z.view());
      for (std::size_t k = 0; k < n; ++k) expected[k] = host_y[k] + 1.7 * host_x[k];
      this->expect_values(z, expected);
      copy(ctx, y.cview(), z.view());
      xpay(ctx, x.cview(), -0.9, z.view());
      for (std::size_t k = 0; k < n; ++k) expected[k] = host_x[k] - 0.9 * host_y[k];
      this->expect_values(z, expected);

      Field<Other, 3> other(ctx, layout.with_ghosts(1 - width));
      copy(ctx, x.cview(), other.view());
      EXPECT_LE(reference::relative_difference(to_host<Other>(ctx, other.cview()), host_x), 1e-7);
      EXPECT_NEAR(dot(ctx, other.cview(), x.cview()), reference::dot(host_x, host_x), 1e-6 * static_cast<double>(n));

      set(ctx, T(1), with_ghosts(z.view(), width));
      EXPECT_EQ(ghosts_are_zero(ctx, z), width == 0);
      set_zero_with_ghosts(ctx, z);
      this->expect_values(z, Values(n, 0.0));
    }
}

TEST_ON_EVERY_SETTING(ThreeDimensions, ReductionsAreThoseOfTheRows) {
  auto& ctx = this->ctx();
  for (const Extents<3>& e : shapes) {
    SCOPED_TRACE(testing::Message() << e.nx << " x " << e.ny << " x " << e.nz);
    const auto dense = GridLayout<3>::box(e, {}, 0);
    auto x = this->random_field(dense);
    const auto y = this->random_field(dense);
    const Values host_x = to_host<T>(ctx, x.cview()), host_y = to_host<T>(ctx, y.cview());
    Field<T, 3> with_gaps(ctx, dense.with_ghosts(1));
    copy(ctx, x.cview(), with_gaps.view());

    const double product = dot(ctx, x.cview(), y.cview()), norm = norm2(ctx, x.cview());
    EXPECT_NEAR(product, reference::dot(host_x, host_y), 1e-12 * static_cast<double>(host_x.size()));
    EXPECT_NEAR(norm, std::sqrt(reference::dot(host_x, host_x)), 1e-12 * norm);
    // The same bits with ghosts, and as in two dimensions.
    EXPECT_EQ(dot(ctx, with_gaps.cview(), y.cview()), product);
    EXPECT_EQ(norm2(ctx, with_gaps.cview()), norm);
    EXPECT_EQ(dot(ctx, rows_of(ctx, x.cview()), rows_of(ctx, y.cview())), product);
    EXPECT_EQ(norm2(ctx, rows_of(ctx, x.cview())), norm);

    double least = host_x[0], most = host_x[0];
    for (const double number : host_x) least = std::min(least, number), most = std::max(most, number);
    EXPECT_EQ(norm_max(ctx, with_gaps.cview()), std::max(most, -least));
    EXPECT_EQ(extremes(ctx, with_gaps.cview()).least, least);
    EXPECT_EQ(extremes(ctx, with_gaps.cview()).most, most);

    auto scratch = mean_scratch(ctx, e);
    subtract_mean(ctx, with_gaps.view(), scratch.view(), e.nodes());
    double sum = 0;
    for (const double number : host_x) sum += number;
    Values centred = host_x;
    for (double& number : centred) number -= sum / static_cast<double>(host_x.size());
    for (std::size_t k = 0; k < centred.size(); ++k)
      EXPECT_NEAR(to_host<T>(ctx, with_gaps.cview())[k], centred[k], this->rounding);
    EXPECT_TRUE(ghosts_are_zero(ctx, with_gaps));

    set(ctx, std::numeric_limits<T>::quiet_NaN(),
        FieldView<T, 3>{&x.view()(e.nx - 1, 0, e.nz - 1), {1, 1, 1}, {16, 16}});
    EXPECT_TRUE(std::isnan(norm_max(ctx, x.cview())));
  }
  // Squares leave the range, the norm does not.
  const double wide = std::is_same_v<T, double> ? 1e200 : 1e30;
  const auto x = field_of<T>(ctx, GridLayout<3>::box({5, 5, 4}), Values(100, wide));
  EXPECT_NEAR(norm2(ctx, x.cview()) / static_cast<double>(static_cast<T>(wide)), 10, 1e-14);
}

/// Numbers that say where they stand.
double number_at(const Extents<3>& all, int i, int j, int k) {
  return 1 + static_cast<double>(number_of(all, i, j, k));
}

/// A field of `layout` with its numbers, and NaN in all ghosts that an exchange fills, zero in the others.
template <class T>
Field<T, 3> poisoned(Context& ctx, const GridLayout<3>& layout, int first_plane) {
  const auto& [nx, ny, nz] = layout.extents;
  const Extents<3> around{nx + 2, ny + 2, nz + 2};
  Field<T, 3> field(ctx, layout);
  std::vector<T> numbers(static_cast<std::size_t>(around.nodes()));
  for (int k = -1; k <= nz; ++k)
    for (int j = -1; j <= ny; ++j)
      for (int i = -1; i <= nx; ++i) {
        const int at[] = {i, j, k}, n[] = {nx, ny, nz};
        T number = T(0);
        bool at_boundary = false, is_ghost = false;
        for (std::size_t a = 0; a < 3; ++a) {
          if (at[a] >= 0 && at[a] < n[a]) continue;
          is_ghost = true;
          at_boundary = at_boundary || (at[a] < 0 ? layout.lower : layout.upper)[a].kind == Face::Kind::boundary;
        }
        if (is_ghost)
          number = at_boundary ? T(0) : std::numeric_limits<T>::quiet_NaN();
        else
          number = static_cast<T>(number_at(layout.global, i, j, k + first_plane));
        numbers[number_of(around, i + 1, j + 1, k + 1)] = number;
      }
  copy_from_host(ctx, numbers.data(), with_ghosts(field.view(), 1));
  return field;
}

/// Every ghost, edges and corners among them.
template <class T>
void expect_ghosts(Context& ctx, const Field<T, 3>& field, const std::array<bool, 3>& periodic, int first_plane) {
  const Extents<3>&e = field.layout().extents, &all = field.layout().global;
  const Values found = to_host<T>(ctx, with_ghosts(field.cview(), 1));
  const auto within = [](int n, bool is_periodic, int i) {
    return is_periodic ? (i + n) % n : i >= 0 && i < n ? i : -1;
  };
  for (int k = -1; k <= e.nz; ++k)
    for (int j = -1; j <= e.ny; ++j)
      for (int i = -1; i <= e.nx; ++i) {
        const int x = within(all.nx, periodic[0], i), y = within(all.ny, periodic[1], j),
                  z = within(all.nz, periodic[2], k + first_plane);
        const double expected = x < 0 || y < 0 || z < 0 ? 0 : number_at(all, x, y, z);
        ASSERT_EQ(found[number_of({e.nx + 2, e.ny + 2, e.nz + 2}, i + 1, j + 1, k + 1)], expected)
            << "ghost (" << i << ", " << j << ", " << k << ")";
      }
}

TEST_ON_EVERY_SETTING(ThreeDimensions, GhostsOfPeriodicAxesAreTheOtherEnd) {
  auto& ctx = this->ctx();
  for (int axes = 0; axes < 8; ++axes)
    for (const Extents<3>& e : shapes) {
      SCOPED_TRACE(testing::Message() << e.nx << " x " << e.ny << " x " << e.nz << ", periodic " << axes);
      const std::array<bool, 3> periodic{(axes & 1) != 0, (axes & 2) != 0, (axes & 4) != 0};
      const auto layout = GridLayout<3>::box(e, periodic);
      const GhostExchange<3> ghosts(ctx, layout);
      EXPECT_EQ(ghosts.needed(), axes != 0);
      const auto field = poisoned<T>(ctx, layout, 0);
      ghosts.fill(ctx, field.cview());
      expect_ghosts(ctx, field, periodic, 0);
    }
}

/// Slab `rank` of `count` of planes that are shared out unevenly.
GridLayout<3> uneven_slab(const Extents<3>& all, const std::array<bool, 3>& periodic, int rank, int count) {
  auto layout = GridLayout<3>::box(all, periodic);
  if (count == 1) return layout;
  const auto begin = [&](int r) { return r == count ? all.nz : r * (all.nz / count - 1); };
  const auto face = [&](bool is_end, int other) {
    return is_end && !periodic[2] ? Face{} : Face{Face::Kind::subdomain, other};
  };
  layout.extents.nz = begin(rank + 1) - begin(rank);
  layout.first[2] += begin(rank);
  layout.lower[2] = face(rank == 0, (rank + count - 1) % count);
  layout.upper[2] = face(rank + 1 == count, (rank + 1) % count);
  return layout;
}

TEST_ON_EVERY_SETTING(ThreeDimensions, GhostsOfSlabsAreTheirNeighboursPlanes) {
  const Extents<3> all{6, 5, 11};
  for (const int count : {1, 2, 3, 5})
    for (const bool around : {false, true}) {
      SCOPED_TRACE(testing::Message() << count << " slabs" << (around ? ", periodic" : ""));
      const std::array<bool, 3> periodic{true, false, around};
      const auto result = test::on_subdomains(this->backend(), count, [&](Context& ctx) {
        const int rank = count == 1 ? 0 : ctx.communicator()->rank();
        const auto layout = uneven_slab(all, periodic, rank, count);
        const int first_plane = layout.first[2] - (around ? 0 : 1);
        const auto field = poisoned<T>(ctx, layout, first_plane);
        const GhostExchange<3> ghosts(ctx, layout);
        ghosts.fill(ctx, field.cview());
        expect_ghosts(ctx, field, periodic, first_plane);
        return Values{norm2(ctx, field.cview()), dot(ctx, field.cview(), field.cview())};
      });
      for (const auto& error : result.errors) EXPECT_EQ(error, "");
      ASSERT_EQ(result.values.size(), 2 * static_cast<std::size_t>(count));
      double sum = 0;
      for (int n = 1; n <= all.nodes(); ++n) sum += double{n * 1.0} * n;
      // The same bits on every subdomain, and for any slabs.
      for (std::size_t k = 0; k < result.values.size(); ++k)
        EXPECT_EQ(result.values[k], k % 2 == 0 ? std::sqrt(sum) : sum);
    }
}

TEST_ON_EVERY_SETTING(ThreeDimensions, SumsHaveTheSameBitsForAnySlabs) {
  if (this->backend() == Backend::cuda) GTEST_SKIP() << "sums are exact on CPUs";
  const Extents<3> all{23, 4, 12};
  const Values numbers = test::Random(5).values(all.nodes(), -1e6, 1e6);
  std::vector<double> sums;
  for (const int count : {1, 2, 3, 5}) {
    const auto result = test::on_subdomains(this->backend(), count, [&](Context& ctx) {
      const auto layout = uneven_slab(all, {}, count == 1 ? 0 : ctx.communicator()->rank(), count);
      const auto begin = numbers.begin() + (layout.first[2] - 1) * (all.nx * all.ny);
      const auto field = field_of<T>(ctx, layout, Values(begin, begin + layout.nodes()));
      return Values{dot(ctx, field.cview(), field.cview()), norm_max(ctx, field.cview())};
    });
    EXPECT_FALSE(result.failed());
    sums.insert(sums.end(), result.values.begin(), result.values.end());
  }
  for (std::size_t k = 0; k < sums.size(); ++k) EXPECT_EQ(sums[k], sums[k % 2]);
}

TEST_ON_EVERY_SETTING(ThreeDimensions, BorrowsMemoryWithoutAllocatingOrCopying) {
  auto& ctx = this->ctx();
  for (const int width : {0, 1}) {
    const auto layout = GridLayout<3>::box({17, 5, 3}, {}, width);
    Field<T, 3> owner(ctx, layout);
    T* const node = owner.view().data;
    const Strides<3> strides = owner.view().strides;
    const auto before = ctx.memory()->allocations.load();
    auto field = Field<T, 3>::borrow(ctx, node, layout, strides);
    EXPECT_EQ(ctx.memory()->allocations, before);
    EXPECT_EQ(field.view().data, node);
    EXPECT_EQ(field.layout(), layout);
    set(ctx, T(3), field.view());
    EXPECT_EQ(norm2(ctx, owner.cview()), std::sqrt(9.0 * 17 * 5 * 3));

    const auto refused = [&](T* address, const GridLayout<3>& shape, const Strides<3>& apart) {
      EXPECT_THROW(((void)Field<T, 3>::borrow(ctx, address, shape, apart)), UsageError) << width;
    };
    refused(nullptr, layout, strides);
    refused(node + 1, layout, strides);
    refused(node, layout, {strides.row + 1, strides.plane});
    refused(node, layout, {16, strides.plane});
    refused(node, layout, {strides.row, strides.plane - 16});
    refused(node, GridLayout<3>::box({17, 0, 3}, {}, width), strides);
    if (width == 0) refused(node, layout, {strides.row, strides.plane + 16});
    if (this->backend() == Backend::cuda) {
      alignas(64) static T host[64];
      refused(host + width, GridLayout<3>::box({3, 1, 1}, {}, width), {16, 48});
    }
  }
}

TEST(ThreeDimensionsErrors, AreReported) {
  Context ctx;
  EXPECT_THROW((Field<double, 3>(ctx, GridLayout<3>::box({3, -1, 2}))), UsageError);
  EXPECT_THROW((Field<double, 3>(ctx, GridLayout<3>::box({3, 3, 2}, {}, 2))), UsageError);
  EXPECT_THROW((Field<double, 3>(ctx, GridLayout<3>::box({1 << 20, 1 << 15, 1 << 15}))), ResourceError);
  EXPECT_THROW((Field<double, 3>(ctx, GridLayout<3>::box({1, 1 << 16, 1 << 16}))), UsageError);
  Field<double, 3> a(ctx, GridLayout<3>::box({3, 4, 5})), b(ctx, GridLayout<3>::box({3, 5, 4}));
  EXPECT_THROW(copy(ctx, a.cview(), b.view()), UsageError);
  EXPECT_THROW((void)dot(ctx, a.cview(), b.cview()), UsageError);
  EXPECT_THROW((void)norm2(ctx, FieldView<double, 3>{nullptr, {3, 4, 5}, {16, 64}}), UsageError);
  EXPECT_THROW((void)norm2(ctx, FieldView<double, 3>{a.view().data, {17, 4, 5}, {16, 64}}), UsageError);
  EXPECT_THROW((void)rows_of(ctx, a.cview()), UsageError) << "there are ghosts between its planes";

  auto layout = GridLayout<3>::box({3, 4, 5});
  layout.upper[2] = {Face::Kind::subdomain, 1};
  EXPECT_THROW(GhostExchange<3>(ctx, layout), UsageError) << "no communicator";
  layout = GridLayout<3>::box({3, 4, 5});
  layout.lower[0] = {Face::Kind::subdomain, 0};
  EXPECT_THROW(GhostExchange<3>(ctx, layout), UsageError) << "along x";
  layout = GridLayout<3>::box({3, 4, 5}, {false, true, false});
  EXPECT_THROW(GhostExchange<3>(ctx, layout).fill(ctx, b.view()), UsageError) << "another shape";
}

/// y(i, j, k) = 100 i + 10 j + k
struct Numbered {
  FieldView<double, 3> y;
  [[nodiscard]] double value(int i, int j, int k) const { return 100 * i + 10 * j + k; }
  void store(int i, int j, int k, double value) const { y(i, j, k) = value; }
};
/// y(i, j, k) += 1
struct Increased {
  static constexpr bool strided = true;
  FieldView<double, 3> y;
  void operator()(int i, int j, int k) const { y(i, j, k) += 1; }
};

TEST(ForEachNodeInSpace, RunsFunctorsAtTheNodesOfARange) {
  Context ctx(Backend::cpu, test::cpu_threads);
  for (const Extents<3>& e : {Extents<3>{5, 4, 3}, Extents<3>{6, 1, 1}, Extents<3>{40, 40, 40}}) {
    Field<double, 3> field(ctx, GridLayout<3>::box(e));
    const auto y = field.view();
    for_each_node(ctx, all_nodes(y), Numbered{y});
    for_each_node(ctx, {{0, e.nx, 2}, {1, e.ny, 3}, {0, e.nz, 2}}, Increased{y});
    for (int k = 0; k < e.nz; ++k)
      for (int j = 0; j < e.ny; ++j)
        for (int i = 0; i < e.nx; ++i)
          ASSERT_EQ(y(i, j, k), 100 * i + 10 * j + k + (i % 2 == 0 && j % 3 == 1 && k % 2 == 0 ? 1 : 0));
    EXPECT_TRUE(ghosts_are_zero(ctx, field));
  }
}

}  // namespace
