// Elements of the exact algebra on their way: through registers, memory, shuffles, atomics, matrices.
#include "exact.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "atomic.hpp"
#include "link.hpp"
#include "matrix.hpp"
#include "provenance.hpp"

namespace kgsim {
namespace {

template <class F> void each_lane(u32 mask, F&& f) {
    for (u32 rest = mask; rest; rest &= rest - 1) f(u32(std::countr_zero(rest)));
}
constexpr u32 cells_of(u32 width) { return width < 2 ? 0 : width / 2; }

}  // namespace

Exact& exact() {
    static Exact* e = new Exact;
    return *e;
}

Watcher* watcher_of(const Options& options) {
    if (options.exact) return &exact();
    return options.provenance ? &provenance() : nullptr;
}

void Exact::clear() {
    for (auto& [base, s] : shadows_) munmap(s.elements, s.bytes * sizeof(Residues));
    *this = Exact{};
}

void Exact::begin_launch(const Blob& blob, const Code& code, const std::string&) {
    auto [it, fresh] = known_.try_emplace(&code);
    plans_ = &it->second;
    opcodes_ = blob.strings;
    if (!fresh) return;
    for (const Insn& i : code.insns) it->second.push_back(plan_of(i, blob.strings[i.opcode]));
}

void Exact::begin_block(Block& b) {
    b.shared_elements.assign(b.window / 2 + 8, {});
    b.local_elements.clear();
}

void Exact::begin_warp(Warp& w, const Code& code) {
    w.elements.resize(size_t(code.slots + 2) * 2 * warp_lanes);
    w.held.assign(code.slots + 2, 0);
}

Residues Exact::get(const Ctx& c, u32 op, u32 lane, u32 cell) const {
    if (op == none || kind_of(op) != Kind::reg) return {};
    const u32 slot = slot_of(op) + cell / 2;
    return c.warp->held[slot] >> lane & 1 ? c.warp->elements[(slot * 2 + cell % 2) * warp_lanes + lane] : Residues{};
}

void Exact::put(Ctx& c, u32 op, u32 cells, u32 lane, const Residues* made) {
    if (op == none || kind_of(op) != Kind::reg) return;
    for (u32 k = 0; k < std::max(cells, 2u); k += 2) {
        const u32 slot = slot_of(op) + k / 2;
        const Residues low = k < cells ? made[k] : Residues{}, high = k + 1 < cells ? made[k + 1] : Residues{};
        c.warp->held[slot] = (c.warp->held[slot] & ~(1u << lane)) | u32(low || high) << lane;
        c.warp->elements[slot * 2 * warp_lanes + lane] = low;
        c.warp->elements[(slot * 2 + 1) * warp_lanes + lane] = high;
    }
}

u32 Exact::held(const Ctx& c, u32 op, u32 cells) const {
    if (op == none || kind_of(op) != Kind::reg) return 0;
    return c.warp->held[slot_of(op)] | (cells > 2 ? c.warp->held[slot_of(op) + 1] : 0);
}

// ---------------------------------------------------------------- memory

Residues* Exact::global(u64 address, bool make) {
    if (address - last_.base < last_.bytes) return last_.elements + (address - last_.base) / 2;
    auto it = shadows_.upper_bound(address);
    if (it != shadows_.begin() && address - std::prev(it)->first < std::prev(it)->second.bytes) {
        last_ = std::prev(it)->second;
        return global(address, false);
    }
    const auto region = make ? find_region(address) : std::nullopt;
    if (!region || !region->live || address >= region->base + region->size) return nullptr;
    Shadow s{region->base, region->size + 8, nullptr};
    s.elements = static_cast<Residues*>(untouched(s.bytes * sizeof(Residues)));
    if (!s.elements) throw std::bad_alloc();
    if (auto old = shadows_.find(region->base); old != shadows_.end()) munmap(old->second.elements, old->second.bytes * sizeof(Residues));
    last_ = shadows_[region->base] = s;
    return global(address, false);
}

Residues* Exact::cells(u64 address, u64* count) {
    Residues* first = global(address, true);
    *count = first ? (last_.base + last_.bytes - address) / 2 : 0;
    return first;
}

// Where the element of two bytes is kept; `address` is as the instruction has it.
Residues* Exact::at(Block& b, Space space, u64 address, bool make) {
    if (space != Space::shared && address - u64(b.shared) < b.window) address -= u64(b.shared), space = Space::shared;
    if (space == Space::shared) return address / 2 < b.shared_elements.size() ? &b.shared_elements[address / 2] : nullptr;
    if (address - u64(b.local) >= b.local_bytes) return global(address, make);
    if (make) return &b.local_elements[address];
    const auto it = b.local_elements.find(address);
    return it == b.local_elements.end() ? nullptr : &it->second;
}

void Exact::forget(u64 address, u64 size) {
    for (auto& [base, s] : shadows_) {
        const u64 from = std::max(base, address), to = std::min(base + s.bytes, address + size);
        if (from < to) std::fill(s.elements + (from - base) / 2, s.elements + (to - base + 1) / 2, Residues{});
    }
}

void Exact::renewed(u64 base, u64 size) {
    std::erase_if(shadows_, [&](const auto& one) {
        const Shadow& s = one.second;
        const bool there = s.base < base + std::max<u64>(size, 1) && base < s.base + s.bytes;
        if (there) munmap(s.elements, s.bytes * sizeof(Residues));
        return there;
    });
    last_ = {};
}

void Exact::copied(u64 to, u64 from, u64 size) {
    if (shadows_.empty()) return;
    const Residues* source = global(from, false);
    if (!source) return forget(to, size);
    const u64 known = std::min(size, last_.base + last_.bytes - from);
    std::vector<Residues> moved(source, source + known / 2);
    u64 room;
    if (Residues* target = cells(to, &room)) std::copy_n(moved.begin(), std::min<u64>(moved.size(), room), target);
}

void Exact::passed(Block& b, u64 to, u64 from, u32 bytes) {
    for (u32 k = 0; k < bytes; k += 2) {
        const Residues* known = at(b, Space::local, from + k, false);
        if (known || at(b, Space::local, to + k, false)) *at(b, Space::local, to + k, true) = known ? *known : Residues{};
    }
}

std::string Exact::unfollowed() const {
    std::string all;
    for (const std::string& one : unfollowed_) all += (all.empty() ? "" : ", ") + one;
    return all;
}

void Exact::load(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const u32* list = c.code->lists.data() + i.list;
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.vec; ++k) {
            Residues made[4];
            for (u32 n = 0; n < cells_of(i.width); ++n)
                if (const Residues* e = at(*c.block, i.space, a.at[l] + k * i.width + 2 * n, false)) made[n] = *e;
            put(c, list[k], i.mode & 4 ? 4 : 2, l, made);
        }
    });
}

