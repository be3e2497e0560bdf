#include "dirac.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <tuple>
#include <utility>

#include <stratum/core/grid/blas.hpp>
#include <stratum/core/grid/for_each_node.hpp>

#include "packed_link.hpp"

namespace stratum::staggered {

namespace {

/// y = D x, or where it is added to z, y = shift z + weight D x; z may be y.
template <class Links, int reals, class From, class To, bool adds, bool cut>
struct Hop {
  using T = typename Links::Number;
  static constexpr bool unit_steps = true;
  Links here[4];   // that start on the sites of y,
  Links there[4];  // and on those of x
  From x;
  From x_below, x_above;  // where the lattice is cut, of the times beside it
  Links links_below;
  int turns_below, turns_above;  // 1 where it is the lattice that begins and ends
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
    const bool at_end = t == nt - 1, at_begin = t == 0;
    const T up_eta_t = at_end && (!cut || turns_above != 0) ? -eta_t : eta_t;
    const T down_eta_t = at_begin && (!cut || turns_below != 0) ? -eta_t : eta_t;

    Colour<T> sum = forward(0, s, right, T(1)) - backward(0, left, T(1));
    sum = sum + forward(1, s, up_y, eta_y) - backward(1, down_y, eta_y);
    sum = sum + forward(2, s, up_z, eta_z) - backward(2, down_z, eta_z);
    if (cut && at_end)
      sum = sum + times(load_link<reals>(here[3], s, up_eta_t), load_colour(x_above, 0, up_t));
    else
      sum = sum + forward(3, s, up_t, up_eta_t);
    if (cut && at_begin)
      sum = sum - adjoint_times(load_link<reals>(links_below, s, down_eta_t), load_colour(x_below, 0, s));
    else
      sum = sum - backward(3, down_t, down_eta_t);
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
template <class T>
RealPlanes<const T> link_planes_below(const PackedLinks<T>& links, Parity parity) {
  return {links.planes_below(parity), links.strip().slab()};
}
ShortPlanes<const Short2> link_planes_below(const PackedLinks<Short>& links, Parity parity) {
  return {reinterpret_cast<const Short2*>(links.planes_below(parity)), links.strip().slab()};
}

/// The first time of every plane to `below` and the last one to `above`.
template <class Word>
struct PackFaces {
  const Word* from;
  int stride, slab;
  Word *below, *above;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int plane) const {
    below[plane * slab + i] = from[plane * stride + i];
    above[plane * slab + i] = from[plane * stride + stride - slab + i];
  }
};

template <class Word>
void pack_faces(Context& ctx, const Word* from, int planes, int stride, int slab, Word* below, Word* above) {
  for_each_node(ctx, {0, slab, 1, 0, planes, 1}, PackFaces<Word>{from, stride, slab, below, above});
}

void exchange_faces(Context& ctx, void* faces, std::size_t bytes) {
  auto* const first = static_cast<std::byte*>(faces);
  ctx.communicator()->exchange(ctx, {first, first + bytes, first + 2 * bytes, first + 3 * bytes, bytes});
}

/// What has come from below and from above, for x on the times of this piece. 24 numbers a site of a slab.
template <class T>
std::pair<RealPlanes<T>, RealPlanes<T>> exchanged(Context& ctx, const RealPlanes<T>& x, int slab, void* faces) {
  using Number = std::remove_const_t<T>;
  auto* const numbers = static_cast<Number*>(faces);
  pack_faces<Number>(ctx, x.data, 6, x.stride, slab, numbers, numbers + 6 * slab);
  exchange_faces(ctx, faces, 6 * static_cast<std::size_t>(slab) * sizeof(T));
  return {{numbers + 12 * slab, slab}, {numbers + 18 * slab, slab}};
}
std::pair<ScaledShorts, ScaledShorts> exchanged(Context& ctx, const ScaledShorts& x, int slab, void* faces) {
  int* const words = static_cast<int*>(faces);
  const auto face = [&](int k) { return words + 4 * k * slab; };
  const auto units = [&](int k) { return reinterpret_cast<float*>(face(k) + 3 * slab); };
  pack_faces(ctx, reinterpret_cast<const int*>(x.data), 3, x.stride, slab, face(0), face(1));
  pack_faces<float>(ctx, x.unit, 1, x.stride, slab, units(0), units(1));
  exchange_faces(ctx, faces, 4 * static_cast<std::size_t>(slab) * sizeof(int));
  const auto planes = [&](int k) { return ScaledShorts{reinterpret_cast<Short2*>(face(k)), units(k), slab}; };
  return {planes(2), planes(3)};
}

/// D to one parity, alone or in shift z + weight D x.
template <class T>
struct HopTo {
  using Number = typename NumbersOf<T>::Number;
  const PackedLinks<T>& links;
  Parity to;
  double shift = 0, weight = 1;
  const Number* z = nullptr;
  void* faces = nullptr;

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
    if (links.strip().pieces == 1) return run<adds, reals, false>(ctx, x, y);
    run<adds, reals, true>(ctx, x, y);
  }
  template <bool adds, int reals, bool cut, class From, class To>
  void run(Context& ctx, const From& x, const To& y) const {
    const Lattice& l = links.lattice();
    Hop<decltype(link_planes(links, to, 0)), reals, From, To, adds, cut> hop{};
    if constexpr (cut) {
      std::tie(hop.x_below, hop.x_above) = exchanged(ctx, x, links.strip().slab(), faces);
      hop.links_below = link_planes_below(links, other(to));
      hop.turns_below = links.strip().is_first() ? 1 : 0;
      hop.turns_above = links.strip().is_last() ? 1 : 0;
    }
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
    : strip_(TimeStrip::of(ctx, field.lattice)), lattice_(strip_.lattice()), reals_(reals) {
  expects(!std::is_same_v<T, Short> || reals != Reals::r10,
          "10 reals of 16 bits are too few to make a link of: use 12 or 18");
  for (const Parity parity : {Parity::even, Parity::odd}) {
    const auto p = static_cast<std::size_t>(parity);
    for (int mu = 0; mu < 4; ++mu)
      planes_[p][static_cast<std::size_t>(mu)] =
          packed(ctx, field, parity, mu, strip_.first_half_site(), lattice_.half());
    if (strip_.pieces > 1) below_[p] = packed(ctx, field, parity, 3, strip_.half_site_below(), strip_.slab());
  }
}

template <class T>
Vector<typename PackedLinks<T>::Word> PackedLinks<T>::packed(Context& ctx, const GaugeField& field, Parity parity,
                                                             int mu, int first, int count) {
  using Number = typename NumbersOf<T>::Number;
  constexpr bool is_short = std::is_same_v<T, Short>;
  const auto entries = stored_entries(reals_);
  const Lattice& whole = field.lattice;
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
      const std::int64_t site = whole.site(parity, first + s);
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

/// Const where it is read.
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
  // 16 bits read vectors of float too.
  if (const auto& strip = links_->strip(); strip.pieces > 1)
    faces_ = SharedVector<typename NumbersOf<T>::Word>(ctx, 24 * strip.slab());
}

template <class T>
GridShape StaggeredOperator<T>::shape() const {
  return GridShape::flat(6 * links_->lattice().half());
}

template <class T>
void StaggeredOperator<T>::hop(Context& ctx, Parity to, GridView<const Number> x, GridView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "D x", y, shape());
  HopTo<T>{*links_, to, 0, 1, nullptr, faces_.view().data}.template run<false>(ctx, vector_planes(x), vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::apply(Context& ctx, GridView<const Number> x, GridView<Number> y) const {
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "A x", y, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd, 0, 1, nullptr, faces_.view().data}.template run<false>(ctx, vector_planes(x), odd);
  HopTo<T>{*links_, Parity::even, mass_ * mass_, -1, x.data, faces_.view().data}.template run<true>(ctx, odd,
                                                                                                    vector_planes(y));
}

template <class T>
void StaggeredOperator<T>::residual(Context& ctx, GridView<const Number> b, GridView<const Number> x,
                                    GridView<Number> r) const {
  expects_fit(ctx, "b", b, shape());
  expects_fit(ctx, "x", x, shape());
  expects_fit(ctx, "b - A x", r, shape());
  const auto odd = between_planes(odd_);
  HopTo<T>{*links_, Parity::odd, 0, 1, nullptr, faces_.view().data}.template run<false>(ctx, vector_planes(x), odd);
  if (b.data != r.data) copy<Number, Number>(ctx, b, r);
  axpy<Number, Number>(ctx, -mass_ * mass_, x, r);
  HopTo<T>{*links_, Parity::even, 1, 1, r.data, faces_.view().data}.template run<true>(ctx, odd, vector_planes(r));
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
