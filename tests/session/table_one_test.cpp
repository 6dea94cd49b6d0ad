// Table I of the paper, cell by cell, against what sessions are composed of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "loom/session/context.hpp"
#include "session/stack/channel.hpp"

namespace loom::session {
namespace {

struct Row {
    std::string_view name;
    std::string_view cells;  // X or a point, for each context
};

// As printed: synchronous (intra IB, Eth, inter IB, Eth), asynchronous (the same).
constexpr std::array<Row, micros_of_the_paper> table{{
    {"TransportDrive", "XXXXXXXX"},
    {"Resize", "XXXXXXXX"},
    {"Synchronous", "XXXX...."},
    {"Asynchronous", "....XXXX"},
    {"SequencedSegment", ".X.X...."},
    {"PositiveAck", ".X.X...."},
    {"Retransmit", ".X.X...."},
    {"RTTEstimation", ".X.X...."},
    {"ReliableFIFO", ".X.X...."},
    {"DuplicateAck", "...X...."},
    {"WindCongCtrl", "...X...."},
    {"TCPNewRenoCA", "...X...."},
    {"DCCPAck", ".......X"},
    {"DCCPWindCCtrl", ".......X"},
    {"TCPCongAvoid", ".......X"},
}};

Settings settings_of(const Context& context) {
    Settings settings;
    settings.scheme = context.scheme;
    settings.network = context.network;
    return settings;
}

TEST(TableOne, HoldsInEveryCell) {
    for (std::size_t column = 0; column < contexts.size(); ++column) {
        const auto composed = composition_of(settings_of(contexts[column]), contexts[column].reach);
        for (std::size_t row = 0; row < table.size(); ++row) {
            const auto micro = static_cast<Micro>(row);
            ASSERT_EQ(name(micro), table[row].name);
            EXPECT_EQ(std::count(composed.begin(), composed.end(), micro), table[row].cells[column] == 'X' ? 1 : 0)
                << name(micro) << " in column " << column;
        }
        EXPECT_LE(composed.back(), Micro::tcp_avoidance) << "nothing beyond the paper, column " << column;
    }
}

// What is said is what runs: the stack that the compiler has put together has these micro-protocols and no others.
TEST(TableOne, IsWhatStacksAreMadeOf) {
    std::size_t stacks = 0;
    for (const Context& context : contexts)
        for (const Controller controller : {Controller::new_reno, Controller::cubic, Controller::delay})
            for (const bool selective : {false, true})
                for (const bool sealed : {false, true}) {
                    Settings settings = settings_of(context);
                    settings.controller = controller;
                    settings.selective = selective;
                    settings.sealed = sealed;
                    Board board;

                    auto made = compose(settings, context.reach, board)->micros();
                    std::sort(made.begin(), made.end());

                    EXPECT_EQ(made, composition_of(settings, context.reach));
                    ++stacks;
                }
    EXPECT_EQ(stacks, 96u);
}

TEST(TableOne, HasANameForEachRow) {
    for (std::size_t i = 0; i < micros; ++i)
        for (std::size_t j = 0; j < i; ++j) EXPECT_NE(name(static_cast<Micro>(i)), name(static_cast<Micro>(j)));
    EXPECT_EQ(parse_scheme("asynchronous"), Scheme::asynchronous);
    EXPECT_EQ(parse_scheme("asynchron"), std::nullopt);
    EXPECT_EQ(parse_controller("cubic"), Controller::cubic);
}

}  // namespace
}  // namespace loom::session
