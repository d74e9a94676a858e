// What torch's complex numbers ask of thrust's, for host code: the original brings half of CCCL and its PTX along.
#pragma once
#include <complex>

namespace thrust {
template <class T>
struct complex : std::complex<T> {
  using std::complex<T>::complex;
  constexpr complex(const std::complex<T> &value) : std::complex<T>(value) {}
  template <class U>
  constexpr complex(const complex<U> &value) : std::complex<T>(T(value.real()), T(value.imag())) {}
};
#define KG_UNARY(name)                                                                             \
  template <class T>                                                                               \
  complex<T> name(const complex<T> &x) {                                                           \
    return std::name(static_cast<const std::complex<T> &>(x));                                     \
  }
KG_UNARY(exp) KG_UNARY(log) KG_UNARY(log10) KG_UNARY(sqrt) KG_UNARY(sin) KG_UNARY(cos) KG_UNARY(tan)
KG_UNARY(asin) KG_UNARY(acos) KG_UNARY(atan) KG_UNARY(sinh) KG_UNARY(cosh) KG_UNARY(tanh)
KG_UNARY(asinh) KG_UNARY(acosh) KG_UNARY(atanh) KG_UNARY(conj) KG_UNARY(proj)
#undef KG_UNARY
template <class T>
T abs(const complex<T> &x) {
  return std::abs(static_cast<const std::complex<T> &>(x));
}
template <class T>
T arg(const complex<T> &x) {
  return std::arg(static_cast<const std::complex<T> &>(x));
}
template <class T>
T norm(const complex<T> &x) {
  return std::norm(static_cast<const std::complex<T> &>(x));
}
template <class T>
complex<T> polar(const T &r, const T &angle = T()) {
  return std::polar(r, angle);
}
template <class T>
complex<T> pow(const complex<T> &x, const complex<T> &y) {
  return std::pow(static_cast<const std::complex<T> &>(x), static_cast<const std::complex<T> &>(y));
}
template <class T>
complex<T> pow(const complex<T> &x, const T &y) {
  return std::pow(static_cast<const std::complex<T> &>(x), y);
}
template <class T>
complex<T> pow(const T &x, const complex<T> &y) {
  return std::pow(x, static_cast<const std::complex<T> &>(y));
}
} // namespace thrust
