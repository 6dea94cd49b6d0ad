// relay LEFT RIGHT [FAULTS]: joins two interfaces until SIGINT or SIGTERM, then prints the counters as JSON.
#include <csignal>
#include <cstdio>
#include <exception>

#include "support/relay/relay.hpp"

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) {
        std::fputs(
            "usage: relay LEFT RIGHT [seed=1,loss=0.01,duplicate=0,reorder=0,reorder-delay=1ms,delay=50us,jitter=10us,"
            "rate=1e9,queue=1048576,port=4791]\n"
            "Relays frames between two interfaces (their offloads off) until SIGINT or SIGTERM; counters then go to "
            "standard output.\n",
            stderr);
        return 2;
    }
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, nullptr);
    try {
        loom::test::Relay relay(argv[1], argv[2], loom::test::parse_faults(argc == 4 ? argv[3] : ""));
        int signal = 0;
        sigwait(&ends, &signal);
        std::puts(loom::test::to_json(relay.stop()).c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "relay: %s\n", error.what());
        return 2;
    }
    return 0;
}
