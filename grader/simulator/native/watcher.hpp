// Observes every instruction of a run, where options select it: provenance.hpp and exact.hpp.
#pragma once

#include "access.hpp"

namespace kgsim {

class Watcher {
public:
    virtual ~Watcher() = default;
    virtual void begin_launch(const Blob& blob, const Code& code, const std::string& kernel) = 0;
    virtual void begin_block(Block& block) = 0;
    virtual void begin_warp(Warp& warp, const Code& code) = 0;
    // Before an instruction is executed by the lanes of c.mask.
    virtual void step(Ctx& c, const Insn& i) = 0;
    // After it.
    virtual void computed(Ctx& c, const Insn& i) = 0;
    // A guarded instruction that the lanes of c.mask skip.
    virtual void left_out(Ctx& c, const Insn& i) = 0;
    // A function is called, or returns: bytes of a thread's frame are copied.
    virtual void passed(Block& block, u64 to, u64 from, u32 bytes) = 0;
    // Reads and writes of tensor-core instructions, element by element: `kept` ends a register's link to its source.
    virtual void fetched(const Ctx&, const Insn&, const Addresses&, u32) {}
    virtual void kept(Ctx&, const Insn&, u32) {}
    virtual void stored(Ctx&, const Insn&, const Addresses&, u32, u32) {}
    // Instructions that it can't follow.
    virtual void give_up(const char* why) = 0;
};

// The one that these options select; null in ordinary runs.
Watcher* watcher_of(const Options& options);

}  // namespace kgsim