// A kernel's argument loaded into a register is a number, whatever the register held.
void Exact::argument(Ctx& c, const Insn& i) {
    const u32* list = c.code->lists.data() + i.list;
    const Residues none_of_them[4] = {};
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.vec; ++k) put(c, list[k], i.mode & 4 ? 4 : 2, l, none_of_them);
    });
}

void Exact::store(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const u32* list = c.code->lists.data() + i.list;
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.vec; ++k)
            for (u32 n = 0; n < std::max(cells_of(i.width), 1u); ++n) {
                const Residues e = i.width > 1 ? get(c, list[k], l, n) : Residues{};
                if (Residues* to = at(*c.block, i.space, a.at[l] + k * i.width + 2 * n, bool(e))) *to = e;
            }
    });
}

// cp.async: what is in shared memory comes from global memory.
void Exact::copy(Ctx& c, const Insn& i) {
    Addresses to;
    addresses_of(c, i, to);
    u64 offset;
    std::memcpy(&offset, c.code->lists.data() + i.list, 8);
    const u64* from = c.src<u64>(i.b);
    const u32* sizes = i.c == none ? nullptr : c.src<u32>(i.c);
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.width; k += 2) {
            const Residues* e = !sizes || k < sizes[l] ? global(from[l] + offset + k, false) : nullptr;
            if (Residues* cell = at(*c.block, Space::shared, to.at[l] + k, false)) *cell = e ? *e : Residues{};
        }
    });
}

