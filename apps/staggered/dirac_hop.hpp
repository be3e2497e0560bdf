#pragma once

// D of the staggered operator to one parity, y = D x or y = shift z + weight D x, for links of 18, 12 or 10 reals. The kernels
// are in dirac_hop_kernels.hpp; the build writes a source for each number and each count of reals.

#include "dirac.hpp"
#include "packed_link.hpp"

#include <cstddef>
#include <cstdint>

namespace stratum::staggered {

/// The first and the last sites along a direction, of one parity: `chunks` times `chunk` of them that lie together.
struct FaceShape {
  int chunk, chunks, n;
  FaceShape(const Lattice& l, int mu)
      : chunk(mu == 3 ? l.row() * l.nz : l.row()), chunks(mu == 3 ? 1 : l.nt), n(mu == 3 ? l.nt : l.nz) {}
  [[nodiscard]] int sites() const { return chunk * chunks; }
};

/// Faces in a row: for the subdomains below and above, and from them.
struct FaceNumbers {
  static constexpr int most_words = 4 * 6;  // a site
  std::byte* first;
  std::size_t bytes;  // of one
  template <class Word>
  [[nodiscard]] Word* as(int k) const {
    return reinterpret_cast<Word*>(first + static_cast<std::size_t>(k) * bytes);
  }
};

/// Const where it is read.
template <class T>
RealPlanes<T> vector_planes(FieldView<T> x) {
  return {x.data, x.nx / 6};
}
/// What lies between the two D.
template <class T>
struct PlanesOf {
  using Between = RealPlanes<T>;
};
template <>
struct PlanesOf<Short> {
  using Between = ScaledShorts;
};

/// One D alone, or the first or the second of A.
enum class HopKind : std::uint8_t { alone, to_between, from_between };

/// D to one parity, alone or in shift z + weight D x.
template <class T>
struct HopTo {
  using Number = typename NumbersOf<T>::Number;
  using From = RealPlanes<const Number>;
  using To = RealPlanes<Number>;
  using Between = typename PlanesOf<T>::Between;

  const PackedLinks<T>& links;
  Parity to;
  double shift = 0, weight = 1;
  const Number* z = nullptr;
  typename NumbersOf<T>::Word* faces = nullptr;

  /// D x
  void hop(Context& ctx, const From& x, const To& y) const {
    with_reals([&](const auto& by) { by.hop(ctx, x, y); });
  }
  void to_between(Context& ctx, const From& x, const Between& y) const {
    with_reals([&](const auto& by) { by.to_between(ctx, x, y); });
  }
  /// shift z + weight D x. On subdomains that are GPUs directly after to_between with the same faces, which that has packed.
  void add_from_between(Context& ctx, const Between& x, const To& y) const {
    with_reals([&](const auto& by) { by.add_from_between(ctx, x, y); });
  }

 private:
  template <class F>
  void with_reals(const F& f) const;
};

/// By links of so many reals.
template <class T, int reals>
struct HopBy : HopTo<T> {
  using typename HopTo<T>::Number;
  using typename HopTo<T>::From;
  using typename HopTo<T>::To;
  using typename HopTo<T>::Between;
  using HopTo<T>::links;
  using HopTo<T>::to;
  using HopTo<T>::shift;
  using HopTo<T>::weight;
  using HopTo<T>::z;
  using HopTo<T>::faces;

  void hop(Context& ctx, const From& x, const To& y) const;
  void to_between(Context& ctx, const From& x, const Between& y) const;
  void add_from_between(Context& ctx, const Between& x, const To& y) const;

 private:
  template <HopKind kind, class Source, class Target>
  void run(Context& ctx, const Source& x, const Target& y) const;
  template <HopKind kind, bool distributed, class Source, class Target, class Beyonds, class Nexts, class PlaneRange>
  void run(Context& ctx, const Source& x, const Target& y, const Beyonds& beyond, const Nexts& next,
           const PlaneRange& planes_z, const PlaneRange& planes_t) const;
  template <HopKind kind, bool distributed, bool packs, class Source, class Target, class Beyonds, class Nexts,
            class PlaneRange>
  void launch(Context& ctx, const Source& x, const Target& y, const Beyonds& beyond, const Nexts& next,
              const PlaneRange& planes_z, const PlaneRange& planes_t) const;
};

template <class T>
template <class F>
void HopTo<T>::with_reals(const F& f) const {
  switch (links.reals()) {
    case Reals::r18: return f(HopBy<T, 18>{*this});
    case Reals::r12: return f(HopBy<T, 12>{*this});
    case Reals::r10:
      if constexpr (!std::is_same_v<T, Short>) return f(HopBy<T, 10>{*this});
  }
}

}  // namespace stratum::staggered
