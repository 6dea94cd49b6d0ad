// Ranks in virtual time over the simplest network there is: a transport that charges local work, a clock, and a slow,
// obvious player of whole schedules that takes the same events.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "loom/base/clock.hpp"
#include "loom/coll/algorithm.hpp"
#include "loom/transport/transport.hpp"

namespace loom::virtual_time {

struct Costs {
    Time send = nanoseconds(300), latency = nanoseconds(2500);
    std::int64_t sent_byte = 90, copied_byte = 40, reduced_byte = 70;  // picoseconds
};

// What happens when. A send keeps its rank's core busy, then its message is under way; local work keeps the core busy.
class Fabric {
public:
    using Then = std::function<void()>;

    Fabric(std::uint32_t ranks, Costs costs) : costs_(costs), core_free_(ranks) {}

    [[nodiscard]] Time now() const { return now_; }
    void send(Rank from, std::uint64_t bytes, Then sent, Then arrived) {
        const Time begin = std::max(now_, core_free_[from.value]);
        const Time end = core_free_[from.value] = begin + costs_.send;
        at(end, std::move(sent));
        at(end + costs_.latency + Time{costs_.sent_byte * static_cast<std::int64_t>(bytes)}, std::move(arrived));
    }
    [[nodiscard]] bool work(Rank rank, Time duration, Then over) {
        Time& free = core_free_[rank.value];
        free = std::max(free, now_) + duration;
        if (free == now_) return true;
        at(free, std::move(over));
        return false;
    }
    void at(Time when, Then then) { events_.emplace(std::tuple(when, number_++), std::move(then)); }
    // The next event; false: there is none.
    bool play() {
        if (events_.empty()) return false;
        auto first = events_.extract(events_.begin());
        now_ = std::get<0>(first.key());
        first.mapped()();
        return true;
    }
    [[nodiscard]] Time cost(transport::LocalWork kind, std::uint64_t amount) const {
        const auto count = static_cast<std::int64_t>(amount);
        if (kind == transport::LocalWork::compute) return Time{count};
        return Time{count * (kind == transport::LocalWork::copy ? costs_.copied_byte : costs_.reduced_byte)};
    }

private:
    Costs costs_;
    Time now_;
    std::uint64_t number_ = 0;
    std::vector<Time> core_free_;
    std::map<std::tuple<Time, std::uint64_t>, Then> events_;
};

// When each rank of a schedule ends: a list of what may begin, first in, first out, as sim's executor has it.
class Player {
public:
    Player(const traffic::Schedule& schedule, Costs costs)
        : schedule_(schedule),
          fabric_(static_cast<std::uint32_t>(schedule.ranks()), costs),
          waits_(schedule.size()),
          ends_(schedule.ranks()) {
        for (traffic::OpIndex op = 0; op < schedule.size(); ++op) waits_[op] = schedule.waits_for(op);
        for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) {
            std::deque<traffic::OpIndex> ready;
            const traffic::OpIndex first = schedule.first(Rank{rank});
            for (std::size_t i = 0; i < schedule.ops(Rank{rank}).size(); ++i)
                if (schedule.waits_for(static_cast<traffic::OpIndex>(first + i)) == 0)
                    ready.push_back(static_cast<traffic::OpIndex>(first + i));
            drain(Rank{rank}, ready);
        }
        while (fabric_.play()) {
        }
    }
    [[nodiscard]] const std::vector<Time>& ends() const { return ends_; }

private:
    using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // from, to, tag

    void drain(Rank rank, std::deque<traffic::OpIndex>& ready) {
        for (; !ready.empty(); ready.pop_front()) begin(rank, ready.front(), ready);
    }
    void done(Rank rank, traffic::OpIndex op) {
        std::deque<traffic::OpIndex> ready;
        complete(rank, op, ready);
        drain(rank, ready);
    }
    void complete(Rank rank, traffic::OpIndex op, std::deque<traffic::OpIndex>& ready) {
        ends_[rank.value] = fabric_.now();
        for (const traffic::Successor& next : schedule_.successors(op))
            if (--waits_[next.op] == 0) ready.push_back(next.op);
    }
    void begin(Rank rank, traffic::OpIndex index, std::deque<traffic::OpIndex>& ready) {
        const traffic::Op& op = schedule_.op(index);
        if (op.kind == traffic::OpKind::send) {
            const Channel channel{rank.value, op.peer.value, op.tag};
            fabric_.send(
                rank, op.amount, [=, this] { done(rank, index); },
                [=, this, to = op.peer] {
                    std::deque<traffic::OpIndex>& posted = posted_[channel];
                    if (posted.empty()) return void(++early_[channel]);
                    const traffic::OpIndex receive = posted.front();
                    posted.pop_front();
                    done(to, receive);
                });
        } else if (op.kind == traffic::OpKind::receive) {
            const Channel channel{op.peer.value, rank.value, op.tag};
            if (early_[channel] == 0) return posted_[channel].push_back(index);
            --early_[channel];
            complete(rank, index, ready);
        } else {
            const auto kind = op.kind == traffic::OpKind::copy     ? transport::LocalWork::copy
                              : op.kind == traffic::OpKind::reduce ? transport::LocalWork::reduce
                                                                   : transport::LocalWork::compute;
            if (fabric_.work(rank, fabric_.cost(kind, op.amount), [=, this] { done(rank, index); }))
                complete(rank, index, ready);
        }
    }

