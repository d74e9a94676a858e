// One kernel that does what a list of operations says, so that any pattern of accesses is one list: simulator_fuzz.py.
struct Operation { int kind, factor, offset, modulus, period, below, divisor, shift; };
#ifndef NARROWEST
#define NARROWEST 1
#endif

enum { block_barrier, warp_barrier, fence, apart, shared_access = 10, global_access = 50 };

extern "C" __global__ void run(const Operation* list, int n, unsigned char* global, int global_bytes, float* out) {
    __shared__ __align__(16) unsigned char shared[4096];
    const int t = threadIdx.x + threadIdx.y * blockDim.x;
    unsigned acc = t;
    for (int k = 0; k < n; ++k) {
        const Operation o = list[k];
        if (o.kind == block_barrier) { __syncthreads(); continue; }
        if (o.kind == warp_barrier) { __syncwarp(); continue; }
        if (o.kind == fence) { __threadfence_block(); continue; }
        if (o.kind == apart) { if (t / 32 == o.factor % 8) continue; acc += 1; continue; }
        if ((t + o.shift) % o.period >= o.below) continue;
        const bool far = o.kind >= global_access;
        int x = ((o.factor * t) / o.divisor + o.offset + (far ? blockIdx.x * o.shift : 0)) % o.modulus;
        if (x < 0) x = -x;
        const unsigned v = o.kind & 1 ? acc : 7;
        unsigned char* p = far ? global : shared;
        const int bytes = far ? global_bytes : 4096;
        switch (o.kind - (far ? global_access : shared_access)) {
#if NARROWEST <= 1
            case 0: acc += p[x % bytes]; break;
            case 1: p[x % bytes] = v; break;
            case 2: acc += ((unsigned short*)p)[x % (bytes / 2)]; break;
            case 3: ((unsigned short*)p)[x % (bytes / 2)] = v; break;
            case 4: acc += ((signed char*)p)[x % bytes]; break;
#endif
#if NARROWEST <= 4
            case 5: acc += ((unsigned*)p)[x % (bytes / 4)]; break;
            case 6: ((unsigned*)p)[x % (bytes / 4)] = 3; break;
            case 7: ((unsigned*)p)[x % (bytes / 4)] = acc; break;
            case 8: atomicAdd((unsigned*)p + x % (bytes / 4), v); break;
            case 9: acc += *(volatile unsigned*)((unsigned*)p + x % (bytes / 4)); break;
            case 10: *(volatile unsigned*)((unsigned*)p + x % (bytes / 4)) = v; break;
#endif
#if NARROWEST <= 8
            case 11: acc += ((unsigned long long*)p)[x % (bytes / 8)]; break;
            case 12: ((unsigned long long*)p)[x % (bytes / 8)] = acc; break;
            case 13: { const uint2 q = ((uint2*)p)[x % (bytes / 8)]; acc += q.x ^ q.y; } break;
            case 14: ((uint2*)p)[x % (bytes / 8)] = make_uint2(v, acc); break;
#endif
            case 15: { const uint4 q = ((uint4*)p)[x % (bytes / 16)]; acc += q.x ^ q.y ^ q.z ^ q.w; } break;
            case 16: ((uint4*)p)[x % (bytes / 16)] = make_uint4(v, acc, 1, t); break;
            case 17: { const double2 q = ((double2*)p)[x % (bytes / 16)]; acc += (unsigned)q.x + (unsigned)q.y; } break;
            case 18: { ulonglong2 q; q.x = acc; q.y = v; ((ulonglong2*)p)[x % (bytes / 16)] = q; } break;
            case 19: if (!far) acc += ((unsigned*)(shared + 4000))[x % 40]; break;  // past the end at times
            default: break;
        }
    }
    out[blockIdx.x * blockDim.x * blockDim.y + t] = acc;
}
