#include "overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "loom/base/error.hpp"
#include "loom/base/scheduling.hpp"
#include "statistics.hpp"
#include "wire_floor.hpp"

namespace loom::bench {
namespace {

using coll::Operation;
using coll::Order;
using coll::Progress;
using coll::Task;

constexpr double promised_share = 0.9;
constexpr std::uint64_t promised_from = 65536;  // bytes
constexpr std::uint32_t some_tests = 16;
constexpr const char* wire_name = "1 Gbit/s";

constexpr Progressing here[] = {
    {Who::native, Progress::manual, 0},    {Who::native, Progress::manual, some_tests},
    {Who::native, Progress::thread, 0},    {Who::native, Progress::real_time, 0},
    {Who::preloaded, Progress::manual, 0}, {Who::preloaded, Progress::manual, some_tests},
    {Who::openmpi, Progress::manual, 0},   {Who::openmpi, Progress::manual, some_tests},
    {Who::mpich, Progress::manual, 0},     {Who::mpich, Progress::manual, some_tests},
};
constexpr Progressing across[] = {
    {Who::native, Progress::manual, 0},
    {Who::native, Progress::manual, some_tests},
    {Who::native, Progress::thread, 0},
    {Who::native, Progress::real_time, 0},
};
constexpr Progressing across_with_a_core[] = {
    {Who::native, Progress::thread, 0, true},
};

constexpr const char* layout = "{:<21} {:>5} {:>8} {:<12} {:<10} {:<6} {:<9} {:>12} {:>8} {:>8} {:>9} {:>4}\n";

void print(const OverlapLine& line) {
    const auto percent = [&](const std::vector<double>& shares) {
        if (shares.empty() && line.failure.empty()) return std::string();
        return line.failure.empty() ? fmt::format("{:.1f} %", 100 * median(shares)) : std::string("failed");
    };
    fmt::print(fmt::runtime(layout), line.operation, line.ranks, line.bytes, to_string(line.how.who),
               to_string(line.how), line.how.spare ? "spare" : "", line.wire,
               fmt::format("{:.2f}", median(line.blocking) * 1e6), percent(line.fixed), percent(line.deadline),
               line.promised > 0 ? fmt::format(">= {:.0f} %", 100 * line.promised) : "",
               line.promised > 0 ? (line.met() ? "yes" : "no") : "");
    if (!line.failure.empty()) fmt::print("    {}\n", line.failure);
    std::fflush(stdout);
}

// One round of one line, with these ranks computing.
void measure(Contestant& contestant, OverlapLine& line, Order order) {
    const auto ask = [&](Task task) {
        order.task = task;
        const auto answer = contestant.ask(order);
        if (!answer) line.failure = contestant.failure();
        return answer.value_or(coll::Answer{});
    };
    double blocking = ask(Task::time).total;
    order.progress = line.how.progress;
    if (order.progress != Progress::manual) blocking = std::min(blocking, ask(Task::time).total);
    order.work_seconds = blocking;
    order.tests = line.how.tests;
    const coll::Answer fixed = ask(Task::overlap_fixed);
    const coll::Answer deadline = ask(Task::overlap_deadline);
    if (!line.failure.empty() || blocking <= 0) return;
    line.blocking.push_back(blocking);
    line.fixed.push_back(1 - (fixed.total - fixed.work) / blocking);
    line.deadline.push_back(1 - deadline.calls / blocking);
    line.start.push_back(fixed.start);
    line.processor.push_back(fixed.processor);
}

// One round of one line.
void measure(Contestant& contestant, OverlapLine& line, Operation operation, bool quick) {
    Order order;
    order.operation = operation;
    order.bytes = line.bytes;
    order.seconds = quick ? 0.001 : 0.02;
    order.least = quick ? 1 : 3;
    if (!line.how.spare) return measure(contestant, line, order);
    OverlapLine worst;
    for (order.computing = 0; order.computing < line.ranks; ++order.computing) {
        OverlapLine turn;
        turn.how = line.how;
        measure(contestant, turn, order);
        if (!turn.failure.empty() || turn.fixed.empty()) {
            line.failure = turn.failure;
            return;
        }
        if (worst.fixed.empty() || turn.fixed[0] < worst.fixed[0]) worst = std::move(turn);
    }
    const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    append(line.blocking, worst.blocking);
    append(line.fixed, worst.fixed);
    append(line.deadline, worst.deadline);
    append(line.start, worst.start);
    append(line.processor, worst.processor);
}

// Ranks may do what we may do.
bool may_be_real_time() {
    static const bool allowed = [] {
        bool taken = false;
        std::thread([&] { taken = take_real_time_priority(pthread_self()) == 0; }).join();
        if (!taken) fmt::print(stderr, "loom_bench: real-time threads are not allowed here, and left out\n");
        return taken;
    }();
    return allowed;
}

void measure_all(const Plan& plan, std::vector<std::unique_ptr<Contestant>>& contestants,
                 std::span<const Progressing> ways, const std::string& wire, std::uint32_t ranks,
                 const std::vector<std::uint64_t>& sizes, OverlapResults& results) {
    for (std::size_t i = 0; i < coll::operations.size(); ++i) {
        const auto operation = static_cast<Operation>(i);
        if (!plan.takes_operation(coll::name(operation))) continue;
        for (const std::uint64_t bytes : sizes) {
            const bool barrier = operation == Operation::barrier;
            std::vector<OverlapLine> lines;
            std::vector<Contestant*> who;
            for (const Progressing& way : ways) {
                if (way.progress == Progress::real_time && !may_be_real_time()) continue;
                for (const auto& contestant : contestants)
                    if (contestant->who() == way.who && contestant->failure().empty()) {
                        OverlapLine line;
                        line.how = way;
                        line.operation = coll::name(operation);
                        line.wire = wire;
                        line.ranks = ranks;
                        line.bytes = barrier ? 0 : bytes;
                        if (!wire.empty() && way.progress == Progress::thread && !barrier && bytes >= promised_from)
                            line.promised = promised_share;
                        lines.push_back(std::move(line));
                        who.push_back(contestant.get());
                    }
            }
            for (unsigned round = 0; round < std::min(plan.rounds, 5u); ++round)
                for (std::size_t line = 0; line < lines.size(); ++line)
                    if (lines[line].failure.empty()) measure(*who[line], lines[line], operation, plan.quick);
            for (OverlapLine& line : lines) {
                print(line);
                results.lines.push_back(std::move(line));
            }
            if (barrier) break;
        }
    }
}

// Nobody's collective: what sockets leave free, to be set beside those that move as much.
void measure_floor(const Plan& plan, const test::TwoHosts& hosts, const std::vector<std::uint64_t>& sizes,
                   OverlapResults& results) {
    for (const Ways ways : {Ways::one, Ways::both})
        for (const std::uint64_t bytes : sizes) {
            OverlapLine line;
            line.how = {Who::bare, Progress::thread, 0};
            line.operation = ways == Ways::one ? "UDP, one way" : "UDP, both ways";
            line.wire = wire_name;
            line.ranks = 2;
            line.bytes = bytes;
            const WireFloor floor = wire_floor(hosts, bytes, ways, plan.quick ? 3 : 15);
            line.blocking = floor.blocking;
            line.fixed = floor.freed;
            line.failure = floor.failure;
            print(line);
            results.lines.push_back(std::move(line));
        }
}

}  // namespace

std::string to_string(const Progressing& how) {
    switch (how.progress) {
        case Progress::thread:
            return "thread";
        case Progress::real_time:
            return "real-time";
        case Progress::manual:
            break;
    }
    return how.tests == 0 ? "no test" : fmt::format("{} tests", how.tests);
}

bool OverlapLine::met() const {
    return failure.empty() && median(fixed) >= promised;
}

bool OverlapResults::ok() const {
    return std::all_of(lines.begin(), lines.end(), [](const OverlapLine& line) { return line.failure.empty(); });
}

OverlapResults measure_overlap(const Plan& plan, OverlapWires wires) {
    OverlapResults results;
    fmt::print(fmt::runtime(layout), "overlap", "ranks", "bytes", "who", "progress", "core", "wire", "blocking us",
               "fixed", "deadline", "promised", "met");
    for (const std::uint32_t ranks : plan.ranks_or({2})) {
        if (wires == OverlapWires::between) break;
        auto contestants = plan.peers == Peers::none
                               ? gather({Who::native}, ranks, Contestant::Placing::usual)
                               : gather({Who::native, Who::shared, Who::preloaded, Who::openmpi, Who::mpich}, ranks,
                                        Contestant::Placing::usual);
        measure_all(plan, contestants, here, "", ranks, plan.bytes_or({4096, 65536, 1048576}), results);
    }
    if (!test::may_make_namespaces()) {
        fmt::print(stderr, "loom_bench: lines between two namespaces need root and are left out\n");
        return results;
    }
    const test::TwoHosts hosts(test::TwoHosts::Join::cable, 9000, test::Offloads::on);
    hosts.left.shape(test::TwoHosts::interface, "1gbit");
    hosts.right.shape(test::TwoHosts::interface, "1gbit");
    std::vector<std::unique_ptr<Contestant>> contestants;
    // A core is a host: what a rank's threads need is taken from that rank's computing, and from nobody else's.
    contestants.push_back(std::make_unique<Contestant>(Who::native, 2, Contestant::Placing::bound, &hosts));
    if (!contestants[0]->failure().empty()) throw Error("two hosts do not come up: " + contestants[0]->failure());
    const auto sizes = plan.bytes_or({65536, 262144, 1048576, 4194304});
    measure_all(plan, contestants, across, wire_name, 2, sizes, results);
    contestants.clear();
    // A host has two cores here: one computes, the other is spare. We have two in all, so hosts compute in turns.
    contestants.push_back(std::make_unique<Contestant>(Who::native, 2, Contestant::Placing::ordered, &hosts));
    if (!contestants[0]->failure().empty()) throw Error("two hosts do not come up: " + contestants[0]->failure());
    measure_all(plan, contestants, across_with_a_core, wire_name, 2, sizes, results);
    measure_floor(plan, hosts, sizes, results);
    return results;
}

std::string to_json(const OverlapResults& results) {
    nlohmann::json out = nlohmann::json::array();
    for (const OverlapLine& line : results.lines)
        out.push_back({{"operation", line.operation},
                       {"who", to_string(line.how.who)},
                       {"progress", to_string(line.how)},
                       {"spare_core", line.how.spare},
                       {"wire", line.wire},
                       {"ranks", line.ranks},
                       {"bytes", line.bytes},
                       {"blocking_seconds", line.blocking},
                       {"freed_fixed_work", line.fixed},
                       {"freed_deadline", line.deadline},
                       {"start_seconds", line.start},
                       {"processor_seconds", line.processor},
                       {"promised", line.promised},
                       {"met", line.promised > 0 && line.met()},
                       {"failure", line.failure}});
    return out.dump();
}

}  // namespace loom::bench
