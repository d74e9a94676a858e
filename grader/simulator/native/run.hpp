// Running one block: the warp that is furthest behind first, lanes of a warp by the lowest block first.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "blob.hpp"
#include "ready.hpp"

namespace kgsim {

// How a block's turn ended.
enum class Turn : u8 {
    done,     // all its threads have exited, or the launch is stopped
    waits,    // it does the same again and again, reading global memory: only another block can change that
    unsure,   // it has been reading global memory for long without changing any
};

class Runner {
public:
    // Runs in `block`, which a finished block may have left.
    Runner(Worker& worker, u64 number, std::unique_ptr<Block> block);
    // Until its threads have exited, the launch stops, or (with `yields`) it seems to wait for another block.
    // `hurried`: what waits is to be found soon.
    Turn run(bool yields, bool hurried);
    u64 number() const { return block_.number; }
    u64 changes() const { return block_.changes; }
    u64 bytes() const;
    std::unique_ptr<Block> take_block() { return std::move(owned_); }
    // The instructions at which its threads are, with how many.
    void add_places(std::map<u32, u32>& threads) const;

private:
    void prepare(u64 number);
    void enter(Warp& w);
    void clear_shared();
    void clear_local();
    void set_up(Warp& w, u32 index, bool fresh);
    void make(Warp& w);
    void unset(Warp& w);
    void make_ready();
    Warp& take_turn(u64& until);
    void pass(Warp& w, const BasicBlock& b, u32 pc);
    u64 run_warp(Warp& w, u64 until, u64 most);
    u32 choose(Warp& w, u32& pc);
    u32 meet(Warp& w, u32 pc, u32 group);
    u32 arrive(Warp& w, u32 pc, u32 group);
    bool arrives_whole(Warp& w);
    u64 light_turn(Warp& w);
    Barrier& come(const Warp& w, const Insn& insn, u32 id, u32 pc);
    static void note_place(Warp& w, u32 group, u16 barrier, u32 insn);
    void note_apart(Warp& w, const Insn& barrier, u32 pc, u32 group);
    bool always_reaches(u32 from, u32 block);
    void count(const BasicBlock& b, u32 pc, u32 lanes);
    void execute(Warp& w, const BasicBlock& b, u32 group);
    void execute_watched(Warp& w, const BasicBlock& b, u32 group);
    void finish(Warp& w, const BasicBlock& b, u32 group);
    static void go(Warp& w, u32 lanes, u32 pc) {
        w.together = lanes == w.running;
        w.pc_together = pc;
        if (lanes == ~0u) std::fill(std::begin(w.pc), std::end(w.pc), pc);
        else for (u32 l = 0; l < warp_lanes; ++l) w.pc[l] = lanes >> l & 1 ? pc : w.pc[l];
    }
    void leave(Warp& w, u32 lanes);
    void call(Warp& w, const BasicBlock& b, u32 lanes);
    void call_function(Warp& w, const CallSite& site, u32 number, u32 function, u32 lanes, u32 next);
    void call_builtin(Warp& w, const CallSite& site, u32 lanes, const Insn& insn);
    void ret(Warp& w, u32 lanes);
    u32 frame_of(const Warp& w, u32 pc) const;
    bool complete_barriers();
    void release(u32 id, bool everyone);
    void pass_all(Barrier& barrier);
    void report_meeting(u32 id, bool everyone);
    void join(u32 id, bool everyone);
    void deadlock();
    bool within_budget();
    bool repeats();
    const Insn* next_insn(const Warp& w, u32 lane) const;
    void start_watching();
    Turn idles(bool yields);
    u64 state(const Warp& w) const;
    std::string read_text(u64 address, size_t most) const;
    bool readable(u64 address, size_t bytes) const;

    Worker& worker_;
    Launch& launch_;
    const Code& code_;
    std::unique_ptr<Block> owned_;
    Block& block_;
    Ctx c_;
    std::map<std::pair<u32, u32>, bool> reaches_;
    Ready ready_;
    bool last_first_ = false;  // who has passed a barrier last goes on at once
    u64 turns_ = 0;            // left until a look at budget and progress
    u64 turn_changes_ = 0, turn_reads_ = 0, idle_since_ = 0;
    u64 rounds_ = 0, saved_round_ = 0, saved_changes_ = 0, saved_reads_ = 0;
};

std::string format_output(std::string_view format, const std::function<u64(u32 bytes)>& next, const std::function<std::string(u64)>& text);
void give_output(const std::string& text);

}  // namespace kgsim
