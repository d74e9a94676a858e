// Findings, in words and as JSON.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "json_text.hpp"
#include "report.hpp"

namespace kgsim {

struct Place { std::string file, frames = "[]"; u32 line = 0; };

struct FindingEntry {
    std::string json_head, json_tail;
    u64 count = 0;
    // Of unwritten values that are only stored: where, and the bytes that kernels had stored there.
    struct Taker { RegionId id; u64 address, stored; };
    std::vector<Taker> takers;
    bool used = false;

    void note(const Event& e) {
        const bool store = e.kind == Found::uninit_global && Use(e.detail) == Use::store && e.address;
        const auto region = store ? find_region(u64(e.address)) : std::nullopt;
        used |= !region || takers.size() >= most_takers;
        if (used) return;
        std::erase_if(takers, [&](const Taker& one) { return one.id == region->id; });
        takers.push_back({region->id, u64(e.address), region->bytes_written_by_kernels});
    }
    // Whether they are gone, as after a warm-up: all of that memory was overwritten, or freed unread.
    bool gone() const {
        return !used && std::all_of(takers.begin(), takers.end(), [](const Taker& one) {
            const auto now = find_region(one.address);
            if (now && now->id == one.id) return now->bytes_written_by_kernels >= one.stored + now->size;
            return freed_unread(one.id);
        });
    }

private:
    static constexpr size_t most_takers = 16;
};
// By kind, kernel, the two places.
using FindingEntries = std::map<std::tuple<u32, std::string, u32, std::string, u32>, FindingEntry>;

// Turns one launch's events into text, once for each kind and pair of lines.
class Writer {
public:
    explicit Writer(const LaunchReport& launch) : launch_(launch), blob_(*launch.module), code_(*launch.code) {}

    Place place(u32 insn) const {
        Place p;
        if (insn >= code_.insns.size()) return p;
        const SourceLocation& l = blob_.locations[code_.insns[insn].loc];
        if (l.own >= 0) {
            p.line = l.frames[size_t(l.own)].line;
            p.file = blob_.files[l.frames[size_t(l.own)].file];
        } else if (!l.frames.empty()) {
            p.file = blob_.files[l.frames[0].file];
        }
        p.frames = "[";
        for (const SourceFrame& f : l.frames)
            p.frames += (p.frames.size() > 1 ? ",[" : "[") + quoted(blob_.files[f.file]) + "," + number(u64(f.line)) + "]";
        p.frames += "]";
        return p;
    }

    void add(const Tally& tally, FindingEntries& all) const {
        const Event& e = tally.first;
        const Place here = place(e.insn), there = place(e.other);
        const auto key = std::tuple(u32(e.kind), launch_.kernel, here.line ? here.line : e.insn + (1u << 30), there.file,
                                    there.line ? there.line : e.other);
        FindingEntry& entry = all[key];
        entry.count += tally.count;
        entry.note(e);
        if (!entry.json_head.empty()) return;
        entry.json_head = "{\"kind\":" + quoted(found_name(e.kind)) + ",\"kernel\":" + quoted(launch_.kernel) + ",\"file\":" +
            quoted(here.file) + ",\"line\":" + number(u64(here.line)) + ",\"frames\":" + here.frames + ",\"block\":" + block(e.block) +
            ",\"thread\":" + thread(e.thread) + ",\"count\":";
        const std::string data = details(e, there);
        entry.json_tail = ",\"other\":" + other(e, there) + ",\"text\":" + quoted(sentence(e, here, there)) + ",\"data\":{" + data + "}}";
    }

private:
    std::string block(u64 n) const { return triple(n % launch_.grid.x, n / launch_.grid.x % launch_.grid.y, n / launch_.grid.x / launch_.grid.y); }
    std::string thread(u32 t) const {
        if (t == none) return "null";
        return triple(t % launch_.block.x, t / launch_.block.x % launch_.block.y, t / launch_.block.x / launch_.block.y);
    }
    std::string spoken_thread(u32 t) const {
        return t == none ? "a thread" : "thread " + spoken(t % launch_.block.x, t / launch_.block.x % launch_.block.y, t / launch_.block.x / launch_.block.y);
    }
    std::string other(const Event& e, const Place& p) const {
        if (e.other == none && e.other_thread == none) return "null";
        return "{\"file\":" + quoted(p.file) + ",\"line\":" + number(u64(p.line)) + ",\"frames\":" + p.frames + ",\"block\":" + block(e.extent && (e.kind == Found::global_race || e.kind == Found::same_value_race) ? e.other_block : e.block) +
               ",\"thread\":" + thread(e.other_thread) + ",\"what\":" + quoted(role(e)) + "}";
    }
    static std::string role(const Event& e) {
        switch (e.kind) {
            case Found::race: case Found::race_volatile: case Found::global_race: case Found::same_value_race:
                switch (Conflict(e.detail)) {
                    case Conflict::write_read: case Conflict::write_write: return "wrote before";
                    case Conflict::read_write: return "read before";
                    case Conflict::atomic_plain: return "atomic before";
                    default: return "plain access before";
                }
            case Found::uninit_shared: case Found::uninit_global: case Found::uninit_local: case Found::shuffle_absent: return use(e);
            case Found::barrier_divergence: return "waits at another barrier";
            default: return "exited";
        }
    }
    static const char* use(const Event& e) {
        static constexpr const char* names[] = {"used", "stored", "used as an address", "decides a branch", "used in an atomic", "printed"};
        return names[e.detail < 6 ? e.detail : 0];
    }
    static std::string becomes(const Event& e) {
        const std::string verb = use(e);
        return verb == "decides a branch" ? verb : "is " + verb;
    }
    std::string unfilled(const Event& e) const {
        if (e.copy == none) return "that no thread has written";
        const u32 line = place(e.copy).line;
        return "before the asynchronous copy" + (line ? " of line " + number(u64(line)) : std::string()) + " that fills it has been waited for";
    }
    static std::string at_line(const Place& p) { return p.line ? " at line " + number(u64(p.line)) : ""; }

