// Operands of instructions: registers, constants, special registers, addresses of variables.
#include "link.hpp"

namespace kgsim {
namespace {

template <class T> void narrow_register(Ctx& c, const Insn& i) {
    auto* d = c.dst<u32>(i.d);
    const auto* a = c.src<u64>(i.a);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? u32(T(a[l])) : d[l];
}
template <class T> void widen_register(Ctx& c, const Insn& i) {
    auto* d = c.dst<u64>(i.d);
    const auto* a = c.src<u32>(i.a);
    for (u32 l = 0; l < warp_lanes; ++l) d[l] = c.m[l] ? u64(i64(T(a[l]))) : d[l];
}

const struct { std::string_view name; u16 number; } specials[] = {
    {"%tid.x", tid_x}, {"%tid.y", tid_y}, {"%tid.z", tid_z}, {"%ntid.x", ntid_x}, {"%ntid.y", ntid_y}, {"%ntid.z", ntid_z},
    {"%ctaid.x", ctaid_x}, {"%ctaid.y", ctaid_y}, {"%ctaid.z", ctaid_z}, {"%nctaid.x", nctaid_x}, {"%nctaid.y", nctaid_y},
    {"%nctaid.z", nctaid_z}, {"%laneid", laneid}, {"%warpid", warpid}, {"%nwarpid", nwarpid}, {"%smid", smid}, {"%nsmid", nsmid},
    {"%lanemask_eq", mask_eq}, {"%lanemask_lt", mask_lt}, {"%lanemask_le", mask_le}, {"%lanemask_gt", mask_gt},
    {"%lanemask_ge", mask_ge}, {"%clock", clock_}, {"%clock_hi", clock_hi}, {"%clock64", clock64}, {"%globaltimer", timer},
    {"%globaltimer_lo", timer_lo}, {"%globaltimer_hi", timer_hi}, {"%dynamic_smem_size", dynamic_smem}, {"%total_smem_size", total_smem},
    {"%aggr_smem_size", total_smem}, {"%envreg1", grid_high}, {"%envreg2", grid_low}, {"%gridid", zero_}, {"%is_explicit_cluster", zero_}, {"%cluster_ctaid.x", zero_},
    {"%cluster_ctaid.y", zero_}, {"%cluster_ctaid.z", zero_}, {"%cluster_ctarank", zero_}, {"%cluster_nctarank", one_},
    {"%cluster_nctaid.x", one_}, {"%cluster_nctaid.y", one_}, {"%cluster_nctaid.z", one_}, {"%clusterid.x", ctaid_x},
    {"%clusterid.y", ctaid_y}, {"%clusterid.z", ctaid_z}, {"%nclusterid.x", nctaid_x}, {"%nclusterid.y", nctaid_y},
    {"%nclusterid.z", nctaid_z}, {"%current_graph_exec", zero_}, {"%reserved_smem_offset_begin", zero_}, {"%reserved_smem_offset_end", zero_},
    {"%reserved_smem_offset_cap", zero_}, {"%reserved_smem_offset_0", zero_}, {"%reserved_smem_offset_1", zero_},
};

}  // namespace

u16 special_number(std::string_view name) {
    for (auto& s : specials) if (s.name == name) return s.number;
    return unknown_special;
}

bool Binder::is_signed_type() const { return op_.words.back()[0] == 's'; }

Insn& Binder::emit(Insn insn) {
    insn.loc = raw_.loc;
    insn.opcode = raw_.opcode;
    insn.id = u32(f_.code_.insns.size());
    if (raw_.guard) insn.guard = operand(Kind::pred, f_.predicate((raw_.guard >> 1) - 1), raw_.guard & 1);
    f_.code_.insns.push_back(insn);
    return f_.code_.insns.back();
}

u32 Binder::temporary(char want) {
    int words = want == '8' ? 2 : 1;
    u32 slot = f_.take_slot(words);
    f_.temporaries_.push_back({slot, words});
    return operand(Kind::reg, slot);
}

void Binder::special(u32 name, u32 d, bool wide) {
    Insn i;
    i.mode = special_number(f_.blob_.strings[name]);
    i.run = i.mode == unknown_special ? run_unsupported : run_special;
    i.d = d;
    i.width = wide ? 8 : 4;
    i.klass = Class::move;
    emit(i);
}

void Binder::local_address(u32 d, u32 variable, u64 addend) {
    auto it = f_.frame_.find(variable);
    Insn i;
    i.run = run_local_address;
    i.d = d;
    i.imm = i64((it == f_.frame_.end() ? 0 : it->second) + addend);
    i.klass = Class::move;
    if (it == f_.frame_.end()) failed_ = true;
    emit(i);
}

u32 Binder::source(const Operand& o, char want) {
    const bool wide = want == '8';
    switch (o.kind) {
        case Tok::reg: {
            char width = f_.raw_.registers[o.value];
            if (want == 'p' || width == 1) {
                if (want != 'p' || width != 1) failed_ = true;
                return operand(Kind::pred, width == 1 ? f_.predicate(o.value) : 0);
            }
            if (u8(width) == 128) { failed_ = true; return 0; }
            u32 reg = operand(Kind::reg, f_.register_slot(o.value));
            if ((width == 64) == wide) return reg;
            Insn i;
            i.run = wide ? widen_register<u32> : narrow_register<u32>;
            i.a = reg;
            i.d = temporary(want);
            i.klass = Class::move;
            emit(i);
            return i.d;
        }
        case Tok::negated: if (want != 'p') failed_ = true; return operand(Kind::pred, f_.predicate(o.value), true);
        case Tok::integer:
            if (want == 'p') return operand(Kind::truth, o.addend != 0);
            return f_.kernel_.constant(wide ? o.addend : u32(o.addend), wide ? 8 : 4);
        case Tok::f32:
            return f_.kernel_.constant(wide ? std::bit_cast<u64>(double(std::bit_cast<float>(u32(o.addend)))) : o.addend, wide ? 8 : 4);
        case Tok::f64:
            return f_.kernel_.constant(wide ? o.addend : std::bit_cast<u32>(float(std::bit_cast<double>(o.addend))), wide ? 8 : 4);
        case Tok::func: return f_.kernel_.constant(function_address + 16 * u64(o.value), wide ? 8 : 4);
        case Tok::special: {
            u32 d = temporary(want);
            special(o.value, d, wide);
            return d;
        }
        case Tok::var: {
            const Variable& v = f_.blob_.variables[o.value];
            if (v.space == var_shared) {
                auto it = f_.kernel_.shared_offset.find(o.value);
                if (it == f_.kernel_.shared_offset.end()) failed_ = true;
                return f_.kernel_.constant((it == f_.kernel_.shared_offset.end() ? 0 : it->second) + o.addend, wide ? 8 : 4);
            }
            if (v.address) return f_.kernel_.constant(v.address + o.addend, wide ? 8 : 4);
            if (!wide && v.space == var_entry) { failed_ = true; return 0; }
            u32 d = temporary('8');
            if (v.space == var_entry) {
                Insn i;
                i.run = run_parameter_address;
                i.d = d;
                for (const RawFormal& p : f_.raw_.parameters) if (p.variable == o.value) i.imm = p.offset;
                i.imm += i64(o.addend);
                i.klass = Class::move;
                emit(i);
            } else {
                local_address(d, o.value, o.addend);
            }
            if (wide) return d;
            Insn half;
            half.run = narrow_register<u32>;
            half.a = d;
            half.d = temporary('4');
            half.klass = Class::move;
            emit(half);
            return half.d;
        }
        default: failed_ = true; return 0;
    }
}

u32 Binder::destination(const Operand& o, char want, bool is_signed) {
    if (o.kind == Tok::sink) return want == 'p' ? none : temporary(want);
    if (o.kind != Tok::reg) { failed_ = true; return none; }
    char width = f_.raw_.registers[o.value];
    if (want == 'p' || width == 1) {
        if (want != 'p' || width != 1) failed_ = true;
        return operand(Kind::pred, width == 1 ? f_.predicate(o.value) : 0);
    }
    if (u8(width) == 128) { failed_ = true; return none; }
    u32 reg = operand(Kind::reg, f_.register_slot(o.value));
    if ((width == 64) == (want == '8')) return reg;
    Insn i;
    i.run = want == '8' ? narrow_register<u32> : is_signed ? widen_register<i32> : widen_register<u32>;
    i.a = temporary(want);
    i.d = reg;
    i.klass = Class::move;
    after_.push_back(i);
    return i.a;
}

bool Binder::list(const Operand& o, Insn& insn, bool is_destination) {
    const std::vector<Operand> single{o};
    const auto& items = o.kind == Tok::vec ? o.items : single;
    if (items.empty() || items.size() > 8) return false;
    const bool wide = insn.mode & 4;
    std::vector<u32> words;
    for (const Operand& item : items)
        words.push_back(is_destination ? destination(item, wide ? '8' : '4', false) : source(item, wide ? '8' : '4'));
    insn.list = u32(f_.code_.lists.size());
    insn.vec = u8(items.size());
    f_.code_.lists.insert(f_.code_.lists.end(), words.begin(), words.end());
    return true;
}

}  // namespace kgsim
