#include "loom/base/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "loom/base/error.hpp"
#include "support/variable.hpp"

namespace loom {
namespace {

using test::Variable;

constexpr std::size_t page = std::size_t{2} << 20;

// A mapping of its own, beginning at a huge page. Small pages, unless somebody moves it.
class Memory {
public:
    explicit Memory(std::size_t bytes) : bytes_(bytes + page) {
        mapped_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(mapped_, MAP_FAILED);
        const auto address = reinterpret_cast<std::uintptr_t>(mapped_);
        begin_ = reinterpret_cast<std::byte*>((address + page - 1) / page * page);
    }
    ~Memory() { munmap(mapped_, bytes_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // Written, in small pages even where huge ones are the rule.
    std::span<std::byte> touch(std::size_t first, std::size_t bytes) {
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
        for (std::size_t i = 0; i < bytes; ++i) begin_[first + i] = static_cast<std::byte>((first + i) * 131 >> 5);
        prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
        return {begin_ + first, bytes};
    }
    [[nodiscard]] std::span<std::byte> all() const { return {begin_, bytes_ - page}; }
    // Gives back everything from there on.
    void cut_off(std::size_t at) {
        auto* const end = static_cast<std::byte*>(mapped_) + bytes_;
        munmap(begin_ + at, static_cast<std::size_t>(end - (begin_ + at)));
    }
    [[nodiscard]] bool holds(std::size_t first, std::size_t bytes) const {
        for (std::size_t i = 0; i < bytes; ++i)
            if (begin_[first + i] != static_cast<std::byte>((first + i) * 131 >> 5)) return false;
        return true;
    }
    // By the system's account, in bytes: of a field of its maps.
    [[nodiscard]] std::size_t account(const std::string& field) const {
        std::ifstream maps("/proc/self/smaps");
        std::string text;
        std::size_t sum = 0;
        bool ours = false;
        while (std::getline(maps, text)) {
            std::uintptr_t from = 0, to = 0;
            char dash = 0;
            std::istringstream words(text);
            if (words >> std::hex >> from >> dash >> to && dash == '-' && to > from) {
                const auto begin = reinterpret_cast<std::uintptr_t>(mapped_);
                ours = from < begin + bytes_ && begin < to;
            } else if (ours && text.rfind(field + ":", 0) == 0) {
                sum += std::stoul(text.substr(field.size() + 1)) << 10;
            }
        }
        return sum;
    }

private:
    void* mapped_;
    std::size_t bytes_;
    std::byte* begin_;
};

// The system may be busy with a page at the very moment, and then does not move it.
bool move_patiently(std::span<const std::byte> memory, std::size_t& allowance, std::size_t least) {
    for (int tries = 0; tries < 1000; ++tries) {
        if (move_to_huge_pages(memory, allowance) >= least) return true;
        if (!may_use_huge_pages()) break;
        std::this_thread::yield();
    }
    return false;
}

bool move_patiently(std::span<const std::byte> memory) {
    std::size_t none = 0;
    return move_patiently(memory, none, memory.size() / 2);
}

// How many uses it takes until it is in huge pages; 0: too many.
std::uint32_t uses_until_huge(HugePages& pages, std::span<const std::byte> memory) {
    for (std::uint32_t use = 1; use < 2000; ++use)
        if (pages.used(memory)) return use;
    return 0;
}

// Where the system has none, nothing is moved and nothing is said to be.
TEST(HugePagesTest, WhatIsMovedKeepsWhatItHolds) {
    Memory memory(4 * page);
    const auto used = memory.touch(12'345, 4 * page - 20'000);
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    EXPECT_EQ(move_patiently(used), may_use_huge_pages());
    EXPECT_TRUE(memory.holds(12'345, 4 * page - 20'000));
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 4 * page : 0u);
    EXPECT_EQ(move_patiently(used), may_use_huge_pages()) << "and once more changes nothing";
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 4 * page : 0u);
}

// Of the first page it has a hundredth, of the last two: they stay, and what is between is moved.
TEST(HugePagesTest, EndsStayWhereTheyAre) {
    Memory memory(4 * page);
    const std::size_t first = page - page / 100, bytes = 2 * page + 3 * page / 100;
    const auto used = memory.touch(first, bytes);
    EXPECT_EQ(move_patiently(used), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 2 * page : 0u);
    EXPECT_TRUE(memory.holds(first, bytes));
}

// Blocks far apart with nothing between them would become many times as much.
TEST(HugePagesTest, HolesAreNotFilled) {
    Memory memory(8 * page);
    for (std::size_t i = 0; i < 8; ++i) (void)memory.touch(i * page, page / 16);
    const std::size_t before = memory.account("Rss");
    EXPECT_EQ(move_to_huge_pages(memory.all()), 0u);
    EXPECT_EQ(memory.account("Rss"), before);
}

// Beside the memory there may be none at all: what is a page as a whole is moved, and counts.
TEST(HugePagesTest, MemoryMayEndInTheMiddleOfAPage) {
    Memory memory(4 * page);
    (void)memory.touch(0, 3 * page + 3 * page / 4);
    memory.cut_off(3 * page + 3 * page / 4);
    const auto used = memory.all().first(3 * page + 3 * page / 4);
    EXPECT_EQ(move_patiently(used), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 3 * page : 0u);
    EXPECT_TRUE(memory.holds(0, used.size()));
}

TEST(HugePagesTest, WritersGoOnMeanwhile) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    std::atomic<bool> enough{false};
    std::uint64_t written = 0;
    std::thread writer([&] {
        auto* const words = reinterpret_cast<std::uint64_t*>(used.data());
        for (std::size_t i = 0; !enough; ++i) {
            words[i * 509 % (4 * page / 8)] += 1;
            ++written;
        }
    });
    std::uint64_t before = 0;
    // What it held is known, so what was added to it is.
    for (std::size_t i = 0; i < 4 * page; i += 8) {
        std::uint64_t word = 0;
        for (std::size_t j = 0; j < 8; ++j)
            word |= std::uint64_t{static_cast<unsigned char>((i + j) * 131 >> 5)} << 8 * j;
        before += word;
    }
    (void)move_to_huge_pages(used);
    enough = true;
    writer.join();
    std::uint64_t after = 0;
    for (std::size_t i = 0; i < 4 * page / 8; ++i) after += reinterpret_cast<const std::uint64_t*>(used.data())[i];
    EXPECT_EQ(after - before, written);
}

// Half a megabyte alone in two would take four times the memory.
TEST(HugePagesTest, LittleIsLeftWhereItIs) {
    Memory memory(2 * page);
    const auto used = memory.touch(page / 4, page / 4);
    const std::size_t before = memory.account("Rss");
    EXPECT_EQ(move_to_huge_pages(used), 0u);
    EXPECT_EQ(memory.account("Rss"), before);
}

TEST(HugePagesTest, LittleIsMovedWithWhatLiesBesideIt) {
    Memory memory(2 * page);
    (void)memory.touch(0, page);
    const auto used = memory.touch(page / 4, page / 4);
    EXPECT_EQ(move_patiently(used), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? page : 0u);
    EXPECT_TRUE(memory.holds(0, page));
}

TEST(HugePagesTest, LittleIsMovedIfThatIsAllowed) {
    Memory memory(2 * page);
    const auto used = memory.touch(page / 4, page / 4);
    std::size_t allowance = page;
    EXPECT_EQ(move_patiently(used, allowance, used.size()), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? page : 0u);
    EXPECT_EQ(allowance, may_use_huge_pages() ? page / 4 : page);
    EXPECT_TRUE(memory.holds(page / 4, page / 4));
}

TEST(HugePagesTest, NoMoreIsTakenThanIsAllowed) {
    Memory memory(2 * page);
    const auto used = memory.touch(page / 4, page / 4);
    const std::size_t before = memory.account("Rss");
    std::size_t allowance = page / 2;
    EXPECT_EQ(move_to_huge_pages(used, allowance), 0u);
    EXPECT_EQ(allowance, page / 2);
    EXPECT_EQ(memory.account("Rss"), before);
}

// Most buffers begin and end in the middle of a page, and beyond them is nothing.
TEST(HugePagesTest, TheEndsOfAMappingAreCompleted) {
    Memory memory(4 * page);
    (void)memory.touch(0, 3 * page + page / 4);
    memory.cut_off(3 * page + page / 4);
    const auto used = memory.all().first(3 * page + page / 4);
    std::size_t allowance = page;
    EXPECT_EQ(move_patiently(used, allowance, used.size()), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 4 * page : 0u);
    EXPECT_EQ(allowance, may_use_huge_pages() ? page / 4 : page);
    EXPECT_TRUE(memory.holds(0, used.size()));
    EXPECT_EQ(move_patiently(used, allowance, used.size()), may_use_huge_pages()) << "and once more takes nothing";
    EXPECT_EQ(allowance, may_use_huge_pages() ? page / 4 : page);
}

TEST(HugePagesTest, WhatHasOneEndLowAndOneHighIsCompletedAtBoth) {
    Memory memory(page);
    (void)memory.touch(0, page);
    memory.cut_off(3 * page / 4);
    ASSERT_EQ(munmap(memory.all().data(), page / 8), 0);
    const auto used = memory.all().subspan(page / 8, page / 2 + page / 8);
    std::size_t allowance = page;
    EXPECT_EQ(move_patiently(used, allowance, used.size()), may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? page : 0u);
    EXPECT_EQ(allowance, may_use_huge_pages() ? page - 3 * page / 8 : page) << "what was not mapped";
    EXPECT_TRUE(memory.holds(page / 8, used.size()));
}

// The system says that it has moved the page in the middle as well.
TEST(HugePagesTest, APageOfTwoMappingsDoesNotCount) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    ASSERT_EQ(madvise(used.data() + page + page / 2, 2 * page + page / 2, MADV_DONTFORK), 0);
    std::size_t allowance = page;
    EXPECT_EQ(move_patiently(used, allowance, 3 * page), may_use_huge_pages());
    EXPECT_EQ(move_to_huge_pages(used, allowance), may_use_huge_pages() ? 3 * page : 0u);
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 3 * page : 0u);
    EXPECT_EQ(allowance, page);
}

