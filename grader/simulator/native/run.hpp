// Running one block: the warp that is furthest behind first, lanes of a warp by the lowest block first.
#pragma once

#include <functional>

#include "blob.hpp"

namespace kgsim {

class Runner {
public:
    Runner(Worker& worker, u64 number);
    void run();

private:
    void prepare(u64 number);
    void enter(Warp& w);
    Warp* earliest(u64& until);
    void pass(Warp& w, const BasicBlock& b, u32 pc);
    u64 run_warp(Warp& w, u64 until, u64 most);
    u32 choose(Warp& w, u32& pc);
    u32 meet(Warp& w, u32 pc, u32 group);
    u32 arrive(Warp& w, u32 pc, u32 group);
    void execute(Warp& w, const BasicBlock& b, u32 group);
    void finish(Warp& w, const BasicBlock& b, u32 pc, u32 group);
    void go(Warp& w, u32 lanes, u32 pc);
    void leave(Warp& w, u32 lanes);
    void call(Warp& w, const BasicBlock& b, u32 lanes);
    void call_function(Warp& w, const CallSite& site, u32 number, u32 function, u32 lanes, u32 next);
    void call_builtin(Warp& w, const CallSite& site, u32 lanes, const Insn& insn);
    void ret(Warp& w, u32 lanes);
    u32 frame_of(const Warp& w, u32 pc) const;
    bool complete_barriers();
    void release(u32 id, bool everyone);
    void report_meeting(u32 id, bool everyone);
    void join(u32 id, bool everyone);
    void deadlock();
    bool within_budget();
    bool repeats();
    u64 state() const;
    std::string read_text(u64 address, size_t most) const;
    bool readable(u64 address, size_t bytes) const;

    Worker& worker_;
    Launch& launch_;
    const Code& code_;
    Block& block_;
    Ctx c_;
    u64 rounds_ = 0, saved_round_ = 0, saved_state_ = 0, saved_changes_ = 0, saved_reads_ = 0;
};

std::string format_output(std::string_view format, const std::function<u64(u32 bytes)>& next, const std::function<std::string(u64)>& text);
void give_output(const std::string& text);

}  // namespace kgsim
