#include "link.hpp"

#include <algorithm>
#include <stdexcept>

namespace kgsim {

Opcode split_opcode(const std::string& text) {
    Opcode op;
    op.text = text;
    return op;
}

namespace {

constexpr u32 guard_bytes = 128;  // between shared variables: a multiple keeps banks where they would be
constexpr u32 recursion_bytes = 16384;

void split_words(Opcode& op) {
    std::string_view rest = op.text;
    while (true) {
        size_t dot = rest.find('.');
        op.words.push_back(rest.substr(0, dot));
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
    }
}

u32 up(u32 value, u32 to) { return (value + to - 1) / to * to; }

template <class F> void each_operand(const std::vector<Operand>& operands, F&& f) {
    for (const Operand& o : operands) {
        f(o);
        each_operand(o.items, f);
    }
}

}  // namespace

bool ends_block(const Opcode& op) {
    auto b = op.base();
    return b == "bra" || b == "brx" || b == "ret" || b == "exit" || b == "call";
}

Start start_of(const Opcode& op) {
    auto b = op.base();
    if (b == "bar" && op.words.size() > 1 && op.words[1] == "warp") return Start::warp_sync;
    if (b == "bar" || b == "barrier") {
        if (op.has("arrive") || op.has("cluster")) return Start::plain;
        return Start::barrier;
    }
    if (b == "shfl" || b == "vote" || b == "match" || b == "redux" || b == "elect")
        return op.has("sync") ? Start::warp_sync : Start::plain;
    if ((b == "mma" || b == "ldmatrix" || b == "stmatrix" || b == "wmma" || b == "movmatrix") && op.has("sync")) return Start::warp_sync;
    return Start::plain;
}
bool starts_block(const Opcode& op) { return start_of(op) != Start::plain; }

bool has_destination(const Opcode& op) {
    auto b = op.base();
    for (auto no : {"st", "red", "bra", "brx", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu", "ret", "exit", "trap",
                    "nanosleep", "call", "discard", "applypriority", "stmatrix", "brkpt", "pmevent"})
        if (b == no) return b == "bar" && op.has("red");
    return !(b == "cp");
}

u32 KernelLinker::constant(u64 value, int bytes) {
    auto [it, fresh] = constant_slots.try_emplace({value, bytes}, u32(code.constants.size() / warp_lanes));
    if (fresh) {
        if (code.constants.size() > (size_t(1) << 28)) throw std::runtime_error("too many constants");
        for (u32 l = 0; l < warp_lanes; ++l) {
            code.constants.push_back(u32(value));
            if (bytes == 8) code.constants.push_back(u32(value >> 32));
        }
    }
    return operand(Kind::constant, it->second);
}

std::vector<u32> KernelLinker::reachable(u32 kernel, std::set<u32>& used) const {
    std::set<u32> found{kernel};
    std::vector<u32> todo{kernel};
    auto reach = [&](u32 f) {
        if (!blob.functions[f].entry && blob.functions[f].defined && found.insert(f).second) todo.push_back(f);
    };
    std::vector<u32> variables;
    auto use = [&](u32 v) { if (used.insert(v).second) variables.push_back(v); };
    while (!todo.empty() || !variables.empty()) {
        if (!variables.empty()) {
            u32 v = variables.back();
            variables.pop_back();
            for (const Relocation& r : blob.variables[v].relocations)
                if (r.target != none) { if (r.function) reach(r.target); else use(r.target); }
            continue;
        }
        u32 f = todo.back();
        todo.pop_back();
        for (const RawInsn& i : blob.read(blob.functions[f]))
            each_operand(i.operands, [&](const Operand& o) {
                if (o.kind == Tok::func) reach(o.value);
                if (o.kind == Tok::var) use(o.value);
            });
    }
    found.erase(kernel);
    std::vector<u32> order(found.begin(), found.end());
    order.push_back(kernel);  // callees come first: lanes inside a call run before those that wait for them
    return order;
}

void KernelLinker::place_shared(const std::set<u32>& used) {
    u32 at = guard_bytes, dynamic_align = 16;
    for (u32 v : used) {
        const Variable& x = blob.variables[v];
        if (x.space != var_shared) continue;
        if (x.external) {
            code.uses_dynamic = true;
            dynamic_align = std::max(dynamic_align, x.align);
            continue;
        }
        if (x.size > (1 << 24)) throw std::runtime_error("a shared variable is too large");
        at = up(at, x.align);
        shared_offset[v] = at;
        code.shared.push_back({x.name, at, u32(x.size), false});
        at = up(at + u32(x.size) + 16, guard_bytes);
        if (at > (1 << 26)) throw std::runtime_error("too much shared memory");
    }
    at = up(at, std::max(dynamic_align, guard_bytes));
    for (u32 v : used)
        if (blob.variables[v].space == var_shared && blob.variables[v].external) shared_offset[v] = at;
    if (code.uses_dynamic) code.shared.push_back({"", at, 0, true});
    code.static_window = at;
}

void KernelLinker::mark_recursion(const std::vector<u32>& order) {
    const size_t n = order.size();
    std::vector<std::vector<bool>> calls(n, std::vector<bool>(n));
    for (size_t k = 0; k < n; ++k)
        for (const RawInsn& i : blob.read(blob.functions[order[k]])) {
            if (i.is_label || opcodes[i.opcode].base() != "call" || i.operands.size() != 3) continue;
            const Operand& target = i.operands[2];
            for (size_t j = 0; j < n; ++j)
                if (target.kind != Tok::func || target.value == order[j]) calls[k][j] = true;
        }
    if (n > 256) {
        for (auto& f : code.functions) f.recursive = true;
        return;
    }
    for (size_t via = 0; via < n; ++via)
        for (size_t a = 0; a < n; ++a)
            if (calls[a][via]) for (size_t b = 0; b < n; ++b) if (calls[via][b]) calls[a][b] = true;
    for (size_t k = 0; k < n; ++k) code.functions[k].recursive = calls[k][k];
}

void KernelLinker::link(u32 kernel) {
    for (const std::string& s : blob.strings) opcodes.push_back(split_opcode(s));
    for (Opcode& op : opcodes) split_words(op);
    code.name = blob.functions[kernel].name;
    code.module_index = kernel;
    code.granule = 4;
    std::set<u32> used;
    const std::vector<u32> order = reachable(kernel, used);
    place_shared(used);
    code.function_index.assign(blob.functions.size(), none);
    code.functions.resize(order.size());
    for (u32 k = 0; k < order.size(); ++k) {
        code.functions[k].module_index = order[k];
        code.function_index[order[k]] = k;
    }
    mark_recursion(order);
    bool recursive = false;
    for (u32 k = 0; k < order.size(); ++k) FunctionLinker(*this, k).link();
    for (const LinkedFunction& f : code.functions) {
        code.stack_bytes += up(f.frame_bytes, 16);
        recursive |= f.recursive;
    }
    if (recursive) code.stack_bytes += recursion_bytes;
    code.entry = code.functions.back().entry;
    code.has_local = code.stack_bytes > 0;
}

std::shared_ptr<const Code> link_kernel(const Blob& blob, u32 function) {
    auto code = std::make_shared<Code>();
    KernelLinker(blob, *code).link(function);
    return code;
}

// ---------------------------------------------------------------- one function

FunctionLinker::FunctionLinker(KernelLinker& kernel, u32 linked)
    : kernel_(kernel), blob_(kernel.blob), code_(kernel.code), function_(kernel.code.functions[linked]),
      raw_(kernel.blob.functions[function_.module_index]), insns_(kernel.blob.read(raw_)) {}

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
            each_operand({i.operands[k]}, [&](const Operand& o) { if (o.kind == Tok::reg || o.kind == Tok::negated) see(o.value, false, at); });
        if (defines && !i.operands.empty())
            each_operand({i.operands[0]}, [&](const Operand& o) { if (o.kind == Tok::reg || o.kind == Tok::negated) see(o.value, i.guard == 0, at); });
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

// A store to shared memory after a load: another warp has its turn between them, as on a GPU.
bool FunctionLinker::stores_late(const RawInsn& raw) const {
    const Opcode& op = kernel_.opcodes[raw.opcode];
    const auto base = op.base();
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
}

void FunctionLinker::link() {
    function_.first_slot = next_slot_ = code_.slots;
    lay_frame();
    find_lifetimes();
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
            if (code_.blocks.back().sync == none) code_.blocks.back().start = Start::plain;
        }
        if (alone) close_block(End::fall, nullptr, none);
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
