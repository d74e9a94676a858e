// Labels on their way through a kernel.
#include "provenance.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "atomic.hpp"
#include "json_text.hpp"
#include "link.hpp"
#include "matrix.hpp"

namespace kgsim {
namespace {

// Whether a constant among its operands is worth a name: it counts in a sum or a product, not in an index.
bool computes_floats(const Insn& i) {
    return i.klass == Class::fp32 || i.klass == Class::fp64 || i.klass == Class::fp16 || i.klass == Class::special;
}
bool passes_on(const Insn& i) { return i.klass == Class::move || i.klass == Class::convert; }

template <class F> void each_lane(u32 mask, F&& f) {
    for (u32 rest = mask; rest; rest &= rest - 1) f(u32(std::countr_zero(rest)));
}

bool in_shared(const Ctx& c, u64 address) { return address - u64(c.block->shared) < c.block->window; }
bool in_local(const Ctx& c, u64 address) { return address - u64(c.block->local) < c.block->local_bytes; }

}  // namespace

Provenance& provenance() {
    static Provenance* p = new Provenance;
    return *p;
}

void Provenance::clear() {
    for (auto& [base, s] : shadows_) munmap(s.labels, s.bytes * sizeof(Label));
    *this = Provenance{};
}

void Provenance::begin_launch(const Blob& blob, const Code& code, const std::string& kernel) {
    if (nodes_.empty()) {
        nodes_.reserve(most_nodes);
        nodes_.push_back({});
        values_.reserve(most_nodes);
        values_.push_back(0);
    }
    ++launch_;
    recent_.assign(code.insns.size(), {nullptr, nullptr});
    handed_.assign(code.insns.size(), {0, 0});
    auto [it, fresh] = first_.try_emplace(&code, u32(instructions_.size()));
    base_ = it->second;
    if (!fresh) return;
    for (const Insn& i : code.insns) {
        Instruction out{kernel, "", "[]", i.opcode < blob.strings.size() ? blob.strings[i.opcode] : "", 0, i.width, i.vec, i.klass};
        const SourceLocation& loc = blob.locations[i.loc];
        std::string frames;
        for (const SourceFrame& f : loc.frames) frames += (frames.empty() ? "[" : ",[") + quoted(blob.files[f.file]) + "," + number(u64(f.line)) + "]";
        out.frames = "[" + frames + "]";
        if (loc.own >= 0) {
            const SourceFrame f = loc.frames[size_t(loc.own)];
            out.file = blob.files[f.file];
            out.line = f.line;
        }
        instructions_.push_back(std::move(out));
    }
}

void Provenance::forget(u64 address, u64 size) {
    for (auto it = shadows_.upper_bound(address); it != shadows_.end() && it->first < address + size; ++it)
        std::fill_n(it->second.labels, std::min(it->second.bytes, address + size - it->first), 0u);
    if (Label* labels = at(address)) std::fill_n(labels, std::min(size, last_->base + last_->bytes - address), 0u);
}

void Provenance::copied(u64 to, u64 from, u64 size) {
    const Label* source = at(from);
    if (!source) return forget(to, size);
    const u64 known = std::min(size, last_->base + last_->bytes - from);
    const auto region = find_region(to);
    Label* target = at(to);
    if (!target && region) target = watch(region->base, region->size) + (to - region->base);
    if (target) std::copy_n(source, std::min(known, last_->base + last_->bytes - to), target);
}

void Provenance::begin_block(Block& block) {
    shared_.assign(block.window + 8, 0);
    local_.clear();
    blocks_.push_back(u32(nodes_.size()));
}

void Provenance::begin_warp(Warp& w, const Code& code) {
    w.labels.assign(size_t(code.slots + 2) * warp_lanes, 0);
    w.pred_labels.assign(size_t(code.preds + 1) * warp_lanes, 0);
}

Label Provenance::node(u32 insn, NodeKind kind, u32 a, u32 b, u32 c) {
    if (nodes_.size() >= most_nodes) {
        give_up("more values than are kept");
        return 0;
    }
    nodes_.push_back({insn | u32(kind) << 30, {a, b, c}});
    values_.push_back(0);
    return u32(nodes_.size() - 1);
}

Label Provenance::join(u32 insn, const Label* parts, u32 count) {
    Label made = 0;
    for (u32 k = 0; k < count; k += 2) {
        const Label more = k + 1 < count ? parts[k + 1] : 0;
        made = node(insn, NodeKind::step, made, parts[k], more);
    }
    return made;
}

Label Provenance::constant(u32 insn, u32 bits) {
    Label& known = constants_[u64(insn) << 32 | bits];
    if (!known) known = node(insn, NodeKind::constant, bits, 0, 0);
    return known;
}

Label Provenance::of(const Ctx& c, const Insn& i, u32 op, u32 lane) {
    if (op == none) return 0;
    switch (kind_of(op)) {
        case Kind::reg: return c.warp->labels[slot_of(op) * warp_lanes + lane];
        case Kind::pred: return c.warp->pred_labels[slot_of(op) * warp_lanes + lane];
        case Kind::constant:
            if (!computes_floats(i) && i.klass != Class::move) return 0;
            return constant(base_ + i.id, c.code->constants[size_t(slot_of(op)) * warp_lanes]);
        default: return 0;
    }
}

void Provenance::set(Ctx& c, u32 op, u32 lane, Label label) {
    if (op == none) return;
    auto& labels = kind_of(op) == Kind::pred ? c.warp->pred_labels : c.warp->labels;
    labels[slot_of(op) * warp_lanes + lane] = label;
}

// Where the label of a byte of global memory is kept; null for memory that isn't watched.
Label* Provenance::at(u64 address) {
    if (last_ && address - last_->base < last_->bytes) return last_->labels + (address - last_->base);
    auto it = shadows_.upper_bound(address);
    if (it == shadows_.begin()) return nullptr;
    Shadow& s = std::prev(it)->second;
    if (address - s.base >= s.bytes) return nullptr;
    last_ = &s;
    return s.labels + (address - s.base);
}

// Keeps labels of a region from now on.
Label* Provenance::watch(u64 base, u64 bytes) {
    Shadow s{base, bytes, static_cast<Label*>(untouched(bytes * sizeof(Label)))};
    if (!s.labels) throw std::bad_alloc();
    if (auto old = shadows_.find(base); old != shadows_.end()) munmap(old->second.labels, old->second.bytes * sizeof(Label));
    last_ = &(shadows_[base] = s);
    return s.labels;
}

Provenance::Touch& Provenance::touch_of(u32 insn, const Region& region, u32 width) {
    auto [it, fresh] = touches_.try_emplace({insn, region.base});
    Touch& t = it->second;
    if (fresh) {
        t.number = u32(order_.size());
        t.insn = insn;
        t.width = width;
        t.base = region.base;
        t.size = region.end - region.base;
        t.elements.assign(t.size / width + 1, 0);
        order_.push_back(&t);
    }
    return t;
}

void Provenance::note(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane, bool stores) {
    auto& [region, touch] = recent_[i.id];
    if (!region || address - region->base >= region->end - region->base) {
        region = c.launch->regions.find(address);
        touch = region ? &touch_of(base_ + i.id, *region, width) : nullptr;
    }
    if (!touch) return;
    ++touch->accesses;
    const size_t element = (address - touch->base) / width;
    if (element >= touch->elements.size()) return;
    touch->elements[element] |= 1;
    if (!stores) return;
    if (touch->writers.empty()) touch->writers.resize(touch->elements.size());
    const Writer writer{launch_, u32(c.block->number), c.thread(lane)};
    Writer& before = touch->writers[element];
    if (before.launch == launch_ && (before.block != writer.block || before.thread != writer.thread))
        touch->elements[element] |= before.block == writer.block ? 2 : 6;
    before = writer;
}

Label Provenance::read_global(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane) {
    note(c, i, address, width, lane, false);
    const Label* labels = at(address);
    Label found[8];
    u32 count = 0;
    for (u32 k = 0; labels && k < width; ++k)
        if (labels[k] && (!count || found[count - 1] != labels[k])) found[count++] = labels[k];
    if (count) return join(base_ + i.id, found, count);
    if (!c.launch->regions.find(address)) return 0;
    return node(base_ + i.id, NodeKind::leaf, u32(address), u32(address >> 32), u32(c.block->number << 10 | c.thread(lane)));
}

// The label of `width` bytes that a lane reads; `address` is as the instruction has it.
Label Provenance::read(const Ctx& c, const Insn& i, u64 address, u32 width, u32 lane) {
    if (i.space != Space::shared && in_shared(c, address)) address -= u64(c.block->shared);
    else if (i.space != Space::shared && in_local(c, address)) {
        const auto it = local_.find(address);
        return it == local_.end() ? 0 : it->second;
    } else if (i.space != Space::shared) return read_global(c, i, address, width, lane);
    Label found[8];
    u32 count = 0;
    for (u32 k = 0; k < width && address + k < shared_.size(); ++k)
        if (const Label one = shared_[address + k]; one && (!count || found[count - 1] != one)) found[count++] = one;
    return count <= 1 ? handed_over(i, count ? found[0] : 0) : join(base_ + i.id, found, count);
}

// The node of a value that came through shared memory: one for all lanes that read the same.
Label Provenance::handed_over(const Insn& i, Label label) {
    auto& [last, made] = handed_[i.id];
    if (label && label != last) made = node(base_ + i.id, NodeKind::step, last = label, 0, 0);
    return label ? made : 0;
}

void Provenance::passed(Block&, u64 to, u64 from, u32 size) {
    for (u32 k = 0; k < size; ++k) {
        const auto it = local_.find(from + k);
        if (it != local_.end()) local_[to + k] = it->second;
        else local_.erase(to + k);
    }
}

void Provenance::write(const Ctx& c, const Insn& i, u64 address, u32 width, Label label) {
    if (i.space != Space::shared && in_local(c, address)) {
        local_[address] = label;
        return;
    }
    const bool shared = i.space == Space::shared || in_shared(c, address);
    if (shared) {
        if (i.space != Space::shared) address -= u64(c.block->shared);
        for (u32 k = 0; k < width && address + k < shared_.size(); ++k) shared_[address + k] = label;
        return;
    }
    Label* to = at(address);
    if (const Region* r = to ? nullptr : c.launch->regions.find(address)) to = watch(r->base, r->end - r->base) + (address - r->base);
    for (u32 k = 0; to && k < width && to + k < last_->labels + last_->bytes; ++k) to[k] = label;
}

void Provenance::load(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const u32* list = c.code->lists.data() + i.list;
    each_lane(c.mask, [&](u32 l) {
        const Label index = of(c, i, i.a, l);
        for (u32 k = 0; k < i.vec; ++k) {
            Label got = i.space == Space::constant ? 0 : read(c, i, a.at[l] + k * i.width, i.width, l);
            if (index) {
                const Label both[] = {got, index};
                got = join(base_ + i.id, both, 2);
            }
            set(c, list[k], l, got);
        }
    });
}

void Provenance::store(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    const u32* list = c.code->lists.data() + i.list;
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.vec; ++k) {
            const u64 address = a.at[l] + k * i.width;
            const Label parts[] = {of(c, i, list[k], l), of(c, i, i.a, l), of(c, i, i.guard, l)};
            const bool local = i.space != Space::shared && in_local(c, address);
            const Label made = local ? parts[0] : parts[0] | parts[1] | parts[2] ? node(base_ + i.id, NodeKind::step, parts[0], parts[1], parts[2]) : 0;
            write(c, i, address, i.width, made);
            if (i.space != Space::shared && !local && !in_shared(c, address)) note(c, i, address, i.width, l, true);
        }
    });
}

