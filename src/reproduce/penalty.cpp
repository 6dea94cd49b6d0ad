// How many hops of the chain a rank waits for, when datagrams of the multicast broadcast are lost.
#include "reproduce/penalty.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

#include "loom/base/error.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/ask.hpp"

namespace loom::reproduce {

namespace {

// A variable for the ranks that are started meanwhile.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* const old = std::getenv(name)) old_ = old;
        setenv(name, value.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() {
        if (old_.empty())
            unsetenv(name_);
        else
            setenv(name_, old_.c_str(), 1);
    }

private:
    const char* name_;
    std::string old_;
};

class Listener {
public:
    explicit Listener(coll::World& world) : world_(world), comm_(world.communicator()), other_(comm_.duplicate()) {}

    // Whether this rank heard the datagram of each broadcast.
    std::vector<std::uint8_t> listen(std::uint32_t broadcasts) {
        // A group forms when adapters have met: the first datagrams find nobody.
        for (bool met = false; !met;) {
            (void)broadcast();
            met = everybody(world_.fragments_heard() > 0 || comm_.rank() == Rank{0});
        }
        std::vector<std::uint8_t> heard;
        for (std::uint32_t i = 0; i < broadcasts; ++i) heard.push_back(broadcast() ? 1 : 0);
        return heard;
    }

private:
    // All but the root have begun before it sends, so that only what is lost on the way is missed.
    bool broadcast() {
        coll::Call call;
        call.what = coll::Collective::broadcast;
        call.bytes = 2;
        const coll::Choice multicast{"multicast", {}};
        const std::byte number{static_cast<unsigned char>(++count_)};
        std::array<std::byte, 2> data{comm_.rank() == Rank{0} ? number : std::byte{0}, std::byte{7}};
        const coll::Buffers buffers{nullptr, data.data()};
        const std::uint64_t before = world_.fragments_heard();
        if (comm_.rank() == Rank{0}) {
            barrier();
            comm_.start(call, buffers, nullptr, &multicast).wait();
        } else {
            coll::Request request = comm_.start(call, buffers, nullptr, &multicast);
            barrier();
            request.wait();
        }
        if (data[0] != number) throw Error("a multicast broadcast brought something else");
        // The chain may have been quicker than a datagram, which is on its way all the same.
        barrier();
        for (int looks = 0; looks < 50; ++looks) (void)world_.transport().progress();
        return world_.fragments_heard() > before;
    }
    void barrier() { other_.start(coll::Call{}, {}).wait(); }
    bool everybody(bool mine) {
        const std::uint8_t flag = mine ? 1 : 0;
        std::vector<std::uint8_t> all(other_.size());
        coll::Call call;
        call.what = coll::Collective::allgather;
        call.bytes = 1;
        other_.start(call, {reinterpret_cast<const std::byte*>(&flag), reinterpret_cast<std::byte*>(all.data())})
            .wait();
        return std::all_of(all.begin(), all.end(), [](std::uint8_t each) { return each != 0; });
    }

    coll::World& world_;
    coll::Communicator comm_, other_;
    std::uint32_t count_ = 0;
};

// Of each rank, how many before it in the chain missed the datagram in a row, itself included; heard[rank][broadcast].
std::vector<double> mean_rounds(std::span<const std::uint8_t> heard, std::uint32_t broadcasts) {
    std::vector<double> mean(heard.size() / broadcasts);
    for (std::uint32_t i = 0; i < broadcasts; ++i) {
        double rounds = 0;  // the root has it
        for (std::size_t rank = 1; rank < mean.size(); ++rank) {
            rounds = heard[rank * broadcasts + i] != 0 ? 0 : rounds + 1;
            mean[rank] += rounds / broadcasts;
        }
    }
    return mean;
}

}  // namespace

std::vector<double> penalty_rounds(double lost, std::uint32_t ranks, std::uint32_t broadcasts) {
    const Variable faults("LOOM_VERBS_FAULT", "seed=5,datagrams=" + std::to_string(lost));
    const Variable soft("LOOM_HCA", "soft"), verbs("LOOM_TRANSPORT", "verbs");
    const Variable assumed("LOOM_COLL_PARAMETERS", "assumed");
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(100);
    const std::string said = transport::ask_ranks(job, [&](Rank) {
        const auto world = coll::World::open();
        const std::vector<std::uint8_t> mine = Listener(*world).listen(broadcasts);
        std::vector<std::uint8_t> all(mine.size() * world->size());
        coll::Call gather;
        gather.what = coll::Collective::gather;
        gather.bytes = mine.size();
        world->communicator()
            .start(gather, {reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(all.data())})
            .wait();
        const std::vector<double> mean =
            world->rank() == Rank{0} ? mean_rounds(all, broadcasts) : std::vector<double>{};
        world->close();
        return std::string(reinterpret_cast<const char*>(mean.data()), mean.size() * sizeof(double));
    });
    std::vector<double> mean(ranks);
    if (said.size() != mean.size() * sizeof(double))
        throw Error("the ranks of the multicast broadcast said too little");
    std::memcpy(mean.data(), said.data(), said.size());
    return mean;
}

}  // namespace loom::reproduce
