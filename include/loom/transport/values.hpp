// The values that ranks exchange, as one string of bytes per rank and fence: what PMIx and MPI carry well.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "loom/transport/bootstrap.hpp"

namespace loom::transport {

using Values = std::map<std::string, std::string, std::less<>>;

[[nodiscard]] inline std::string pack(const Values& values) {
    std::string bytes;
    const auto add = [&](std::string_view text) {
        const auto length = static_cast<std::uint32_t>(text.size());
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        bytes.append(text);
    };
    for (const auto& [key, value] : values) {
        add(key);
        add(value);
    }
    return bytes;
}

// Adds what `bytes` hold to `values`; the newer value of a key stays. Throws BootstrapError when they are no values.
inline void unpack(std::string_view bytes, Values& values) {
    const auto next = [&]() -> std::string_view {
        std::uint32_t length = 0;
        if (bytes.size() < sizeof length) throw BootstrapError("the values of a rank are cut short");
        std::memcpy(&length, bytes.data(), sizeof length);
        bytes.remove_prefix(sizeof length);
        if (length > bytes.size()) throw BootstrapError("the values of a rank are cut short");
        const std::string_view text = bytes.substr(0, length);
        bytes.remove_prefix(length);
        return text;
    };
    while (!bytes.empty()) {
        const std::string_view key = next();
        values[std::string(key)] = next();
    }
}

// Throws BootstrapError when there is none.
[[nodiscard]] inline const std::string& value_of(const Values& values, Rank of, std::string_view key) {
    const auto found = values.find(key);
    if (found == values.end())
        throw BootstrapError("rank " + std::to_string(of.value) + " has put no " + std::string(key));
    return found->second;
}

}  // namespace loom::transport
