// Binding what moves values, sets them by a comparison, carries, or converts addresses.
#include "link.hpp"

namespace kgsim {

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
    const bool local = op_.has("local") && !op_.has("to");
    const char want = op_.words.back() == "u32" ? '4' : '8';
    insn.a = source(ops[1], '8');
    insn.d = destination(ops[0], '8', false);
    if (want != '8') return false;
    insn.run = shared ? run_shared_base : local ? run_local_pointer : op_table().at("mov.b64").run;
    insn.mode = local || op_.has("to");
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
