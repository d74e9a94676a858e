// The meaning of an opcode's words.
#include "link.hpp"

namespace kgsim {

void split_words(Opcode& op) {
    std::string_view rest = op.text;
    while (true) {
        size_t dot = rest.find('.');
        op.words.push_back(rest.substr(0, dot));
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
    }
}

namespace {

bool ends(const Opcode& op) { return one_of(op.base(), {"bra", "brx", "ret", "exit", "call"}); }

Start start(const Opcode& op) {
    auto b = op.base();
    if (b == "bar" && op.words.size() > 1 && op.words[1] == "warp") return Start::warp_sync;
    if (b == "bar" || b == "barrier") {
        if (op.has("arrive") || op.has("cluster")) return Start::plain;
        return Start::barrier;
    }
    if (b == "shfl" || b == "vote" || b == "match" || b == "redux" || b == "elect")
        return op.has("sync") ? Start::warp_sync : Start::plain;
    if ((b == "mma" || b == "ldmatrix" || b == "stmatrix" || b == "wmma" || b == "movmatrix") && op.has("sync")) return Start::warp_sync;
    return Start::plain;
}

bool destination(const Opcode& op) {
    auto b = op.base();
    for (auto no : {"st", "red", "bra", "brx", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu", "ret", "exit", "trap",
                    "nanosleep", "call", "discard", "applypriority", "stmatrix", "brkpt", "pmevent"})
        if (b == no) return b == "bar" && op.has("red");
    if (b == "mbarrier") return !op.has("init") && !op.has("inval");
    return !(b == "cp");
}

}  // namespace

// Their words point into their texts, so they stay where they are.
const std::vector<Opcode>& Blob::opcodes() const {
    if (known_opcodes && known_opcodes->size() == strings.size()) return *known_opcodes;
    auto all = std::make_shared<std::vector<Opcode>>(strings.size());
    for (size_t k = 0; k < strings.size(); ++k) {
        Opcode& op = (*all)[k];
        op.text = strings[k];
        split_words(op);
        op.start = start(op);
        op.ends = ends(op);
        op.destination = destination(op);
    }
    known_opcodes = all;
    return *known_opcodes;
}

}  // namespace kgsim
