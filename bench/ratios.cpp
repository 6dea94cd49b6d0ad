#include "ratios.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "loom/base/error.hpp"
#include "peer/harness/process.hpp"
#include "statistics.hpp"

namespace loom::bench {
namespace {

// To OpenSM: ftree and dmodk a hundredth of its ftree's time on one thread, dfsssp a tenth, on fabrics where OpenSM
// needs more than an instant.
std::optional<double> promised_of(const Line& line) {
    if (line.group != "routing" || line.measured.hosts < 3000 || line.threads != 1) return {};
    if (line.what == "ftree" || line.what == "dmodk") return 0.01;
    if (line.what == "dfsssp") return 0.1;
    return {};
}

// The mean over operations; what is promised is promised of each of them.
void add_collectives(const CollResults& results, std::vector<Ratio>& all) {
    std::vector<std::uint32_t> groups;
    for (const CollPromise& promise : results.promises)
        if (std::find(groups.begin(), groups.end(), promise.ranks) == groups.end()) groups.push_back(promise.ranks);
    for (const Who who : {Who::native, Who::shared, Who::preloaded})
        for (const std::uint32_t ranks : groups) {
            double sum = 0;
            std::size_t count = 0, met = 0;
            double bound = 0;
            for (const CollPromise& promise : results.promises) {
                if (promise.who != who || promise.ranks != ranks || promise.mean.middle <= 0) continue;
                sum += std::log(promise.mean.middle);
                met += promise.mean.middle <= promise.bound;
                bound = promise.bound;
                ++count;
            }
            if (count == 0) continue;
            all.push_back({"coll", fmt::format("{}, mean of {} operations", to_string(who), count),
                           fmt::format("{} ranks", ranks), "Open MPI", std::exp(sum / static_cast<double>(count)),
                           Better::less, bound, fmt::format("{} of {} operations alone", met, count)});
        }
}

void add_nbc(const NbcResults& results, std::vector<Ratio>& all) {
    for (const CollCell& cell : results.cells)
        if (const Interval ratio = to_libnbc(cell); ratio.middle > 0)
            all.push_back({"nbc", cell.operation, fmt::format("{} bytes, {} ranks", cell.bytes, cell.ranks), "LibNBC",
                           ratio.middle, Better::less, 1.0, ""});
}

// Open MPI keeps its memory however many steps there are: at most twice as much is promised, and as fast.
void add_early(const std::vector<EarlyCell>& cells, std::vector<Ratio>& all) {
    for (const EarlyCell& cell : cells) {
        if (!cell.failure.empty()) continue;
        const std::string size = fmt::format("{} steps, {} us late", cell.steps, cell.late);
        all.push_back({"early", "memory of the root", size, "Open MPI", median(cell.memory) / median(cell.memory_alone),
                       Better::less, 2.0, ""});
        all.push_back({"early", "reduce of 8 KiB, 4 ranks", size, "Open MPI",
                       median(cell.step) / median(cell.step_alone), Better::less, 1.1, ""});
    }
}

void add_overlap(const OverlapResults& results, std::vector<Ratio>& all) {
    for (const OverlapLine& line : results.lines)
        if (line.promised > 0 && line.failure.empty())
            all.push_back({"overlap", fmt::format("{}, {}, share freed", line.operation, to_string(line.how)),
                           fmt::format("{} bytes, {}", line.bytes, line.wire), "", median(line.fixed), Better::more,
                           line.promised, ""});
}

// How to ask a peer for its version: the first group of the pattern in what the command says.
struct Question {
    std::string name;
    std::vector<std::string> command;
    std::string pattern;
};
const std::vector<Question>& questions() {
    static const std::vector<Question> all{
        {"OpenSM", {"opensm", "--version"}, R"(OpenSM ([\d.]+))"},
        {"ibdmchk", {"dpkg-query", "-W", "-f", "${Version}", "ibutils"}, R"((\S+))"},  // it has no word for it
        {"UCX", {"ucx_info", "-v"}, R"(ersion:? ([\d.]+))"},
        {"Open MPI", {"mpirun.openmpi", "--version"}, R"(([\d.]+\d))"},
    };
    return all;
}

std::string ask(const Question& question) {
    try {
        const peer::TemporaryFolder folder;
        const peer::Outcome outcome = peer::run({.arguments = question.command,
                                                 .environment = {},
                                                 .directory = folder.path(),
                                                 .output = folder.path() / "version",
                                                 .timeout = peer::Seconds{10}});
        std::smatch found;
        const std::string said = outcome.output + outcome.errors;
        if (std::regex_search(said, found, std::regex(question.pattern))) return found[1];
    } catch (const Error&) {
        // A peer that cannot be asked has no version, and its figures stand all the same.
    }
    return {};
}

std::string version_of(const std::string& peer) {
    for (const Question& question : questions())
        if (peer.starts_with(question.name)) return ask(question);
    if (!peer.starts_with("process_vm") && peer != "TCP" && peer != "UDP") return {};
    utsname kernel{};
    return uname(&kernel) == 0 ? fmt::format("Linux {}", kernel.release) : std::string();
}

std::string promise_text(const Ratio& ratio) {
    return ratio.promised ? fmt::format("{} {}", ratio.better == Better::less ? "<=" : ">=", *ratio.promised) : "";
}

}  // namespace

bool Ratio::met() const {
    return !promised || (better == Better::less ? value <= *promised : value >= *promised);
}

std::vector<Ratio> ratios(const std::vector<Line>& lines, const std::vector<VerbsLine>& verbs,
                          const std::optional<CollResults>& collectives, const std::optional<NbcResults>& nbc,
                          const std::optional<std::vector<EarlyCell>>& early,
                          const std::optional<OverlapResults>& overlap) {
    std::vector<Ratio> all;
    for (const Line& line : lines)
        if (line.ratio() > 0)
            all.push_back(
                {line.group, line.what,
                 fmt::format("{}{}", line.size, line.threads > 1 ? fmt::format(", {} threads", line.threads) : ""),
                 line.peer, 1 / line.ratio(), Better::less, promised_of(line), ""});
    for (const VerbsLine& line : verbs)
        if (line.ratio() > 0)
            all.push_back({"verbs", line.what, fmt::format("{} bytes", line.bytes), line.peer, line.ratio(),
                           line.better, line.bound, line.ok ? "" : "failed: " + line.notes});
    if (collectives) add_collectives(*collectives, all);
    if (nbc) add_nbc(*nbc, all);
    if (early) add_early(*early, all);
    if (overlap) add_overlap(*overlap, all);
    return all;
}

std::vector<Peer> peers_of(const std::vector<Ratio>& ratios) {
    std::vector<Peer> peers;
    for (const Ratio& ratio : ratios)
        if (!ratio.peer.empty() &&
            std::none_of(peers.begin(), peers.end(), [&](const Peer& peer) { return peer.name == ratio.peer; }))
            peers.push_back({ratio.peer, version_of(ratio.peer)});
    return peers;
}

void print(const std::vector<Ratio>& ratios, const std::vector<Peer>& peers) {
    constexpr const char* layout = "{:<9} {:<42} {:<28} {:<22} {:<22} {:>8} {:>8} {:>4}  {}\n";
    fmt::print("\n");
    fmt::print(fmt::runtime(layout), "ratios", "what", "size", "peer", "its version", "to peer", "promised", "met", "");
    for (const Ratio& ratio : ratios) {
        const auto peer =
            std::find_if(peers.begin(), peers.end(), [&](const Peer& one) { return one.name == ratio.peer; });
        fmt::print(fmt::runtime(layout), ratio.group, ratio.what, ratio.size, ratio.peer,
                   peer == peers.end() ? "" : peer->version,
                   ratio.value < 100 ? fmt::format("{:.3g}", ratio.value) : fmt::format("{:.0f}", ratio.value),
                   promise_text(ratio), ratio.promised ? (ratio.met() ? "yes" : "no") : "", ratio.remark);
    }
}

std::string to_json(const std::vector<Ratio>& ratios, const std::vector<Peer>& peers) {
    nlohmann::json out = {{"peers", nlohmann::json::object()}, {"table", nlohmann::json::array()}};
    for (const Peer& peer : peers) out["peers"][peer.name] = peer.version;
    for (const Ratio& ratio : ratios) {
        nlohmann::json object = {{"group", ratio.group},   {"what", ratio.what},
                                 {"size", ratio.size},     {"peer", ratio.peer},
                                 {"to_peer", ratio.value}, {"better", ratio.better == Better::less ? "less" : "more"},
                                 {"remark", ratio.remark}};
        if (ratio.promised) {
            object["promised"] = *ratio.promised;
            object["met"] = ratio.met();
        }
        out["table"].push_back(std::move(object));
    }
    return out.dump();
}

}  // namespace loom::bench
