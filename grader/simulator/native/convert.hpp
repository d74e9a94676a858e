// Binding cvt: its key has too many parts for a table.
#pragma once

#include "core.hpp"

namespace kgsim {

// Sets handler, mode and flags of a cvt from its dotted words; false where the types are not known.
bool bind_convert(const std::vector<std::string_view>& words, Insn& insn, std::string& signature);

}  // namespace kgsim
