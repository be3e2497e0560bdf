// Smoothers on a grid partitioned into subdomains of rows, a thread and a Context each, against the same smoother on one
// subdomain, for every form of operator, every kind of side and subdomains of one row. Halos hold NaN before.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <stratum/mesh/named_meshes.hpp>
#include <stratum/smoothers/smoother.hpp>

#include "support/heavy.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Values;
using enum BoundaryType;

struct Sides {
  BoundaryType left, right, bottom, top;
};
constexpr Sides every_boundary[] = {
    {dirichlet, dirichlet, dirichlet, dirichlet}, {neumann, neumann, neumann, dirichlet},
    {dirichlet, neumann, neumann, neumann},       {neumann, dirichlet, periodic, periodic},
    {periodic, periodic, dirichlet, neumann},     {periodic, periodic, periodic, periodic}};

/// An operator of the tests: a storage format, with or without reaction; of cells with so many numbers each, none for those of
/// the mesh.
struct Kind {
  const char* name;
  StorageFormat format;
  bool reaction;
  int numbers = 0;
};
constexpr Kind every_kind[] = {
    {"tensor", StorageFormat::tensor, false},       {"tensor with reaction", StorageFormat::tensor, true},
    {"five bands", StorageFormat::symmetric, true}, {"nine bands", StorageFormat::nine_band, true},
    {"scalar K", StorageFormat::cell, false, 1},    {"full K", StorageFormat::cell, true, 3}};

/// Rows begin .. end - 1 of the mesh's unknowns, counted from 0.
GridLayout<2> subdomain_of(const TensorMesh<2>& mesh, int begin, int end) {
  GridLayout<2> shape = mesh.unknowns();
  if (end - begin == shape.ny) return shape;
  shape.below = begin > 0 || shape.periodic_y;
  shape.above = end < shape.ny || shape.periodic_y;
  shape.origin_y += begin;
  shape.ny = end - begin;
  return shape;
}

template <class T>
GridOperator<T> make_operator(Context& ctx, const TensorMesh<2>& mesh, const Kind& kind,
                              const GridLayout<2>& subdomain) {
  OperatorTerms terms;
  if (kind.reaction) {
    terms.reaction = 3;
    if (mesh.x().first_boundary() == neumann) terms.left.constant = 2;
    if (mesh.y().last_boundary() == neumann) terms.top.constant = 5;
  }
  if (kind.numbers == 0) return assemble_operator<T>(ctx, mesh, kind.format, terms, subdomain);
  test::Random random(11);
  const auto draw = [&](double low, double high) {
    return random.values(static_cast<std::size_t>(mesh.cells()), low, high);
  };
  CellCoefficients k{mesh.x().size(), mesh.y().size(), draw(1, 9), {}, {}, {}};
  if (kind.numbers == 3) k.xy = draw(-0.9, 0.9), k.yy = draw(1, 9), k.c = draw(0, 2);
  const CellFields fields(ctx, mesh, k, terms.reaction);
  return convert<T>(ctx, assemble_diffusion(ctx, mesh, k, fields, terms, subdomain));
}

/// What a smoother is to do.
struct Work {
  std::string smoother;
  LineOrder line_order = LineOrder::zebra;
  Guess guess = Guess::given;
  SweepOrder order = SweepOrder::forward;
  int applications = 2;
  bool sets_up = true;
  std::vector<int> chunks{};  // SmootherParams
};

/// A part of the work.
template <class T>
struct Smoothing {
  Context& ctx;
  GridOperator<T> a;
  Field<T> x, b;
  Work work;
  std::unique_ptr<Smoother<T>> smoother;

  Smoothing(Context& on, const TensorMesh<2>& mesh, const Kind& kind, const Work& given, const GridLayout<2>& shape,
            const Values& xs, const Values& bs)
      : ctx(on), a(make_operator<T>(on, mesh, kind, shape)), x(test::poisoned_rows<T>(on, shape, mesh.unknowns(), xs)),
        b(test::poisoned_rows<T>(on, shape, mesh.unknowns(), bs)), work(given) {
    SmootherParams params;
    params.line_order = work.line_order;
    params.format = kind.format;
    params.chunks = work.chunks;
    smoother = builtin_smoothers().make<T>(ctx, work.smoother, shape, params);
    if (work.sets_up) smoother->set_up(ctx, a);
  }
  void run() { run(ctx); }
  void run(Context& on) {
    smoother->smooth(on, a, b.cview(), x.view(), work.applications * smoother->sweeps_per_application(), work.guess,
                     work.order);
  }
};

