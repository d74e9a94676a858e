// Calls of device functions, and what the device runtime offers: printf, assert, malloc.
#include <algorithm>
#include <utility>

#include "link.hpp"
#include "run.hpp"
#include "watcher.hpp"

namespace kgsim {
namespace {

constexpr size_t deepest_call = 4096;
constexpr size_t most_output = 1 << 20;
std::mutex output_lock;
std::string output;

u32 up16(u32 v) { return (v + 15) / 16 * 16; }

}  // namespace

void give_output(const std::string& text) {
    std::lock_guard guard(output_lock);
    if (output.size() < most_output) output += text.substr(0, most_output - output.size());
}

std::string take_output() {
    std::lock_guard guard(output_lock);
    return std::exchange(output, {});
}

u32 Runner::frame_of(const Warp& w, u32 lane) const { return code_.function_index[code_.blocks[w.pc[lane]].function]; }

void Runner::call(Warp& w, const BasicBlock& b, u32 lanes) {
    const CallSite& site = code_.calls[b.target];
    const Insn& insn = code_.insns[b.terminator];
    if (site.builtin != Builtin::none) {
        call_builtin(w, site, lanes, insn);
        return go(w, lanes, b.next);
    }
    u32 function = site.function;
    if (site.pointer != none) {
        const u64 target = c_.src<u64>(site.pointer)[std::countr_zero(lanes)];
        const u64 index = (target - function_address) / 16;
        if (target < function_address || index >= code_.function_index.size() || code_.function_index[index] == none)
            return c_.halt(Status::trapped, "a call through a pointer that is no function", &insn);
        function = code_.function_index[index];
        u32 same = 0;
        for (u32 l = 0; l < warp_lanes; ++l) same |= u32(c_.src<u64>(site.pointer)[l] == target) << l;
        lanes &= same;  // the others stay where they are and call in their turn
        if (code_.functions[function].parameters.size() != site.arguments.size())
            return c_.halt(Status::trapped, "a call through a pointer to a function of another type", &insn);
    }
    call_function(w, site, b.target, function, lanes, b.next);
}

void Runner::call_function(Warp& w, const CallSite& site, u32 number, u32 function, u32 lanes, u32 next) {
    const LinkedFunction& callee = code_.functions[function];
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        const u32 caller_index = frame_of(w, l);
        const LinkedFunction& caller = code_.functions[caller_index];
        const u32 sp = w.sp[l] + up16(caller.frame_bytes);
        if (sp + callee.frame_bytes > code_.stack_bytes || w.frames[l].size() >= deepest_call) {
            Event e{Found::stack_overflow, none};
            e.insn = code_.blocks[w.pc[l]].terminator;
            c_.report(e, l);
            worker_.illegal = true;
            return c_.halt(Status::trapped, "stack overflow: calls are nested too deeply", &code_.insns[e.insn]);
        }
        u8* from = block_.local + u64(code_.stack_bytes) * c_.thread(l);
        u8* init = block_.local_init + u64(code_.stack_bytes) * c_.thread(l);
        for (size_t k = 0; k < site.arguments.size(); ++k) {
            const u32 n = std::min(site.arguments[k].size, callee.parameters[k].size);
            std::memcpy(from + sp + callee.parameters[k].frame, from + w.sp[l] + site.arguments[k].frame, n);
            std::memcpy(init + sp + callee.parameters[k].frame, init + w.sp[l] + site.arguments[k].frame, n);
            if (c_.watcher) c_.watcher->passed(block_, u64(from) + sp + callee.parameters[k].frame, u64(from) + w.sp[l] + site.arguments[k].frame, n);
        }
        Frame f{next, caller_index, number, 0};
        if (caller.recursive) {
            if (c_.watcher) c_.watcher->give_up("recursive calls");
            const size_t before = w.saved[l].size();
            for (auto [slot, words] : caller.places) {
                const u32* at = w.reg + size_t(slot) * warp_lanes + size_t(l) * words;
                w.saved[l].insert(w.saved[l].end(), at, at + words);
            }
            for (u32 k = 0; k < caller.preds; ++k) w.saved[l].push_back(w.predicates[caller.first_pred + k] >> l & 1);
            f.saved = u32(w.saved[l].size() - before);
        }
        w.frames[l].push_back(f);
        w.sp[l] = sp;
    }
    go(w, lanes, callee.entry);
}

void Runner::ret(Warp& w, u32 lanes) {
    if (code_.calls.empty()) return leave(w, lanes);
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        if (w.frames[l].empty()) { leave(w, 1u << l); continue; }
        const LinkedFunction& callee = code_.functions[frame_of(w, l)];
        const Frame f = w.frames[l].back();
        w.frames[l].pop_back();
        const LinkedFunction& caller = code_.functions[f.function];
        const u32 sp = w.sp[l] - up16(caller.frame_bytes);
        const CallSite& site = code_.calls[f.site];
        u8* stack = block_.local + u64(code_.stack_bytes) * c_.thread(l);
        u8* init = block_.local_init + u64(code_.stack_bytes) * c_.thread(l);
        for (size_t k = 0; k < std::min(site.results.size(), callee.returns.size()); ++k) {
            const u32 n = std::min(site.results[k].size, callee.returns[k].size);
            std::memcpy(stack + sp + site.results[k].frame, stack + w.sp[l] + callee.returns[k].frame, n);
            std::memcpy(init + sp + site.results[k].frame, init + w.sp[l] + callee.returns[k].frame, n);
            if (c_.watcher) c_.watcher->passed(block_, u64(stack) + sp + site.results[k].frame, u64(stack) + w.sp[l] + callee.returns[k].frame, n);
        }
        if (f.saved) {
            auto& saved = w.saved[l];
            size_t at = saved.size() - f.saved;
            for (auto [slot, words] : caller.places)
                for (u32 k = 0; k < words; ++k) w.reg[size_t(slot) * warp_lanes + size_t(l) * words + k] = saved[at++];
            for (u32 k = 0; k < caller.preds; ++k) {
                u32& p = w.predicates[caller.first_pred + k];
                p = (p & ~(1u << l)) | saved[at++] << l;
            }
            saved.resize(saved.size() - f.saved);
        }
        w.sp[l] = sp;
        w.pc[l] = f.return_block;
    }
}

