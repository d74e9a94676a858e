// One function of a kernel: its frame, its registers, its blocks of code.
#include <algorithm>
#include <stdexcept>

#include "atomic.hpp"
#include "link.hpp"

namespace kgsim {

namespace {

bool is_simple(const Insn& barrier) {
    return barrier.run == run_barrier_result && barrier.d == none && barrier.b == none && barrier.c == none && kind_of(barrier.a) == Kind::constant;
}

}  // namespace

FunctionLinker::FunctionLinker(KernelLinker& kernel, u32 linked)
    : kernel_(kernel), blob_(kernel.blob), code_(kernel.code), function_(kernel.code.functions[linked]),
      raw_(kernel.blob.functions[function_.module_index]), insns_(kernel.blob.instructions(function_.module_index)) {}

void FunctionLinker::lay_frame() {
    u32 at = 0;
    for (u32 v = 0; v < blob_.variables.size(); ++v) {
        const Variable& x = blob_.variables[v];
        if (x.function != i32(function_.module_index) || (x.space != var_param && x.space != var_local)) continue;
        if (x.size > (1 << 24)) throw std::runtime_error("a local variable is too large");
        at = up(at, x.align);
        frame_[v] = at;
        at += u32(x.size);
        if (at > (1 << 25)) throw std::runtime_error("too much local memory");
    }
    function_.frame_bytes = up(at, 16);
    auto places = [&](const std::vector<RawFormal>& formals, std::vector<Formal>& out) {
        for (const RawFormal& p : formals) {
            auto it = frame_.find(p.variable);
            out.push_back({it == frame_.end() ? 0 : it->second, it == frame_.end() ? 0 : u32(blob_.variables[p.variable].size)});
        }
    };
    places(raw_.returns, function_.returns);
    if (!raw_.entry) places(raw_.parameters, function_.parameters);
}

// Which registers live within one straight stretch only, and where each is used last.
void FunctionLinker::find_lifetimes() {
    const size_t n = raw_.registers.size();
    std::vector<u32> home(n, none);
    last_use_.assign(n, 0);
    local_.assign(n, 1);
    pred_number_.assign(n, 0);
    slot_.assign(n, none);
    u32 stretch = 0;
    auto see = [&](u32 reg, bool defines, u32 position) {
        if (home[reg] == none) {
            home[reg] = stretch;
            if (!defines) local_[reg] = 0;
        }
        if (home[reg] != stretch) local_[reg] = 0;
        last_use_[reg] = position;
    };
    for (u32 at = 0; at < insns_.size(); ++at) {
        const RawInsn& i = insns_[at];
        if (i.is_label) { ++stretch; continue; }
        const Opcode& op = kernel_.opcodes[i.opcode];
        if (starts_block(op) || (i.guard && ends_block(op))) ++stretch;
        const bool defines = has_destination(op);
        for (size_t k = defines ? 1 : 0; k < i.operands.size(); ++k)
            each_operand(i.operands[k], [&](const Operand& o) { if (o.kind == Tok::reg || o.kind == Tok::negated) see(o.value, false, at); });
        if (defines && !i.operands.empty())
            each_operand(i.operands[0], [&](const Operand& o) { if (o.kind == Tok::reg || o.kind == Tok::negated) see(o.value, i.guard == 0, at); });
        if (i.guard) see((i.guard >> 1) - 1, false, at);
        if (ends_block(op) || starts_block(op)) ++stretch;
    }
    u32 preds = 0;
    for (u32 reg = 0; reg < n; ++reg) {
        if (raw_.registers[reg] == 1) pred_number_[reg] = preds++;
        else if (local_[reg] && home[reg] != none) dying_[last_use_[reg]].push_back(reg);
    }
    function_.first_pred = code_.preds;
    function_.preds = preds;
    code_.preds += preds;
}

u32 FunctionLinker::take_slot(int words) {
    auto& pool = free_[words];
    if (pool.empty()) return new_slot(words);
    u32 slot = pool.back();
    pool.pop_back();
    return slot;
}
u32 FunctionLinker::new_slot(int words) {
    u32 slot = next_slot_;
    next_slot_ += u32(words);
    function_.places.push_back({slot, u8(words)});
    if (next_slot_ > (1u << 24)) throw std::runtime_error("too many registers");
    return slot;
}
void FunctionLinker::give_slot(u32 slot, int words) { free_[words].push_back(slot); }

// A register that outlives its stretch shares its slot with none: the text's order is not that of the run, so a stretch
// before its first mention in the text may come between its definition and its use.
u32 FunctionLinker::register_slot(u32 reg) {
    const int words = raw_.registers[reg] == 64 ? 2 : 1;
    if (slot_[reg] == none) slot_[reg] = local_[reg] ? take_slot(words) : new_slot(words);
    return slot_[reg];
}

void FunctionLinker::release(u32 position) {
    for (auto [slot, words] : temporaries_) give_slot(slot, words);
    temporaries_.clear();
    auto it = dying_.find(position);
    if (it == dying_.end()) return;
    for (u32 reg : it->second)
        if (slot_[reg] != none) give_slot(slot_[reg], raw_.registers[reg] == 64 ? 2 : 1);
}

void FunctionLinker::open_block(Start start) {
    if (open_) close_block(End::fall, nullptr, none);
    BasicBlock b;
    b.first = u32(code_.insns.size());
    b.start = start;
    b.function = function_.module_index;
    code_.blocks.push_back(b);
    open_ = true;
}

// target holds a label until all blocks are known.
void FunctionLinker::close_block(End end, const RawInsn* raw, u32 label) {
    if (!open_) open_block(Start::plain);
    BasicBlock& b = code_.blocks.back();
    b.last = u32(code_.insns.size());
    b.end = end;
    b.next = u32(code_.blocks.size());
    b.target = label;
    if (raw) {
        Insn i;
        i.loc = raw->loc;
        i.opcode = raw->opcode;
        i.id = u32(code_.insns.size());
        i.klass = Class::control;
        if (raw->guard) i.guard = operand(Kind::pred, predicate((raw->guard >> 1) - 1), raw->guard & 1);
        b.terminator = i.id;
        code_.insns.push_back(i);
    }
    open_ = false;
}

// A store to shared memory after a load: another warp has its turn between them, as on a GPU. In a program of blocks all
// warps read before one writes, and write before one reads.
bool FunctionLinker::stores_late(const RawInsn& raw) const {
    const Opcode& op = kernel_.opcodes[raw.opcode];
    const auto base = op.base();
    const bool reads = base == "ld" || base == "cp";
    if (open_ && blob_.of_blocks && op.has("global") && (reads || base == "st" || base == "atom" || base == "red")) {
        const auto other = reads ? Class::store_global : Class::load_global;
        return std::any_of(code_.insns.begin() + code_.blocks.back().first, code_.insns.end(),
                           [=](const Insn& i) { return i.klass == other || i.klass == Class::atomic; });
    }
    if (!open_ || !op.has("shared") || (base != "st" && base != "atom" && base != "red")) return false;
    return std::any_of(code_.insns.begin() + code_.blocks.back().first, code_.insns.end(),
                       [](const Insn& i) { return i.klass == Class::load_shared || i.klass == Class::load_global; });
}

// About how long a warp is busy with a block: latencies of Ampere, loads of one block overlapping.
void FunctionLinker::weigh(BasicBlock& b) const {
    u32 loads = 0;
    for (u32 k = b.first; k < b.last; ++k) {
        switch (code_.insns[k].klass) {
            case Class::load_global: b.far = true; loads = std::max(loads, 400u); break;
            case Class::atomic: loads = std::max(loads, code_.insns[k].space == Space::shared ? 60u : 400u); break;
            case Class::load_shared: case Class::load_local: case Class::shuffle: loads = std::max(loads, 25u); break;
            default: break;
        }
    }
    b.cycles = loads + 4 * (b.last - b.first + 1);
    b.empty = b.first == b.last && b.end == End::fall && b.start == Start::plain;
}

void FunctionLinker::note_unset(u32 position) {
    auto it = unset_.find(position);
    if (it == unset_.end()) return;
    for (u32 reg : it->second) {
        const u8 bits = u8(raw_.registers[reg]);
        const u32 op = bits == 1 ? operand(Kind::pred, predicate(reg)) : operand(Kind::reg, register_slot(reg));
        code_.unset.push_back({op, bits == 64 ? 2u : 1u, u32(code_.insns.size())});
    }
}

void FunctionLinker::link() {
    function_.first_slot = next_slot_ = code_.slots;
    lay_frame();
    find_lifetimes();
    if (raw_.entry)
        for (auto [reg, position] : read_before_written()) unset_[position].push_back(reg);
    function_.entry = u32(code_.blocks.size());
    const u32 first_block = function_.entry;
    label_block_.assign(raw_.labels, none);
    open_block(Start::plain);
    for (u32 at = 0; at < insns_.size(); ++at) {
        const RawInsn& i = insns_[at];
        if (i.is_label) {
            open_block(Start::plain);
            label_block_[i.opcode] = u32(code_.blocks.size()) - 1;
            continue;
        }
        if (stores_late(i)) open_block(Start::plain);
        note_unset(at);
        instruction(i, at);
        release(at);
    }
    close_block(End::ret, nullptr, none);
    for (u32 b = first_block; b < code_.blocks.size(); ++b) weigh(code_.blocks[b]);
    for (u32 b = first_block; b < code_.blocks.size(); ++b) {
        BasicBlock& x = code_.blocks[b];
        if (x.end != End::jump && x.end != End::branch) continue;
        if (x.target == none) { x.target = b + 2; continue; }  // a guarded skip over the next block
        if (label_block_[x.target] == none) throw std::runtime_error("a label is missing");
        x.target = label_block_[x.target];
    }
    for (u32 b = first_block; b < code_.blocks.size(); ++b)
        if (code_.blocks[b].end == End::table) {
            u32 first = code_.blocks[b].target;
            for (u32 k = 0; k < code_.tables[first]; ++k) {
                u32& t = code_.tables[first + 1 + k];
                if (label_block_[t] == none) throw std::runtime_error("a label is missing");
                t = label_block_[t];
            }
        }
    function_.slots = next_slot_ - code_.slots;
    code_.slots = next_slot_;
}

// "@p op" where op can't be guarded itself: a branch around it.
void FunctionLinker::guarded_skip(const RawInsn& raw) {
    RawInsn skip = raw;
    skip.guard ^= 1;
    close_block(End::branch, &skip, none);
}

void FunctionLinker::instruction(const RawInsn& raw, u32 position) {
    (void)position;
    const Opcode& op = kernel_.opcodes[raw.opcode];
    const Start start = start_of(op);
    auto base = op.base();
    const bool alone = start != Start::plain || base == "call" || base == "brx";
    if (raw.guard && alone) guarded_skip(raw);
    if (alone) open_block(start);
    else if (!open_) open_block(Start::plain);
    if (base == "bra") return branch(raw, op);
    if (base == "call") {
        call(raw, op);
    } else if (base == "brx") {
        if (raw.operands.size() != 2 || raw.operands[1].kind != Tok::targets || raw.operands[0].kind != Tok::reg ||
            raw_.registers[raw.operands[0].value] != 32)
            throw std::runtime_error("brx");
        u32 index = operand(Kind::reg, register_slot(raw.operands[0].value));
        u32 first = u32(code_.tables.size());
        code_.tables.push_back(u32(raw.operands[1].items.size()));
        for (const Operand& t : raw.operands[1].items) code_.tables.push_back(t.value);
        RawInsn plain = raw;
        plain.guard = 0;
        close_block(End::table, &plain, first);
        code_.insns.back().a = index;
    } else if (base == "ret" || base == "exit") {
        close_block(base == "ret" ? End::ret : End::leave, &raw, none);
    } else {
        RawInsn plain = raw;
        if (alone) plain.guard = 0;
        const u32 from = u32(code_.insns.size());
        Binder(*this, plain, op).bind();
        if (start != Start::plain) {
            for (u32 k = from; k < code_.insns.size(); ++k)
                if (start == Start::barrier ? code_.insns[k].klass == Class::barrier : code_.insns[k].e != none)
                    code_.blocks.back().sync = k;
            BasicBlock& b = code_.blocks.back();
            if (b.sync == none) b.start = Start::plain;
            b.simple = b.start == Start::barrier && is_simple(code_.insns[b.sync]) && from == b.sync && from + 1 == code_.insns.size();
        }
        // Instructions after one that stops the launch are not executed.
        if (alone || code_.insns.back().run == run_unsupported) close_block(End::fall, nullptr, none);
    }
    if (raw.guard && alone) open_block(Start::plain);
}

void FunctionLinker::branch(const RawInsn& raw, const Opcode&) {
    if (raw.operands.size() != 1 || raw.operands[0].kind != Tok::label) throw std::runtime_error("bra");
    close_block(raw.guard ? End::branch : End::jump, &raw, raw.operands[0].value);
}

void FunctionLinker::call(const RawInsn& raw, const Opcode&) {
    if (raw.operands.size() != 3) throw std::runtime_error("call");
    CallSite site;
    bool ok = true;
    auto places = [&](const Operand& o, std::vector<Formal>& out) {
        for (const Operand& v : o.items) {
            auto it = v.kind == Tok::var ? frame_.find(v.value) : frame_.end();
            if (it == frame_.end()) { ok = false; continue; }
            out.push_back({it->second, u32(blob_.variables[v.value].size)});
        }
    };
    places(raw.operands[0], site.results);
    places(raw.operands[1], site.arguments);
    const Operand& target = raw.operands[2];
    if (target.kind == Tok::func) {
        const RawFunction& f = blob_.functions[target.value];
        site.function = code_.function_index[target.value];
        if (site.function == none)
            site.builtin = f.name == "vprintf" ? Builtin::print : f.name == "__assertfail" ? Builtin::assert_fail
                : f.name == "malloc" ? Builtin::allocate : f.name == "free" ? Builtin::release : Builtin::unknown;
        size_t arguments = site.builtin == Builtin::none ? f.parameters.size() : site.builtin == Builtin::print ? 2
            : site.builtin == Builtin::assert_fail ? 5 : 1;
        if (site.builtin != Builtin::unknown && site.arguments.size() != arguments) ok = false;
    } else if (target.kind == Tok::reg && raw_.registers[target.value] == 64) {
        site.pointer = operand(Kind::reg, register_slot(target.value));
    } else {
        ok = false;
    }
    if (!ok) { site.builtin = Builtin::unknown; site.function = none; site.pointer = none; }
    u32 number = u32(code_.calls.size());
    code_.calls.push_back(std::move(site));
    RawInsn plain = raw;
    plain.guard = 0;
    close_block(End::call, &plain, none);
    code_.blocks.back().target = number;
}

}  // namespace kgsim
