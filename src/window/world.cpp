#include "loom/window/world.hpp"

#include <exception>
#include <new>
#include <utility>

#include "loom/transport/open.hpp"
#include "window/driving.hpp"

namespace loom::window {

namespace {

// Looks at lanes alone between two at the transport, where it brings nothing but losses.
constexpr std::uint32_t seldom = 64;

}  // namespace

World::State::State(transport::Transport& over, transport::Bootstrap* start, Options how)
    : transport(over),
      bootstrap(start),
      options(how),
      me(over.rank()),
      lanes(over),
      board(*new (lanes.board()) Board),
      open_to(over.size(), 0) {
    static_assert(sizeof(Board) <= Lanes::board_bytes);
    std::vector<Rank> all;
    for (std::uint32_t rank = 0; rank < over.size(); ++rank) all.emplace_back(rank);
    everyone = std::make_shared<Team::State>(*this, next_team++, std::move(all));
    windows.push_back(nullptr);
    areas = everyone->allgather(lanes.area());
    if (options.stores) open_lanes();
}

World::State::~State() {
    if (!closed) {
        // An exception is on its way: others may still write here, and the adapter into what we gave it.
        lanes.abandon();
        if (operations.open() != 0) (void)reads_.release();
        operations.abandon();
    }
    free_windows();
}

void World::State::free_windows() {
    for (const std::shared_ptr<Window::State>& window : std::vector(windows))
        if (window != nullptr) window->let_go();
    windows.clear();
}

// Each tells the others of its host whether it reaches them, which also brings the connection up that a mapping needs.
void World::State::open_lanes() {
    const auto hosts = transport.hosts();
    std::vector<Rank> near;
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank)
        if (rank != me.value && hosts[rank] == hosts[me.value]) near.emplace_back(rank);
    std::vector<std::byte> reached(near.size());
    for (std::uint32_t round = 0; round < 2; ++round) {
        Parcels parcels(transport);
        std::vector<const Parcel*> received;
        for (std::size_t i = 0; i < near.size(); ++i) {
            parcels.send(near[i], everyone->id, 0x1000 + round, {&reached[i], 1});
            received.push_back(&parcels.receive(near[i], everyone->id, 0x1000 + round, 1));
        }
        everyone->finish(parcels, {});
        for (std::size_t i = 0; i < near.size(); ++i) {
            if (round == 0)
                reached[i] = lanes.map(near[i], areas[near[i].value]) ? std::byte{1} : std::byte{0};
            else if (reached[i] == std::byte{1} && received[i]->data[0] == std::byte{1})
                lanes.open(near[i]);
        }
    }
    reaches_itself = transport.map(me, lanes.area()) != nullptr;
    bool all_lanes = true;
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank)
        all_lanes &= rank == me.value ? reaches_itself : lanes.is_open(Rank{rank});
    if (all_lanes && transport.waiting() == transport::Waiting::spin) transport_every = seldom;
}

void World::State::take_in(Rank source, Stamp stamp) {
    const std::uint32_t id = stamp.window.value;
    if (id < next_window) {
        const Window::State* const window = id < windows.size() ? windows[id].get() : nullptr;
        if (window == nullptr) return;  // it came when the window was freed already
        if (window->team->place_of[source.value] == Team::State::nobody || stamp.tag.value >= window->tags)
            throw Error("rank " + std::to_string(source.value) + " notified tag " + std::to_string(stamp.tag.value) +
                        " of window " + std::to_string(id) + ", which it cannot");
    }
    arrivals.add(source, stamp);
}

bool World::State::look() {
    bool any = lanes.take([&](Rank from, std::uint64_t word) { take_in(from, from_word(word)); });
    if (lanes.any_waiting()) any |= lanes.send_waiting();
    if (++looks % transport_every != 0 && operations.open() == 0 && in_messages == 0) return any;
    any |= transport.progress();
    while (const auto notification = transport.next_notification()) {
        const auto stamp = from_value(notification->value);
        if (!stamp)
            throw Error("rank " + std::to_string(notification->from.value) + " sent a notification of no window");
        take_in(notification->from, *stamp);
        any = true;
    }
    return any;
}

bool World::State::progress() {
    looks = transport_every - 1;
    return look();
}

void World::State::notify(Rank to, Stamp stamp) {
    if (to == me && reaches_itself) return arrivals.add(me, stamp);
    if (!lanes.is_open(to)) {
        Operation& operation = operations.begin();
        operation.owner = this;
        operation.ended = [](Operation& ended) { static_cast<World::State*>(ended.owner)->operations.end(ended); };
        if (transport.put_notify(to, areas[to.value], 0, {}, to_value(stamp), operation.message))
            operation.ended(operation);
        return;
    }
    // What the adapter writes must be there before what we write.
    if (open_to[to.value] != 0) [[unlikely]]
        drive([&] { return open_to[to.value] == 0; }, [&] { return gone(to); }, [&] { return flush_of(to); }, never);
    lanes.send(to, to_word(stamp));
    if (lanes.any_waiting()) [[unlikely]]
        look();
}

