// A grid partitioned into subdomains, a thread and a Context each, against the same work on one subdomain. Halos hold NaN
// before.

#include <algorithm>
#include <limits>
#include <thread>

#include <stratum/assembly/poisson_problem.hpp>
#include <stratum/mesh/partition.hpp>
#include <stratum/multigrid/galerkin.hpp>
#include <stratum/multigrid/multigrid.hpp>

#include <gmock/gmock.h>

#include "support/boundaries.hpp"
#include "support/subdomains.hpp"

namespace {

using namespace stratum;
using test::Ends;
using test::Values;
using enum BoundaryType;

constexpr Ends every_ends[] = {{dirichlet, dirichlet, dirichlet, dirichlet},
                               {neumann, dirichlet, neumann, neumann},
                               {dirichlet, neumann, periodic, periodic},
                               {periodic, periodic, dirichlet, neumann}};

/// An operator of the tests. K by cells is of so many numbers each; 0: there is none. On the mesh's quadrilaterals, or on those
/// of a wavy one.
struct Kind {
  const char* name;
  StorageFormat format;
  int numbers = 0;
  bool deformed = false;
};
constexpr Kind every_kind[] = {{"tensor", StorageFormat::tensor},
                               {"symmetric", StorageFormat::symmetric},
                               {"nine-band", StorageFormat::nine_band},
                               {"cell", StorageFormat::cell},
                               {"scalar K", StorageFormat::cell, 1},
                               {"full K", StorageFormat::cell, 3},
                               {"deformed", StorageFormat::symmetric, 3, true}};

/// Stored bands take an alpha that varies, others a constant one; scalar K alone has no other terms, which would make it
/// diagonal.
OperatorTerms terms_of(const Kind& kind, const TensorMesh<2>& mesh) {
  OperatorTerms terms;
  if (kind.numbers == 1) return terms;
  terms.reaction = 3;
  const auto put = [&kind](BoundaryType end, double value, RobinCoefficient& alpha) {
    if (end != neumann) return;
    if (traits(kind.format).has_bands)
      alpha.varying = [value](double s) { return value * (1 + s * s); };
    else
      alpha.constant = value;
  };
  put(mesh.x().first_boundary(), 2, terms.left);
  put(mesh.x().last_boundary(), 3, terms.right);
  put(mesh.y().first_boundary(), 4, terms.bottom);
  put(mesh.y().last_boundary(), 5, terms.top);
  return terms;
}

template <class T>
class SubdomainsTest : public test::OnEverySetting<T> {
 protected:
  using Number = T;

  /// One subdomain of the work: on Contexts and subdomains of its own.
  struct Here {
    Context ctx;
    TensorMesh<2> mesh, coarse_mesh;
    Subdomain fine, coarse;

    [[nodiscard]] Field<Number> part(const GridLayout<2>& shape, const GridLayout<2>& whole, const Values& numbers) {
      Values own;
      for (int j = 0; j < shape.ny; ++j) {
        const auto row = numbers.begin() + std::int64_t{shape.origin_y - whole.origin_y + j} * whole.nx;
        own.insert(own.end(), row, row + whole.nx);
      }
      auto v = test::to_device<Number>(ctx, shape, own);
      poison(v);
      return v;
    }
    /// NaN where the halo belongs to others.
    void poison(Field<Number>& v) {
      const auto put = [&](int i, int j, int nx, int ny) {
        FieldView<Number> halo = v.view();
        halo.data = &halo(i, j);
        halo.nx = nx;
        halo.ny = ny;
        set(ctx, std::numeric_limits<Number>::quiet_NaN(), halo);
      };
      const GridLayout<2> s = v.shape();
      if (s.below) put(0, -1, s.nx, 1);
      if (s.above) put(0, s.ny, s.nx, 1);
      if (s.periodic_x) {
        put(-1, 0, 1, s.ny);
        put(s.nx, 0, 1, s.ny);
      }
    }
    [[nodiscard]] CellCoefficients coefficients(const Kind& kind) const {
      test::Random random(11);
      const auto draw = [&](double low, double high) {
        return random.values(static_cast<std::size_t>(mesh.cells()), low, high);
      };
      CellCoefficients k{mesh.x().size(), mesh.y().size(), draw(1, 9), {}, {}, {}};
      if (kind.numbers == 0) k.xx.assign(k.xx.size(), 1.0);
      if (kind.numbers == 3) k.xy = draw(-0.9, 0.9), k.yy = draw(1, 9), k.c = draw(0, 2);
      return k;
    }
    [[nodiscard]] GridOperator<Number> make(const Kind& kind) {
      const OperatorTerms terms = terms_of(kind, mesh);
      if (kind.numbers == 0) return assemble_operator<Number>(ctx, mesh, kind.format, terms, fine.unknowns());
      const CellCoefficients k = coefficients(kind);
      if (kind.deformed) {
        const MappedMesh wavy = test::wavy(ctx, mesh);
        return convert<Number>(
            ctx, assemble_diffusion(ctx, wavy, MappedCells(ctx, wavy, &k, terms.reaction), terms, fine.unknowns()));
      }
      const CellFields fields(ctx, mesh, k, terms.reaction);
      const auto a = assemble_diffusion(ctx, mesh, k, fields, terms, fine.unknowns());
      EXPECT_EQ(a.format(), StorageFormat::cell);
      return convert<Number>(ctx, a);
    }
  };

