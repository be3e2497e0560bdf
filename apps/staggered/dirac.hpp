#pragma once

// The massless staggered operator, and the one that conjugate gradients solve with, on the sites of one parity,
//
//     (D x)(s) = sum over mu of U_mu(s) x(s + mu) - U_mu(s - mu)^H x(s - mu)          no factor 1/2
//     A = m^2 - D_eo D_oe ,   D_oe takes even sites to odd ones
//
// antiperiodic along t, with the phases eta_x = 1, eta_y = (-1)^x, eta_z = (-1)^(x+y), eta_t = (-1)^(x+y+z) and the boundary's
// sign folded into the links. D is anti-Hermitian, the spectrum of -D^2 lies in [0, 64], A is Hermitian and not below m^2. With
// complex numbers as pairs of reals the same holds with "symmetric". x: flat vectors of 6 half() numbers (lattice.hpp).
//
// Links are stored for the sites of both parities, as 18, 12 or 10 reals (packed_link.hpp). Bytes that one D moves a site, with
// links and vectors read once each: 8 links, 8 + 1 vectors of 6 reals,
//
//     reals     18      12      10
//     double  1584    1200    1072        flops 576, with those of the reconstruction 912 (12) and 1168 (10)
//     float    792     600     536
//     Short    468     372       -        half of what A moves
//
// Short is A on vectors of float with 16 bits inside: numbers of links in units of 2^-15, and the vector between the two D with
// a scale per site. Arithmetic is in float.
//
// On a Context with other subdomains the lattice is cut in t and z: every subdomain has the links and vectors of its sites, and
// before every D those beside it travel. LatticePartition::overlap: meanwhile D is made where it needs none of them. The field
// is given whole.
//
// `apply` takes two D and neither allocates nor waits; the second one adds m^2 x on the way. x and y must differ, r may be b.
// Source: Jang, Kim, Lee, Multi GPU performance of conjugate gradient solver with staggered fermions in mixed precision, 2011,
// (2.2) to (2.5).

#include <memory>
#include <type_traits>

#include <stratum/core/operators/linear_operator.hpp>

#include "gauge_field.hpp"

namespace stratum::staggered {

/// Real numbers that a link is stored as.
enum class Reals : std::uint8_t { r18 = 18, r12 = 12, r10 = 10 };

/// Phase and boundary of a link: 1 or -1.
[[nodiscard]] int folded_sign(const Lattice& lattice, std::int64_t site, int mu);
/// The format with 16 bits.
struct Short {};
/// What arithmetic is in, and what links are stored in: a real number, or a pair of 16 bits.
template <class T>
struct NumbersOf {
  using Number = T;
  using Word = T;
};
template <>
struct NumbersOf<Short> {
  using Number = float;
  using Word = int;
};
/// Of one D, a site.
template <class T>
[[nodiscard]] constexpr int bytes_per_site(Reals reals) {
  constexpr bool is_short = std::is_same_v<T, Short>;
  constexpr int link = is_short ? 2 : sizeof(T), vectors = is_short ? (8 * 24 + 16 + 8 * 16 + 24) / 2 : 54 * sizeof(T);
  return 8 * static_cast<int>(reals) * link + vectors;
}
inline constexpr int flops_per_site = 576;

template <class T>
class PackedLinks {
 public:
  using Word = typename NumbersOf<T>::Word;

  /// Throws UsageError where a link does not come back from 10 reals to within 1000 eps, for 10 reals of 16 bits, and for a
  /// lattice that cannot be cut.
  PackedLinks(Context& ctx, const GaugeField& field, Reals reals, const LatticePartition& partition = {});

  /// Of this subdomain.
  [[nodiscard]] const Lattice& lattice() const { return lattice_; }
  [[nodiscard]] const LatticeSubdomain& subdomain() const { return subdomain_; }
  [[nodiscard]] Reals reals() const { return reals_; }
  /// Of the links that start on the sites of a parity.
  [[nodiscard]] const Word* planes(Parity parity, int mu) const {
    return planes_[static_cast<std::size_t>(parity)][static_cast<std::size_t>(mu)].view().data + before_planes;
  }
  /// Those in direction mu, z or t, that start on the last sites of the subdomain below.
  [[nodiscard]] const Word* planes_below(Parity parity, int mu) const {
    return below_[static_cast<std::size_t>(parity)][static_cast<std::size_t>(mu - 2)].view().data + before_planes;
  }
  /// Largest entry of the difference between a link and what comes back of it.
  [[nodiscard]] double error() const { return error_; }

 private:
  Field<Word> packed(Context& ctx, const GaugeField& field, Parity parity, int mu, const Box& box);

  LatticeSubdomain subdomain_;
  Lattice lattice_;
  Reals reals_;
  double error_ = 0;
  /// Node 0 of a flat vector follows the first of a cache line; planes begin at the next one.
  static constexpr int before_planes = 31;
  std::array<std::array<Field<Word>, 4>, 2> planes_;
  std::array<std::array<Field<Word>, 2>, 2> below_;  // empty where the lattice is not cut
};

namespace detail {
/// The vector between the two D.
template <class T>
struct Between {
  SharedField<T> numbers;
};
template <>
struct Between<Short> {
  SharedField<int> pairs;
  SharedField<float> units;
};
}  // namespace detail

template <class T>
class StaggeredOperator final : public LinearOperator<typename NumbersOf<T>::Number> {
 public:
  using Number = typename NumbersOf<T>::Number;

  /// Throws UsageError unless the mass is finite and above zero.
  StaggeredOperator(Context& ctx, std::shared_ptr<const PackedLinks<T>> links, double mass);
  StaggeredOperator(Context& ctx, const GaugeField& field, double mass, Reals reals = Reals::r18,
                    const LatticePartition& partition = {})
      : StaggeredOperator(ctx, std::make_shared<const PackedLinks<T>>(ctx, field, reals, partition), mass) {}

  [[nodiscard]] GridLayout<2> shape() const override;
  void apply(Context& ctx, FieldView<const Number> x, FieldView<Number> y) const override;
  [[nodiscard]] bool is_recordable() const override { return true; }
  void residual(Context& ctx, FieldView<const Number> b, FieldView<const Number> x, FieldView<Number> r) const override;
  /// (m^2 + 64) ||x|| + ||b||, by the bound on the spectrum.
  [[nodiscard]] double magnitude(Context& ctx, FieldView<const Number> b, FieldView<const Number> x) const override;

  /// y = D x on the sites of parity `to`, x on the others.
  void hop(Context& ctx, Parity to, FieldView<const Number> x, FieldView<Number> y) const;

  [[nodiscard]] double mass() const { return mass_; }
  [[nodiscard]] const std::shared_ptr<const PackedLinks<T>>& links() const { return links_; }

 private:
  std::shared_ptr<const PackedLinks<T>> links_;
  double mass_;
  detail::Between<T> odd_;
  SharedField<typename NumbersOf<T>::Word> faces_;  // for the subdomains below and above, and from them
};

}  // namespace stratum::staggered
