// Results of reductions, bit by bit, wherever ranks run and whatever was measured.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "coll/wrapped.hpp"
#include "loom/base/random.hpp"
#include "loom/coll/explain.hpp"
#include "loom/coll/typed.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/open.hpp"

namespace loom::coll {
namespace {

// Ranks that seem to run on several hosts: rank i on host i modulo `hosts`.
class Spread final : public Wrapped {
public:
    Spread(transport::Transport& inner, std::uint32_t hosts) : Wrapped(inner) {
        for (std::uint32_t rank = 0; rank < inner.size(); ++rank) hosts_.push_back(rank % hosts);
    }
    std::span<const std::uint32_t> hosts() const override { return hosts_; }
    transport::Waiting waiting() const override { return transport::Waiting::yield; }  // the same on all ranks

private:
    std::vector<std::uint32_t> hosts_;
};

struct Circumstances {
    std::uint32_t hosts;
    const char* parameters;
};

const Circumstances circumstances[] = {
    {1, "assumed"}, {1, "L=90us,o=9us"}, {2, "assumed"}, {3, "L=90us,o=9us"}, {1, "L=1ns,o=1ns,copy=900,reduce=900"}};

// Every rank's results of several reductions, as bytes.
std::string results(std::uint32_t ranks, std::size_t count, const Circumstances& where, bool reproducible) {
    setenv("LOOM_COLL_PARAMETERS", where.parameters, 1);
    std::vector<std::string> all(ranks);
    transport::run_local(ranks, [&](transport::Transport& inner) {
        Spread spread(inner, where.hosts);
        World world(spread, nullptr);
        const Communicator everyone = world.communicator();
        everyone.set_reproducible(reproducible);
        Random random(inner.rank().value + 1);
        std::vector<double> in(count), out(count), blocks(count * ranks), block(count);
        // Of all sizes, so that every order of additions gives another result.
        for (std::vector<double>* each : {&in, &blocks})
            for (double& value : *each)
                value =
                    std::ldexp(static_cast<double>(random.below(1u << 30)) - 5e8, static_cast<int>(random.below(60)));
        std::string& mine = all[inner.rank().value];
        const auto note = [&](const std::vector<double>& result) {
            mine.append(reinterpret_cast<const char*>(result.data()), result.size() * sizeof(double));
        };
        everyone.allreduce(in, out, std::plus<>{});
        note(out);
        std::fill(out.begin(), out.end(), 0.0);
        everyone.reduce(in, out, std::plus<>{}, Rank{ranks / 2});
        note(out);
        everyone.scan(in, out, std::plus<>{});
        note(out);
        everyone.reduce_scatter_block(blocks, block, std::plus<>{});
        note(block);
        world.close();
    });
    unsetenv("LOOM_COLL_PARAMETERS");
    std::string text;
    for (const std::string& each : all) text += each;
    return text;
}

std::size_t kinds(std::uint32_t ranks, std::size_t count, bool reproducible) {
    std::set<std::string> seen;
    for (const Circumstances& where : circumstances) seen.insert(results(ranks, count, where, reproducible));
    return seen.size();
}

TEST(Reproducible, BitsDependOnRanksAndDataAlone) {
    for (const std::uint32_t ranks : {2, 3, 4, 5, 8})
        for (const std::size_t count : {1, 512, 20'000})
            EXPECT_EQ(kinds(ranks, count, true), 1u) << ranks << " ranks, " << count << " doubles";
}

// What the mode is for: without it the best algorithm is another one here and there.
TEST(Reproducible, WithoutItTheyDependOnMore) {
    EXPECT_GT(kinds(8, 512, false), 1u);
}

TEST(Reproducible, ExplainSaysSo) {
    transport::run_local(4, [](transport::Transport& inner) {
        World world(inner, nullptr);
        world.communicator().set_reproducible(true);
        const auto text = world.communicator().explain(Collective::allreduce, 4096).text();
        EXPECT_NE(text.find("the same everywhere"), std::string::npos) << text;
        EXPECT_EQ(world.communicator().explain(Collective::broadcast, 4096).text().find("the same everywhere"),
                  std::string::npos);
        world.close();
    });
}

TEST(Reproducible, TheSettingIsForAllCommunicators) {
    setenv("LOOM_COLL_REPRODUCIBLE", "1", 1);
    run_local(2, [](World& world) {
        EXPECT_TRUE(world.communicator().is_reproducible());
        EXPECT_TRUE(world.communicator().duplicate().is_reproducible());
    });
    setenv("LOOM_COLL_REPRODUCIBLE", "perhaps", 1);
    EXPECT_THROW(run_local(1, [](World&) {}), UsageError);
    unsetenv("LOOM_COLL_REPRODUCIBLE");
}

}  // namespace
}  // namespace loom::coll
