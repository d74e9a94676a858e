// Blocks of a launch in turn, and those that wait for each other side by side.
#pragma once

#include "run.hpp"

namespace kgsim {

// The blocks that one worker has begun. A block runs to its end before the next begins, unless it is found waiting for
// what another block writes: then it is put aside, others begin (as many as the GPU holds at once), and those that
// wait are given turns until one goes on. If none can, the launch hangs, and that is a proof.
class Residents {
public:
    explicit Residents(Worker& worker) : worker_(worker), launch_(*worker.launch) {}
    void run();

private:
    struct Waiting {
        std::unique_ptr<Runner> runner;
        u64 seen;     // changes of memory, by all blocks, when it began to wait
        bool proven;  // nothing but another block can wake it
    };
    std::unique_ptr<Runner> next();
    bool full() const;
    void turn(std::unique_ptr<Runner> runner);
    bool wake();
    void hang();

    Worker& worker_;
    Launch& launch_;
    std::vector<Waiting> waiting_;
    std::vector<std::unique_ptr<Block>> free_;
    u64 changes_ = 0, bytes_ = 0;
    size_t next_pass_ = 4;
    bool all_begun_ = false, waited_ = false;
};

}  // namespace kgsim
