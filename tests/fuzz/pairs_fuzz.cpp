#include "fuzz/fuzz.hpp"
#include "loom/traffic/catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace loom::traffic;
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const PatternPtr pattern = read_pairs(text, "input", 16);
        std::vector<Pair> pairs;
        for (std::size_t stage = 0; stage < pattern->stages(); ++stage) {
            pattern->stage(stage, pairs);
            for (const Pair& pair : pairs)
                loom::fuzz::require(pair.from.value < 16 && pair.to.value < 16, "ranks are below their number");
        }
    });
}
