#pragma once

// Random text of expressions (assembly/expressions/expression.hpp), the same on every run.

#include <random>
#include <string>

#include <stratum/core/errors.hpp>

namespace test {

using stratum::message;

/// Of what expressions know, with blanks here and there.
class RandomExpression {
 public:
  explicit RandomExpression(unsigned seed) : engine_(seed) {}
  std::string operator()(int depth) {
    if (depth == 0) return leaf();
    switch (pick(9)) {
      case 0: return "(" + (*this)(depth - 1) + ")";
      case 1: return (*this)(depth - 1) + blank() + std::string(1, "+-*/"[pick(4)]) + blank() + (*this)(depth - 1);
      case 2: return (*this)(depth - 1) + "*" + (*this)(depth - 1);
      case 3: return "-(" + (*this)(depth - 1) + ")";
      case 4: return "(1.5+cos(" + (*this)(depth - 1) + "))^" + std::string(pick(2) == 0 ? "" : "-") + leaf();
      case 5:
        return "(" + (*this)(depth - 1) + comparison() + (*this)(depth - 1) + " ? " + (*this)(depth - 1) + ":" +
               leaf() + ")";
      case 6:
        return "(" + leaf() + comparison() + leaf() + (pick(2) == 0 ? "&&" : " || ") + leaf() + comparison() + leaf() +
               ")";
      case 7: return function(depth);
      default: return leaf() + " ^ 2 ^ " + leaf();
    }
  }

 private:
  std::size_t pick(std::size_t count) { return engine_() % count; }
  std::string blank() { return std::string(pick(2), ' '); }
  std::string comparison() {
    const char* const signs[] = {"<", "<=", " > ", ">=", " == ", "!="};
    return signs[pick(6)];
  }
  std::string leaf() {
    const char* const leaves[] = {"x",  "y", "xl", "xr",  "yl",  "yr", "a",    "b",
                                  "pi", "e", "2",  "0.5", ".25", "3.", "1e-2", "12E-1"};
    return leaves[pick(16)];
  }
  std::string function(int depth) {
    const char* const safe[] = {"sin", "cos", "atan", "tanh", "abs", "sign", "rint", "asinh"};
    const char* const inner[] = {"exp(-abs(", "ln(1+abs(",    "log10(1+abs(",  "log2(2+abs(",
                                 "sqrt(abs(", "acosh(1+abs(", "cosh(1/(1+abs("};
    const char* const several[] = {"min", "max", "sum", "avg"};
    const std::string argument = (*this)(depth - 1);
    switch (pick(4)) {
      case 0: return message(several[pick(4)], "(", argument, ",", blank(), leaf(), ", ", leaf(), ")");
      case 1: return message(std::string(inner[pick(6)]), argument, "))");
      case 2: return message("atan2(", argument, ",1+xl)");
      default: return message(std::string(safe[pick(8)]), "(", argument, ")");
    }
  }
  std::mt19937 engine_;
};

}  // namespace test
