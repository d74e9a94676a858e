// Registers that a kernel may read before it writes them: a variable without a start value, which nvcc leaves as a
// register that no instruction on the way has set. They hold "poison" when a thread begins, as unwritten memory does.
#include <algorithm>

#include "link.hpp"

namespace kgsim {
namespace {

bool is_register(const Operand& o) { return o.kind == Tok::reg || o.kind == Tok::negated; }

// The registers that an instruction reads and always writes. A guarded one may leave its destination unchanged.
template <class Read, class Write>
void effects(const RawInsn& i, const Opcode& op, Read&& read, Write&& write) {
    const size_t first = has_destination(op) ? 1 : 0;
    for (size_t k = first; k < i.operands.size(); ++k)
        each_operand(i.operands[k], [&](const Operand& o) { if (is_register(o)) read(o.value); });
    if (i.guard) read((i.guard >> 1) - 1);
    if (!first || i.operands.empty()) return;
    const Operand& d = i.operands[0];
    if (d.kind == Tok::mem) each_operand(d.items, [&](const Operand& o) { if (is_register(o)) read(o.value); });
    else if (!i.guard) each_operand(d, [&](const Operand& o) { if (is_register(o)) write(o.value); });
}

struct Bits {
    std::vector<u64> words;
    bool has(u32 k) const { return words[k / 64] >> k % 64 & 1; }
    void add(u32 k) { words[k / 64] |= u64(1) << k % 64; }
};

struct Stretch {
    u32 first = 0, last = 0;  // instructions [first, last)
    std::vector<u32> after;
    Bits written, wanted;  // by this stretch; before a write of its own, by it or by what comes after it
};

std::vector<Stretch> cut(const std::vector<RawInsn>& insns, const std::vector<Opcode>& opcodes, u32 labels) {
    std::vector<Stretch> found(1);
    std::vector<u32> at(labels, 0);
    for (u32 k = 0; k < insns.size(); ++k) {
        const RawInsn& i = insns[k];
        if (i.is_label || (k && !insns[k - 1].is_label && ends_block(opcodes[insns[k - 1].opcode]))) {
            found.back().last = k;
            found.emplace_back().first = k;
        }
        if (i.is_label) at[i.opcode] = u32(found.size()) - 1;
    }
    found.back().last = u32(insns.size());
    for (u32 s = 0; s < found.size(); ++s) {
        Stretch& x = found[s];
        const RawInsn* end = x.first == x.last ? nullptr : &insns[x.last - 1];
        const auto base = end && !end->is_label ? opcodes[end->opcode].base() : std::string_view();
        const bool leaves = base == "bra" || base == "brx" || base == "ret" || base == "exit";
        if ((!leaves || end->guard) && s + 1 < found.size()) x.after.push_back(s + 1);
        if (base == "bra" || base == "brx")
            each_operand(end->operands, [&](const Operand& o) { if (o.kind == Tok::label) x.after.push_back(at[o.value]); });
    }
    return found;
}

}  // namespace

// Registers that nothing writes. In a language whose variables all have values (Triton) they are the compiler's own
// choice: bytes of a packed word that don't matter.
std::vector<bool> FunctionLinker::never_written() const {
    std::vector<bool> left(raw_.registers.size(), true);
    for (const RawInsn& i : insns_)
        if (!i.is_label && has_destination(kernel_.opcodes[i.opcode]) && !i.operands.empty() && i.operands[0].kind != Tok::mem)
            each_operand(i.operands[0], [&](const Operand& o) { if (is_register(o)) left[o.value] = false; });
    return left;
}

// Live at the entry, by the equations of any compiler's book; with the first instruction of the text that reads it.
// A register of one straight stretch is written there before it is read.
std::map<u32, u32> FunctionLinker::read_before_written() const {
    std::vector<u32> number(raw_.registers.size(), none);
    u32 n = 0;
    for (u32 reg = 0; reg < number.size(); ++reg) if (!local_[reg]) number[reg] = n++;
    std::vector<Stretch> all = cut(insns_, kernel_.opcodes, raw_.labels);
    std::map<u32, u32> first;
    for (Stretch& x : all) {
        x.written.words = x.wanted.words = std::vector<u64>(n / 64 + 1);
        const auto read = [&](u32 reg, u32 k) {
            if (number[reg] == none || x.written.has(number[reg])) return;
            x.wanted.add(number[reg]);
            first.try_emplace(reg, k);
        };
        const auto write = [&](u32 reg) { if (number[reg] != none) x.written.add(number[reg]); };
        for (u32 k = x.first; k < x.last; ++k)
            if (!insns_[k].is_label) effects(insns_[k], kernel_.opcodes[insns_[k].opcode], [&](u32 reg) { read(reg, k); }, write);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto x = all.rbegin(); x != all.rend(); ++x)
            for (u32 next : x->after)
                for (size_t w = 0; w < x->wanted.words.size(); ++w) {
                    const u64 more = all[next].wanted.words[w] & ~x->written.words[w] & ~x->wanted.words[w];
                    x->wanted.words[w] |= more;
                    changed |= more != 0;
                }
    }
    const std::vector<bool> of_choice = blob_.of_blocks ? never_written() : std::vector<bool>(raw_.registers.size());
    std::erase_if(first, [&](const auto& one) { return !all[0].wanted.has(number[one.first]) || of_choice[one.first]; });
    return first;
}

}  // namespace kgsim
