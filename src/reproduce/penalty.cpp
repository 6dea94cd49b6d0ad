// How many hops of the chain a rank waits for, when datagrams of the multicast broadcast are lost.
#include "reproduce/penalty.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "loom/base/error.hpp"
#include "loom/coll/world.hpp"
#include "loom/transport/launch.hpp"

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

class Pipe {
public:
    Pipe() {
        if (pipe(ends_.data()) != 0) throw IoError("cannot make a pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        for (const int end : ends_) ::close(end);
    }
    void write(std::span<const double> values) const {
        if (::write(ends_[1], values.data(), values.size_bytes()) != static_cast<ssize_t>(values.size_bytes()))
            throw IoError("cannot write to a pipe");
    }
    void read(std::span<double> values) const {
        if (::read(ends_[0], values.data(), values.size_bytes()) != static_cast<ssize_t>(values.size_bytes()))
            throw IoError("cannot read from a pipe");
    }

private:
    std::array<int, 2> ends_{-1, -1};
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

}  // namespace

std::vector<double> penalty_rounds(double lost, std::uint32_t ranks, std::uint32_t broadcasts) {
    const Variable faults("LOOM_VERBS_FAULT", "seed=5,datagrams=" + std::to_string(lost));
    const Variable soft("LOOM_HCA", "soft"), verbs("LOOM_TRANSPORT", "verbs");
    const Variable assumed("LOOM_COLL_PARAMETERS", "assumed");
    const Pipe pipe;
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(100);
    job.body = [&](Rank) {
        const auto world = coll::World::open();
        const std::vector<std::uint8_t> mine = Listener(*world).listen(broadcasts);
        std::vector<std::uint8_t> all(mine.size() * world->size());
        coll::Call gather;
        gather.what = coll::Collective::gather;
        gather.bytes = mine.size();
        world->communicator()
            .start(gather, {reinterpret_cast<const std::byte*>(mine.data()), reinterpret_cast<std::byte*>(all.data())})
            .wait();
        if (world->rank() == Rank{0}) {
            std::vector<double> mean(world->size());
            for (std::uint32_t i = 0; i < broadcasts; ++i) {
                double rounds = 0;  // the root has it
                for (std::uint32_t rank = 1; rank < world->size(); ++rank) {
                    rounds = all[rank * mine.size() + i] != 0 ? 0 : rounds + 1;
                    mean[rank] += rounds / broadcasts;
                }
            }
            pipe.write(mean);
        }
        world->close();
        return 0;
    };
    const transport::LaunchOutcome outcome = transport::launch(job);
    if (outcome.exit_code() != 0) throw Error("a rank of the multicast broadcast failed");
    std::vector<double> mean(ranks);
    pipe.read(mean);
    return mean;
}

}  // namespace loom::reproduce
