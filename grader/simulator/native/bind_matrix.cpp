// Binding of the tensor cores' instructions.
#include "matrix.hpp"

namespace kgsim {
namespace {

// Reads `m16n8k16`; what is no whole shape leaves the numbers as they are.
bool shape_of(std::string_view word, u32* mnk) {
    const char letters[] = {'m', 'n', 'k'};
    u32 found[3];
    size_t at = 0;
    for (int k = 0; k < 3; ++k) {
        if (at >= word.size() || word[at] != letters[k]) return false;
        ++at;
        u32 v = 0;
        while (at < word.size() && word[at] >= '0' && word[at] <= '9' && v < 1000) v = v * 10 + u32(word[at++] - '0');
        if (v == 0 || v > 32) return false;
        found[k] = v;
    }
    if (at == word.size()) std::copy(found, found + 3, mnk);
    return at == word.size();
}

// A type that no handler knows: 4-bit and 1-bit integers, smaller floats, doubles.
bool is_other_type(std::string_view w) {
    return w.size() > 1 && w.size() < 5 && (w[0] == 's' || w[0] == 'u' || w[0] == 'e' || w == "f64" || w == "b1") && w[1] >= '0' && w[1] <= '9';
}

// Of d, a, b, c.
bool can_multiply(const std::vector<u32>& types) {
    if (is_byte(types[1]) && is_byte(types[2]) && types[0] == s32 && types[3] == s32) return true;
    const bool into_float = (types[0] == f32 || types[0] == f16) && types[0] == types[3];
    if (is_quarter(types[1]) && is_quarter(types[2])) return into_float;
    return (types[0] == f32 || types[0] == f16) && types[1] == types[2] && types[1] <= f32;
}

}  // namespace

bool Binder::bind_matrix() {
    const auto b = op_.base();
    if (!op_.has("sync")) return false;
    if (b == "ldmatrix" || b == "stmatrix") return bind_matrix_rows(b == "stmatrix");
    u32 mnk[3] = {0, 0, 0};
    std::vector<u32> types;
    for (auto w : op_.words) {
        if (mnk[0] == 0 && shape_of(w, mnk)) continue;
        if (element(w) != unknown) types.push_back(element(w));
        else if (is_other_type(w)) return false;
    }
    if (!mnk[0]) return false;
    const bool wmma = b == "wmma";
    if (b == "mma" || (wmma && op_.words[1] == "mma")) return bind_matrix_product(wmma, mnk, types);
    if (wmma && op_.words.size() > 3 && (op_.words[1] == "load" || op_.words[1] == "store")) return bind_wmma_memory(mnk, types);
    return false;
}

Insn Binder::of_all_lanes() {
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::tensor;
    insn.e = f_.kernel_.constant(0xffffffff, 4);
    return insn;
}

// ldmatrix and stmatrix: one, two or four matrices of 8 by 8 halves.
bool Binder::bind_matrix_rows(bool store) {
    const auto& ops = raw_.operands;
    if (ops.size() != 2 || !op_.has("m8n8") || op_.words.back() != "b16") return false;
    Insn insn = of_all_lanes();
    insn.space = op_.has("shared") || op_.has("shared::cta") ? Space::shared : Space::generic;
    if (!address(ops[store ? 0 : 1], insn)) return false;
    const u16 base_mode = insn.mode & 1;
    insn.mode = 0;
    if (!list(ops[store ? 1 : 0], insn, !store) || (insn.vec != 1 && insn.vec != 2 && insn.vec != 4)) return false;
    insn.mode = u16(base_mode | (op_.has("trans") ? 2 : 0));
    insn.run = store ? run_store_matrix : run_load_matrix;
    insn.klass = store ? Class::store_shared : Class::load_shared;
    insn.width = 4;
    if (op_.has("trans")) f_.code_.granule = std::min<u32>(f_.code_.granule, 2);
    emit(insn);
    return true;
}

// Read by mma's and wmma's handlers: numbers of registers of d, a, b, c, the shape, their types, all operands.
struct Binder::MatrixWords {
    std::vector<u32> head, operands;

