// Ranks as processes over the verbs transport, for tests: what a body needs, and how it is run.
#pragma once

#include <chrono>
#include <functional>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/launch.hpp"
#include "loom/transport/open.hpp"

namespace loom::transport::test {

// A rank's exit code is the line of the check that failed.
#define CHECK_RANK(condition) \
    if (!(condition)) return __LINE__

// Counts the messages it made that are not finished.
struct Counter {
    int open = 0;
    Message message() {
        ++open;
        Message made;
        made.owner = this;
        made.finished = [](Message& done) { --static_cast<Counter*>(done.owner)->open; };
        return made;
    }
};

inline void drive(Transport& transport, const std::function<bool()>& until) {
    while (!until())
        if (!transport.progress()) pause(transport.waiting());
}

inline LaunchOutcome launch_ranks(std::uint32_t ranks, const std::function<int(Transport&, Bootstrap&)>& body) {
    Launch request;
    request.ranks = ranks;
    request.timeout = std::chrono::seconds(60);
    request.grace = std::chrono::seconds(20);
    request.body = [&](Rank) {
        const auto bootstrap = find_bootstrap();
        const auto transport = open_verbs(*bootstrap);
        const int line = body(*transport, *bootstrap);
        if (line == 0) bootstrap->fence();
        bootstrap->finished();
        return line;
    };
    return launch(request);
}

}  // namespace loom::transport::test
