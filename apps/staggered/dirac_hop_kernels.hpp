#pragma once

// The kernels of D (dirac_hop.hpp).

#include "dirac_hop.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <stratum/core/field/for_each_node.hpp>

namespace stratum::staggered {

namespace {

/// What lies below and above a subdomain along z or t.
template <class Links, class From>
struct Beyond {
  From x_below, x_above;
  Links links_below;  // that lead here
  int is_distributed;
};

/// Where the first and the last sites of a subdomain along z or t go, too, for those below and above.
template <class To>
struct Faces {
  To below, above;
  int is_distributed;
};

/// Planes of sites along z or t.
struct Planes {
  int begin, step, count;
};

/// y = D x, or where it is added to z, y = shift z + weight D x; z may be y. Rows j run over some planes of z and t. `packs`:
/// what the subdomains beside need of y is stored for them, too.
template <class Links, int reals, class From, class To, bool adds, bool distributed, bool packs>
struct Hop {
  using T = typename Links::Number;
  static constexpr bool hot = true;
  Links here[4];   // that start on the sites of y,
  Links there[4];  // and on those of x
  From x;
  Beyond<Links, From> beyond[2];  // along z and t
  Faces<To> faces[2];
  int turns_below, turns_above;  // 1 where it is the lattice that begins and ends in t
  RealPlanes<const T> z;
  To y;
  T shift, weight;
  int nxh, ny, nz, nt;
  Planes planes_z, planes_t;
  int parity;  // of y
  float per_row;

  /// What the sites of a row have beside them along z or t: site i has numbers i + above and i + below there.
  struct Beside {
    From x_above, x_below;
    Links links_below;
    int above, below;
  };
  /// Along direction mu: of n planes `at`, whose sites begin with `first`. The neighbours may be those beyond the subdomain,
  /// the same plane of its face `face`.
  STRATUM_HOST_DEVICE STRATUM_INLINE Beside beside(int mu, int at, int n, int apart, int first, int face) const {
    Beside b{x, x, there[mu], first + (at == n - 1 ? -apart * (n - 1) : apart),
             first + (at == 0 ? apart * (n - 1) : -apart)};
    if constexpr (distributed) {
      const Beyond<Links, From>& others = beyond[mu - 2];
      if (others.is_distributed != 0 && at == n - 1) {
        b.x_above = others.x_above;
        b.above = face;
      }
      if (others.is_distributed != 0 && at == 0) {
        b.x_below = others.x_below;
        b.links_below = others.links_below;
        b.below = face;
      }
    }
    return b;
  }

  struct Row {
    const Hop& hop;
    Beside z, t;
    int first, odd, z_, t_;  // of the row's sites the first one; the parity of its planes
    int turns_above, turns_below;

