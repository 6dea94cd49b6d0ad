#include "conformance/window/cases.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "conformance/kit.hpp"

namespace loom::conformance {

namespace {

using namespace window;
using window::Tag;

template <class Expected>
void require_throws(const std::string& what, const std::function<void()>& act) {
    try {
        act();
    } catch (const Expected&) {
        return;
    }
    throw std::runtime_error(what + " was not refused");
}

std::uint64_t word_at(std::span<const std::byte> memory, std::uint64_t offset) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + offset, sizeof word);
    return word;
}

// Memory of the world, for the time of a case.
class Shared {
public:
    Shared(World& world, std::size_t bytes) : world_(world), memory_(world.allocate(bytes)) {}
    ~Shared() { world_.release(memory_); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;
    [[nodiscard]] std::span<std::byte> bytes() const { return memory_; }

private:
    World& world_;
    std::span<std::byte> memory_;
};

// Everybody writes to everybody, with what there is for it, into both kinds of memory.
void whole_interface(World& world) {
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    Bytes ordinary(64 * ranks);
    const Shared shared(world, 64 * ranks);
    for (const std::span<std::byte> memory : {std::span<std::byte>(ordinary), shared.bytes()}) {
        Window window = team.create(memory);
        require(window.mine().data() == memory.data() && window.bytes(Rank{ranks - 1}) == 64 * ranks, "another memory");
        std::vector<std::uint64_t> words(ranks);
        for (std::uint32_t to = 0; to < ranks; ++to) {
            words[to] = me * 1000 + to;
            const auto data = std::as_bytes(std::span(&words[to], 1));
            window.put(Rank{to}, 64 * me, data);
            window.put_value(Rank{to}, 64 * me + 8, words[to] + 1);
            window.put_notify(Rank{to}, 64 * me + 16, data, Tag{1});
            window.put_value_notify(Rank{to}, 64 * me + 24, words[to] + 2, Tag{2});
            window.put_notify(Rank{to}, 64 * ranks, {}, Tag{3});
            window.notify(Rank{to}, Tag{4});
        }
        for (std::uint32_t tag = 1; tag <= 4; ++tag) window.wait(Tag{tag}, ranks);
        require(!window.test(Match::any()), "there is a notification too many");
        for (std::uint32_t from = 0; from < ranks; ++from) {
            const std::uint64_t word = from * 1000 + me;
            const std::array<std::uint64_t, 4> wanted{word, word + 1, word, word + 2};
            for (std::uint64_t i = 0; i < 4; ++i)
                require(word_at(memory, 64 * from + 8 * i) == wanted[i], "a notification came before its data");
        }
        window.flush();
        require(window.finished() == window.started() && window.started() == 5 * ranks, "flushed puts are counted");
        team.barrier();
        std::vector<std::uint64_t> got(ranks);
        for (std::uint32_t from = 0; from < ranks; ++from)
            window.get(Rank{from}, 64 * me + 24, std::as_writable_bytes(std::span(&got[from], 1)));
        for (std::uint32_t from = 0; from < ranks; ++from) window.flush(Rank{from});
        for (std::uint32_t from = 0; from < ranks; ++from)
            require(got[from] == me * 1000 + from + 2, "a get brought something else");
        window.free();
        require(window.is_freed(), "a freed window is not");
    }
}

void tags_and_counts(World& world) {
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    Window window = team.create({}, {.tags = 256});
    const Rank right{(me + 1) % ranks}, left{(me + ranks - 1) % ranks};
    std::uint32_t even = 0;
    for (std::uint32_t tag = 0; tag < 256; ++tag)
        for (std::uint32_t i = 0; i <= tag % 3; ++i) {
            window.notify(right, Tag{tag});
            even += 1 - tag % 2;
        }
    window.wait({Tag{0}, 1, left}, even);
    for (std::uint32_t tag = 1; tag < 256; tag += 2) {
        window.wait(Tag{tag}, tag % 3 + 1);
        require(!window.test({Tag{tag}, left}), "a tag counts too many");
    }
    require(!window.test(Match::any()) && window.arrived(Match::any()) == 0, "there is a notification too many");
    team.barrier();

    for (const std::uint32_t tag : {5u, 5u, 9u, 5u}) window.notify(right, Tag{tag});
    std::vector<std::uint32_t> order;
    while (order.size() < 4) {
        const auto next = window.next();
        if (!next) {
            window.wait(Match::any(), 1);  // uses one up: it is the next
            order.push_back(std::array{5u, 5u, 9u, 5u}[order.size()]);
            continue;
        }
        require(next->source == left, "a notification of somebody else");
        order.push_back(next->tag.value);
    }
    require(order == std::vector<std::uint32_t>{5, 5, 9, 5}, "notifications of a rank are out of order");
    require(window.test({Tag{5}, left}, 0), "none of a tag is always there");
    window.free();

    Window wide = team.create({});
    for (const std::uint32_t tag : {0u, 255u, 256u, 65535u, 65536u, 0x7fffffffu, 0xffffffffu})
        wide.notify(right, Tag{tag});
    for (const std::uint32_t tag : {0xffffffffu, 65536u, 256u, 0x7fffffffu, 255u, 65535u, 0u})
        wide.wait({Tag{tag}, left});
    wide.free();
}

void what_is_refused(World& world) {
    const Team team = world.team();
    const Rank me = team.rank(), nobody{team.size()};
    Bytes memory(me.value * 8);
    Window window = team.create(memory, {.tags = 10});
    const Bytes data(16);
    const Rank last{team.size() - 1};
    const std::uint64_t room = window.bytes(last);
    require(room == last.value * 8ull, "windows differ in length");
    require_throws<OutOfBounds>("a put beyond the end", [&] { window.put(last, room, std::span(data).first(1)); });
    require_throws<OutOfBounds>("a put far beyond",
                                [&] { window.put(last, UINT64_MAX - 3, std::span(data).first(8)); });
    require_throws<OutOfBounds>("a long put", [&] { window.put_notify(Rank{0}, 0, data, Tag{0}); });
    require_throws<OutOfBounds>("a get", [&] {
        Bytes into(9);
        window.get(last, room == 0 ? 0 : room - 8, into);
    });
    require_throws<OutOfBounds>("an atomic", [&] { (void)window.fetch_add(last, room, 1); });
    require_throws<NoSuchRank>("a put to nobody", [&] { window.put(nobody, 0, {}); });
    require_throws<NoSuchRank>("a notification to nobody", [&] { window.notify(nobody, Tag{0}); });
    require_throws<NoSuchRank>("a wait for nobody", [&] { window.wait({Tag{0}, nobody}); });
    require_throws<NoSuchTag>("a tag", [&] { window.notify(me, Tag{10}); });
    require_throws<NoSuchTag>("a wait for a tag", [&] { (void)window.test(Tag{10}); });
    require_throws<NoSuchTag>("a match without sense", [&] { (void)window.test({Tag{2}, 1}); });
    require(!window.test(Match::any()), "what was refused was done");
    window.free();
    require_throws<WindowFreed>("a put into a freed window", [&] { window.put(me, 0, {}); });
    require_throws<WindowFreed>("a wait at a freed window", [&] { window.wait(Tag{0}); });
    require_throws<WindowFreed>("a flush of a freed window", [&] { window.flush(); });
    require_throws<WindowFreed>("a second free", [&] { window.free(); });
}

// Neither waits while it sends more than there is room for on the way.
void more_than_there_is_room_for(World& world) {
    constexpr std::uint32_t number = 5000;
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    const Shared memory(world, 8ull * number * ranks);
    Window window = team.create(memory.bytes());
    for (std::uint64_t i = 0; i < number; ++i)
        for (std::uint32_t to = 0; to < ranks; ++to)
            window.put_value_notify(Rank{to}, 8 * (number * me + i), i + me, Tag{7});
    for (std::uint32_t from = 0; from < ranks; ++from)
        for (std::uint64_t i = 0; i < number; ++i) {
            window.wait({Tag{7}, Rank{from}});
            require(word_at(memory.bytes(), 8 * (number * from + i)) == i + from,
                    "a notification came before its data");
        }
    window.free();
}

// Two windows, many targets: what is sent later is not seen before.
void order_of_each_pair(World& world) {
    constexpr std::uint64_t rounds = 400;
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    Bytes ordinary(8 * ranks);
    const Shared shared(world, 8 * ranks);
    Window one = team.create(ordinary), two = team.create(shared.bytes());
    std::vector<std::uint64_t> values(rounds);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        values[i] = i + 1;
        for (std::uint32_t to = 0; to < ranks; ++to) {
            const auto data = std::as_bytes(std::span(&values[i], 1));
            (i % 3 == 0 ? one : two).put(Rank{to}, 8 * me, data);
            (i % 2 == 0 ? one : two).notify(Rank{to}, Tag{static_cast<std::uint32_t>(i % 5)});
        }
    }
    for (std::uint32_t from = 0; from < ranks; ++from)
        for (std::uint64_t i = 0; i < rounds; ++i) {
            (i % 2 == 0 ? one : two).wait({Tag{static_cast<std::uint32_t>(i % 5)}, Rank{from}});
            const std::uint64_t seen = std::max(word_at(ordinary, 8 * from), word_at(shared.bytes(), 8 * from));
            require(seen > i, "a notification came before an earlier put");
        }
    one.free();
    two.free();
}

