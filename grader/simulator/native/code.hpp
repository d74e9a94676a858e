// A kernel made ready to run: decoded instructions, blocks of code, functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim.hpp"

namespace kgsim {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i8 = int8_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr unsigned warp_lanes = 32;
constexpr u32 none = ~u32(0);

struct Ctx;
struct Insn;
using Handler = void (*)(Ctx&, const Insn&);

// An operand word: two bits of kind, one of negation (predicates), 29 of slot or index.
// A slot is 32 words of 32 bits (one a lane); 64-bit registers take two.
enum class Kind : u32 { reg = 0, constant = 1, pred = 2, truth = 3 };
constexpr u32 operand(Kind kind, u32 value, bool negated = false) {
    return u32(kind) << 30 | u32(negated) << 29 | value;
}
constexpr Kind kind_of(u32 op) { return Kind(op >> 30); }
constexpr u32 slot_of(u32 op) { return op & 0x1fffffff; }

enum class Space : u8 { param, local, shared, global, constant, entry, generic };
// How unwritten values move from sources to destinations.
enum class Flow : u8 { own, any, select, conjunction, disjunction };
enum class Class : u8 {
    integer, fp32, fp64, fp16, special, convert, move, control, compare, load_global, store_global,
    load_shared, store_shared, load_local, store_local, load_const, atomic, shuffle, barrier, tensor, other, count
};
const char* class_name(Class c);

enum Flag : u16 {
    ftz = 1, sat = 2, rz = 4, rm = 8, rp = 16, relu = 32, volatile_ = 64, strong = 128, approx = 256,
    non_aligned = 512, ordering = 1024, directed = rz | rm | rp,
};

struct Insn {
    Handler run = nullptr;
    u32 d = none, d2 = none;  // destinations: a register operand, or predicates
    u32 a = none, b = none, c = none, e = none;
    i64 imm = 0;
    u32 loc = 0;
    u32 id = 0;       // index into the kernel's instructions: of its counters, of what findings name
    u32 guard = none; // predicate operand
    u32 list = 0;     // first of `vec` operand words in Code::lists
    u32 opcode = 0;   // string number, for messages
    u16 flags = 0;
    u16 mode = 0;
    u8 width = 0;     // bytes of one element in memory
    u8 vec = 1;
    Space space = Space::generic;
    Flow flow = Flow::any;
    Class klass = Class::other;
};

enum class End : u8 { fall, jump, branch, ret, leave, table, call, trap, unsupported };
enum class Start : u8 { plain, warp_sync, barrier };

struct BasicBlock {
    u32 first = 0, last = 0;  // instructions [first, last); the terminator is not among them
    u32 next = 0;             // block that follows
    u32 target = none;
    u32 sync = none;          // instruction that all its lanes meet at, of blocks that start with one
    u32 terminator = none;    // instruction number of the terminator, none for a plain fall
    End end = End::fall;
    Start start = Start::plain;
    u32 function = 0;
    u32 cycles = 0;           // that a warp takes for it, about; what decides whose turn is next
    bool simple = false;      // a barrier of the whole block that gives no result, and nothing else
    bool empty = false;       // nothing in it: a label
    bool far = false;         // it reads global memory, which takes one warp longer than another
};

struct Formal {
    u32 frame = 0;  // offset in the function's frame
    u32 size = 0;
};

struct LinkedFunction {
    u32 module_index = 0;
    u32 entry = none;  // block
    u32 frame_bytes = 0;
    u32 first_slot = 0, slots = 0;  // its own registers
    std::vector<std::pair<u32, u8>> places;  // slot and words (1 or 2) of each
    u32 first_pred = 0, preds = 0;
    bool recursive = false;
    std::vector<Formal> parameters, returns;
};

enum class Builtin : u8 { none, print, assert_fail, allocate, release, unknown };

struct CallSite {
    u32 function = none;   // linked function, or none for an indirect call
    Builtin builtin = Builtin::none;
    u32 pointer = none;    // operand that holds the address of an indirect call
    std::vector<Formal> arguments, results;  // places in the caller's frame
};

struct Local { std::string name; u32 offset = 0, size = 0; };
struct SharedVariable { std::string name; u32 offset = 0, size = 0; bool dynamic = false; };

// A kernel with all functions that it can reach, ready to run.
struct Code {
    std::string name;
    u32 module_index = 0;
    std::vector<Insn> insns;
    std::vector<BasicBlock> blocks;
    std::vector<u32> lists;
    std::vector<u32> tables;          // targets of brx
    std::vector<CallSite> calls;
    std::vector<LinkedFunction> functions;
    std::vector<u32> function_index;  // module function -> linked function or none
    std::vector<u32> constants;       // 32 words a slot
    std::vector<SharedVariable> shared;
    u32 static_window = 0;            // bytes of the shared window before the dynamic part
    u32 slots = 0, preds = 0;
    u32 entry = 0;
    u32 stack_bytes = 0;              // local memory of a thread
    u32 granule = 4;                  // smallest width of a shared access
    u32 global_granule = 4;           // smallest width of an element of a global store
    u32 global_cell = 16;             // smallest width of a whole one
    struct Unset { u32 op = none, words = 1, insn = 0; };
    std::vector<Unset> unset;         // registers that may be read before they are written, and by what
    bool has_local = false, has_global_atomics = false, uses_dynamic = false, has_copies = false;
    bool of_blocks = false;           // as its blob: warps keep step, and race with one another in global memory alone
    bool has_global_flags = false;    // volatile or ordered accesses to global memory: how blocks signal
};

}  // namespace kgsim
