#include "coll/page_vector.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace loom::coll {
namespace {

TEST(PageVector, TakesNothingOfTheProgramsHeap) {
    const auto before = mallinfo2();
    PageVector<double> large(1 << 20, 1.5);
    const auto during = mallinfo2();

    EXPECT_EQ(during.hblks, before.hblks) << "blocks with pages of their own";
    EXPECT_EQ(during.uordblks, before.uordblks);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), 0u);
    EXPECT_EQ(large.back(), 1.5);
}

// Of what malloc gave back it would keep blocks of that size in its heap.
TEST(PageVector, LeavesTheNextLargeBlockItsOwnPages) {
    { const PageVector<char> large(16 << 20); }
    const auto before = mallinfo2();
    auto* const block = static_cast<volatile char*>(std::malloc(8 << 20));
    block[0] = 1;
    const auto during = mallinfo2();
    std::free(const_cast<char*>(block));

    if (before.arena == 0) GTEST_SKIP() << "a sanitizer's malloc";
    EXPECT_EQ(during.hblks, before.hblks + 1);
}

}  // namespace
}  // namespace loom::coll