void atomics_of_windows(World& world) {
    constexpr std::uint64_t rounds = 200;
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    alignas(8) std::array<std::uint64_t, 3> ordinary{};
    const Shared shared(world, sizeof ordinary);
    for (const std::span<std::byte> memory :
         {std::span<std::byte>(std::as_writable_bytes(std::span(ordinary))), shared.bytes()}) {
        Window window = team.create(memory);
        for (std::uint64_t i = 0; i < rounds; ++i)
            (void)window.fetch_add(Rank{static_cast<std::uint32_t>(i % ranks)}, 8, 2);
        // A lock at rank 0, and a count that it protects.
        for (int i = 0; i < 3; ++i) {
            while (window.compare_swap(Rank{0}, 0, 0, me + 1) != 0) world.progress();
            std::uint64_t count = 0;
            window.get(Rank{0}, 16, std::as_writable_bytes(std::span(&count, 1)));
            window.flush(Rank{0});
            window.put_value(Rank{0}, 16, count + 1);
            window.flush(Rank{0});
            require(window.compare_swap(Rank{0}, 0, me + 1, 0) == me + 1, "a lock was broken");
        }
        team.barrier();
        std::uint64_t sum = 0;
        for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += window.fetch_add(Rank{rank}, 8, 0);
        require(sum == 2 * rounds * ranks, "additions are missing");
        if (me == 0) require(word_at(memory, 16) == 3 * ranks, "two had the lock at once");
        require_throws<Error>("an atomic between words", [&] { (void)window.fetch_add(Rank{0}, 4, 1); });
        window.free();
    }
}

