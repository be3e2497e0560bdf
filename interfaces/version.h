#ifndef STRATUM_VERSION_H
#define STRATUM_VERSION_H

/* The version of these headers, for C and C++; CMake reads it here. A library 0.2.x takes the place of another 0.2.x and of no
 * other. */
#define STRATUM_VERSION_MAJOR 0
#define STRATUM_VERSION_MINOR 2
#define STRATUM_VERSION_PATCH 0
#define STRATUM_VERSION "0.2.0"

#endif
