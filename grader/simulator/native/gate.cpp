// Keeps generated host code off the device's memory, which on the simulator is the process' own.
//
// Its pages are closed except while the runtime, cuBLAS or an operator of torch is at work. Host
// code that follows a device pointer faults, as it does where there is a GPU; the fault is noted, the
// context is lost, and the host code goes on to its end, so that a report can say what happened.
//
// A call that is at work opens what it touches when it first does, by the same fault, and that is shut
// when the call ends: a model has hundreds of tensors, and one operator looks at a few of them.

#include "gate.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <map>
#include <mutex>

#include "guard_alloc.hpp"
#include "replay.hpp"
#include "runtime.hpp"

namespace kgsim {
namespace {

struct Pages {
    size_t mapped;
    uint64_t data, bytes;
    bool open;
};

struct Gate {
    std::mutex mutex;
    bool shut = false;
    int inside = 0;  // calls of our own that are at work
    std::map<uint64_t, Pages> pages;
    HostAccess access;
    struct sigaction before {};
    bool handed_on = false;  // a fault that is none of ours, to what was there before
};

Gate& gate() {
    static auto* gate = new Gate;
    return *gate;
}

bool protect(uint64_t pages, size_t bytes, bool open) {
    const int how = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    return mprotect(reinterpret_cast<void*>(pages), bytes, how) == 0;
}

// False where the process may have no more mappings than it has.
bool set(uint64_t base, Pages& block, bool open) {
    if (block.open == open) return true;
    if (!protect(base, block.mapped, open)) {
        make_sticky(cudaErrorMemoryAllocation, "CUDA error: out of memory");
        return false;
    }
    block.open = open;
    return true;
}

void set_all(Gate& all, bool open) {
    for (auto& [base, block] : all.pages) set(base, block, open);
}

bool is_write(const void* context) {
#if defined(__x86_64__)
    constexpr uint64_t kWrite = 2;  // of a page fault's error code
    return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite;
#else
    (void)context;
    return false;
#endif
}

enum class Fault { kNone, kExpected, kHostCode };

// Opens the accessed pages for a running call; for host code, opens all pages from then on.
// Threads of one call may meet here; none of them holds the lock where it faults.
Fault met(uint64_t address, const void* context) {
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    if (!all.shut) return Fault::kNone;
    auto next = all.pages.upper_bound(address);
    if (next == all.pages.begin()) return Fault::kNone;
    auto& [base, block] = *std::prev(next);
    if (address >= base + block.mapped) return Fault::kNone;
    if (all.inside > 0) return set(base, block, true) ? Fault::kExpected : Fault::kNone;
    all.access = {true, is_write(context), address > block.data ? address - block.data : 0, block.bytes};
    all.shut = false;
    set_all(all, true);
    return Fault::kHostCode;
}

void hand_on(Gate& all);

void on_fault(int, siginfo_t* info, void* context) {
    const auto fault = met(reinterpret_cast<uint64_t>(info->si_addr), context);
    if (fault == Fault::kHostCode)
        make_sticky(cudaErrorIllegalAddress,
                    "host code touches the GPU's memory through a pointer: a segmentation fault");
    else if (fault == Fault::kNone)
        hand_on(gate());
}

// The access is made again, and meets the handler of before; one that comes back here has no other behind it.
void hand_on(Gate& all) {
    struct sigaction none {};
    none.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, all.handed_on ? &none : &all.before, nullptr);
    all.handed_on = true;
}

// Installs the handler, again where the program has since set its own (Python's faulthandler): ours calls that one.
bool take_signal(Gate& all) {
    struct sigaction now {}, ours {};
    if (sigaction(SIGSEGV, nullptr, &now) != 0) return false;
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &on_fault) return true;
    ours.sa_sigaction = &on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    all.handed_on = false;
    return sigaction(SIGSEGV, &ours, &all.before) == 0;
}

}  // namespace

void shut_gate() {
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    if (!all.shut) all.shut = take_signal(all);
}

void gate_add(void* pages, size_t mapped, const void* data, size_t bytes) {
    auto& all = gate();
    const auto base = reinterpret_cast<uint64_t>(pages);
    std::lock_guard lock(all.mutex);
    auto& block = all.pages[base] = {mapped, reinterpret_cast<uint64_t>(data), bytes, true};
    if (all.shut && all.inside == 0) set(base, block, false);
}

void gate_remove(const void* pages) {
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    all.pages.erase(reinterpret_cast<uint64_t>(pages));
}

HostAccess host_access() {
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    return all.access;
}

}  // namespace kgsim

using namespace kgsim;

KG_API void kgsim_open() {
    note_host_access();
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    if (all.shut) take_signal(all);
    ++all.inside;
}

KG_API void kgsim_close() {
    auto& all = gate();
    std::lock_guard lock(all.mutex);
    if (--all.inside == 0 && all.shut) set_all(all, false);
}
