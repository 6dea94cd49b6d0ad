#include "verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "loom/base/error.hpp"
#include "statistics.hpp"
#include "verbs_programs.hpp"

namespace loom::bench {
namespace {

struct Case {
    const char* what;
    std::size_t bytes;
    const char* unit;
    Better better;
    double bound;
    const char* peer;
    const char* path;  // that must carry the bytes
    Program ours, theirs;
    bool between_hosts = false;
};

std::string text(std::size_t value) {
    return std::to_string(value);
}

std::vector<std::string> operator+(std::vector<std::string> a, std::vector<std::string> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// `share`: of the usual number of rounds, for a quick look.
std::vector<Case> cases(double share) {
    const auto rounds = [&](std::size_t most) {
        return text(std::max<std::size_t>(10, static_cast<std::size_t>(static_cast<double>(most) * share)));
    };
    const auto sized = [&](std::size_t bytes, std::size_t most) {
        return std::vector<std::string>{"-s", text(bytes), "-n", rounds(most)};
    };
    std::vector<Case> all;
    const auto add = [&](Case c) { all.push_back(std::move(c)); };
    add({"ib_send_lat", 8, "us", Better::less, 1.5, "UCX tag_lat", "store",
         perftest(std::vector<std::string>{"ib_send_lat"} + sized(8, 100000), Column::latency),
         ucx(std::vector<std::string>{"-t", "tag_lat"} + sized(8, 200000), Column::latency)});
    add({"ib_write_lat", 8, "us", Better::less, 1.3, "process_vm_writev", "direct",
         perftest(std::vector<std::string>{"ib_write_lat"} + sized(8, 100000), Column::latency),
         bare({"write-lat", "8", rounds(100000)})});
    // Memory that the other side may map: a store suffices.
    Program mapped = perftest(std::vector<std::string>{"ib_write_lat"} + sized(8, 100000), Column::latency);
    mapped.mapped = true;
    add({"ib_write_lat, memfd", 8, "us", Better::less, 1.5, "UCX put_lat", "store", mapped,
         ucx(std::vector<std::string>{"-t", "ucp_put_lat"} + sized(8, 200000), Column::latency)});
    add({"ib_send_bw", 8, "M/s", Better::more, 0.75, "UCX tag_bw", "store",
         perftest(std::vector<std::string>{"ib_send_bw"} + sized(8, 1000000), Column::rate),
         ucx(std::vector<std::string>{"-t", "tag_bw"} + sized(8, 1000000), Column::rate)});
    for (const std::size_t bytes : {std::size_t{65536}, std::size_t{1} << 20, std::size_t{8} << 20}) {
        const std::size_t most = (std::size_t{4} << 30) / bytes;
        add({"ib_write_bw", bytes, "MB/s", Better::more, 0.9, "process_vm_writev", "direct",
             perftest(std::vector<std::string>{"ib_write_bw"} + sized(bytes, most), Column::bandwidth),
             bare({"write-bw", text(bytes), rounds(most)})});
        add({"ib_read_bw", bytes, "MB/s", Better::more, 0.9, "process_vm_readv", "direct",
             perftest(std::vector<std::string>{"ib_read_bw"} + sized(bytes, most), Column::bandwidth),
             bare({"read-bw", text(bytes), rounds(most)})});
    }
    add({"ib_write_bw, RoCEv2", 65536, "MB/s", Better::more, 0.5, "TCP", "roce",
         perftest(std::vector<std::string>{"ib_write_bw"} + sized(65536, 16384), Column::bandwidth, true),
         bare_sockets({"tcp-bw", "65536", rounds(16384)}), true});
    add({"ib_send_bw, RoCEv2", 65536, "MB/s", Better::more, 0.5, "TCP", "roce",
         perftest(std::vector<std::string>{"ib_send_bw"} + sized(65536, 16384), Column::bandwidth, true),
         bare_sockets({"tcp-bw", "65536", rounds(16384)}), true});
    add({"ib_send_lat, RoCEv2", 8, "us", Better::less, 1.5, "UDP", "roce",
         perftest(std::vector<std::string>{"ib_send_lat"} + sized(8, 20000), Column::latency, true),
         bare_sockets({"udp-lat", "8", rounds(20000)}), true});
    add({"ib_write_lat, RoCEv2", 8, "us", Better::less, 1.5, "UDP", "roce",
         perftest(std::vector<std::string>{"ib_write_lat"} + sized(8, 20000), Column::latency, true),
         bare_sockets({"udp-lat", "8", rounds(20000)}), true});
    return all;
}

// Which path carried how much, and whether nearly all went where it should.
void judge_path(const std::map<std::string, double>& bytes, const std::string& wanted, VerbsLine& line) {
    double total = 0;
    for (const auto& [path, count] : bytes) total += count;
    line.path.clear();
    for (const auto& [path, count] : bytes)
        if (count > 0)
            line.path += fmt::format("{}{} {:.0f} %", line.path.empty() ? "" : ", ", path, 100 * count / total);
    const auto found = bytes.find(wanted);
    if (total == 0 || found == bytes.end() || found->second < 0.95 * total) {
        line.ok = false;
        line.notes =
            fmt::format("its bytes should go by {}, and went by {}", wanted, line.path.empty() ? "nothing" : line.path);
    }
}

VerbsLine measure_case(const Case& c, unsigned repetitions, bool beside, const test::TwoHosts* hosts) {
    VerbsLine line{c.what, text(c.bytes), c.unit, c.better, c.bound, c.peer, {}, {}, {}, true, {}};
    for (unsigned repetition = 0; repetition < repetitions && line.ok; ++repetition) {
        const auto run = [&](const Program& program, std::vector<double>& into) {
            const Measurement m = measure(program, hosts);
            if (m.value)
                into.push_back(*m.value);
            else
                line.ok = false, line.notes = m.notes;
            if (m.value && program.hca) judge_path(m.bytes_by_path, c.path, line);
        };
        if (beside) run(c.theirs, line.theirs);
        if (line.ok) run(c.ours, line.ours);
    }
    return line;
}

constexpr const char* layout = "{:<26} {:>8} {:>10} {:>10} {:<5} {:<18} {:>6} {:>9} {:>4}  {}\n";

}  // namespace

double VerbsLine::our_median() const {
    return median(ours);
}
double VerbsLine::peer_median() const {
    return median(theirs);
}
double VerbsLine::ratio() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) ratios.push_back(ours[i] / theirs[i]);
    return median(ratios);
}
bool VerbsLine::met() const {
    return ok && ratio() > 0 && (better == Better::less ? ratio() <= bound : ratio() >= bound);
}

