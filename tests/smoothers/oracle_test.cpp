// Each smoother against its serial oracle. CPU and GPU share their per-node formulae, so that their agreement would prove
// nothing.

#include <algorithm>
#include <limits>
#include <memory>

#include <stratum/core/field/blas.hpp>
#include <stratum/mesh/tensor_mesh.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/backends.hpp"
#include "support/heavy.hpp"

namespace {

using namespace stratum;
using test::Values;

const char* const published_smoothers[] = {"jacobi", "colour_gs", "line_x", "line_y", "adi"};

template <class T>
class SmootherOracle : public test::OnEverySetting<T> {
 protected:
  using Number = T;

  /// Compares `applications` applications on one operator, for one damping (none: the default, which is `omega`).
  void compare(const GridOperator<Number>& a, const reference::Stencil& oracle, const std::string& name,
               LineOrder line_order, std::optional<double> damping, double omega) {
    SCOPED_TRACE(testing::Message() << name << ", " << to_string(line_order) << ", omega " << omega);
    auto& ctx = this->ctx();
    SmootherParams params;
    params.line_order = line_order;
    params.damping = damping;
    params.format = a.format();
    const auto smoother = builtin_smoothers().make<Number>(ctx, name, a.shape(), params);
    const auto lines = line_order == LineOrder::zebra ? reference::Lines::zebra : reference::Lines::simultaneous;
    for (const bool backward : {false, true})
      for (const int applications : {1, 2}) {
        const int sweeps = applications * smoother->sweeps_per_application();
        auto b = test::random_vector<Number>(ctx, random_, a.shape());
        poison_halo(b);
        auto x = test::random_vector<Number>(ctx, random_, a.shape());
        Values expected = test::to_host(ctx, x);
        reference::smooth({name, lines, omega}, oracle, test::to_host(ctx, b), expected, sweeps, backward);
        smoother->smooth(ctx, a, b.cview(), x.view(), sweeps, Guess::given,
                         backward ? SweepOrder::backward : SweepOrder::forward);
        EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected), test::tolerance<Number>)
            << applications << (backward ? " backward" : " forward");
      }
  }

  /// On a grid that is periodic in these directions. `scalar`: as random_operator has it. Long lines are solved in zebra order
  /// alone, others in every order and by every smoother of lines.
  void compare_lines(int nx, int ny, bool periodic_x, bool periodic_y, StorageFormat format, bool scalar) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << (scalar ? " scalar" : "")
                                    << (periodic_x ? ", periodic in x" : "") << (periodic_y ? ", periodic in y" : ""));
    const auto [oracle, a] =
        test::random_operator<Number>(this->ctx(), random_, nx, ny, format, periodic_x, periodic_y, scalar);
    if (std::max(nx, ny) > 200) return compare(a, oracle, nx > ny ? "line_x" : "line_y", LineOrder::zebra, {}, 1);
    for (const char* name : {"line_x", "line_y", "adi"}) {
      compare(a, oracle, name, LineOrder::zebra, {}, 1);
      compare(a, oracle, name, LineOrder::zebra, 0.7, 0.7);
      compare(a, oracle, name, LineOrder::simultaneous, {}, 0.8);
    }
  }

  /// One sweep of y lines from zero.
  void expect_sweep(Smoother<Number>& line_y, const GridOperator<Number>& a, const reference::Stencil& oracle) {
    auto& ctx = this->ctx();
    const auto b = test::random_vector<Number>(ctx, random_, a.shape());
    Field<Number> x(ctx, a.shape());
    Values expected(static_cast<std::size_t>(a.shape().nodes()));
    reference::smooth({"line_y", reference::Lines::zebra, 1}, oracle, test::to_host(ctx, b), expected, 1, false);
    line_y.smooth(ctx, a, b.cview(), x.view(), 1, Guess::given, SweepOrder::forward);
    EXPECT_LT(reference::relative_difference(test::to_host(ctx, x), expected), test::tolerance<Number>);
  }

  test::Random random_{71};

 private:
  /// What nobody exchanges nobody may read; zeros at physical sides stay.
  void poison_halo(Field<Number>& v) {
    const auto poison = [&](int i, int j, int nx, int ny) {
      FieldView<Number> part = v.view();
      part.data = &part(i, j);
      part.nx = nx;
      part.ny = ny;
      set(this->ctx(), std::numeric_limits<Number>::quiet_NaN(), part);
    };
    const auto shape = v.shape();
    for (const int i : {-1, shape.nx})
      if (shape.periodic_x) poison(i, 0, 1, shape.ny);
    for (const int j : {-1, shape.ny})
      if (shape.periodic_y) poison(0, j, shape.nx, 1);
  }
};