  [[nodiscard]] static Conductances deformed_conductances(Here& here, const CellCoefficients& k, double reaction) {
    const MappedMesh wavy = test::wavy(here.ctx, here.mesh);
    return {here.ctx, wavy, MappedCells(here.ctx, wavy, &k, reaction)};
  }
  /// By widths, or by the conductances of the kind's K, or its split sums.
  [[nodiscard]] static Transfer<Number> transfer(Here& here, const Kind* by = nullptr, bool split = false) {
    const auto fine = here.fine.unknowns(), coarse = here.coarse.unknowns();
    if (by == nullptr) return {here.ctx, here.mesh, here.coarse_mesh, fine, coarse};
    auto exact = Transfer<double>::weighted(here.ctx, here.mesh, here.coarse_mesh, fine, coarse);
    const CellCoefficients cells = here.coefficients(*by);
    const double reaction = terms_of(*by, here.mesh).reaction;
    const Conductances k = by->deformed ? deformed_conductances(here, cells, reaction)
                                        : Conductances(here.ctx, here.mesh, cells, reaction);
    const auto a = convert<double>(here.ctx, here.make(*by));
    if (split)
      SplitParts(here.ctx, here.mesh, cells, fine).set_weights(here.ctx, a, k, exact);
    else
      set_conductance_weights(here.ctx, a, k, EdgeWeights::conductances, exact);
    auto p = Transfer<Number>::weighted(here.ctx, here.mesh, here.coarse_mesh, fine, coarse);
    p.assign_weights(here.ctx, exact);
    return p;
  }

  /// work(subdomain) gives the subdomain's rows of the result; all of them together.
  template <class Work>
  Values on_subdomains(const TensorMesh<2>& mesh, int count, const Work& work) {
    const auto communicators = thread_communicators(count);
    std::vector<Values> parts(static_cast<std::size_t>(count));
    std::vector<std::string> errors(parts.size());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        const auto k = static_cast<std::size_t>(rank);
        try {
          const Subdomain fine(mesh, count, rank, 1);
          Here here{Context(this->backend(), 1), mesh, mesh.coarser(), fine, fine.coarser(mesh.coarser())};
          if (count > 1) here.ctx.set_communicator(communicators[k]);
          parts[k] = work(here);
        } catch (const std::exception& error) {
          errors[k] = error.what();
          communicators[k]->abandon();
        }
      });
    for (auto& thread : threads) thread.join();
    for (const auto& error : errors) EXPECT_EQ(error, "");
    Values all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  /// The same of 1, 2, 3 and 5 subdomains, with `tolerance` relative to the largest number; 0: bit for bit.
  template <class Work>
  void expect_the_same(const TensorMesh<2>& mesh, double tolerance, const Work& work) {
    const Values one = on_subdomains(mesh, 1, work);
    double largest = 0;
    for (const double value : one) largest = std::max(largest, std::abs(value));
    for (const int count : {2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << count << " subdomains");
      const Values several = on_subdomains(mesh, count, work);
      ASSERT_EQ(several.size(), one.size());
      for (std::size_t k = 0; k < one.size(); ++k) ASSERT_NEAR(several[k], one[k], tolerance * largest) << k;
    }
  }

