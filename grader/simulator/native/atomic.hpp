// Names of atomic operations and types; asynchronous copies; results of barriers.
#pragma once

#include "core.hpp"

namespace kgsim {

enum AtomicOperation { atomic_exch, atomic_add, atomic_min, atomic_max, atomic_inc, atomic_dec, atomic_cas, atomic_and, atomic_or, atomic_xor };
enum AtomicType { type_b16, type_u32, type_s32, type_u64, type_s64, type_f32, type_f64, type_f16, type_bf16, type_f16x2, type_bf16x2, type_f32_ftz };
int atomic_operation(std::string_view name);  // -1: none
int atomic_type(std::string_view name);
// The value that an operation leaves in memory.
u64 atomic_combine(int op, int type, u64 old, u64 value, u64 swap);

void run_copy(Ctx& c, const Insn& i);
void run_copy_commit(Ctx& c, const Insn& i);
void run_copy_wait(Ctx& c, const Insn& i);
void run_barrier_result(Ctx& c, const Insn& i);

}  // namespace kgsim
