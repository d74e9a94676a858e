// A kernel with all functions that it can reach: its constants, its shared memory, its code.
#include "link.hpp"

#include <algorithm>
#include <stdexcept>

namespace kgsim {
namespace {

constexpr u32 guard_bytes = 128;  // between shared variables: a multiple keeps banks where they would be
constexpr u32 recursion_bytes = 16384;

}  // namespace

KernelLinker::KernelLinker(const Blob& b, Code& c) : blob(b), code(c), opcodes(b.opcodes()) {}

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
        for (const RawInsn& i : blob.instructions(f))
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
        for (const RawInsn& i : blob.instructions(order[k])) {
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
    code->of_blocks = blob.of_blocks;
    KernelLinker(blob, *code).link(function);
    return code;
}

}  // namespace kgsim
