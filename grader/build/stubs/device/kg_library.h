// What torch's declarations name of <vector> and <optional>, with std::min, std::max and what host code throws, for a source
// that names no more of them: a third of what nvcc would read. A host compiler with the real headers judges host code.
#pragma once
#include <exception>
#include <type_traits>
#include <utility>
#if KG_LIMITS
#include <limits>
#endif
#if KG_TUPLE
#include <tuple>
#endif
namespace std {
template <class T, class A = void>
class vector;
struct nullopt_t {
  constexpr explicit nullopt_t(int) {}
};
inline constexpr nullopt_t nullopt{0};
template <class T>
struct optional {
  optional();
  optional(nullopt_t);
  template <class U, class = enable_if_t<is_convertible_v<U &&, T>>>
  optional(U &&);
};
template <class T>
optional<decay_t<T>> make_optional(T &&);
struct logic_error : exception {
  explicit logic_error(const char *);
};
struct invalid_argument : logic_error {
  explicit invalid_argument(const char *);
};
struct out_of_range : logic_error {
  explicit out_of_range(const char *);
};
struct runtime_error : exception {
  explicit runtime_error(const char *);
};
// As libstdc++ has them: device code may call what is constexpr.
template <class T>
constexpr const T &min(const T &a, const T &b) {
  if (b < a)
    return b;
  return a;
}
template <class T>
constexpr const T &max(const T &a, const T &b) {
  if (a < b)
    return b;
  return a;
}
} // namespace std