    std::string region_name(const Event& e) const {
        if (e.kind == Found::shared_oob) {
            if (e.region < 0 || size_t(e.region) >= code_.shared.size()) return "shared memory";
            const SharedVariable& v = code_.shared[size_t(e.region)];
            return v.dynamic ? "the dynamic shared memory" : "shared `" + v.name + "`";
        }
        auto r = region_by_id(e.region);
        return r ? (r->name.empty() ? "an allocation" : "`" + name_of(*r) + "`") : "any allocation";
    }
    // Memory that the host code allocates has no name: it is named after the parameter that points to it.
    std::string name_of(const RegionInfo& r) const {
        for (size_t k = 0; r.name == kUnnamed && k < launch_.addresses.size(); ++k)
            if (launch_.addresses[k] - r.base < std::max<u64>(r.size, 1)) return "argument " + number(k + 1);
        return r.name;
    }
    static std::string outside(i64 at, i64 size, u32 width) {
        if (at < 0) return number(u64(-at)) + " bytes before the start";
        if (at >= size) return at == size ? "right past the end" : number(u64(at - size)) + " bytes past the end";
        return number(u64(at + width - size)) + " bytes over the end";
    }

    static std::string wrapped(const Event& e) {
        if (e.meant < 0) return {};
        return ": the index has wrapped around 32 bits; without that it would be byte " + number(u64(e.meant));
    }

