// Making a kernel ready to run: blocks, registers, instructions bound to their handlers.
#pragma once

#include <map>
#include <set>

#include "blob.hpp"

namespace kgsim {

// An opcode's dotted words.
struct Opcode {
    std::string text;
    std::vector<std::string_view> words;
    Start start = Start::plain;
    bool ends = false, destination = false;  // it ends a block; its first operand is its result
    std::string_view base() const { return words[0]; }
    bool has(std::string_view word) const {
        for (auto w : words) if (w == word) return true;
        return false;
    }
};
void split_words(Opcode& op);  // these point into its text, so it stays where it is
inline bool ends_block(const Opcode& op) { return op.ends; }
inline bool starts_block(const Opcode& op) { return op.start != Start::plain; }
inline Start start_of(const Opcode& op) { return op.start; }
inline bool has_destination(const Opcode& op) { return op.destination; }

inline u32 up(u32 value, u32 to) { return (value + to - 1) / to * to; }

template <class F> void each_operand(const std::vector<Operand>& operands, F&& f);
template <class F> void each_operand(const Operand& operand, F&& f) {
    f(operand);
    each_operand(operand.items, f);
}
template <class F> void each_operand(const std::vector<Operand>& operands, F&& f) {
    for (const Operand& o : operands) each_operand(o, f);
}

inline bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    for (auto w : words) if (w == word) return true;
    return false;
}

// Linker state of a whole kernel.
struct KernelLinker {
    const Blob& blob;
    Code& code;
    std::map<std::pair<u64, int>, u32> constant_slots;
    std::unordered_map<u32, u32> shared_offset;  // variable -> offset in the window
    const std::vector<Opcode>& opcodes;          // by string number

    KernelLinker(const Blob& b, Code& c);
    u32 constant(u64 value, int bytes);
    void link(u32 kernel);

private:
    std::vector<u32> reachable(u32 kernel, std::set<u32>& used) const;
    void place_shared(const std::set<u32>& used);
    void mark_recursion(const std::vector<u32>& order);
};

// Linker state of one function.
class FunctionLinker {
public:
    FunctionLinker(KernelLinker& kernel, u32 linked);
    void link();

private:
    bool stores_late(const RawInsn& raw) const;
    void weigh(BasicBlock& block) const;
    friend class Binder;
    void lay_frame();
    void find_lifetimes();
    std::map<u32, u32> read_before_written() const;  // register -> the first instruction that reads it
    std::vector<bool> never_written() const;
    void note_unset(u32 position);
    void open_block(Start start);
    void close_block(End end, const RawInsn* raw, u32 label);
    void instruction(const RawInsn& raw, u32 position);
    void guarded_skip(const RawInsn& raw);
    void branch(const RawInsn& raw, const Opcode& op);
    void call(const RawInsn& raw, const Opcode& op);
    u32 take_slot(int words);
    u32 new_slot(int words);
    void give_slot(u32 slot, int words);
    u32 register_slot(u32 reg);
    u32 predicate(u32 reg) const { return function_.first_pred + pred_number_[reg]; }
    void release(u32 position);

    KernelLinker& kernel_;
    const Blob& blob_;
    Code& code_;
    LinkedFunction& function_;
    const RawFunction& raw_;
    const std::vector<RawInsn>& insns_;
    std::unordered_map<u32, u32> frame_;        // variable -> offset in the frame
    std::vector<u32> pred_number_, slot_, last_use_;
    std::vector<u8> local_;
    std::vector<u32> free_[3];
    std::unordered_map<u32, std::vector<u32>> dying_;  // position -> registers
    std::vector<u32> label_block_;
    std::vector<u32> skips_;                    // blocks whose branch goes to the block after the next instruction
    std::vector<std::pair<u32, int>> temporaries_;
    std::unordered_map<u32, std::vector<u32>> unset_;  // position of the first read -> registers
    bool open_ = false;
    u32 next_slot_ = 0;
};

// Binds one instruction that is neither a branch nor a call.
class Binder {
public:
    Binder(FunctionLinker& function, const RawInsn& raw, const Opcode& op) : f_(function), raw_(raw), op_(op) {}
    void bind();

private:
    bool try_bind();
    bool bind_named();
    bool bind_table();
    bool bind_signature(Insn insn, std::string_view signature, size_t first = 0);
    bool bind_move();
    bool bind_set();
    bool bind_carry();
    bool bind_address_space();
    bool bind_memory();
    bool bind_atomic();
    bool bind_async_copy();
    bool bind_barrier_object();
    bool bind_warp();
    bool bind_matrix();
    bool bind_matrix_rows(bool store);
    bool bind_matrix_product(bool wmma, const u32* mnk, std::vector<u32> types);
    bool bind_wmma_memory(const u32* mnk, const std::vector<u32>& types);
    struct MatrixWords;
    bool add_operand(MatrixWords& words, const Operand& o, int which, bool is_destination);
    bool emit_with(Insn insn, const MatrixWords& words);
    Insn of_all_lanes();
    bool bind_misc();
    bool address(const Operand& o, Insn& insn);
    bool list(const Operand& o, Insn& insn, bool destination);
    u32 source(const Operand& o, char want);
    u32 destination(const Operand& o, char want, bool is_signed);
    u32 temporary(char want);
    Insn& emit(Insn insn);
    void special(u32 name, u32 d, bool wide);
    void local_address(u32 d, u32 variable, u64 addend);
    bool is_signed_type() const;

    FunctionLinker& f_;
    const RawInsn& raw_;
    const Opcode& op_;
    std::vector<Insn> after_;
    bool failed_ = false;
};

// Handlers that are bound by name, not through the table.
void run_special(Ctx& c, const Insn& i);
void run_local_address(Ctx& c, const Insn& i);
void run_local_pointer(Ctx& c, const Insn& i);
void run_parameter(Ctx& c, const Insn& i);
void run_parameter_address(Ctx& c, const Insn& i);
void run_shared_base(Ctx& c, const Insn& i);
void run_is_space(Ctx& c, const Insn& i);
void run_unsupported(Ctx& c, const Insn& i);
void run_trap(Ctx& c, const Insn& i);
void run_fence(Ctx& c, const Insn& i);
void run_nothing(Ctx& c, const Insn& i);
void run_vote(Ctx& c, const Insn& i);
void run_shuffle(Ctx& c, const Insn& i);
// The lane whose value lane `l` receives in a shuffle: its own where the other is not `inside` its segment.
u32 shuffle_source(const Ctx& c, const Insn& i, u32 l, bool& inside);
void run_match(Ctx& c, const Insn& i);
void run_reduce(Ctx& c, const Insn& i);
void run_elect(Ctx& c, const Insn& i);
void run_active_mask(Ctx& c, const Insn& i);
void run_warp_barrier(Ctx& c, const Insn& i);
void run_arrive(Ctx& c, const Insn& i);

enum SpecialRegister : u16 {
    tid_x, tid_y, tid_z, ntid_x, ntid_y, ntid_z, ctaid_x, ctaid_y, ctaid_z, nctaid_x, nctaid_y, nctaid_z,
    laneid, warpid, nwarpid, smid, nsmid, mask_eq, mask_lt, mask_le, mask_gt, mask_ge, clock_, clock_hi, clock64,
    timer, timer_lo, timer_hi, dynamic_smem, total_smem, grid_high, grid_low, zero_, one_, unknown_special
};
u16 special_number(std::string_view name);

}  // namespace kgsim