void teams(World& world) {
    const Team everyone = world.team();
    const std::uint32_t ranks = everyone.size(), me = everyone.rank().value;
    const auto parity = everyone.split(me % 2, ranks - me);  // in reverse
    require(parity && parity->size() == (ranks + (me % 2 == 0 ? 1 : 0)) / 2, "a team of another size");
    for (std::uint32_t rank = 0; rank + 1 < parity->size(); ++rank)
        require(parity->world_rank(Rank{rank}).value == parity->world_rank(Rank{rank + 1}).value + 2, "another order");
    require(parity->member(Rank{me}) == parity->rank(), "a rank is not where it is");
    require(!parity->member(Rank{me / 2 * 2 + 1 - me % 2}), "a rank of the other team");
    require_throws<NoSuchRank>("a member too many", [&] { (void)parity->world_rank(Rank{parity->size()}); });

    const auto few = everyone.split(me < 2 ? std::optional(0u) : std::nullopt, 0);
    require(few.has_value() == (me < 2), "a team without a colour");
    Bytes memory(8 * ranks), of_all(8 * ranks);
    Window window = parity->create(memory), all = everyone.create(of_all);
    const std::uint32_t size = parity->size(), mine = parity->rank().value;
    for (std::uint32_t to = 0; to < size; ++to)
        window.put_value_notify(Rank{to}, 8 * mine, std::uint64_t{me} + 1, Tag{1});
    for (std::uint32_t to = 0; to < ranks; ++to) all.put_value_notify(Rank{to}, 8 * me, std::uint64_t{me} + 1, Tag{1});
    window.wait(Tag{1}, size);
    all.wait(Tag{1}, ranks);
    for (std::uint32_t from = 0; from < size; ++from)
        require(word_at(memory, 8 * from) == parity->world_rank(Rank{from}).value + 1, "a put of the other team");
    for (std::uint32_t from = 0; from < ranks; ++from)
        require(word_at(of_all, 8 * from) == from + 1, "a put is missing");
    require(!window.test(Tag{1}) && !all.test(Tag{1}), "teams share notifications");
    all.notify(Rank{me}, Tag{9});
    window.notify(parity->rank(), Tag{9});
    wait(world, Tag{9}, 2);  // whatever the window
    window.free();
    all.free();
}

