#pragma once

// Quark propagators and what is read off them. (m + D) q = b with b on even sites gives
//
//     q_even = m A^-1 b,   q_odd = -D_oe A^-1 b,   A = m^2 - D_eo D_oe.
//
// Goldstone pion: C(t) = sum over sites of time t and colours of |q|^2, summed over the colours of a source at t = 0. For large
// times C(t) ~ cosh(M (t - nt / 2)); its effective mass M(t) is where C(t) / C(t + 1) has this ratio.
//
// On one gauge field of moderate size that ratio is noise. Moments over all times are not: with c(p) = sum over t of C(t) cos(p
// t) and p = 2 pi / nt, one pole gives M^2 = 4 sin^2(p/2) / (c(0) / c(p) - 1), which goes to zero like m where chiral symmetry
// is broken. On any field and from any source, sum over t of C(t) = (b, A^-1 b), the Ward identity.
//
// On the unit field A^-1 is known by Fourier transform, k_t shifted by half a step since t is antiperiodic:
//
//     A^-1(x) = 1 / volume sum over k of exp(i k x) / (m^2 + 4 sum over mu of sin^2 k_mu)
//
// D is without its factor 1/2 here: masses are twice those in units of the lattice spacing, of quarks alone.

#include <vector>

#include "dirac.hpp"

namespace stratum::staggered {

/// ReliableCgParams::delta for steps with 16 bits: what they round away is mended early enough that directions are kept.
inline constexpr double delta_of_shorts = 0.5;

/// A^-1 of the unit field from the source 1 at the origin to all sites, on the host. Throws UsageError as Lattice::validate
/// does.
[[nodiscard]] std::vector<double> free_propagator(const Lattice& lattice, double mass);

/// C(t) of one source from y = A^-1 b, added to `correlator`, which has the nt numbers of this subdomain. Waits for the stream.
void add_pion(Context& ctx, const StaggeredOperator<double>& a, FieldView<const double> y,
              std::vector<double>& correlator);
/// That of the whole lattice, on all subdomains.
[[nodiscard]] std::vector<double> joined_correlator(Context& ctx, const LatticeSubdomain& subdomain,
                                                    const std::vector<double>& correlator);
/// M(t) for t = 0 .. nt / 2 - 2; NaN where C has no such ratio.
[[nodiscard]] std::vector<double> effective_masses(const std::vector<double>& correlator);

/// M^2 by the second moment.
[[nodiscard]] double pion_mass_squared(const std::vector<double>& correlator);

enum class Source : std::uint8_t { point, wall, random };

/// b on even sites: 1 at the origin or on all even sites of t = 0, of this colour; normal numbers everywhere, for any colour.
[[nodiscard]] std::vector<double> source(const Lattice& lattice, Source kind, int colour, std::uint64_t seed);
/// What a subdomain has of such numbers.
[[nodiscard]] std::vector<double> of_subdomain(const LatticeSubdomain& subdomain, const std::vector<double>& whole);

}  // namespace stratum::staggered