    const traffic::Schedule& schedule_;
    Fabric fabric_;
    std::vector<std::uint32_t> waits_;
    std::vector<Time> ends_;
    std::map<Channel, std::deque<traffic::OpIndex>> posted_;
    std::map<Channel, std::uint32_t> early_;
};

// Ranks are threads of which one runs at a time. When it rests the next event is played, and whose that is runs on.
class Job {
public:
    explicit Job(std::vector<std::uint32_t> hosts, Costs costs = {}, std::optional<std::string> parameters = {})
        : fabric(static_cast<std::uint32_t>(hosts.size()), costs),
          hosts_(std::move(hosts)),
          parameters_(std::move(parameters)),
          gone_(hosts_.size()) {
        for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) endpoints_.emplace_back(*this, Rank{rank});
    }

    class Endpoint;
    // Every rank on a thread of its own, whose clock is the fabric's. A rank that throws is lost to the others; the
    // first exception is thrown again when all have ended.
    void run(const std::function<void(Endpoint&)>& body) {
        for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) runnable_.push_back(rank);
        {
            std::vector<std::jthread> threads;
            for (Endpoint& each : endpoints_) threads.emplace_back([&] { each.live(body); });
            std::unique_lock lock(mutex_);
            next(lock);
        }
        if (first_) std::rethrow_exception(first_);
    }

    class Endpoint final : public transport::Transport, public Clock {
    public:
        Endpoint(Job& job, Rank me) : job_(job), me_(me) {}

        std::uint64_t rests = 0;

        std::string_view name() const override { return "virtual"; }
        std::string description() const override { return "the simplest network"; }
        Rank rank() const override { return me_; }
        std::uint32_t size() const override { return static_cast<std::uint32_t>(job_.hosts_.size()); }
        std::span<const std::uint32_t> hosts() const override { return job_.hosts_; }
        transport::Waiting waiting() const override { return transport::Waiting::block; }
        std::optional<std::string> parameters_text() const override { return job_.parameters_; }
        bool likes_huge_pages() const override { return true; }

        bool send(Rank to, transport::Tag tag, std::span<const std::byte> data, transport::Message& message) override {
            ++job_.sends;
            start(message);
            job_.fabric.send(
                me_, data.size(), [this, &message] { post([&message] { end(message); }); },
                [this, to, tag, bytes = std::vector<std::byte>(data.begin(), data.end())] {
                    Endpoint& target = job_.endpoints_[to.value];
                    target.post([&target, from = me_, tag, bytes] { target.arrived(from, tag, bytes); });
                });
            return false;
        }
        bool receive(Rank from, transport::Tag tag, std::span<std::byte> into, transport::Message& message) override {
            start(message);
            auto& early = early_[{from.value, tag.value}];
            if (early.empty()) {
                posted_[{from.value, tag.value}].push_back({into, &message});
                return false;
            }
            fill(into, early.front(), message);
            early.pop_front();
            return true;
        }
        bool charges_work() const override { return true; }
        bool work(transport::LocalWork kind, std::uint64_t amount, transport::Message& message) override {
            ++job_.works;
            start(message);
            return job_.fabric.work(me_, job_.fabric.cost(kind, amount),
                                    [this, &message] { post([&message] { end(message); }); });
        }
        bool progress() override {
            const bool any = !inbox_.empty();
            for (; !inbox_.empty(); inbox_.pop_front()) inbox_.front()();
            return any;
        }
        void rest() override {
            ++rests;
            const std::uint32_t losses = job_.losses_;
            wait([&] { return !inbox_.empty() || job_.losses_ != losses; });
        }
        std::optional<Rank> lost() const override { return job_.lost_; }
        bool is_lost(Rank who) const override { return job_.gone_[who.value]; }

        Time now() override { return job_.fabric.now(); }
        void sleep_until(Time time) override {
            bool over = time <= now();
            if (!over) job_.fabric.at(time, [&, this] { over = wake(); });
            wait([&] { return over; });
        }
        void compute(Time duration) override {
            bool over = false;
            over = job_.fabric.work(me_, duration, [&, this] { over = wake(); }) || over;
            wait([&] { return over; });
        }

        std::span<std::byte> allocate(std::size_t bytes) override {
            return allocated_.emplace_back(std::max<std::size_t>(bytes, 1));
        }
        void release(std::span<std::byte> memory) override {
            std::erase_if(allocated_, [&](const auto& each) { return each.data() == memory.data(); });
        }
        // Nobody has asked for these.
        void set_events(bool) override { throw Error("events"); }
        void sleep(std::chrono::microseconds) override { throw Error("sleep"); }
        void interrupt() override { throw Error("interrupt"); }
        transport::RemoteMemory expose(std::span<std::byte>) override { return {}; }
        void unexpose(const transport::RemoteMemory&) override {}
        bool put(Rank, const transport::RemoteMemory&, std::uint64_t, std::span<const std::byte>,
                 transport::Message&) override {
            return true;
        }
        bool put_notify(Rank, const transport::RemoteMemory&, std::uint64_t, std::span<const std::byte>, std::uint64_t,
                        transport::Message&) override {
            return true;
        }
        bool get(Rank, const transport::RemoteMemory&, std::uint64_t, std::span<std::byte>,
                 transport::Message&) override {
            return true;
        }
        bool atomic(Rank, const transport::RemoteMemory&, std::uint64_t, const transport::Atomic&, std::uint64_t&,
                    transport::Message&) override {
            return true;
        }
        std::optional<transport::Notification> next_notification() override { return {}; }

    private:
        friend class Job;
        struct Posted {
            std::span<std::byte> into;
            transport::Message* message;
        };
        using Key = std::pair<std::uint32_t, std::uint64_t>;

        static void start(transport::Message& message) { message.outcome = transport::Message::Outcome::pending; }
        static void end(transport::Message& message) {
            message.outcome = transport::Message::Outcome::done;
            message.finished(message);
        }
        static void fill(std::span<std::byte> into, const std::vector<std::byte>& bytes, transport::Message& message) {
            const bool fits = into.size() == bytes.size();
            if (fits) std::copy(bytes.begin(), bytes.end(), into.begin());
            message.outcome = fits ? transport::Message::Outcome::done : transport::Message::Outcome::mismatched;
        }
        void arrived(Rank from, transport::Tag tag, const std::vector<std::byte>& bytes) {
            auto& posted = posted_[{from.value, tag.value}];
            if (posted.empty()) return early_[{from.value, tag.value}].push_back(bytes);
            const Posted first = posted.front();
            posted.pop_front();
            fill(first.into, bytes, *first.message);
            first.message->finished(*first.message);
        }
        void post(std::function<void()> what) {
            inbox_.push_back(std::move(what));
            wake();
        }
        bool wake() {
            job_.runnable_.push_back(me_.value);
            return true;
        }
        template <class Done>
        void wait(Done&& done) {
            std::unique_lock lock(job_.mutex_);
            while (!done()) {
                job_.next(lock);
                job_.turn_changed_.wait(lock, [&] { return job_.turn_ == me_.value || job_.stuck_; });
                if (job_.stuck_ && !done()) throw Error("nothing moves any more");
            }
        }
        void live(const std::function<void(Endpoint&)>& body) {
            {
                std::unique_lock lock(job_.mutex_);
                job_.turn_changed_.wait(lock, [&] { return job_.turn_ == me_.value; });
            }
            swap_clock(this);
            try {
                body(*this);
            } catch (...) {
                job_.lose(me_, std::current_exception());
            }
            swap_clock(nullptr);
            std::unique_lock lock(job_.mutex_);
            ended_ = true;
            job_.next(lock);
        }

        Job& job_;
        Rank me_;
        bool ended_ = false;
        std::deque<std::function<void()>> inbox_;
        std::map<Key, std::deque<Posted>> posted_;
        std::map<Key, std::deque<std::vector<std::byte>>> early_;
        std::deque<std::vector<std::byte>> allocated_;
    };

    Fabric fabric;
    std::uint64_t sends = 0, works = 0;