void long_puts(World& world) {
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    constexpr std::size_t part = 300'001, number = 3;
    Bytes memory(part * number * ranks);
    Window window = team.create(memory);
    std::vector<Bytes> data;
    for (std::size_t i = 0; i < number; ++i)
        for (std::uint32_t to = 0; to < ranks; ++to) {
            data.push_back(content(me * 100 + to * 10 + i, part));
            window.put_notify(Rank{to}, part * (number * me + i), data.back(), Tag{static_cast<std::uint32_t>(i)});
            window.put_value_notify(Rank{to}, part * (number * me + i), data.back()[0] ^ std::byte{0xff}, Tag{50});
        }
    for (std::uint32_t from = 0; from < ranks; ++from)
        for (std::size_t i = 0; i < number; ++i) {
            window.wait({Tag{static_cast<std::uint32_t>(i)}, Rank{from}});
            window.wait({Tag{50}, Rank{from}});
            Bytes wanted = content(from * 100 + me * 10 + i, part);
            wanted[0] ^= std::byte{0xff};
            const auto at = memory.begin() + static_cast<std::ptrdiff_t>(part * (number * from + i));
            require(std::equal(wanted.begin(), wanted.end(), at), "a long put wrote something else");
        }
    window.flush();
    window.free();
}

// The text names who waits for what; a circle of two or more ranks is named too.
void stalls(World& world) {
    const Team team = world.team();
    const std::uint32_t ranks = team.size(), me = team.rank().value;
    Window window = team.create({});
    const Rank right{(me + 1) % ranks};
    window.notify(right, Tag{8});
    team.barrier();
    std::string text;
    try {
        window.wait({Tag{7}, Rank{(me + ranks - 1) % ranks}}, 1, milliseconds(20 + 30 * me));
    } catch (const Stalled& stalled) {
        text = stalled.what();
    }
    const auto has = [&](const std::string& what) { return text.find(what) != std::string::npos; };
    require(has("rank " + std::to_string(me) + " waits for tag 7 of window "), "a stall without its tag: " + text);
    require(has("from rank " + std::to_string((me + ranks - 1) % ranks)), "a stall without its source: " + text);
    require(has("1 other is there, the oldest of tag 8"), "a stall without what is there: " + text);
    if (me == 0 && ranks == 1) require(has("a circle: rank 0 waits for rank 0"), "a circle is not named: " + text);
    team.barrier();
    window.wait(Tag{8});
    window.free();
}

void random_programs(World& world) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) random_program(world, seed, 4);
}

}  // namespace

const std::vector<WindowCase>& window_cases() {
    static const std::vector<WindowCase> all{
        {"whole_interface", whole_interface},
        {"tags_and_counts", tags_and_counts},
        {"what_is_refused", what_is_refused},
        {"more_than_there_is_room_for", more_than_there_is_room_for},
        {"order_of_each_pair", order_of_each_pair},
        {"atomics_of_windows", atomics_of_windows},
        {"teams", teams},
        {"long_puts", long_puts},
        {"stalls", stalls},
        {"random_programs", random_programs},
    };
    return all;
}

void run_window_cases(World& world, const std::function<void(const std::string&)>& announce) {
    for (const WindowCase& one : window_cases()) {
        if (announce) announce(one.name);
        try {
            one.run(world);
            world.team().barrier();
        } catch (const std::exception& error) {
            throw std::runtime_error(one.name + " on " + std::string(world.transport().name()) + ", rank " +
                                     std::to_string(world.rank().value) + " of " + std::to_string(world.size()) + ": " +
                                     error.what());
        }
    }
}

}  // namespace loom::conformance
