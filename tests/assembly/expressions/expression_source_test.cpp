// Expressions as text of C++: what a compiler makes of 300 random ones is what muParser makes of them.

#include <stratum/assembly/expressions/expression_source.hpp>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include <stratum/assembly/expressions/expression.hpp>
#include <stratum/core/errors.hpp>

#include "support/random_expression.hpp"

namespace {

using namespace stratum;

TEST(ExpressionSourceTest, TextThatIsNotOfExpressionsIsLeftToMuParser) {
  for (const char* const text : {"x +", "f(x)", "sin(x, y)", "2x", "x ! y", "(x", "atan2(x)", "$", "", "1 ? 2"})
    EXPECT_FALSE(source_of_expression(text)) << text;
  EXPECT_EQ(source_of_expression("-x^2"), "(-pow(x, 2.))");
  EXPECT_EQ(source_of_expression("1-2-x"), "((1. - 2.) - x)");
}

#if defined(STRATUM_TEST_CXX)
TEST(ExpressionSourceTest, ACompilerAndMuParserAgreeOnRandomExpressions) {
  if (!expressions_available()) GTEST_SKIP() << "this build has no muParser";
  constexpr int count = 300;
  const auto folder = std::filesystem::temp_directory_path() / message("stratum_expressions_", getpid());
  std::filesystem::create_directories(folder);
  const std::string source = folder / "functions.cpp", library = folder / "functions.so";
  std::vector<std::string> texts;
  {
    std::ofstream out(source);
    out << "#include <math.h>\nstatic const double a = 2, b = 0.5, pi = 3.14159265358979323846, e = "
           "2.71828182845904523536;\n"
        << expression_helpers("static inline");
    test::RandomExpression random(7);
    for (int k = 0; k < count; ++k) {
      texts.push_back(random(1 + k % 4));
      const auto text = source_of_expression(texts.back());
      ASSERT_TRUE(text) << texts.back();
      out << "extern \"C\" double f" << k
          << "(double x, double y, double xl, double xr, double yl, double yr) { return " << *text << "; }\n";
    }
  }
  const std::string command = message(STRATUM_TEST_CXX, " -w -O0 -shared -fPIC -o ", library, " ", source);
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(concurrency-mt-unsafe): one thread
  const std::unique_ptr<void, int (*)(void*)> handle(dlopen(library.c_str(), RTLD_NOW), dlclose);
  ASSERT_TRUE(handle) << dlerror();
  std::filesystem::remove_all(folder);
  int compared = 0;
  for (int k = 0; k < count; ++k) {
    using Function = double (*)(double, double, double, double, double, double);
    const auto compiled = reinterpret_cast<Function>(dlsym(handle.get(), message("f", k).c_str()));
    ASSERT_NE(compiled, nullptr);
    const auto& text = texts[static_cast<std::size_t>(k)];
    const auto parsed = parse_expression(text, 2, 0.5);
    for (const Point& p : {Point{0.3, 0.125, 1.7, 0.375, 0.3, 0.125}, Point{1.9, 0.4, 0.1, 0.1, 1.9, 0.4}}) {
      const double expected = parsed(p), found = compiled(p.x, p.y, p.to_left, p.to_right, p.to_bottom, p.to_top);
      if (!std::isfinite(expected)) {
        EXPECT_FALSE(std::isfinite(found)) << text;
        continue;
      }
      EXPECT_NEAR(found, expected, 1e-13 * (1 + std::abs(expected))) << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, count);
}
#endif

}  // namespace
