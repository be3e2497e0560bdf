#pragma once

// What the C interface's objects have in common: options of any version, calls whose exceptions become a status and a sentence,
// solves, and the last error. An object has error, rejected (what is wrong with how it was made), guard, turned_away (a call
// came while another was running) and tolerance_given.

#include <exception>
#include <limits>
#include <new>

#include <stratum/core/clock.hpp>
#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/io/solve_report.hpp>
#include <stratum/core/reentrancy_guard.hpp>
#include <stratum/stratum.h>

namespace stratum::for_c {

/// The members that the caller knows, zeros for those that it does not.
[[nodiscard]] stratum_options known(const stratum_options& given);
[[nodiscard]] Backend backend_of(const stratum_options& options);

/// Runs a call's body, which returns a status; turns exceptions into one.
template <class Object, class Body>
stratum_status status_of(Object* object, const Body& body) {
  try {
    object->error.clear();
    return body();
  } catch (const std::bad_alloc&) {
    object->error = "out of memory";
    return STRATUM_RESOURCE;
  } catch (const UsageError& error) {
    object->error = error.what();
    return STRATUM_USAGE;
  } catch (const BreakdownError& error) {
    object->error = error.what();
    return STRATUM_FAILED;
  } catch (const std::exception& error) {
    object->error = error.what();
    return STRATUM_RESOURCE;
  }
}

/// The same, by one thread at a time.
template <class Object, class Body>
stratum_status guarded(Object* object, const Body& body) {
  if (object == nullptr) return STRATUM_USAGE;
  try {
    const auto entered = object->guard.enter("solver");
    object->turned_away = false;
    return status_of(object, [&] {
      expects(object->rejected.empty(), object->rejected);
      return body();
    });
  } catch (const UsageError&) {
    object->turned_away = true;
    return STRATUM_USAGE;
  }
}

/// Runs `solve`, which returns a SolveReport; its status, its numbers in `result` unless that is null, and its reason in
/// object->error unless it converged.
template <class Object, class Solve>
stratum_status reported(Object& object, stratum_result* result, const Solve& solve) {
  const auto begin = Clock::now();
  const SolveReport report = solve();
  const double seconds = seconds_since(begin);
  const auto status = static_cast<stratum_status>(exit_code(report.status, object.tolerance_given));
  if (result != nullptr)
    *result = {report.iterations,
               report.initial_residual,
               report.residual,
               seconds,
               report.status == Status::round_off_limit,
               report.estimated_error.value_or(std::numeric_limits<double>::quiet_NaN())};
  if (status != STRATUM_CONVERGED) object.error = report.reason;
  return status;
}

/// What went wrong last; `missing` where there is no object.
template <class Object>
const char* last_error(const Object* object, const char* missing) {
  if (object == nullptr) return missing;
  if (object->turned_away) return "the solver was in use by another thread; give each thread its own";
  return object->error.c_str();
}

}  // namespace stratum::for_c
