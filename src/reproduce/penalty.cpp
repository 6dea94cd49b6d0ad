// How many hops of the chain a rank waits for, when datagrams of the multicast broadcast are lost.
//
// Inside a host a hop of the chain may be quicker than a datagram, and who was first is no matter of losses. So every
// rank's end of the chain is held back until the datagrams have arrived that were not lost. A rank that has the message
// then, and has passed it on, has done so by the multicast alone, and those behind it do not wait for those before it.
#include "reproduce/penalty.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/ask.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/transport/held.hpp"
#include "loom/transport/open.hpp"

namespace loom::reproduce {

namespace {

// A variable for the ranks that are started meanwhile.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name), old_(settings::variable(name).value_or("")) {
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

// So often the first broadcasts may find nobody: a group forms when adapters have met.
constexpr int most_tries = 5'000;
// Looks at an adapter on which all that was sent has arrived.
constexpr int looks = 50;

class Listener {
public:
    Listener(coll::World& world, transport::HeldTransport& chain)
        : world_(world), chain_(chain), comm_(world.communicator()), other_(comm_.duplicate()) {}

    // Of each broadcast: whether this rank went on by the multicast.
    std::vector<std::uint8_t> listen(std::uint32_t broadcasts) {
        bool met = false;
        for (int tries = 0; !met && tries < most_tries; ++tries) {
            (void)broadcast();
            met = everybody(world_.fragments_heard() > 0 || comm_.rank() == Rank{0});
        }
        std::vector<std::uint8_t> went_on;
        for (std::uint32_t i = 0; i < broadcasts; ++i) went_on.push_back(broadcast() ? 1 : 0);
        return went_on;
    }

private:
    bool broadcast() {
        coll::Call call;
        call.what = coll::Collective::broadcast;
        call.bytes = 2;
        const coll::Choice multicast{"multicast", {}};
        const bool root = comm_.rank() == Rank{0}, last = comm_.rank().value + 1 == comm_.size();
        const std::byte number{static_cast<unsigned char>(count_++ % 255 + 1)};
        std::array<std::byte, 2> data{root ? number : std::byte{0}, std::byte{7}};
        const coll::Buffers buffers{nullptr, data.data()};
        coll::Request request;
        chain_.hold();
        if (!root) request = comm_.start(call, buffers, nullptr, &multicast);
        chain_.hold_no_more();
        barrier();  // all others have begun before the root sends
        if (root) request = comm_.start(call, buffers, nullptr, &multicast);
        barrier();
        for (int i = 0; i < looks; ++i) (void)world_.transport().progress();
        const bool went_on = data[0] == number && (last || chain_.passed_on() > 0);
        barrier();  // nobody's chain moves before all have looked
        chain_.let_go();
        request.wait();
        if (data[0] != number) throw Error("a multicast broadcast brought something else");
        return root || went_on;
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
    transport::HeldTransport& chain_;
    coll::Communicator comm_, other_;
    std::uint32_t count_ = 0;
};

// Of each rank, how many before it in the chain waited for it in a row, itself included; went_on[rank][broadcast].
std::vector<double> mean_rounds(std::span<const std::uint8_t> went_on, std::uint32_t broadcasts) {
    std::vector<double> mean(went_on.size() / broadcasts);
    for (std::uint32_t i = 0; i < broadcasts; ++i) {
        double rounds = 0;  // the root has it
        for (std::size_t rank = 1; rank < mean.size(); ++rank) {
            rounds = went_on[rank * broadcasts + i] != 0 ? 0 : rounds + 1;
            mean[rank] += rounds / broadcasts;
        }
    }
    return mean;
}

}  // namespace

std::vector<double> penalty_rounds(double lost, std::uint32_t ranks, std::uint32_t broadcasts) {
    const Variable faults("LOOM_VERBS_FAULT", "seed=5,datagrams=" + std::to_string(lost));
    const Variable soft("LOOM_HCA", "soft"), verbs("LOOM_TRANSPORT", "verbs");
    const Variable assumed("LOOM_COLL_PARAMETERS", "assumed"), manual("LOOM_PROGRESS", "manual");
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(100);
    const std::string said = transport::ask_ranks(job, [&](Rank) {
        const auto bootstrap = transport::find_bootstrap();
        const auto opened = transport::open_transport(*bootstrap);
        transport::HeldTransport chain(*opened);
        const auto world = std::make_unique<coll::World>(chain, bootstrap.get());
        const std::vector<std::uint8_t> mine = Listener(*world, chain).listen(broadcasts);
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
