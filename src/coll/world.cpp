#include "loom/coll/world.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

#include "coll/choice.hpp"
#include "coll/world_state.hpp"
#include "loom/base/clock.hpp"
#include "loom/base/copy.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "loom/coll/order.hpp"
#include "loom/transport/open.hpp"

namespace loom::coll {

// Looks without success after which a waiting user asks its peers not to wake the thread any more.
constexpr std::uint32_t patience = 20'000;

// What such a look takes in virtual time of somebody who does not wait but tests.
constexpr Time fruitless_look = nanoseconds(100);

namespace {

// The ranks of the world in the order of World::communicator().
std::vector<Rank> ordered_ranks(std::uint32_t ranks) {
    std::vector<Rank> all(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) all[rank] = Rank{rank};
    const std::string file = settings::read(Setting::rank_order).value_or("");
    if (file.empty()) return all;
    try {
        const std::vector<std::uint32_t> order = read_rank_order(read_file(file), file, ranks);
        for (std::size_t i = 0; i < order.size(); ++i) all[i] = Rank{order[i]};
    } catch (const Error& error) {
        throw UsageError(std::string("LOOM_RANK_ORDER: ") + error.what());
    }
    return all;
}

std::string digest(const std::vector<Rank>& ranks) {
    std::uint64_t hash = 14695981039346656037u;  // FNV-1a, a word at a time
    for (const Rank rank : ranks) hash = (hash ^ rank.value) * 1099511628211u;
    return std::to_string(hash);
}

constexpr Setting switches[] = {Setting::coll_reproducible, Setting::coll_check};

bool is_on(Setting setting) {
    const auto asked = settings::read(setting);
    return asked && settings::as_switch(setting, *asked);
}

// Ranks that choose algorithms by other rules, or number each other otherwise, would wait for messages that nobody
// sends. All compare with rank 0, so that all find the same. Costs an exchange among all ranks.
void compare_settings(transport::Bootstrap& bootstrap) {
    if (bootstrap.size() == 1) return;
    const std::string rules = settings::read(Setting::coll).value_or("");
    (void)parse_rules(rules);  // what cannot be read is said now, not at the first collective
    bootstrap.put("coll.rules", rules);
    for (const Setting each : switches) bootstrap.put(settings::name(each), is_on(each) ? "1" : "0");
    bootstrap.put("coll.order", digest(ordered_ranks(bootstrap.size())));
    bootstrap.fence();
    const auto differ = [](Rank rank, const std::string& what) {
        throw UsageError("rank 0 and rank " + std::to_string(rank.value) + " have different " + what +
                         ": it must be the same on all ranks (does the launcher pass it to all hosts?)");
    };
    if (const auto rank = bootstrap.first_unlike("coll.rules"))
        differ(*rank, "LOOM_COLL ('" + bootstrap.get(Rank{0}, "coll.rules") + "' and '" +
                          bootstrap.get(*rank, "coll.rules") + "')");
    for (const Setting each : switches)
        if (const auto rank = bootstrap.first_unlike(settings::name(each))) differ(*rank, settings::name(each));
    if (const auto rank = bootstrap.first_unlike("coll.order")) differ(*rank, "LOOM_RANK_ORDER");
}

Parameters agree_on_all(transport::Transport& transport, transport::Bootstrap* bootstrap) {
    if (bootstrap != nullptr) compare_settings(*bootstrap);
    return agree_parameters(transport);
}

}  // namespace

World::State::State(transport::Transport& given, transport::Bootstrap* start)
    : transport(given),
      bootstrap(start),
      waiting(given.waiting()),
      parameters(agree_on_all(given, start)),
      engine(given) {
    ranking.remember(agree_choices(transport, parameters));
    ranking.share(transport);
    engine.reclaim = [](Execution& execution) { execution.prepared().communicator.put_back(execution); };
    const auto hosts = transport.hosts();
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[transport.rank().value]);
    spare_core = static_cast<std::uint64_t>(here) < transport.cores();
    reproducible = is_on(Setting::coll_reproducible);
    checks = is_on(Setting::coll_check);
    // Reads files: now, not at the first collective.
    if (waiting != transport::Waiting::block) (void)last_caches_bytes();
    everyone = add(std::make_unique<Communicator::State>(*this, ordered_ranks(transport.size()), 0));
}

World::State::State(std::unique_ptr<transport::Bootstrap> start, std::unique_ptr<transport::Transport> opened)
    : State(*opened, start.get()) {
    own_bootstrap = std::move(start);
    own_transport = std::move(opened);
}

World::State::~State() {
    stop_thread();
    everyone.reset();
}

std::shared_ptr<Communicator::State> World::State::add(std::unique_ptr<Communicator::State> communicator) {
    const Hold hold(*this);
    contexts_in_use.insert(communicator->context);
    communicators.push_back(std::move(communicator));
    return {communicators.back().get(), [](Communicator::State* state) {
                World::State& world = state->world;
                const Hold alone(world);
                state->unreferenced = true;
                if (state->taken == 0) world.remove(*state);
            }};
}