// What is not moved costs nothing: neither a page that is little used and of two mappings, nor one that is refused.
TEST(HugePagesTest, OnlyWhatIsMovedIsTakenOff) {
    Memory memory(3 * page);
    const auto used = memory.touch(0, 2 * page + page / 8);
    ASSERT_EQ(mprotect(memory.all().data() + 2 * page + page / 8, page - page / 8, PROT_NONE), 0);
    for (int look = 0; look < 4; ++look) {
        std::size_t allowance = 4 * page;
        EXPECT_EQ(move_patiently(used, allowance, 2 * page), may_use_huge_pages());
        EXPECT_EQ(allowance, 4 * page);
    }
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? 2 * page : 0u);
}

// Somebody else's memory in the same page, or a guard: nothing is done, and nothing stays behind.
TEST(HugePagesTest, NeighboursAreLeftAlone) {
    for (const int rights : {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE | PROT_EXEC}) {
        Memory memory(page);
        (void)memory.touch(0, page);
        memory.cut_off(3 * page / 4);
        auto* const neighbour = memory.all().data() + 7 * page / 8;
        ASSERT_EQ(mmap(neighbour, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), neighbour);
        const std::size_t before = memory.account("Size");
        std::size_t allowance = page;
        EXPECT_EQ(move_to_huge_pages(memory.all().first(3 * page / 4), allowance), 0u);
        EXPECT_EQ(memory.account("Size"), before);
        EXPECT_EQ(memory.account("AnonHugePages"), 0u);
        EXPECT_EQ(allowance, page);
        EXPECT_TRUE(memory.holds(0, 3 * page / 4));
    }
}

