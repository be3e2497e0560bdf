#pragma once

// Python's lock, the GIL, which what takes long is done without, and which calls back to Python take for themselves.
//
// A thread of Python may be in here when the process ends: a daemon thread, which Python does not wait for. Until 3.13 Python
// ends a thread that asks for the lock of an interpreter that is being finalised by unwinding its stack, as pthread_exit does,
// and unwinding through a destructor or OpenMP ends in std::terminate; once the interpreter is gone, what is asked for the lock
// is not there any more. Here such a thread waits for the end of the process instead, as Python itself has it from 3.14 on. The
// thread that finalises may go on solving, in a function of atexit or in __del__.
//
// Source: documentation of Python, Python/C API, "Cautions regarding runtime finalization".

#include <nanobind/nanobind.h>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

namespace stratum::python {

/// This thread has not got the lock for as long as it lives. To be made with it.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// This thread has the lock for as long as it lives.
class WithGil {
 public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Never returns. For a thread that Python does not let go on.
[[noreturn]] void wait_for_the_end() noexcept;

/// call() with the lock, for what calls Python: also while that runs Python may be finalised.
template <class Call>
auto with_gil(const Call& call) {
  const WithGil gil;
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (const abi::__forced_unwind&) {  // which may not be caught but by who does not go on
    wait_for_the_end();
  }
#else
  return call();
#endif
}

/// When the module is loaded: the end of Python waits, ten seconds at most, for those that compute without the lock, until
/// they ask for it or have done; what they use is destroyed after that.
void watch_the_end();

}  // namespace stratum::python
