// Moving elements between registers and memory, lane by lane.
#include "access.hpp"

namespace kgsim {
namespace {

template <class T> u64 extended(T v, bool is_signed) {
    return is_signed ? u64(i64(std::make_signed_t<T>(v))) : u64(v);
}

// Loads one element of all lanes; lanes of the mask that are not in `lanes` read the value of absent memory.
template <class T> void gather(Ctx& c, const Insn& i, const u64* host, u32 element, u32 dst, u32 lanes) {
    const bool sign = i.mode & 2, wide = i.mode & 4;
    const u64 keep = i.mode & 8 ? 0xffff : ~u64(0);
    if (sizeof(T) == 4 && !wide && lanes == c.mask) {  // the others have the first one's address
        u32* d = c.dst<u32>(dst);
        alignas(64) u32 brought[warp_lanes];
        for (u32 l = 0; l < warp_lanes; ++l) std::memcpy(&brought[l], reinterpret_cast<const u8*>(host[l]) + element, 4);
        for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? brought[l] : d[l];
        return;
    }
    const T outside = T(c.launch->options.outside);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(c.mask >> l & 1)) continue;
        T v = outside;
        if (lanes >> l & 1) std::memcpy(&v, reinterpret_cast<const u8*>(host[l]) + element, sizeof v);
        u64 r = extended(v, sign) & keep;
        if (wide) c.dst<u64>(dst)[l] = r;
        else c.dst<u32>(dst)[l] = u32(r);
    }
}

}  // namespace

void gather_all(Ctx& c, const Insn& i, const u64* host, u32 lanes) {
    const u32* list = c.code->lists.data() + i.list;
    for (u32 k = 0; k < i.vec; ++k) {
        switch (i.width) {
            case 1: gather<u8>(c, i, host, k, list[k], lanes); break;
            case 2: gather<u16>(c, i, host, k * 2, list[k], lanes); break;
            case 4: gather<u32>(c, i, host, k * 4, list[k], lanes); break;
            default: gather<u64>(c, i, host, k * 8, list[k], lanes); break;
        }
    }
}

namespace {

// Writes one element; returns the lanes whose memory it changed.
template <class T> u32 scatter(Ctx& c, const Insn& i, const u64* host, u32 element, u32 src, u32 lanes) {
    const bool wide = i.mode & 4;
    const u64* s8 = wide ? c.src<u64>(src) : nullptr;
    const u32* s4 = wide ? nullptr : c.src<u32>(src);
    u32 changed = 0;
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        T v = wide ? T(s8[l]) : T(s4[l]), old;
        u8* p = reinterpret_cast<u8*>(host[l]) + element;
        std::memcpy(&old, p, sizeof v);
        changed |= u32(old != v) << l;
        std::memcpy(p, &v, sizeof v);
    }
    return changed;
}

}  // namespace

u32 scatter_all(Ctx& c, const Insn& i, const u64* host, u32 lanes) {
    const u32* list = c.code->lists.data() + i.list;
    u32 changed = 0;
    for (u32 k = 0; k < i.vec; ++k) {
        switch (i.width) {
            case 1: changed |= scatter<u8>(c, i, host, k, list[k], lanes); break;
            case 2: changed |= scatter<u16>(c, i, host, k * 2, list[k], lanes); break;
            case 4: changed |= scatter<u32>(c, i, host, k * 4, list[k], lanes); break;
            default: changed |= scatter<u64>(c, i, host, k * 8, list[k], lanes); break;
        }
    }
    return changed;
}

namespace {

template <class T> u32 differs(Ctx& c, const Insn& i, const u64* host, u32 lanes) {
    const u32* list = c.code->lists.data() + i.list;
    const bool wide = i.mode & 4;
    u32 changed = 0;
    for (u32 k = 0; k < i.vec; ++k) {
        const u64* s8 = wide ? c.src<u64>(list[k]) : nullptr;
        const u32* s4 = wide ? nullptr : c.src<u32>(list[k]);
        for (u32 rest = lanes; rest; rest &= rest - 1) {
            const u32 l = u32(std::countr_zero(rest));
            T old, v = wide ? T(s8[l]) : T(s4[l]);
            std::memcpy(&old, reinterpret_cast<const u8*>(host[l]) + k * sizeof(T), sizeof old);
            changed |= u32(old != v) << l;
        }
    }
    return changed;
}

}  // namespace

u32 would_change(Ctx& c, const Insn& i, const u64* host, u32 lanes) {
    switch (i.width) {
        case 1: return differs<u8>(c, i, host, lanes);
        case 2: return differs<u16>(c, i, host, lanes);
        case 4: return differs<u32>(c, i, host, lanes);
        default: return differs<u64>(c, i, host, lanes);
    }
}

}  // namespace kgsim
