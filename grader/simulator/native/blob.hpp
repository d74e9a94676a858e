// A decoded module as loaded: every number in it has been checked.
#pragma once

#include <stdexcept>

#include "core.hpp"

namespace kgsim {

struct Relocation { u32 offset, width; bool function; u32 target; i64 addend; u32 shift; };

struct Variable {
    std::string name;
    u32 space = 0, align = 1;  // space as the decoder numbers it
    u64 size = 0;
    i32 function = -1;
    bool external = false;
    std::string data;
    std::vector<Relocation> relocations;
    u64 address = 0;  // of module variables in global and constant space
};
enum VariableSpace : u32 { var_param, var_local, var_shared, var_global, var_const, var_entry };

struct RawFormal { u32 variable, offset, size, align; };
struct RawFunction {
    std::string name;
    bool entry = false, defined = false;
    u32 max_threads = 0, required[3] = {0, 0, 0};
    std::vector<RawFormal> returns, parameters;
    std::string registers;
    u32 labels = 0;
    std::vector<u32> code;
};
struct SourceFrame { u32 file, line; };
struct SourceLocation { std::vector<SourceFrame> frames; i32 own = -1; };

// Operand words of the code, read one at a time.
enum class Tok : u8 { reg, integer, f32, f64, var, func, label, special, mem, vec, pair, sink, negated, targets };
struct Operand {
    Tok kind = Tok::sink;
    u32 value = 0;
    u64 addend = 0;               // of a variable; offset of an address
    std::vector<Operand> items;   // of a vector or pair; the base of an address
};
struct RawInsn {
    bool is_label = false;
    u32 opcode = 0, guard = 0, loc = 0;
    std::vector<Operand> operands;
};

struct Opcode;  // link.hpp

struct Blob {
    bool of_blocks = false;  // its source is written per block, not per thread: Triton's
    std::vector<std::string> strings, files;
    std::vector<u64> constants;
    std::vector<SourceLocation> locations;
    std::vector<Variable> variables;
    std::vector<RawFunction> functions;
    std::vector<std::vector<u8>> storage;
    std::vector<RegionId> regions;
    mutable std::mutex lock;
    mutable std::unordered_map<u32, std::shared_ptr<const Code>> linked;
    mutable std::unordered_map<u32, std::vector<RawInsn>> known_instructions;
    mutable std::shared_ptr<const std::vector<Opcode>> known_opcodes;

    ~Blob();
    int line_of(u32 loc) const;  // in the submission's file, 0: none
    // All instructions and labels of a function; throws std::runtime_error where words are wrong.
    std::vector<RawInsn> read(const RawFunction& function, const std::vector<u32>& words) const;
    // The same, read once; editing them discards the linked code.
    std::vector<RawInsn>& instructions(u32 function) const;
    void forget_linked(u32 function);
    const std::vector<Opcode>& opcodes() const;
    std::shared_ptr<const Code> code(u32 function) const;
};

constexpr u64 function_address = 0xF0C0000000000000ull;  // plus the function's number, times 16

std::shared_ptr<Blob> read_blob(const void* bytes, size_t size, std::string* error);
std::shared_ptr<const Code> link_kernel(const Blob& blob, u32 function);

[[noreturn]] inline void no_program(const char* what) { throw std::runtime_error(std::string("not a program: ") + what); }

}  // namespace kgsim