void Exact::atomic(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const int op = i.mode >> 4 & 15, type = i.mode >> 8;
    const u32 n = cells_of(i.width), pairs = type == type_f16x2 || type == type_bf16x2 ? 2 : 1;
    const bool floats = type >= type_f32;
    const Plan p{Step::add, type == type_f64 ? Format::f64 : type == type_f16 || type == type_f16x2 ? Format::f16
        : type == type_bf16 || type == type_bf16x2 ? Format::bf16 : Format::f32};
    std::unordered_map<u64, u64> now;  // bits of memory, as the lanes before leave them
    each_lane(c.mask, [&](u32 l) {
        const auto operand = [&](u32 from) { return from == none ? 0 : i.width == 8 ? c.src<u64>(from)[l] : u64(c.src<u32>(from)[l]); };
        Residues old[4], made[4];
        for (u32 k = 0; k < n; ++k) if (const Residues* e = at(*c.block, i.space, a.at[l] + 2 * k, false)) old[k] = *e;
        const u64 place = i.space == Space::shared ? u64(c.block->shared) + a.at[l] : a.at[l];
        const bool there = place - u64(c.block->shared) < c.block->window || c.launch->regions.find(place);
        auto [it, fresh] = now.try_emplace(place, 0);
        if (fresh && there) std::memcpy(&it->second, reinterpret_cast<const void*>(place), i.width);
        const u64 before = it->second, after = atomic_combine(op, type, before, operand(i.b), operand(i.c));
        it->second = after;
        const u32 source = op == atomic_cas ? i.c : i.b;
        for (u32 k = 0; k < n; ++k) {
            const Residues value = get(c, source, l, k);
            if (op == atomic_add && floats && k < pairs && (old[k] || value)) {
                const Residues was = old[k] ? old[k] : constant(number_of(p.format, before >> 16 * k));
                made[k] = was + (value ? value : constant(number_of(p.format, operand(i.b) >> 16 * k)));
            } else if (op == atomic_add && floats) continue;
            else made[k] = after == before ? old[k] : op == atomic_exch || op == atomic_cas || op == atomic_min || op == atomic_max ? value : Residues{};
        }
        for (u32 k = 0; k < n; ++k) if (Residues* e = at(*c.block, i.space, a.at[l] + 2 * k, bool(made[k]))) *e = made[k];
        put(c, i.d, i.width == 8 ? 4 : 2, l, old);
    });
}

void Exact::shuffle(Ctx& c, const Insn& i) {
    Residues before[warp_lanes][2];
    for (u32 l = 0; l < warp_lanes; ++l) for (u32 k = 0; k < 2; ++k) before[l][k] = get(c, i.a, l, k);
    each_lane(c.mask, [&](u32 l) {
        bool inside = false;
        put(c, i.d, 2, l, before[shuffle_source(c, i, l, inside)]);
    });
}

void Exact::parts(Ctx& c, const Insn& i) {
    const u32* list = c.code->lists.data() + i.list;
    const u32 each = cells_of(i.width), whole = each * i.vec;
    each_lane(c.mask, [&](u32 l) {
        Residues made[8];
        for (u32 k = 0; k < std::min(whole, 4u); ++k) made[k] = i.mode == 1 ? get(c, list[k / each], l, k % each) : get(c, i.a, l, k);
        if (i.mode == 1) return put(c, i.d, std::max(whole, 2u), l, made);
        for (u32 k = 0; k < i.vec; ++k) put(c, list[k], each, l, made + k * each);
    });
}

// ---------------------------------------------------------------- matrices