TEST_ON_EVERY_SETTING(SmootherOracle, RandomCoefficients) {
  for (const auto& [nx, ny] : test::small_shapes)
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, nx, ny, format);
      for (const char* name : published_smoothers)
        for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
          for (const double omega : {1.0, 0.6}) this->compare(a, oracle, name, order, omega, omega);
    }
}

TEST_ON_EVERY_SETTING(SmootherOracle, StretchedMeshesWithTheDefaultDamping) {
  for (const auto& [nx, ny] : test::small_shapes) {
    const Values hx = this->random_.widths(nx + 1, 3), hy = this->random_.widths(ny + 1, 3);
    const TensorMesh<2> mesh{Axis(hx), Axis(hy)};
    const auto oracle = reference::laplace(hx, hy);
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto a = assemble_laplace<T>(this->ctx(), mesh, format);
      this->compare(a, oracle, "jacobi", LineOrder::zebra, {}, 0.7);
      this->compare(a, oracle, "colour_gs", LineOrder::zebra, {}, 1);
      for (const char* name : {"line_x", "line_y", "adi"}) {
        this->compare(a, oracle, name, LineOrder::zebra, {}, 1);
        this->compare(a, oracle, name, LineOrder::simultaneous, {}, 0.8);
      }
    }
  }
}

// Longer than a vector register, a cache line or a batch of lines, and than a thread's share.
TEST_ON_EVERY_SETTING(SmootherOracle, LargerGrids) {
  for (const auto& [nx, ny] : {std::pair{150, 113}, {64, 64}, {1030, 5}, {5, 1030}})
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, nx, ny, format);
      for (const char* name : published_smoothers)
        for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
          this->compare(a, oracle, name, order, 0.9, 0.9);
    }
}

// Lines that fill a block, a cluster of blocks and the tiles of a persistent kernel, and lines that leave one of them almost
// empty.
TEST_ON_EVERY_SETTING(SmootherOracle, LongLines) {
  for (const int length : test::sizes_for(this->ctx(), {1023, 1025, 1601, 2047, 3100, 4097, 8191, 8500, 9000}))
    for (const auto& [nx, ny] : {std::pair{length, 5}, {70, length}, {length, 4}, {3, length}})
      for (const auto format : test::every_storage_format) {
        const bool scalar = format == StorageFormat::cell;
        if (nx * ny > 300000 || (scalar && nx < ny)) continue;
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
        const auto [oracle, a] =
            test::random_operator<T>(this->ctx(), this->random_, nx, ny, format, false, false, scalar);
        this->compare(a, oracle, nx > ny ? "line_x" : "line_y", LineOrder::zebra, 1, 1);
      }
}

// So many columns that a GPU goes from tile to tile, in both orders, and so many rows that it walks from row to row.
TEST_ON_EVERY_SETTING(SmootherOracle, WideGridsOfLongLines) {
  if (!this->ctx().on_gpu()) {
    HEAVY_TEST();
  }
  for (const auto& [nx, ny, format] : {std::tuple{300, 4100, StorageFormat::symmetric},
                                       {300, 4100, StorageFormat::nine_band},
                                       {700, 2100, StorageFormat::symmetric},
                                       {700, 2100, StorageFormat::nine_band},
                                       {1700, 700, StorageFormat::cell}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
    const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, nx, ny, format, false, false, true);
    this->compare(a, oracle, nx > ny ? "line_x" : "line_y", LineOrder::zebra, 1, 1);
  }
}

