// Random collectives by seed on a living world, ten in flight at once, each compared with the reference.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loom/base/random.hpp"
#include "loom/coll/world.hpp"
#include "reference/collective_cases.hpp"

namespace loom::coll {

struct Workout {
    std::uint64_t seed = 1;
    std::uint32_t cases = 100;
    std::uint32_t in_flight = 10;
    std::uint64_t largest = std::uint64_t{2} << 20;  // bytes of a message, about
};

namespace workout {

// One operation: everybody draws all of it from the same seed and keeps its own part.
class Trial {
public:
    Trial(World& world, const Communicator& base, std::uint64_t seed, const Workout& how, std::uint32_t context)
        : seed_(seed), random_(seed) {
        const auto what = static_cast<Collective>(random_.below(static_cast<std::uint32_t>(collectives)));
        const std::uint32_t ranks = base.size();
        reference::CaseOptions options;
        options.most = std::max<std::uint64_t>(1, largest(what, ranks, how.largest));
        case_ = reference::random_case(seed, what, ranks, options);
        comm_ = base;
        if (!case_->neighbours.empty()) comm_ = with_topology(world, base, context);
        mine_ = case_->before[me()];
        expected_ = reference::run_collective(case_->group, case_->calls, case_->before, &case_->op)[me()];
        choose();
    }

    void start() {
        const Choice choice{algorithm_, tuning_};
        const Choice* chosen = algorithm_.empty() ? nullptr : &choice;
        // Kept operations run a few times over; all but the last on data that does not count.
        if (random_.below(4) == 0) {
            kept_ = comm_->prepare(call(), buffers(), &case_->op, chosen);
            rounds_ = 1 + random_.below(3);
            kept_->start();
        } else {
            request_ = comm_->start(call(), buffers(), &case_->op, chosen);
        }
    }

    // One look. True when it is all over.
    bool test() {
        if (!kept_) return request_.test();
        if (!kept_->test()) return false;
        return !again();
    }

    // Blocks, unless it is one that starts again: others might wait for that while we wait for another.
    [[nodiscard]] bool finish() {
        if (kept_) return test();
        request_.wait();
        return true;
    }

    // What is wrong; empty when nothing is.
    [[nodiscard]] std::string trouble() const {
        const reference::RankData& before = case_->before[me()];
        if (mine_.input != before.input) return describe() + ": the input was changed";
        for (std::size_t i = 0; i < expected_.defined; ++i)
            if (mine_.output[i] != expected_.output[i])
                return describe() + ": byte " + std::to_string(i) + " of " + std::to_string(mine_.output.size()) +
                       " of rank " + std::to_string(me()) + "'s output is wrong";
        return {};
    }

private:
    [[nodiscard]] std::uint32_t me() const { return comm_->rank().value; }
    [[nodiscard]] const Call& call() const { return case_->calls[me()]; }
    [[nodiscard]] Buffers buffers() { return {mine_.input.data(), mine_.output.data()}; }

    static std::uint64_t largest(Collective what, std::uint32_t ranks, std::uint64_t most) {
        const bool whole = what == Collective::broadcast || what == Collective::reduce ||
                           what == Collective::allreduce || what == Collective::scan || what == Collective::exscan;
        return whole ? most : most / ranks;
    }

    Communicator with_topology(World& world, const Communicator& base, std::uint32_t context) {
        if (case_->group.grid != nullptr && random_.below(2) == 0)
            return base.cartesian(case_->grid.dims, case_->grid.periodic);
        if (case_->group.grid == nullptr && random_.below(2) == 0)
            return base.graph(case_->neighbours[base.rank().value]);
        std::vector<Rank> members;
        for (std::uint32_t rank = 0; rank < base.size(); ++rank) members.push_back(base.world_rank(Rank{rank}));
        return Communicator::with_context(
            world, members, context, case_->neighbours,
            case_->group.grid != nullptr ? std::optional<Grid>(case_->grid) : std::nullopt);
    }

