#include <gtest/gtest.h>

#include <set>
#include <string>

#include "session/micro/seal.hpp"
#include "session/micro_bed.hpp"

namespace loom::session {
namespace {

Bytes bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

struct Ends {
    Bytes key = bytes_of("a key"), other_key = bytes_of("another key");
    Nonce first = random_nonce(), second = random_nonce();
    Sealer opener{key, true, first, second}, acceptor{key, false, first, second};
};

TEST(Sealer, WhatOneEndSealsTheOtherOpens) {
    Ends ends;
    for (const std::size_t size : {0, 1, 15, 16, 1400, 8000}) {
        const Bytes text(size, std::byte{7});
        Bytes sealed = text;
        std::array<std::byte, 16> tag;
        const std::uint64_t count = ends.opener.next();

        ends.opener.seal(3, count, sealed, tag.data());

        EXPECT_TRUE(size < 16 || sealed != text);
        EXPECT_TRUE(ends.acceptor.open(3, count, sealed, tag.data()));
        EXPECT_EQ(sealed, text);
    }
}

TEST(Sealer, OpensNothingElse) {
    Ends ends;
    const Bytes text = bytes_of("boundary values");
    Bytes sealed = text;
    std::array<std::byte, 16> tag;
    ends.opener.seal(3, 1, sealed, tag.data());
    const auto opens = [&](Sealer& sealer, std::uint32_t epoch, std::uint64_t count, Bytes copy,
                           std::array<std::byte, 16> shown) { return sealer.open(epoch, count, copy, shown.data()); };

    EXPECT_TRUE(opens(ends.acceptor, 3, 1, sealed, tag));
    EXPECT_FALSE(opens(ends.acceptor, 4, 1, sealed, tag)) << "another epoch";
    EXPECT_FALSE(opens(ends.acceptor, 3, 2, sealed, tag)) << "another count";
    EXPECT_FALSE(opens(ends.opener, 3, 1, sealed, tag)) << "its own words sent back";
    Sealer stranger(ends.other_key, false, ends.first, ends.second), later(ends.key, false, ends.second, ends.first);
    EXPECT_FALSE(opens(stranger, 3, 1, sealed, tag)) << "another key";
    EXPECT_FALSE(opens(later, 3, 1, sealed, tag)) << "another session";
    for (std::size_t i = 0; i < sealed.size(); ++i) {
        Bytes changed = sealed;
        changed[i] ^= std::byte{1};
        EXPECT_FALSE(opens(ends.acceptor, 3, 1, changed, tag));
    }
    for (std::size_t i = 0; i < tag.size(); ++i) {
        auto changed = tag;
        changed[i] ^= std::byte{128};
        EXPECT_FALSE(opens(ends.acceptor, 3, 1, sealed, changed));
    }
}

TEST(Proof, IsOfOneEndAndOneSession) {
    Ends ends;
    const Bytes said = bytes_of("hello hello"), other = bytes_of("hello hullo");
    const Proof right = prove(ends.key, true, ends.first, ends.second, said);

    EXPECT_TRUE(same(right, prove(ends.key, true, ends.first, ends.second, said)));
    EXPECT_FALSE(same(right, prove(ends.key, false, ends.first, ends.second, said)));
    EXPECT_FALSE(same(right, prove(ends.key, true, ends.second, ends.first, said)));
    EXPECT_FALSE(same(right, prove(ends.key, true, ends.first, ends.second, other)));
    EXPECT_FALSE(same(right, prove(ends.other_key, true, ends.first, ends.second, said)));
}

TEST(Random, NoncesDiffer) {
    std::set<Nonce> seen;
    for (int i = 0; i < 100; ++i) seen.insert(random_nonce());
    EXPECT_EQ(seen.size(), 100u);
}

TEST(SealMicro, HidesAllButPortsAndEpoch) {
    using Sealed = test::Bed<Resize<Delivery::ordered>, Seal, TransportDrive>;
    Ends ends;
    Sealed from(160), to(160);
    from.board.sealer = &ends.opener;
    to.board.sealer = &ends.acceptor;
    from.put(108);
    from.put(108);
    from.stack.pump();
    const Bytes first = from.next(), second = from.next();

    EXPECT_FALSE(std::equal(first.begin() + 32, first.end(), second.begin() + 32)) << "equal texts look different";
    to.arrive(first);
    EXPECT_EQ(to.probe().complete.size(), 1u);
    Bytes changed = second;
    changed[100] ^= std::byte{1};
    to.arrive(changed);
    EXPECT_EQ(to.probe().complete.size(), 1u);
    EXPECT_EQ(to.board.counters.segments_dropped, 1u);
    to.arrive(second);
    EXPECT_EQ(to.probe().complete.size(), 2u);
}

}  // namespace
}  // namespace loom::session
