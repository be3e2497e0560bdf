#pragma once

// What the C interface's objects have in common: options of any version, and calls whose exceptions become a status and a sentence. An
// object has error, rejected (what is wrong with how it was made), guard and turned_away (a call came while another was running).

#include <exception>
#include <new>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
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

}  // namespace stratum::for_c
