#pragma once

// Registry<Interface>: the implementations of an interface by name. Interface is a class template over float and double, such
// as Smoother or Solver. A specialisation beside it says what its registry needs to know:
//
//     template <>
//     struct Registered<Smoother> {
//       static constexpr std::string_view what = "smoother";  // in messages
//       using Params = SmootherParams;                        // constructor argument of every implementation
//       struct Traits {};                                     // properties that are known without an instance
//     };
//
// An entry has a description, the traits as its own members, and a factory for each precision, which is called with a Context,
// a shape and the params. Registries are values: an entry that is added to one is in no other. The build collects the built-in
// implementations: it calls register_<stem>(registry) of every file in their folder.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stratum/core/device/context.hpp>
#include <stratum/core/errors.hpp>
#include <stratum/core/field/field.hpp>

namespace stratum {

template <template <class> class Interface>
struct Registered;

template <template <class> class Interface>
struct RegistryEntry : Registered<Interface>::Traits {
  using Params = typename Registered<Interface>::Params;
  template <class T>
  using Factory = std::function<std::unique_ptr<Interface<T>>(Context&, const GridLayout<2>&, const Params&)>;

  std::string name, description;
  Factory<float> make_float;
  Factory<double> make_double;
};

template <template <class> class Interface>
class Registry {
 public:
  using Entry = RegistryEntry<Interface>;
  using Params = typename Registered<Interface>::Params;
  using Traits = typename Registered<Interface>::Traits;

  /// Throws UsageError when the name is taken.
  void add(Entry entry) {
    expects(!entries_.contains(entry.name), "a ", Registered<Interface>::what, " named '", entry.name,
            "' is registered already");
    std::string name = entry.name;
    entries_.emplace(std::move(name), std::move(entry));
  }
  /// Class template S, constructed from (Context&, const GridLayout&, const Params&).
  template <template <class> class S>
  void add(std::string name, std::string description, Traits traits = {}) {
    add({std::move(traits), std::move(name), std::move(description), made<S<float>>, made<S<double>>});
  }

  /// Throws UsageError for an unknown name, listing the known ones.
  [[nodiscard]] const Entry& find(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found != entries_.end()) return found->second;
    std::string known;
    for (const auto& [known_name, entry] : entries_) known += (known.empty() ? "" : ", ") + known_name;
    throw UsageError(message("unknown ", Registered<Interface>::what, " '", name, "'; known: ", known));
  }
  /// In the order of their names.
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const { return entries_; }

  /// Throws UsageError for an unknown name.
  template <class T>
  [[nodiscard]] std::unique_ptr<Interface<T>> make(Context& ctx, std::string_view name, const GridLayout<2>& shape,
                                                   const Params& params = {}) const {
    const Entry& entry = find(name);
    if constexpr (std::is_same_v<T, float>)
      return entry.make_float(ctx, shape, params);
    else
      return entry.make_double(ctx, shape, params);
  }

 private:
  template <class S>
  static std::unique_ptr<S> made(Context& ctx, const GridLayout<2>& shape, const Params& params) {
    return std::make_unique<S>(ctx, shape, params);
  }

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace stratum
