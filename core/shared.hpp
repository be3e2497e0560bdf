#pragma once

// Shared<T>: shared ownership of a part of a composed object. It is made from
//
//     a shared_ptr or unique_ptr    std::make_shared<MyPreconditioner>(...), make_solver(...)
//     an object that is moved in    std::move(my_preconditioner)
//     a handle                      operators, cycles, solvers and preconditioners of this library; their copies are the same
//                                   object
//
// and from no other lvalue, because the object could end before the one that uses it.

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace stratum {

/// Base of classes whose copies are the same object.
class Handle {
 protected:
  Handle() = default;
  ~Handle() = default;
  Handle(const Handle&) = default;
  Handle& operator=(const Handle&) = default;
  Handle(Handle&&) = default;
  Handle& operator=(Handle&&) = default;
};

/// An object of a class derived from T.
template <class U, class T>
concept PartOf = std::derived_from<std::remove_cvref_t<U>, std::remove_const_t<T>>;
/// One that may be handed over as it stands: a handle, or an object that nobody else keeps.
template <class U, class T>
concept HandedOver = PartOf<U, T> &&
    (std::derived_from<std::remove_cvref_t<U>, Handle> || !std::is_lvalue_reference_v<U>);
/// One that somebody else keeps.
template <class U, class T>
concept KeptElsewhere = PartOf<U, T> && !std::derived_from<std::remove_cvref_t<U>, Handle>;

template <class T>
class Shared {
 public:
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload): parameters are written as what is shared
  Shared(std::nullptr_t /*none*/ = nullptr) {}
  template <PartOf<T> U>
  Shared(std::shared_ptr<U> object) : object_(std::move(object)) {}
  template <PartOf<T> U>
  Shared(std::unique_ptr<U> object) : object_(std::move(object)) {}
  template <HandedOver<T> U>
  Shared(U&& object) : object_(std::make_shared<std::remove_cvref_t<U>>(std::forward<U>(object))) {}
  /// Hand it over by std::move, or as a std::shared_ptr.
  template <KeptElsewhere<T> U>
  Shared(U& object) = delete;
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)

  [[nodiscard]] T& operator*() const { return *object_; }
  [[nodiscard]] T* operator->() const { return object_.get(); }
  /// Null: none.
  [[nodiscard]] T* get() const { return object_.get(); }

 private:
  std::shared_ptr<T> object_;
};

}  // namespace stratum
