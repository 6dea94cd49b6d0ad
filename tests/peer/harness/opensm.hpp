// OpenSM on a simulated subnet: ibsim plays the switches, OpenSM routes them, the diagnostic tools
// look at the result. Nothing here needs an adapter or root.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "peer/harness/process.hpp"

namespace loom::peer {

// OpenSM writes tables and subnet to files only when asked; at 11,664 hosts they are gigabytes.
enum class Dumps : unsigned char { none, files, read };

// When an engine refuses a fabric OpenSM either takes minhop quietly or never comes up.
enum class Fallback : unsigned char { forbidden, minhop };

struct OpensmOptions {
    std::string engine = "ftree";    // no other is tried when it fails; "file" loads `tables`
    std::filesystem::path tables{};  // in OpenSM's table input form
    Fallback fallback = Fallback::forbidden;
    unsigned lmc = 0;
    Seconds timeout{60};
    Dumps dumps = Dumps::read;  // read: the texts below are filled, too
};

// What one OpenSM run did. The texts are empty when OpenSM did not write the file.
struct OpensmRun {
    bool came_up = false;  // "SUBNET UP" without a time-out
    bool timed_out = false;
    std::string engine_used;          // who filled the tables, empty when no engine could
    std::vector<std::string> errors;  // log lines of error level
    double routing_seconds = 0;       // from the start of the engine to the first table block sent; 0: unknown
    double wall_seconds = 0;          // discovery, routing, programming the switches, dumps
    long peak_kilobytes = 0;
    std::string lfts;        // opensm-lfts.dump
    std::string subnet;      // opensm-subnet.lst: what was discovered, with LIDs
    std::string host_order;  // opensm-ftree-ca-order.dump
};

// What ibdmchk found. Its exit status says nothing: it crashes while it cleans up.
struct IbdmchkRun {
    bool finished = false;  // it reached the verdict on credit loops
    bool credit_loops = false;
    std::size_t paths = 0;            // host to host, both directions
    std::vector<std::string> errors;  // lines marked -E-
    Outcome outcome;
};

// What OpenSM's log says about a run, apart from reading files: for tests of its own.
void read_log(std::string_view log, OpensmRun& run);

// Whether the simulator takes commands while it runs.
enum class Console : unsigned char { closed, open };

// A running ibsim with its own socket name and folder. Several may live side by side.
class Subnet {
public:
    // `net` is the text of an ibsim file. Returns once the simulator is ready; throws Error with what
    // it said when it refuses the file, or after 60 seconds.
    explicit Subnet(std::string_view net, Console console = Console::closed);

    // Has ibsim do `PerformanceSet "S1"[15] PortCounters.PortXmitWait=5` or the like. Returns once it has; throws Error
    // when it has not after 60 seconds. The console must be open.
    void console(std::string_view command);

    [[nodiscard]] OpensmRun opensm(const OpensmOptions& options);
    // ibnetdiscover, dump_fts, ibroute, ... on the simulated subnet; LIDs exist once OpenSM has run.
    [[nodiscard]] Outcome tool(std::vector<std::string> arguments, Seconds timeout = Seconds{60});
    // ibdmchk over the files of the last OpenSM run.
    [[nodiscard]] IbdmchkRun ibdmchk(Seconds timeout = Seconds{60});

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

private:
    [[nodiscard]] Command simulated(std::vector<std::string> arguments, std::string_view name, Seconds timeout) const;

    TemporaryFolder folder_;
    std::string socket_;
    Background simulator_;
    unsigned commands_ = 0;
};

}  // namespace loom::peer
