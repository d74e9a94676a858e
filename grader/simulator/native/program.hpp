// A loaded program: its source and its linked form.
#pragma once

#include <string>

#include "blob.hpp"

namespace kgsim {

class Program {
public:
    std::shared_ptr<Blob> blob;
    std::string bytes;
};

// Records that a kernel of the program was launched, so that changed runs can name it (cudart_changes.cpp).
void note_launched(const ProgramRef& program);

}  // namespace kgsim
