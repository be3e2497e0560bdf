// Fields whose rows are as near to each other as they may be, where the number behind a row's last unknown is the one before
// the first unknown of the next row: nothing outside their memory is read, and results are those of other fields.

#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include <stratum/assembly/operators.hpp>
#include <stratum/mesh/named_meshes.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"

namespace {

using namespace stratum;

/// A field of 15 x ny unknowns with not a number around its memory.
template <class T>
class CloseRows {
 public:
  CloseRows(Context& ctx, const GridLayout<2>& shape, const test::Values& values)
      : numbers_(static_cast<std::size_t>((shape.ny + 6) * pitch), std::numeric_limits<T>::quiet_NaN()) {
    void* start = &numbers_[pitch];
    std::size_t room = numbers_.size() * sizeof(T);
    T* const first = static_cast<T*>(std::align(64, 1, start, room)) + pitch;  // column -1 of row -1
    std::fill_n(first, (shape.ny + 2) * pitch + 1, T(0));                      // with the last ghost, (nx, ny)
    field = Field<T>::borrow(ctx, first + pitch + 1, shape, pitch);
    for (int j = 0; j < shape.ny; ++j)
      for (int i = 0; i < shape.nx; ++i)
        field.view()(i, j) = static_cast<T>(values[static_cast<std::size_t>(j * shape.nx + i)]);
  }
  Field<T> field;

 private:
  static constexpr int pitch = 16;
  std::vector<T> numbers_;
};

template <class T>
class CloseRowsTest : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(CloseRowsTest, Numbers);

TYPED_TEST(CloseRowsTest, ResidualsAndSmoothersReadNothingElse) {
  using T = TypeParam;
  Context ctx(Backend::cpu, 1);
  test::Random random(3);
  const TensorMesh<2> mesh = make_mesh(mesh_family("A3"), 4);
  const GridLayout<2> shape = mesh.unknowns();
  ASSERT_EQ(shape.nx, 15);
  const auto count = static_cast<std::size_t>(shape.nodes());
  const test::Values bs = random.values(count), xs = random.values(count);
  for (const auto format : {StorageFormat::tensor, StorageFormat::symmetric, StorageFormat::nine_band}) {
    const auto a = assemble_operator<T>(ctx, mesh, format, {});
    const auto on = [&](Field<T>& b, Field<T>& x, Field<T>& r) {
      test::Values all;
      const auto keep = [&](const Field<T>& v) {
        const auto values = test::to_host(ctx, v);
        all.insert(all.end(), values.begin(), values.end());
      };
      a.residual(ctx, b.cview(), x.cview(), r.view());
      keep(r);
      for (const char* name : {"jacobi", "colour_gs", "line_x", "line_y", "adi"}) {
        builtin_smoothers()
            .make<T>(ctx, name, shape, {})
            ->smooth(ctx, a, b.cview(), x.view(), 2, Guess::given, SweepOrder::forward);
        keep(x);
      }
      return all;
    };
    CloseRows<T> b(ctx, shape, bs), x(ctx, shape, xs), r(ctx, shape, xs);
    Field<T> far_b = test::to_device<T>(ctx, shape, bs), far_x = test::to_device<T>(ctx, shape, xs), far_r(ctx, shape);
    const test::Values close = on(b.field, x.field, r.field), far = on(far_b, far_x, far_r);
    ASSERT_EQ(close.size(), far.size());
    for (std::size_t k = 0; k < far.size(); ++k)
      ASSERT_EQ(close[k], far[k]) << to_string(format) << ", node " << k % count << " of result " << k / count;
  }
}

}  // namespace
