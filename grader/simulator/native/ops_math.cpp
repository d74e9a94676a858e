// Math functions as one instruction each, in programs that are built for exact arithmetic (grader/build/stubs/exact).
#include "alu.hpp"
#include "floats.hpp"

namespace kgsim {
namespace {

double normal(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
double ten_to(double x) { return std::pow(10.0, x); }

// Only in a run that follows elements: elsewhere a program that wrote the driver's marks itself would compute what no GPU does.
template <Handler H> void followed(Ctx& c, const Insn& i) {
    if (c.watcher == nullptr) return c.halt(Status::unsupported, "a math function by its name, outside of exact arithmetic", &i);
    H(c, i);
}

template <double (*F)(double)> float rounded(float x) { return float(F(x)); }
template <double (*F)(double)> void one(OpTable& t, const std::string& name) {
    t["math." + name + ".f32"] = {followed<unary<float, float, rounded<F>>>, "4=4", Class::special};
    t["math." + name + ".f64"] = {followed<unary<double, double, F>>, "8=8", Class::special};
}
float power32(float x, float y) { return float(std::pow(double(x), double(y))); }
double power64(double x, double y) { return std::pow(x, y); }

}  // namespace

void add_math_ops(OpTable& t) {
    one<std::exp>(t, "exp"); one<std::exp2>(t, "exp2"); one<ten_to>(t, "exp10"); one<std::expm1>(t, "expm1");
    one<std::log>(t, "log"); one<std::log2>(t, "log2"); one<std::log10>(t, "log10"); one<std::log1p>(t, "log1p");
    one<std::tanh>(t, "tanh"); one<std::sinh>(t, "sinh"); one<std::cosh>(t, "cosh"); one<std::sin>(t, "sin"); one<std::cos>(t, "cos");
    one<std::erf>(t, "erf"); one<std::erfc>(t, "erfc"); one<normal>(t, "normcdf");
    t["math.pow.f32"] = {followed<binary<float, float, float, power32>>, "4=44", Class::special};
    t["math.pow.f64"] = {followed<binary<double, double, double, power64>>, "8=88", Class::special};
}

}  // namespace kgsim
