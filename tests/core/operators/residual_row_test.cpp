// Rows of b - A x in packs, for registers of every width that this machine has, on rows shorter and longer than a pack.

#include <cmath>
#include <type_traits>
#include <vector>

#include <stratum/core/operators/residual_row.hpp>

#include "support/backends.hpp"
#include "support/registers.hpp"

namespace {

using namespace stratum;

/// What comes of a row: one number for every node.
template <class View, class T>
struct TakeRow {
  View a;
  FieldView<const T> b, x;
  int j;
  T *residual, *centre, *west, *east;

  template <int bytes>
  STRATUM_INLINE void run() const {
    T* const to = residual;
    residual_row<bytes>(
        a, b, x, j, [to](int i, T r) __attribute__((always_inline)) { to[i] = r; });
    ResidualRow<bytes, View> row(a, b, x, j, 2);
    for (int i = row.begin; i < row.end; i += row.width) {
      (void)row.next(i);
      row.store(row.centre(), i - row.width, centre);
      row.store(row.west(), i - row.width, west);
      row.store(row.clipped(row.east(), i - row.width), i - row.width, east);
    }
  }
};

template <class T>
class ResidualRowTest : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(ResidualRowTest, Numbers);

TYPED_TEST(ResidualRowTest, IsWhatTheFormulaGives) {
  using T = TypeParam;
  Context ctx(Backend::cpu, 1);
  test::Random random(11);
  constexpr int ny = 3, room = 4;
  for (const auto format : {StorageFormat::tensor, StorageFormat::symmetric, StorageFormat::nine_band})
    for (const int nx : {1, 2, 3, 7, 8, 14, 15, 16, 17, 30, 31, 32, 33, 47, 70}) {
      const auto a = test::random_operator<T>(ctx, random, nx, ny, format).a;
      const auto nodes = static_cast<std::size_t>(nx) * ny;
      const Field<T> b = test::to_device<T>(ctx, {nx, ny}, random.values(nodes));
      const Field<T> x = test::to_device<T>(ctx, {nx, ny}, random.values(nodes));
      a.visit([&](const auto& view) {
        using View = std::decay_t<decltype(view)>;
        const auto with = [&](auto run) {
          for (int j = 0; j < ny; ++j) {
            std::vector<T> taken[4];
            for (auto& numbers : taken) numbers.assign(static_cast<std::size_t>(nx) + 2 * room, T(-7));
            T* to[4];
            for (int k = 0; k < 4; ++k) to[k] = taken[k].data() + room;
            run(TakeRow<View, T>{view, b.cview(), x.cview(), j, to[0], to[1], to[2], to[3]});
            for (int i = 0; i < nx; ++i) {
              const auto near = [&](T got, T expected) {
                ASSERT_NEAR(got, expected, test::tolerance<T> * (1 + std::abs(expected)))
                    << to_string(format) << ", node " << i << ", " << j << " of " << nx;
              };
              near(to[0][i], b.cview()(i, j) - view.sum(x.cview(), i, j));
              near(to[1][i], view.template coefficient<0, 0>(i, j));
              near(to[2][i], view.template coefficient<-1, 0>(i, j));
              near(to[3][i], view.template coefficient<1, 0>(i, j));
            }
            for (const auto& numbers : taken)
              for (int k = 0; k < room; ++k) {
                ASSERT_EQ(numbers[static_cast<std::size_t>(k)], T(-7)) << "before a row of " << nx;
                ASSERT_EQ(numbers[numbers.size() - 1 - static_cast<std::size_t>(k)], T(-7)) << "behind a row of " << nx;
              }
          }
        };
        test::with_all_registers(with);
      });
    }
}

}  // namespace
