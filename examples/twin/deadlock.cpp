// A foreman with a bug: he lends his tool to the worker who asks first and waits for rank 1 to bring it back, since
// rank 1 has always been first. In another order that the standard allows they wait for each other, and that is named.
#include <array>
#include <cstdio>

#include "loom/base/clock.hpp"
#include "loom/coll/typed.hpp"
#include "loom/twin/explore.hpp"

namespace {

using namespace loom;

std::string lend_a_tool(transport::Transport& transport) {
    coll::World world(transport, nullptr);
    const auto all = world.communicator();
    const Rank me = world.rank();
    int tool = 1, question = 0;
    if (me == Rank{0}) {
        std::array<int, 2> questions{};
        std::array<coll::Request, 2> asked{all.ireceive(questions[0], Rank{1}), all.ireceive(questions[1], Rank{2})};
        while (!asked[0].test() && !asked[1].test()) {
        }
        const Rank first{asked[0].finished() ? 1u : 2u}, second{3 - first.value};
        all.send(tool, first);
        all.receive(tool, Rank{1});  // the bug: it is not always the first who has it
        for (coll::Request& each : asked) each.wait();
        all.send(tool, second);
        all.receive(tool, second);
    } else {
        compute(microseconds(4 * me.value));
        all.send(question, Rank{0});
        all.receive(tool, Rank{0});
        compute(microseconds(50));
        all.send(tool, Rank{0});
    }
    world.close();
    return "done";
}

}  // namespace

int main() try {
    twin::Options options;
    options.ranks = 3;
    std::printf("undisturbed: %s", twin::play(options, lend_a_tool).answer.c_str());

    const twin::Exploration found = twin::explore(options, 1000, lend_a_tool);
    for (const std::string& line : twin::to_lines(found)) std::printf("%s\n", line.c_str());
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
