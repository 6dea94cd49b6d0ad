#include "loom/base/host_list.hpp"

#include <set>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const auto names = loom::expand_host_list(text, 1000);
        loom::fuzz::require(names.size() <= 1000, "a list has no more names than it may");
        const auto back = loom::expand_host_list(loom::compress_host_list(names));
        loom::fuzz::require(std::set(back.begin(), back.end()) == std::set(names.begin(), names.end()),
                            "a compressed list expands to the same names");
    });
}