void Provenance::atomic(Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    each_lane(c.mask, [&](u32 l) {
        const u64 address = a.at[l];
        const bool global = i.space != Space::shared && !in_shared(c, address) && !in_local(c, address);
        Label old = 0;
        if (!global) old = read(c, i, address, i.width, l);
        else if (const Label* known = at(address)) old = *known;
        if (global) note(c, i, address, i.width, l, false);
        const Label values[] = {old, of(c, i, i.b, l), of(c, i, i.c, l)};
        write(c, i, address, i.width, values[0] | values[1] | values[2] ? node(base_ + i.id, NodeKind::step, values[0], values[1], values[2]) : 0);
        set(c, i.d, l, old);
    });
}

// cp.async: what is in shared memory comes from global memory.
void Provenance::copy(Ctx& c, const Insn& i) {
    Addresses to;
    addresses_of(c, i, to);
    u64 offset;
    std::memcpy(&offset, c.code->lists.data() + i.list, 8);
    const u64* from = c.src<u64>(i.b);
    const u32* sizes = i.c == none ? nullptr : c.src<u32>(i.c);
    each_lane(c.mask, [&](u32 l) {
        for (u32 k = 0; k < i.width; k += 4) {
            const bool reads = !sizes || k < sizes[l];
            const Label got = reads ? read_global(c, i, from[l] + offset + k, 4, l) : 0;
            for (u32 n = 0; n < 4 && to.at[l] + k + n < shared_.size(); ++n) shared_[to.at[l] + k + n] = got;
        }
    });
}

