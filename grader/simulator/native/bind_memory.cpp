// Binding loads, stores, atomics, asynchronous copies, warp and block synchronisation.
#include "atomic.hpp"
#include "link.hpp"

namespace kgsim {
namespace {

struct TypeWidth { std::string_view name; u8 width; };
constexpr TypeWidth type_widths[] = {
    {"b8", 1}, {"u8", 1}, {"s8", 1}, {"b16", 2}, {"u16", 2}, {"s16", 2}, {"f16", 2}, {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4},
    {"f32", 4}, {"f16x2", 4}, {"bf16x2", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8},
};
u8 width_of(std::string_view type) {
    for (auto& t : type_widths) if (t.name == type) return t.width;
    return 0;
}

bool space_of(std::string_view word, Space& space) {
    if (word == "global") space = Space::global;
    else if (word == "shared" || word == "shared::cta") space = Space::shared;
    else if (word == "local") space = Space::local;
    else if (word == "const") space = Space::constant;
    else if (word == "param" || word == "param::entry" || word == "param::func") space = Space::param;
    else return false;
    return true;
}

void note_granule(u32& granule, u32 width) { if (width < granule) granule = width; }

}  // namespace

// Base and offset of an address; mode bit 0 tells a 64-bit base.
bool Binder::address(const Operand& o, Insn& insn) {
    if (o.kind != Tok::mem || o.items.empty()) return false;
    const Operand& base = o.items[0];
    insn.imm = i64(o.addend);
    if (base.kind == Tok::var && insn.space == Space::param) {
        const Variable& v = f_.blob_.variables[base.value];
        if (v.space == var_entry) {
            for (const RawFormal& p : f_.raw_.parameters)
                if (p.variable == base.value) { insn.imm += i64(p.offset + base.addend); insn.space = Space::entry; return true; }
            return false;
        }
        insn.space = Space::local;
    }
    if (base.kind == Tok::var && insn.space == Space::shared && f_.blob_.variables[base.value].space != var_shared) return false;
    if (base.kind == Tok::reg && f_.raw_.registers[base.value] == 32) {
        insn.a = source(base, '4');
        if (insn.space != Space::local) return true;
        Insn whole;
        whole.run = run_local_pointer;
        whole.a = insn.a;
        whole.d = insn.a = temporary('8');
        whole.klass = Class::move;
        emit(whole);
    } else {
        insn.a = source(base, '8');
    }
    insn.mode |= 1;
    return true;
}

bool Binder::bind_memory() {
    Insn insn;
    insn.flow = Flow::own;
    const bool store = op_.base() == "st";
    u8 vec = 1;
    for (size_t k = 1; k + 1 < op_.words.size(); ++k) {
        auto w = op_.words[k];
        if (space_of(w, insn.space)) continue;
        if (w == "v2" || w == "v4" || w == "v8") vec = u8(w[1] - '0');
        else if (w == "volatile") insn.flags |= volatile_;
        else if (w == "relaxed" || w == "mmio") insn.flags |= strong;
        else if (w == "acquire" || w == "release") insn.flags |= strong | ordering;
        else if (w == "shared::cluster") return false;
    }
    auto type = op_.words.back();
    insn.width = width_of(type);
    if (!insn.width) return false;
    if (!store && type[0] == 's') insn.mode |= 2;
    const auto& ops = raw_.operands;
    if (ops.size() < 2) return false;
    const Operand& where = ops[store ? 0 : 1];
    const Operand& what = ops[store ? 1 : 0];
    const Operand& first = what.kind == Tok::vec && !what.items.empty() ? what.items[0] : what;
    bool wide = insn.width == 8;
    if (first.kind == Tok::reg && f_.raw_.registers[first.value] == 64) wide = true;
    if (wide) insn.mode |= 4;
    if (first.kind == Tok::reg && f_.raw_.registers[first.value] == 16) insn.mode |= 8;
    if (!address(where, insn)) return false;
    if (!list(what, insn, !store) || insn.vec != vec) return false;
    insn.run = store ? run_store : run_load;
    switch (insn.space) {
        case Space::entry:
            if (store) return false;
            insn.run = run_parameter;
            insn.klass = Class::load_const;
            break;
        case Space::param: insn.space = Space::generic; [[fallthrough]];
        case Space::generic:
        case Space::global: insn.klass = store ? Class::store_global : Class::load_global; break;
        case Space::shared: insn.klass = store ? Class::store_shared : Class::load_shared; break;
        case Space::local: insn.klass = store ? Class::store_local : Class::load_local; break;
        default: insn.klass = Class::load_const; break;
    }
    if ((insn.flags & (volatile_ | strong)) && (insn.space == Space::global || insn.space == Space::generic)) f_.code_.has_global_flags = true;
    if (insn.space == Space::shared || insn.space == Space::generic) note_granule(f_.code_.granule, insn.width);
    if (store && (insn.space == Space::global || insn.space == Space::generic)) {
        note_granule(f_.code_.global_granule, insn.width);
        note_granule(f_.code_.global_cell, u32(insn.width) * insn.vec);
    }
    emit(insn);
    return true;
}

bool Binder::bind_atomic() {
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::atomic;
    insn.run = run_atomic;
    int operation = -1;
    for (size_t k = 1; k + 1 < op_.words.size(); ++k) {
        auto w = op_.words[k];
        if (space_of(w, insn.space)) continue;
        int n = atomic_operation(w);
        if (n >= 0) operation = n;
        else if (w == "acquire" || w == "release" || w == "acq_rel") insn.flags |= ordering;
        else if (w == "async") return false;
    }
    const int type = atomic_type(op_.words.back());
    if (operation < 0 || type < 0) return false;
    insn.width = width_of(op_.words.back());
    insn.mode = u16(operation << 4 | type << 8);
    const char want = insn.width == 8 ? '8' : '4';
    const auto& ops = raw_.operands;
    const bool returns = op_.base() == "atom";
    const size_t first = returns ? 1 : 0, values = operation == atomic_cas ? 2 : 1;
    if (ops.size() < first + 1 + values || !address(ops[first], insn)) return false;
    if (insn.space != Space::shared && insn.space != Space::global && insn.space != Space::generic) return false;
    if (insn.space != Space::shared) f_.code_.has_global_atomics = true;
    if (insn.space != Space::global) note_granule(f_.code_.granule, insn.width);
    // A vector (sm_90) is an operation of its own for each element.
    const std::vector<Operand> single{ops[first + 1]};
    const auto& items = ops[first + 1].kind == Tok::vec ? ops[first + 1].items : single;
    for (size_t k = 0; k < items.size(); ++k) {
        insn.b = source(items[k], want);
        if (values == 2) insn.c = source(ops[first + 2], want);
        const Operand* to = !returns ? nullptr : ops[0].kind != Tok::vec ? &ops[0] : k < ops[0].items.size() ? &ops[0].items[k] : nullptr;
        if (to && to->kind != Tok::sink) insn.d = destination(*to, want, false);
        emit(insn);
        insn.imm += insn.width;
    }
    return true;
}

// cp.async.ca.shared.global [to], [from], size{, source size}; commit_group; wait_group n; wait_all.
bool Binder::bind_async_copy() {
    if (op_.words.size() < 3 || op_.words[1] != "async") return false;
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::other;
    auto what = op_.words[2];
    const auto& ops = raw_.operands;
    if (what == "commit_group") {
        insn.run = run_copy_commit;
    } else if (what == "wait_group" || what == "wait_all") {
        insn.run = run_copy_wait;
        insn.imm = what == "wait_all" ? 0 : ops.size() == 1 && ops[0].kind == Tok::integer ? i64(ops[0].addend) : -1;
        insn.mode = what == "wait_all";
        if (insn.imm < 0) return false;
    } else if (what == "ca" || what == "cg") {
        if (ops.size() < 3 || ops[2].kind != Tok::integer) return false;
        insn.space = Space::shared;
        if (!address(ops[0], insn)) return false;
        Insn from;
        from.space = Space::global;
        if (!address(ops[1], from) || !(from.mode & 1)) return false;
        insn.b = from.a;
        insn.list = u32(f_.code_.lists.size());  // the source's offset, in two words
        f_.code_.lists.push_back(u32(u64(from.imm)));
        f_.code_.lists.push_back(u32(u64(from.imm) >> 32));
        if (ops[2].addend != 4 && ops[2].addend != 8 && ops[2].addend != 16) return false;
        insn.width = u8(ops[2].addend);
        if (ops.size() > 3 && ops[3].kind != Tok::sink && !(ops[3].kind == Tok::reg && f_.raw_.registers[ops[3].value] == 64))
            insn.c = source(ops[3], '4');
        insn.run = run_copy;
        f_.code_.has_copies = true;
        insn.klass = Class::load_global;
    } else {
        return false;
    }
    emit(insn);
    return true;
}

bool Binder::bind_warp() {
    auto b = op_.base();
    const auto& ops = raw_.operands;
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::shuffle;
    auto dest = [&](size_t k, char want) { return destination(ops[k], want, false); };
    if (b == "activemask") {
        if (ops.size() != 1) return false;
        insn.run = run_active_mask;
        insn.d = dest(0, '4');
    } else if (b == "shfl") {
        if (!op_.has("sync") || ops.size() != 5 || op_.words.back() != "b32") return false;
        insn.mode = op_.has("up") ? 0 : op_.has("down") ? 1 : op_.has("bfly") ? 2 : 3;
        insn.a = source(ops[1], '4');
        insn.b = source(ops[2], '4');
        insn.c = source(ops[3], '4');
        insn.e = source(ops[4], '4');
        if (ops[0].kind == Tok::pair) {
            insn.d = destination(ops[0].items[0], '4', false);
            insn.d2 = destination(ops[0].items[1], 'p', false);
        } else {
            insn.d = dest(0, '4');
        }
        insn.run = run_shuffle;
    } else if (b == "vote") {
        if (!op_.has("sync") || ops.size() != 3) return false;
        insn.mode = op_.has("all") ? 0 : op_.has("any") ? 1 : op_.has("uni") ? 2 : 3;
        insn.a = source(ops[1], 'p');
        insn.e = source(ops[2], '4');
        insn.d = dest(0, insn.mode == 3 ? '4' : 'p');
        insn.run = run_vote;
    } else if (b == "match") {
        if (!op_.has("sync") || ops.size() != 3) return false;
        const bool wide = op_.words.back() == "b64";
        insn.mode = u16(op_.has("all") | wide << 1);
        insn.a = source(ops[1], wide ? '8' : '4');
        insn.e = source(ops[2], '4');
        const bool pair = ops[0].kind == Tok::pair;
        insn.d = destination(pair ? ops[0].items[0] : ops[0], '4', false);
        if (pair) insn.d2 = destination(ops[0].items[1], 'p', false);
        insn.run = run_match;
    } else if (b == "redux") {
        if (!op_.has("sync") || ops.size() != 3) return false;
        static constexpr std::string_view names[] = {"add", "min", "max", "and", "or", "xor"};
        for (u16 k = 0; k < 6; ++k) if (op_.has(names[k])) insn.mode = k;
        auto type = op_.words.back();
        if (type != "u32" && type != "s32" && type != "b32") return false;
        if (type == "s32") insn.mode |= 8;
        insn.a = source(ops[1], '4');
        insn.e = source(ops[2], '4');
        insn.d = dest(0, '4');
        insn.run = run_reduce;
    } else if (b == "elect") {
        if (ops.size() != 2 || ops[0].kind != Tok::pair) return false;
        insn.e = source(ops[1], '4');
        insn.d = destination(ops[0].items[0], '4', false);
        insn.d2 = destination(ops[0].items[1], 'p', false);
        insn.run = run_elect;
    } else if (op_.words.size() > 1 && op_.words[1] == "warp") {
        if (ops.size() != 1) return false;
        insn.e = source(ops[0], '4');
        insn.klass = Class::barrier;
        insn.run = run_warp_barrier;
    } else {
        if (op_.has("cluster")) return false;
        insn.klass = Class::barrier;
        const bool reduces = op_.has("red"), arrives = op_.has("arrive");
        size_t at = 0;
        if (reduces) {
            insn.mode = op_.has("popc") ? 2 : op_.has("and") ? 3 : 4;
            if (ops.size() < 3) return false;
            insn.d = dest(at++, insn.mode == 2 ? '4' : 'p');
            insn.c = source(ops.back(), 'p');
        }
        if (at >= ops.size()) return false;
        insn.a = source(ops[at++], '4');
        if (at < ops.size() - (reduces ? 1 : 0)) insn.b = source(ops[at], '4');
        if (arrives && insn.b == none) return false;
        insn.run = arrives ? run_arrive : run_barrier_result;
    }
    emit(insn);
    return true;
}

}  // namespace kgsim
