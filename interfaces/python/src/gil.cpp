#include "gil.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace stratum::python {

namespace {

using namespace std::chrono_literals;

struct ThisThread {
  bool computes = false;   // counted below
  bool finalises = false;  // the interpreter, and so may take the lock to the last
};
thread_local ThisThread this_thread;

/// Of the process, as the interpreter is.
struct Process {
  std::atomic<int> computing = 0;  // threads in code that does not have the lock
  std::atomic<bool> ended = false;
  int (*is_finalizing)() = nullptr;
};
Process process;

/// Public from Python 3.13 on, and in no stable ABI.
int (*function_of_python(const char* name))() { return reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name)); }

bool python_is_finalizing() {
  return process.ended || (process.is_finalizing != nullptr && process.is_finalizing() != 0);
}

/// The lock, by take(); where Python refuses it this does not return.
template <class Take>
auto taken(const Take& take) noexcept {
  if (python_is_finalizing() && !this_thread.finalises) wait_for_the_end();
  try {
    return take();
  } catch (...) {  // only pthread_exit can have thrown
    wait_for_the_end();
  }
}

void wait_for_threads() {
  process.ended = true;
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (process.computing > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
}

void forget_threads() { process.computing = this_thread.computes ? 1 : 0; }

}  // namespace

void wait_for_the_end() noexcept {
  while (true) std::this_thread::sleep_for(1h);
}

WithoutGil::WithoutGil() {
  if (python_is_finalizing()) this_thread.finalises = true;  // no other thread would have the lock
  state_ = PyEval_SaveThread();
  this_thread.computes = true;
  ++process.computing;
}

WithoutGil::~WithoutGil() {
  this_thread.computes = false;
  --process.computing;
  taken([this] {
    PyEval_RestoreThread(state_);
    return true;
  });
}

WithGil::WithGil() {
  if (this_thread.computes) --process.computing;
  state_ = taken([] { return PyGILState_Ensure(); });
}

WithGil::~WithGil() {
  PyGILState_Release(state_);
  if (this_thread.computes) ++process.computing;
}

void watch_the_end() {
  process.is_finalizing = function_of_python("Py_IsFinalizing");
  if (process.is_finalizing == nullptr) process.is_finalizing = function_of_python("_Py_IsFinalizing");
  Py_AtExit(wait_for_threads);
  // What a thread refers to that does not go on stays to the end, which is no fault of anybody's.
  nanobind::set_leak_warnings(false);
  pthread_atfork(nullptr, nullptr, forget_threads);
}

}  // namespace stratum::python