    MatrixWords(const u32* mnk) : head(11, 0) { std::copy(mnk, mnk + 3, head.begin() + 4); }
};

bool Binder::add_operand(MatrixWords& words, const Operand& o, int which, bool is_destination) {
    Insn dummy;
    auto& lists = f_.code_.lists;
    if (!list(o, dummy, is_destination)) return false;
    words.head[size_t(which)] = dummy.vec;
    words.operands.insert(words.operands.end(), lists.begin() + dummy.list, lists.end());
    lists.resize(dummy.list);
    return true;
}

bool Binder::emit_with(Insn insn, const MatrixWords& words) {
    auto& lists = f_.code_.lists;
    insn.list = u32(lists.size());
    lists.insert(lists.end(), words.head.begin(), words.head.end());
    lists.insert(lists.end(), words.operands.begin(), words.operands.end());
    emit(insn);
    return true;
}

bool Binder::bind_matrix_product(bool wmma, const u32* mnk, std::vector<u32> types) {
    const auto& ops = raw_.operands;
    if (ops.size() != 4) return false;
    if (wmma && types.size() == 2) types = {types[0], f16, f16, types[1]};
    if (types.size() != 4 || !can_multiply(types)) return false;
    if (!wmma && (mnk[0] != 16 || mnk[1] != 8 || !op_.has("row") || !op_.has("col"))) return false;
    MatrixWords words(mnk);
    std::copy(types.begin(), types.end(), words.head.begin() + 7);
    for (int which = 0; which < 4; ++which)
        if (!add_operand(words, ops[size_t(which)], which, which == 0)) return false;
    const u32 sizes[] = {mnk[0] * mnk[1], mnk[0] * mnk[2], mnk[2] * mnk[1], mnk[0] * mnk[1]};
    for (size_t which = 0; which < 4; ++which) {
        const u32 n = words.head[which] * per_register(types[which]) * warp_lanes;
        if (wmma ? n < sizes[which] : n != sizes[which]) return false;
    }
    Insn insn = of_all_lanes();
    insn.run = run_mma;
    insn.mode = u16(wmma | (op_.has("satfinite") ? saturating : 0));
    return emit_with(insn, words);
}

bool Binder::bind_wmma_memory(const u32* mnk, const std::vector<u32>& types) {
    const bool store = op_.words[1] == "store";
    const int which = op_.words[2] == "a" ? 1 : op_.words[2] == "b" ? 2 : op_.words[2] == "c" ? 3 : 0;
    const auto& ops = raw_.operands;
    if (ops.size() < 2 || types.size() != 1) return false;
    Insn insn = of_all_lanes();
    insn.space = op_.has("shared") || op_.has("shared::cta") ? Space::shared : op_.has("global") ? Space::global : Space::generic;
    MatrixWords words(mnk);
    words.head[7 + size_t(which)] = types[0];
    if (!address(ops[store ? 0 : 1], insn)) return false;
    const bool wide = insn.mode & 1;
    if (!add_operand(words, ops[store ? 1 : 0], which, !store)) return false;
    if (ops.size() > 2) insn.b = source(ops[2], '4');
    insn.mode = u16(1 | (store ? 2 : 0) | (op_.has("col") ? 4 : 0) | (wide ? 8 : 0));
    insn.flags = u16(which);
    insn.width = u8(4 / per_register(types[0]));
    insn.klass = insn.space == Space::shared ? (store ? Class::store_shared : Class::load_shared) : (store ? Class::store_global : Class::load_global);
    f_.code_.granule = std::min<u32>(f_.code_.granule, insn.width);
    if (store) f_.code_.global_granule = std::min<u32>(f_.code_.global_granule, insn.width);
    if (store) f_.code_.global_cell = std::min<u32>(f_.code_.global_cell, insn.width);
    insn.run = run_wmma_memory;
    return emit_with(insn, words);
}

}  // namespace kgsim