    STRATUM_HOST_DEVICE STRATUM_INLINE Colour<T> forward(int mu, int s, const From& from, int neighbour, T sign) const {
      return times(load_link<reals>(hop.here[mu], s, sign), load_colour(from, 0, neighbour));
    }
    STRATUM_HOST_DEVICE STRATUM_INLINE static Colour<T> backward(const Links& links, const From& from, int neighbour,
                                                                 T sign) {
      return adjoint_times(load_link<reals>(links, neighbour, sign), load_colour(from, 0, neighbour));
    }
    STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i) const {
      const int half = hop.nxh, rows = hop.ny, s = first + i;
      // i / half by a product, which vector units have; exact below 2^21.
      const int row = static_cast<int>((static_cast<float>(i) + 0.5F) * hop.per_row), half_x = i - row * half;
      const int odd_x = (row + odd) & 1, wrap_x = half - 1, wrap_y = half * (rows - 1);
      const int right = odd_x == 0 ? s : half_x == wrap_x ? s - wrap_x : s + 1;
      const int left = odd_x != 0 ? s : half_x == 0 ? s + wrap_x : s - 1;
      const int up = row == rows - 1 ? s - wrap_y : s + half, down = row == 0 ? s + wrap_y : s - half;
      const auto phase = [](int odd_one) { return static_cast<T>(1 - 2 * (odd_one & 1)); };
      const T eta_y = phase(odd_x), eta_z = phase(odd_x + row);
      const T up_eta_t = phase(odd_x + row + z_ + turns_above), down_eta_t = phase(odd_x + row + z_ + turns_below);

      Colour<T> sum = forward(0, s, hop.x, right, T(1)) - backward(hop.there[0], hop.x, left, T(1));
      sum = sum + forward(1, s, hop.x, up, eta_y) - backward(hop.there[1], hop.x, down, eta_y);
      sum = sum + forward(2, s, z.x_above, i + z.above, eta_z) - backward(z.links_below, z.x_below, i + z.below, eta_z);
      sum = sum + forward(3, s, t.x_above, i + t.above, up_eta_t) -
            backward(t.links_below, t.x_below, i + t.below, down_eta_t);
      if constexpr (adds) sum = hop.shift * load_colour(hop.z, 0, s) + hop.weight * sum;
      store_colour(hop.y, s, sum);
      if constexpr (packs) {
        const int plane = half * rows;
        pack(hop.faces[0], z_, hop.nz, i + plane * t_, sum);
        pack(hop.faces[1], t_, hop.nt, i + plane * z_, sum);
      }
    }
    /// Of n planes the one `at`, whose site has number `there` in a face.
    STRATUM_HOST_DEVICE STRATUM_INLINE static void pack(const Faces<To>& to, int at, int n, int there,
                                                        const Colour<T>& v) {
      if (to.is_distributed == 0) return;
      if (at == 0) store_colour(to.below, there, v);
      if (at == n - 1) store_colour(to.above, there, v);
    }
  };
  STRATUM_HOST_DEVICE STRATUM_INLINE Row row(int j) const {
    const int of_t = j / planes_z.count, t = planes_t.begin + planes_t.step * of_t;
    const int z_ = planes_z.begin + planes_z.step * (j - of_t * planes_z.count);
    const int plane = nxh * ny, first = plane * (z_ + nz * t);
    const bool at_end = t == nt - 1, at_begin = t == 0;
    return {*this,
            beside(2, z_, nz, plane, first, plane * t),
            beside(3, t, nt, plane * nz, first, plane * z_),
            first,
            (z_ + t + parity) & 1,
            z_,
            t,
            at_end && (!distributed || turns_above != 0) ? 1 : 0,
            at_begin && (!distributed || turns_below != 0) ? 1 : 0};
  }
};

template <class T>
RealPlanes<const T> link_planes(const PackedLinks<T>& links, Parity parity, int mu) {
  return {links.planes(parity, mu), links.lattice().half()};
}
inline ShortPlanes<const Short2> link_planes(const PackedLinks<Short>& links, Parity parity, int mu) {
  return {reinterpret_cast<const Short2*>(links.planes(parity, mu)), links.lattice().half()};
}
template <class T>
RealPlanes<const T> link_planes_below(const PackedLinks<T>& links, Parity parity, int mu, int stride) {
  return {links.planes_below(parity, mu), stride};
}
inline ShortPlanes<const Short2> link_planes_below(const PackedLinks<Short>& links, Parity parity, int mu, int stride) {
  return {reinterpret_cast<const Short2*>(links.planes_below(parity, mu)), stride};
}

/// The first sites along a direction of every plane of numbers to `below` and the last ones to `above`.
template <class Word>
struct PackFaces {
  const Word* from;
  int stride, chunk, chunks, n;
  Word *below, *above;
  STRATUM_HOST_DEVICE STRATUM_INLINE void operator()(int i, int j) const {
    const int plane = j / chunks, first = plane * stride + (j - plane * chunks) * chunk * n + i;
    below[j * chunk + i] = from[first];
    above[j * chunk + i] = from[first + chunk * (n - 1)];
  }
};

template <class Word>
void pack_faces(Context& ctx, const Word* from, int planes, int stride, const FaceShape& face, Word* below,
                Word* above) {
  for_each_node(ctx, {0, face.chunk, 1, 0, planes * face.chunks, 1},
                PackFaces<Word>{from, stride, face.chunk, face.chunks, face.n, below, above});
}

/// The faces of such a vector that follow `first`.
template <class T>
FaceNumbers faces_of(const RealPlanes<T>& /*x*/, const FaceShape& face, void* first) {
  return {static_cast<std::byte*>(first), 6 * sizeof(T) * static_cast<std::size_t>(face.sites())};
}
inline FaceNumbers faces_of(const ScaledShorts& /*x*/, const FaceShape& face, void* first) {
  return {static_cast<std::byte*>(first), 4 * sizeof(int) * static_cast<std::size_t>(face.sites())};
}
/// Face k as sites.
template <class T>
RealPlanes<T> sites_of(const RealPlanes<T>& /*x*/, const FaceShape& face, const FaceNumbers& faces, int k) {
  return {faces.as<std::remove_const_t<T>>(k), face.sites()};
}
inline ScaledShorts sites_of(const ScaledShorts& /*x*/, const FaceShape& face, const FaceNumbers& faces, int k) {
  return {faces.as<Short2>(k), faces.as<float>(k) + 3 * face.sites(), face.sites()};
}

/// What travels of x.
template <class T>
void pack(Context& ctx, const RealPlanes<T>& x, const FaceShape& face, const FaceNumbers& faces) {
  using Number = std::remove_const_t<T>;
  pack_faces<Number>(ctx, x.data, 6, x.stride, face, faces.as<Number>(0), faces.as<Number>(1));
}
inline void pack(Context& ctx, const ScaledShorts& x, const FaceShape& face, const FaceNumbers& faces) {
  pack_faces(ctx, reinterpret_cast<const int*>(x.data), 3, x.stride, face, faces.as<int>(0), faces.as<int>(1));
  pack_faces<float>(ctx, x.unit, 1, x.stride, face, sites_of(x, face, faces, 0).unit, sites_of(x, face, faces, 1).unit);
}

}  // namespace

