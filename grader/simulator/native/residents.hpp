// Runs a launch's blocks one after another, and blocks that wait for each other concurrently.
#pragma once

#include "run.hpp"

namespace kgsim {

// The blocks that one worker has begun. A block runs to its end before the next begins, unless it is found waiting for
// a write of another block: then it is suspended, others begin (as many as the GPU holds at once), and those that
// wait get turns until one continues. If none can, the launch provably hangs.
class Residents {
public:
    explicit Residents(Worker& worker) : worker_(worker), launch_(*worker.launch) {}
    void run();

private:
    struct Waiting {
        std::unique_ptr<Runner> runner;
        u64 seen;     // changes of memory, by all blocks, when it began to wait
        bool proven;  // only another block can wake it
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