    void choose() {
        if (random_.below(2) == 0) return;
        std::vector<const Algorithm*> fitting;
        for (const Algorithm& algorithm : algorithms(call().what))
            if (algorithm.fits(comm_->group(), call())) fitting.push_back(&algorithm);
        const Algorithm& chosen = *fitting[random_.below(static_cast<std::uint32_t>(fitting.size()))];
        algorithm_ = chosen.name;
        if (chosen.segments && random_.below(2) == 0) tuning_.segment = 64u << random_.below(10);
        if (chosen.ways && random_.below(2) == 0) tuning_.ways = 2 + random_.below(4);
    }

    [[nodiscard]] bool again() {
        if (--rounds_ == 0) return false;
        mine_ = case_->before[me()];  // the same storage: the buffers stay where they are
        kept_->start();
        return true;
    }

    [[nodiscard]] std::string describe() const {
        return "seed " + std::to_string(seed_) + ": " + std::string(to_string(call().what)) + " by " +
               (algorithm_.empty() ? "choice" : algorithm_) + ":" + std::to_string(tuning_.segment) + ":" +
               std::to_string(tuning_.ways) + (call().in_place ? " in place" : "") +
               (call().commutative ? "" : " ordered") + (kept_ ? " persistent" : "") + " on " +
               std::to_string(comm_->size()) + " ranks, " + std::to_string(call().bytes) + " bytes";
    }

    std::uint64_t seed_;
    Random random_;  // the same numbers on every rank
    std::unique_ptr<reference::CollectiveCase> case_;
    std::optional<Communicator> comm_;
    reference::RankData mine_;
    reference::Outcome expected_;
    std::string algorithm_;
    Tuning tuning_;
    Request request_;
    std::optional<Persistent> kept_;
    std::uint32_t rounds_ = 1;
};

// Most messages are small, as in life; a few are large.
inline std::uint64_t draw_size(Random& random, std::uint64_t largest) {
    const std::uint32_t kind = random.below(100);
    if (kind < 60) return 300;
    if (kind < 85) return std::min<std::uint64_t>(largest, 20'000);
    if (kind < 97) return std::min<std::uint64_t>(largest, 150'000);
    return largest;
}

}  // namespace workout

// Collective: every rank of the world calls it with the same options. What was wrong at this rank, by line.
inline std::vector<std::string> work_out(World& world, const Workout& how) {
    std::vector<std::string> troubles;
    const Communicator all = world.communicator();
    const std::uint32_t me = world.rank().value, ranks = world.size();
    // Everyone; everyone again; halves, whose ranks run backwards.
    const Communicator twin = all.duplicate();
    const Communicator half = all.split(me % 2, ranks - me).value();
    Random common(how.seed);
    Random own = random_stream(how.seed, me);  // in which order this rank looks after its requests

    for (std::uint32_t done = 0; done < how.cases;) {
        const std::uint32_t batch = std::min(how.in_flight, how.cases - done);
        std::vector<std::unique_ptr<workout::Trial>> trials;
        for (std::uint32_t i = 0; i < batch; ++i, ++done) {
            const std::uint64_t seed = common();
            Workout one = how;
            one.largest = workout::draw_size(common, how.largest);
            const std::uint32_t where = common.below(4);
            const Communicator& comm = where == 0 ? twin : where == 1 ? half : all;
            trials.push_back(std::make_unique<workout::Trial>(world, comm, seed, one, 0x80000 + done % 0x10000));
        }
        for (const auto& trial : trials) trial->start();
        own.shuffle(std::span(trials));
        for (std::uint32_t looks = own.below(20); !trials.empty(); looks -= looks > 0 ? 1 : 0) {
            const std::size_t before = trials.size();
            std::erase_if(trials, [&](const auto& trial) {
                if (!(looks > 0 ? trial->test() : trial->finish())) return false;
                if (std::string trouble = trial->trouble(); !trouble.empty()) troubles.push_back(trouble);
                return true;
            });
            if (trials.size() == before) transport::pause(world.transport().waiting());
        }
    }
    return troubles;
}

}  // namespace loom::coll