void Provenance::shuffle(Ctx& c, const Insn& i) {
    Label before[warp_lanes], made[warp_lanes] = {};
    for (u32 l = 0; l < warp_lanes; ++l) before[l] = of(c, i, i.a, l);
    each_lane(c.mask, [&](u32 l) {
        bool inside = false;
        const u32 from = shuffle_source(c, i, l, inside);
        made[l] = before[from] ? node(base_ + i.id, NodeKind::step, before[from], 0, 0) : 0;
    });
    each_lane(c.mask, [&](u32 l) { set(c, i.d, l, made[l]); set(c, i.d2, l, 0); });
}

// Votes, matches, sums of a warp: each lane's result depends on all of them.
void Provenance::all_lanes(Ctx& c, const Insn& i) {
    Label every[warp_lanes];
    u32 count = 0;
    each_lane(c.mask, [&](u32 l) { if (const Label one = of(c, i, i.a, l)) every[count++] = one; });
    const Label made = count ? join(base_ + i.id, every, count) : 0;
    each_lane(c.mask, [&](u32 l) { set(c, i.d, l, made); set(c, i.d2, l, made); });
}

// Of a matrix product each element depends on a row and a column.
void Provenance::product(Ctx& c, const Insn& i) {
    const Parts p = kgsim::parts(c, i);
    std::vector<std::vector<Label>> sides[2] = {std::vector<std::vector<Label>>(p.m()), std::vector<std::vector<Label>>(p.n())};
    for (int which = 1; which <= 2; ++which) {
        const u32 per = per_register(p.type(which));
        for (u32 e = 0; e < p.count(which) * per; ++e)
            for (u32 l = 0; l < warp_lanes; ++l) {
                const Cell2 at = place(i, p, which, l, e);
                auto& found = sides[which - 1][which == 1 ? at.row % p.m() : at.column % p.n()];
                const Label one = of(c, i, p.list(which)[e / per], l);
                if (one && (found.empty() || found.back() != one)) found.push_back(one);
            }
    }
    std::vector<Label> whole[2];
    for (int side = 0; side < 2; ++side)
        for (const auto& found : sides[side]) whole[side].push_back(join(base_ + i.id, found.data(), u32(found.size())));
    const u32 per = per_register(p.type(0));
    for (u32 r = 0; r < p.count(0); ++r)
        each_lane(c.mask, [&](u32 l) {
            std::vector<Label> from{r < p.count(3) ? of(c, i, p.list(3)[r], l) : 0};
            for (u32 h = 0; h < per; ++h) {
                const Cell2 at = place(i, p, 0, l, r * per + h);
                from.push_back(whole[0][at.row % p.m()]);
                from.push_back(whole[1][at.column % p.n()]);
            }
            set(c, p.list(0)[r], l, join(base_ + i.id, from.data(), u32(from.size())));
        });
}

