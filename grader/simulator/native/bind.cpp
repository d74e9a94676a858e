// Binding instructions to handlers: the families that a table holds, and the way to all others.
#include "convert.hpp"
#include "link.hpp"

namespace kgsim {

void add_directed_ops(OpTable& table);
void add_packed_ops(OpTable& table);
void add_math_ops(OpTable& table);

const OpTable& op_table() {
    static const OpTable table = [] {
        OpTable t;
        add_integer_ops(t);
        add_bit_ops(t);
        add_float_ops(t);
        add_directed_ops(t);
        add_half_ops(t);
        add_packed_ops(t);
        add_math_ops(t);
        return t;
    }();
    return table;
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
    if (b == "mbarrier" || (b == "cp" && op_.words.size() > 2 && op_.words[2] == "mbarrier")) return bind_barrier_object();
    if (b == "cp") return bind_async_copy();
    if (one_of(b, {"shfl", "vote", "match", "redux", "elect", "activemask", "bar", "barrier"})) return bind_warp();
    if (one_of(b, {"mma", "ldmatrix", "stmatrix", "wmma", "movmatrix"})) return bind_matrix();
    if (one_of(b, {"cvta", "isspacep", "mapa", "getctarank"})) return bind_address_space();
    if (b == "set") return bind_set();
    if (b == "addc" || b == "subc" || b == "madc" || op_.has("cc")) return bind_carry();
    if (b == "cvt") {
        Insn insn;
        std::string signature;
        if (!bind_convert(op_.words, insn, signature)) return bind_named();
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
    if (bind_misc()) return true;
    return ((op_.has("approx") || op_.has("relu")) && bind_named()) || bind_table();
}

// An opcode that a table holds with all its words.
bool Binder::bind_named() {
    const auto it = op_table().find(std::string(op_.text));
    if (it == op_table().end()) return false;
    Insn insn;
    insn.run = it->second.run;
    insn.klass = it->second.klass;
    return bind_signature(insn, it->second.signature);
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

}  // namespace kgsim