// Lines a little longer than a power of two, as between Neumann or Robin boundaries, and lines in several parts; without a
// reaction term and with one, of scalar K by cells and of another.
TEST_ON_EVERY_SETTING(SmootherOracle, LongLinesInParts) {
  for (const int length :
       test::sizes_for(this->ctx(), {1600, 2049, 4096, 4097, 8192, 8193, 9000, 9600, 16383, 16385, 20000}))
    for (const auto& [nx, ny] : {std::pair{length, 5}, {70, length}, {9, length}})
      for (const auto format : {StorageFormat::tensor, StorageFormat::cell})
        for (const bool scalar : {true, false}) {
          if (nx * ny > 320000 || (format == StorageFormat::cell && (nx == 70 || scalar == (length == 9000)))) continue;
          SCOPED_TRACE(testing::Message()
                       << nx << " x " << ny << ", " << to_string(format) << (scalar ? " scalar" : ""));
          const auto [oracle, a] =
              test::random_operator<T>(this->ctx(), this->random_, nx, ny, format, false, false, scalar);
          this->compare(a, oracle, nx > ny ? "line_x" : "line_y", LineOrder::zebra, 1, 1);
        }
}

// Long lines, and more of them than a GPU holds at a time: those of the second colour solve their equations, and so did those
// of the first one beside the old ones.
TEST_ON_EVERY_SETTING(SmootherOracle, ManyLongLines) {
  auto& ctx = this->ctx();
  if (!ctx.on_gpu()) GTEST_SKIP() << "no kernels of their own";
  for (const auto& [nx, ny, format] : {std::tuple{8193, 420, StorageFormat::tensor},
                                       {16383, 420, StorageFormat::tensor},
                                       {420, 8193, StorageFormat::tensor},
                                       {420, 16383, StorageFormat::tensor},
                                       {420, 17000, StorageFormat::tensor},
                                       {420, 8000, StorageFormat::tensor},
                                       {2000, 4095, StorageFormat::tensor},
                                       {2600, 2500, StorageFormat::cell},
                                       {4097, 700, StorageFormat::cell},
                                       {5000, 500, StorageFormat::cell},
                                       {8193, 420, StorageFormat::cell},
                                       {9000, 420, StorageFormat::cell},
                                       {16383, 420, StorageFormat::cell}})
    for (const bool backward : {false, true}) {
      const bool scalar = backward || format == StorageFormat::cell;
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << (scalar ? ", scalar" : "")
                                      << (backward ? " backward" : ""));
      const auto a = [&, nx = nx, ny = ny, format = format] {
        if (format == StorageFormat::cell)
          return test::RandomCells(this->random_, nx + 1, ny + 1, true).template assembled<T>(ctx);
        const test::RandomFactors f(this->random_, nx, ny);
        return test::tensor_operator<T>(ctx, f.kx, f.mx, f.ky, f.my, scalar ? 0 : 5);
      }();
      const bool along_x = nx > ny;
      const auto b = test::random_vector<T>(ctx, this->random_, a.shape());
      auto x = test::random_vector<T>(ctx, this->random_, a.shape());
      const Values old = test::to_host(ctx, x);
      const auto smoother = builtin_smoothers().make<T>(ctx, along_x ? "line_x" : "line_y", a.shape(), {});
      smoother->smooth(ctx, a, b.cview(), x.view(), 1, Guess::given,
                       backward ? SweepOrder::backward : SweepOrder::forward);
      Values found = test::to_host(ctx, x);
      Field<T> residual(ctx, a.shape());
      for (const bool second : {true, false}) {
        const auto is_second = [&](std::size_t n) {
          const auto line =
              static_cast<int>(along_x ? n / static_cast<std::size_t>(nx) : n % static_cast<std::size_t>(nx));
          return (line % 2 == 1) != backward;
        };
        if (!second) {
          for (std::size_t n = 0; n < found.size(); ++n)
            if (is_second(n)) found[n] = old[n];
          x = test::to_device<T>(ctx, a.shape(), found);
        }
        a.residual(ctx, b.cview(), x.cview(), residual.view());
        const Values r = test::to_host(ctx, residual);
        double sum = 0, all = 0;
        for (std::size_t n = 0; n < r.size(); ++n) {
          all += r[n] * r[n];
          if (is_second(n) == second) sum += r[n] * r[n];
        }
        EXPECT_LT(std::sqrt(sum / all), test::tolerance<T>) << (second ? "second" : "first") << " colour";
      }
    }
}

