#include "fuzz/fuzz.hpp"
#include "loom/fabric/placement.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        loom::fuzz::require(loom::fabric::expand_host_list(text).size() <= 1'000'000,
                            "a list has at most a million names");
    });
}
