// The instructions of a function, out of a blob's words.
#include <stdexcept>

#include "blob.hpp"

namespace kgsim {
namespace {

class Operands {
public:
    Operands(const Blob& blob, const RawFunction& function, const std::vector<u32>& words) : blob_(blob), function_(function), words_(words) {}
    size_t at = 0;
    bool more() const { return at < words_.size(); }
    u32 word() {
        if (!more()) no_program("code ends early");
        return words_[at++];
    }
    Operand operand(int depth = 0) {
        if (depth > 3) no_program("nesting");
        u32 w = word();
        Operand o;
        o.kind = Tok(w >> 28);
        o.value = w & 0xfffffff;
        switch (o.kind) {
            case Tok::reg: within(function_.registers.size(), o.value); break;
            case Tok::negated:
                within(function_.registers.size(), o.value);
                if (function_.registers[o.value] != 1) no_program("negation");
                break;
            case Tok::integer: case Tok::f32: case Tok::f64: o.addend = constant(o.value); break;
            case Tok::var: within(blob_.variables.size(), o.value); o.addend = constant(word()); break;
            case Tok::func: within(blob_.functions.size(), o.value); break;
            case Tok::label: within(function_.labels, o.value); break;
            case Tok::special: within(blob_.strings.size(), o.value); break;
            case Tok::mem:
                o.items.push_back(operand(depth + 1));
                o.addend = constant(word());
                break;
            case Tok::vec: case Tok::pair: {
                u32 n = o.kind == Tok::pair ? 2 : o.value;
                if (n > words_.size()) no_program("vector");
                for (u32 k = 0; k < n; ++k) o.items.push_back(operand(depth + 1));
                break;
            }
            case Tok::sink: break;
            case Tok::targets:
                for (u32 k = 0; k < o.value; ++k) {
                    Operand t;
                    t.kind = Tok::label;
                    within(function_.labels, t.value = word());
                    o.items.push_back(t);
                }
                break;
            default: no_program("operand");
        }
        return o;
    }

private:
    void within(size_t size, u32 index) const { if (index >= size) no_program("operand index"); }
    u64 constant(u32 index) const {
        within(blob_.constants.size(), index);
        return blob_.constants[index];
    }
    const Blob& blob_;
    const RawFunction& function_;
    const std::vector<u32>& words_;
};

}  // namespace

std::vector<RawInsn> Blob::read(const RawFunction& function, const std::vector<u32>& words) const {
    std::vector<RawInsn> insns;
    Operands in(*this, function, words);
    while (in.more()) {
        RawInsn i;
        i.opcode = in.word();
        if (i.opcode == none) {
            i.is_label = true;
            i.opcode = in.word();
            if (i.opcode >= function.labels) no_program("label");
            insns.push_back(std::move(i));
            continue;
        }
        i.guard = in.word();
        i.loc = in.word();
        u32 n = in.word();
        if (n > 64) no_program("operands");
        for (u32 k = 0; k < n; ++k) i.operands.push_back(in.operand());
        insns.push_back(std::move(i));
    }
    return insns;
}

std::vector<RawInsn>& Blob::instructions(u32 function) const {
    auto [known, fresh] = known_instructions.try_emplace(function);
    try {
        if (fresh) known->second = read(functions[function], functions[function].code);
    } catch (...) {
        known_instructions.erase(known);
        throw;
    }
    return known->second;
}

void Blob::forget_linked(u32 function) {
    std::erase_if(linked, [&](const auto& one) { return one.second->function_index[function] != none; });
}

}  // namespace kgsim
