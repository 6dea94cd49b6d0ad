// The checker is only worth something when it finds what is wrong.
#include <gtest/gtest.h>

#include "hca/kit/pattern.hpp"

namespace loom::kit {
namespace {

TEST(CheckerPattern, BytesFollowFromSeedMessageAndOffset) {
    const Pattern pattern(7, 3);
    std::vector<std::uint8_t> bytes(100);

    pattern.fill(bytes, 13);

    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], pattern.at(13 + i)) << i;
    EXPECT_EQ(pattern.differs(bytes, 13), bytes.size());
    EXPECT_NE(pattern.differs(bytes, 12), bytes.size());
    EXPECT_NE(Pattern(7, 4).differs(bytes, 13), bytes.size());
    EXPECT_NE(Pattern(8, 3).differs(bytes, 13), bytes.size());
}

TEST(CheckerPattern, EveryAlteredByteIsFoundWhereverItIs) {
    const Pattern pattern(1, 1);
    for (std::size_t size = 1; size < 40; ++size)
        for (std::size_t altered = 0; altered < size; ++altered) {
            std::vector<std::uint8_t> bytes(size);
            pattern.fill(bytes, 5);
            bytes[altered] ^= 0x10;

            const std::size_t found = pattern.differs(bytes, 5);

            EXPECT_EQ(found, altered) << size;
        }
}

TEST(CheckerPattern, ASlotInPiecesHoldsTheWholeMessage) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        Random random(seed);
        const std::size_t size = random.below(200);
        const std::size_t pieces = 1 + random.below(6);
        std::vector<std::uint8_t> memory(Slot::footprint(size, pieces));
        Slot slot(memory, size, pieces, random);
        std::size_t gathered = 0;

        slot.fill(Pattern(seed, 1));
        for (const ibv_sge& piece : slot.gather(1)) gathered += piece.length;

        EXPECT_EQ(gathered, size);
        EXPECT_EQ(slot.check(Pattern(seed, 1), 0, size), "");
        if (size > 8) {
            EXPECT_NE(slot.check(Pattern(seed, 2), 0, size), "");
        }
    }
}

TEST(CheckerPattern, EveryTouchedGuardByteIsFound) {
    Random random(4);
    std::vector<std::uint8_t> memory(Slot::footprint(30, 3));
    Slot slot(memory, 30, 3, random);
    slot.fill(Pattern(1, 1));
    std::size_t guards = 0;

    for (std::uint8_t& byte : memory) {
        const std::uint8_t kept = byte;
        byte ^= 0xff;
        const bool found = !slot.check_guards().empty();
        EXPECT_NE(slot.check(Pattern(1, 1), 0, 30), "");
        byte = kept;
        guards += found ? 1u : 0u;
    }

    EXPECT_EQ(guards, memory.size() - 30);
}

}  // namespace
}  // namespace loom::kit
