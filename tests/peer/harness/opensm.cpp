#include "peer/harness/opensm.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <optional>
#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::peer {
namespace {

// Each test process and each subnet in it gets a name of its own: the sockets are global.
std::string unique_socket() {
    static std::atomic<unsigned> counter{0};
    return "loom-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
}

// ibsim allocates what it is told and panics beyond it: count nodes, switches and ports of the file.
struct Limits {
    std::size_t nodes = 8;
    std::size_t switches = 8;
    std::size_t ports = 16;
};

Limits limits_of(std::string_view net) {
    Limits limits;
    Lines lines(net);
    for (std::string_view line; lines.next(line);) {
        const bool is_switch = line.starts_with("Switch");
        if (!is_switch && !line.starts_with("Hca") && !line.starts_with("Router")) continue;
        const auto digit = line.find_first_of("0123456789");
        std::size_t ports = 0;
        if (digit != std::string_view::npos) std::from_chars(line.data() + digit, line.data() + line.size(), ports);
        ++limits.nodes;
        limits.switches += is_switch ? 1 : 0;
        limits.ports += ports + 1;
    }
    return limits;
}

Command simulator_command(std::string_view net, const std::filesystem::path& folder, const std::string& socket,
                          Console console) {
    write_file(folder / "net", net);
    const Limits limits = limits_of(net);
    Command command;
    command.arguments = {"ibsim",
                         "-s",
                         "-n",
                         "-N",
                         std::to_string(limits.nodes),
                         "-S",
                         std::to_string(limits.switches),
                         "-P",
                         std::to_string(limits.ports),
                         "-L",
                         "49152",
                         (folder / "net").string()};
    if (console == Console::open) {
        // A pipe that is open for writing, too, never ends, so that the simulator waits for the next command.
        if (mkfifo((folder / "console").c_str(), 0600) != 0) throw Error("cannot make a pipe for the console of ibsim");
        std::erase(command.arguments, "-n");
        command.arguments.insert(command.arguments.begin(), {"sh", "-c", "exec \"$@\" <>console", "sh"});
    }
    command.environment = {{"IBSIM_SOCKNAME", socket}};
    command.directory = folder;
    command.output = folder / "ibsim.log";
    return command;
}

// "Nov 15 04:52:01 591576 [D53786C0] 0x04 -> text": microseconds within the day.
struct LogLine {
    double seconds;
    std::string_view thread;
    unsigned level;
    std::string_view text;
};

std::optional<LogLine> parse_log_line(std::string_view line) {
    const auto arrow = line.find("] 0x");
    const auto bracket = line.find('[');
    if (arrow == std::string_view::npos || bracket == std::string_view::npos || bracket < 23) return std::nullopt;
    const auto number = [&](std::size_t at, std::size_t length) {
        unsigned value = 0;
        std::from_chars(line.data() + at, line.data() + at + length, value);
        return value;
    };
    LogLine result{};
    result.seconds = number(7, 2) * 3600.0 + number(10, 2) * 60.0 + number(13, 2) + number(16, 6) * 1e-6;
    result.thread = line.substr(bracket + 1, arrow - bracket - 1);
    std::from_chars(line.data() + arrow + 4, line.data() + line.size(), result.level, 16);
    const auto text = line.find("-> ", arrow);
    if (text == std::string_view::npos) return std::nullopt;
    result.text = line.substr(text + 3);
    return result;
}

}  // namespace

void read_log(std::string_view log, OpensmRun& run) {
    constexpr unsigned error_level = 0x01;
    constexpr std::string_view configured = " tables configured on all switches";
    constexpr std::string_view process = "osm_ucast_mgr_process: ";
    std::optional<LogLine> started;
    bool computing = false;
    Lines lines(log);
    for (std::string_view text; lines.next(text);) {
        const auto line = parse_log_line(text);
        if (!line) continue;
        // The word that forbids a fallback is reported as an engine that could not be set up.
        if (line->level == error_level && line->text.find("'no_fallback'") == std::string_view::npos)
            run.errors.emplace_back(line->text);
        if (line->text.find("building routing with") != std::string_view::npos) {
            started = line;
            computing = true;
        } else if (computing && line->thread == started->thread && line->text.starts_with("osm_prepare_req_set")) {
            run.routing_seconds = line->seconds - started->seconds;
            if (run.routing_seconds < 0) run.routing_seconds += 24 * 3600.0;  // past midnight
            computing = false;
        }
        if (line->text.ends_with(configured) && line->text.starts_with(process))
            run.engine_used = line->text.substr(process.size(), line->text.size() - process.size() - configured.size());
        if (line->text == "SUBNET UP") run.came_up = true;
    }
}

