#include "twin/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "loom/base/error.hpp"
#include "twin/background.hpp"

namespace loom::twin {

namespace {

std::uint32_t count_of_ranks(const Options& options) {
    const std::size_t placed = options.network.placement.hosts.size();
    if (options.level == sim::Level::message) {
        if (options.ranks == 0 && options.hosts.empty()) throw UsageError("a job needs at least one rank");
        const auto ranks = options.ranks != 0 ? options.ranks : static_cast<std::uint32_t>(options.hosts.size());
        if (!options.hosts.empty() && options.hosts.size() != ranks)
            throw UsageError(fmt::format("{} ranks, but hosts for {}", ranks, options.hosts.size()));
        return ranks;
    }
    if (placed == 0) throw UsageError("the packet and the flow level need a fabric with ranks placed on it");
    if (options.ranks != 0 && options.ranks != placed)
        throw UsageError(fmt::format("{} ranks, but {} are placed", options.ranks, placed));
    return static_cast<std::uint32_t>(placed);
}

}  // namespace

Job::Job(const Options& options, Body body) : options_(options), body_(std::move(body)) {
    const std::uint32_t ranks = count_of_ranks(options_);
    if (options_.look <= Time{}) throw UsageError("a look that finds nothing must take time, or loops never end");
    if (options_.loss_news <= Time{}) throw UsageError("news of a loss must take time");
    lost_.resize(ranks);
    hosts_.resize(ranks);
    find_hosts();
    slowness_ = factors_of_ranks(options_.computing, options_.simulation.seed, ranks);
    parameters_ = parameters_text(options_);
    endpoints_.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        endpoints_.push_back(std::make_unique<Endpoint>(*this, Rank{rank}, [this, rank] {
            Endpoint& mine = *endpoints_[rank];
            try {
                body_(mine);
            } catch (const Stopped&) {
            } catch (...) {
                lose(Rank{rank}, mine.time(), std::current_exception());
            }
        }));
    }
    Faults::prepare(options_, ranks);
    simulation_ = options_.background.empty()
                      ? sim::make_live_simulation(options_.level, options_.network, ranks, *this, options_.simulation)
                      : make_simulation_with(options_.background, options_.level, options_.network, ranks, *this,
                                             options_.simulation);
    recorder_.emplace(*simulation_, options_.record.value_or(sim::RecordOptions{.sample = Time{}}));
    faults_.emplace(options_, *simulation_, [this](Rank rank) { return endpoint(rank).ended(); });
    next_news_ = options_.loss_news;
}

Job::~Job() {
    stop_all();
}

// By host, numbered in the order of first appearance.
void Job::find_hosts() {
    if (options_.level == sim::Level::message && options_.hosts.empty()) {
        for (std::uint32_t rank = 0; rank < hosts_.size(); ++rank) hosts_[rank] = rank;
        return;
    }
    std::map<std::uint32_t, std::uint32_t> numbers;
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank) {
        const std::uint32_t host =
            options_.level == sim::Level::message ? options_.hosts[rank] : options_.network.placement.hosts[rank].value;
        hosts_[rank] = numbers.try_emplace(host, static_cast<std::uint32_t>(numbers.size())).first->second;
    }
}

void Job::lose(Rank rank, Time when, std::exception_ptr why) {
    const std::lock_guard lock(mutex_);
    new_losses_.push_back({when, rank, std::move(why)});
}

// Between two steps of the simulation: true when there was news. Nothing of the ranks' happens before they hear of it.
bool Job::spread_losses() {
    if (new_losses_.empty()) return false;
    std::sort(new_losses_.begin(), new_losses_.end(),
              [](const Loss& a, const Loss& b) { return a.when != b.when ? a.when < b.when : a.rank < b.rank; });
    for (Loss& loss : new_losses_) {
        lost_[loss.rank.value] = 1;
        if (!first_lost_) first_lost_ = loss.rank;
        losses_.push_back(std::move(loss));
    }
    new_losses_.clear();
    const Time when = std::max(simulation_->now(), next_news_);
    for (const auto& each : endpoints_)
        if (!each->ended()) simulation_->wake(each->rank(), when, Endpoint::news_of_losses);
    recorder_->resume();
    return true;
}