// So many tiles of long lines that every cluster of blocks of a GPU takes several.
TEST_ON_EVERY_SETTING(SmootherOracle, WalksOverManyTiles) {
  if (!this->ctx().on_gpu() || sizeof(T) == 8) GTEST_SKIP() << "no kernels of their own";
  for (const auto& [nx, ny] : {std::pair{300, 8000}, {481, 6001}, {700, 4095}, {257, 8191}, {300, 8193}})
    for (const bool scalar : {true, false}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << (scalar ? ", scalar" : ""));
      const auto [oracle, a] =
          test::random_operator<T>(this->ctx(), this->random_, nx, ny, StorageFormat::tensor, false, false, scalar);
      this->compare(a, oracle, "line_y", LineOrder::zebra, 1, 1);
    }
  for (const int count : {300, 301}) this->compare_lines(count, 8000, true, false, StorageFormat::tensor, true);
}

// Lines that would be short enough to be solved one by one, but are so many that a GPU goes over them.
TEST_ON_EVERY_SETTING(SmootherOracle, ManyShortLines) {
  if (!this->ctx().on_gpu()) GTEST_SKIP() << "no kernels of their own";
  struct Case {
    int nx, ny;
    StorageFormat format;
    bool scalar;
  };
  for (const auto& [nx, ny, format, scalar] :
       {Case{8500, 300, StorageFormat::tensor, true}, Case{4300, 600, StorageFormat::tensor, false},
        Case{8500, 300, StorageFormat::cell, true}}) {
    SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format) << (scalar ? ", scalar" : ""));
    const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, nx, ny, format, false, false, scalar);
    this->compare(a, oracle, "line_y", LineOrder::zebra, 1, 1);
  }
}

// So few tiles that each cluster of blocks of a GPU takes one, and passes a column to the next; the last ones just fit, or not.
TEST_ON_EVERY_SETTING(SmootherOracle, ClustersOfOneTileEach) {
  if (!this->ctx().on_gpu()) GTEST_SKIP() << "no kernels of their own";
  for (const auto& [nx, ny] :
       {std::pair{20, 800}, {200, 1100}, {1023, 1023}, {1000, 1025}, {63, 2047}, {1100, 770}, {1, 700}, {2, 513}})
    for (const bool scalar : {true, false})
      for (const auto format : test::every_storage_format) {
        // Stored bands do not know where their entries come from.
        if (scalar && traits(format).has_bands) continue;
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << (scalar ? ", scalar " : " ") << to_string(format));
        const auto [oracle, a] =
            test::random_operator<T>(this->ctx(), this->random_, nx, ny, format, false, false, scalar);
        this->compare(a, oracle, "line_y", LineOrder::zebra, 1, 1);
      }
  for (const int count : {300, 301}) this->compare_lines(count, 800, true, false, StorageFormat::tensor, true);
}

TEST_ON_EVERY_SETTING(SmootherOracle, TheLongestLines) {
  for (const int length : test::sizes_for(this->ctx(), {16383, 18433, 32767, 32769, 40000}))
    for (const auto& [nx, ny] : {std::pair{length, 3}, {3, length}}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny);
      const auto format = length % 4 == 1 ? StorageFormat::symmetric : StorageFormat::tensor;
      const auto [oracle, a] = test::random_operator<T>(this->ctx(), this->random_, nx, ny, format);
      for (const auto order : {LineOrder::zebra, LineOrder::simultaneous})
        this->compare(a, oracle, nx > ny ? "line_x" : "line_y", order, 0.9, 0.9);
      this->compare(a, oracle, nx > ny ? "line_x" : "line_y", LineOrder::zebra, 1, 1);
    }
}

// More chunks of a line than a cluster's exchange buffer has room for.
TEST_ON_EVERY_SETTING(SmootherOracle, LinesOfManyChunks) {
  for (const auto format : {StorageFormat::cell, StorageFormat::tensor}) {
    SCOPED_TRACE(testing::Message() << to_string(format));
    const bool scalar = format == StorageFormat::cell;
    const auto [oracle, a] =
        test::random_operator<T>(this->ctx(), this->random_, 50000, 3, format, false, false, scalar);
    this->compare(a, oracle, "line_x", LineOrder::zebra, 1, 1);
  }
}

