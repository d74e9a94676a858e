// Launching: parameters, blocks over host threads, results in an order that doesn't depend on them.
#include <algorithm>
#include <thread>

#include "exact.hpp"
#include "program.hpp"
#include "provenance.hpp"
#include "report.hpp"
#include "residents.hpp"

namespace kgsim {

namespace {

const RawFunction* kernel_of(const Blob& blob, const std::string& name, u32& index) {
    for (u32 k = 0; k < blob.functions.size(); ++k)
        if (blob.functions[k].entry && blob.functions[k].defined && blob.functions[k].name == name) {
            index = k;
            return &blob.functions[k];
        }
    return nullptr;
}

void work(Worker& w) {
    Launch& launch = *w.launch;
    const Code& code = *launch.code;
    w.counts.resize(code.insns.size());
    w.block_counts.resize(code.blocks.size());
    w.last_region.assign(code.insns.size(), nullptr);
    w.findings.most = launch.options.max_findings;
    w.begun = thread_seconds();
    Residents(w).run();
    w.busy = thread_seconds() - w.begun;
    if (w.stop.status != Status::ok) launch.stop = true;
    w.lane_steps += w.unflushed;
    launch.steps += w.unflushed;
    w.unflushed = 0;
}

LaunchResult invalid(const std::string& reason) {
    LaunchResult r;
    r.status = Status::invalid;
    r.reason = reason;
    return r;
}

// The parameter block as a region: kernels may take the address of a __grid_constant__.
struct ParameterRegion {
    Region region;
    ParameterRegion(Launch& launch) {
        region.base = u64(launch.parameters.data());
        region.end = region.base + launch.parameters.size();
        region.kind = RegionKind::constant;
        region.name = "kernel parameters";
        if (region.end == region.base) return;
        auto& all = launch.regions.sorted;
        all.insert(std::upper_bound(all.begin(), all.end(), &region, [](const Region* a, const Region* b) { return a->base < b->base; }), &region);
    }
};

// The counter of a cooperative launch's grid barrier: atomics of the kernel's own code work on it.
struct GridBarrierRegion {
    Region region;
    GridBarrierRegion(Launch& launch) {
        if (!launch.options.cooperative) return;
        region.base = u64(launch.grid_barrier);
        region.end = region.base + sizeof launch.grid_barrier;
        region.name = "the grid's barrier";
        auto& all = launch.regions.sorted;
        all.insert(std::upper_bound(all.begin(), all.end(), &region, [](const Region* a, const Region* b) { return a->base < b->base; }), &region);
    }
};

std::mutex launching;

}  // namespace

const char* status_name(Status status) {
    static constexpr const char* names[] = {"ok", "deadlock", "livelock", "budget", "trapped", "unsupported", "invalid"};
    return names[size_t(status)];
}

ProgramRef load_program(const void* blob, size_t size, std::string* error) {
    auto read = read_blob(blob, size, error);
    if (!read) return nullptr;
    auto p = std::make_shared<Program>();
    p->blob = std::move(read);
    p->bytes.assign(static_cast<const char*>(blob), size);
    return p;
}

std::vector<KernelInfo> kernels(const ProgramRef& program) {
    std::vector<KernelInfo> all;
    for (const RawFunction& f : program->blob->functions)
        if (f.entry && f.defined) if (auto k = find_kernel(program, f.name)) all.push_back(std::move(*k));
    return all;
}

std::optional<KernelInfo> find_kernel(const ProgramRef& program, const std::string& name) {
    const Blob& blob = *program->blob;
    u32 index = 0;
    const RawFunction* f = kernel_of(blob, name, index);
    if (!f) return std::nullopt;
    KernelInfo k;
    k.name = f->name;
    for (const RawFormal& p : f->parameters) {
        k.params.push_back({p.offset, p.size, p.align});
        k.param_bytes = std::max(k.param_bytes, p.offset + p.size);
    }
    k.max_threads = f->max_threads;
    std::copy(f->required, f->required + 3, k.required);
    try {
        auto code = blob.code(index);
        for (const SharedVariable& v : code->shared) if (!v.dynamic) k.static_shared = (k.static_shared + 15) / 16 * 16 + v.size;
        k.dynamic_shared = code->uses_dynamic;
        k.local_bytes = code->stack_bytes;
    } catch (const std::exception&) {
        k.static_shared = 0;  // a launch will say what is wrong with it
    }
    return k;
}

std::vector<VariableInfo> variables(const ProgramRef& program) {
    std::vector<VariableInfo> all;
    for (const Variable& v : program->blob->variables)
        if (v.address && v.function < 0) all.push_back({v.name, v.address, v.size, v.space == var_const});
    return all;
}

std::optional<VariableInfo> find_variable(const ProgramRef& program, const std::string& name) {
    for (VariableInfo& v : variables(program)) if (v.name == name) return std::move(v);
    return std::nullopt;
}

// The launch's value for each parameter that may be an address.
static std::vector<u64> addresses(const RawFunction& kernel, const std::vector<u8>& given) {
    std::vector<u64> all(kernel.parameters.size(), 0);
    for (size_t k = 0; k < all.size(); ++k)
        if (kernel.parameters[k].size == sizeof(u64)) std::memcpy(&all[k], given.data() + kernel.parameters[k].offset, sizeof(u64));
    return all;
}

LaunchResult launch(const ProgramRef& program, const std::string& kernel, Dim3 grid, Dim3 block, u64 dynamic_shared,
                    void* const* args, const Options& options) {
    std::lock_guard guard(launching);
    const Blob& blob = *program->blob;
    u32 index = 0;
    const RawFunction* f = kernel_of(blob, kernel, index);
    if (!f) return invalid("no kernel " + kernel);
    if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z) return invalid("a dimension of the launch is zero");
    if (block.x > 1024 || block.y > 1024 || block.z > 1024 || block.product() > 1024) return invalid("more than 1024 threads in a block");
    if (dynamic_shared > (1 << 20)) return invalid("too much dynamic shared memory");
    Launch l;
    std::shared_ptr<const Code> code;
    try {
        code = blob.code(index);
    } catch (const std::exception& e) {
        LaunchResult r;
        r.status = Status::unsupported;
        r.reason = std::string("can't decode the kernel: ") + e.what();
        add_launch_report(LaunchReport{&blob, nullptr, kernel, grid, block, dynamic_shared, r, 0, {}}, {}, {}, {});
        return r;
    }
    l.module = &blob;
    l.code = code.get();
    l.grid = grid;
    l.block = block;
    l.dynamic_shared = dynamic_shared;
    l.window = code->static_window + u32(dynamic_shared);
    l.options = options;
    if (options.lane_steps) {
        l.between_looks = std::clamp<u64>(options.lane_steps / 4, 1u << 12, l.between_looks);
        l.turns_between_looks = l.between_looks / warp_lanes;
    }
    u32 bytes = 0;
    for (const RawFormal& p : f->parameters) bytes = std::max(bytes, p.offset + p.size);
    l.parameters.resize(bytes);
    for (size_t k = 0; k < f->parameters.size(); ++k)
        if (args && args[k]) std::memcpy(l.parameters.data() + f->parameters[k].offset, args[k], f->parameters[k].size);
    l.regions = snapshot_regions();
    for (Region* r : l.regions.sorted) forget_writers(*r, code->global_cell);
    ParameterRegion parameters(l);
    GridBarrierRegion barrier(l);