template <class T>
class SmootherSubdomains : public test::OnEverySetting<T> {
 protected:
  /// What `result` says of the work when it is done, in subdomains of so many rows each.
  template <class Number = T, class Result>
  Values after(const TensorMesh<2>& mesh, const Kind& kind, const Work& work, const std::vector<int>& rows,
               const Result& result) {
    const auto done = test::on_subdomains(this->backend(), static_cast<int>(rows.size()), [&](Context& ctx) {
      const auto rank = ctx.communicator() == nullptr ? 0 : ctx.communicator()->rank();
      const int begin = std::accumulate(rows.begin(), rows.begin() + rank, 0);
      const GridLayout<2> shape = subdomain_of(mesh, begin, begin + rows[static_cast<std::size_t>(rank)]);
      Smoothing<Number> own(ctx, mesh, kind, work, shape, xs_, bs_);
      return result(own);
    });
    for (const auto& error : done.errors) EXPECT_EQ(error, "");
    return done.values;
  }
  template <class Number = T>
  Values smoothed(const TensorMesh<2>& mesh, const Kind& kind, const Work& work, const std::vector<int>& rows) {
    return after<Number>(mesh, kind, work, rows, [](auto& own) {
      own.run();
      return test::to_host(own.ctx, own.x);
    });
  }
  void draw(const TensorMesh<2>& mesh) {
    xs_ = random_.values(static_cast<std::size_t>(mesh.unknowns().nodes()));
    bs_ = random_.values(xs_.size());
  }
  [[nodiscard]] TensorMesh<2> mesh(const Sides& sides, int nx, int ny) {
    return {Axis(random_.widths(nx)).with_boundaries(sides.left, sides.right),
            Axis(random_.widths(ny)).with_boundaries(sides.bottom, sides.top)};
  }

 private:
  test::Random random_{431};
  Values xs_, bs_;
};

/// What a smoother does differently: the order of lines is one of those that solve for lines.
std::vector<LineOrder> orders_of(const std::string& smoother) {
  if (smoother == "jacobi" || smoother == "colour_gs") return {LineOrder::zebra};
  return {LineOrder::zebra, LineOrder::simultaneous};
}

/// Of several ways to cut a grid all in heavy runs, else the next one with every call.
class OneInTurn {
 public:
  std::vector<std::vector<int>> operator()(std::vector<std::vector<int>> ways) {
    if (test::heavy()) return ways;
    return {std::move(ways[next_++ % ways.size()])};
  }

 private:
  std::size_t next_ = 0;
};

/// `rows` rows in `count` subdomains, the last with what is left; or one row each but for one subdomain.
std::vector<int> shared_out(int rows, int count, bool single = false) {
  std::vector<int> subdomains(static_cast<std::size_t>(count), single ? 1 : rows / count);
  subdomains[single ? subdomains.size() / 2 : subdomains.size() - 1] += rows - count * subdomains[0];
  return subdomains;
}

double largest_of(const Values& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}
double difference(const Values& a, const Values& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double here = std::abs(a[k] - b[k]);
    if (std::isnan(here)) return here;
    largest = std::max(largest, here);
  }
  return largest;
}