// What is added in front does not become one with memory of another kind: it is given back.
TEST(HugePagesTest, WhatCannotBeCompletedStaysAsItWas) {
    Memory memory(page);
    (void)memory.touch(0, page);
    ASSERT_EQ(munmap(memory.all().data(), page / 4), 0);
    const auto used = memory.all().subspan(page / 4);
    ASSERT_EQ(madvise(used.data(), used.size(), MADV_DONTFORK), 0);
    const std::size_t before = memory.account("Size");
    std::size_t allowance = page;
    EXPECT_EQ(move_to_huge_pages(used, allowance), 0u);
    EXPECT_EQ(memory.account("Size"), before);
    EXPECT_EQ(allowance, page);
    EXPECT_TRUE(memory.holds(page / 4, used.size()));
}

TEST(HugePagesTest, TheHeapIsNotCompleted) {
    const auto* const end = static_cast<std::byte*>(sbrk(0));
    std::size_t allowance = 64 * page;
    (void)move_to_huge_pages({end - 4096, 4096}, allowance);
    EXPECT_NE(sbrk(4096), reinterpret_cast<void*>(-1)) << "it can grow no more";
}

TEST(HugePagesTest, APartOfWhatIsHugeIsKnownToBe) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    std::size_t none = 0;
    HugePages pages(HugePageBudget::any);
    EXPECT_FALSE(pages.used(used.first(page / 8)));
    EXPECT_EQ(move_patiently(used, none, used.size()), may_use_huge_pages());
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_EQ(pages.used(used.subspan(page / 2, page / 8)), may_use_huge_pages());
    EXPECT_FALSE(pages.used({used.data() + used.size() - 4096, page / 8})) << "only a part of it is";
}

