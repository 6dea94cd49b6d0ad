#include "fuzz/fuzz.hpp"
#include "session/control/message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        using namespace loom::session;
        const ControlMessage message = decode(std::as_bytes(std::span(text)));
        const Bytes again = encode(message);
        loom::fuzz::require(again.size() == text.size() &&
                                std::equal(again.begin(), again.end(), std::as_bytes(std::span(text)).begin()),
                            "written again it is the same");
        loom::fuzz::require(again.size() <= most_control_bytes, "a message has a bound");
    });
}
