// Runs one kernel of a cubin as a list says, several times; prints what the runtime answered.
//
//     gpu_kernels CUBIN LIST FOLDER
//
// LIST holds a word and its values a line: `kernel NAME`, `grid X Y Z`, `block X Y Z`, `shared BYTES`,
// `optin BYTES`, `cooperative 0|1`, `repeat N`, `seconds N`, and the arguments in order: `file PATH BYTES`
// (device memory with the file's bytes), `empty BYTES FILL` (device memory; FILL -1 leaves it unwritten),
// `value HEX`. Device memory after the first launch goes to FOLDER/0, FOLDER/1, ...

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <cuda_runtime.h>

struct Argument {
    std::vector<char> bytes;  // what it starts with, or a value's own bytes
    void* memory = nullptr;
    size_t size = 0;
    int fill = 0;  // -1: left unwritten
    bool value = false;
};

struct Job {
    std::string kernel;
    unsigned grid[3], block[3];
    size_t shared = 0, optin = 0;
    int cooperative = 0, repeat = 1, seconds = 5;
    std::vector<Argument> arguments;
};

static void say(const char* what, const char* text) {
    std::printf("%s %s\n", what, text);
    std::fflush(stdout);
}

static void need(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    say("failed", (std::string(what) + " " + cudaGetErrorName(error)).c_str());
    _exit(2);
}

static std::vector<char> unhex(const std::string& text) {
    std::vector<char> bytes;
    for (size_t k = 0; k + 1 < text.size(); k += 2) bytes.push_back(char(std::stoi(text.substr(k, 2), nullptr, 16)));
    return bytes;
}

static Job read(const char* path) {
    Job job;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream in(line);
        std::string word, name;
        in >> word;
        Argument a;
        if (word == "kernel") in >> job.kernel;
        else if (word == "grid") in >> job.grid[0] >> job.grid[1] >> job.grid[2];
        else if (word == "block") in >> job.block[0] >> job.block[1] >> job.block[2];
        else if (word == "shared") in >> job.shared;
        else if (word == "optin") in >> job.optin;
        else if (word == "cooperative") in >> job.cooperative;
        else if (word == "repeat") in >> job.repeat;
        else if (word == "seconds") in >> job.seconds;
        else if (word == "file") {
            in >> name >> a.size;
            std::ifstream data(name, std::ios::binary);
            a.bytes.resize(a.size);
            data.read(a.bytes.data(), long(a.size));
            job.arguments.push_back(a);
        } else if (word == "empty") {
            in >> a.size >> a.fill;
            job.arguments.push_back(a);
        } else if (word == "value") {
            in >> name;
            a.bytes = unhex(name);
            a.value = true;
            job.arguments.push_back(a);
        }
    }
    return job;
}

static void fill(const Argument& a) {
    if (a.value || a.size == 0) return;
    if (!a.bytes.empty()) need(cudaMemcpy(a.memory, a.bytes.data(), a.size, cudaMemcpyHostToDevice), "copy in");
    else if (a.fill >= 0) need(cudaMemset(a.memory, a.fill, a.size), "fill");
}

static cudaError_t wait(int seconds) {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
        cudaError_t error = cudaStreamQuery(nullptr);
        if (error != cudaErrorNotReady) return error == cudaSuccess ? cudaDeviceSynchronize() : error;
        usleep(200);
    }
    say("hang", "");
    _exit(3);
}

int main(int argc, char** argv) {
    if (argc != 4) return 1;
    Job job = read(argv[2]);
    cudaLibrary_t library;
    cudaKernel_t kernel;
    need(cudaLibraryLoadFromFile(&library, argv[1], nullptr, nullptr, 0, nullptr, nullptr, 0), "load");
    need(cudaLibraryGetKernel(&kernel, library, job.kernel.c_str()), "kernel");
    if (job.optin) {
        auto answer = cudaFuncSetAttribute((void*)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(job.optin));
        say("optin", cudaGetErrorName(answer));
        cudaGetLastError();
    }
    std::vector<void*> pointers;
    for (Argument& a : job.arguments) {
        if (!a.value) need(cudaMalloc(&a.memory, a.size), "memory");
        pointers.push_back(a.value ? (void*)a.bytes.data() : (void*)&a.memory);
    }
    std::vector<std::vector<char>> first;
    int differ = 0;
    for (int run = 0; run < job.repeat; ++run) {
        for (const Argument& a : job.arguments) fill(a);
        need(cudaDeviceSynchronize(), "inputs");
        dim3 grid(job.grid[0], job.grid[1], job.grid[2]), block(job.block[0], job.block[1], job.block[2]);
        cudaError_t launch = job.cooperative
            ? cudaLaunchCooperativeKernel((void*)kernel, grid, block, pointers.data(), job.shared, nullptr)
            : cudaLaunchKernel((void*)kernel, grid, block, pointers.data(), job.shared, nullptr);
        if (run == 0) say("launch", cudaGetErrorName(launch));
        if (launch != cudaSuccess) return 0;
        cudaError_t done = wait(job.seconds);
        if (run == 0 || done != cudaSuccess) say("sync", cudaGetErrorName(done));
        if (done != cudaSuccess) return 0;
        std::vector<std::vector<char>> now;
        for (const Argument& a : job.arguments) {
            if (a.value) continue;
            std::vector<char> host(a.size);
            need(cudaMemcpy(host.data(), a.memory, a.size, cudaMemcpyDeviceToHost), "copy out");
            now.push_back(host);
        }
        if (run == 0) {
            first = now;
            for (size_t k = 0; k < now.size(); ++k)
                std::ofstream(std::string(argv[3]) + "/" + std::to_string(k), std::ios::binary).write(now[k].data(), long(now[k].size()));
        } else {
            differ += now != first;
        }
    }
    say("differ", std::to_string(differ).c_str());
    return 0;
}
