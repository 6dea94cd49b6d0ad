#include "loom/transport/bootstrap.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>

#include "support/variable.hpp"
#include "transport/launch/packet.hpp"

namespace loom::transport {
namespace {

using loom::test::Variable;

TEST(Bootstrap, AProcessThatNobodyStartedIsAlone) {
    const Variable kind("LOOM_BOOTSTRAP", "alone");
    const auto bootstrap = find_bootstrap();

    bootstrap->put("key", "value");
    bootstrap->fence();

    EXPECT_EQ(bootstrap->name(), "alone");
    EXPECT_EQ(bootstrap->size(), 1u);
    EXPECT_EQ(bootstrap->get(Rank{0}, "key"), "value");
    EXPECT_THROW((void)bootstrap->get(Rank{0}, "other"), BootstrapError);
    EXPECT_THROW((void)bootstrap->get(Rank{1}, "key"), BootstrapError);
    EXPECT_FALSE(bootstrap->lost());
}

TEST(Bootstrap, AnUnknownKindIsRefused) {
    const Variable kind("LOOM_BOOTSTRAP", "pigeon");

    EXPECT_THROW((void)find_bootstrap(), BootstrapError);
}

TEST(Bootstrap, ADescriptorThatIsNoLaunchersSocketIsRefused) {
    const Variable kind("LOOM_BOOTSTRAP", "launcher");
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    for (const std::string& text : {std::string("x"), std::string("-1"), std::string("0"), std::string("99999999999"),
                                    std::string("12 "), std::to_string(ends[0])}) {
        const Variable run("LOOM_RUN", text);

        EXPECT_THROW((void)find_bootstrap(), BootstrapError) << text;
    }
    close(ends[0]);
    close(ends[1]);
}

// What a broken launcher might say, before the rank even asks.
void expect_refusal(const std::function<void(int)>& speak, const std::function<void(Bootstrap&)>& act) {
    const Variable kind("LOOM_BOOTSTRAP", "launcher");
    const Variable timeout("LOOM_BOOTSTRAP_TIMEOUT", "0.02");
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    const Variable run("LOOM_RUN", std::to_string(ends[1]));
    speak(ends[0]);
    EXPECT_THROW(
        {
            const auto bootstrap = find_bootstrap();
            act(*bootstrap);
        },
        BootstrapError);
    close(ends[0]);
    close(ends[1]);
}

TEST(Bootstrap, ALauncherThatTalksNonsenseIsAnError) {
    using launching::encode;
    using launching::Kind;
    using launching::Packet;
    const auto say = [](const std::string& bytes) {
        return [bytes](int socket) { ASSERT_GT(send(socket, bytes.data(), bytes.size(), 0), 0); };
    };
    const auto nothing = [](Bootstrap&) {};
    const std::string welcome = encode({.kind = Kind::welcome, .rank = Rank{0}, .size = 2});
    const auto welcome_and = [&](const Packet& packet) {
        return [=](int socket) {
            ASSERT_GT(send(socket, welcome.data(), welcome.size(), 0), 0);
            const std::string bytes = encode(packet);
            ASSERT_GT(send(socket, bytes.data(), bytes.size(), 0), 0);
        };
    };

    expect_refusal([](int) {}, nothing);
    expect_refusal(say("x"), nothing);
    expect_refusal(say(std::string(24, 'x')), nothing);
    expect_refusal(say(welcome + "x"), nothing);
    expect_refusal(say(welcome.substr(0, 20)), nothing);
    expect_refusal(say(std::string(100'000, 'x')), nothing);
    expect_refusal(say(encode({.kind = Kind::welcome, .rank = Rank{2}, .size = 2})), nothing);
    expect_refusal(say(encode({.kind = Kind::got})), nothing);
    expect_refusal(welcome_and({.kind = Kind::lost, .rank = Rank{2}}), [](Bootstrap& b) { (void)b.lost(); });
    expect_refusal(welcome_and({.kind = Kind::got}), [](Bootstrap& b) { (void)b.lost(); });
    expect_refusal(welcome_and({.kind = Kind::got}), [](Bootstrap& b) { b.fence(); });
    expect_refusal([](int socket) { shutdown(socket, SHUT_RDWR); }, nothing);
}

TEST(Bootstrap, ATimeoutIsANumberOfSeconds) {
    const Variable kind("LOOM_BOOTSTRAP", "launcher");
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    const Variable run("LOOM_RUN", std::to_string(ends[1]));
    for (const char* text : {"0", "-1", "soon", "1s", "nan"}) {
        const Variable timeout("LOOM_BOOTSTRAP_TIMEOUT", text);

        EXPECT_THROW((void)find_bootstrap(), BootstrapError) << text;
    }
    close(ends[0]);
    close(ends[1]);
}

}  // namespace
}  // namespace loom::transport