TEST(HugePagesTest, LittleNeverMovesByItselfButIsSeenInOthers) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    const auto little = used.subspan(page / 2, HugePages::least / 2);
    HugePages pages(HugePageBudget::any);
    EXPECT_EQ(uses_until_huge(pages, little), 0u);
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    std::size_t none = 0;
    EXPECT_EQ(move_patiently(used, none, used.size()), may_use_huge_pages());
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_EQ(uses_until_huge(pages, little) != 0, may_use_huge_pages());
    EXPECT_EQ(pages.used(used.subspan(page, HugePages::least / 4)), may_use_huge_pages()) << "at once";
}

// What lay there is gone, and so is what was known of it.
TEST(HugePagesTest, OtherMemoryWhereSomethingWasHugeIsNot) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    HugePages pages(HugePageBudget::any);
    std::size_t none = 0;
    EXPECT_EQ(move_patiently(used, none, used.size()), may_use_huge_pages());
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    ASSERT_EQ(mmap(used.data(), used.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              used.data());
    (void)memory.touch(0, 4 * page);
    EXPECT_FALSE(pages.used(used.subspan(page, HugePages::least / 4)));
    pages.next_use();
    EXPECT_FALSE(pages.used(used.first(page)));
}

// Of memory that begins in a page which it shares with something else the beginning is not, whatever the rest is.
TEST(HugePagesTest, APartOfWhatIsMostlyHugeIsLookedAtItself) {
    Memory memory(4 * page);
    const auto used = memory.touch(page / 2, 3 * page + page / 2);
    ASSERT_EQ(mprotect(memory.all().data(), 4096, PROT_NONE), 0);
    HugePages pages(HugePageBudget::any);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_FALSE(pages.used(used.first(page / 8)));
    EXPECT_EQ(uses_until_huge(pages, used.first(page / 8)), 0u);
}

TEST(HugePagesTest, TheThirdUseMoves) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    HugePages pages(HugePageBudget::any);
    for (std::uint32_t use = 1; use < HugePages::worth_it; ++use) EXPECT_FALSE(pages.used(used));
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? used.size() : 0u);
    EXPECT_TRUE(memory.holds(0, used.size()));
}

// A page of which little is used is worth it later.
TEST(HugePagesTest, LittleIsMovedLater) {
    Memory memory(page);
    (void)memory.touch(0, page);
    const auto used = memory.touch(page / 4, page / 8);
    HugePages pages(HugePageBudget::any);
    for (std::uint32_t use = 1; use < 8 * HugePages::worth_it; ++use) EXPECT_FALSE(pages.used(used));
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
}

