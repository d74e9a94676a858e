// f32 and f64 arithmetic rounded towards zero, down or up. Compiled with -frounding-math.
#include <cfenv>
#if defined(__SSE2__) && defined(__FMA__)
#include <xmmintrin.h>
#define DIRECTED_BY_MXCSR 1
#endif

#include "floats.hpp"

namespace kgsim {
namespace {

// Nothing is moved past it that reads or writes memory: all operands and results of the handlers below.
inline void hold() { asm volatile("" ::: "memory"); }

class Direction {
public:
#ifdef DIRECTED_BY_MXCSR  // as fesetround, without the slow control word of the x87
    explicit Direction(u16 flags) : before_(_mm_getcsr()) {
        _mm_setcsr((before_ & ~u32(_MM_ROUND_MASK)) | (flags & rz ? _MM_ROUND_TOWARD_ZERO : flags & rm ? _MM_ROUND_DOWN : _MM_ROUND_UP));
        hold();
    }
    ~Direction() {
        hold();
        _mm_setcsr(before_);
    }

private:
    u32 before_;
#else
    explicit Direction(u16 flags) : before_(std::fegetround()) {
        std::fesetround(flags & rz ? FE_TOWARDZERO : flags & rm ? FE_DOWNWARD : FE_UPWARD);
        hold();
    }
    ~Direction() {
        hold();
        std::fesetround(before_);
    }

private:
    int before_;
#endif
};

template <u16 Op, class T> T calculate(T x, T y, T z) {
    switch (Op) {
        case 0: return x + y;
        case 1: return x - y;
        case 2: return x * y;
        case 3: return std::fma(x, y, z);
        case 4: return x / y;
        case 5: return T(1) / x;
        default: return std::sqrt(x);
    }
}

template <u16 Op, class T> void each_lane(Ctx& c, const Insn& i) {
    using S = std::conditional_t<sizeof(T) == 8, u64, u32>;
    auto* d = c.dst<S>(i.d);
    const S* a = c.src<S>(i.a);
    const S* b = i.b == none ? a : c.src<S>(i.b);
    const S* e = i.c == none ? a : c.src<S>(i.c);
    const bool flushes = sizeof(T) == 4 && i.flags & ftz, clamps = i.flags & sat;
    Direction direction(i.flags);
#pragma GCC ivdep
    for (u32 l = 0; l < warp_lanes; ++l) {
        T x = std::bit_cast<T>(a[l]), y = std::bit_cast<T>(b[l]), z = std::bit_cast<T>(e[l]);
        if constexpr (sizeof(T) == 4) if (flushes) { x = flush(x); y = flush(y); z = flush(z); }
        T r = calculate<Op>(x, y, z);
        if constexpr (sizeof(T) == 4) if (flushes) r = flush(r);
        if (clamps) r = clamp01(r);
        d[l] = c.m[l] ? std::bit_cast<S>(r) : d[l];
    }
}

template <class T> void directed_op(Ctx& c, const Insn& i) {
    switch (i.mode) {
        case 0: return each_lane<0, T>(c, i);
        case 1: return each_lane<1, T>(c, i);
        case 2: return each_lane<2, T>(c, i);
        case 3: return each_lane<3, T>(c, i);
        case 4: return each_lane<4, T>(c, i);
        case 5: return each_lane<5, T>(c, i);
        default: return each_lane<6, T>(c, i);
    }
}

}  // namespace

void add_directed_ops(OpTable& t) {
    for (const char* op : {"add", "sub", "mul", "div"}) {
        t[std::string(op) + ".directed.f32"] = {directed_op<float>, "4=44", Class::fp32};
        t[std::string(op) + ".directed.f64"] = {directed_op<double>, "8=88", Class::fp64};
    }
    for (const char* op : {"fma", "mad"}) {
        t[std::string(op) + ".directed.f32"] = {directed_op<float>, "4=444", Class::fp32};
        t[std::string(op) + ".directed.f64"] = {directed_op<double>, "8=888", Class::fp64};
    }
    for (const char* op : {"rcp", "sqrt"}) {
        t[std::string(op) + ".directed.f32"] = {directed_op<float>, "4=4", Class::special};
        t[std::string(op) + ".directed.f64"] = {directed_op<double>, "8=8", Class::fp64};
    }
}

}  // namespace kgsim
