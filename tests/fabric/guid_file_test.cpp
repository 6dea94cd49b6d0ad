#include "loom/fabric/guid_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loom/base/error.hpp"

namespace loom::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint(std::string_view text) {
    try {
        (void)parse_guids(text, "roots");
    } catch (const ParseError& error) {
        return error.what();
    }
    return {};
}

TEST(GuidFile, IsReadInOrderWithoutDoubles) {
    const auto guids =
        parse_guids("# roots\n0x2\tspine two\r\n\n  0x0000000000000001 # first\n0x2\n0xffffffffffffffff", "roots");

    EXPECT_THAT(guids, ElementsAre(Guid{2}, Guid{1}, Guid{0xffffffffffffffff}));
}

TEST(GuidFile, BadLinesAreNamed) {
    EXPECT_THAT(complaint(""), HasSubstr("roots: no GUID in it"));
    EXPECT_THAT(complaint("# none\n"), HasSubstr("roots: no GUID in it"));
    EXPECT_THAT(complaint("0x1\n12\n"), HasSubstr("roots:2: expected a GUID such as 0x"));
    EXPECT_THAT(complaint("0xzz\n"), HasSubstr("roots:1: expected a GUID"));
    EXPECT_THAT(complaint("0x1zz\n"), HasSubstr("roots:1: expected a GUID"));
    EXPECT_THAT(complaint("0x0\n"), HasSubstr("roots:1: expected a GUID"));
    EXPECT_THAT(complaint("0x11112222333344445\n"), HasSubstr("roots:1: expected a GUID"));
}

}  // namespace
}  // namespace loom::fabric