private:
    // The turn goes to whoever can run, after as many events as that takes.
    void next(std::unique_lock<std::mutex>&) {
        const auto all_ended = [&] {
            return std::all_of(endpoints_.begin(), endpoints_.end(), [](const Endpoint& each) { return each.ended_; });
        };
        while (true) {
            while (runnable_.empty() && !all_ended() && !stuck_)
                if (!fabric.play()) stuck_ = true;
            if (runnable_.empty()) break;
            turn_ = runnable_.front();
            runnable_.pop_front();
            if (!endpoints_[*turn_].ended_) break;
        }
        turn_changed_.notify_all();
    }
    void lose(Rank rank, std::exception_ptr why) {
        if (!first_) first_ = std::move(why);
        if (!lost_) lost_ = rank;
        gone_[rank.value] = true;
        ++losses_;
        for (std::uint32_t each = 0; each < hosts_.size(); ++each) runnable_.push_back(each);
    }

    std::vector<std::uint32_t> hosts_;
    std::optional<std::string> parameters_;
    std::deque<Endpoint> endpoints_;
    std::mutex mutex_;
    std::condition_variable turn_changed_;
    std::optional<std::uint32_t> turn_;
    std::deque<std::uint32_t> runnable_;
    bool stuck_ = false;
    std::vector<bool> gone_;
    std::optional<Rank> lost_;
    std::uint32_t losses_ = 0;
    std::exception_ptr first_;
};

}  // namespace loom::virtual_time
