// Effects of instructions on elements of the exact algebra.
#include <algorithm>
#include <cmath>

#include "exact.hpp"
#include "floats.hpp"
#include "link.hpp"

namespace kgsim {
namespace {

using Step = Exact::Step;
using Format = Exact::Format;

const std::unordered_map<std::string_view, Step> arithmetic{
    {"add", Step::add}, {"sub", Step::sub}, {"mul", Step::mul}, {"fma", Step::fma}, {"mad", Step::fma}, {"div", Step::div},
    {"min", Step::least}, {"max", Step::most}, {"abs", Step::abs}, {"neg", Step::neg}, {"copysign", Step::copysign}};
const std::unordered_map<std::string_view, std::string_view> approximated{
    {"rcp", "inverse"}, {"sqrt", "sqrt"}, {"rsqrt", "rsqrt"}, {"ex2", "exp2"}, {"lg2", "log2"}, {"sin", "sin"}, {"cos", "cos"}, {"tanh", "tanh"}};
const std::unordered_map<std::string_view, Step> bitwise{
    {"and", Step::band}, {"or", Step::bor}, {"xor", Step::bxor}, {"shl", Step::left}, {"shr", Step::right}, {"prmt", Step::permute}, {"mov", Step::move}};

Format format_of(std::string_view type) {
    if (type == "f32" || type == "tf32") return Format::f32;
    if (type == "f64") return Format::f64;
    if (type == "f16" || type == "f16x2") return Format::f16;
    return type == "bf16" || type == "bf16x2" ? Format::bf16 : Format::none;
}

u32 sources(Step op) {
    switch (op) {
        case Step::fma: return 3;
        case Step::add: case Step::sub: case Step::mul: case Step::div: case Step::least: case Step::most: case Step::copysign: case Step::power: return 2;
        default: return 1;
    }
}

// A constant that is added to round: what comes of it is a whole number, and depends on the path alone.
bool rounds(Format format, double addend) {
    const double size = std::fabs(addend);
    return format == Format::f64 ? size >= 0x1p51 && size < 0x1p54 : size >= 0x1p22 && size < 0x1p25;
}

}  // namespace

double number_of(Format format, u64 bits) {
    switch (format) {
        case Format::f16: return half_to_float(bits & 0xffff);
        case Format::bf16: return bf16_to_float(bits & 0xffff);
        case Format::f64: return as_f64(bits);
        default: return as_f32(u32(bits));
    }
}

Exact::Plan plan_of(const Insn& i, std::string_view text) {
    Opcode opcode;
    opcode.text = text;
    split_words(opcode);
    const auto base = opcode.base(), type = opcode.words.back();
    Exact::Plan p;
    p.cells = type.ends_with("64") || opcode.has("wide") ? 4 : 2;
    if (i.flow == Flow::select) p.op = Step::select;
    else if (i.klass == Class::move) p.op = i.a == none ? Step::other : Step::move;
    else if (base == "cvt" && opcode.words.size() > 2) {
        const auto to = opcode.words[opcode.words.size() - 2];
        p.cells = to.ends_with("64") ? 4 : 2;
        p.format = format_of(to);
        const bool whole = opcode.has("rni") || opcode.has("rzi") || opcode.has("rmi") || opcode.has("rpi");
        if (p.format != Format::none && format_of(type) != Format::none && !whole) p.op = to.ends_with("x2") ? Step::pair : Step::convert;
        if (p.format == Format::none && format_of(type) == Format::none) p.op = Step::move;
    } else if (const auto it = arithmetic.find(base); it != arithmetic.end() && format_of(type) != Format::none) {
        p = {it->second, format_of(type), type.ends_with("x2"), p.cells};
    } else if (base == "math") {
        p.function = function_of(opcode.words[1]);
        p.op = p.function ? Step::function : Step::power;
        p.format = format_of(type);
    } else if (const auto named = approximated.find(base); named != approximated.end() && format_of(type) != Format::none) {
        p = {Step::function, format_of(type), type.ends_with("x2"), p.cells, function_of(named->second)};
    } else if (const auto bits = bitwise.find(base); bits != bitwise.end()) p.op = bits->second;
    else if (base == "min" || base == "max") p.op = base == "min" ? Step::pick_low : Step::pick_high;
    return p;
}

Residues Exact::value(const Ctx& c, const Plan& p, u32 op, u32 lane, u32 part) const {
    Residues e = get(c, op, lane, part);
    if (!e && p.format == Format::f32) e = get(c, op, lane, 1);  // a bf16 that was shifted into place
    if (e) return e;
    const u64 bits = p.format == Format::f64 ? c.src<u64>(op)[lane] : c.src<u32>(op)[lane];
    return constant(number_of(p.format, bits >> 16 * part));
}

Residues Exact::calculated(Ctx& c, const Insn& i, const Plan& p, u32 lane, u32 part) {
    const u32 ops[] = {i.a, i.b, i.c}, n = sources(p.op);
    const auto has = [&](u32 op) { return get(c, op, lane, part) || (p.format == Format::f32 && get(c, op, lane, 1)); };
    const auto number = [&](u32 op) {
        return number_of(p.format, (p.format == Format::f64 ? c.src<u64>(op)[lane] : c.src<u32>(op)[lane]) >> 16 * part);
    };
    const auto element = [&](u32 op) { return value(c, p, op, lane, part); };
    if (!std::any_of(ops, ops + n, has)) return {};
    const auto own = [&](u32 op) { return has(op) ? element(op) : Residues{}; };
    const auto with_sign = [&](u32 op, bool negative) {
        const Residues e = element(op);
        return std::signbit(number(op)) == negative ? e : -e;
    };
    switch (p.op) {
        case Step::add: case Step::sub:
            if ((!has(i.b) && rounds(p.format, number(i.b))) || (!has(i.a) && rounds(p.format, number(i.a)))) return {};
            return p.op == Step::add ? element(i.a) + element(i.b) : element(i.a) - element(i.b);
        case Step::mul: return element(i.a) * element(i.b);
        case Step::fma:
            if (!has(i.c) && rounds(p.format, number(i.c))) return {};
            return element(i.a) * element(i.b) + element(i.c);
        case Step::div: return element(i.a) * inverse(element(i.b));
        case Step::function: return p.function(element(i.a));
        case Step::power: return power(element(i.a), element(i.b), has(i.b) ? std::nullopt : std::optional(number(i.b)));
        case Step::least: return number(i.b) < number(i.a) || std::isnan(number(i.a)) ? own(i.b) : own(i.a);
        case Step::most: return number(i.b) > number(i.a) || std::isnan(number(i.a)) ? own(i.b) : own(i.a);
        case Step::abs: return with_sign(i.a, false);
        case Step::neg: return -element(i.a);
        case Step::copysign: return has(i.b) ? with_sign(i.b, std::signbit(number(i.a))) : Residues{};
        default: return {};
    }
}

// Instructions on bits that move, join or change the sign of whole floats.
void Exact::bits(Ctx& c, const Insn& i, const Plan& p, u32 l, Made& m) {
    const u32 n = p.cells;
    const auto word = [&](u32 op) { return op == none ? u64(0) : n == 4 ? c.src<u64>(op)[l] : u64(c.src<u32>(op)[l]); };
    const auto cell = [&](u64 w, u32 k) { return k < n ? u32(w >> 16 * k & 0xffff) : 0; };
    const auto alone = [&](u32 op) {
        u32 found = 0;
        for (u32 k = 0; k < n; ++k) found += bool(get(c, op, l, k));
        return found == 1 && get(c, op, l, 0);
    };
    const auto holds = [&](u32 op) { return held(c, op, n) >> l & 1; };
    const u64 sign = n == 4 ? u64(1) << 63 : 1u << 31;
    const u32 of = holds(i.a) ? i.a : i.b, with = of == i.a ? i.b : i.a;
    const u64 mask = p.op == Step::permute ? 0 : word(with);
    const auto change_signs = [&] {
        const bool whole = (mask == sign || mask == sign - 1) && alone(of);
        for (u32 k = 0; k < n; ++k) {
            const Residues e = get(c, of, l, k);
            if (!e || (p.op == Step::band && !whole && !cell(mask, k))) continue;
            const u64 bit = whole ? sign : u64(0x8000) << 16 * k;
            m.of[k] = (p.op == Step::bxor ? mask & bit : word(of) & ~mask & bit) ? -e : e;
        }
    };
    switch (p.op) {
        case Step::band:
            if (holds(i.a) && holds(i.b)) return;
            if (mask == sign - 1 || mask == 0x7fff || mask == 0x7fff7fff) return change_signs();
            for (u32 k = 0; k < n; ++k) {
                const bool truncated = k == 0 && alone(of) && cell(mask, n - 1) == 0xffff;  // of a float: rounding
                if (cell(mask, k) == 0xffff || truncated) m.of[k] = get(c, of, l, k);
            }
            return;
        case Step::bxor:
            if (holds(i.a) && holds(i.b)) return;
            if (mask == 0 || mask == sign || mask == 0x8000 || mask == 0x80008000) change_signs();
            return;
        case Step::bor:
            for (const auto& [one, other] : {std::pair{i.a, i.b}, std::pair{i.b, i.a}})
                for (u32 k = 0; k < n; ++k)
                    if (const Residues e = get(c, one, l, k); e && !cell(word(other), k) && (!cell(word(one), k + 1) || !cell(word(other), k + 1))) m.of[k] = e;
            return;
        case Step::left: case Step::right: {
            const u32 by = c.src<u32>(i.b)[l];
            if (by % 16 || by / 16 >= n || (by == 16 && p.op == Step::left && alone(i.a) && cell(word(i.a), 1))) return;
            for (u32 k = 0; k < n; ++k) {
                const u32 from = p.op == Step::left ? k - by / 16 : k + by / 16;
                if (from < n) m.of[k] = get(c, i.a, l, from);
            }
            if (p.op == Step::right && by == 16 && !m.of[0] && alone(i.a)) m.of[0] = get(c, i.a, l, 0);  // a float to a bf16
            return;
        }
        case Step::permute:
            for (u32 k = 0; k < 2; ++k) {
                const u32 low = word(i.c) >> 8 * k & 15, high = word(i.c) >> (8 * k + 4) & 15;
                if (low < 8 && low % 2 == 0 && high == low + 1) m.of[k] = get(c, low < 4 ? i.a : i.b, l, low / 2 % 2);
            }
            return;
        default: return;
    }
}

void Exact::compute(Ctx& c, const Insn& i, const Plan& p) {
    u32 any = 0;
    for (u32 op : {i.a, i.b, i.c, i.e}) any |= held(c, op, 4);
    any &= c.mask;
    if (!any) {
        for (u32 slot = slot_of(i.d), k = 0; k < p.cells / 2u; ++k) c.warp->held[slot + k] &= ~c.mask;
        return;
    }
    const u32 choice = p.op == Step::select ? c.truth(i.c) : 0;
    pending_ = true;
    for (u32 rest = c.mask; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        Made& m = made_[l] = {};
        const auto same = [&](u32 op) { for (u32 k = 0; k < p.cells; ++k) m.of[k] = get(c, op, l, k); };
        switch (p.op) {
            case Step::other:
                for (u32 op : {i.a, i.b, i.c})
                    if (get(c, op, l, 0) && i.klass != Class::compare) unfollowed_.insert(opcodes_[i.opcode]);
                break;
            case Step::move: same(i.a); break;
            case Step::select: same(choice >> l & 1 ? i.a : i.b); break;
            case Step::pick_low: case Step::pick_high: {
                const i32 a = i32(c.src<u32>(i.a)[l]), b = i32(c.src<u32>(i.b)[l]);
                if (p.cells == 2) same((a < b) == (p.op == Step::pick_low) ? i.a : i.b);
                break;
            }
            case Step::convert:
                m.of[0] = get(c, i.a, l, 0);
                if (!m.of[0]) m.of[0] = get(c, i.a, l, 1);
                break;
            case Step::pair:
                m.of[1] = get(c, i.a, l, 0);
                m.of[0] = get(c, i.b, l, 0);
                break;
            case Step::band: case Step::bor: case Step::bxor: case Step::left: case Step::right: case Step::permute: bits(c, i, p, l, m); break;
            default: for (u32 part = 0; part < (p.packed ? 2u : 1u); ++part) m.of[part] = calculated(c, i, p, l, part);
        }
    }
}

void Exact::computed(Ctx& c, const Insn& i) {
    if (!pending_) return;
    pending_ = false;
    const Plan& p = plan(i);
    for (u32 rest = c.mask; rest; rest &= rest - 1) {
        const u32 l = u32(std::countr_zero(rest));
        for (u32 part = 0; p.format != Format::none && part < (p.packed || p.op == Step::pair ? 2u : 1u); ++part) {
            const double r = number_of(p.format, (p.format == Format::f64 ? c.dst<u64>(i.d)[l] : c.dst<u32>(i.d)[l]) >> 16 * part);
            const bool clamped = (i.flags & sat && (r <= 0 || r >= 1)) || (i.flags & relu && r <= 0) || (p.function == function_of("exp2") && r == 0);
            if (!std::isfinite(r) || clamped) made_[l].of[part] = {};
        }
        put(c, i.d, p.cells, l, made_[l].of);
    }
}

}  // namespace kgsim
