#include "report.hpp"

#include <set>

#include "finding_writer.hpp"

namespace kgsim {
namespace {

struct LaunchEntry { LaunchReport launch; u64 count = 0; };
struct LineEntry {
    u64 lanes[size_t(Class::count)] = {};
    u64 warps = 0, requests = 0, accesses = 0, sectors = 0, ideal = 0, bytes = 0, loads = 0, stores = 0;
    u64 shared_accesses = 0, shared_requests = 0, conflicts = 0, branches = 0, divergent = 0, atomics = 0, collisions = 0;
};

struct Collected {
    std::mutex lock;
    std::map<std::string, LaunchEntry> launches;
    std::vector<std::string> launch_order;
    FindingEntries findings;
    std::map<std::tuple<std::string, std::string, u32>, LineEntry> lines;
};
Collected& collected() {
    static Collected* c = new Collected;
    return *c;
}

void count_line(LineEntry& line, const Insn& i, const InsnCount& n, const BlockCount& b) {
    line.lanes[size_t(i.klass)] += b.lanes;
    line.warps += b.warps;
    switch (i.klass) {
        case Class::load_global: case Class::store_global:
            line.requests += n.requests;
            line.accesses += n.lanes;
            line.sectors += n.sectors;
            line.ideal += n.ideal;
            line.bytes += n.lanes * i.width * i.vec;
            (i.klass == Class::load_global ? line.loads : line.stores) += n.lanes;
            line.conflicts += n.conflicts;
            break;
        case Class::load_shared: case Class::store_shared:
            line.shared_requests += n.requests;
            line.shared_accesses += n.lanes;
            line.conflicts += n.conflicts;
            break;
        case Class::atomic:
            line.atomics += n.lanes;
            line.collisions += n.collisions;
            if (i.space == Space::shared) { line.shared_requests += n.requests; line.shared_accesses += n.lanes; line.conflicts += n.conflicts; }
            else { line.requests += n.requests; line.accesses += n.lanes; line.sectors += n.sectors; line.ideal += n.ideal; line.bytes += n.lanes * i.width; line.stores += n.lanes; }
            break;
        case Class::control:
            line.branches += n.requests;
            line.divergent += n.divergent;
            break;
        default: break;
    }
}

std::string line_json(const std::string& kernel, const std::string& file, u32 number_of_line, const LineEntry& l) {
    std::string s = "{\"kernel\":" + quoted(kernel) + ",\"file\":" + quoted(file) + ",\"line\":" + number(u64(number_of_line)) + ",\"instructions\":{";
    bool first = true;
    for (size_t k = 0; k < size_t(Class::count); ++k)
        if (l.lanes[k]) { s += (first ? "\"" : ",\"") + std::string(class_name(Class(k))) + "\":" + number(l.lanes[k]); first = false; }
    s += "}";
    const std::pair<const char*, u64> fields[] = {
        {"warp_instructions", l.warps}, {"accesses", l.accesses}, {"requests", l.requests}, {"sectors", l.sectors}, {"ideal_sectors", l.ideal},
        {"bytes", l.bytes}, {"loads", l.loads}, {"stores", l.stores}, {"shared_accesses", l.shared_accesses},
        {"shared_requests", l.shared_requests}, {"bank_conflicts", l.conflicts}, {"branches", l.branches}, {"divergent", l.divergent},
        {"atomics", l.atomics}, {"atomic_collisions", l.collisions}};
    for (auto& [name, value] : fields) s += ",\"" + std::string(name) + "\":" + number(value);
    return s + "}";
}

std::string launch_json(const LaunchEntry& e) {
    const LaunchReport& l = e.launch;
    return "{\"kernel\":" + quoted(l.kernel) + ",\"grid\":" + triple(l.grid) + ",\"block\":" + triple(l.block) + ",\"shared\":" +
           number(l.dynamic_shared) + ",\"status\":" + quoted(status_name(l.result.status)) + ",\"reason\":" + quoted(l.result.reason) +
           ",\"line\":" + number(u64(l.result.line)) + ",\"count\":" + number(e.count) + ",\"illegal_access\":" +
           (l.result.illegal_access ? "true" : "false") + ",\"blocks\":" + number(l.grid.product()) + ",\"blocks_run\":" +
           number(l.result.blocks_run) + ",\"lane_steps\":" + number(l.result.lane_steps) + ",\"accesses\":" + number(l.accesses) +
           ",\"seconds\":" + number(l.result.seconds) + "}";
}

// A read before its write shows up twice: as unwritten and as a race. The race says more.
std::set<u32> raced_loads(const Findings& findings) {
    std::set<u32> loads;
    for (const auto& [key, tally] : findings.by_place) {
        const Event& e = tally.first;
        if (e.kind == Found::race && Conflict(e.detail) == Conflict::read_write) loads.insert(e.other);
    }
    return loads;
}

}  // namespace

void add_launch_report(LaunchReport launch, const Findings& findings, const std::vector<InsnCount>& counts, const std::vector<BlockCount>& blocks) {
    Collected& all = collected();
    std::lock_guard guard(all.lock);
    const Code* code = launch.code;
    if (code) {
        for (const BasicBlock& b : code->blocks) {
            if (blocks.empty()) break;
            const BlockCount& n = blocks[size_t(&b - code->blocks.data())];
            if (!n.warps) continue;
            auto count = [&](u32 insn) {
                const Insn& i = code->insns[insn];
                launch.accesses += counts[insn].lanes;
                if (i.klass == Class::barrier && b.start == Start::barrier && insn != b.sync) return;
                const SourceLocation& loc = launch.module->locations[i.loc];
                if (loc.own < 0) return;
                const SourceFrame f = loc.frames[size_t(loc.own)];
                count_line(all.lines[{launch.kernel, launch.module->files[f.file], f.line}], i, counts[insn], n);
            };
            for (u32 k = b.first; k < b.last; ++k) count(k);
            if (b.terminator != none) count(b.terminator);
        }
        const Writer writer(launch);
        const std::set<u32> raced = raced_loads(findings);
        for (const auto& [key, tally] : findings.by_place) {
            if (tally.first.kind == Found::uninit_shared && raced.count(tally.first.insn)) continue;
            writer.add(tally, all.findings);
        }
    }
    const std::string key = launch.kernel + triple(launch.grid) + triple(launch.block) + number(launch.dynamic_shared) +
                            status_name(launch.result.status) + launch.result.reason;
    auto [it, fresh] = all.launches.try_emplace(key, LaunchEntry{launch, 0});
    if (fresh) all.launch_order.push_back(key);
    LaunchReport& sum = it->second.launch;
    sum.module = nullptr;
    sum.code = nullptr;
    if (!fresh) {
        sum.accesses += launch.accesses;
        sum.result.lane_steps += launch.result.lane_steps;
        sum.result.seconds += launch.result.seconds;
        sum.result.illegal_access |= launch.result.illegal_access;
    }
    ++it->second.count;
}

std::string report_json() {
    Collected& all = collected();
    std::lock_guard guard(all.lock);
    std::string s = "{\"schema\":\"kgsim/1\",\"launches\":[";
    bool first = true;
    auto next = [&] { if (!first) s += ","; first = false; };
    for (const std::string& key : all.launch_order) { next(); s += launch_json(all.launches.at(key)); }
    s += "],\"findings\":[";
    first = true;
    for (const auto& [key, e] : all.findings) {
        if (e.gone()) continue;
        next();
        s += e.json_head + number(e.count) + e.json_tail;
    }
    s += "],\"lines\":[";
    first = true;
    for (const auto& [key, l] : all.lines) { next(); s += line_json(std::get<0>(key), std::get<1>(key), std::get<2>(key), l); }
    return s + "]}";
}

u64 found_kinds() {
    Collected& all = collected();
    std::lock_guard guard(all.lock);
    u64 kinds = 0;
    for (const auto& [key, e] : all.findings)
        if (!e.gone()) kinds |= u64(1) << std::get<0>(key);
    return kinds;
}

void reset_report() {
    Collected& all = collected();
    std::lock_guard guard(all.lock);
    all.launches.clear();
    all.launch_order.clear();
    all.findings.clear();
    all.lines.clear();
}

}  // namespace kgsim