std::string_view Job::first_lost_why() const {
    return losses_.empty() || losses_.front().why ? "it ended with an exception" : "a fault took it";
}

void Job::stop_all() {
    for (const auto& each : endpoints_) each->stop();
}

std::size_t Job::events_of_each() const {
    return std::max<std::size_t>(1, options_.timeline_events / lost_.size());
}

Timeline Job::timeline(Time end) {
    Timeline result;
    result.end = end;
    result.hosts = hosts_;
    result.ranks.resize(endpoints_.size());
    for (std::size_t rank = 0; rank < endpoints_.size(); ++rank) {
        endpoints_[rank]->events()->move_to(result, result.ranks[rank]);
        if (hosts_[rank] != result.host_names.size()) continue;
        if (options_.level == sim::Level::message) {
            result.host_names.push_back(fmt::format("host {}", hosts_[rank]));
            continue;
        }
        const fabric::Fabric& fabric = options_.network.graph->fabric();
        const PortIndex port = options_.network.placement.hosts[rank];
        result.host_names.push_back(describe(fabric, fabric.port(port).node));
    }
    return result;
}

// In steps that take some milliseconds of the machine's time each where somebody wants to hear of it.
sim::State Job::advance_and_tell(Time until) {
    using std::chrono::steady_clock;
    constexpr std::chrono::milliseconds short_step{10}, long_step{50};
    if (!options_.progress) return recorder_->advance(until);
    if (told_ == steady_clock::time_point{}) told_ = steady_clock::now();
    sim::State state = sim::State::running;
    while (state == sim::State::running && simulation_->now() < until) {
        const auto begin = steady_clock::now();
        state = recorder_->advance(std::min(until, simulation_->now() + step_));
        const auto end = steady_clock::now();
        if (end - begin < short_step && step_ < options_.loss_news) step_ = step_ * 2;
        if (end - begin > long_step && step_ > nanoseconds(1)) step_ = Time{step_.ps / 2};
        if (end - told_ < options_.progress_interval) continue;
        told_ = end;
        tell_progress();
    }
    return state;
}

void Job::tell_progress() {
    Progress progress{.reached = simulation_->now()};
    for (const auto& each : endpoints_) {
        progress.ended += each->ended();
        progress.messages += each->counts().messages;
        progress.bytes += each->counts().bytes;
    }
    options_.progress(progress);
}

// Where nothing happens any more.
void Job::pass_time(Time until) {
    const auto waiting =
        std::find_if(endpoints_.begin(), endpoints_.end(), [](const auto& each) { return !each->ended(); });
    simulation_->wake((*waiting)->rank(), until, Endpoint::nothing);
    recorder_->resume();
}

sim::State Job::advance(Time until) {
    while (true) {
        const Time stop = std::min({until, next_news_, faults_->next()});
        const sim::State state = advance_and_tell(stop);
        const bool ended = state != sim::State::running;
        const Time now = std::max(simulation_->now(), stop);
        // What nothing moves any more a fault may, when others hear of it.
        const bool waits =
            ended && state != sim::State::finished && faults_->next() != never && faults_->next() <= until;
        if (waits && simulation_->now() < faults_->next()) {
            pass_time(faults_->next());
            continue;
        }
        if (waits || (!ended && faults_->next() <= now)) {
            faults_->play(now);
            recorder_->resume();
            continue;
        }
        if ((ended || next_news_ <= now) && spread_losses()) continue;
        if (ended) return state;
        if (next_news_ <= now) next_news_ = Time{(now.ps / options_.loss_news.ps + 1) * options_.loss_news.ps};
        if (now >= until) return state;
    }
}