  template <class Check>
  void for_every_mesh(const Check& check) {
    for (const Ends& ends : every_ends)
      for (const auto& [nx, ny] : {std::pair{20, 24}, {33, 41}, {301, 91}}) {
        if (nx == 301 && &ends != &every_ends[0]) continue;  // on a GPU warps side by side
        const TensorMesh<2> mesh =
            test::with_boundaries({Axis(random_.widths(nx, 1)), Axis(random_.widths(ny, 1))}, ends);
        SCOPED_TRACE(testing::Message() << nx << " x " << ny << ", " << to_string(ends.left) << " "
                                        << to_string(ends.right) << " " << to_string(ends.bottom) << " "
                                        << to_string(ends.top));
        check(mesh);
      }
  }
  Values random_numbers(const GridLayout<2>& shape) { return random_.values(static_cast<std::size_t>(shape.nodes())); }
  test::Random random_{401};
};

TEST_ON_EVERY_SETTING(SubdomainsTest, ResidualsAndSmoothersSeeNoCut) {
  this->for_every_mesh([&](const TensorMesh<2>& mesh) {
    const GridLayout<2> whole = mesh.unknowns();
    const Values xs = this->random_numbers(whole), bs = this->random_numbers(whole);
    for (const Kind& kind : every_kind) {
      SCOPED_TRACE(kind.name);
      this->expect_the_same(mesh, 0, [&](auto& here) {
        const auto shape = here.fine.unknowns();
        const auto a = here.make(kind);
        const auto x = here.part(shape, whole, xs), b = here.part(shape, whole, bs);
        Field<T> r(here.ctx, shape);
        a.residual(here.ctx, b.cview(), x.cview(), r.view());
        return test::to_host(here.ctx, r);
      });
      for (const char* name : {"jacobi", "colour_gs"})
        for (const auto guess : {Guess::zero, Guess::given})
          for (const auto order : {SweepOrder::forward, SweepOrder::backward})
            // Several subdomains relax colours one by one, one subdomain a row at a time; of Jacobi's sweeps a GPU does two at
            // once.
            this->expect_the_same(
                mesh, name == std::string("jacobi") && this->backend() == Backend::cpu ? 0 : test::tolerance<T>,
                [&](auto& here) {
                  const auto shape = here.fine.unknowns();
                  const auto a = here.make(kind);
                  auto x = here.part(shape, whole, xs);
                  const auto b = here.part(shape, whole, bs);
                  const auto smoother = builtin_smoothers().make<T>(here.ctx, name, shape, {});
                  smoother->smooth(here.ctx, a, b.cview(), x.view(), 3, guess, order);
                  return test::to_host(here.ctx, x);
                });
    }
  });
}

// Every row is on a cut.
TEST_ON_EVERY_SETTING(SubdomainsTest, SubdomainsOfOneRow) {
  const TensorMesh<2> mesh{Axis(this->random_.widths(70, 1)),
                           Axis(this->random_.widths(6, 1)).with_boundaries(neumann, dirichlet)};
  const GridLayout<2> whole = mesh.unknowns();
  const Values xs = this->random_numbers(whole), bs = this->random_numbers(whole);
  for (const Kind& kind : {every_kind[0], every_kind[2]})
    for (const char* name : {"jacobi", "colour_gs"})
      for (const auto guess : {Guess::zero, Guess::given})
        for (const auto order : {SweepOrder::forward, SweepOrder::backward}) {
          const auto work = [&](Context& ctx) {
            const int rank = ctx.subdomains() == 1 ? 0 : ctx.communicator()->rank();
            const GridLayout<2> shape = Subdomain(mesh, ctx.subdomains(), rank, 0).unknowns();
            const auto a = assemble_operator<T>(ctx, mesh, kind.format, terms_of(kind, mesh), shape);
            auto x = test::poisoned_rows<T>(ctx, shape, whole, xs);
            const auto b = test::poisoned_rows<T>(ctx, shape, whole, bs);
            builtin_smoothers().make<T>(ctx, name, shape, {})->smooth(ctx, a, b.cview(), x.view(), 3, guess, order);
            return test::to_host(ctx, x);
          };
          const auto one = test::on_subdomains(this->backend(), 1, work),
                     all = test::on_subdomains(this->backend(), whole.ny, work);
          ASSERT_THAT(all.errors, testing::Each(""));
          ASSERT_EQ(all.values.size(), one.values.size());
          for (std::size_t k = 0; k < one.values.size(); ++k)
            ASSERT_NEAR(all.values[k], one.values[k], test::tolerance<T> * std::max(1.0, std::abs(one.values[k])))
                << name << ", " << kind.name << ", number " << k;
        }
}

