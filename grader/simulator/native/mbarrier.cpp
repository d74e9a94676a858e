// Barrier objects in shared memory (mbarrier.*), which cuda::barrier and pipelines of a block are made of.
//
// The word that PTX leaves opaque is here: the number of the phase, the arrivals that a phase takes, those that are
// still pending. An arrival orders what its thread did before, a wait that succeeds what it does after, as fences do.
#include "access.hpp"
#include "atomic.hpp"
#include "link.hpp"

namespace kgsim {
namespace {

enum Operation : u16 { init, invalidate, arrive, arrive_and_drop, wait_token, wait_parity, copies_arrive, copies_arrive_noinc };
constexpr u32 count_bits = 20, count_mask = (1 << count_bits) - 1;

struct Object {
    u32 phase = 0, expected = 0, pending = 0;
    static Object from(u64 word) { return {u32(word >> 2 * count_bits), u32(word >> count_bits) & count_mask, u32(word) & count_mask}; }
    u64 word() const { return u64(phase) << 2 * count_bits | u64(expected & count_mask) << count_bits | (pending & count_mask); }
    void come(u32 threads) {
        pending -= threads;
        if (pending & count_mask) return;
        phase = (phase + 1) & 0xffffff;
        pending = expected;
    }
};

// As at a fence: orders accesses of the lanes within the block.
void order(Ctx& c, u32 lanes) {
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        ++c.warp->sync_epoch[l];
        c.warp->fence_epoch[l] = c.block->epoch;
    }
}

void finish_copies(Ctx& c, const Insn& i) {
    Insn all = i;
    all.mode = 1;
    run_copy_wait(c, all);
}

// The lanes whose object has been initialised; the others read unwritten memory.
u32 made(Ctx& c, const Insn& i, const Addresses& a, u32 lanes) {
    if (!c.uninit) return lanes;
    const u32 bad = unwritten_shared(c, a, 8, lanes);
    for (u32 rest = bad; rest; rest &= rest - 1) c.report(Event{Found::uninit_shared, i.id}, u32(std::countr_zero(rest)));
    return lanes & ~bad;
}

void run_object(Ctx& c, const Insn& i) {
    const u16 operation = i.mode >> 1;
    Addresses a;
    addresses_of(c, i, a);
    if (i.space == Space::generic) for (u64& at : a.at) at -= u64(c.block->shared);
    u32 lanes = check_shared(c, i, a, 8, Access::atomic, footprint_of(c, a, 8));
    if (operation == copies_arrive || operation == copies_arrive_noinc) finish_copies(c, i);
    if (operation != init) lanes = made(c, i, a, lanes);
    const u32* counts = i.b == none ? nullptr : c.src<u32>(i.b);
    const u64* tokens = operation == wait_token ? c.src<u64>(i.c) : nullptr;
    const u32* parities = operation == wait_parity ? c.src<u32>(i.c) : nullptr;
    u32 passed = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        u8* const at = c.block->shared + a.at[l];
        u64 before;
        std::memcpy(&before, at, 8);
        Object x = Object::from(before);
        const u32 count = counts ? counts[l] : 1;
        switch (operation) {
            case init: x = {0, count, count}; break;
            case arrive_and_drop: x.expected -= count; [[fallthrough]];
            case arrive: case copies_arrive_noinc:
                if (i.d != none) c.dst<u64>(i.d)[l] = before;
                x.come(count);
                break;
            case wait_token: passed |= u32(x.phase != Object::from(tokens[l]).phase) << l; break;
            case wait_parity: passed |= u32((x.phase & 1) != (parities[l] & 1)) << l; break;
            default: break;
        }
        const u64 after = x.word();
        if (after != before) ++c.block->changes;
        std::memcpy(at, &after, 8);
    }
    const bool waits = operation == wait_token || operation == wait_parity;
    if (operation == init && c.uninit)
        for (u32 rest = lanes; rest; rest &= rest - 1) std::memset(c.block->shared_init.data() + a.at[std::countr_zero(rest)], 1, 8);
    if (waits) c.put(i.d, passed);
    if (operation != init && operation != invalidate) order(c, waits ? passed : lanes);
    if (i.d != none && c.warp->poisoned) c.set_poison(i.d, 0, 0);
}

int operation_of(const Opcode& op) {
    if (op.base() == "cp") return op.has("noinc") ? copies_arrive_noinc : copies_arrive;
    const auto what = op.words[1];
    if (what == "init") return init;
    if (what == "inval") return invalidate;
    if (what == "arrive") return arrive;
    if (what == "arrive_drop") return arrive_and_drop;
    if (what == "test_wait" || what == "try_wait") return op.has("parity") ? wait_parity : wait_token;
    return -1;
}

}  // namespace

// mbarrier.init|inval|arrive|arrive_drop|test_wait|try_wait and cp.async.mbarrier.arrive; not those that count bytes.
bool Binder::bind_barrier_object() {
    const int operation = op_.words.size() < 2 ? -1 : operation_of(op_);
    const auto& ops = raw_.operands;
    if (operation < 0 || op_.has("expect_tx") || op_.has("cluster") || op_.has("shared::cluster")) return false;
    Insn insn;
    insn.flow = Flow::own;
    insn.klass = Class::atomic;
    insn.run = run_object;
    insn.space = op_.has("shared") || op_.has("shared::cta") ? Space::shared : Space::generic;
    insn.width = 8;
    const bool waits = operation == wait_token || operation == wait_parity;
    const bool gives = waits || operation == arrive || operation == arrive_and_drop;
    const size_t at = gives ? 1 : 0;
    if (ops.size() <= at + (waits ? 1 : 0)) return false;
    if (!address(ops[at], insn) || (insn.space == Space::generic) != bool(insn.mode & 1)) return false;
    insn.mode = u16(operation << 1 | (insn.mode & 1));
    if (gives && ops[0].kind != Tok::sink) insn.d = destination(ops[0], waits ? 'p' : '8', false);
    if (waits) insn.c = source(ops[at + 1], operation == wait_token ? '8' : '4');
    else if (ops.size() > at + 1) insn.b = source(ops[at + 1], '4');
    if (f_.code_.granule > 8) f_.code_.granule = 8;
    emit(insn);
    return true;
}

}  // namespace kgsim