TEST_ON_EVERY_SETTING(SmootherSubdomains, SeveralEqualOne) {
  using Number = T;
  const double tolerance = std::is_same_v<Number, double> ? 1e-13 : 2e-5;
  const auto registry = builtin_smoothers();
  OneInTurn some;
  for (const Sides& sides : every_boundary)
    for (const auto& [nx, ny] : {std::pair{20, 24}, {37, 17}}) {
      const TensorMesh<2> mesh = this->mesh(sides, nx, ny);
      this->draw(mesh);
      const int rows = mesh.unknowns().ny;
      for (const Kind& kind : every_kind)
        for (const auto& [name, entry] : registry.entries())
          for (const auto line_order : orders_of(name))
            for (const auto& [guess, order] :
                 {std::pair{Guess::given, SweepOrder::forward}, {Guess::zero, SweepOrder::backward}}) {
              const Work work{name, line_order, guess, order};
              SCOPED_TRACE(testing::Message() << mesh.unknowns().nx << " x " << rows << ", " << to_string(sides.left)
                                              << " " << to_string(sides.right) << " " << to_string(sides.bottom) << " "
                                              << to_string(sides.top) << ", " << kind.name << ", " << name << ", "
                                              << to_string(line_order) << (guess == Guess::zero ? ", from zero" : "")
                                              << (order == SweepOrder::backward ? ", backward" : ""));
              const Values one = this->smoothed(mesh, kind, work, {rows});
              for (const auto& subdomains : some({shared_out(rows, 2), shared_out(rows, 3, true), shared_out(rows, 5)}))
                ASSERT_LE(difference(this->smoothed(mesh, kind, work, subdomains), one), tolerance * largest_of(one))
                    << subdomains.size() << " subdomains";
            }
    }
}

// Cells thin along y, across y, and both; sides that keep thin cells' unknowns, too, which bands hold only as far as their
// entries do. As exact as one subdomain, whose error in float says how far rounding goes.
TEST_ON_EVERY_SETTING(SmootherSubdomains, ThinCellsLoseNothing) {
  using Number = T;
  for (const char* name : {"U1", "A3", "A5"})
    for (const auto end : {dirichlet, neumann}) {
      const TensorMesh<2> named = make_mesh(mesh_family(name), 6);
      const TensorMesh<2> mesh{Axis(named.x().widths()).with_boundaries(dirichlet, end),
                               Axis(named.y().widths()).with_boundaries(end, dirichlet)};
      this->draw(mesh);
      const int rows = mesh.unknowns().ny;
      for (const Kind& kind : every_kind) {
        if (end == neumann && traits(kind.format).has_bands) continue;
        SCOPED_TRACE(testing::Message() << name << ", " << to_string(end) << ", " << kind.name);
        const Work work{"adi"};
        const Values one = this->smoothed(mesh, kind, work, {rows});
        const double rounding = difference(this->template smoothed<float>(mesh, kind, work, {rows}),
                                           this->template smoothed<double>(mesh, kind, work, {rows}));
        const double allowed = std::is_same_v<Number, double> ? 1e-13 * largest_of(one) + 1e-11 * rounding
                                                              : 1e-6 * largest_of(one) + rounding;
        for (const int count : {2, 3, 4, 5, 8})
          EXPECT_LE(difference(this->smoothed(mesh, kind, work, shared_out(rows, count)), one), allowed)
              << count << " subdomains, where float is off by " << rounding;
      }
    }
}

TEST_ON_EVERY_SETTING(SmootherSubdomains, TwoRunsGiveTheSameBits) {
  for (const Sides& sides : every_boundary) {
    const TensorMesh<2> mesh = this->mesh(sides, 40, 30);
    this->draw(mesh);
    for (const Kind& kind : every_kind) {
      const auto subdomains = shared_out(mesh.unknowns().ny, 3);
      EXPECT_EQ(this->smoothed(mesh, kind, {"adi"}, subdomains), this->smoothed(mesh, kind, {"adi"}, subdomains))
          << kind.name;
    }
  }
}

