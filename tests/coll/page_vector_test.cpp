#include "coll/page_vector.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdint>

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

}  // namespace
}  // namespace loom::coll
