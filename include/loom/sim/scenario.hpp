// A scenario file: fabric, traffic and settings of one simulation as lines of text (docs/formats.md has them all).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loom/fabric/fabric.hpp"
#include "loom/sim/fault.hpp"
#include "loom/sim/options.hpp"
#include "loom/sim/simulation.hpp"
#include "loom/traffic/schedules.hpp"

namespace loom::sim {

// Where something was said: the line of the file, 0 for the command line.
struct Source {
    std::string file;
    std::size_t line = 0;
};

// Messages one after the other from host to host.
struct FlowPlan {
    std::string name;
    std::string from;  // hosts, as the fabric names them
    std::string to;
    std::uint64_t bytes = 0;          // in all; not used when endless
    std::uint64_t message = 1 << 20;  // bytes of each send; the last one has what is left
    bool endless = false;             // sends until Scenario::until
    std::uint32_t window = 1;         // sends under way at a time
    Time start;                       // of the first send
    std::uint8_t sl = 0;              // service level
    Source source;
};

struct PortName {
    std::string node;
    unsigned port = 0;
    Source source;
};

// `fail TIME link NODE:PORT`, `fail TIME switch NODE`, `kill TIME rank N`: of use to programs that run.
struct FaultPlan {
    Fault::Kind kind = Fault::Kind::rank;
    Time at;
    std::string node;
    unsigned port = 0;
    std::uint32_t rank = 0;
    Source source;
};

// A line that another room understands: `manager sweep 1.4s`.
struct Setting {
    std::string key;
    std::string value;
    Source source;
};

// What a line is about, without its values: "mtu", "congestion threshold".
struct SaidLine {
    std::string keyword;
    Source source;
};

[[nodiscard]] inline Options with_assumed_costs() {
    Options options;
    options.local.step = model::assumed::step;
    return options;
}
// Who says what is sent: the scenario, or programs that run on what it describes. Then its flows are background
// traffic, its ranks are the programs', and its pattern, schedule or GOAL file is of no use.
enum class Traffic : std::uint8_t { scenario, programs };

struct Scenario {
    std::string title;
    std::filesystem::path folder;  // files named below are relative to it

    // The fabric: a file, or lines of the scenario. Both empty only where the level needs none.
    std::string fabric_file;
    fabric::Fabric fabric;
    std::string tables_file;
    std::string engine;  // used when there is no tables_file; empty: minhop
    unsigned lmc = 0;    // of hosts that have no LID yet

    // The traffic: flows, or one of pattern, schedule and goal.
    std::vector<FlowPlan> flows;
    std::string pattern;   // as traffic::make_pattern understands it
    std::string schedule;  // as traffic::make_schedule understands it
    std::string goal_file;
    std::uint64_t bytes = 64 * 1024;                   // of each message of a pattern or schedule
    Time work;                                         // of a schedule's computations
    traffic::Parting parting = traffic::Parting::own;  // of a pattern's stages
    std::string place;      // order (the default), keepers, random or a file with a host a line
    std::string hosts;      // a Slurm host list instead
    std::size_t ranks = 0;  // of a pattern or schedule; 0: as many as there are hosts

    Level level = Level::packet;
    Options options = with_assumed_costs();  // what model/assumptions.hpp has, unless a line says otherwise
    std::optional<Time> until;
    std::optional<Time> sample;  // between samples, above 0; nothing: as RecordOptions
    std::vector<PortName> watch;
    std::vector<FaultPlan> faults;
    std::optional<Time> repair;  // from a fault to repaired tables
    std::vector<Setting> manager;
    std::vector<SaidLine> said;  // lines that may be of no use; see unused.hpp
};

// Takes one line, as if it stood in the file. Blank lines and comments change nothing. Throws ParseError that says what
// was expected. Names of nodes are checked where the scenario describes its fabric itself.
void take_line(Scenario& scenario, std::string_view line, const Source& source);

// Throws ParseError when something is missing or two lines contradict each other. To be called after the last line.
void check_complete(const Scenario& scenario, const Source& source, Traffic traffic = Traffic::scenario);

// All lines of a text, without check_complete(): more may follow.
void take_text(Scenario& scenario, std::string_view text, const std::string& file_name);

// The whole text. Cost: one pass.
[[nodiscard]] Scenario parse_scenario(std::string_view text, const std::string& file_name,
                                      Traffic traffic = Traffic::scenario);
// The same for a file; "-" is standard input. Throws IoError too.
[[nodiscard]] Scenario read_scenario(const std::filesystem::path& path, Traffic traffic = Traffic::scenario);

}  // namespace loom::sim
