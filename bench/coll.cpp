#include "coll.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace loom::bench {
namespace {

using coll::Operation;
using coll::Order;
using coll::Task;

constexpr double slow_cell = 1.1;

// Rounds that are not counted: what is done once and for all (connections, registrations, pages that are moved because
// they are used again and again, after 50 uses at the latest) is not the operation's time. The OSU benchmarks leave out
// 100 and 10.
std::uint32_t warm_up(std::uint64_t bytes) {
    return bytes <= 8192 ? 100 : bytes <= 1 << 20 ? 60 : 12;
}

double bound_of(Who who) {
    return who == Who::preloaded ? 1.0 : 0.7;
}

// MPICH's ranks do not give way to each other: with more of them than cores a small operation takes a time slice or
// more, so that a few sizes, seldom, have to do.
bool crawls(Who who, std::uint32_t ranks) {
    return who == Who::mpich && sysconf(_SC_NPROCESSORS_ONLN) < static_cast<long>(ranks);
}
bool crawling_size(std::uint64_t bytes) {
    return bytes <= 8 || bytes == 32768;
}

bool reduces(Operation operation) {
    return operation >= Operation::reduce && operation <= Operation::exscan;
}

constexpr const char* cells_layout =
    "{:<21} {:>5} {:>8} {:>10} {:>10} {:>11} {:>10} {:>10} {:>10} {:>20} {:>20} {:>20}\n";

void print_cells_header() {
    fmt::print(fmt::runtime(cells_layout), "coll, us", "ranks", "bytes", "native", "allocated", "libloom-mpi",
               "Open MPI", "MPICH", "bare", "native/Open MPI", "allocated/it", "libloom-mpi/it");
}

std::string text(const Interval& interval) {
    if (interval.middle == 0) return {};
    return fmt::format("{:.2f} [{:.2f}, {:.2f}]", interval.middle, interval.low, interval.high);
}

void print(const CollCell& cell) {
    const auto time = [&](Who who) -> std::string {
        if (cell.failures.contains(who)) return "failed";
        const auto found = cell.seconds.find(who);
        return found == cell.seconds.end() ? "" : fmt::format("{:.2f}", median(found->second) * 1e6);
    };
    fmt::print(fmt::runtime(cells_layout), cell.operation, cell.ranks, cell.bytes, time(Who::native), time(Who::shared),
               time(Who::preloaded), time(Who::openmpi), time(Who::mpich), time(Who::bare),
               text(cell.to_openmpi(Who::native)), text(cell.to_openmpi(Who::shared)),
               text(cell.to_openmpi(Who::preloaded)));
    for (const auto& [who, why] : cell.failures) fmt::print("    {}: {}\n", to_string(who), why);
    std::fflush(stdout);
}

std::vector<Who> contenders(const Plan& plan) {
    if (plan.peers == Peers::none) return {Who::native, Who::shared};
    return {std::begin(everybody), std::end(everybody)};
}

// What the cells of one operation come to.
void judge(std::span<const CollCell> cells, std::vector<CollPromise>& promises) {
    for (const Who who : {Who::native, Who::shared, Who::preloaded}) {
        CollPromise promise{who, cells[0].operation, cells[0].ranks, {}, bound_of(who), {}};
        std::vector<Pair> pairs;
        for (const CollCell& cell : cells) {
            if (cell.to_openmpi(who).middle == 0) continue;
            pairs.push_back({cell.seconds.at(who), cell.seconds.at(Who::openmpi)});
            if (cell.to_openmpi(who).low > slow_cell) promise.slow.push_back(cell.bytes);
        }
        if (pairs.empty()) continue;
        promise.mean = geometric_mean(pairs);
        promises.push_back(std::move(promise));
    }
}

void measure_starts(const Plan& plan, std::uint32_t ranks, Contestant& contestant, std::vector<StartLine>& lines) {
    for (const Operation operation : {Operation::barrier, Operation::bcast, Operation::allgather, Operation::alltoall,
                                      Operation::reduce, Operation::allreduce, Operation::neighbor_alltoall})
        for (const std::uint64_t bytes : {8, 4096}) {
            if (!plan.takes_operation(coll::name(operation)) || (operation == Operation::barrier && bytes > 8))
                continue;
            StartLine line{contestant.who(), coll::name(operation), ranks, bytes, {}, {}, {}, {}};
            Order order;
            order.operation = operation;
            order.bytes = operation == Operation::barrier ? 0 : bytes;
            order.seconds = plan.quick ? 0.001 : 0.008;
            order.least = plan.quick ? 1 : 3;
            for (const coll::Kept kept : {coll::Kept::fresh, coll::Kept::persistent}) {
                order.kept = kept;
                order.task = Task::check;
                static_cast<void>(contestant.ask(order));
            }
            for (unsigned round = 0; round < plan.rounds; ++round) {
                Order odd = order;  // of a size that nobody asked for yet
                odd.kept = coll::Kept::fresh;
                odd.bytes += operation == Operation::barrier ? 0 : 8 * (round + 1);
                if (const auto answer = contestant.ask(odd)) line.first.push_back(answer->start);
            }
            order.task = Task::time;
            for (unsigned round = 0; round < plan.rounds; ++round)
                for (const coll::Kept kept : {coll::Kept::fresh, coll::Kept::persistent}) {
                    order.kept = kept;
                    if (const auto answer = contestant.ask(order))
                        (kept == coll::Kept::fresh ? line.fresh : line.persistent).push_back(answer->start);
                }
            line.failure = contestant.failure();
            lines.push_back(line);
            if (!line.failure.empty()) return;
        }
}

void print(const std::vector<CollPromise>& promises) {
    fmt::print("\n{:<21} {:>5} {:<12} {:>20} {:>8} {:>4}  {}\n", "coll, to Open MPI", "ranks", "who", "mean over sizes",
               "promised", "met", "sizes above 1.1");
    for (const CollPromise& promise : promises) {
        std::string slow;
        for (const std::uint64_t bytes : promise.slow) slow += fmt::format(" {}", bytes);
        fmt::print("{:<21} {:>5} {:<12} {:>20} {:>8.2f} {:>4} {}\n", promise.operation, promise.ranks,
                   to_string(promise.who), text(promise.mean), promise.bound, promise.met() ? "yes" : "no", slow);
    }
}

// How far above what the machine allows everybody is, where it is known: where Open MPI is near it, nobody can take
// much less time than Open MPI.
void print_beside_bare(const std::vector<CollCell>& cells) {
    fmt::print("\n{:<21} {:>5} {:<12} {:>20} {:>20}\n", "coll, to bare", "ranks", "who", "up to 4096 bytes",
               "larger ones");
    std::vector<std::uint32_t> all_ranks;
    for (const CollCell& cell : cells)
        if (all_ranks.empty() || all_ranks.back() != cell.ranks) all_ranks.push_back(cell.ranks);
    for (const std::uint32_t ranks : all_ranks)
        for (const Who who : {Who::native, Who::shared, Who::preloaded, Who::openmpi}) {
            std::vector<Pair> few, many;
            for (const CollCell& cell : cells) {
                const auto ours = cell.seconds.find(who), bare = cell.seconds.find(Who::bare);
                if (cell.ranks != ranks || ours == cell.seconds.end() || bare == cell.seconds.end()) continue;
                (cell.bytes <= 4096 ? few : many).push_back({ours->second, bare->second});
            }
            if (few.empty() && many.empty()) continue;
            fmt::print("{:<21} {:>5} {:<12} {:>20} {:>20}\n", "", ranks, to_string(who), text(geometric_mean(few)),
                       text(geometric_mean(many)));
        }
}

void print(const std::vector<StartLine>& lines) {
    constexpr const char* layout = "{:<21} {:>5} {:>8} {:<12} {:>9} {:>9} {:>10} {:>20} {:>20}\n";
    const auto us = [](const std::vector<double>& seconds) { return fmt::format("{:.3f}", median(seconds) * 1e6); };
    fmt::print("\n");
    fmt::print(fmt::runtime(layout), "starting, us", "ranks", "bytes", "who", "first", "fresh", "persistent",
               "persistent/first", "persistent/fresh");
    for (const StartLine& line : lines) {
        fmt::print(fmt::runtime(layout), line.operation, line.ranks, line.bytes, to_string(line.who), us(line.first),
                   us(line.fresh), us(line.persistent), text(line.to_first()), text(line.to_fresh()));
        if (!line.failure.empty()) fmt::print("    {}\n", line.failure);
    }
    std::fflush(stdout);
}

nlohmann::json json(const Interval& interval) {
    return {{"ratio", interval.middle}, {"low", interval.low}, {"high", interval.high}};
}

}  // namespace

