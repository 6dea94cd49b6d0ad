// A server with a bug: it takes the first notification for that of rank 1, which computes less than rank 2 and so has
// always come first. Some order of events that the standard allows shows it.
#include <cstdio>
#include <cstring>
#include <deque>
#include <span>

#include "loom/base/clock.hpp"
#include "loom/twin/explore.hpp"

namespace {

using namespace loom;
using transport::RemoteMemory;
using transport::Tag;
using transport::Transport;

// An operation of a transport, and the wait for it.
struct Operation {
    transport::Message message;
    bool finished = false;

    Operation() {
        message.owner = this;
        message.finished = [](transport::Message& mine) { static_cast<Operation*>(mine.owner)->finished = true; };
    }
    void wait(Transport& transport) const {
        while (!finished)
            if (!transport.progress()) transport.rest();
    }
};

std::uint64_t next_value(Transport& transport) {
    while (true) {
        if (const auto notification = transport.next_notification()) return notification->value;
        if (!transport.progress()) transport.rest();
    }
}

// Ranks 1 and 2 write how much they have done into the memory of rank 0, and notify it.
std::string serve(Transport& transport) {
    const Rank me = transport.rank();
    RemoteMemory memory;
    if (me == Rank{0}) {
        double results[3] = {};
        memory = transport.expose(std::as_writable_bytes(std::span(results)));
        Operation to[2];
        for (std::uint32_t writer : {1, 2})
            to[writer - 1].finished =
                transport.send(Rank{writer}, Tag{1}, std::as_bytes(std::span(&memory, 1)), to[writer - 1].message);
        for (const Operation& each : to) each.wait(transport);
        const std::uint64_t first = next_value(transport), second = next_value(transport);  // of ranks 1 and 2: the bug
        transport.unexpose(memory);
        return "rank 1 has done " + std::to_string(first) + " steps, rank 2 " + std::to_string(second);
    }
    Operation address, put;
    address.finished =
        transport.receive(Rank{0}, Tag{1}, std::as_writable_bytes(std::span(&memory, 1)), address.message);
    address.wait(transport);
    compute(microseconds(me.value * 4));
    const double result = me.value;
    put.finished = transport.put_notify(Rank{0}, memory, me.value * sizeof result, std::as_bytes(std::span(&result, 1)),
                                        me.value * 100, put.message);
    put.wait(transport);
    return "done";
}

}  // namespace

int main() try {
    twin::Options options;
    options.ranks = 3;
    std::printf("undisturbed: %s", twin::play(options, serve).answer.c_str());

    const twin::Exploration found = twin::explore(options, 1000, serve);
    for (const std::string& line : twin::to_lines(found)) std::printf("%s\n", line.c_str());

    std::printf("replayed:    %s", twin::play(found.replay, serve).answer.c_str());
} catch (const loom::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