// On a GPU a stream relaxes all colours, and rows on cuts again.
TEST_ON_EVERY_SETTING(SubdomainsTest, ColoursAreExchangedOnceOrTwiceAStep) {
  const TensorMesh<2> mesh{Axis(this->random_.widths(20, 1)), Axis(this->random_.widths(24, 1))};
  for (const auto guess : {Guess::zero, Guess::given}) {
    const auto found = test::on_subdomains(this->backend(), 2, [&](Context& ctx) {
      const GridLayout<2> shape = Subdomain(mesh, 2, ctx.communicator()->rank(), 1).unknowns();
      const auto a = assemble_operator<T>(ctx, mesh, StorageFormat::tensor, {}, shape);
      Field<T> x(ctx, shape), b(ctx, shape);
      const auto smoother = builtin_smoothers().make<T>(ctx, "colour_gs", shape, {});
      const auto before = ctx.communicator()->exchanges();
      smoother->smooth(ctx, a, b.cview(), x.view(), 3, guess, SweepOrder::forward);
      return Values{static_cast<double>(ctx.communicator()->exchanges() - before)};
    });
    ASSERT_THAT(found.errors, testing::Each(""));
    const int colours = this->backend() == Backend::cpu ? 4 : 2;
    EXPECT_THAT(found.values, testing::Each(3 * colours - (guess == Guess::zero ? 1 : 0)));
  }
}

TEST_ON_EVERY_SETTING(SubdomainsTest, TransferSeesNoCut) {
  this->for_every_mesh([&](const TensorMesh<2>& mesh) {
    const GridLayout<2> whole = mesh.unknowns(), whole_coarse = mesh.coarser().unknowns();
    const Values xs = this->random_numbers(whole), bs = this->random_numbers(whole),
                 es = this->random_numbers(whole_coarse);
    const auto prolongate = [&](const Kind* by, bool split = false) {
      this->expect_the_same(mesh, 0, [&](auto& here) {
        const auto transfer = this->transfer(here, by, split);
        auto x = here.part(here.fine.unknowns(), whole, xs);
        const auto e = here.part(here.coarse.unknowns(), whole_coarse, es);
        transfer.prolongate_add(here.ctx, e.cview(), x.view());
        return test::to_host(here.ctx, x);
      });
    };
    const auto restrict_residual = [&](const Kind& kind, const Kind* by) {
      this->expect_the_same(mesh, test::tolerance<T>, [&](auto& here) {
        const auto shape = here.fine.unknowns();
        const auto transfer = this->transfer(here, by);
        const auto x = here.part(shape, whole, xs), b = here.part(shape, whole, bs);
        Field<T> d(here.ctx, here.coarse.unknowns());
        here.poison(d);
        transfer.restrict_residual(here.ctx, here.make(kind), b.cview(), x.cview(), d.view());
        Values both = test::to_host(here.ctx, d);
        transfer.restrict_to(here.ctx, b.cview(), d.view());
        const Values second = test::to_host(here.ctx, d);
        for (std::size_t k = 0; k < both.size(); ++k) both[k] += 1e-3 * second[k];
        return both;
      });
    };
    prolongate(nullptr);
    for (const Kind& kind : every_kind) {
      SCOPED_TRACE(kind.name);
      restrict_residual(kind, nullptr);
      prolongate(&kind);
      if (!kind.deformed) prolongate(&kind, true);
      restrict_residual(kind, &kind);
    }
  });
}

