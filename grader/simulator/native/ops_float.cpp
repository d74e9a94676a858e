// f32 and f64 arithmetic, rounding to nearest; other directions are in ops_directed.cpp.
#include "alu.hpp"
#include "floats.hpp"

namespace kgsim {
namespace {

template <int F> float in(float x) { if constexpr (F & 1) return flush(x); else return x; }
template <int F> float out(float x) {
    if constexpr (F & 1) x = flush(x);
    if constexpr (F & 2) x = clamp01(x);
    return x;
}

template <int F> float add(float a, float b) { return out<F>(in<F>(a) + in<F>(b)); }
template <int F> float sub(float a, float b) { return out<F>(in<F>(a) - in<F>(b)); }
template <int F> float mul(float a, float b) { return out<F>(in<F>(a) * in<F>(b)); }
template <int F> float fma32(float a, float b, float c) { return out<F>(__builtin_fmaf(in<F>(a), in<F>(b), in<F>(c))); }
template <int F> float div(float a, float b) { return out<F>(in<F>(a) / in<F>(b)); }
template <int F> float rcp(float a) { return out<F>(1.0f / in<F>(a)); }
template <int F> float root(float a) { return out<F>(__builtin_sqrtf(in<F>(a))); }
template <int F> float rsqrt(float a) { return out<F>(1.0f / __builtin_sqrtf(in<F>(a))); }
template <int F> float abs32(float a) { return in<F>(as_f32(bits_of(a) & 0x7fffffff)); }
template <int F> float neg32(float a) { return in<F>(as_f32(bits_of(a) ^ 0x80000000)); }
// Of a divisor beyond 2^126 the reciprocal is subnormal, and 0 on a GPU.
template <int F> float div_approx(float a, float b) {
    b = in<F>(b);
    return std::fabs(b) > 0x1p126f ? out<F>(in<F>(a) * std::copysign(0.0f, b)) : div<F>(a, b);
}
template <int F> float least(float a, float b) {
    a = in<F>(a), b = in<F>(b);
    float r = a == b ? as_f32(bits_of(a) | bits_of(b)) : a < b ? a : b;
    return a != a ? b : b != b ? a : r;
}
template <int F> float most(float a, float b) {
    a = in<F>(a), b = in<F>(b);
    float r = a == b ? as_f32(bits_of(a) & bits_of(b)) : a > b ? a : b;
    return a != a ? b : b != b ? a : r;
}
template <int F> float least_nan(float a, float b) { return a != a || b != b ? as_f32(0x7fffffff) : least<F>(a, b); }
template <int F> float most_nan(float a, float b) { return a != a || b != b ? as_f32(0x7fffffff) : most<F>(a, b); }

// 2^x within 2 ulp (Taylor coefficients of 2^f on [-1/2, 1/2], then an exact scaling in two steps).
template <int F> float ex2(float x) {
    x = in<F>(x);
    float y = x < -160.0f ? -160.0f : x > 160.0f ? 160.0f : x;
    float n = __builtin_rintf(y), f = y - n;
    float p = 1.5252734e-5f;
    p = __builtin_fmaf(p, f, 1.5403530e-4f);
    p = __builtin_fmaf(p, f, 1.3333558e-3f);
    p = __builtin_fmaf(p, f, 9.6181291e-3f);
    p = __builtin_fmaf(p, f, 5.5504109e-2f);
    p = __builtin_fmaf(p, f, 2.4022651e-1f);
    p = __builtin_fmaf(p, f, 6.9314718e-1f);
    p = __builtin_fmaf(p, f, 1.0f);
    i32 k = i32(n == n ? n : 0.0f), half = k >> 1;
    float r = p * as_f32(u32(half + 127) << 23) * as_f32(u32(k - half + 127) << 23);
    return out<F>(x != x ? x : r);
}
// log2(x) through atanh of (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)).
template <int F> float lg2(float x) {
    x = in<F>(x);
    bool tiny = x < 1.17549435e-38f;
    float y = tiny ? x * 16777216.0f : x;
    u32 b = bits_of(y);
    i32 e = i32(b - 0x3f3504f3) >> 23;
    float m = as_f32(b - (u32(e) << 23));
    float s = (m - 1.0f) / (m + 1.0f), q = s * s;
    float p = 0.22222222f;
    p = __builtin_fmaf(p, q, 0.28571429f);
    p = __builtin_fmaf(p, q, 0.4f);
    p = __builtin_fmaf(p, q, 0.66666667f);
    p = __builtin_fmaf(p, q * s, 2.0f * s);
    float r = __builtin_fmaf(p, 1.44269504f, float(e) - (tiny ? 24.0f : 0.0f));
    r = x == as_f32(0x7f800000) ? x : r;
    r = x == 0.0f ? as_f32(0xff800000) : r;
    return out<F>(x < 0.0f || x != x ? as_f32(0x7fffffff) : r);
}
// As on a GPU, the angle is first rounded towards zero to an f32 of turns: of a large one little is left.
double turns(float x) {
    const double exact = double(x) * double(0.15915494f);
    return 2 * M_PI * std::remainder(as_f64(bits_of(exact) & ~u64(0x1fffffff)), 1.0);
}
template <int F> float sine(float x) { return out<F>(float(std::sin(turns(in<F>(x))))); }
template <int F> float cosine(float x) { return out<F>(float(std::cos(turns(in<F>(x))))); }
float hyperbolic(float x) { return std::tanh(x); }
float copysign32(float a, float b) { return as_f32((bits_of(a) & 0x80000000) | (bits_of(b) & 0x7fffffff)); }
double copysign64(double a, double b) { return std::copysign(b, a); }

double add64(double a, double b) { return a + b; }
double sub64(double a, double b) { return a - b; }
double mul64(double a, double b) { return a * b; }
double fma64(double a, double b, double c) { return __builtin_fma(a, b, c); }
double div64(double a, double b) { return a / b; }
double rcp64(double a) { return 1.0 / a; }
double root64(double a) { return __builtin_sqrt(a); }
double rsqrt64(double a) { return 1.0 / __builtin_sqrt(a); }
double abs64(double a) { return as_f64(bits_of(a) & ~(u64(1) << 63)); }
double neg64(double a) { return as_f64(bits_of(a) ^ u64(1) << 63); }
double least64(double a, double b) { return a != a ? b : b != b ? a : a == b ? as_f64(bits_of(a) | bits_of(b)) : a < b ? a : b; }
double most64(double a, double b) { return a != a ? b : b != b ? a : a == b ? as_f64(bits_of(a) & bits_of(b)) : a > b ? a : b; }
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 work on the upper word only; callers refine.
double coarse(double a) { return as_f64(bits_of(1.0 / a) & ~u64(0xffffffff)); }
double coarse_root(double a) { return as_f64(bits_of(1.0 / __builtin_sqrt(a)) & ~u64(0xffffffff)); }

template <class T> bool eq(T a, T b) { return a == b; }
template <class T> bool ne(T a, T b) { return a < b || a > b; }
template <class T> bool lt(T a, T b) { return a < b; }
template <class T> bool le(T a, T b) { return a <= b; }
template <class T> bool gt(T a, T b) { return a > b; }
template <class T> bool ge(T a, T b) { return a >= b; }
template <class T> bool equ(T a, T b) { return !ne(a, b); }
template <class T> bool neu(T a, T b) { return a != b; }
template <class T> bool ltu(T a, T b) { return !(a >= b); }
template <class T> bool leu(T a, T b) { return !(a > b); }
template <class T> bool gtu(T a, T b) { return !(a <= b); }
template <class T> bool geu(T a, T b) { return !(a < b); }
template <class T> bool num(T a, T b) { return a == a && b == b; }
template <class T> bool nan(T a, T b) { return a != a || b != b; }
template <bool (*F)(float, float)> bool flushed(float a, float b) { return F(flush(a), flush(b)); }

template <class T, int Test> void testp(Ctx& c, const Insn& i) {
    const auto* a = c.src<Stored<T>>(i.a);
    u32 value = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        T x = take<T>(a[l]);
        int k = std::fpclassify(x);
        bool r = Test == 0 ? std::isfinite(x) : Test == 1 ? std::isinf(x) : Test == 2 ? x == x : Test == 3 ? x != x
            : Test == 4 ? k == FP_NORMAL || k == FP_ZERO : k == FP_SUBNORMAL;
        value |= u32(r) << l;
    }
    c.put(i.d, value);
}

template <int F> void f32_ops(OpTable& t, const std::string& suffix) {
    auto one = [&](const char* op, Handler h, Class k) { t[op + suffix] = {h, "4=4", k}; };
    auto two = [&](const char* op, Handler h, Class k = Class::fp32) { t[op + suffix] = {h, "4=44", k}; };
    two("add", binary<float, float, float, add<F>>);
    two("sub", binary<float, float, float, sub<F>>);
    two("mul", binary<float, float, float, mul<F>>);
    two("div", binary<float, float, float, div<F>>, Class::special);
    t["div.approx" + suffix] = {binary<float, float, float, div_approx<F>>, "4=44", Class::special};
    t["fma" + suffix] = {ternary<float, float, float, float, fma32<F>>, "4=444", Class::fp32};
    t["mad" + suffix] = t["fma" + suffix];
    one("rcp", unary<float, float, rcp<F>>, Class::special);
    one("sqrt", unary<float, float, root<F>>, Class::special);
    if constexpr (F < 2) {
        one("rsqrt", unary<float, float, rsqrt<F>>, Class::special);
        one("abs", unary<float, float, abs32<F>>, Class::fp32);
        one("neg", unary<float, float, neg32<F>>, Class::fp32);
        two("min", binary<float, float, float, least<F>>);
        two("max", binary<float, float, float, most<F>>);
        two("min.NaN", binary<float, float, float, least_nan<F>>);
        two("max.NaN", binary<float, float, float, most_nan<F>>);
        one("ex2", unary<float, float, ex2<F>>, Class::special);
        one("lg2", unary<float, float, lg2<F>>, Class::special);
        one("sin", unary<float, float, sine<F>>, Class::special);
        one("cos", unary<float, float, cosine<F>>, Class::special);
    }
}

template <class T> void comparisons(OpTable& t, const std::string& n, std::string_view sig) {
    auto put = [&](const char* op, Handler h) { t[std::string("setp.") + op + "." + n] = {h, sig, Class::compare}; };
    put("eq", compare<T, eq<T>>); put("ne", compare<T, ne<T>>);
    put("lt", compare<T, lt<T>>); put("le", compare<T, le<T>>);
    put("gt", compare<T, gt<T>>); put("ge", compare<T, ge<T>>);
    put("equ", compare<T, equ<T>>); put("neu", compare<T, neu<T>>);
    put("ltu", compare<T, ltu<T>>); put("leu", compare<T, leu<T>>);
    put("gtu", compare<T, gtu<T>>); put("geu", compare<T, geu<T>>);
    put("num", compare<T, num<T>>); put("nan", compare<T, nan<T>>);
}
void flushed_comparisons(OpTable& t) {
    auto put = [&](const char* op, Handler h) { t[std::string("setp.") + op + ".ftz.f32"] = {h, "p=44p", Class::compare}; };
    put("eq", compare<float, flushed<eq<float>>>); put("ne", compare<float, flushed<ne<float>>>);
    put("lt", compare<float, flushed<lt<float>>>); put("le", compare<float, flushed<le<float>>>);
    put("gt", compare<float, flushed<gt<float>>>); put("ge", compare<float, flushed<ge<float>>>);
    put("equ", compare<float, flushed<equ<float>>>); put("neu", compare<float, flushed<neu<float>>>);
    put("ltu", compare<float, flushed<ltu<float>>>); put("leu", compare<float, flushed<leu<float>>>);
    put("gtu", compare<float, flushed<gtu<float>>>); put("geu", compare<float, flushed<geu<float>>>);
    put("num", compare<float, num<float>>); put("nan", compare<float, nan<float>>);
}

}  // namespace

