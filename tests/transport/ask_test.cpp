#include "loom/transport/ask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "loom/base/error.hpp"

namespace loom::transport {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Launch of(std::uint32_t ranks) {
    Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.grace = std::chrono::milliseconds(100);
    return job;
}

TEST(AskRanks, TheFirstAnswersHoweverLong) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64} << 10, std::size_t{5} << 20}) {
        const std::string said =
            ask_ranks(of(3), [&](Rank rank) { return std::string(bytes, static_cast<char>('a' + rank.value)); });

        EXPECT_EQ(said.size(), bytes);
        EXPECT_EQ(said.find_first_not_of('a'), std::string::npos);
    }
}

TEST(AskRanks, ABodyThatThrowsIsNamed) {
    const auto ask = [] {
        return ask_ranks(of(2), [](Rank rank) -> std::string {
            if (rank == Rank{1}) throw Error("no");
            return "yes";
        });
    };

    EXPECT_THAT(ask, ThrowsMessage<Error>(HasSubstr("rank 1 ended with exit code 1")));
}

TEST(AskRanks, TheTimeOfTheJobIsKept) {
    Launch job = of(1);
    job.timeout = std::chrono::milliseconds(50);
    const auto ask = [&] {
        return ask_ranks(job, [](Rank) -> std::string {
            for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
        });
    };

    EXPECT_THAT(ask, ThrowsMessage<Error>(HasSubstr("not done after 50 ms")));
}

}  // namespace
}  // namespace loom::transport