TEST_ON_EVERY_SETTING(SubdomainsTest, ReductionsAreOfAllSubdomains) {
  const TensorMesh<2> mesh{Axis(this->random_.widths(20)), Axis(this->random_.widths(41))};
  const GridLayout<2> whole = mesh.unknowns();
  const Values xs = this->random_numbers(whole), bs = this->random_numbers(whole);
  const auto work = [&](auto& here) -> Values {
    const auto shape = here.fine.unknowns();
    const auto x = here.part(shape, whole, xs), b = here.part(shape, whole, bs);
    const Values found{norm2(here.ctx, x.cview()), dot(here.ctx, x.cview(), b.cview()), norm_max(here.ctx, b.cview()),
                       dots<T>(here.ctx, {{x.cview(), b.cview()}, {b.cview(), b.cview()}})[1]};
    return here.ctx.communicator() == nullptr || here.ctx.communicator()->rank() == 0 ? found : Values{};
  };
  this->expect_the_same(mesh, 1e-14, work);
  EXPECT_EQ(this->on_subdomains(mesh, 3, work), this->on_subdomains(mesh, 3, work))
      << "the same subdomains, the same bits";
}

TEST_ON_EVERY_SETTING(SubdomainsTest, GalerkinProductsSeeNoCut) {
  if constexpr (std::is_same_v<T, double>)
    this->for_every_mesh([&](const TensorMesh<2>& mesh) {
      for (const Kind& kind : every_kind) {
        SCOPED_TRACE(kind.name);
        for (const Kind* by : {static_cast<const Kind*>(nullptr), &kind})
          this->expect_the_same(mesh, 1e-14, [&](auto& here) {
            const auto coarse = here.coarse.unknowns();
            const auto transfer = this->transfer(here, by);
            const auto a = here.make(kind);
            auto product = galerkin_operator(here.ctx, a, coarse);
            galerkin_product(here.ctx, a, transfer, product);
            // Seen through a product with random numbers, halos of bands included.
            test::Random random(7);
            const GridLayout<2> whole_coarse = here.coarse_mesh.unknowns();
            const auto x =
                here.part(coarse, whole_coarse, random.values(static_cast<std::size_t>(whole_coarse.nodes())));
            Field<double> y(here.ctx, coarse);
            product.apply(here.ctx, x.cview(), y.view());
            return test::to_host(here.ctx, y);
          });
      }
    });
}

TEST_ON_EVERY_SETTING(SubdomainsTest, LoadsAndSideValuesSeeNoCut) {
  if constexpr (std::is_same_v<T, double>)
    this->for_every_mesh([&](const TensorMesh<2>& mesh) {
      const auto value = [](const Point& p) { return 2 + p.x - p.y * p.y; };
      const auto side = [&value](BoundaryType end) {
        const auto kind = end == dirichlet ? BoundaryConditionType::dirichlet
                          : end == neumann ? BoundaryConditionType::robin
                                           : BoundaryConditionType::periodic;
        return BoundaryCondition{kind, value, [](const Point& p) { return 1 + p.x * p.x + p.y; }};
      };
      PoissonProblem given;
      given.rhs = [](const Point& p) { return p.x * p.y + 3; };
      given.boundaries = {side(mesh.x().first_boundary()), side(mesh.x().last_boundary()),
                          side(mesh.y().first_boundary()), side(mesh.y().last_boundary())};
      given.diffusion.xx = given.rhs;
      PoissonProblem polynomial;
      polynomial.boundaries = given.boundaries;
      const auto load = [](auto& here, const Geometry& of, const PoissonProblem& problem) {
        Field<double> b(here.ctx, here.fine.unknowns()), u(here.ctx, here.fine.unknowns());
        assemble_load(here.ctx, of, problem, b);
        lift_boundary(here.ctx, of, problem, u);
        axpy<double, double>(here.ctx, 1e-3, u.cview(), b.view());
        return test::to_host(here.ctx, b);
      };
      for (const auto* problem : {&given, &polynomial})
        this->expect_the_same(mesh, 0, [&](auto& here) { return load(here, here.mesh, *problem); });
      this->expect_the_same(mesh, 0, [&](auto& here) { return load(here, test::wavy(here.ctx, here.mesh), given); });
    });
}