// Long lines from a guess of zeros, whatever x holds: the kernels that do not read it.
TEST_ON_EVERY_SETTING(SmootherOracle, LongLinesFromZero) {
  auto& ctx = this->ctx();
  for (const auto& [nx, ny, format] : {std::tuple{ctx.on_gpu() ? 300 : 30, 8000, StorageFormat::tensor},
                                       {1700, 9, StorageFormat::cell},
                                       {9000, 5, StorageFormat::cell},
                                       {1700, 9, StorageFormat::tensor},
                                       {70, 2100, StorageFormat::tensor},
                                       {70, 2100, StorageFormat::cell},
                                       {70, 2100, StorageFormat::symmetric},
                                       {70, 2100, StorageFormat::nine_band},
                                       {2, 1537, StorageFormat::symmetric},
                                       {1, 2049, StorageFormat::nine_band}})
    for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
      SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(format));
      const auto a = test::random_operator<T>(ctx, this->random_, nx, ny, format, false, false, true).a;
      const auto smoother = builtin_smoothers().make<T>(ctx, nx > ny ? "line_x" : "line_y", a.shape(), {});
      const auto b = test::random_vector<T>(ctx, this->random_, a.shape());
      Field<T> given(ctx, a.shape()), unread(ctx, a.shape());
      set(ctx, T(0), given.view());
      set(ctx, std::numeric_limits<T>::quiet_NaN(), unread.view());
      smoother->smooth(ctx, a, b.cview(), given.view(), 1, Guess::given, order);
      smoother->smooth(ctx, a, b.cview(), unread.view(), 1, Guess::zero, order);
      EXPECT_LT(reference::relative_difference(test::to_host(ctx, unread), test::to_host(ctx, given)),
                test::tolerance<T>);
    }
}

// A smoother may keep the numbers of an operator: of another one it sees them, of the same one once it is told.
TEST_ON_EVERY_SETTING(SmootherOracle, OtherNumbers) {
  auto& ctx = this->ctx();
  constexpr int nx = 40, ny = 600;
  for (const auto format : {StorageFormat::symmetric, StorageFormat::nine_band}) {
    SCOPED_TRACE(to_string(format));
    const auto before = test::random_operator<T>(ctx, this->random_, nx, ny, format);
    const auto other = test::random_operator<double>(ctx, this->random_, nx, ny, format);
    const auto smoother = builtin_smoothers().make<T>(ctx, "line_y", before.a.shape(), {});
    this->expect_sweep(*smoother, before.a, before.oracle);
    this->expect_sweep(*smoother, convert<T>(ctx, other.a), other.oracle);
    this->expect_sweep(*smoother, before.a, before.oracle);
    GridOperator<T> same = before.a;
    assign(ctx, other.a, same);
    smoother->set_up(ctx, same);
    this->expect_sweep(*smoother, same, other.oracle);
    EXPECT_THROW(smoother->set_up(ctx, test::random_operator<T>(ctx, this->random_, nx + 1, ny, format).a), UsageError);
  }
}

TEST_ON_EVERY_SETTING(SmootherOracle, AnotherFormThanItWasMadeFor) {
  auto& ctx = this->ctx();
  constexpr int nx = 40, ny = 600;
  for (const auto made_for : test::every_storage_format)
    for (const auto format : test::every_storage_format) {
      SCOPED_TRACE(testing::Message() << to_string(format) << ", made for " << to_string(made_for));
      const auto [oracle, a] = test::random_operator<T>(ctx, this->random_, nx, ny, format);
      SmootherParams params;
      params.format = made_for;
      this->expect_sweep(*builtin_smoothers().make<T>(ctx, "line_y", a.shape(), params), a, oracle);
    }
}

TEST_ON_EVERY_SETTING(SmootherOracle, PeriodicGrids) {
  for (const auto& [nx, ny] :
       {std::pair{3, 3}, {3, 4}, {4, 5}, {5, 3}, {8, 8}, {9, 17}, {16, 9}, {33, 32}, {3, 129}, {131, 6}})
    for (const auto format : test::every_storage_format)
      for (const bool scalar : {false, true}) {
        if (scalar && format != StorageFormat::tensor && format != StorageFormat::cell) continue;
        this->compare_lines(nx, ny, true, false, format, scalar);
        this->compare_lines(nx, ny, false, true, format, scalar);
        this->compare_lines(nx, ny, true, true, format, scalar);
      }
}

// Lines that fill a block and a cluster of blocks, or leave one almost empty, along and across periodic directions.
TEST_ON_EVERY_SETTING(SmootherOracle, LongLinesOfPeriodicGrids) {
  for (const int length : test::sizes_for(this->ctx(), {257, 513, 1024, 1601, 2049, 4100, 8500, 9000}))
    for (const auto format : test::every_storage_format) {
      const bool scalar = length % 3 == 0;
      this->compare_lines(length, 5, true, length % 2 == 0, format, scalar);
      this->compare_lines(6, length, length % 2 == 0, true, format, !scalar);
    }
}