    // A source written per block has no threads: its text says "program 3".
    std::string spoken_actor(u32 t, u64 n) const {
        const u32 x = u32(n % launch_.grid.x), y = u32(n / launch_.grid.x % launch_.grid.y), z = u32(n / launch_.grid.x / launch_.grid.y);
        if (!code_.of_blocks) return spoken_thread(t) + " of block " + spoken(x, y, z);
        return "program " + (launch_.grid.y * launch_.grid.z > 1 ? spoken(x, y, z) : number(u64(x)));
    }
    std::string spoken_other(const Event& e) const {
        const bool elsewhere = e.kind == Found::global_race && e.extent;
        if (!code_.of_blocks && !elsewhere) return spoken_thread(e.other_thread);
        return e.extent ? spoken_actor(e.other_thread, e.other_block) : "another warp of it";
    }
    std::string sentence(const Event& e, const Place&, const Place& there) const {
        const std::string in = " of block " + spoken(e.block % launch_.grid.x, e.block / launch_.grid.x % launch_.grid.y, e.block / launch_.grid.x / launch_.grid.y);
        const std::string actor = spoken_actor(e.thread, e.block);
        static constexpr const char* verbs[] = {"reads", "writes", "updates"};
        const std::string verb = verbs[e.detail < 3 ? e.detail : 0];
        const std::string bytes = number(u64(e.width)) + " bytes ";
        switch (e.kind) {
            case Found::out_of_bounds:
                if (e.region < 0) return actor + " " + verb + " " + bytes + "at an address that belongs to no allocation";
                return actor + " " + verb + " " + bytes + outside(e.address, e.extent, e.width) + " of " + region_name(e) + " (" + number(u64(e.extent)) + " bytes)" + wrapped(e);
            case Found::shared_oob:
                return actor + " " + verb + " " + bytes + outside(e.address, e.extent, e.width) + " of " + region_name(e) + " (" + number(u64(e.extent)) + " bytes)";
            case Found::use_after_free: return actor + " " + verb + " " + region_name(e) + " after it was freed";
            case Found::misaligned: return actor + " accesses " + bytes + "at an address that is not a multiple of " + number(u64(e.width));
            case Found::local_oob: return actor + " accesses local memory outside of its own stack (" + outside(e.address, e.extent, e.width) + ")";
            case Found::uninit_shared: return actor + " reads shared memory " + unfilled(e) + "; the value " + becomes(e) + at_line(there);
            case Found::uninit_global: return actor + " reads global memory that nobody has written; the value " + becomes(e) + at_line(there);
            case Found::uninit_local: return actor + " reads a local variable before it is set; the value " + becomes(e) + at_line(there);
            case Found::shuffle_absent: return actor + " shuffles from a lane that does not take part; the value " + becomes(e) + at_line(there);
            case Found::race: case Found::race_volatile: case Found::global_race: case Found::same_value_race: return race(e, actor, there);
            case Found::input_written: return actor + " writes to the input " + region_name(e);
            case Found::constant_written: return actor + " writes to constant memory " + region_name(e);
            case Found::barrier_divergence: return e.detail ? "threads of one warp" + in + " wait at this barrier while others of the warp go past it" + (there.line && there.line != 0 ? " and wait at line " + number(u64(there.line)) : "") : "threads of block" + in.substr(9) + " meet at different barriers" + (there.line ? ": the other is at line " + number(u64(there.line)) : "");
            case Found::barrier_exited: return number(u64(e.detail)) + " of " + number(u64(e.extent)) + " threads" + in + " have returned when the others wait at this barrier";
            case Found::sync_exited: return actor + " names a lane in its mask whose thread has returned";
            case Found::sync_not_in_mask: return actor + " executes a warp-wide operation whose mask does not name it";
            case Found::deadlock: return number(u64(e.extent)) + (e.extent == 1 ? " thread" : " threads") + in + (e.extent == 1 ? " waits" : " wait") + (e.detail ? " at a block barrier that can't be complete" : " at a warp-wide operation for lanes that never come");
            case Found::grid_deadlock: return number(u64(e.extent)) + (e.extent == 1 ? " thread" : " threads") + " of " + number(u64(e.width)) + (e.width == 1 ? " block" : " blocks") + " stay here for ever: what they wait for would have to be written by a block that waits itself or can't begin";
            case Found::livelock: return "the threads" + in + " go on forever without changing anything";
            case Found::assert_failed: return "an assertion fails in " + actor;
            case Found::trapped: return actor + " executes a trap";
            default: return "calls are nested too deeply for the stack in " + actor;
        }
    }
    std::string race(const Event& e, const std::string& actor, const Place& there) const {
        static constexpr const char* verbs[] = {"reads what", "overwrites what", "overwrites what", "accesses without an atomic what", "updates atomically what"};
        static constexpr const char* before[] = {"wrote", "read", "wrote", "updated atomically", "accessed without an atomic"};
        const u32 d = e.detail < 5 ? e.detail : 0;
        if (e.kind == Found::same_value_race) return actor + " stores the value that " + spoken_other(e) + " has stored there" + at_line(there) + ", with no synchronisation between";
        return actor + " " + verbs[d] + " " + spoken_other(e) + " " + before[d] + at_line(there) + ", with no synchronisation between";
    }
    std::string details(const Event& e, const Place&) const {
        std::string d;
        auto put = [&](const char* key, const std::string& value) { d += (d.empty() ? "\"" : ",\"") + std::string(key) + "\":" + value; };
        static constexpr const char* accesses[] = {"load", "store", "atomic"};
        switch (e.kind) {
            case Found::out_of_bounds: case Found::use_after_free: case Found::misaligned: case Found::shared_oob: case Found::local_oob:
            case Found::input_written: case Found::constant_written: {
                put("offset", std::to_string(e.address));
                put("size", std::to_string(e.extent));
                put("width", number(u64(e.width)));
                put("access", quoted(accesses[e.detail < 3 ? e.detail : 0]));
                if (e.meant >= 0) put("wrapped", "true");
                if (auto r = e.kind == Found::shared_oob ? std::nullopt : region_by_id(e.region)) {
                    static constexpr const char* kinds[] = {"tensor", "allocation", "variable", "constant", "host"};
                    put("region", quoted(name_of(*r)));
                    put("region_kind", quoted(kinds[size_t(r->kind)]));
                }
                break;
            }
            case Found::race: case Found::race_volatile: case Found::global_race: case Found::same_value_race: {
                static constexpr const char* kinds[] = {"write-read", "read-write", "write-write", "atomic-plain", "plain-atomic"};
                put("conflict", quoted(kinds[e.detail < 5 ? e.detail : 0]));
                if (code_.of_blocks && !e.extent) put("within_program", "true");
                break;
            }
            case Found::uninit_shared: case Found::uninit_global: case Found::uninit_local: case Found::shuffle_absent: 
                put("use", quoted(use(e)));
                if (e.copy != none) put("copy", number(u64(place(e.copy).line)));
                break;
            case Found::barrier_exited: put("exited", number(u64(e.detail))); put("threads", number(u64(e.extent))); break;
            case Found::sync_exited: case Found::sync_not_in_mask: put("mask", number(u64(e.detail))); break;
            case Found::grid_deadlock: put("threads", number(u64(e.extent))); put("blocks", number(u64(e.width))); break;
            case Found::deadlock: put("threads", number(u64(e.extent))); put("at", quoted(e.detail ? "barrier" : "warp")); break;
            default: break;
        }
        return d;
    }

    const LaunchReport& launch_;
    const Blob& blob_;
    const Code& code_;
};

}  // namespace kgsim
