#include "loom/base/host_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom {
namespace {

using Names = std::vector<std::string>;

TEST(HostList, Expands) {
    EXPECT_EQ(expand_host_list("a"), (Names{"a"}));
    EXPECT_EQ(expand_host_list("a[01-03,7],b"), (Names{"a01", "a02", "a03", "a7", "b"}));
    EXPECT_EQ(expand_host_list("r[0-1]n[8-10]"), (Names{"r0n8", "r0n9", "r0n10", "r1n8", "r1n9", "r1n10"}));
    EXPECT_EQ(expand_host_list("n[1-2].cluster"), (Names{"n1.cluster", "n2.cluster"}));
}

TEST(HostList, RefusesWhatMakesNoSense) {
    for (const char* text :
         {"", "a,,b", "a[1-", "a]1[", "a[2-1]", "a[x]", "a[]", "a[1-2", "a[-1]", "a[99999999999999999999]"})
        EXPECT_THROW((void)expand_host_list(text), Error) << text;
}

TEST(HostList, StopsAtTheLimit) {
    EXPECT_EQ(expand_host_list("a[1-10]", 10).size(), 10u);
    EXPECT_THROW((void)expand_host_list("a[1-11]", 10), Error);
    EXPECT_THROW((void)expand_host_list("a[1-4]b[1-4]", 10), Error);
    EXPECT_THROW((void)expand_host_list("a[1-9],b,c", 10), Error);
    EXPECT_THROW((void)expand_host_list("a[0-99999999999]", 10), Error);
}

TEST(HostList, Compresses) {
    EXPECT_EQ(compress_host_list(Names{"n3", "n1", "n2", "login"}), "login,n[1-3]");
    EXPECT_EQ(compress_host_list(Names{"n08", "n09", "n10", "n12"}), "n[08-10,12]");
    EXPECT_EQ(compress_host_list(Names{"n9", "n10"}), "n[9-10]");
    EXPECT_EQ(compress_host_list(Names{"n7"}), "n7");
    EXPECT_EQ(compress_host_list(Names{"n1-ib", "n2-ib"}), "n[1-2]-ib");
    EXPECT_EQ(compress_host_list(Names{}), "");
}

TEST(HostList, CompressesNamesGivenTwiceToOne) {
    EXPECT_EQ(compress_host_list(Names{"n2", "n1", "n2", "login", "n1", "login"}), "login,n[1-2]");
    EXPECT_EQ(compress_host_list(Names{"n07", "n07"}), "n07");
}

TEST(HostList, CompressedListsExpandToTheSameNames) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        std::set<std::string> names;
        const std::uint32_t count = 1 + random.below(30);
        for (std::uint32_t i = 0; i < count; ++i) {
            std::string digits = std::to_string(random.below(120));
            if (random.below(2) == 0) digits.insert(0, random.below(3), '0');
            names.insert((random.below(2) == 0 ? "a" : "r1n") + digits + (random.below(4) == 0 ? "x" : ""));
        }
        const Names given(names.begin(), names.end());

        Names back = expand_host_list(compress_host_list(given));
        std::sort(back.begin(), back.end());

        EXPECT_EQ(back, given);
    }
}

}  // namespace
}  // namespace loom
