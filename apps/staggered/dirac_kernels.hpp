#pragma once

// The staggered operator and its links, but for D (dirac_hop.hpp). The build writes a source for each number.

#include "dirac_hop.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/field/blas.hpp>
#include <stratum/core/field/for_each_node.hpp>

namespace stratum::staggered {

namespace {

/// The complex numbers of a link that are stored, by rows.
inline std::vector<int> stored_entries(Reals reals) {
  if (reals == Reals::r10) return {0, 1, 2, 3, 6};
  std::vector<int> entries;
  for (int k = 0; k < (reals == Reals::r12 ? 6 : 9); ++k) entries.push_back(k);
  return entries;
}

template <int reals, class Planes>
double difference(const Planes& planes, int s, int sign, const Matrix3& u) {
  const auto l = load_link<reals>(planes, s, static_cast<typename Planes::Number>(sign));
  const decltype(l.a.x) entries[] = {l.a.x, l.a.y, l.a.z, l.b.x, l.b.y, l.b.z, l.c.x, l.c.y, l.c.z};
  double largest = 0;
  for (std::size_t k = 0; k < 9; ++k) {
    const double apart = std::abs(Complex(static_cast<double>(entries[k].re), static_cast<double>(entries[k].im)) -
                                  static_cast<double>(sign) * u.a[k]);
    largest = apart > largest || std::isnan(apart) ? apart : largest;  // NaN stays
  }
  return largest;
}

}  // namespace

template <class T>
PackedLinks<T>::PackedLinks(Context& ctx, const GaugeField& field, Reals reals, const LatticePartition& partition)
    : subdomain_(LatticeSubdomain::of(ctx, field.lattice, partition)), lattice_(subdomain_.lattice()), reals_(reals) {
  expects(!std::is_same_v<T, Short> || reals != Reals::r10,
          "10 reals of 16 bits are too few to make a link of: use 12 or 18");
  for (const Parity parity : {Parity::even, Parity::odd}) {
    const auto p = static_cast<std::size_t>(parity);
    for (int mu = 0; mu < 4; ++mu)
      planes_[p][static_cast<std::size_t>(mu)] = packed(ctx, field, parity, mu, subdomain_.box());
    for (const int mu : {2, 3})
      if (subdomain_.is_distributed(mu))
        below_[p][static_cast<std::size_t>(mu - 2)] = packed(ctx, field, parity, mu, subdomain_.below(mu));
  }
}

template <class T>
Field<typename PackedLinks<T>::Word> PackedLinks<T>::packed(Context& ctx, const GaugeField& field, Parity parity,
                                                            int mu, const Box& box) {
  using Number = typename NumbersOf<T>::Number;
  constexpr bool is_short = std::is_same_v<T, Short>;
  const auto entries = stored_entries(reals_);
  const Lattice& whole = field.lattice;
  const int count = whole.row() * box.nz * box.nt;
  std::vector<Word> words(before_planes + entries.size() * (is_short ? 1 : 2) * static_cast<std::size_t>(count));
  Word* const start = words.data() + before_planes;
  const auto planes = [&] {
    if constexpr (is_short)
      return ShortPlanes<Short2>{reinterpret_cast<Short2*>(start), count};
    else
      return RealPlanes<T>{start, count};
  }();
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
  for (int begin = 0; begin < count; begin += row_part) {
    double error = 0;
    for (int s = begin; s < std::min(count, begin + row_part); ++s) {
      const std::int64_t site = whole.site(parity, box.half_site(whole, s));
      const Matrix3& u = field(site, mu);
      const int sign = folded_sign(whole, site, mu), stored_sign = reals_ == Reals::r10 ? 1 : sign;
      for (std::size_t k = 0; k < entries.size(); ++k) {
        const Complex entry = static_cast<double>(stored_sign) * u.a[static_cast<std::size_t>(entries[k])];
        planes.store(static_cast<int>(k), s, {static_cast<Number>(entry.real()), static_cast<Number>(entry.imag())});
      }
      const double apart = reals_ == Reals::r18   ? difference<18>(planes, s, sign, u)
                           : reals_ == Reals::r12 ? difference<12>(planes, s, sign, u)
                                                  : difference<10>(planes, s, sign, u);
      error = apart > error || std::isnan(apart) ? apart : error;
    }
#pragma omp critical
    error_ = error > error_ || std::isnan(error) ? error : error_;
  }
  constexpr double allowed = 1000 * static_cast<double>(std::numeric_limits<Number>::epsilon());
  expects(reals_ != Reals::r10 || error_ <= allowed, "a link comes back from 10 reals with an error of ", error_, ", ",
          allowed, " is allowed: its first row is (almost) (1, 0, 0), as on the unit field; use 12 or 18 reals");
  return vector_from_host(ctx, words);
}

namespace {

template <class T>
RealPlanes<T> between_planes(const stratum::staggered::detail::Between<T>& odd) {
  return vector_planes(odd.numbers.view());
}
inline ScaledShorts between_planes(const stratum::staggered::detail::Between<Short>& odd) {
  return {reinterpret_cast<Short2*>(odd.pairs.view().data), odd.units.view().data, odd.units.view().nx};
}

}  // namespace

template <class T>
StaggeredOperator<T>::StaggeredOperator(Context& ctx, std::shared_ptr<const PackedLinks<T>> links, double mass)
    : links_(std::move(links)), mass_(mass) {
  expects(std::isfinite(mass) && mass > 0, "the mass must be finite and above zero, not ", mass);
  const int half = links_->lattice().half();
  if constexpr (std::is_same_v<T, Short>)
    odd_ = {SharedField<int>(ctx, 3 * half), SharedField<float>(ctx, half)};
  else
    odd_ = {SharedField<T>(ctx, 6 * half)};
  // 16 bits read vectors of float too.
  int sites = 0;
  for (const int mu : {2, 3})
    if (links_->subdomain().is_distributed(mu)) sites += FaceShape(links_->lattice(), mu).sites();
  if (sites > 0) faces_ = SharedField<typename NumbersOf<T>::Word>(ctx, FaceNumbers::most_words * sites);
}

template <class T>
GridLayout<2> StaggeredOperator<T>::shape() const {
  return GridLayout<2>::flat(6 * links_->lattice().half());
}

template <class T>
void StaggeredOperator<T>::hop(Context& ctx, Parity to, FieldView<const Number> x, FieldView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "D x", y, shape());
  HopTo<T>{*links_, to, 0, 1, nullptr, faces_.view().data}.hop(ctx, vector_planes(x), vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::apply(Context& ctx, FieldView<const Number> x, FieldView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd, 0, 1, nullptr, faces_.view().data}.to_between(ctx, vector_planes(x), odd);
  HopTo<T>{*links_, Parity::even, mass_ * mass_, -1, x.data, faces_.view().data}.add_from_between(ctx, odd,
                                                                                                  vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::residual(Context& ctx, FieldView<const Number> b, FieldView<const Number> x,
                                    FieldView<Number> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd, 0, 1, nullptr, faces_.view().data}.to_between(ctx, vector_planes(x), odd);
  if (b.data != r.data) copy<Number, Number>(ctx, b, r);
  axpy<Number, Number>(ctx, -mass_ * mass_, x, r);
  HopTo<T>{*links_, Parity::even, 1, 1, r.data, faces_.view().data}.add_from_between(ctx, odd, vector_planes(r));
}

template <class T>
double StaggeredOperator<T>::magnitude(Context& ctx, FieldView<const Number> b, FieldView<const Number> x) const {
  return (mass_ * mass_ + 64) * norm2<Number>(ctx, x) + norm2<Number>(ctx, b);
}

}  // namespace stratum::staggered
