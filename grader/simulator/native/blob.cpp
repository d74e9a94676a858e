// Reading and checking a blob; placing module variables.
#include "blob.hpp"

#include <stdexcept>

namespace kgsim {
namespace {

constexpr char magic[] = {'K', 'G', 'S', 'I', 'M', 0, 0, 2};
constexpr u64 largest_module = u64(1) << 32;

class Reader {
public:
    Reader(const u8* bytes, size_t size) : at_(bytes), end_(bytes + size) {}
    u32 word() {
        need(4);
        u32 v;
        std::memcpy(&v, at_, 4);
        at_ += 4;
        return v;
    }
    u32 count(size_t least_bytes) {  // a number of things that follow, each of at least that many bytes
        u32 n = word();
        if (u64(n) * least_bytes > size_t(end_ - at_)) no_program("count");
        return n;
    }
    std::string text() {
        u32 n = count(1);
        std::string s(reinterpret_cast<const char*>(at_), n);
        size_t padded = (size_t(n) + 3) / 4 * 4;
        need(padded);
        at_ += padded;
        return s;
    }
    template <class T> std::vector<T> array() {
        u32 n = count(sizeof(T));
        std::vector<T> v(n);
        if (n) std::memcpy(v.data(), at_, size_t(n) * sizeof(T));
        at_ += size_t(n) * sizeof(T);
        return v;
    }
    bool done() const { return at_ == end_; }

private:
    void need(size_t n) const { if (size_t(end_ - at_) < n) no_program("too short"); }
    const u8 *at_, *end_;
};

Variable read_variable(Reader& in) {
    Variable v;
    v.name = in.text();
    v.space = in.word();
    v.align = in.word();
    v.size = in.word();
    v.size |= u64(in.word()) << 32;
    v.function = i32(in.word());
    v.external = in.word() != 0;
    v.data = in.text();
    u32 n = in.count(28);
    for (u32 k = 0; k < n; ++k) {
        Relocation r{};
        r.offset = in.word();
        r.width = in.word();
        r.function = in.word() != 0;
        r.target = in.word();
        r.addend = i64(in.word());
        r.addend |= i64(u64(in.word()) << 32);
        r.shift = in.word();
        v.relocations.push_back(r);
    }
    if (v.space > var_entry || v.align == 0 || v.align > 4096 || (v.align & (v.align - 1))) no_program("variable");
    if (v.data.size() > v.size || v.size > largest_module) no_program("variable size");
    for (const Relocation& r : v.relocations)
        if (r.width == 0 || r.width > 8 || u64(r.offset) + r.width > v.data.size() || r.shift > 63) no_program("relocation");
    return v;
}

RawFunction read_function(Reader& in) {
    RawFunction f;
    f.name = in.text();
    f.entry = in.word() != 0;
    f.defined = in.word() != 0;
    f.max_threads = in.word();
    for (u32& r : f.required) r = in.word();
    for (auto* formals : {&f.returns, &f.parameters}) {
        u32 n = in.count(16);
        for (u32 k = 0; k < n; ++k) {
            RawFormal p{};
            p.variable = in.word();
            p.offset = in.word();
            p.size = in.word();
            p.align = in.word();
            if (p.offset > 1 << 16 || p.size > 1 << 16) no_program("parameter");
            formals->push_back(p);
        }
    }
    f.registers = in.text();
    f.labels = in.word();
    in.word();
    f.code = in.array<u32>();
    if (f.labels > f.code.size() + 1) no_program("labels");
    for (char width : f.registers)
        if (width != 1 && width != 16 && width != 32 && width != 64 && u8(width) != 128) no_program("register");
    return f;
}

void check(const Blob& blob) {
    auto within = [](u64 index, size_t size) { if (index >= size) no_program("index"); };
    for (const SourceLocation& l : blob.locations) {
        if (l.own < -1 || l.own >= i32(l.frames.size())) no_program("location");
        for (SourceFrame f : l.frames) within(f.file, blob.files.size());
    }
    for (const Variable& v : blob.variables) {
        if (v.function < -1 || v.function >= i32(blob.functions.size())) no_program("variable's function");
        for (const Relocation& r : v.relocations)
            if (r.target != none) within(r.target, r.function ? blob.functions.size() : blob.variables.size());
    }
    for (const RawFunction& f : blob.functions) {
        for (auto* formals : {&f.returns, &f.parameters})
            for (const RawFormal& p : *formals) within(p.variable, blob.variables.size());
        for (const RawInsn& i : blob.read(f, f.code)) {
            if (i.is_label) continue;
            within(i.opcode, blob.strings.size());
            within(i.loc, blob.locations.size());
            if (i.guard) within((i.guard >> 1) - 1, f.registers.size());
            if (i.guard && f.registers[(i.guard >> 1) - 1] != 1) no_program("guard");
        }
    }
}

// Module variables get memory of their own; addresses inside initialisers are filled in afterwards.
void place_variables(Blob& blob) {
    u64 total = 0;
    for (Variable& v : blob.variables) {
        if (v.space != var_global && v.space != var_const) continue;
        if ((total += v.size) > largest_module) no_program("variables are too large");
        const u64 align = v.align < 256 ? 256 : v.align;
        auto& memory = blob.storage.emplace_back(v.size + align);
        v.address = (u64(memory.data()) + align - 1) / align * align;
        if (!v.data.empty()) std::memcpy(reinterpret_cast<void*>(v.address), v.data.data(), v.data.size());
    }
    for (Variable& v : blob.variables) {
        if (!v.address) continue;
        for (const Relocation& r : v.relocations) {
            u64 value = 0;
            if (r.target != none) value = r.function ? function_address + 16 * u64(r.target) : blob.variables[r.target].address;
            value = (value + u64(r.addend)) >> r.shift;
            std::memcpy(reinterpret_cast<u8*>(v.address) + r.offset, &value, r.width);
        }
        bool constant = v.space == var_const;
        blob.regions.push_back(add_region(v.address, v.size, v.name, constant ? RegionKind::constant : RegionKind::variable));
    }
}

}  // namespace

int Blob::line_of(u32 loc) const {
    const SourceLocation& l = locations[loc];
    return l.own < 0 ? 0 : int(l.frames[size_t(l.own)].line);
}

Blob::~Blob() {
    for (const Variable& v : variables) if (v.address) free_region(v.address);
}

std::shared_ptr<Blob> read_blob(const void* bytes, size_t size, std::string* error) {
    try {
        size_t said = 0;
        if (!is_program(bytes, size, &said) || said > size) no_program("header");
        Reader in(static_cast<const u8*>(bytes) + 16, said - 16);
        auto blob = std::make_shared<Blob>();
        blob->of_blocks = in.word() != 0;
        u32 n = in.count(4);
        for (u32 k = 0; k < n; ++k) blob->strings.push_back(in.text());
        blob->constants = in.array<u64>();
        n = in.count(4);
        for (u32 k = 0; k < n; ++k) blob->files.push_back(in.text());
        n = in.count(8);
        for (u32 k = 0; k < n; ++k) {
            SourceLocation l;
            u32 frames = in.count(8);
            l.own = i32(in.word());
            for (u32 f = 0; f < frames; ++f) {
                u32 file = in.word();
                l.frames.push_back({file, in.word()});
            }
            blob->locations.push_back(std::move(l));
        }
        n = in.count(24);
        for (u32 k = 0; k < n; ++k) blob->variables.push_back(read_variable(in));
        n = in.count(24);
        for (u32 k = 0; k < n; ++k) blob->functions.push_back(read_function(in));
        if (!in.done()) no_program("bytes left over");
        check(*blob);
        place_variables(*blob);
        return blob;
    } catch (const std::exception& e) {
        if (error) *error = e.what();
        return nullptr;
    }
}

bool is_program(const void* bytes, size_t available, size_t* size) {
    if (available < 16 || std::memcmp(bytes, magic, sizeof magic) != 0) return false;
    u64 total;
    std::memcpy(&total, static_cast<const u8*>(bytes) + 8, 8);
    if (total < 16 || total > largest_module) return false;
    if (size) *size = size_t(total);
    return true;
}

std::shared_ptr<const Code> Blob::code(u32 function) const {
    std::lock_guard guard(lock);
    auto& entry = linked[function];
    if (!entry) entry = link_kernel(*this, function);
    return entry;
}

}  // namespace kgsim
