#pragma once

// PatchSteps: conjugate gradients on patches (core/patches/patch_layout.hpp), but for A and M, in double around z = M r in any
// precision. The products stay in the memory of the Context, where the next kernel reads them, so that the host waits once an
// iteration:
//
//     preconditioned    (r, z)
//     turn              beta = (r, z) / (r, z)_before, p <- z + beta p; p = z after `restart`
//     curved            (p, q) for q = A p
//     step              alpha = (r, z) / (p, q), x <- x + alpha p, r <- r - alpha q; nothing unless both are positive
//     left              (r, r), of a gathered r (gather_copies)
//     fetch             waits for these three
//
// Updates are those of whole vectors, without regard to patches. Words a number: 2, 3, 2, 6 and 1, in the precision of each
// vector. Of an iteration (r, z) lies in one of two places in turn: what is recorded (core/device/recording.hpp) depends on
// `place`.

#include <memory>

#include <stratum/core/patches/patch_layout.hpp>

namespace stratum {

class PatchSteps {
 public:
  PatchSteps(Context& ctx, const PatchLayout& layout);

  void restart(Context& ctx);
  template <class T>
  void preconditioned(Context& ctx, const Partial<double>& r, const Consistent<T>& z);
  template <class T>
  void turn(Context& ctx, const Consistent<T>& z, Consistent<double>& p);
  void curved(Context& ctx, const Consistent<double>& p, const Partial<double>& q);
  void step(Context& ctx, const Consistent<double>& p, const Partial<double>& q, Consistent<double>& x,
            Partial<double>& r);
  void left(Context& ctx, const Partial<double>& r);

  struct Products {
    double preconditioned, curvature, square;
  };
  [[nodiscard]] Products fetch(Context& ctx);

  [[nodiscard]] const void* place() { return number(current_); }

 private:
  // Of (r, z) there are two.
  enum Number : int { curvature = 2, square = 3, count = 4 };
  [[nodiscard]] double* number(int k) { return numbers_.view().data + k * apart_; }
  template <class Term>
  void reduce(Context& ctx, int k, const Term& term);

  int size_, apart_, current_ = 0;
  Field<double> numbers_;
  std::shared_ptr<double> host_;
};

}  // namespace stratum