// Another length or place is other memory.
TEST(HugePagesTest, OnlyTheSameMemoryCounts) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    HugePages pages(HugePageBudget::any);
    for (std::uint32_t use = 1; use < HugePages::worth_it; ++use) EXPECT_FALSE(pages.used(used));
    EXPECT_FALSE(pages.used(used.first(3 * page)));
    EXPECT_FALSE(pages.used(used.subspan(page)));
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
}

// What is long is moved in parts, each of them once: nobody is held up by all of it.
TEST(HugePagesTest, LongMemoryIsMovedInParts) {
    const std::size_t bytes = 3 * HugePages::at_once;
    Memory memory(bytes + page);
    const auto used = memory.touch(page / 2, bytes);
    HugePages pages(HugePageBudget::any);
    for (std::uint32_t use = 1; use <= HugePages::worth_it; ++use) EXPECT_FALSE(pages.used(used));
    EXPECT_LE(memory.account("AnonHugePages"), HugePages::at_once);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_GE(memory.account("AnonHugePages"), may_use_huge_pages() ? bytes / 2 : 0u);
    EXPECT_TRUE(memory.holds(page / 2, bytes));
}

TEST(HugePagesTest, OtherMemoryAtTheSamePlaceCountsAnew) {
    Memory memory(2 * page);
    const auto used = memory.touch(0, 2 * page);
    HugePages pages(HugePageBudget::any);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    ASSERT_EQ(mmap(used.data(), used.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              used.data());
    (void)memory.touch(0, 2 * page);
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    pages.next_use();
    EXPECT_FALSE(pages.used(used));
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_EQ(memory.account("AnonHugePages"), may_use_huge_pages() ? used.size() : 0u);
}

// Faults elsewhere look the same; what was huge still is, and is known to be after a while.
TEST(HugePagesTest, FaultsElsewhereOnlyCostAnotherLook) {
    Memory memory(2 * page), elsewhere(8 * page);
    const auto used = memory.touch(0, 2 * page);
    HugePages pages(HugePageBudget::any);
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    pages.next_use();
    EXPECT_EQ(pages.used(used), may_use_huge_pages());
    (void)elsewhere.touch(0, 8 * page);
    pages.next_use();
    EXPECT_FALSE(pages.used(used));
    EXPECT_EQ(uses_until_huge(pages, used) != 0, may_use_huge_pages());
    EXPECT_TRUE(memory.holds(0, 2 * page));
}

TEST(HugePagesTest, CanBeSwitchedOff) {
    const Variable off("LOOM_HUGE_PAGES", "off");
    EXPECT_FALSE(may_use_huge_pages());
    Memory memory(2 * page);
    const auto used = memory.touch(0, 2 * page);
    HugePages pages(HugePageBudget::any);
    for (std::uint32_t use = 0; use < 100; ++use) EXPECT_FALSE(pages.used(used));
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
}

// By default moving waits until copies of the memory have taken many times as long as it will.
TEST(HugePagesTest, MovingWaitsUntilItIsASmallPartOfTheTimeSpentOnCopies) {
    Memory memory(4 * page);
    const auto used = memory.touch(0, 4 * page);
    HugePages pages(HugePageBudget::share);
    const std::int64_t one_use_us = static_cast<std::int64_t>(used.size()) / HugePages::copied_bytes_in_us;
    const std::int64_t move_us = 4 * HugePages::first_page_us;
    const std::int64_t too_few = HugePages::share * move_us / one_use_us, enough = 2 * too_few;

    for (std::int64_t i = 0; i < too_few; ++i) ASSERT_FALSE(pages.used(used)) << "use " << i;
    EXPECT_EQ(memory.account("AnonHugePages"), 0u);
    bool is_huge = false;
    for (std::int64_t i = too_few; i < enough; ++i) is_huge = pages.used(used);

    EXPECT_EQ(is_huge, may_use_huge_pages());
}

TEST(HugePagesTest, AnotherWordIsRefused) {
    const Variable nonsense("LOOM_HUGE_PAGES", "yes");
    EXPECT_THROW((void)may_use_huge_pages(), UsageError);
}

}  // namespace
}  // namespace loom