namespace {

// For who controls the job: reading costs no time, sleeping plays.
class Controlled final : public fabric::CounterSource, public fabric::Clock {
public:
    Controlled(Job& job, std::optional<Time> until) : job_(job), until_(until) {}
    void read(std::span<const PortIndex> ports, std::span<fabric::PortCounters> counters) override {
        for (std::size_t i = 0; i < ports.size(); ++i) counters[i] = job_.simulation().counters(ports[i]);
    }
    [[nodiscard]] Time now() override { return job_.simulation().now(); }
    bool sleep_until(Time time) override {
        if (job_.advance(until_ ? std::min(time, *until_) : time) != sim::State::running) return false;
        return !until_ || now() < *until_;
    }

private:
    Job& job_;
    std::optional<Time> until_;
};

}  // namespace

void Job::control() {
    fabric::CongestionParameters* const parameters = simulation_->congestion_parameters();
    if (options_.control && parameters != nullptr) {
        (void)advance(options_.control_from);
        Controlled controlled(*this, options_.until);
        options_.control(controlled, *parameters, controlled);
    }
}

Result Job::play() {
    control();
    Result result;
    result.state = advance(std::min(options_.until.value_or(never), options_.give_up));
    result.work = simulation_->work();
    result.events = faults_->events();
    result.computing = to_string(options_.computing);
    for (const auto& each : endpoints_)
        if (const Disturbance* const disturbance = each->disturbance())
            result.order = result.order * 0x9e3779b97f4a7c15u + disturbance->order();
    if (options_.record) result.recording = recorder_->recording();
    const bool finished = result.state == sim::State::finished;
    if (!finished) result.trouble = trouble();
    if (result.state == sim::State::running)
        result.trouble.insert(result.trouble.begin(), "not at an end after " + to_string(simulation_->now()));
    if (finished) result.finish = Time{};
    const Time now = simulation_->now();
    for (const auto& each : endpoints_) {
        result.ranks.push_back(each->times(now));
        const RankTimes& times = result.ranks.back();
        if (finished && !times.killed) result.finish = std::max(result.finish, times.end);
    }
    if (options_.timeline_events != 0) result.timeline = timeline(result.finish == never ? now : result.finish);
    stop_all();
    return result;
}

void Job::throw_first_loss() const {
    for (const Loss& loss : losses_)
        if (loss.why) std::rethrow_exception(loss.why);
}

Result Job::run() {
    Result result = play();
    throw_first_loss();
    return result;
}

// Each rank waits for one at least: going from one to the next ends in a circle, or at one that waits for nobody alive.
std::vector<std::string> Job::trouble() const {
    constexpr std::size_t most = 20;
    std::vector<std::string> lines;
    std::vector<Endpoint::Awaited> awaited;
    for (const auto& each : endpoints_) awaited.push_back(each->awaited());
    std::vector<std::uint32_t> seen(endpoints_.size(), 0);
    for (std::uint32_t first = 0, round = 1; first < endpoints_.size() && lines.empty(); ++first, ++round) {
        std::vector<std::uint32_t> way;
        std::uint32_t at = first;
        while (seen[at] == 0 && !awaited[at].ranks.empty()) {
            seen[at] = round;
            way.push_back(at);
            at = awaited[at].ranks.front().value;
        }
        if (seen[at] != round) continue;
        const auto begin = std::find(way.begin(), way.end(), at);
        std::string circle = "ranks wait for each other in a circle: ";
        for (auto each = begin; each != way.end(); ++each) circle += std::to_string(*each) + " for ";
        lines.push_back(circle + std::to_string(at));
    }
    std::size_t more = 0;
    for (std::uint32_t rank = 0; rank < endpoints_.size(); ++rank) {
        if (awaited[rank].text.empty()) continue;
        if (lines.size() < most)
            lines.push_back(fmt::format("rank {} {}", rank, awaited[rank].text));
        else
            ++more;
    }
    if (more != 0) lines.push_back(fmt::format("and {} more ranks", more));
    for (std::string& each : simulation_->trouble()) lines.push_back(std::move(each));
    return lines;
}

Result run(const Options& options, const std::function<void(transport::Transport&)>& body,
           const std::function<void(sim::Simulation&)>& look_at) {
    Job job(options, [&](Endpoint& mine) { body(mine); });
    Result result = job.run();
    if (look_at) look_at(job.simulation());
    return result;
}

}  // namespace loom::twin