CollCell measure_cell(const Plan& plan, std::vector<std::unique_ptr<Contestant>>& all, Operation operation,
                      std::uint32_t ranks, std::uint64_t bytes) {
    CollCell cell{coll::name(operation), ranks, bytes, {}, {}};
    Order order;
    order.operation = operation;
    order.bytes = bytes;
    std::vector<std::unique_ptr<Contestant>> some;  // those that run here
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] == nullptr || (crawls(all[i]->who(), ranks) && !crawling_size(bytes))) continue;
        if (all[i]->who() == Who::bare && reduces(operation)) continue;
        order.task = Task::check;
        if (!all[i]->ask(order)) {
            cell.failures[all[i]->who()] = all[i]->failure();
            all[i].reset();
            continue;
        }
        order.task = Task::time;
        if (crawls(all[i]->who(), ranks)) {
            if (const auto answer = all[i]->ask(order)) cell.seconds[all[i]->who()] = {answer->total};
            continue;
        }
        if (!plan.quick) {
            Order uncounted = order;
            uncounted.least = warm_up(bytes);
            static_cast<void>(all[i]->ask(uncounted));
        }
        some.push_back(std::move(all[i]));
        from.push_back(i);
    }
    order.task = Task::time;
    order.seconds = plan.quick ? 0.001 : 0.006;
    order.least = plan.quick ? 1 : 3;
    const auto answers = take_turns(some, order, plan.rounds);
    for (std::size_t i = 0; i < some.size(); ++i) {
        const Who who = some[i]->who();
        for (const coll::Answer& answer : answers[i]) cell.seconds[who].push_back(answer.total);
        if (some[i]->failure().empty()) {
            all[from[i]] = std::move(some[i]);
        } else {
            cell.failures[who] = some[i]->failure();
            cell.seconds.erase(who);
        }
    }
    return cell;
}