/// On a GPU what travels of the vector between the two D is packed by the D that makes it, and not here.
template <class T, int reals>
template <HopKind kind, class Source, class Target>
void HopBy<T, reals>::run(Context& ctx, const Source& x, const Target& y) const {
  const LatticeSubdomain& subdomain = links.subdomain();
  const Lattice& l = links.lattice();
  const Planes all_z{0, 1, l.nz}, all_t{0, 1, l.nt};
  using Links = decltype(link_planes(links, to, 0));
  std::array<Beyond<Links, Source>, 2> beyond{};
  std::array<Faces<Target>, 2> next{};
  if (subdomain.is_whole()) return run<kind, false>(ctx, x, y, beyond, next, all_z, all_t);

  std::array<Communicator::Rows, 2> rows;
  std::size_t directions = 0;
  auto* first = faces;
  for (const int mu : {3, 2}) {
    if (!subdomain.is_distributed(mu)) continue;
    auto& there = beyond[static_cast<std::size_t>(mu - 2)];
    const FaceShape face(l, mu);
    const FaceNumbers f = faces_of(x, face, first);
    if (kind != HopKind::from_between || !ctx.on_gpu()) pack(ctx, x, face, f);
    there.x_below = sites_of(x, face, f, 2);
    there.x_above = sites_of(x, face, f, 3);
    const FaceNumbers of_y = faces_of(y, face, first);
    next[static_cast<std::size_t>(mu - 2)] = {sites_of(y, face, of_y, 0), sites_of(y, face, of_y, 1), 1};
    there.links_below = link_planes_below(links, other(to), mu, face.sites());
    there.is_distributed = 1;
    rows[directions++] = {f.as<void>(0),
                          f.as<void>(1),
                          f.as<void>(2),
                          f.as<void>(3),
                          f.bytes,
                          subdomain.neighbour(mu, -1),
                          subdomain.neighbour(mu, 1)};
    first += FaceNumbers::most_words * face.sites();
  }
  Communicator& communicator = *ctx.communicator();
  if (!*subdomain.partition.overlap) {
    for (std::size_t k = 0; k < directions; ++k) communicator.exchange(ctx, rows[k]);
    return run<kind, true>(ctx, x, y, beyond, next, all_z, all_t);
  }
  communicator.start_exchange(ctx, std::span(rows).first(directions));
  const auto inner = [&](int mu, int n) {
    return subdomain.is_distributed(mu) ? Planes{1, 1, n - 2} : Planes{0, 1, n};
  };
  run<kind, false>(ctx, x, y, beyond, next, inner(2, l.nz), inner(3, l.nt));
  communicator.finish_exchange(ctx);
  if (subdomain.is_distributed(3)) run<kind, true>(ctx, x, y, beyond, next, all_z, {0, l.nt - 1, 2});
  if (subdomain.is_distributed(2)) run<kind, true>(ctx, x, y, beyond, next, {0, l.nz - 1, 2}, inner(3, l.nt));
}
/// Where `distributed` is not, planes may lie anywhere but beside others' sites. The CPU looks once a row.
template <class T, int reals>
template <HopKind kind, bool distributed, class Source, class Target, class Beyonds, class Nexts, class PlaneRange>
void HopBy<T, reals>::run(Context& ctx, const Source& x, const Target& y, const Beyonds& beyond, const Nexts& next,
                          const PlaneRange& planes_z, const PlaneRange& planes_t) const {
  if constexpr (!distributed)
    if (!ctx.on_gpu()) return run<kind, true>(ctx, x, y, beyond, next, planes_z, planes_t);
  if constexpr (distributed && kind == HopKind::to_between)
    if (ctx.on_gpu()) return launch<kind, distributed, true>(ctx, x, y, beyond, next, planes_z, planes_t);
  launch<kind, distributed, false>(ctx, x, y, beyond, next, planes_z, planes_t);
}
template <class T, int reals>
template <HopKind kind, bool distributed, bool packs, class Source, class Target, class Beyonds, class Nexts,
          class PlaneRange>