// Both halo rows come out of the interface, with the bits of the rows they stand for; what has to be said is one exchange of
// rows for x lines, one before y lines, and one gather a colour of these.
TEST_ON_EVERY_SETTING(SmootherSubdomains, HaloRowsComeOutOfTheInterface) {
  const TensorMesh<2> mesh = this->mesh(every_boundary[1], 21, 30);
  this->draw(mesh);
  for (const Kind& kind : every_kind) {
    SCOPED_TRACE(kind.name);
    const Work work{"adi", LineOrder::zebra, Guess::zero, SweepOrder::forward, 1};
    const auto rows_of_x = [](auto& own) {
      const auto& communicator = *own.ctx.communicator();
      const auto exchanges = communicator.exchanges(), gathers = communicator.gathers();
      own.run();
      EXPECT_EQ(communicator.exchanges() - exchanges, 2);
      EXPECT_EQ(communicator.gathers() - gathers, 2);
      FieldView<const T> all = own.x.cview();
      all.data -= all.pitch;
      all.ny += 2;
      std::vector<T> host(static_cast<std::size_t>(all.nodes()));
      copy_to_host(own.ctx, all, host.data());
      return Values(host.begin(), host.end());
    };
    const int nx = mesh.unknowns().nx, rows = 6;
    const Values found = this->after(mesh, kind, work, shared_out(mesh.unknowns().ny, 5), rows_of_x);
    const auto row = [&](int rank, int j) {
      const auto at = found.begin() + std::int64_t{rank * (rows + 2) + j + 1} * nx;
      return Values(at, at + nx);
    };
    for (int rank = 0; rank + 1 < 5; ++rank) {
      EXPECT_EQ(row(rank, rows), row(rank + 1, 0)) << rank;
      EXPECT_EQ(row(rank + 1, -1), row(rank, rows - 1)) << rank;
    }
  }
}

/// A subdomain's communicator that keeps how many bytes each gather took of it.
class CountsBytes final : public Communicator {
 public:
  explicit CountsBytes(Communicator& through) : through_(through) {}
  [[nodiscard]] int rank() const override { return through_.rank(); }
  [[nodiscard]] int size() const override { return through_.size(); }
  [[nodiscard]] std::string_view name() const override { return through_.name(); }
  void barrier() override { through_.barrier(); }
  void abandon() override { through_.abandon(); }
  std::vector<std::size_t> gathered;

 private:
  void do_gather(Context& ctx, const void* mine, void* all, std::span<const std::size_t> counts,
                 std::span<const std::size_t> offsets) override {
    gathered.push_back(counts[static_cast<std::size_t>(rank())]);
    through_.gather(ctx, mine, all, counts, offsets);
  }
  void do_exchange(Context& ctx, const Rows& rows) override { through_.exchange(ctx, rows); }
  void do_gather_on_host(const void* mine, void* all, std::size_t bytes) override {
    through_.gather_on_host(mine, all, bytes);
  }
  void do_all_to_all_on_host(const void* out, std::span<const std::size_t> to, void* in,
                             std::span<const std::size_t> from) override {
    through_.all_to_all_on_host(out, to, in, from);
  }
  Communicator& through_;
};

// Two words a line of a colour, the right-hand sides; seven a line once, the matrix.
TEST_ON_EVERY_SETTING(SmootherSubdomains, AGatherHasTwoWordsALine) {
  const TensorMesh<2> mesh = this->mesh(every_boundary[0], 20, 30);
  this->draw(mesh);
  const std::size_t odd = 10 * sizeof(T), even = 9 * sizeof(T);
  for (const Kind& kind : every_kind) {
    SCOPED_TRACE(kind.name);
    Work work{"adi", LineOrder::zebra, Guess::given, SweepOrder::forward, 2};
    work.sets_up = false;
    (void)this->after(mesh, kind, work, shared_out(mesh.unknowns().ny, 3), [&](auto& own) {
      CountsBytes counts(*own.ctx.communicator());
      Context ctx = own.ctx;
      ctx.set_communicator({&counts, [](Communicator*) {}});
      own.run(ctx);
      EXPECT_EQ(counts.gathered, (std::vector<std::size_t>{7 * (odd + even), 2 * odd, 2 * even, 2 * odd, 2 * even}));
      return Values{};
    });
  }
}

// Of another operator, and of the same one with other numbers, once the smoother is told.
TEST_ON_EVERY_SETTING(SmootherSubdomains, OtherNumbers) {
  for (const Sides& sides : {every_boundary[1], every_boundary[5]}) {
    const TensorMesh<2> before = this->mesh(sides, 21, 30), mesh = this->mesh(sides, 21, 30);
    this->draw(mesh);
    const int rows = mesh.unknowns().ny;
    for (const Kind& kind : every_kind)
      for (const auto line_order : {LineOrder::zebra, LineOrder::simultaneous}) {
        SCOPED_TRACE(testing::Message() << kind.name << ", " << to_string(line_order));
        const Work work{"adi", line_order};
        const Values expected = this->smoothed(mesh, kind, work, {rows});
        for (const bool in_place : {false, true}) {
          const Values found = this->after(before, kind, work, shared_out(rows, 3), [&](auto& own) {
            const auto other = make_operator<double>(own.ctx, mesh, kind, own.a.shape());
            if (in_place) {
              assign(own.ctx, other, own.a);
              own.smoother->set_up(own.ctx, own.a);
            } else {
              own.a = convert<T>(own.ctx, other);
            }
            own.run();
            return test::to_host(own.ctx, own.x);
          });
          EXPECT_LE(difference(found, expected), (std::is_same_v<T, double> ? 1e-13 : 2e-5) * largest_of(expected))
              << (in_place ? "in place" : "another operator");
        }
      }
  }
}