void Provenance::fetched(const Ctx& c, const Insn& i, const Addresses& a, u32 bytes) {
    each_lane(c.mask, [&](u32 l) { if (const Label one = read(c, i, a.at[l], bytes, l)) fetched_[l].push_back(one); });
}

void Provenance::kept(Ctx& c, const Insn& i, u32 op) {
    each_lane(c.mask, [&](u32 l) {
        set(c, op, l, fetched_[l].size() == 1 ? fetched_[l][0] : join(base_ + i.id, fetched_[l].data(), u32(fetched_[l].size())));
        fetched_[l].clear();
    });
}

void Provenance::stored(Ctx& c, const Insn& i, const Addresses& a, u32 bytes, u32 op) {
    each_lane(c.mask, [&](u32 l) {
        const Label one = of(c, i, op, l);
        write(c, i, a.at[l], bytes, one ? node(base_ + i.id, NodeKind::step, one, 0, 0) : 0);
        if (i.space != Space::shared && !in_shared(c, a.at[l])) note(c, i, a.at[l], bytes, l, true);
    });
}

void Provenance::parts(Ctx& c, const Insn& i) {
    const u32* list = c.code->lists.data() + i.list;
    each_lane(c.mask, [&](u32 l) {
        if (i.mode != 1) {
            const Label whole = of(c, i, i.a, l);
            for (u32 k = 0; k < i.vec; ++k) set(c, list[k], l, whole);
            return;
        }
        Label found[8];
        u32 count = 0;
        for (u32 k = 0; k < i.vec && count < 8; ++k) if (const Label one = of(c, i, list[k], l)) found[count++] = one;
        set(c, i.d, l, count <= 1 ? (count ? found[0] : 0) : join(base_ + i.id, found, count));
    });
}