// Walks take even numbers of lines; those at the seam and the third colour are solved apart.
TEST_ON_EVERY_SETTING(SmootherOracle, WalksOverPeriodicGrids) {
  for (const int count : test::sizes_for(this->ctx(), {3, 4, 15, 16, 17, 31, 32, 33, 64, 65, 129})) {
    this->compare_lines(count, 801, true, false, StorageFormat::tensor, count % 3 != 0);
    this->compare_lines(count, 801, true, false, StorageFormat::cell, true);
    if (count < 20) this->compare_lines(1601, count, false, true, StorageFormat::tensor, count % 3 != 0);
    if (count < 5) this->compare_lines(1601, count, false, true, StorageFormat::cell, true);
  }
  for (const int count : {300, 301}) this->compare_lines(count, 1700, true, false, StorageFormat::tensor, true);
  for (const int count : test::sizes_for(this->ctx(), {3, 4, 16, 17, 31, 32, 33, 40, 41, 65}))
    for (const auto format : {StorageFormat::symmetric, StorageFormat::nine_band})
      for (const int length : {700, 2100}) this->compare_lines(count, length, true, false, format, true);
}

TEST_ON_EVERY_SETTING(SmootherOracle, TheLongestPeriodicLines) {
  for (const int length : test::sizes_for(this->ctx(), {18433, 36864, 36865, 80000})) {
    const auto format = length == 18433 ? StorageFormat::symmetric : StorageFormat::tensor;
    this->compare_lines(length, 3, true, false, format, true);
    this->compare_lines(3, length, false, true, format, true);
  }
}

// A part of a larger grid that begins at line 2 has its odd lines where a grid that begins at line 1 has its even ones. The
// oracle has no origin: it gets line 1 as well, coupled to nothing.
TEST_ON_EVERY_SETTING(SmootherOracle, ColoursAndLinesGoByTheGlobalIndex) {
  auto& ctx = this->ctx();
  for (const auto& [nx, ny] : {std::pair{1, 1}, {5, 4}, {4, 5}, {16, 9}, {33, 70}, {100, 90}}) {
    const auto part = this->random_.stencil(nx, ny, false);
    reference::Stencil whole(nx + 1, ny + 1);
    for (int j = 0; j <= ny; ++j)
      for (int i = 0; i <= nx; ++i) whole.at(0, 0, i, j) = 1;
    for (int j = 0; j < ny; ++j)
      for (int i = 0; i < nx; ++i)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) whole.at(dx, dy, i + 1, j + 1) = part.coefficient(dx, dy, i, j);
    const auto embed = [&](const Values& inner) {
      Values outer(whole.size(), 0.0);
      for (int j = 0; j < ny; ++j)
        for (int i = 0; i < nx; ++i) outer[whole.index(i + 1, j + 1)] = inner[part.index(i, j)];
      return outer;
    };

    const GridLayout<2> shape{nx, ny, 2, 2};
    NineBandMatrix<T> bands(ctx, shape);
    for (std::size_t k = 0; k < 9; ++k) bands.band[k] = test::to_device<T>(ctx, shape, part.band[k]);
    const GridOperator<T> a(std::move(bands));
    for (const char* name : published_smoothers)
      for (const bool backward : {false, true}) {
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << name << (backward ? " backward" : " forward"));
        const auto smoother = builtin_smoothers().make<T>(ctx, name, shape, {});
        const auto b = test::random_vector<T>(ctx, this->random_, shape);
        auto x = test::random_vector<T>(ctx, this->random_, shape);
        Values expected = embed(test::to_host(ctx, x));
        const double omega = std::string(name) == "jacobi" ? 0.7 : 1;
        reference::smooth({name, reference::Lines::zebra, omega}, whole, embed(test::to_host(ctx, b)), expected,
                          smoother->sweeps_per_application(), backward);
        smoother->smooth(ctx, a, b.cview(), x.view(), smoother->sweeps_per_application(), Guess::given,
                         backward ? SweepOrder::backward : SweepOrder::forward);
        EXPECT_LT(reference::relative_difference(embed(test::to_host(ctx, x)), expected), test::tolerance<T>);
      }
  }
}

}  // namespace
