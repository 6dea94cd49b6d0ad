#include "fuzz/fuzz.hpp"
#include "loom/fabric/guid_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return loom::fuzz::refuse_or_read(data, size, [](std::string_view text) {
        for (const loom::Guid guid : loom::fabric::parse_guids(text, "input"))
            loom::fuzz::require(guid != loom::no_guid, "a GUID is not zero");
    });
}