void HopBy<T, reals>::launch(Context& ctx, const Source& x, const Target& y, const Beyonds& beyond, const Nexts& next,
                             const PlaneRange& planes_z, const PlaneRange& planes_t) const {
  const Lattice& l = links.lattice();
  constexpr bool adds = kind == HopKind::from_between;
  Hop<decltype(link_planes(links, to, 0)), reals, Source, Target, adds, distributed, packs> hop{};
  for (std::size_t k = 0; k < 2; ++k) {
    hop.beyond[k] = beyond[k];
    hop.faces[k] = next[k];
  }
  hop.turns_below = links.subdomain().is_first(3) ? 1 : 0;
  hop.turns_above = links.subdomain().is_last(3) ? 1 : 0;
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
  hop.planes_z = planes_z;
  hop.planes_t = planes_t;
  hop.parity = to == Parity::even ? 0 : 1;
  hop.per_row = 1.0F / static_cast<float>(hop.nxh);
  const NodeRange<2> range{0, l.row(), 1, 0, planes_z.count * planes_t.count, 1};
  if constexpr (distributed && !packs)
    for_each_node(ctx, range, hop);
  else
    for_each_node_on_gpu(ctx, range, hop);
}

template <class T, int reals>
void HopBy<T, reals>::hop(Context& ctx, const From& x, const To& y) const {
  run<HopKind::alone>(ctx, x, y);
}
template <class T, int reals>
void HopBy<T, reals>::to_between(Context& ctx, const From& x, const Between& y) const {
  run<HopKind::to_between>(ctx, x, y);
}
template <class T, int reals>
void HopBy<T, reals>::add_from_between(Context& ctx, const Between& x, const To& y) const {
  run<HopKind::from_between>(ctx, x, y);
}

}  // namespace stratum::staggered
