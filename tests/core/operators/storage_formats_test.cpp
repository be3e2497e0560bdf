// What every storage format of grid operator must keep, by its parts and its view alone: a new storage format is tested by
// being listed.

#include <stratum/core/operators/storage_formats.hpp>

#include <concepts>
#include <variant>
#include <vector>

#include "support/backends.hpp"

namespace {

using namespace stratum;
using test::Values;

template <class List>
struct TypesOf;
template <class... Forms>
struct TypesOf<std::variant<Forms...>> {
  using type = testing::Types<Forms...>;
};

/// Numbers that float holds, in all parts.
template <class Format>
Format filled(test::Random& random, Format a) {
  for (const auto& part : a.parts())
    for (int j = 0; j < part.ny; ++j)
      for (int i = 0; i < part.nx; ++i) part(i, j) = static_cast<float>(random.uniform(1, 2));
  return a;
}

template <class T>
reference::Stencil entries(const GridOperator<T>& a) {
  reference::Stencil found(a.shape().nx, a.shape().ny);
  a.visit([&](const auto& view) {
    const auto read = [&]<int dx, int dy>() {
      for (int j = 0; j < found.ny; ++j)
        for (int i = 0; i < found.nx; ++i)
          if (found.inside(i + dx, j + dy))
            found.at(dx, dy, i, j) = static_cast<double>(view.template coefficient<dx, dy>(i, j));
    };
    const auto read_all = [&]<int... k>(std::integer_sequence<int, k...> /*bands*/) {
      (read.template operator()<k % 3 - 1, k / 3 - 1>(), ...);
    };
    read_all(std::make_integer_sequence<int, 9>{});
  });
  return found;
}

template <class Format>
class FormContract : public testing::Test {
 protected:
  /// Of every kind that the storage format has.
  std::vector<GridOperator<double>> kinds() {
    const GridLayout<2> shape = test::unknowns(9, 7);
    std::vector<GridOperator<double>> all{filled(random_, Format(ctx_, shape))};
    if constexpr (std::constructible_from<Format, Context&, GridLayout<2>, bool>)
      all.push_back(filled(random_, Format(ctx_, shape, true)));
    return all;
  }