Interval CollCell::to(Who peer, Who who) const {
    const auto ours = seconds.find(who), theirs = seconds.find(peer);
    if (ours == seconds.end() || theirs == seconds.end()) return {};
    return ratio(ours->second, theirs->second);
}

bool CollResults::ok() const {
    return std::all_of(cells.begin(), cells.end(), [](const CollCell& cell) { return cell.failures.empty(); }) &&
           std::all_of(starts.begin(), starts.end(), [](const StartLine& line) { return line.failure.empty(); });
}

bool Plan::takes_operation(const std::string& name) const {
    if (quick && match.empty()) return name == "barrier" || name == "alltoallv" || name == "allreduce";
    const bool exact = std::find(coll::operations.begin(), coll::operations.end(), match) != coll::operations.end();
    return exact ? name == match : name.find(match) != std::string::npos;
}

CollResults measure_coll(const Plan& plan) {
    CollResults results;
    print_cells_header();
    for (const std::uint32_t ranks : plan.ranks_or({2, 4, 8})) {
        const bool crowded = sysconf(_SC_NPROCESSORS_ONLN) < static_cast<long>(ranks);
        auto contestants = gather(contenders(plan), ranks,
                                  crowded && !plan.bound ? Contestant::Placing::usual : Contestant::Placing::bound);
        for (std::size_t i = 0; i < coll::operations.size(); ++i) {
            const auto operation = static_cast<Operation>(i);
            if (!plan.takes_operation(coll::name(operation))) continue;
            const std::size_t first = results.cells.size();
            for (const std::uint64_t bytes : plan.bytes_or({8, 64, 512, 4096, 32768, 262144, 1048576, 4194304})) {
                const bool barrier = operation == Operation::barrier;
                results.cells.push_back(measure_cell(plan, contestants, operation, ranks, barrier ? 0 : bytes));
                print(results.cells.back());
                if (barrier) break;
            }
            judge(std::span(results.cells).subspan(first), results.promises);
        }
        for (const auto& contestant : contestants)
            if (contestant && contestant->who() != Who::shared && contestant->who() != Who::bare &&
                !crawls(contestant->who(), ranks))
                measure_starts(plan, ranks, *contestant, results.starts);
    }
    print(results.promises);
    print_beside_bare(results.cells);
    print(results.starts);
    return results;
}

std::string to_json(const CollResults& results) {
    nlohmann::json out = {
        {"cells", nlohmann::json::array()}, {"promises", nlohmann::json::array()}, {"starts", nlohmann::json::array()}};
    for (const CollCell& cell : results.cells) {
        nlohmann::json object = {{"operation", cell.operation}, {"ranks", cell.ranks}, {"bytes", cell.bytes}};
        for (const auto& [who, seconds] : cell.seconds) object["seconds"][to_string(who)] = seconds;
        for (const auto& [who, why] : cell.failures) object["failures"][to_string(who)] = why;
        for (const Who who : {Who::native, Who::shared, Who::preloaded, Who::mpich})
            object["to_openmpi"][to_string(who)] = json(cell.to_openmpi(who));
        out["cells"].push_back(std::move(object));
    }
    for (const CollPromise& promise : results.promises)
        out["promises"].push_back({{"who", to_string(promise.who)},
                                   {"operation", promise.operation},
                                   {"ranks", promise.ranks},
                                   {"mean", json(promise.mean)},
                                   {"promised", promise.bound},
                                   {"slow_sizes", promise.slow},
                                   {"met", promise.met()}});
    for (const StartLine& line : results.starts)
        out["starts"].push_back({{"who", to_string(line.who)},
                                 {"operation", line.operation},
                                 {"ranks", line.ranks},
                                 {"bytes", line.bytes},
                                 {"first", line.first},
                                 {"fresh", line.fresh},
                                 {"persistent", line.persistent},
                                 {"persistent_to_first", json(line.to_first())},
                                 {"persistent_to_fresh", json(line.to_fresh())},
                                 {"failure", line.failure}});
    return out.dump();
}

}  // namespace loom::bench
