#include <sstream>

#include "fuzz/fuzz.hpp"
#include "loom/traffic/goal.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace loom::traffic;
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        const Schedule schedule = read_goal(text, "input");
        std::ostringstream out;
        write_goal(schedule, out);
        loom::fuzz::require(read_goal(out.str(), "written") == schedule, "what was written reads the same");
    });
}