Subnet::Subnet(std::string_view net, Console console)
    : socket_(unique_socket()), simulator_(simulator_command(net, folder_.path(), socket_, console)) {
    const auto log = folder_.path() / "ibsim.log";
    for (int waited = 0; waited < 60000; waited += 5) {
        // Once this is printed its sockets are open.
        if (content_or_empty(log).find("Network simulator ready") != std::string::npos) return;
        if (!simulator_.alive()) throw Error("ibsim gave up: " + content_or_empty(log));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    throw Error("ibsim was not ready after 60 s: " + content_or_empty(log));
}

void Subnet::console(std::string_view command) {
    const auto prompts = [&] {
        const std::string log = content_or_empty(folder() / "ibsim.log");
        std::size_t count = 0;
        for (auto at = log.find("sim> "); at != std::string::npos; at = log.find("sim> ", at + 1)) ++count;
        return count;
    };
    const std::size_t before = prompts();
    std::ofstream(folder() / "console") << command << std::endl;
    for (int waited = 0; waited < 60000; waited += 5) {
        if (prompts() > before) return;  // it asks for the next one
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    throw Error("ibsim did not take " + std::string(command));
}

Command Subnet::simulated(std::vector<std::string> arguments, std::string_view name, Seconds timeout) const {
    Command command;
    command.arguments = {"ibsim-run"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    const std::string dumps = (folder() / "opensm").string();
    command.environment = {{"IBSIM_SOCKNAME", socket_}, {"OSM_TMP_DIR", dumps}, {"OSM_CACHE_DIR", dumps}};
    command.directory = folder();
    command.output = folder() / name;
    command.timeout = timeout;
    return command;
}

OpensmRun Subnet::opensm(const OpensmOptions& options) {
    const auto dumps = folder() / "opensm";
    std::filesystem::remove_all(dumps);
    std::filesystem::create_directory(dumps);
    // Only the modules that mark the beginning and the end of the computation are made to talk:
    // talkative engines would be measured with their own printing.
    write_file(folder() / "modules.conf", "osm_ucast_mgr.c 0x07\nosm_req.c 0x11\n");
    write_file(folder() / "opensm.conf", "per_module_logging_file " + (folder() / "modules.conf").string() + "\n");
    std::vector<std::string> arguments = {
        "opensm",
        "-F",
        (folder() / "opensm.conf").string(),
        "-o",
        "-R",
        options.engine + (options.fallback == Fallback::forbidden ? ",no_fallback" : ""),
        "-n",
        "64",
        "-f",
        (dumps / "osm.log").string(),
        "-e",
        "-D",
        options.dumps == Dumps::none ? "0x03" : "0x43",
        "--dump_files_dir",
        dumps.string()};
    if (!options.tables.empty()) {
        arguments.emplace_back("-U");
        arguments.push_back(std::filesystem::absolute(options.tables).string());
    }
    if (options.lmc != 0) {
        arguments.emplace_back("-l");
        arguments.push_back(std::to_string(options.lmc));
    }
    const Outcome outcome = peer::run(simulated(arguments, "opensm.out", options.timeout));

    OpensmRun run;
    run.timed_out = outcome.timed_out;
    run.wall_seconds = outcome.seconds;
    run.peak_kilobytes = outcome.peak_kilobytes;
    read_log(content_or_empty(dumps / "osm.log"), run);
    run.came_up = run.came_up && outcome.ok();
    if (options.dumps != Dumps::read) return run;
    run.lfts = content_or_empty(dumps / "opensm-lfts.dump");
    run.subnet = content_or_empty(dumps / "opensm-subnet.lst");
    run.host_order = content_or_empty(dumps / "opensm-ftree-ca-order.dump");
    return run;
}

Outcome Subnet::tool(std::vector<std::string> arguments, Seconds timeout) {
    return peer::run(simulated(std::move(arguments), "tool-" + std::to_string(commands_++) + ".out", timeout));
}

IbdmchkRun Subnet::ibdmchk(Seconds timeout) {
    const auto dumps = folder() / "opensm";
    Command command;
    command.arguments = {"ibdmchk",
                         "-s",
                         (dumps / "opensm-subnet.lst").string(),
                         "-f",
                         (dumps / "opensm.fdbs").string(),
                         "-m",
                         (dumps / "opensm.mcfdbs").string()};
    command.directory = folder();
    command.output = folder() / "ibdmchk.out";
    command.timeout = timeout;
    IbdmchkRun run;
    run.outcome = peer::run(command);
    Lines lines(run.outcome.output);
    constexpr std::string_view scanned = "-I- Scanned:";
    for (std::string_view line; lines.next(line);) {
        if (line.starts_with("-E-")) run.errors.emplace_back(line);
        if (line.starts_with(scanned) && line.find("CA to CA") != std::string_view::npos)
            std::from_chars(line.data() + scanned.size(), line.data() + line.size(), run.paths);
        if (line.find("no credit loops found") != std::string_view::npos) run.finished = true;
        if (line.find("credit loops in routing") != std::string_view::npos) run.finished = run.credit_loops = true;
    }
    return run;
}

}  // namespace loom::peer
