// Binding instructions to handlers: operands, widths, and the families that a table holds.
#include "convert.hpp"
#include "link.hpp"

namespace kgsim {

void add_directed_ops(OpTable& table);

const OpTable& op_table() {
    static const OpTable table = [] {
        OpTable t;
        add_integer_ops(t);
        add_bit_ops(t);
        add_float_ops(t);
        add_directed_ops(t);
        add_half_ops(t);
        return t;
    }();
    return table;
}

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

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    for (auto w : words) if (w == word) return true;
    return false;
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
            if (!wide) { failed_ = true; return 0; }
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
            return d;
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

void Binder::bind() {
    const size_t before = f_.code_.insns.size();
    if (op_.text[0] != '!' && try_bind() && !failed_) {
        for (Insn& i : after_) emit(i);
        return;
    }
    f_.code_.insns.resize(before);
    Insn i;
    i.run = run_unsupported;
    emit(i);
}

bool Binder::try_bind() {
    auto b = op_.base();
    if (b == "mov") return bind_move();
    if (one_of(b, {"ld", "ldu", "st"})) return bind_memory();
    if (one_of(b, {"atom", "red"})) return bind_atomic();
    if (b == "cp") return bind_async_copy();
    if (one_of(b, {"shfl", "vote", "match", "redux", "elect", "activemask", "bar", "barrier"})) return bind_warp();
    if (one_of(b, {"mma", "ldmatrix", "stmatrix", "wmma", "movmatrix"})) return bind_matrix();
    if (one_of(b, {"cvta", "isspacep", "mapa", "getctarank"})) return bind_address_space();
    if (b == "set") return bind_set();
    if (b == "addc" || b == "subc" || b == "madc" || op_.has("cc")) return bind_carry();
    if (b == "cvt") {
        Insn insn;
        std::string signature;
        if (!bind_convert(op_.words, insn, signature)) return false;
        if (raw_.operands.size() < 2 || raw_.operands[0].kind != Tok::reg) return false;
        insn.width = u8(f_.raw_.registers[raw_.operands[0].value]);
        const bool sign = op_.words[op_.words.size() - 2][0] == 's';
        size_t eq = signature.find('=');
        insn.d = destination(raw_.operands[0], signature[0], sign);
        if (raw_.operands.size() != signature.size() - eq) return false;
        insn.a = source(raw_.operands[1], signature[eq + 1]);
        if (signature.size() > eq + 2) insn.b = source(raw_.operands[2], signature[eq + 2]);
        emit(insn);
        return true;
    }
    return bind_misc() || bind_table();
}

bool Binder::bind_table() {
    Insn insn;
    auto base = op_.base();
    std::string key(base), with_flags;
    const auto& words = op_.words;
    bool is_float = !words.empty() && (words.back() == "f32" || words.back() == "f64");
    for (size_t k = 1; k < words.size(); ++k) {
        auto w = words[k];
        if (one_of(w, {"rn", "approx", "full", "uni"})) continue;
        if (w == "rz") { insn.flags |= rz; continue; }
        if (w == "rm") { insn.flags |= rm; continue; }
        if (w == "rp") { insn.flags |= rp; continue; }
        if (w == "ftz") { insn.flags |= ftz; continue; }
        if (w == "sat") { insn.flags |= sat; continue; }
        if (w == "relu") { insn.flags |= relu; continue; }
        if (base == "setp" && k >= 2 && one_of(w, {"and", "or", "xor"})) { insn.mode = w == "and" ? 1 : w == "or" ? 2 : 3; continue; }
        key += "." + std::string(w);
    }
    if (is_float && insn.flags & directed) {
        static constexpr std::string_view order[] = {"add", "sub", "mul", "fma", "div", "rcp", "sqrt"};
        for (u16 n = 0; n < 7; ++n) if (base == order[n] || (base == "mad" && n == 3)) insn.mode = n;
        key = std::string(base) + ".directed." + std::string(words.back());
    } else if (insn.flags & directed) {
        return false;
    }
    auto with = [&](bool f, bool s) {
        size_t dot = key.rfind('.');
        return key.substr(0, dot) + (f ? ".ftz" : "") + (s ? ".sat" : "") + key.substr(dot);
    };
    const OpTable& table = op_table();
    auto it = table.end();
    if (insn.flags & (ftz | sat)) it = table.find(with(insn.flags & ftz, insn.flags & sat));
    const bool half = words.back().find("f16") != std::string_view::npos;
    if (it == table.end() && (half || !(insn.flags & sat) || insn.flags & directed)) it = table.find(key);
    if (it == table.end() || (insn.flags & relu && base != "fma")) return false;
    insn.run = it->second.run;
    insn.klass = it->second.klass;
    if (base == "selp") insn.flow = Flow::select;
    if (key == "and.pred") insn.flow = Flow::conjunction;
    if (key == "or.pred") insn.flow = Flow::disjunction;
    return bind_signature(insn, it->second.signature);
}

bool Binder::bind_signature(Insn insn, std::string_view signature, size_t first) {
    size_t eq = signature.find('='), at = first;
    const auto& ops = raw_.operands;
    const bool optional = signature == "p=44p" || signature == "p=88p";
    const size_t sources = signature.size() - eq - 1;
    if (ops.size() < first + 1 + sources - (optional ? 1 : 0) || ops.size() > first + 1 + sources) return false;
    u32* places[] = {&insn.a, &insn.b, &insn.c, &insn.e};
    size_t n = 0;
    const Operand& d = ops[at++];
    for (char want : signature.substr(eq + 1)) {
        if (at >= ops.size()) break;
        if (want == '#') {
            if (ops[at].kind != Tok::integer) return false;
            insn.imm = i64(ops[at++].addend);
            continue;
        }
        if (n == 4) return false;
        *places[n++] = source(ops[at++], want);
    }
    if (d.kind == Tok::pair) {
        if (signature[0] != 'p') return false;
        insn.d = destination(d.items[0], 'p', false);
        insn.d2 = destination(d.items[1], 'p', false);
    } else {
        insn.d = destination(d, signature[0], is_signed_type());
    }
    if (insn.d == none && insn.d2 == none) insn.run = run_nothing;
    emit(insn);
    return true;
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

bool Binder::bind_move() {
    const auto& ops = raw_.operands;
    if (ops.size() != 2 || op_.words.size() != 2) return false;
    auto type = op_.words[1];
    if (type == "pred") return bind_table();
    const bool wide = type.ends_with("64");
    const char want = wide ? '8' : '4';
    Insn insn;
    insn.klass = Class::move;
    insn.flow = Flow::own;
    if (ops[0].kind == Tok::vec || ops[1].kind == Tok::vec) {
        const bool packs = ops[1].kind == Tok::vec;
        const Operand& parts = packs ? ops[1] : ops[0];
        insn.run = op_table().at("parts").run;
        const int bytes = wide ? 8 : type.ends_with("32") ? 4 : type.ends_with("16") ? 2 : 0;
        if (!bytes || parts.items.empty() || size_t(bytes) % parts.items.size() || bytes / parts.items.size() > 4) return false;
        insn.width = u8(size_t(bytes) / parts.items.size());
        insn.mode = packs ? 1 : 2;
        if (packs) {
            if (!list(parts, insn, false)) return false;
            insn.d = destination(ops[0], want, false);
        } else {
            insn.a = source(ops[1], want);
            if (!list(parts, insn, true)) return false;
        }
        emit(insn);
        return true;
    }
    if (ops[1].kind == Tok::special) {
        special(ops[1].value, destination(ops[0], want, false), wide);
        return true;
    }
    const char* names[] = {"mov.b16", "mov.b32", "mov.b64"};
    insn.run = op_table().at(names[wide ? 2 : type.ends_with("16") ? 0 : 1]).run;
    insn.flow = Flow::any;
    insn.a = source(ops[1], want);
    insn.d = destination(ops[0], want, false);
    emit(insn);
    return true;
}

// set.lt.u32.f32 d, a, b: a comparison whose result is a number.
bool Binder::bind_set() {
    if (op_.has("f16") || op_.has("bf16") || op_.has("f16x2") || op_.has("bf16x2")) return bind_table();
    if (op_.words.size() < 4 || raw_.operands.size() != 3) return false;
    auto to = op_.words[op_.words.size() - 2], from = op_.words.back();
    std::string key = "setp." + std::string(op_.words[1]) + (op_.has("ftz") ? ".ftz." : ".") + std::string(from);
    auto it = op_table().find(key);
    if (it == op_table().end() || !one_of(to, {"u32", "s32", "f32"})) return false;
    Insn test;
    test.run = it->second.run;
    test.klass = Class::compare;
    test.a = source(raw_.operands[1], it->second.signature[2]);
    test.b = source(raw_.operands[2], it->second.signature[2]);
    test.d = operand(Kind::pred, f_.code_.preds++);
    emit(test);
    Insn choose;
    choose.run = op_table().at("selp.b32").run;
    choose.flow = Flow::select;
    choose.klass = Class::move;
    choose.a = f_.kernel_.constant(to == "f32" ? 0x3f800000 : 0xffffffff, 4);
    choose.b = f_.kernel_.constant(0, 4);
    choose.c = test.d;
    choose.d = destination(raw_.operands[0], '4', false);
    emit(choose);
    return true;
}

bool Binder::bind_carry() {
    auto b = op_.base();
    const bool out = op_.has("cc"), in = b == "addc" || b == "subc" || b == "madc";
    Insn insn;
    const bool mad = b == "mad" || b == "madc";
    if (!mad && !one_of(b, {"add", "sub", "addc", "subc"})) return false;
    insn.mode = u16((mad ? op_.has("hi") : b[0] == 's') | in << 1 | out << 2 | (is_signed_type() ? 8 : 0));
    auto it = op_table().find((mad ? "madcarry." : "carry.") + std::string(op_.words.back()));
    if (it == op_table().end()) return false;
    insn.run = it->second.run;
    insn.klass = Class::integer;
    return bind_signature(insn, it->second.signature);
}

bool Binder::bind_address_space() {
    const auto& ops = raw_.operands;
    if (ops.size() < 2) return false;
    Insn insn;
    insn.klass = Class::integer;
    if (op_.base() == "isspacep") {
        insn.run = run_is_space;
        auto space = op_.words.back();
        insn.mode = space == "global" ? 0 : space.starts_with("shared") ? 1 : space == "local" ? 2 : space == "const" ? 3 : 4;
        insn.a = source(ops[1], '8');
        insn.d = destination(ops[0], 'p', false);
        emit(insn);
        return true;
    }
    if (op_.base() != "cvta") return false;
    const bool shared = op_.has("shared") || op_.has("shared::cta");
    const char want = op_.words.back() == "u32" ? '4' : '8';
    insn.a = source(ops[1], '8');
    insn.d = destination(ops[0], '8', false);
    if (want != '8') return false;
    insn.run = shared ? run_shared_base : op_table().at("mov.b64").run;
    insn.mode = op_.has("to");
    emit(insn);
    return true;
}

bool Binder::bind_misc() {
    auto b = op_.base();
    Insn insn;
    insn.klass = Class::control;
    insn.flow = Flow::own;
    if (b == "membar" || b == "fence") insn.run = run_fence;
    else if (one_of(b, {"prefetch", "prefetchu", "nanosleep", "discard", "applypriority", "pmevent", "griddepcontrol"})) insn.run = run_nothing;
    else if (b == "trap" || b == "brkpt") insn.run = run_trap;
    else if (b == "createpolicy") {
        if (raw_.operands.empty()) return false;
        insn.run = op_table().at("mov.b64").run;
        insn.a = f_.kernel_.constant(0, 8);
        insn.d = destination(raw_.operands[0], '8', false);
    } else return false;
    emit(insn);
    return true;
}

}  // namespace kgsim
