#include <algorithm>
#include <cstring>

#include "kept_memory.hpp"

namespace kgsim {
namespace {

bool same(const std::vector<u8>& kept, const u8* now, u64 size) {
    return kept.size() == (now ? size : 0) && (!now || std::memcmp(kept.data(), now, size) == 0);
}

std::shared_ptr<const Piece> piece_of(const Region& r) {
    auto piece = std::make_shared<Piece>();
    const u8* const data = reinterpret_cast<const u8*>(r.base);
    const u64 size = r.end - r.base;
    piece->id = r.id;
    piece->base = r.base;
    piece->bytes.assign(data, data + size);
    if (r.init) piece->init.assign(r.init, r.init + size);
    return piece;
}

bool is_kept(const std::shared_ptr<const Piece>& piece, const Region& r) {
    return piece && piece->id == r.id && same(piece->bytes, reinterpret_cast<const u8*>(r.base), r.end - r.base) &&
           same(piece->init, r.init, r.end - r.base);
}

void put_back(Region& r, const Piece& piece, u64 from, u64 to) {
    std::memcpy(reinterpret_cast<u8*>(r.base) + from, piece.bytes.data() + from, to - from);
    if (!piece.init.empty()) std::memcpy(r.init + from, piece.init.data() + from, to - from);
}

void put_back(Region& r, const std::shared_ptr<const Piece>& piece) {
    const u64 size = piece->bytes.size();
    if (r.holds != piece.get()) {
        put_back(r, *piece, 0, size);
        r.pages.assign((size + kept_page - 1) / kept_page, 0);
        r.holds = piece.get();
        return;
    }
    for (u64 page = 0; page < r.pages.size(); ++page) {
        if (!r.pages[page]) continue;
        put_back(r, *piece, page * kept_page, std::min(size, (page + 1) * kept_page));
        r.pages[page] = 0;
    }
}

}  // namespace

Pieces keep_memory(const Pieces& last, u64 most) {
    Pieces kept;
    for (Region* r : snapshot_regions().sorted) {
        if (r->end - r->base > most) return {};
        most -= r->end - r->base;
        const auto known = std::find_if(last.begin(), last.end(), [&](const auto& piece) { return is_kept(piece, *r); });
        kept.push_back(known != last.end() ? *known : piece_of(*r));
    }
    return kept;
}

bool restore_memory(const Pieces& pieces) {
    const RegionMap map = snapshot_regions();
    for (const auto& piece : pieces) {
        Region* const r = map.find(piece->base);
        if (!r || r->id != piece->id || (!piece->init.empty() && !r->init)) return false;
        put_back(*r, piece);
    }
    return true;
}

void doubt_memory() {
    for (Region* r : snapshot_regions().sorted) r->holds = nullptr;
}

}  // namespace kgsim
