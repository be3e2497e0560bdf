#include "dirac.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>

#include "packed_link.hpp"

namespace stratum::staggered {

namespace {

/// y = D x, or where it is added to z, y = shift z + weight D x; z may be y.
template <class Links, int reals, class From, class To, bool adds>
struct Hop {
  using T = typename Links::Number;
  static constexpr bool unit_steps = true;
  Links here[4];   // that start on the sites of y,
  Links there[4];  // and on those of x
  From x;
  RealPlanes<const T> z;
  To y;
  T shift, weight;
  int nxh, ny, nz, nt;
  int parity;  // of y
  float per_row;

  STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> forward(int mu, int s, int neighbour, T sign) const {
    return times(load_link<reals>(here[mu], s, sign), load_colour(x, 0, neighbour));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> backward(int mu, int neighbour, T sign) const {
    return adjoint_times(load_link<reals>(there[mu], neighbour, sign), load_colour(x, 0, neighbour));
  }

  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    // i / nxh by a product, which vector units have; exact below 2^21.
    const int row = static_cast<int>((static_cast<float>(i) + 0.5F) * per_row), half_x = i - row * nxh;
    const int t = j / nz, z_ = j - t * nz;
    const int odd_x = (row + z_ + t + parity) & 1;
    const int plane = nxh * ny, s = i + plane * j;
    const int wrap_x = nxh - 1, wrap_y = nxh * (ny - 1), wrap_z = plane * (nz - 1), block = plane * nz,
              wrap_t = block * (nt - 1);
    const int right = odd_x == 0 ? s : half_x == wrap_x ? s - wrap_x : s + 1;
    const int left = odd_x != 0 ? s : half_x == 0 ? s + wrap_x : s - 1;
    const int up_y = row == ny - 1 ? s - wrap_y : s + nxh, down_y = row == 0 ? s + wrap_y : s - nxh;
    const int up_z = s + (z_ == nz - 1 ? -wrap_z : plane), down_z = s + (z_ == 0 ? wrap_z : -plane);
    const int up_t = s + (t == nt - 1 ? -wrap_t : block), down_t = s + (t == 0 ? wrap_t : -block);
    const auto phase = [](int odd) { return static_cast<T>(1 - 2 * (odd & 1)); };
    const T eta_y = phase(odd_x), eta_z = phase(odd_x + row), eta_t = phase(odd_x + row + z_);
    const T up_eta_t = t == nt - 1 ? -eta_t : eta_t, down_eta_t = t == 0 ? -eta_t : eta_t;

    Colour<T> sum = forward(0, s, right, T(1)) - backward(0, left, T(1));
    sum = sum + forward(1, s, up_y, eta_y) - backward(1, down_y, eta_y);
    sum = sum + forward(2, s, up_z, eta_z) - backward(2, down_z, eta_z);
    sum = sum + forward(3, s, up_t, up_eta_t) - backward(3, down_t, down_eta_t);
    if constexpr (adds) sum = shift * load_colour(z, 0, s) + weight * sum;
    store_colour(y, s, sum);
  }
};

template <class T>
RealPlanes<const T> link_planes(const PackedLinks<T>& links, Parity parity, int mu) {
  return {links.planes(parity, mu), links.lattice().half()};
}
ShortPlanes<const Short2> link_planes(const PackedLinks<Short>& links, Parity parity, int mu) {
  return {reinterpret_cast<const Short2*>(links.planes(parity, mu)), links.lattice().half()};
}

/// D to one parity, alone or in shift z + weight D x.
template <class T>
struct HopTo {
  using Number = typename NumbersOf<T>::Number;
  const PackedLinks<T>& links;
  Parity to;
  double shift = 0, weight = 1;
  const Number* z = nullptr;

  template <bool adds, class From, class To>
  void run(Context& ctx, const From& x, const To& y) const {
    switch (links.reals()) {
      case Reals::r18: return run<adds, 18>(ctx, x, y);
      case Reals::r12: return run<adds, 12>(ctx, x, y);
      case Reals::r10:
        if constexpr (!std::is_same_v<T, Short>) return run<adds, 10>(ctx, x, y);
    }
  }