void Exact::product(Ctx& c, const Insn& i) {
    const Parts p = ::kgsim::parts(c, i);
    const auto take = [&](int which, u32 columns, u32 rows) {
        std::vector<Residues> m(size_t(rows) * columns);
        const u32 type = p.type(which), per = per_register(type);
        for (u32 r = 0; r < p.count(which); ++r)
            for (u32 l = 0; l < warp_lanes; ++l)
                for (u32 h = 0; h < per; ++h) {
                    const Cell2 x = place(i, p, which, l, r * per + h);
                    const u32 op = p.list(which)[r];
                    if (per > 2) { if (held(c, op, 2)) give_up("matrices of bytes"); }
                    Residues e = per > 2 ? Residues{} : get(c, op, l, h);
                    if (!e && per == 1) e = get(c, op, l, 1);
                    const double number = value_of(c.src<u32>(op)[l], h, type);
                    if (!e && number != 0) e = constant(number);
                    const size_t at = size_t(x.row) * columns + x.column;
                    if (at < m.size()) m[at] = e;
                }
        return m;
    };
    u32 any = 0;
    for (int which = 1; which < 4; ++which) for (u32 r = 0; r < p.count(which); ++r) any |= held(c, p.list(which)[r], 2);
    std::vector<Residues> d(any ? size_t(p.m()) * p.n() : 0);
    if (any) {
        const auto a = take(1, p.k(), p.m()), b = take(2, p.n(), p.k());
        d = take(3, p.n(), p.m());
        for (u32 row = 0; row < p.m(); ++row)
            for (u32 k = 0; k < p.k(); ++k)
                for (u32 column = 0; column < p.n(); ++column) {
                    const Residues x = a[row * p.k() + k], y = b[k * p.n() + column];
                    if (!x || !y) continue;
                    Residues& sum = d[row * p.n() + column];
                    sum = sum ? sum + x * y : x * y;
                }
    }
    const u32 per = per_register(p.type(0));
    for (u32 r = 0; r < p.count(0); ++r)
        each_lane(c.mask, [&](u32 l) {
            Residues made[2];
            for (u32 h = 0; any && h < std::min(per, 2u); ++h) {
                const Cell2 x = place(i, p, 0, l, r * per + h);
                made[h] = d[(x.row * p.n() + x.column) % d.size()];
            }
            put(c, p.list(0)[r], 2, l, made);
        });
}

// ldmatrix and stmatrix.
void Exact::rows(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const bool by_column = i.mode & 2, stores = i.run == run_store_matrix;
    const u32* list = c.code->lists.data() + i.list;
    for (u32 j = 0; j < i.vec; ++j)
        each_lane(c.mask, [&](u32 l) {
            Residues made[2];
            for (u32 h = 0; h < 2; ++h) {
                const u64 address = by_column ? a.at[8 * j + 2 * (l % 4) + h] + l / 4 * 2 : a.at[8 * j + l / 4] + l % 4 * 4 + 2 * h;
                Residues* cell = at(*c.block, i.space, address, stores);
                if (stores && cell) *cell = get(c, list[j], l, h);
                else if (cell) made[h] = *cell;
            }
            if (!stores) put(c, list[j], 2, l, made);
        });
}

// wmma.load and wmma.store.
void Exact::fragments(Ctx& c, const Insn& i) {
    const Parts p = ::kgsim::parts(c, i);
    const int which = i.flags & 3;
    const u32 columns = which == 1 ? p.k() : p.n(), rows = which == 2 ? p.k() : p.m(), per = per_register(p.type(which));
    const bool by_column = i.mode & 4, stores = i.mode & 2;
    Insn element = i;
    element.mode = i.mode & 8 ? 1 : 0;
    Addresses base;
    addresses_of(c, element, base);
    for (u32 r = 0; r < p.count(which); ++r)
        each_lane(c.mask, [&](u32 l) {
            Residues made[2];
            for (u32 h = 0; h < std::min(per, 2u); ++h) {
                const Cell2 x = place(i, p, which, l, r * per + h);
                const u64 leading = i.b != none ? c.src<u32>(i.b)[l] : by_column ? rows : columns;
                const u64 address = base.at[l] + 4 / per * (by_column ? x.column * leading + x.row : x.row * leading + x.column);
                Residues* cell = at(*c.block, i.space, address, stores);
                if (stores && cell) *cell = get(c, p.list(which)[r], l, h);
                else if (cell) made[h] = *cell;
            }
            if (!stores) put(c, p.list(which)[r], 2, l, made);
        });
}

void Exact::step(Ctx& c, const Insn& i) {
    static const Handler move_parts = op_table().at("parts").run;
    pending_ = false;
    if (i.run == run_load) return load(c, i);
    if (i.run == run_parameter) return argument(c, i);
    if (i.run == run_store) return store(c, i);
    if (i.run == run_atomic) return atomic(c, i);
    if (i.run == run_copy) return copy(c, i);
    if (i.run == run_shuffle) return shuffle(c, i);
    if (i.run == move_parts) return parts(c, i);
    if (i.run == run_mma) return product(c, i);
    if (i.run == run_load_matrix || i.run == run_store_matrix) return rows(c, i);
    if (i.run == run_wmma_memory) return fragments(c, i);
    if (i.d != none && kind_of(i.d) == Kind::reg) compute(c, i, plan(i));
}

}  // namespace kgsim
