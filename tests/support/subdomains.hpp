#pragma once

// Work on the subdomains of a grid partitioned into subdomains, a thread and a Context each.

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <stratum/core/comm/communicator.hpp>

#include "backends.hpp"

namespace test {

struct SubdomainsResult {
  Values values;  // of all subdomains, by rank
  std::vector<std::string> errors;
  [[nodiscard]] bool failed() const {
    for (const auto& error : errors)
      if (!error.empty()) return true;
    return false;
  }
};

/// work(ctx) gives a subdomain's part of the result. One subdomain has no communicator.
template <class Work>
[[nodiscard]] SubdomainsResult on_subdomains(Backend backend, int count, const Work& work) {
  const auto communicators = stratum::thread_communicators(count);
  std::vector<Values> parts(communicators.size());
  SubdomainsResult result;
  result.errors.resize(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t k = 0; k < parts.size(); ++k)
    threads.emplace_back([&, k] {
      try {
        Context ctx(backend, 1);
        if (count > 1) ctx.set_communicator(communicators[k]);
        parts[k] = work(ctx);
      } catch (const std::exception& error) {
        result.errors[k] = error.what();
        communicators[k]->abandon();
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& part : parts) result.values.insert(result.values.end(), part.begin(), part.end());
  return result;
}

/// numbers(ctx) on one subdomain, and those of each of two and three to this tolerance, on all backends.
template <class Work>
void expect_the_same_on_subdomains(double tolerance, const Work& numbers) {
  for (const Backend backend : available_backends()) {
    const auto one = on_subdomains(backend, 1, numbers);
    ASSERT_EQ(one.errors[0], "");
    for (const int count : {2, 3}) {
      const auto several = on_subdomains(backend, count, numbers);
      ASSERT_THAT(several.errors, testing::Each(""));
      for (std::size_t k = 0; k < several.values.size(); ++k)
        EXPECT_NEAR(several.values[k], one.values[k % one.values.size()], tolerance) << count << ", " << k;
    }
  }
}

/// The rows of a subdomain, of numbers on the whole grid.
[[nodiscard]] inline Values rows_of(const GridLayout<2>& shape, const GridLayout<2>& whole, const Values& numbers) {
  const auto row = [&](int j) { return numbers.begin() + std::int64_t{j - whole.origin_y} * whole.nx; };
  return {row(shape.origin_y), row(shape.origin_y + shape.ny)};
}

/// NaN where the halo belongs to others.
template <class T>
void poison(Context& ctx, Field<T>& v) {
  const auto put = [&](int i, int j, int nx, int ny) {
    FieldView<T> halo = v.view();
    halo.data = &halo(i, j);
    halo.nx = nx;
    halo.ny = ny;
    stratum::set(ctx, std::numeric_limits<T>::quiet_NaN(), halo);
  };
  const GridLayout<2> s = v.shape();
  if (s.below) put(0, -1, s.nx, 1);
  if (s.above) put(0, s.ny, s.nx, 1);
  if (s.periodic_x) {
    put(-1, 0, 1, s.ny);
    put(s.nx, 0, 1, s.ny);
  }
}

template <class T>
[[nodiscard]] Field<T> poisoned_rows(Context& ctx, const GridLayout<2>& shape, const GridLayout<2>& whole,
                                     const Values& numbers) {
  auto v = to_device<T>(ctx, shape, rows_of(shape, whole, numbers));
  poison(ctx, v);
  return v;
}

}  // namespace test