void measure_verbs(const Plan& plan, const VerbsSink& sink) {
    std::optional<test::TwoHosts> hosts;
    if (test::may_make_namespaces())
        hosts.emplace(test::TwoHosts::Join::cable, 9000, test::Offloads::on);
    else
        fmt::print(stderr, "loom_bench: lines between two namespaces need root and are left out\n");
    for (const Case& c : cases(plan.quick ? 0.01 : 1))
        if ((!c.between_hosts || hosts) && std::string_view(c.what).find(plan.match) != std::string_view::npos)
            sink(measure_case(c, plan.quick ? 1 : 7, plan.peers != Peers::none, c.between_hosts ? &*hosts : nullptr));
}

void print_verbs_header() {
    fmt::print(fmt::runtime(layout), "verbs", "bytes", "ours", "peer's", "unit", "peer", "ratio", "promised", "met",
               "path");
}

void print(const VerbsLine& line) {
    fmt::print(fmt::runtime(layout), line.what, line.bytes,
               line.ok ? fmt::format("{:.3f}", line.our_median()) : "failed",
               line.theirs.empty() ? "" : fmt::format("{:.3f}", line.peer_median()), line.unit, line.peer,
               line.ratio() > 0 ? fmt::format("{:.2f}", line.ratio()) : "",
               fmt::format("{} {:.2f}", line.better == Better::less ? "<=" : ">=", line.bound),
               line.ratio() > 0 ? (line.met() ? "yes" : "no") : "", line.path);
    if (!line.notes.empty()) fmt::print("         {}\n", line.notes);
    std::fflush(stdout);
}

std::string to_json(const std::vector<Line>& lines, const std::vector<VerbsLine>& verbs) {
    auto out = nlohmann::json::parse(to_json(lines));
    nlohmann::json& array = out["verbs"] = nlohmann::json::array();
    for (const VerbsLine& line : verbs)
        array.push_back({{"what", line.what},
                         {"bytes", std::stoul(line.bytes)},
                         {"unit", line.unit},
                         {"better", line.better == Better::less ? "less" : "more"},
                         {"ours", line.our_median()},
                         {"peer", line.peer},
                         {"peers", line.peer_median()},
                         {"ratio", line.ratio()},
                         {"promised", line.bound},
                         {"met", line.met()},
                         {"path", line.path},
                         {"our_runs", line.ours},
                         {"peer_runs", line.theirs},
                         {"ok", line.ok},
                         {"notes", line.notes}});
    return out.dump(1) + "\n";
}

}  // namespace loom::bench
