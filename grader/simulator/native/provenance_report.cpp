// Recorded sources of values, queried by element: as JSON.
#include <algorithm>
#include <set>
#include <unordered_map>

#include "json_text.hpp"
#include "provenance.hpp"

namespace kgsim {
namespace {

constexpr size_t most_runs = 20000;  // of elements, of one instruction and one question
constexpr size_t most_lines = 200;
constexpr size_t most_blocks = 16;
constexpr size_t most_steps = 2000;  // a loop that is unrolled has many

// Elements in order, as runs [first, step, count].
std::string runs_json(std::vector<u64> elements) {
    std::sort(elements.begin(), elements.end());
    elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
    std::string out;
    size_t runs = 0;
    for (size_t k = 0; k < elements.size() && runs < most_runs; ++runs) {
        size_t end = k + 1;
        const u64 step = end < elements.size() ? elements[end] - elements[k] : 1;
        while (end < elements.size() && elements[end] - elements[end - 1] == step) ++end;
        if (end - k == 2 && step != 1) end = k + 1;  // two apart are rather the beginnings of others
        out += (out.empty() ? "[" : ",[") + number(elements[k]) + "," + number(end - k > 1 ? step : u64(1)) + "," + number(u64(end - k)) + "]";
        k = end;
    }
    return "[" + out + "]";
}

struct Reads {
    std::vector<u64> elements;  // once for each read
    std::set<u32> threads;
};

// How often an instruction ran, and the last time in each of some blocks, the last block first.
struct Ran {
    std::vector<Label> last;
    u64 times = 0;
    u32 block = ~0u;
    void count(Label label, u32 in) {
        ++times;
        if (in != block && last.size() < most_blocks) last.push_back(label);
        block = in;
    }
};

constexpr size_t most_handovers = 64;

// Whether an instruction takes what another left in memory.
bool takes_over(Class klass) { return klass == Class::load_shared || klass == Class::load_global; }

std::string place_json(const Provenance::Instruction& i) {
    return "\"file\":" + quoted(i.file) + ",\"line\":" + number(u64(i.line)) + ",\"frames\":" + i.frames;
}

std::string precise(float value) {
    if (!std::isfinite(value)) return "null";
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", double(value));
    return text;
}

std::string list_json(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
    return "[" + out + "]";
}

}  // namespace

std::vector<Label> Provenance::roots(const u64* addresses, size_t count) const {
    std::vector<Label> all(count, 0);
    for (size_t k = 0; k < count; ++k) {
        auto it = shadows_.upper_bound(addresses[k]);
        if (it == shadows_.begin()) continue;
        const Shadow& s = std::prev(it)->second;
        if (addresses[k] - s.base < s.bytes) all[k] = s.labels[addresses[k] - s.base];
    }
    return all;
}

const Provenance::Touch* Provenance::touch_at(const Node& leaf) const {
    auto it = touches_.upper_bound({leaf.number(), leaf.address()});
    if (it == touches_.begin()) return nullptr;
    --it;
    return it->first.first == leaf.number() ? &it->second : nullptr;
}

std::string Provenance::touched() const {
    std::vector<std::string> all;
    for (const Touch* t : order_) {
        const Instruction& i = instructions_[t->insn];
        u64 distinct = 0, twice = 0, blocks = 0;
        for (u8 e : t->elements) {
            distinct += e & 1;
            twice += e >> 1 & 1;
            blocks += e >> 2 & 1;
        }
        const char* what = i.klass == Class::atomic ? "atomic" : t->writers.empty() ? "load" : "store";
        all.push_back("{\"kernel\":" + quoted(i.kernel) + ",\"file\":" + quoted(i.file) + ",\"line\":" + number(u64(i.line)) + ",\"frames\":" + i.frames +
                      ",\"what\":\"" + what + "\",\"width\":" + number(u64(t->width)) + ",\"vec\":" + number(u64(i.vec)) + ",\"base\":" + number(t->base) +
                      ",\"size\":" + number(t->size) + ",\"accesses\":" + number(t->accesses) + ",\"distinct\":" + number(distinct) +
                      ",\"twice\":" + number(twice) + ",\"blocks\":" + number(blocks) + "}");
    }
    return "{\"unfollowed\":" + quoted(unfollowed_) + ",\"nodes\":" + number(u64(nodes_.size())) + ",\"accesses\":" + list_json(all) + "}";
}

// The labelled operands' values of the last run of a step.
std::string Provenance::other_json(Label label) const {
    std::string out;
    for (Label from : nodes_[label].from)
        if (from && nodes_[from].kind() != NodeKind::constant) out += (out.empty() ? "" : ",") + precise(values_[from]);
    return "[" + out + "]";
}

std::string Provenance::origins(const u64* addresses, size_t count, bool together) const {
    std::vector<u8> seen(nodes_.size(), 0);
    const std::vector<Label> ends = roots(addresses, count);
    if (together) return list_json({origin(ends, seen)});
    std::vector<std::string> all;
    for (const Label root : ends) all.push_back(origin({root}, seen));
    return list_json(all);
}

// Sources of values; `seen` has a zero for each node, before and after.
std::string Provenance::origin(const std::vector<Label>& ends, std::vector<u8>& seen) const {
    std::vector<Label> below;
    double total = 0;  // of what was stored
    for (const Label end : ends)
        if (end && !seen[end]) {
            seen[end] = 1;
            below.push_back(end);
            const bool adds = instructions_[nodes_[end].number()].klass == Class::atomic;
            total += values_[adds ? end : nodes_[end].from[0]];
        }
    if (below.empty()) return "null";
    for (size_t k = 0; k < below.size(); ++k)
        if (nodes_[below[k]].kind() == NodeKind::step)
            for (Label from : nodes_[below[k]].from)
                if (from && !seen[from]) { seen[from] = 1; below.push_back(from); }
    std::sort(below.rbegin(), below.rend());  // what a value was made of has smaller labels
    // Lines that pass values between threads, each with its last instruction, and the lines that each value passed.
    std::map<std::pair<std::string, u32>, size_t> lines_over;
    std::vector<u32> handovers;
    std::unordered_map<Label, u64> through;
    std::map<std::pair<u32, u64>, Reads> reads;  // by access and by what it came through
    u64 block = 0;  // that read for it
    std::map<u32, Ran> steps;                    // by instruction
    std::map<u32, std::set<u32>> uses;           // which instructions' values each computes from
    std::set<std::tuple<u32, u32, u32>> numbers;  // constants: where each is written, where it is used, its bits
    for (const Label label : below) {
        const Node& n = nodes_[label];
        seen[label] = 0;
        u64 came = through[label];
        if (n.kind() == NodeKind::step) {
            if (const Instruction& i = instructions_[n.number()]; takes_over(i.klass)) {
                const auto [known, fresh] = lines_over.try_emplace({i.file, i.line}, lines_over.size());
                if (fresh) handovers.push_back(n.number());
                if (known->second < most_handovers) came |= u64(1) << known->second;
            }
            for (Label from : n.from) if (from) through[from] |= came;
            steps[n.number()].count(label, u32(std::upper_bound(blocks_.begin(), blocks_.end(), label) - blocks_.begin()));
            for (Label from : n.from)
                if (from && nodes_[from].kind() == NodeKind::step && nodes_[from].number() != n.number()) uses[n.number()].insert(nodes_[from].number());
            for (Label from : n.from) {
                if (!from) continue;
                if (nodes_[from].kind() == NodeKind::constant) numbers.insert({nodes_[from].number(), n.number(), nodes_[from].from[0]});
            }
        } else if (const Touch* t = n.kind() == NodeKind::leaf ? touch_at(n) : nullptr) {
            block = n.from[2] >> 10;
            Reads& r = reads[{t->number, came}];
            r.elements.push_back((n.address() - t->base) / t->width);
        }
    }
    std::vector<std::string> read_items, line_items;
    for (const auto& [key, r] : reads) {
        std::string over;
        for (size_t bit = 0; bit < handovers.size() && bit < most_handovers; ++bit)
            if (key.second >> bit & 1) over += (over.empty() ? "" : ",") + number(u64(handovers[bit]));
        read_items.push_back("{\"access\":" + number(u64(key.first)) + ",\"over\":[" + over + "]" + ",\"reads\":" + number(u64(r.elements.size())) + ",\"runs\":" + runs_json(r.elements) + "}");
    }
    std::vector<std::string> constants;
    for (const auto& [written, used, bits] : numbers)
        if (constants.size() < most_lines) constants.push_back("{" + place_json(instructions_[written]) + ",\"used\":{" + place_json(instructions_[used]) + "},\"op\":" + quoted(instructions_[used].opcode) + ",\"bits\":" + number(u64(bits)) + "}");
    for (const auto& [insn, ran] : steps) {
        const Instruction& i = instructions_[insn];
        std::string from, values;
        for (Label one : ran.last) values += (values.empty() ? "" : ",") + precise(values_[one]);
        for (u32 one : uses[insn]) from += (from.empty() ? "" : ",") + number(u64(one));
        if (line_items.size() >= most_steps) break;
        line_items.push_back("{\"file\":" + quoted(i.file) + ",\"line\":" + number(u64(i.line)) + ",\"frames\":" + i.frames + ",\"class\":" +
                             quoted(class_name(i.klass)) + ",\"count\":" + number(ran.times) + ",\"order\":" + number(u64(ran.last[0])) +
                             ",\"op\":" + quoted(i.opcode) + ",\"other\":" + other_json(ran.last[0]) + ",\"values\":[" + values + "],\"id\":" + number(u64(insn)) + ",\"from\":[" + from + "]}");
    }
    return "{\"total\":" + precise(float(total)) + ",\"block\":" + number(block) + ",\"reads\":" + list_json(read_items) + ",\"lines\":" + list_json(line_items) + ",\"constants\":" + list_json(constants) + "}";
}

// Reads that reached no value at these addresses, and where each value ends.
std::string Provenance::lost(const u64* addresses, size_t count) const {
    if (nodes_.empty()) return "[]";
    std::vector<u8> reached(nodes_.size(), 0);
    for (const Label root : roots(addresses, count)) reached[root] = 1;
    std::vector<Label> used_by(nodes_.size(), 0), end(nodes_.size(), 0);  // the last step that uses it; the last that comes of it
    for (size_t k = nodes_.size(); k-- > 1;) {
        const Node& n = nodes_[k];
        if (!end[k]) end[k] = u32(k);
        if (n.kind() != NodeKind::step) continue;
        for (Label from : n.from) {
            if (!from) continue;
            reached[from] |= reached[k];
            end[from] = std::max(end[from], end[k]);
            if (!used_by[from]) used_by[from] = u32(k);  // the last that uses it
        }
    }
    std::set<std::pair<u32, u64>> kept;  // what other reads of the element brought there
    for (size_t k = 1; k < nodes_.size(); ++k)
        if (nodes_[k].kind() == NodeKind::leaf && reached[k])
            if (const Touch* t = touch_at(nodes_[k])) kept.insert({t->number, nodes_[k].address()});
    std::map<std::pair<u32, u32>, Reads> ends;  // by the read's and the last instruction
    for (size_t k = 1; k < nodes_.size(); ++k) {
        const Node& n = nodes_[k];
        const Touch* t = n.kind() == NodeKind::leaf && !reached[k] ? touch_at(n) : nullptr;
        if (!t || kept.count({t->number, n.address()})) continue;
        const Label last = end[k];
        Reads& r = ends[{t->number, nodes_[last].number()}];
        r.elements.push_back((n.address() - t->base) / t->width);
        r.threads.insert(n.from[2] & 1023);
    }
    // Who goes on with what the same instructions gave elsewhere, where it is not lost.
    std::map<u32, std::map<u32, u64>> next;
    std::set<u32> ending;
    for (const auto& [key, r] : ends) ending.insert(key.second);
    for (size_t k = 1; k < nodes_.size(); ++k)
        if (nodes_[k].kind() != NodeKind::constant && reached[k] && used_by[k] && ending.count(nodes_[k].number()))
            ++next[nodes_[k].number()][nodes_[used_by[k]].number()];
    std::vector<std::string> all;
    for (const auto& [key, r] : ends) {
        const Instruction& i = instructions_[key.second];
        std::string goes_on = "null";
        if (const auto& after = next[key.second]; !after.empty()) {
            const auto most = std::max_element(after.begin(), after.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
            const Instruction& n = instructions_[most->first];
            goes_on = "{\"file\":" + quoted(n.file) + ",\"line\":" + number(u64(n.line)) + ",\"frames\":" + n.frames + "}";
        }
        all.push_back("{\"access\":" + number(u64(key.first)) + ",\"runs\":" + runs_json(r.elements) + ",\"file\":" + quoted(i.file) + ",\"line\":" +
                      number(u64(i.line)) + ",\"frames\":" + i.frames + ",\"class\":" + quoted(class_name(i.klass)) + ",\"next\":" + goes_on + ",\"threads\":" +
                      runs_json({r.threads.begin(), r.threads.end()}) + "}");
        if (all.size() >= most_lines) break;
    }
    return list_json(all);
}

}  // namespace kgsim
