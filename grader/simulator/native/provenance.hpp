// Provenance: in runs with this option, each value that a kernel computes keeps a record of its sources.
//
// A label names a node: a step (an instruction with the labels of what it computed from), a read of memory that no
// kernel wrote (a leaf), or a constant. Labels go through registers, shared and local memory, shuffles and atomics;
// addresses and indices that come from no memory have none. What an element came from is the graph below the node of
// its last store. With it are the bytes of each region that each instruction accessed.
#pragma once

#include <map>
#include <unordered_map>

#include "access.hpp"
#include "watcher.hpp"

namespace kgsim {

using Label = u32;  // 0: from no memory

class Provenance final : public Watcher {
public:
    static constexpr u32 most_nodes = 1 << 24;
    enum class NodeKind : u32 { step, leaf, constant };
    struct Node {
        u32 insn = 0;            // number among all kernels' instructions, with the kind in the two top bits
        u32 from[3] = {0, 0, 0}; // labels; of a leaf its address in two words and its thread; of a constant its bits
        NodeKind kind() const { return NodeKind(insn >> 30); }
        u32 number() const { return insn & 0x3fffffff; }
        u64 address() const { return u64(from[1]) << 32 | from[0]; }
    };
    struct Writer { u64 launch = 0; u32 block = 0, thread = 0; };
    // The bytes of one region that one instruction accessed.
    struct Touch {
        u32 number = 0, insn = 0, width = 0;
        u64 base = 0, size = 0, accesses = 0;
        std::vector<u8> elements;  // one for each `width` bytes: 1 touched, 2 stored by several threads of a launch, 4 by several blocks
        std::vector<Writer> writers;
    };
    struct Instruction { std::string kernel, file, frames, opcode; u32 line = 0; u8 width = 0, vec = 1; Class klass = Class::other; };

    void clear();
    void begin_launch(const Blob& blob, const Code& code, const std::string& kernel) override;
    void begin_block(Block& block) override;
    void begin_warp(Warp& warp, const Code& code) override;
    void step(Ctx& c, const Insn& i) override;
    void computed(Ctx& c, const Insn& i) override;
    // Its skipped results depend on the guard.
    void left_out(Ctx& c, const Insn& i) override;
    void passed(Block& block, u64 to, u64 from, u32 size) override;
    void fetched(const Ctx& c, const Insn& i, const Addresses& a, u32 bytes) override;
    void kept(Ctx& c, const Insn& i, u32 op) override;
    void stored(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 op) override;
    // The host has written this memory, or copied it: values have no source in a kernel, or that of the original.
    void forget(u64 address, u64 size);
    void copied(u64 to, u64 from, u64 size);
    void give_up(const char* why) override { if (unfollowed_.empty()) unfollowed_ = why; }

    // As JSON: accessed bytes; sources of the values at these addresses, one by one or together; reads that reach none.
    std::string touched() const;
    std::string origins(const u64* addresses, size_t count, bool together) const;
    std::string lost(const u64* addresses, size_t count) const;
    const Touch* touch(size_t number) const { return number < order_.size() ? order_[number] : nullptr; }

private:
    struct Shadow { u64 base = 0, bytes = 0; Label* labels = nullptr; };
    Label node(u32 insn, NodeKind kind, u32 a, u32 b, u32 c);
    Label join(u32 insn, const Label* parts, u32 count);
    Label constant(u32 insn, u32 bits);
    Label of(const Ctx& c, const Insn& i, u32 op, u32 lane);
    void set(Ctx& c, u32 op, u32 lane, Label label);
    Label* at(u64 address);
    Label* watch(u64 base, u64 bytes);
    Label read(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane);
    Label read_global(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane);
    void write(const Ctx& c, const Insn& i, u64 address, u32 width, Label label);
    void note(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane, bool stores);
    Touch& touch_of(u32 insn, const Region& region, u32 width);
    void load(Ctx& c, const Insn& i);
    void store(Ctx& c, const Insn& i);
    void atomic(Ctx& c, const Insn& i);
    void copy(Ctx& c, const Insn& i);
    void shuffle(Ctx& c, const Insn& i);
    void all_lanes(Ctx& c, const Insn& i);
    void product(Ctx& c, const Insn& i);
    Label handed_over(const Insn& i, Label label);
    void parts(Ctx& c, const Insn& i);
    void compute(Ctx& c, const Insn& i);
    void accumulated(const Ctx& c, const Insn& i);
    std::string origin(const std::vector<Label>& ends, std::vector<u8>& seen) const;
    std::string other_json(Label label) const;
    std::vector<Label> roots(const u64* addresses, size_t count) const;
    const Touch* touch_at(const Node& leaf) const;

    std::vector<Node> nodes_;
    std::vector<u32> blocks_;    // the first node of each block that ran, and the first one after it
    std::vector<float> values_;  // of the nodes that compute or load floats
    std::map<u64, Shadow> shadows_;  // by base
    Shadow* last_ = nullptr;
    std::vector<Label> shared_;
    std::vector<Label> fetched_[warp_lanes];                  // by a matrix instruction, for the register that comes next
    std::vector<std::pair<Label, Label>> handed_;             // by instruction of the launch: the last label that it loaded, and its node
    std::unordered_map<u64, Label> local_, constants_;
    std::map<const Code*, u32> first_;
    std::vector<Instruction> instructions_;
    std::map<std::pair<u32, u64>, Touch> touches_;
    std::vector<const Touch*> order_;
    std::vector<std::pair<const Region*, Touch*>> recent_;  // by instruction of the launch
    u32 base_ = 0;
    u64 launch_ = 0;
    std::string unfollowed_;  // the first instruction that it can't follow; empty: none so far
};

Provenance& provenance();

}  // namespace kgsim
