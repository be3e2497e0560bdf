// Lines in segments, which are joined on several levels, on the host: what the threads of a GPU do on a subdomain. The exact
// solution is a fixed point.

#include <stratum/solvers/lines/partitioned_equations.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

template <class T>
void expect_fixed_point(int nx, int ny, StorageFormat format, bool is_cyclic) {
  SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format)
                                  << (is_cyclic ? ", cyclic_lines" : ""));
  Context ctx(Backend::cpu, 1);
  test::Random random(17);
  const auto operators = test::random_operator<T>(ctx, random, nx, ny, format, false, is_cyclic);
  const GridOperator<T>& a = operators.a;
  const auto x = test::random_vector<T>(ctx, random, a.shape());
  Field<T> b(ctx, a.shape()), y(ctx, a.shape()), zeros(ctx, std::max(nx, ny));
  Field<T> own(ctx, line::ChunksOfLines<T>::rows * nx), ends(ctx, 6 * nx);
  Field<T> factors(ctx, line::FactoredInterface<T>::rows * nx);
  constexpr int rows = 4;
  Field<T> memory(ctx, static_cast<int>(line::segment_numbers(rows, a.shape())));
  a.apply(ctx, x.cview(), b.view());
  exchange(ctx, x);
  line::visit(a, zeros.view().data, [&]<class View>(const View& view) {
    if constexpr (!is_tensor<View> || line::by_row_sums<View>) {
      const line::PartitionedLine<View, T> cut{{view, b.cview(), x.cview()}, y.view(),  T(1),
                                               {Direction::y, 0, 1, nx},     is_cyclic, is_cyclic};
      // Of one chunk: its right-hand sides lie where those of all do.
      const line::Interface<T> interface {
        {own.view().data, nx}, {own.view().data, nx}, {factors.view().data, nx}, {ends.view().data, nx}, 0, 1, is_cyclic
      };
      line::eliminate_matrix<rows>(ctx, cut, interface, memory.view().data);
      for (int i = 0; i < nx; ++i) interface.factors.factor(1, is_cyclic, i);
      line::solve_in_segments<rows>(ctx, cut, interface, memory.view().data, [] {});
    }
  });
  EXPECT_LT(reference::relative_difference(test::to_host(ctx, y), test::to_host(ctx, x)), 20 * test::tolerance<T>);
  if (!is_cyclic) return;
  const auto halo_row = [&](FieldView<const T> from, int j) {
    from.data += j * from.pitch;
    from.ny = 1;
    std::vector<T> row(static_cast<std::size_t>(nx));
    copy_to_host(ctx, from, row.data());
    return row;
  };
  EXPECT_EQ(halo_row(y.cview(), -1), halo_row(y.cview(), ny - 1));
  EXPECT_EQ(halo_row(y.cview(), ny), halo_row(y.cview(), 0));
}

// 4 rows a segment, 16 chunks a join: up to three levels.
TEST(Segments, TheExactSolutionIsAFixedPoint) {
  for (const auto format : test::every_storage_format)
    for (const auto& [nx, ny] : {std::pair{5, 1}, {5, 3}, {7, 4}, {3, 5}, {9, 63}, {4, 65}, {6, 1100}})
      for (const bool is_cyclic : {false, true}) {
        if (is_cyclic && ny < 3) continue;
        expect_fixed_point<double>(nx, ny, format, is_cyclic);
        expect_fixed_point<float>(nx, ny, format, is_cyclic);
      }
}

}  // namespace
