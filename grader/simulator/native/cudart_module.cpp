// Registration: what the constructors in a host object call before anything else runs.

#include "cudart_module.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "runtime.hpp"

namespace kgsim {
namespace {

struct Wrapper {  // __fatBinC_Wrapper_t
    int magic, version;
    const void* data;
    void* filename_or_fatbins;
};
constexpr int kWrapperMagic = 0x466243b1;

struct Module {
    ProgramRef program;
    std::string error;
};

struct Registry {
    std::vector<std::unique_ptr<Module>> modules;
    std::map<const void*, HostKernel> kernels;
    std::map<const void*, HostVariable> variables;
};

Registry& registry() {
    static auto* registry = new Registry;
    return *registry;
}

// The length-prefixed identifier at `at`: its length, and where its letters start.
bool identifier(const std::string& text, size_t at, size_t* start, size_t* length) {
    size_t value = 0, i = at;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) && i - at < 5)
        value = value * 10 + (text[i++] - '0');
    *start = i;
    *length = value;
    return i > at && value > 0 && value <= text.size() - i;
}

ProgramRef load(const void* data, std::string* error) {
    size_t size = 0;
    if (data == nullptr || !is_program(data, SIZE_MAX, &size)) {
        *error = "the GPU binary is not one that the simulator's compiler driver made";
        return nullptr;
    }
    return load_program(data, size, error);
}

std::string demangled(const std::string& name) {
    int status = 0;
    char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    const std::string found = text != nullptr ? text : name;
    std::free(text);
    return found;
}

HostKernel kernel_named(const ProgramRef& program, const std::string& shown) {
    HostKernel kernel;
    kernel.program = program;
    kernel.shown = shown;
    if (!program) return kernel;
    const auto wanted = canonical(shown);
    for (const auto& info : kernels(program))
        if (info.name == shown || canonical(info.name) == wanted) {
            kernel.name = info.name;
            kernel.info = info;
            kernel.readable = demangled(info.name);
        }
    return kernel;
}

void register_variable(Module& module, void* shadow, const char* name, size_t size) {
    if (!module.program) return;
    const auto wanted = canonical(name);
    for (const auto& variable : variables(module.program))
        if (canonical(variable.name) == wanted) {
            registry().variables[shadow] = {variable.address, std::max<uint64_t>(size, 1)};
            return;
        }
}

}  // namespace

std::string canonical(const std::string& mangled) {
    if (mangled.rfind("_Z", 0) != 0) return mangled;
    std::string out = "_Z";
    for (size_t i = 2; i < mangled.size();) {
        size_t start, length;
        const bool internal = mangled[i] == 'L' && i + 1 < mangled.size() &&
                              identifier(mangled, i + 1, &start, &length);
        if (internal || identifier(mangled, i, &start, &length)) {
            const auto name = mangled.substr(start, length);
            if (name.rfind("_GLOBAL__N_", 0) == 0) {
                out += "12_GLOBAL__N_1";
            } else if (name.rfind("_INTERNAL_", 0) != 0) {
                out += std::to_string(length) + name;
            }
            i = start + length;
        } else {
            out += mangled[i++];
        }
    }
    // A static variable: clang mangles it, nvcc leaves its plain name.
    size_t start, length;
    if (identifier(out, 2, &start, &length) && start + length == out.size())
        return out.substr(start);
    return out;
}

std::map<std::string, std::string> demangled_names() {
    std::map<std::string, std::string> names;
    for (const auto& [stub, kernel] : registry().kernels)
        if (names.size() < 500) names[kernel.name] = kernel.readable.substr(0, 500);
    return names;
}

HostKernel* kernel_of(const void* function) {
    auto& kernels = registry().kernels;
    const auto found = kernels.find(function);
    return found == kernels.end() ? nullptr : &found->second;
}

std::optional<HostVariable> variable_of(const void* symbol) {
    const auto& variables = registry().variables;
    const auto found = variables.find(symbol);
    if (found == variables.end()) return std::nullopt;
    return found->second;
}

}  // namespace kgsim

using namespace kgsim;

KG_API void** __cudaRegisterFatBinary(void* data) {
    auto module = std::make_unique<Module>();
    const auto* wrapper = static_cast<const Wrapper*>(data);
    if (wrapper != nullptr && wrapper->magic == kWrapperMagic) {
        module->program = load(wrapper->data, &module->error);
    } else {
        module->error = "the GPU binary has no wrapper";
    }
    if (!module->program) missing(("a GPU binary that was not loaded: " + module->error).c_str());
    std::lock_guard lock(runtime().mutex);
    registry().modules.push_back(std::move(module));
    return reinterpret_cast<void**>(registry().modules.back().get());
}

KG_API void __cudaRegisterFatBinaryEnd(void**) {}

// Kernels of an unloaded extension can't be called any more; nothing is gained by forgetting them.
KG_API void __cudaUnregisterFatBinary(void**) {}

KG_API char __cudaInitModule(void**) { return 1; }

KG_API void __cudaRegisterFunction(void** handle, const char* stub, char* device_name,
                                   const char* name, int, void*, void*, void*, void*, int*) {
    const auto& module = *reinterpret_cast<Module*>(handle);
    const auto kernel = kernel_named(module.program, device_name != nullptr ? device_name : name);
    std::lock_guard lock(runtime().mutex);
    registry().kernels[stub] = kernel;
}

// For a compiler that hands a program over at run time, Triton's: the kernel of a program, to be launched by
// cudaLaunchKernel, and the sizes of its parameters, `most` at most. Null where it has no such kernel.
KG_API const void* kgsim_kernel(const void* image, size_t size, const char* name, uint32_t* sizes,
                                int most, int* count) {
    size_t said = 0;
    std::string error;
    if (!is_program(image, size, &said) || said > size) return nullptr;
    const auto kernel = kernel_named(load_program(image, said, &error), name);
    if (kernel.name.empty()) return nullptr;
    *count = 0;
    for (const auto& param : kernel.info.params)
        if (*count < most) sizes[(*count)++] = param.size;
    std::lock_guard lock(runtime().mutex);
    // Like kernels of extensions, it stays: a graph may still launch it.
    const auto* stub = new char;
    registry().kernels[stub] = kernel;
    return stub;
}

KG_API void __cudaRegisterVar(void** handle, char* shadow, char* device_name, const char*, int,
                              size_t size, int, int) {
    std::lock_guard lock(runtime().mutex);
    register_variable(*reinterpret_cast<Module*>(handle), shadow, device_name, size);
}

// The shadow of a managed variable is a pointer that host code dereferences.
KG_API void __cudaRegisterManagedVar(void** handle, void** pointer, char*, const char* name, int,
                                     size_t size, int, int) {
    std::lock_guard lock(runtime().mutex);
    register_variable(*reinterpret_cast<Module*>(handle), pointer, name, size);
    if (const auto variable = variable_of(pointer))
        *pointer = reinterpret_cast<void*>(variable->address);
}

KG_API void __cudaRegisterTexture(void**, const void*, const void**, const char* name, int, int, int) {
    missing((std::string("texture reference ") + name).c_str());
}

KG_API void __cudaRegisterSurface(void**, const void*, const void**, const char* name, int, int) {
    missing((std::string("surface reference ") + name).c_str());
}
