// What an opcode's words say.
#include "link.hpp"

namespace kgsim {

Opcode split_opcode(const std::string& text) {
    Opcode op;
    op.text = text;
    return op;
}

void split_words(Opcode& op) {
    std::string_view rest = op.text;
    while (true) {
        size_t dot = rest.find('.');
        op.words.push_back(rest.substr(0, dot));
        if (dot == std::string_view::npos) break;
        rest.remove_prefix(dot + 1);
    }
}

bool ends_block(const Opcode& op) {
    auto b = op.base();
    return b == "bra" || b == "brx" || b == "ret" || b == "exit" || b == "call";
}

Start start_of(const Opcode& op) {
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
bool starts_block(const Opcode& op) { return start_of(op) != Start::plain; }

bool has_destination(const Opcode& op) {
    auto b = op.base();
    for (auto no : {"st", "red", "bra", "brx", "bar", "barrier", "membar", "fence", "prefetch", "prefetchu", "ret", "exit", "trap",
                    "nanosleep", "call", "discard", "applypriority", "stmatrix", "brkpt", "pmevent"})
        if (b == no) return b == "bar" && op.has("red");
    if (b == "mbarrier") return !op.has("init") && !op.has("inval");
    return !(b == "cp");
}

}  // namespace kgsim
