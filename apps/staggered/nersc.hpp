#pragma once

// Gauge fields in files of the NERSC archive, which collaborations exchange: a header of lines NAME = VALUE between
// BEGIN_HEADER and END_HEADER, then the links in binary, sites along x first, directions x, y, z, t of a site, matrices by
// rows.
//
//     DATATYPE         4D_SU3_GAUGE (two rows; the third follows) or 4D_SU3_GAUGE_3x3
//     DIMENSION_1 .. 4 nx, ny, nz, nt
//     FLOATING_POINT   IEEE32 or IEEE32BIG, IEEE32LITTLE, IEEE64BIG, IEEE64LITTLE
//     CHECKSUM         sum of the 32-bit words, modulo 2^32, hexadecimal
//     LINK_TRACE       mean of Re tr U / 3
//     PLAQUETTE        mean plaquette / 3
//
// Reading verifies length, checksum, both means (to 1e-5) and that links are SU(3) (to 1e-4, or 1e-8 in 64 bits), and projects
// what was written in 32 bits. Writing takes 3x3 matrices in IEEE64BIG, the file whole or not at all.
// Source: the archive's description of its format, G. Kilcup and others, The gauge connection, qcd.nersc.gov.

#include <string>

#include "gauge_field.hpp"

namespace stratum::staggered {

/// Extents alone, to know what reading will take. Throws FileError naming the file and what is wrong.
[[nodiscard]] Lattice nersc_lattice(const std::string& path);
/// Throws FileError likewise.
[[nodiscard]] GaugeField read_nersc(const std::string& path);
/// Throws FileError.
void write_nersc(const std::string& path, const GaugeField& field);

}  // namespace stratum::staggered