 private:
  template <bool adds, int reals, class From, class To>
  void run(Context& ctx, const From& x, const To& y) const {
    const Lattice& l = links.lattice();
    Hop<decltype(link_planes(links, to, 0)), reals, From, To, adds> hop{};
    for (int mu = 0; mu < 4; ++mu) {
      hop.here[mu] = link_planes(links, to, mu);
      hop.there[mu] = link_planes(links, other(to), mu);
    }
    hop.x = x;
    hop.z = {z, l.half()};
    hop.y = y;
    hop.shift = static_cast<Number>(shift);
    hop.weight = static_cast<Number>(weight);
    hop.nxh = l.nx / 2;
    hop.ny = l.ny;
    hop.nz = l.nz;
    hop.nt = l.nt;
    hop.parity = to == Parity::even ? 0 : 1;
    hop.per_row = 1.0F / static_cast<float>(hop.nxh);
    for_each_node(ctx, {0, l.row(), 1, 0, l.rows(), 1}, hop);
  }
};

/// The complex numbers of a link that are stored, by rows.
std::vector<int> stored_entries(Reals reals) {
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

int folded_sign(const Lattice& lattice, std::int64_t site, int mu) {
  const auto at = lattice.position(site);
  int odd = mu == 3 && at[3] == lattice.nt - 1 ? 1 : 0;
  for (std::size_t nu = 0; nu < static_cast<std::size_t>(mu); ++nu) odd += at[nu];
  return odd % 2 == 0 ? 1 : -1;
}

template <class T>
PackedLinks<T>::PackedLinks(Context& ctx, const GaugeField& field, Reals reals)
    : lattice_(field.lattice), reals_(reals) {
  lattice_.validate();
  using Number = typename NumbersOf<T>::Number;
  constexpr bool is_short = std::is_same_v<T, Short>;
  expects(!is_short || reals != Reals::r10, "10 reals of 16 bits are too few to make a link of: use 12 or 18");
  const auto entries = stored_entries(reals);
  const int half = lattice_.half();
  std::vector<Word> words(before_planes + entries.size() * (is_short ? 1 : 2) * static_cast<std::size_t>(half));
  Word* const first = words.data() + before_planes;
  const auto planes = [&] {
    if constexpr (is_short)
      return ShortPlanes<Short2>{reinterpret_cast<Short2*>(first), half};
    else
      return RealPlanes<T>{first, half};
  }();
  for (const Parity parity : {Parity::even, Parity::odd})
    for (int mu = 0; mu < 4; ++mu) {
#pragma omp parallel for schedule(static) num_threads(ctx.threads())
      for (int begin = 0; begin < half; begin += row_part) {
        double error = 0;
        for (int s = begin; s < std::min(half, begin + row_part); ++s) {
          const std::int64_t site = lattice_.site(parity, s);
          const Matrix3& u = field(site, mu);
          const int sign = folded_sign(lattice_, site, mu), stored_sign = reals == Reals::r10 ? 1 : sign;
          for (std::size_t k = 0; k < entries.size(); ++k) {
            const Complex entry = static_cast<double>(stored_sign) * u.a[static_cast<std::size_t>(entries[k])];
            planes.store(static_cast<int>(k), s,
                         {static_cast<Number>(entry.real()), static_cast<Number>(entry.imag())});
          }
          const double apart = reals == Reals::r18   ? difference<18>(planes, s, sign, u)
                               : reals == Reals::r12 ? difference<12>(planes, s, sign, u)
                                                     : difference<10>(planes, s, sign, u);
          error = apart > error || std::isnan(apart) ? apart : error;
        }
#pragma omp critical
        error_ = error > error_ || std::isnan(error) ? error : error_;
      }
      constexpr double allowed = 1000 * static_cast<double>(std::numeric_limits<Number>::epsilon());
      expects(reals != Reals::r10 || error_ <= allowed, "a link comes back from 10 reals with an error of ", error_,
              ", ", allowed,
              " is allowed: its first row is (almost) (1, 0, 0), as on the unit field; use 12 or 18 reals");
      planes_[static_cast<std::size_t>(parity)][static_cast<std::size_t>(mu)] = vector_from_host(ctx, words);
    }
}

namespace {

template <class T>
RealPlanes<T> vector_planes(GridView<T> x) {
  return {x.data, x.nx / 6};
}

template <class T>
RealPlanes<T> between_planes(const stratum::staggered::detail::Between<T>& odd) {
  return vector_planes(odd.numbers.view());
}
ScaledShorts between_planes(const stratum::staggered::detail::Between<Short>& odd) {
  return {reinterpret_cast<Short2*>(odd.pairs.view().data), odd.units.view().data, odd.units.view().nx};
}

}  // namespace

template <class T>
StaggeredOperator<T>::StaggeredOperator(Context& ctx, std::shared_ptr<const PackedLinks<T>> links, double mass)
    : links_(std::move(links)), mass_(mass) {
  expects(std::isfinite(mass) && mass > 0, "the mass must be finite and above zero, not ", mass);
  const int half = links_->lattice().half();
  if constexpr (std::is_same_v<T, Short>)
    odd_ = {SharedVector<int>(ctx, 3 * half), SharedVector<float>(ctx, half)};
  else
    odd_ = {SharedVector<T>(ctx, 6 * half)};
}

template <class T>
GridShape StaggeredOperator<T>::shape() const {
  return GridShape::flat(6 * links_->lattice().half());
}

template <class T>
void StaggeredOperator<T>::hop(Context& ctx, Parity to, GridView<const Number> x, GridView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "D x", y, shape());
  HopTo<T>{*links_, to}.template run<false>(ctx, vector_planes(x), vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::apply(Context& ctx, GridView<const Number> x, GridView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd}.template run<false>(ctx, vector_planes(x), odd);
  HopTo<T>{*links_, Parity::even, mass_ * mass_, -1, x.data}.template run<true>(ctx, odd, vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::residual(Context& ctx, GridView<const Number> b, GridView<const Number> x,
                                    GridView<Number> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd}.template run<false>(ctx, vector_planes(x), odd);
  if (b.data != r.data) copy<Number, Number>(ctx, b, r);
  axpy<Number, Number>(ctx, -mass_ * mass_, x, r);
  HopTo<T>{*links_, Parity::even, 1, 1, r.data}.template run<true>(ctx, odd, vector_planes(r));
}

template <class T>
double StaggeredOperator<T>::magnitude(Context& ctx, GridView<const Number> b, GridView<const Number> x) const {
  return (mass_ * mass_ + 64) * norm2<Number>(ctx, x) + norm2<Number>(ctx, b);
}

template class PackedLinks<Short>;
template class StaggeredOperator<Short>;
template class PackedLinks<float>;
template class PackedLinks<double>;
template class StaggeredOperator<float>;
template class StaggeredOperator<double>;

}  // namespace stratum::staggered
