#include "session/control/message.hpp"

#include <gtest/gtest.h>

#include "loom/base/error.hpp"
#include "loom/base/random.hpp"

namespace loom::session {
namespace {

Hello some_hello() {
    Hello hello;
    hello.cluster = "north";
    hello.host = "boot-4711";
    hello.process = 0x123456789abcdef0;
    hello.port = 17;
    hello.udp_port = 4000;
    hello.segment_bytes = 1472;
    hello.most_message = 1 << 28;
    hello.epoch = 99;
    hello.scheme = Scheme::asynchronous;
    hello.controller = Controller::delay;
    hello.selective = hello.has_key = hello.has_infiniband = true;
    hello.queue_pairs.lid = 3;
    hello.queue_pairs.gid[15] = std::byte{9};
    hello.queue_pairs.reliable = 0xabcdef;
    hello.queue_pairs.unreliable_psn = 0x123456;
    hello.queue_pairs.mtu = 5;
    hello.queue_pairs.link = Link::ethernet;
    hello.queue_pairs.block_bytes = 8128;
    hello.nonce[31] = std::byte{1};
    return hello;
}

std::vector<ControlMessage> one_of_each() {
    Settings settings{Scheme::asynchronous, Network::infiniband, Controller::cubic, true, true};
    return {some_hello(),
            KeyProof{},
            Begin{true},
            Propose{5, settings, {1, 2, 3}, "the program"},
            Ready{6, settings, {4, 5, 6}},
            Reconnect{7, some_hello().queue_pairs},
            Connected{8},
            Close{"done"}};
}

TEST(ControlMessage, IsReadAsItWasWritten) {
    for (const ControlMessage& message : one_of_each()) {
        const Bytes bytes = encode(message);

        EXPECT_TRUE(decode(bytes) == message) << message.index();
        EXPECT_LE(bytes.size(), most_control_bytes);
    }
    EXPECT_EQ(one_of_each().size(), std::variant_size_v<ControlMessage>);
}

TEST(ControlMessage, HasAKnownShapeOnTheWire) {
    const Bytes bytes =
        encode(Ready{0x01020304, {Scheme::asynchronous, Network::ethernet, Controller::cubic, true, false}, {1, 2, 3}});

    ASSERT_EQ(bytes.size(), 1u + 4 + 5 + 24);
    EXPECT_EQ(bytes[0], std::byte{4});
    EXPECT_EQ(bytes[1], std::byte{1});
    EXPECT_EQ(bytes[4], std::byte{4});
    EXPECT_EQ(bytes[5], std::byte{1});  // asynchronous
    EXPECT_EQ(bytes[6], std::byte{1});  // ethernet
    EXPECT_EQ(bytes[7], std::byte{1});  // cubic
    EXPECT_EQ(bytes[17], std::byte{1});
    EXPECT_EQ(bytes[33], std::byte{3});
}

TEST(ControlMessage, ThatIsCutOrLongerIsRefused) {
    for (const ControlMessage& message : one_of_each()) {
        Bytes bytes = encode(message);
        for (std::size_t size = 0; size < bytes.size(); ++size)
            EXPECT_THROW((void)decode(std::span(bytes).first(size)), ParseError) << message.index() << ", " << size;
        bytes.push_back(std::byte{0});
        EXPECT_THROW((void)decode(bytes), ParseError);
    }
}

TEST(ControlMessage, OfAnotherVersionOrKindIsRefused) {
    Bytes hello = encode(some_hello());
    hello[12] = std::byte{2};
    EXPECT_THROW((void)decode(hello), ParseError);
    hello = encode(some_hello());
    hello[1] = std::byte{0};
    EXPECT_THROW((void)decode(hello), ParseError);
    EXPECT_THROW((void)decode(Bytes{std::byte{8}}), ParseError);
    EXPECT_THROW((void)decode({}), ParseError);
}

TEST(ControlMessage, KeepsTextsShortAndPlain) {
    const std::string cut = std::get<Close>(decode(encode(Close{std::string(1000, 'x')}))).reason;
    EXPECT_EQ(cut.size(), most_words);

    Bytes bytes = encode(Close{"abc"});
    bytes.back() = std::byte{27};
    EXPECT_THROW((void)decode(bytes), ParseError) << "no escapes for a terminal";
}

TEST(ControlMessage, OfRandomBytesIsRefusedOrReadOnce) {
    Random random(3);
    std::size_t read = 0;
    for (int round = 0; round < 20'000; ++round) {
        Bytes bytes = encode(one_of_each()[random.below(8)]);
        for (std::uint32_t changes = random.below(3); changes > 0; --changes)
            bytes[random.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::byte>(random());
        try {
            const ControlMessage message = decode(bytes);
            EXPECT_EQ(encode(message), bytes);
            ++read;
        } catch (const ParseError&) {
        }
    }
    EXPECT_GT(read, 1000u);
}

}  // namespace
}  // namespace loom::session
