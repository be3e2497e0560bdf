#include <stratum/assembly/expressions/patch_expressions.hpp>

#include <stratum/assembly/expressions/expression.hpp>

namespace stratum {

PatchExpressions patch_expressions() {
  return {value_of_expression, [](const std::string& x, const std::string& y) {
            return [x_of = parse_expression(x, 1, 1, Variables::curve),
                    y_of = parse_expression(y, 1, 1, Variables::curve)](double t) {
              Point p;
              p.t = t;
              return Position{x_of(p), y_of(p)};
            };
          }};
}

}  // namespace stratum