TEST(Subdomain, SplitSumsOfLinksAreOfOneSubdomain) {
  const TensorMesh<2> mesh{Axis(std::vector<double>(9, 1.0)).with_boundaries(neumann, neumann),
                           Axis(std::vector<double>(100, 1.0)).with_boundaries(neumann, neumann)};
  Context ctx(Backend::cpu, 1);
  ctx.set_communicator(thread_communicators(2)[0]);
  const auto a = assemble_operator<double>(ctx, mesh, StorageFormat::tensor, {}, Subdomain(mesh, 2, 0, 1).unknowns());
  const Conductances k(ctx, mesh);
  EXPECT_THAT(
      [&] {
        (void)Hierarchy<double>::galerkin(ctx, a, mesh, {true, true}, Interpolation::split_links(k), 1);
      },
      testing::ThrowsMessage<UsageError>(testing::HasSubstr("split sums of links")));
}

TEST(Subdomain, NeedsACommunicatorToExchange) {
  const TensorMesh<2> mesh{Axis(std::vector<double>(9, 1.0)), Axis(std::vector<double>(100, 1.0))};
  Context ctx(Backend::cpu, 1);
  Field<double> x(ctx, Subdomain(mesh, 2, 0, 1).unknowns());
  EXPECT_THAT([&] { exchange(ctx, x); }, testing::ThrowsMessage<UsageError>(testing::HasSubstr("no communicator")));
}

// The last subdomain may end at an odd row, which no other does.
TEST(Subdomain, CoarseSubdomainsAreAllRowsOfTheCoarseMesh) {
  for (const auto& [first, last] :
       {std::pair{dirichlet, dirichlet}, {neumann, neumann}, {dirichlet, neumann}, {periodic, periodic}})
    for (int n = 24; n < 44; ++n)
      for (const int count : {1, 2, 3}) {
        const TensorMesh<2> mesh{
            Axis(std::vector<double>(9, 1.0)),
            Axis(std::vector<double>(static_cast<std::size_t>(n), 1.0)).with_boundaries(first, last)};
        const GridLayout<2> whole = mesh.coarser().unknowns();
        int next = whole.origin_y;
        for (int rank = 0; rank < count; ++rank) {
          const GridLayout<2> subdomain = Subdomain(mesh, count, rank, 1).coarser(mesh.coarser()).unknowns();
          EXPECT_EQ(subdomain.origin_y, next) << n << " intervals, subdomain " << rank << " of " << count;
          next += subdomain.ny;
        }
        EXPECT_EQ(next, whole.origin_y + whole.ny);
      }
}

TEST(Subdomain, CutsFallOnCoarseRows) {
  const TensorMesh<2> mesh{Axis(std::vector<double>(9, 1.0)), Axis(std::vector<double>(100, 1.0))};
  int rows = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const Subdomain subdomain(mesh, 3, rank, 2);
    EXPECT_TRUE(rank == 0 ? subdomain.unknowns().origin_y == 1 : subdomain.unknowns().origin_y % 4 == 0);
    rows += subdomain.unknowns().ny;
    const auto coarse = subdomain.coarser(mesh.coarser());
    EXPECT_EQ(coarse.unknowns().origin_y, (subdomain.unknowns().origin_y + 1) / 2);
  }
  EXPECT_EQ(rows, 99);
  EXPECT_THROW(Subdomain(mesh, 3, 0, 6), UsageError);
  EXPECT_THROW(Subdomain(mesh, 3, 3, 0), UsageError);
  Context ctx(Backend::cpu, 1);
  EXPECT_THROW((void)builtin_smoothers().make<double>(ctx, "adi", Subdomain(mesh, 2, 0, 1).unknowns(), {}), UsageError);
}

}  // namespace