// Columns in chunks that are always the same, of one row among them: subdomains of some chunks each give the bits of one
// subdomain. That is what is solved without chunks, but for rounding.
TEST_ON_EVERY_SETTING(SmootherSubdomains, FixedChunksGiveTheSameBits) {
  using Number = T;
  if (this->backend() != Backend::cpu) GTEST_SKIP() << "chunks are for the CPU";
  const double tolerance = std::is_same_v<Number, double> ? 1e-13 : 2e-5;
  const auto registry = builtin_smoothers();
  OneInTurn some;
  for (const Sides& sides : every_boundary) {
    const TensorMesh<2> mesh = this->mesh(sides, 37, 41);
    this->draw(mesh);
    const int rows = mesh.unknowns().ny, first = mesh.unknowns().origin_y;
    for (const Kind& kind : every_kind)
      for (const auto& [name, entry] : registry.entries())
        for (const auto line_order : orders_of(name))
          for (const auto& [guess, order] :
               {std::pair{Guess::given, SweepOrder::forward}, {Guess::zero, SweepOrder::backward}}) {
            Work work{name, line_order, guess, order};
            SCOPED_TRACE(testing::Message()
                         << to_string(sides.left) << " " << to_string(sides.right) << " " << to_string(sides.bottom)
                         << " " << to_string(sides.top) << ", " << kind.name << ", " << name << ", "
                         << to_string(line_order) << (guess == Guess::zero ? ", from zero, backward" : ""));
            const Values without = this->smoothed(mesh, kind, work, {rows});
            for (const int row : {0, 5, 6, 14, 20, 30, rows}) work.chunks.push_back(first + row);
            const Values one = this->smoothed(mesh, kind, work, {rows});
            ASSERT_LE(difference(one, without), tolerance * largest_of(one));
            for (const auto& subdomains : some({{14, rows - 14}, {6, 14, rows - 20}, {5, 1, 8, 6, 10, rows - 30}}))
              ASSERT_EQ(this->smoothed(mesh, kind, work, subdomains), one) << subdomains.size() << " subdomains";
          }
  }
}

// On subdomains large enough that threads share the work.
TEST(SmootherSubdomainsThreads, TheNumberOfThreadsDoesNotChangeABit) {
  test::Random random(433);
  const TensorMesh<2> mesh{Axis(random.widths(204)), Axis(random.widths(240))};
  const Values xs = random.values(static_cast<std::size_t>(mesh.unknowns().nodes())), bs = random.values(xs.size());
  for (const auto line_order : {LineOrder::zebra, LineOrder::simultaneous})
    for (const Kind& kind : every_kind) {
      SCOPED_TRACE(testing::Message() << to_string(line_order) << ", " << kind.name);
      Values expected;
      for (const int threads : {1, 2, 3, 5}) {
        const auto done = test::on_subdomains(Backend::cpu, 2, [&](Context& ctx) {
          Context several(Backend::cpu, threads);
          several.set_communicator({ctx.communicator(), [](Communicator*) {}});
          const int begin = ctx.communicator()->rank() * 119;
          Smoothing<double> own(several, mesh, kind, {"adi", line_order},
                                subdomain_of(mesh, begin, begin == 0 ? 119 : 239), xs, bs);
          own.run();
          return test::to_host(several, own.x);
        });
        for (const auto& error : done.errors) EXPECT_EQ(error, "");
        if (threads == 1) expected = done.values;
        EXPECT_EQ(done.values, expected) << threads << " threads";
      }
    }
}

}  // namespace