    // Atomics on global memory tie blocks together: one thread keeps results the same from run to run.
    u64 threads = options.threads ? options.threads : std::thread::hardware_concurrency();
    Watcher* const watcher = watcher_of(options);
    if (code->has_global_atomics || code->has_global_flags || watcher) threads = 1;
    if (watcher) watcher->begin_launch(blob, *code, kernel);
    threads = std::clamp<u64>(threads, 1, std::min<u64>(grid.product(), 256));
    std::vector<Worker> workers(threads);
    std::vector<std::thread> pool;
    for (Worker& w : workers) w.launch = &l;
    for (size_t k = 1; k < workers.size(); ++k) pool.emplace_back([&, k] { work(workers[k]); });
    work(workers[0]);
    for (std::thread& t : pool) t.join();

    LaunchResult r;
    Findings findings;
    findings.most = options.max_findings;
    const Stop* stop = nullptr;
    for (const Worker& w : workers) {
        findings.merge(w.findings);
        r.lane_steps += w.lane_steps;
        r.blocks_run += w.blocks_run;
        r.seconds = std::max(r.seconds, w.busy);
        r.illegal_access |= w.illegal;
        r.shared_outside |= w.shared_outside;
        r.unmapped |= w.unmapped;
        r.misaligned |= w.misaligned;
        if (w.outside_by > r.outside_by) {
            r.outside_address = w.outside_address;
            r.outside_by = w.outside_by;
        }
        const bool real = w.stop.status != Status::ok && w.stop.reason != "stopped";
        if (real && (!stop || w.stop.block < stop->block)) stop = &w.stop;
    }
    if (stop) {
        r.status = stop->status;
        r.reason = stop->reason;
        if (stop->insn != none) r.line = blob.line_of(code->insns[stop->insn].loc);
    }
    std::vector<InsnCount> counts(options.report_lines ? code->insns.size() : 0);
    std::vector<BlockCount> blocks(options.report_lines ? code->blocks.size() : 0);
    if (options.report_lines) for (const Worker& w : workers) {
        for (size_t k = 0; k < w.counts.size(); ++k) {
            InsnCount& to = counts[k];
            const InsnCount& n = w.counts[k];
            to.requests += n.requests; to.lanes += n.lanes; to.sectors += n.sectors; to.ideal += n.ideal;
            to.conflicts += n.conflicts; to.collisions += n.collisions; to.divergent += n.divergent;
        }
        for (size_t k = 0; k < w.block_counts.size(); ++k) {
            blocks[k].warps += w.block_counts[k].warps;
            blocks[k].lanes += w.block_counts[k].lanes;
        }
    }
    add_launch_report(LaunchReport{&blob, code.get(), kernel, grid, block, dynamic_shared, r, 0, addresses(*f, l.parameters)},
                      findings, counts, blocks);
    return r;
}

}  // namespace kgsim