void World::State::remove(Communicator::State& communicator) {
    // What a lost rank has sent, or others sent before they heard of it, must not meet a new communicator's messages.
    const bool lost_one = std::any_of(communicator.members.begin(), communicator.members.end(),
                                      [&](Rank member) { return transport.is_lost(member); });
    if (!lost_one) contexts_in_use.erase(contexts_in_use.find(communicator.context));
    std::erase_if(communicators, [&](const auto& each) { return each.get() == &communicator; });
}

std::uint32_t World::State::free_context(std::uint32_t floor) {
    const Hold hold(*this);
    while (contexts_in_use.contains(floor)) ++floor;
    return floor;
}

bool World::State::take_context(std::uint32_t number) {
    const Hold hold(*this);
    if (number >= Communicator::contexts || contexts_in_use.contains(number)) return false;
    contexts_in_use.insert(number);
    return true;
}

void World::State::give_up_context(std::uint32_t number) {
    const Hold hold(*this);
    contexts_in_use.erase(contexts_in_use.find(number));
}

void World::State::refuse_more_communicators() {
    throw Error("there are too many communicators: all " +
                std::to_string(Communicator::contexts - Communicator::first_context) + " contexts are in use");
}

bool World::State::poll() {
    const Hold hold(*this);
    return engine.poll();
}

void World::State::wait(const Execution& execution) {
    transport::Pauses pauses(waiting, transport);
    if (!locked) {
        while (!execution.finished())
            if (!engine.poll()) pauses.next();
        return;
    }
    if (execution.finished()) return;
    struct Helping {
        State& state;
        explicit Helping(State& helped) : state(helped) {
            const Hold hold(state);
            ++state.helpers;
        }
        ~Helping() {
            const Hold hold(state);
            --state.helpers;
        }
    } helping(*this);
    for (std::uint32_t fruitless = 0; !execution.finished();) {
        if (poll()) continue;
        if (++fruitless == patience) {
            const Hold hold(*this);
            set_events(false);
        }
        pauses.next();
    }
}

bool World::State::poll_and_pass_time() {
    if (poll()) return true;
    if (waiting == transport::Waiting::block) sleep_for(fruitless_look);
    return false;
}

void World::State::poll_for_test() {
    if (poll_and_pass_time() || waiting != transport::Waiting::yield) return;
    if (++fruitless_tests % 4 == 0) transport::pause(waiting);
}

std::unique_ptr<World> World::open() {
    std::unique_ptr<transport::Bootstrap> bootstrap = transport::find_bootstrap();
    std::unique_ptr<transport::Transport> transport = transport::open_transport(*bootstrap);
    return std::unique_ptr<World>(new World(std::make_unique<State>(std::move(bootstrap), std::move(transport))));
}

World::World(std::unique_ptr<State> state) : state_(std::move(state)) {
    set_progress_from_environment();
}

World::World(transport::Transport& transport, transport::Bootstrap* bootstrap)
    : World(std::make_unique<State>(transport, bootstrap)) {}

World::~World() {
    if (state_->closed) return;
    // An exception on its way out says that this rank does not get as far as the others.
    if (std::uncaught_exceptions() > 0) return;
    try {
        close();
    } catch (const std::exception&) {
    }
}

// What rank 0 chose is the next job's.
void World::State::keep_choices() {
    if (ranking.fresh().empty() || transport.rank() != Rank{0}) return;
    if (const auto file = choice_file(transport, parameters)) coll::keep_choices(*file, parameters, ranking.fresh());
}

void World::close() {
    if (state_->closed) return;
    state_->closed = true;
    transport::Pauses pauses(state_->waiting, state_->transport);
    while (pending() != 0)
        if (!state_->poll()) pauses.next();
    const bool all_here = meet_everyone();
    state_->stop_thread();
    state_->keep_choices();
    if (state_->bootstrap == nullptr) return;
    // Out of the barrier we know that all came to it, not that all are out: the others would miss a rank that goes now.
    // After a loss nothing can be fenced, and those who agreed miss nobody.
    if (all_here) leave_together();
    state_->bootstrap->finished();
}

// Others may hear of a loss in the barrier that we are out of: they agree then, and so must we.
void World::leave_together() {
    try {
        state_->bootstrap->fence();
    } catch (const transport::BootstrapError&) {
        (void)progress();
        if (!state_->transport.lost()) throw;
        (void)communicator().agree(0);
    }
}

// A barrier; after a loss, of those who are left. True: nobody was lost.
bool World::meet_everyone() {
    try {
        communicator().start(Call{}, {}).wait();
        return true;
    } catch (const transport::RankLost&) {
        (void)communicator().agree(0);
        return false;
    }
}

Communicator World::communicator() {
    return Communicator(state_->everyone);
}

Rank World::rank() const {
    return state_->transport.rank();
}

std::uint32_t World::size() const {
    return state_->transport.size();
}

transport::Transport& World::transport() {
    return state_->transport;
}

bool World::progress() {
    return state_->poll_and_pass_time();
}

std::size_t World::pending() const {
    const State::Hold hold(*state_);
    return state_->engine.pending();
}

std::uint64_t World::fragments_heard() const {
    const State::Hold hold(*state_);
    return state_->engine.fragments_heard();
}

void run_local(std::uint32_t ranks, const std::function<void(World&)>& body) {
    transport::run_local(ranks, [&](transport::Transport& transport) {
        World world(transport, nullptr);
        body(world);
        world.close();
    });
}

}  // namespace loom::coll
