// Exact arithmetic beside an ordinary run: each float that a kernel computes has an element of the exact algebra
// (exact_field.hpp), and programs whose results differ by rounding alone give equal elements.
//
// The ordinary run decides what is compared, branched on or used as an index; integers have no elements. A value
// without one is a constant: the number that its bits say. Elements lie by 16 bits (a half has one, a float's lies
// in its lower half), in registers, shared, local and global memory, whatever moves the bits.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "access.hpp"
#include "watcher.hpp"

namespace kgsim {

class Exact final : public Watcher {
public:
    enum class Step : u8 {
        other, move, add, sub, mul, fma, div, function, power, least, most, abs, neg, copysign, select,
        pick_low, pick_high, band, bor, bxor, left, right, permute, convert, pair,
    };
    enum class Format : u8 { none, f16, bf16, f32, f64 };
    struct Plan {
        Step op = Step::other;
        Format format = Format::none;
        bool packed = false;  // two halves
        u8 cells = 2;         // of the destination
        Function function = nullptr;
    };

    void clear();
    void begin_launch(const Blob& blob, const Code& code, const std::string& kernel) override;
    void begin_block(Block& block) override;
    void begin_warp(Warp& warp, const Code& code) override;
    void step(Ctx& c, const Insn& i) override;
    void computed(Ctx& c, const Insn& i) override;
    void left_out(Ctx&, const Insn&) override {}
    void passed(Block& block, u64 to, u64 from, u32 bytes) override;
    void give_up(const char* why) override { unfollowed_.insert(why); }

    // The host has written this memory, or copied it.
    void forget(u64 address, u64 size);
    void copied(u64 to, u64 from, u64 size);
    // A new region may reuse the addresses of freed ones.
    void renewed(u64 base, u64 size);
    // The elements of a region's 16-bit cells from an address on, and how many; null where there is no region.
    Residues* cells(u64 address, u64* count);
    std::string unfollowed() const;

private:
    struct Shadow { u64 base, bytes; Residues* elements; };
    struct Made { Residues of[4]; };  // by cell of a destination
    const Plan& plan(const Insn& i) const { return plans_->at(i.id); }
    Residues get(const Ctx& c, u32 op, u32 lane, u32 cell) const;
    void put(Ctx& c, u32 op, u32 cells, u32 lane, const Residues* made);
    u32 held(const Ctx& c, u32 op, u32 cells) const;
    Residues value(const Ctx& c, const Plan& p, u32 op, u32 lane, u32 part) const;
    Residues* at(Block& b, Space space, u64 address, bool make);
    Residues* global(u64 address, bool make);
    void load(Ctx& c, const Insn& i);    void argument(Ctx& c, const Insn& i);
    void store(Ctx& c, const Insn& i);
    void copy(Ctx& c, const Insn& i);
    void shuffle(Ctx& c, const Insn& i);
    void parts(Ctx& c, const Insn& i);
    void product(Ctx& c, const Insn& i);
    void rows(Ctx& c, const Insn& i);
    void fragments(Ctx& c, const Insn& i);
    void atomic(Ctx& c, const Insn& i);
    void compute(Ctx& c, const Insn& i, const Plan& p);
    void bits(Ctx& c, const Insn& i, const Plan& p, u32 lane, Made& m);
    Residues calculated(Ctx& c, const Insn& i, const Plan& p, u32 lane, u32 part);

    std::map<u64, Shadow> shadows_;  // by base
    Shadow last_{};
    std::map<const Code*, std::vector<Plan>> known_;
    const std::vector<Plan>* plans_ = nullptr;
    Made made_[warp_lanes];
    bool pending_ = false;
    std::set<std::string> unfollowed_;
    std::vector<std::string> opcodes_;
};

Exact& exact();
Exact::Plan plan_of(const Insn& i, std::string_view opcode);
double number_of(Exact::Format format, u64 bits);

}  // namespace kgsim
