// Values as JSON, and as text.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "code.hpp"

namespace kgsim {

inline std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (char ch : text) {
        const auto u = static_cast<unsigned char>(ch);
        if (ch == '"' || ch == '\\') { out += '\\'; out += ch; }
        else if (u < 0x20 || u >= 0x7f) {
            char hex[8];
            std::snprintf(hex, sizeof hex, "\\u%04x", u);
            out += hex;
        } else out += ch;
    }
    return out + '"';
}
inline std::string number(u64 v) { return std::to_string(v); }
inline std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", std::isfinite(v) ? v : 0.0);
    return text;
}
inline std::string triple(u64 a, u64 b, u64 c) { return "[" + number(a) + "," + number(b) + "," + number(c) + "]"; }
inline std::string triple(const Dim3& d) { return triple(d.x, d.y, d.z); }
inline std::string spoken(u64 a, u64 b, u64 c) { return "(" + number(a) + "," + number(b) + "," + number(c) + ")"; }

}  // namespace kgsim