  Context ctx_{Backend::cpu, test::cpu_threads};
  test::Random random_{31};
};
TYPED_TEST_SUITE(FormContract, TypesOf<AnyStorageFormat<double>>::type);

TYPED_TEST(FormContract, IsKnownByItsNameAndItsTraits) {
  for (const auto& a : this->kinds()) {
    EXPECT_EQ(storage_format(TypeParam::name), a.format());
    EXPECT_EQ(to_string(a.format()), TypeParam::name);
    EXPECT_EQ(a.coefficient_words(), TypeParam::coefficient_words);
    visit_storage_format<double>(
        a.format(), [](auto type) { EXPECT_TRUE((std::same_as<typename decltype(type)::type, TypeParam>)); });
    a.visit([&](const auto& view) {
      using View = std::decay_t<decltype(view)>;
      EXPECT_EQ(View::has_bands, a.traits().has_bands);
      EXPECT_EQ(View::is_symmetric, a.traits().is_symmetric);
      EXPECT_EQ(View::is_separable, a.traits().is_separable);
      EXPECT_EQ(View::streams, a.traits().streams);
    });
  }
}

TYPED_TEST(FormContract, SumsAreThoseOfItsCoefficients) {
  for (const auto& a : this->kinds()) {
    const reference::Stencil dense = entries(a);
    const auto x = test::to_device<double>(this->ctx_, a.shape(), this->random_.values(dense.size()));
    const Values host_x = test::to_host(this->ctx_, x);
    Field<double> y(this->ctx_, a.shape());
    a.apply(this->ctx_, x.cview(), y.view());
    EXPECT_LT(reference::relative_difference(test::to_host(this->ctx_, y), reference::apply(dense, host_x)),
              test::tolerance<double>);
    // What a line takes to its right-hand side, and the line itself.
    for (const bool along_x : {true, false}) {
      reference::Stencil line(dense.nx, dense.ny);
      for (const int d : {-1, 0, 1}) {
        const auto band = static_cast<std::size_t>(along_x ? band_index(d, 0) : band_index(0, d));
        line.band[band] = dense.band[band];
      }
      Values sum = reference::apply(line, host_x);
      a.visit([&](const auto& view) {
        for (int j = 0; j < dense.ny; ++j)
          for (int i = 0; i < dense.nx; ++i)
            sum[dense.index(i, j)] +=
                along_x ? view.off_row_sum(x.cview(), i, j) : view.off_column_sum(x.cview(), i, j);
      });
      EXPECT_LT(reference::relative_difference(sum, reference::apply(dense, host_x)), test::tolerance<double>);
    }
    diagonal(this->ctx_, a, y.view());
    EXPECT_EQ(test::to_host(this->ctx_, y), dense.band[4]);
  }
}

TYPED_TEST(FormContract, IsSymmetricWhereItSaysSo) {
  for (const auto& a : this->kinds()) {
    reference::Stencil dense = entries(a);
    bool symmetric = true;
    for (int j = 0; j < dense.ny; ++j)
      for (int i = 0; i < dense.nx; ++i)
        for (const int dy : {-1, 0, 1})
          for (const int dx : {-1, 0, 1})
            if (dense.inside(i + dx, j + dy))
              symmetric = symmetric && dense.at(dx, dy, i, j) == dense.at(-dx, -dy, i + dx, j + dy);
    EXPECT_EQ(symmetric, a.traits().is_symmetric);
  }
}

TYPED_TEST(FormContract, AnotherPrecisionHoldsTheSameEntries) {
  const auto originals = this->kinds(), others = this->kinds();
  for (std::size_t k = 0; k < originals.size(); ++k) {
    auto narrowed = convert<float>(this->ctx_, originals[k]);
    EXPECT_EQ(narrowed.format(), originals[k].format());
    EXPECT_EQ(narrowed.shape(), originals[k].shape());
    auto widened = convert<double>(this->ctx_, narrowed);
    EXPECT_EQ(entries(widened).band, entries(originals[k]).band);

    const auto before = this->ctx_.memory()->allocations.load();
    assign(this->ctx_, others[k], narrowed);
    assign(this->ctx_, narrowed, widened);
    EXPECT_EQ(this->ctx_.memory()->allocations, before);
    EXPECT_EQ(entries(widened).band, entries(others[k]).band);
  }
}

TEST(Forms, NoneTakesTheCoefficientsOfAnother) {
  Context ctx(Backend::cpu, 1);
  const GridLayout<2> shape = test::unknowns(5, 4);
  for (const auto from : storage_formats)
    for (const auto to : storage_formats) {
      const auto make = [&](StorageFormat format) {
        return visit_storage_format<double>(
            format, [&](auto type) { return GridOperator<double>(typename decltype(type)::type(ctx, shape)); });
      };
      GridOperator<double> taker = make(to);
      // Five bands take those of nine that are known to be symmetric.
      if (from == to || (from == StorageFormat::nine_band && to == StorageFormat::symmetric))
        EXPECT_NO_THROW(assign(ctx, make(from), taker));
      else
        EXPECT_THROW(assign(ctx, make(from), taker), UsageError);
    }
  // Nor one without a reaction term those of one that has it.
  GridOperator<double> plain = TensorOperator<double>(ctx, shape);
  EXPECT_THROW(assign(ctx, GridOperator<double>(TensorOperator<double>(ctx, shape, true)), plain), UsageError);
}

TEST(Forms, FactorsOfAnotherLengthAreRefused) {
  Context ctx(Backend::cpu, 1);
  TensorOperator<double> a(ctx, test::unknowns(5, 4));
  a.my = Field<double>(ctx, 4);
  EXPECT_THROW(GridOperator<double>(std::move(a)), UsageError);
}

}  // namespace