void add_float_ops(OpTable& t) {
    f32_ops<0>(t, ".f32");
    f32_ops<1>(t, ".ftz.f32");
    f32_ops<2>(t, ".sat.f32");
    f32_ops<3>(t, ".ftz.sat.f32");
    t["tanh.f32"] = {unary<float, float, hyperbolic>, "4=4", Class::special};
    t["copysign.f32"] = {binary<float, float, float, copysign32>, "4=44", Class::fp32};
    t["copysign.f64"] = {binary<double, double, double, copysign64>, "8=88", Class::fp64};
    auto two = [&](const char* op, Handler h) { t[op] = {h, "8=88", Class::fp64}; };
    auto one = [&](const char* op, Handler h) { t[op] = {h, "8=8", Class::fp64}; };
    two("add.f64", binary<double, double, double, add64>);
    two("sub.f64", binary<double, double, double, sub64>);
    two("mul.f64", binary<double, double, double, mul64>);
    two("div.f64", binary<double, double, double, div64>);
    two("min.f64", binary<double, double, double, least64>);
    two("max.f64", binary<double, double, double, most64>);
    t["fma.f64"] = t["mad.f64"] = {ternary<double, double, double, double, fma64>, "8=888", Class::fp64};
    one("rcp.f64", unary<double, double, rcp64>);
    one("sqrt.f64", unary<double, double, root64>);
    one("rsqrt.f64", unary<double, double, rsqrt64>);
    one("rcp.ftz.f64", unary<double, double, coarse>);
    one("rsqrt.ftz.f64", unary<double, double, coarse_root>);
    one("abs.f64", unary<double, double, abs64>);
    one("neg.f64", unary<double, double, neg64>);
    comparisons<float>(t, "f32", "p=44p");
    comparisons<double>(t, "f64", "p=88p");
    flushed_comparisons(t);
    const char* tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    const Handler f32[] = {testp<float, 0>, testp<float, 1>, testp<float, 2>, testp<float, 3>, testp<float, 4>, testp<float, 5>};
    const Handler f64[] = {testp<double, 0>, testp<double, 1>, testp<double, 2>, testp<double, 3>, testp<double, 4>, testp<double, 5>};
    for (int k = 0; k < 6; ++k) {
        t[std::string("testp.") + tests[k] + ".f32"] = {f32[k], "p=4", Class::fp32};
        t[std::string("testp.") + tests[k] + ".f64"] = {f64[k], "p=8", Class::fp64};
    }
}

}  // namespace kgsim
