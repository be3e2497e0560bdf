#pragma once

// What the programs of random problems share: chance, numbers in long double, files that a program wrote, complaints, and the
// loop over problems. A problem is drawn from one seed, so that problem k of seed s is the first of seed s + k.
//
//     PROGRAM ... [COUNT [SEED]]     the count also by STRATUM_RANDOM, the seed by STRATUM_SEED; without one a new one, which is
//                                    printed

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <sys/wait.h>

#include <vtkDataArray.h>
#include <vtkPointData.h>
#include <vtkSmartPointer.h>

namespace random_test {

using Real = long double;
using Reals = std::vector<Real>;
inline const Real pi = std::acos(Real(-1));

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  int integer(int low, int high) {
    return low + static_cast<int>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  double real(double low, double high) { return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53; }
  /// Evenly distributed logarithm, three digits: what is printed is what is meant.
  double magnitude(double low, double high) { return rounded(std::exp(real(std::log(low), std::log(high)))); }
  bool once_in(int n) { return integer(1, n) == 1; }
  template <class T>
  T one_of(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(integer(0, static_cast<int>(choices.size()) - 1))];
  }
  static double rounded(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return std::atof(text.data());
  }

 private:
  std::mt19937_64 engine_;
};

/// The shortest that reads back as the same number.
inline std::string text_of(double value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

inline std::string whole_file(const std::string& name) {
  std::ifstream file(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string field(const std::string& json, const std::string& name) {
  const auto key = json.find("\"" + name + "\": ");
  if (key == std::string::npos) return "";
  const auto begin = key + name.size() + 4;
  const auto value = json.substr(begin, json.find('\n', begin) - begin);
  return value[0] == '"' ? value.substr(1, value.find('"', 1) - 1) : value;
}

/// An array on the nodes of a file that `Reader` reads; empty where there is none of this size.
template <class Reader>
Reals read_nodes(const std::string& name, const char* array_name, std::size_t size) {
  const auto reader = vtkSmartPointer<Reader>::New();
  reader->SetFileName(name.c_str());
  reader->Update();
  auto* const array = reader->GetOutput()->GetPointData()->GetArray(array_name);
  if (array == nullptr || static_cast<std::size_t>(array->GetNumberOfTuples()) != size) return {};
  Reals u(size);
  for (std::size_t k = 0; k < size; ++k) u[k] = array->GetTuple1(static_cast<vtkIdType>(k));
  return u;
}

class Complaints {
 public:
  void check(bool holds, const std::string& what) {
    if (!holds) list_.push_back(what);
  }
  [[nodiscard]] const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

/// What one problem was, how it ended, and what is wrong with it.
struct Verdict {
  std::string command, status;
  std::vector<std::string> complaints;
};

/// Runs a program; its exit code, or 128 and the signal that ended it.
inline int run_command(const std::string& command) {
  const int result = std::system((command + " >output.txt 2>errors.txt").c_str());
  return WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
}

/// The arguments are COUNT and SEED; the exit code.
inline int run_problems(const std::vector<std::string>& arguments, int usual_count,
                        const std::function<Verdict(Chance& chance)>& solve) {
  const char* const given_count = std::getenv("STRATUM_RANDOM");
  const char* const given_seed = std::getenv("STRATUM_SEED");
  const int count = given_count != nullptr && arguments.size() < 2 ? std::stoi(given_count)
                    : !arguments.empty()                           ? std::stoi(arguments[0])
                                                                   : usual_count;
  const std::uint64_t seed = arguments.size() > 1    ? std::stoull(arguments[1])
                             : given_seed != nullptr ? std::stoull(given_seed)
                                                     : std::random_device()() % 1000000;
  std::cout << count << " random problems from seed " << seed << std::endl;
  std::map<std::string, int> ends;
  int failed = 0;
  for (int k = 0; k < count; ++k) {
    Chance chance(seed + static_cast<std::uint64_t>(k));
    const Verdict verdict = solve(chance);
    ++ends[verdict.status];
    if (verdict.complaints.empty()) continue;
    ++failed;
    std::cout << "\nproblem " << seed + static_cast<std::uint64_t>(k) << ": " << verdict.command << '\n';
    for (const auto& complaint : verdict.complaints) std::cout << "  " << complaint << '\n';
  }
  for (const auto& [status, times] : ends) std::cout << times << " " << status << ", ";
  std::cout << failed << " wrong" << std::endl;
  return failed == 0 ? 0 : 1;
}

}  // namespace random_test
