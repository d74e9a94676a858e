// A loaded program: what it was loaded from, and what became of it.
#pragma once

#include <string>

#include "blob.hpp"

namespace kgsim {

class Program {
public:
    std::shared_ptr<Blob> blob;
    std::string bytes;
};

// Notes that a kernel of the program was launched: then it can be told and changed (cudart_changes.cpp).
void note_launched(const ProgramRef& program);

}  // namespace kgsim
