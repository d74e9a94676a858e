// Math functions by their names, for a run in exact arithmetic: each leaves a mark in the PTX, which the driver turns
// into an instruction of the simulator's own (native/ops_math.cpp). CUDA would expand it into steps of which nobody
// can tell the function any more.
//
// Included before anything else of the file, so that all later declarations of these names are renamed alike.
#pragma once
#include <cmath>
#include <math.h>

#ifdef __CUDA_ARCH__
#define KG_BODY(name, type, letter, reg) type y; asm("mov.f" letter " %0, %1; // math." name : "=" reg(y) : reg(x)); return y;
#define KG_BODY_2(name, type, letter, reg) type y; asm("add.f" letter " %0, %1, %2; // math." name : "=" reg(y) : reg(x), reg(z)); return y;
#else
#define KG_BODY(name, type, letter, reg) return x;
#define KG_BODY_2(name, type, letter, reg) return x;
#endif
#define KG_FUNCTION(name)                                                                                     \
    static __host__ __device__ inline float kg_##name##f(float x) { KG_BODY(#name, float, "32", "f") }         \
    static __host__ __device__ inline float kg_##name(float x) { return kg_##name##f(x); }                     \
    static __host__ __device__ inline double kg_##name(double x) { KG_BODY(#name, double, "64", "d") }         \
    static __host__ __device__ inline double kg_##name(int x) { return kg_##name(double(x)); }                 \
    namespace std { using ::kg_##name; using ::kg_##name##f; }

KG_FUNCTION(exp)
KG_FUNCTION(exp2)
KG_FUNCTION(exp10)
KG_FUNCTION(expm1)
KG_FUNCTION(log)
KG_FUNCTION(log2)
KG_FUNCTION(log10)
KG_FUNCTION(log1p)
KG_FUNCTION(tanh)
KG_FUNCTION(sinh)
KG_FUNCTION(cosh)
KG_FUNCTION(sin)
KG_FUNCTION(cos)
KG_FUNCTION(erf)
KG_FUNCTION(erfc)
KG_FUNCTION(normcdf)

static __host__ __device__ inline float kg_powf(float x, float z) { KG_BODY_2("pow", float, "32", "f") }
static __host__ __device__ inline float kg_pow(float x, float z) { return kg_powf(x, z); }
static __host__ __device__ inline double kg_pow(double x, double z) { KG_BODY_2("pow", double, "64", "d") }
static __host__ __device__ inline float kg_pow(float x, int z) { return kg_powf(x, float(z)); }
static __host__ __device__ inline double kg_pow(double x, int z) { return kg_pow(x, double(z)); }
static __host__ __device__ inline double kg_pow(float x, double z) { return kg_pow(double(x), z); }
static __host__ __device__ inline double kg_pow(double x, float z) { return kg_pow(x, double(z)); }
static __host__ __device__ inline double kg_pow(int x, int z) { return kg_pow(double(x), double(z)); }
namespace std { using ::kg_pow; using ::kg_powf; }

#define exp kg_exp
#define expf kg_expf
#define exp2 kg_exp2
#define exp2f kg_exp2f
#define exp10 kg_exp10
#define exp10f kg_exp10f
#define expm1 kg_expm1
#define expm1f kg_expm1f
#define log kg_log
#define logf kg_logf
#define log2 kg_log2
#define log2f kg_log2f
#define log10 kg_log10
#define log10f kg_log10f
#define log1p kg_log1p
#define log1pf kg_log1pf
#define tanh kg_tanh
#define tanhf kg_tanhf
#define sinh kg_sinh
#define sinhf kg_sinhf
#define cosh kg_cosh
#define coshf kg_coshf
#define sin kg_sin
#define sinf kg_sinf
#define cos kg_cos
#define cosf kg_cosf
#define erf kg_erf
#define erff kg_erff
#define erfc kg_erfc
#define erfcf kg_erfcf
#define normcdf kg_normcdf
#define normcdff kg_normcdff
#define pow kg_pow
#define powf kg_powf