bool Runner::readable(u64 address, size_t bytes) const {
    auto within = [&](u64 base, u64 size) { return address >= base && address - base <= size && size - (address - base) >= bytes; };
    if (within(u64(block_.shared), block_.window) || within(u64(block_.local), block_.local_bytes)) return true;
    const Region* r = launch_.regions.find(address);
    return r && within(r->base, r->end - r->base);
}

std::string Runner::read_text(u64 address, size_t most) const {
    std::string s;
    while (s.size() < most && readable(address + s.size(), 1)) {
        char ch = *reinterpret_cast<const char*>(address + s.size());
        if (!ch) break;
        s += ch;
    }
    return s;
}

std::string format_output(std::string_view format, const std::function<u64(u32)>& next, const std::function<std::string(u64)>& text) {
    std::string out;
    for (size_t k = 0; k < format.size();) {
        if (format[k] != '%') { out += format[k++]; continue; }
        if (k + 1 < format.size() && format[k + 1] == '%') { out += '%'; k += 2; continue; }
        size_t end = format.find_first_of("diouxXcsfFeEgGaAp", k);
        if (end == std::string_view::npos) { out += format.substr(k); break; }
        std::string spec(format.substr(k, end - k));
        const char kind = format[end];
        k = end + 1;
        int stars[2] = {0, 0}, n = 0;
        for (char ch : spec) if (ch == '*' && n < 2) stars[n++] = std::clamp(int(next(4)), -200, 200);
        const bool wide = spec.find('l') != std::string::npos || spec.find('z') != std::string::npos || spec.find('j') != std::string::npos;
        std::string clean;
        size_t star = 0;
        for (char ch : spec) {
            if (ch == '*') clean += std::to_string(stars[std::min<size_t>(star++, 1)]);
            else if (std::string_view("%-+ #0123456789.").find(ch) != std::string_view::npos) clean += ch;
        }
        if (clean.size() > 12) clean = "%";
        char buffer[512];
        if (kind == 's') {
            out += text(next(8));
            continue;
        }
        if (std::string_view("fFeEgGaA").find(kind) != std::string_view::npos) {
            clean += kind;
            std::snprintf(buffer, sizeof buffer, clean.c_str(), std::bit_cast<double>(next(8)));
        } else if (kind == 'p') {
            std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(next(8)));
        } else {
            const u64 raw = next(wide ? 8 : 4);
            const bool is_signed = kind == 'd' || kind == 'i' || kind == 'c';
            clean += kind == 'c' ? "c" : std::string("ll") + kind;
            if (kind == 'c') std::snprintf(buffer, sizeof buffer, clean.c_str(), int(raw));
            else std::snprintf(buffer, sizeof buffer, clean.c_str(), static_cast<long long>(is_signed && !wide ? i64(i32(raw)) : i64(raw)));
        }
        out += buffer;
    }
    return out;
}

void Runner::call_builtin(Warp& w, const CallSite& site, u32 lanes, const Insn& insn) {
    if (site.builtin == Builtin::unknown || site.builtin == Builtin::allocate || site.builtin == Builtin::release) {
        const char* what = site.builtin == Builtin::unknown ? "this call" : "malloc and free in a kernel";
        return c_.halt(Status::unsupported, std::string("not supported: ") + what, &insn);
    }
    for (u32 l = 0; l < warp_lanes; ++l) {
        if (!(lanes >> l & 1)) continue;
        u8* frame = block_.local + u64(code_.stack_bytes) * c_.thread(l) + w.sp[l];
        u8* init = block_.local_init + u64(code_.stack_bytes) * c_.thread(l) + w.sp[l];
        auto argument = [&](size_t k) {
            u64 v = 0;
            std::memcpy(&v, frame + site.arguments[k].frame, std::min<u32>(site.arguments[k].size, 8));
            return v;
        };
        for (const Formal& r : site.results) {
            std::memset(frame + r.frame, 0, r.size);
            std::memset(init + r.frame, 1, r.size);
        }
        if (site.builtin == Builtin::assert_fail) {
            c_.report(Event{Found::assert_failed, insn.id}, l);
            return c_.halt(Status::trapped, "assertion failed: " + read_text(argument(0), 200), &insn);
        }
        u64 at = argument(1);
        auto next = [&](u32 bytes) {
            at = (at + bytes - 1) / bytes * bytes;
            u64 v = 0;
            if (readable(at, bytes)) std::memcpy(&v, reinterpret_cast<const void*>(at), bytes);
            at += bytes;
            return v;
        };
        give_output(format_output(read_text(argument(0), 4096), next, [&](u64 p) { return read_text(p, 4096); }));
    }
}

}  // namespace kgsim
