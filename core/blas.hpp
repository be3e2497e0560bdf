#pragma once

// Where programs written for version 0.1.0 look for it.

#include <stratum/core/field/blas.hpp>
