// f32 and f64 arithmetic rounded towards zero, down or up. Compiled with -frounding-math.
#include <cfenv>

#include "floats.hpp"

namespace kgsim {
namespace {

class Direction {
public:
    explicit Direction(u16 flags) : before_(std::fegetround()) {
        std::fesetround(flags & rz ? FE_TOWARDZERO : flags & rm ? FE_DOWNWARD : FE_UPWARD);
    }
    ~Direction() { std::fesetround(before_); }

private:
    int before_;
};

// The volatile values keep the operation between the changes of direction.
template <class T> T calculate(u16 op, T a, T b, T c) {
    volatile T x = a, y = b, z = c;
    volatile T r;
    switch (op) {
        case 0: r = x + y; break;
        case 1: r = x - y; break;
        case 2: r = x * y; break;
        case 3: r = std::fma(T(x), T(y), T(z)); break;
        case 4: r = x / y; break;
        case 5: r = T(1) / x; break;
        default: r = std::sqrt(T(x)); break;
    }
    return r;
}

template <class T> void directed_op(Ctx& c, const Insn& i) {
    using S = std::conditional_t<sizeof(T) == 8, u64, u32>;
    Direction direction(i.flags);
    auto* d = c.dst<S>(i.d);
    const S* a = c.src<S>(i.a);
    const S* b = i.b == none ? a : c.src<S>(i.b);
    const S* e = i.c == none ? a : c.src<S>(i.c);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        T x = std::bit_cast<T>(a[l]), y = std::bit_cast<T>(b[l]), z = std::bit_cast<T>(e[l]);
        if constexpr (sizeof(T) == 4) if (i.flags & ftz) { x = flush(x); y = flush(y); z = flush(z); }
        T r = calculate(i.mode, x, y, z);
        if constexpr (sizeof(T) == 4) if (i.flags & ftz) r = flush(r);
        if (i.flags & sat) r = clamp01(r);
        d[l] = std::bit_cast<S>(r);
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