void Provenance::compute(Ctx& c, const Insn& i) {
    const u32 choice = i.flow == Flow::select ? c.truth(i.c) : 0;
    each_lane(c.mask, [&](u32 l) {
        Label found[5];
        u32 count = 0, memory = 0;
        const auto add = [&](u32 op) {
            const Label one = of(c, i, op, l);
            if (!one || (!computes_floats(i) && !passes_on(i) && i.flow != Flow::select && nodes_[one].kind() == NodeKind::constant)) return;
            memory += nodes_[one].kind() != NodeKind::constant;
            found[count++] = one;
        };
        if (i.flow == Flow::select) {
            add(choice >> l & 1 ? i.a : i.b);
            add(i.c);
        } else {
            for (u32 op : {i.a, i.b, i.c, i.e}) add(op);
        }
        add(i.guard);
        Label made = 0;
        if (count == 1 && passes_on(i)) made = found[0];
        else if (memory) made = count <= 3 ? node(base_ + i.id, NodeKind::step, found[0], count > 1 ? found[1] : 0, count > 2 ? found[2] : 0) : join(base_ + i.id, found, count);
        set(c, i.d, l, made);
        set(c, i.d2, l, made);
    });
}

void Provenance::step(Ctx& c, const Insn& i) {
    static const Handler move_parts = op_table().at("parts").run;
    if (i.run == run_load) return load(c, i);
    if (i.run == run_store) return store(c, i);
    if (i.run == run_atomic) return atomic(c, i);
    if (i.run == run_copy) return copy(c, i);
    if (i.run == run_shuffle) return shuffle(c, i);
    if (i.run == run_vote || i.run == run_match || i.run == run_reduce) return all_lanes(c, i);
    if (i.run == move_parts) return parts(c, i);
    if (i.run == run_mma) return product(c, i);
    if (i.run == run_load_matrix || i.run == run_store_matrix || i.run == run_wmma_memory) return;  // they tell it element by element
    if (i.klass == Class::tensor) return give_up("tensor-core instructions");
    if (i.flow != Flow::own) return compute(c, i);
    if (i.run == run_parameter)
        return each_lane(c.mask, [&](u32 l) { for (u32 k = 0; k < i.vec; ++k) set(c, c.code->lists[i.list + k], l, 0); });
    each_lane(c.mask, [&](u32 l) { set(c, i.d, l, 0); set(c, i.d2, l, 0); });
}

// Its computed or loaded value, in floats.
void Provenance::computed(Ctx& c, const Insn& i) {
    const bool brings = (i.run == run_load || i.run == run_atomic) && i.width == 4 && i.vec == 1;
    if (brings && i.run == run_atomic) return accumulated(c, i);
    if ((!brings && !computes_floats(i)) || i.klass == Class::fp16) return;
    const u32 to = i.run == run_load ? c.code->lists[i.list] : i.d;
    if (to == none || kind_of(to) != Kind::reg) return;
    each_lane(c.mask, [&](u32 l) {
        const Label label = c.warp->labels[slot_of(to) * warp_lanes + l];
        if (!label || nodes_[label].number() != base_ + i.id) return;
        values_[label] = i.klass == Class::fp64 ? float(std::bit_cast<double>(c.dst<u64>(to)[l])) : std::bit_cast<float>(c.dst<u32>(to)[l]);
    });
}

void Provenance::accumulated(const Ctx& c, const Insn& i) {
    Addresses a;
    addresses_of(c, i, a);
    each_lane(c.mask, [&](u32 l) {
        const Label* known = i.space == Space::shared || in_shared(c, a.at[l]) || in_local(c, a.at[l]) ? nullptr : at(a.at[l]);
        if (known && *known && nodes_[*known].number() == base_ + i.id) std::memcpy(&values_[*known], reinterpret_cast<const void*>(a.at[l]), 4);
    });
}

void Provenance::left_out(Ctx& c, const Insn& i) {
    if (i.flow == Flow::own) return;
    each_lane(c.mask, [&](u32 l) {
        const Label guard = of(c, i, i.guard, l);
        for (u32 op : {i.d, i.d2}) {
            if (!guard || op == none) continue;
            const Label old = of(c, i, op, l);
            set(c, op, l, node(base_ + i.id, NodeKind::step, old, guard, 0));
        }
    });
}

}  // namespace kgsim
