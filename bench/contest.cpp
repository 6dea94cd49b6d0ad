#include "contest.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "loom/base/error.hpp"

namespace loom::bench {
namespace {

constexpr double patience = 30;  // seconds

peer::Command command_for(Who who, std::uint32_t ranks, Contestant::Placing placing, const std::string& board,
                          const test::TwoHosts* hosts, const std::filesystem::path& library) {
    peer::Command command;
    auto& words = command.arguments;
    const bool bound = placing == Contestant::Placing::bound;
    const std::string count = std::to_string(ranks);
    switch (who) {
        case Who::native:
        case Who::shared:
        case Who::bare:
            if (who == Who::shared) command.environment.emplace_back("LOOM_BENCH_MEMORY", "shared");
            words = {LOOM_PROGRAM, "run", "-n", count};
            if (bound) words.emplace_back("--bind");
            if (placing == Contestant::Placing::ordered) {
                words.emplace_back("--no-bind");
                command.environment.emplace_back("LOOM_WAITING", "yield");  // they share a core, which they cannot know
            }
            words.insert(words.end(), {who == Who::bare ? LOOM_COLL_BARE : LOOM_COLL_NATIVE, board});
            if (hosts != nullptr)
                words.insert(words.end(), {hosts->left.path(), test::TwoHosts::left_address, hosts->right.path(),
                                           test::TwoHosts::right_address});
            break;
        case Who::preloaded:
        case Who::openmpi:
        case Who::nbc:
        case Who::libnbc:
            words = {"mpirun.openmpi",
                     "--oversubscribe",
                     "-n",
                     count,
                     "--bind-to",
                     bound ? "core:overload-allowed" : "none"};
            if (geteuid() == 0) words.emplace_back("--allow-run-as-root");
            if (who == Who::preloaded || who == Who::nbc)
                words.insert(words.end(), {"-x", "LD_PRELOAD=" LOOM_MPI_OPENMPI});
            if (who == Who::libnbc) words.insert(words.end(), {"-x", "LOOM_BENCH_NBC=" + library.string()});
            words.insert(words.end(),
                         {who == Who::nbc || who == Who::libnbc ? LOOM_COLL_NBC : LOOM_COLL_OPENMPI, board});
            break;
        case Who::mpich:
            words = {"mpirun.mpich", "-n", count};
            if (bound) words.insert(words.end(), {"-bind-to", "core"});
            words.insert(words.end(), {LOOM_COLL_MPICH, board});
            break;
    }
    return command;
}

std::string last_line(const std::string& text) {
    const auto end = text.find_last_not_of("\n -");
    if (end == std::string::npos) return {};
    const auto begin = text.rfind('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin));
}

}  // namespace

const char* to_string(Who who) {
    switch (who) {
        case Who::native:
            return "native";
        case Who::shared:
            return "allocated";
        case Who::preloaded:
            return "libloom-mpi";
        case Who::openmpi:
            return "Open MPI";
        case Who::mpich:
            return "MPICH";
        case Who::bare:
            return "bare";
        case Who::nbc:
            return "nbc.h";
        case Who::libnbc:
            return "LibNBC";
    }
    return "";
}

Contestant::Contestant(Who who, std::uint32_t ranks, Placing placing, const test::TwoHosts* hosts,
                       const std::filesystem::path& library)
    : who_(who), ranks_(ranks), board_(folder_.path() / "board", coll::BoardFile::How::make) {
    peer::Command command = command_for(who, ranks, placing, folder_.path() / "board", hosts, library);
    command.directory = folder_.path();
    // Parameters as they are now, not as they were while others used the machine.
    command.environment.emplace_back("LOOM_CACHE", (folder_.path() / "cache").string());
    command.output = folder_.path() / "output";
    process_ = std::make_unique<peer::Background>(command);
    await_answers();
}

// All ranks are to have answered this order and those before it.
bool Contestant::await_answers() {
    const std::uint32_t wanted = ranks_ * (orders_ + 1);
    const auto limit = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
    for (;;) {
        const std::uint32_t answered = board_->answered.load(std::memory_order_acquire);
        if (answered == wanted) return true;
        if (board_->failed.load(std::memory_order_acquire) == 2)
            failure_ = board_->failure.data();
        else if (!process_->alive())
            failure_ = "ended: " + last_line(peer::content_or_empty(folder_.path() / "output.err"));
        else if (std::chrono::steady_clock::now() > limit)
            failure_ = fmt::format("no answer within {} s", patience);
        if (!failure_.empty()) {
            process_.reset();
            return false;
        }
        coll::await_change(board_->answered, answered, 0.25);
    }
}

std::optional<coll::Answer> Contestant::ask(const coll::Order& order) {
    if (!failure_.empty()) return {};
    board_->order = order;
    ++orders_;
    board_->ordered.fetch_add(1, std::memory_order_acq_rel);
    coll::wake_all(board_->ordered);
    if (!await_answers()) return {};
    return board_->answer;
}

std::vector<std::unique_ptr<Contestant>> gather(const std::vector<Who>& who, std::uint32_t ranks,
                                                Contestant::Placing placing, const std::filesystem::path& library) {
    std::vector<std::unique_ptr<Contestant>> out;
    for (const Who one : who) {
        auto contestant = std::make_unique<Contestant>(one, ranks, placing, nullptr, library);
        if (contestant->failure().empty())
            out.push_back(std::move(contestant));
        else
            fmt::print(stderr, "loom_bench: {} does not come up: {}\n", to_string(one), contestant->failure());
    }
    return out;
}

std::vector<std::vector<coll::Answer>> take_turns(std::vector<std::unique_ptr<Contestant>>& contestants,
                                                  const coll::Order& order, unsigned rounds) {
    std::vector<std::vector<coll::Answer>> answers(contestants.size());
    for (unsigned round = 0; round < rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
            const std::size_t i = (turn + round) % contestants.size();
            if (const auto answer = contestants[i]->ask(order)) answers[i].push_back(*answer);
        }
        if (std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(200)) rounds = std::min(rounds, 5u);
    }
    return answers;
}

}  // namespace loom::bench
