// The warps of a block that can run, by their clocks.
#pragma once

#include <algorithm>

#include "code.hpp"

namespace kgsim {

// The one that is furthest behind is first, of equal ones the lowest. Sorted at any time: warps keep about in step,
// so that one which has had its turn goes to the end or near it.
class Ready {
public:
    static constexpr u64 never = ~u64(0) >> 6;  // clock of nobody
    void clear() { first_ = end_ = 0; }
    bool empty() const { return first_ == end_; }
    u64 clock() const { return empty() ? never : keys_[first_] >> index_bits; }  // of the first
    void add(u64 clock, u32 warp) {
        if (end_ == room) {
            std::copy(keys_ + first_, keys_ + end_, keys_);
            end_ -= first_;
            first_ = 0;
        }
        const u64 key = clock << index_bits | warp;
        u32 k = end_++;
        for (; k > first_ && keys_[k - 1] > key; --k) keys_[k] = keys_[k - 1];
        keys_[k] = key;
    }
    u32 take_first() { return number(keys_[first_++]); }
    u32 take_last() { return number(keys_[--end_]); }

private:
    static constexpr u32 index_bits = 6, room = 256;
    static u32 number(u64 key) { return u32(key) & ((1u << index_bits) - 1); }
    u64 keys_[room];
    u32 first_ = 0, end_ = 0;
};

}  // namespace kgsim
