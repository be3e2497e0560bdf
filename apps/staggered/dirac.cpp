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
template <class T, int reals, bool adds>
struct Hop {
  static constexpr bool unit_steps = true;
  const T* here[4];   // links that start on the sites of y,
  const T* there[4];  // and on those of x
  const T *x, *z;
  T* y;
  T shift, weight;
  int half, nxh, ny, nz, nt;
  int parity;  // of y
  float per_row;

  STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> forward(int mu, int s, int neighbour, T sign) const {
    return times(load_link<reals>(here[mu], half, s, sign), load_colour(x, 0, half, neighbour));
  }
  STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> backward(int mu, int neighbour, T sign) const {
    return adjoint_times(load_link<reals>(there[mu], half, neighbour, sign), load_colour(x, 0, half, neighbour));
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
    if constexpr (adds) sum = shift * load_colour(z, 0, half, s) + weight * sum;
    store_colour(y, half, s, sum);
  }
};

template <bool adds, int reals, class T>
void run_hop(Context& ctx, const PackedLinks<T>& links, Parity to, GridView<const T> x, GridView<T> y, double shift,
             const T* z, double weight) {
  const Lattice& l = links.lattice();
  Hop<T, reals, adds> hop{};
  for (int mu = 0; mu < 4; ++mu) {
    hop.here[mu] = links.planes(to, mu);
    hop.there[mu] = links.planes(other(to), mu);
  }
  hop.x = x.data;
  hop.z = z;
  hop.y = y.data;
  hop.shift = static_cast<T>(shift);
  hop.weight = static_cast<T>(weight);
  hop.half = l.half();
  hop.nxh = l.nx / 2;
  hop.ny = l.ny;
  hop.nz = l.nz;
  hop.nt = l.nt;
  hop.parity = to == Parity::even ? 0 : 1;
  hop.per_row = 1.0F / static_cast<float>(hop.nxh);
  for_each_node(ctx, {0, l.row(), 1, 0, l.rows(), 1}, hop);
}

template <bool adds, class T>
void run_hop(Context& ctx, const PackedLinks<T>& links, Parity to, GridView<const T> x, GridView<T> y, double shift = 0,
             const T* z = nullptr, double weight = 1) {
  switch (links.reals()) {
    case Reals::r18: return run_hop<adds, 18>(ctx, links, to, x, y, shift, z, weight);
    case Reals::r12: return run_hop<adds, 12>(ctx, links, to, x, y, shift, z, weight);
    case Reals::r10: return run_hop<adds, 10>(ctx, links, to, x, y, shift, z, weight);
  }
}

/// The complex numbers of a link that are stored, by rows.
std::vector<int> stored_entries(Reals reals) {
  if (reals == Reals::r10) return {0, 1, 2, 3, 6};
  std::vector<int> entries;
  for (int k = 0; k < (reals == Reals::r12 ? 6 : 9); ++k) entries.push_back(k);
  return entries;
}

template <int reals, class T>
double difference(const T* planes, int stride, int s, int sign, const Matrix3& u) {
  const Link<T> l = load_link<reals>(planes, stride, s, static_cast<T>(sign));
  const Number2<T> entries[] = {l.a.x, l.a.y, l.a.z, l.b.x, l.b.y, l.b.z, l.c.x, l.c.y, l.c.z};
  double largest = 0;
  for (std::size_t k = 0; k < 9; ++k) {
    const double apart = std::abs(Complex(static_cast<double>(entries[k].re), static_cast<double>(entries[k].im)) -
                                  static_cast<double>(sign) * u.a[k]);
    largest = apart <= largest ? largest : apart;  // NaN stays
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
  const auto entries = stored_entries(reals);
  const int half = lattice_.half();
  std::vector<T> planes(entries.size() * 2 * static_cast<std::size_t>(half));
  for (const Parity parity : {Parity::even, Parity::odd})
    for (int mu = 0; mu < 4; ++mu) {
      for (int s = 0; s < half; ++s) {
        const std::int64_t site = lattice_.site(parity, s);
        const Matrix3& u = field(site, mu);
        const int sign = folded_sign(lattice_, site, mu), stored_sign = reals == Reals::r10 ? 1 : sign;
        for (std::size_t k = 0; k < entries.size(); ++k) {
          const Complex entry = static_cast<double>(stored_sign) * u.a[static_cast<std::size_t>(entries[k])];
          const std::size_t at = 2 * k * static_cast<std::size_t>(half) + static_cast<std::size_t>(s);
          planes[at] = static_cast<T>(entry.real());
          planes[at + static_cast<std::size_t>(half)] = static_cast<T>(entry.imag());
        }
        const double apart = reals == Reals::r18   ? difference<18>(planes.data(), half, s, sign, u)
                             : reals == Reals::r12 ? difference<12>(planes.data(), half, s, sign, u)
                                                   : difference<10>(planes.data(), half, s, sign, u);
        error_ = apart <= error_ ? error_ : apart;
      }
      constexpr double allowed = 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
      expects(reals != Reals::r10 || error_ <= allowed, "a link comes back from 10 reals with an error of ", error_,
              ", ", allowed,
              " is allowed: its first row is (almost) (1, 0, 0), as on the unit field; use 12 or 18 reals");
      planes_[static_cast<std::size_t>(parity)][static_cast<std::size_t>(mu)] = vector_from_host(ctx, planes);
    }
}

template <class T>
StaggeredOperator<T>::StaggeredOperator(Context& ctx, std::shared_ptr<const PackedLinks<T>> links, double mass)
    : links_(std::move(links)), mass_(mass) {
  expects(std::isfinite(mass) && mass > 0, "the mass must be finite and above zero, not ", mass);
  odd_ = SharedVector<T>(ctx, shape());
}

template <class T>
GridShape StaggeredOperator<T>::shape() const {
  return GridShape::flat(6 * links_->lattice().half());
}

template <class T>
void StaggeredOperator<T>::hop(Context& ctx, Parity to, GridView<const T> x, GridView<T> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "D x", y, shape());
  run_hop<false>(ctx, *links_, to, x, y);
}

template <class T>
void StaggeredOperator<T>::apply(Context& ctx, GridView<const T> x, GridView<T> y) const {
  hop(ctx, Parity::odd, x, odd_.view());
  expects_fit(ctx, "A x", y, shape());
  run_hop<true>(ctx, *links_, Parity::even, odd_.cview(), y, mass_ * mass_, x.data, -1);
}

template <class T>
void StaggeredOperator<T>::residual(Context& ctx, GridView<const T> b, GridView<const T> x, GridView<T> r) const {
  hop(ctx, Parity::odd, x, odd_.view());
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "b - A x", r, shape());
  if (b.data != r.data) copy<T, T>(ctx, b, r);
  axpy<T, T>(ctx, -mass_ * mass_, x, r);
  run_hop<true>(ctx, *links_, Parity::even, odd_.cview(), r, 1, r.data, 1);
}

template <class T>
double StaggeredOperator<T>::magnitude(Context& ctx, GridView<const T> b, GridView<const T> x) const {
  return (mass_ * mass_ + 64) * norm2<T>(ctx, x) + norm2<T>(ctx, b);
}

template class PackedLinks<float>;
template class PackedLinks<double>;
template class StaggeredOperator<float>;
template class StaggeredOperator<double>;

}  // namespace stratum::staggered