Waits World::State::describe(const Wanted& wanted, std::uint64_t count) const {
    Waits waits;
    waits.what = static_cast<std::uint64_t>(Waits::For::notification);
    waits.window = wanted.window ? wanted.window->value : 0;
    if (wanted.source) waits.source = wanted.source->value;
    waits.tag = wanted.tag.value;
    waits.mask = wanted.mask;
    waits.count = count;
    waits.have = arrivals.count(wanted);
    if (const auto other = arrivals.oldest_other(wanted, waits.others)) {
        waits.other_window = other->stamp.window.value;
        waits.other_tag = other->stamp.tag.value;
        waits.other_source = other->source.value;
    }
    return waits;
}

// What comes first is what is asked for, as a rule: it need not be stored then.
bool World::State::wait_shortly(const Wanted& wanted, const Team::State* team) {
    if (!arrivals.empty() || !wanted.window || wanted.mask != 0xffffffff || transport_every == 1) return false;
    const std::uint64_t word = to_word({*wanted.window, wanted.tag});
    for (std::uint32_t looks_left = seldom; looks_left != 0; --looks_left) {
        Rank from;
        std::uint64_t first = 0;
        if (!lanes.take_one(from, first)) continue;
        if (first == word && (!wanted.source || from == *wanted.source) &&
            team->place_of[from.value] != Team::State::nobody)
            return true;
        take_in(from, from_word(first));
        return false;
    }
    return false;
}

void World::State::wait(const Wanted& wanted, std::uint64_t count, std::optional<Time> patience,
                        const Team::State* team) {
    const auto whose_loss = [&]() -> std::optional<Rank> {
        const std::optional<Rank> first = transport.lost();
        if (!first) return {};
        if (wanted.source) return transport.is_lost(*wanted.source) ? wanted.source : std::nullopt;
        if (team == nullptr) return first;
        for (const Rank member : team->members)
            if (member != me && transport.is_lost(member)) return member;
        return {};
    };
    if (count == 1 && wait_shortly(wanted, team)) return;
    drive([&] { return arrivals.take(wanted, count); }, whose_loss, [&] { return describe(wanted, count); }, patience);
}

void World::State::close() {
    if (closed) return;
    const auto none = [] { return std::optional<Rank>(); };
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank)
        if (transport.is_lost(Rank{rank})) lanes.give_up(Rank{rank});
    drive([&] { return operations.open() == 0 && !lanes.any_waiting(); }, none, [] { return flush_of({}); }, {});
    everyone->barrier();
    // Nobody writes any more what we would read; and nobody reads after the next one.
    lanes.close();
    everyone->barrier();
    free_windows();
    closed = true;
}

std::unique_ptr<World> World::open(Options options) {
    auto bootstrap = transport::find_bootstrap();
    auto transport = transport::open_transport(*bootstrap);
    auto world = std::make_unique<World>(*transport, bootstrap.get(), options);
    world->own_bootstrap_ = std::move(bootstrap);
    world->own_transport_ = std::move(transport);
    return world;
}

World::World(transport::Transport& transport, transport::Bootstrap* bootstrap, Options options)
    : state_(std::make_unique<State>(transport, bootstrap, options)) {}

World::~World() {
    if (state_->closed) return;
    try {
        if (std::uncaught_exceptions() == 0) close();
    } catch (const std::exception&) {
        // Who wants to hear of it calls close().
    }
}

void World::close() {
    if (state_->closed) return;
    state_->close();
    if (state_->bootstrap == nullptr) return;
    state_->bootstrap->fence();
    state_->bootstrap->finished();
}

Team World::team() const {
    return Team(state_->everyone);
}

Rank World::rank() const {
    return state_->me;
}

std::uint32_t World::size() const {
    return state_->transport.size();
}

transport::Transport& World::transport() const {
    return state_->transport;
}

bool World::progress() {
    return state_->progress();
}

std::span<std::byte> World::allocate(std::size_t bytes) {
    const std::span<std::byte> memory = state_->transport.allocate(bytes);
    std::memset(memory.data(), 0, memory.size());
    return memory;
}

void World::release(std::span<std::byte> memory) {
    state_->transport.release(memory);
}

std::string World::who_waits_for_whom() {
    return state_->report();
}

bool test(World& world, const Match& what, std::uint64_t count) {
    world.state().check_open();
    return world.state().test({{}, what.source, what.tag, what.mask}, count);
}

void wait(World& world, const Match& what, std::uint64_t count, std::optional<Time> patience) {
    world.state().check_open();
    world.state().wait({{}, what.source, what.tag, what.mask}, count, patience, nullptr);
}

}  // namespace loom::window
