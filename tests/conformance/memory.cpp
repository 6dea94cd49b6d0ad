// Puts, notifications, memory, sleeping.
#include "conformance/memory.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/kit.hpp"

namespace loom::conformance {

namespace {

// Every rank's memory, open to all while it lives.
class Shared {
public:
    Shared(Transport& transport, std::span<std::byte> memory)
        : transport_(transport), mine_(transport.expose(memory)), all_(exchange(transport, mine_)) {}
    ~Shared() { transport_.unexpose(mine_); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    const RemoteMemory& operator[](std::uint32_t rank) const { return all_[rank]; }

private:
    Transport& transport_;
    RemoteMemory mine_;
    std::vector<RemoteMemory> all_;
};

}  // namespace

// Everybody writes into its own part of everybody's memory, and says so by a message.
void puts(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000},
                                   std::size_t{65536}, std::size_t{300'001}}) {
        Bytes memory(part * ranks + 1, std::byte{0x5a});
        {
            const Shared shared(transport, memory);
            Operations operations(transport);
            for (std::uint32_t peer = 0; peer < ranks; ++peer)
                operations.put(Rank{peer}, shared[peer], part * me, content(part + me * 1000 + peer, part));
            operations.wait_and_check();
            barrier(transport);
        }
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
            const Bytes wanted = content(part + peer * 1000 + me, part);
            require(std::equal(wanted.begin(), wanted.end(), memory.begin() + static_cast<std::ptrdiff_t>(part * peer)),
                    "a put of " + std::to_string(part) + " bytes wrote something else");
        }
        require(memory.back() == std::byte{0x5a}, "a put wrote beyond its end");
    }
}

// When the notification is there, so is the data, and notifications of one rank come in order.
void puts_with_notification(Transport& transport) {
    constexpr std::size_t number = 20;
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    for (const std::size_t part : {std::size_t{0}, std::size_t{64}, std::size_t{3000}, std::size_t{40'000}}) {
        Bytes memory(part * number * ranks + 1);
        const Shared shared(transport, memory);
        Operations operations(transport);
        for (std::size_t i = 0; i < number; ++i)
            for (std::uint32_t peer = 0; peer < ranks; ++peer)
                operations.put_notify(Rank{peer}, shared[peer], part * (me * number + i),
                                      content(me * 1000 + peer * 100 + i, part), static_cast<std::uint32_t>(i + 7));
        std::vector<std::size_t> seen(ranks);
        std::size_t total = 0;
        drive(transport, [&] {
            while (const auto notification = transport.next_notification()) {
                const std::uint32_t from = notification->from.value;
                require(from < ranks && notification->value == seen[from] + 7, "a notification is out of order");
                const Bytes wanted = content(from * 1000 + me * 100 + seen[from], part);
                const auto place = static_cast<std::ptrdiff_t>(part * (from * number + seen[from]));
                require(std::equal(wanted.begin(), wanted.end(), memory.begin() + place),
                        "a notification came before its data");
                ++seen[from];
                ++total;
            }
            return total == number * ranks;
        });
        operations.wait_and_check();
        barrier(transport);
        require(!transport.next_notification(), "there is a notification too many");
    }
}

// Messages and puts at once do not get into each other's way.
void puts_among_messages(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    constexpr std::size_t part = 10'000, number = 10;
    Bytes memory(part * number * ranks);
    const Shared shared(transport, memory);
    Operations operations(transport);
    std::vector<std::pair<Operation*, Bytes>> receives;
    for (std::size_t i = 0; i < number; ++i)
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
            const std::size_t bytes = i % 2 == 0 ? 100 : 90'000;
            operations.put(Rank{peer}, shared[peer], part * (me * number + i), content(me * 1000 + peer + i, part));
            operations.send(Rank{peer}, i, content(me * 50 + peer * 3 + i, bytes));
            receives.emplace_back(&operations.receive(Rank{peer}, i, bytes), content(peer * 50 + me * 3 + i, bytes));
        }
    operations.wait_and_check();
    barrier(transport);

    for (const auto& [receive, wanted] : receives) require(receive->data == wanted, "a message is another one");
    for (std::uint32_t peer = 0; peer < ranks; ++peer)
        for (std::size_t i = 0; i < number; ++i) {
            const Bytes wanted = content(peer * 1000 + me + i, part);
            require(std::equal(wanted.begin(), wanted.end(),
                               memory.begin() + static_cast<std::ptrdiff_t>(part * (peer * number + i))),
                    "a put wrote something else");
        }
}

// A put to where an earlier put_notify wrote is the later one, also when many notifications are on their way.
void puts_behind_notifications(Transport& transport) {
    constexpr std::uint32_t rounds = 1200;
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    Bytes memory(8 * ranks);
    const Shared shared(transport, memory);
    Operations operations(transport);
    const std::uint32_t right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        operations.put_notify(Rank{right}, shared[right], 8 * me, bytes_of(2 * i), i);
        operations.put(Rank{right}, shared[right], 8 * me, bytes_of(2 * i + 1));
    }
    std::uint64_t seen = 0;
    drive(transport, [&] {
        while (const auto notification = transport.next_notification()) {
            require(notification->from == Rank{left} && notification->value == seen, "a notification is out of order");
            std::uint64_t word = 0;
            std::memcpy(&word, memory.data() + 8 * left, sizeof word);
            require(word >= 2 * seen, "a notification came before its data");
            ++seen;
        }
        return seen == rounds;
    });
    operations.wait_and_check();
    barrier(transport);
    const Bytes last = bytes_of(std::uint64_t{2} * rounds - 1);
    require(std::equal(last.begin(), last.end(), memory.begin() + 8 * static_cast<std::ptrdiff_t>(left)),
            "a put was overtaken by the one before it");
}

// Also those that need more than an immediate has.
void every_value(Transport& transport) {
    const std::vector<std::uint64_t> values{0,          1,          0x3fffffff,     0x40000000,   0xfffffffd,
                                            0xfffffffe, 0xffffffff, 0x100000000,    (1ull << 57), (1ull << 60) - 1,
                                            1ull << 60, UINT64_MAX, UINT64_MAX - 1, 0xfffffffe,   0xffffffff00000000,
                                            0x7fffffff, 7};
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    Bytes memory(64);
    const Shared shared(transport, memory);
    Operations operations(transport);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::uint32_t peer = 0; peer < ranks; ++peer)
            operations.put_notify(Rank{peer}, shared[peer], 0, i % 2 == 0 ? Bytes() : Bytes(8), values[i] ^ me);
    std::vector<std::size_t> seen(ranks);
    std::size_t total = 0;
    drive(transport, [&] {
        while (const auto notification = transport.next_notification()) {
            const std::uint32_t from = notification->from.value;
            require(from < ranks && seen[from] < values.size() && notification->value == (values[seen[from]] ^ from),
                    "a notification has another value");
            ++seen[from];
            ++total;
        }
        return total == values.size() * ranks;
    });
    operations.wait_and_check();
}

void gets(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{5000},
                                   std::size_t{65536}, std::size_t{300'001}}) {
        Bytes memory = content(me + part, part + 3);
        const Shared shared(transport, memory);
        Operations operations(transport);
        std::vector<const Operation*> all;
        for (std::uint32_t peer = 0; peer < ranks; ++peer)
            all.push_back(&operations.get(Rank{peer}, shared[peer], 3, part));
        operations.wait_and_check();
        for (std::uint32_t peer = 0; peer < ranks; ++peer) {
            const Bytes theirs = content(peer + part, part + 3);
            require(std::equal(theirs.begin() + 3, theirs.end(), all[peer]->data.begin(), all[peer]->data.end()),
                    "a get of " + std::to_string(part) + " bytes brought something else");
        }
        barrier(transport);
    }
}

// Everybody counts in everybody's memory, and one after another gets hold of a word of rank 0.
void atomics(Transport& transport) {
    using transport::Atomic;
    constexpr std::uint64_t rounds = 50;
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    alignas(8) std::uint64_t words[2] = {1000, 0};
    {
        const Shared shared(transport, std::as_writable_bytes(std::span(words)));
        Operations operations(transport);
        std::vector<const Operation*> all;
        for (std::uint64_t i = 0; i < rounds; ++i)
            for (std::uint32_t peer = 0; peer < ranks; ++peer)
                all.push_back(&operations.atomic(Rank{peer}, shared[peer], 0, {Atomic::Kind::fetch_add, 3, 0}));
        operations.wait_and_check();
        for (const Operation* each : all)
            require(each->before >= 1000 && each->before < 1000 + 3 * rounds * ranks && (each->before - 1000) % 3 == 0,
                    "an atomic brought what was never there");
        while (true) {
            Operations one(transport);
            const Operation& swap = one.atomic(Rank{0}, shared[0], 8, {Atomic::Kind::compare_swap, me + 1, me});
            one.wait_and_check();
            if (swap.before == me) break;
            require(swap.before < me, "a word was taken before its turn");
        }
        barrier(transport);
    }
    require(words[0] == 1000 + 3 * rounds * ranks, "additions are missing");
    require(words[1] == (me == 0 ? ranks : 0), "a word was swapped by nobody");
}

// Where another rank's memory can be mapped, stores there are seen here, and puts of the transport there.
void mapped_memory(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value, right = (me + 1) % ranks;
    const std::span<std::byte> memory = transport.allocate(8192 + 100);
    std::fill(memory.begin(), memory.end(), std::byte{1});
    {
        const Shared shared(transport, memory.subspan(100));
        barrier(transport);
        std::byte* const mapped = transport.map(Rank{right}, shared[right]);
        if (mapped != nullptr) mapped[8191] = std::byte{static_cast<unsigned char>(me + 2)};
        const bool all = [&] {
            const auto each = exchange(transport, mapped != nullptr ? 1 : 0);
            return std::count(each.begin(), each.end(), 1) == ranks;
        }();
        if (all)
            require(memory[8291] == std::byte{static_cast<unsigned char>((me + ranks - 1) % ranks + 2)},
                    "a store into mapped memory is missing");
        if (mapped != nullptr) {
            Operations operations(transport);
            operations.put(Rank{right}, shared[right], 0, Bytes(5, std::byte{9}));
            operations.wait_and_check();
            require(mapped[4] == std::byte{9} && mapped[5] == std::byte{1}, "mapped memory is not the target's");
            transport.unmap(Rank{right}, shared[right], mapped);
        }
        barrier(transport);
    }
    transport.release(memory);
}

void memory_to_share(Transport& transport) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{100'000}}) {
        const std::span<std::byte> memory = transport.allocate(bytes);
        require(memory.size() >= bytes, "less memory than was asked for");
        require(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 == 0, "memory is not aligned");
        {
            const Shared shared(transport, memory.first(bytes));
            const std::uint32_t right = (transport.rank().value + 1) % transport.size();
            Operations operations(transport);
            operations.put(Rank{right}, shared[right], 0, content(bytes, bytes));
            operations.wait_and_check();
            barrier(transport);
        }
        const Bytes wanted = content(bytes, bytes);
        require(std::equal(wanted.begin(), wanted.end(), memory.begin()), "a put into shared memory is missing");
        transport.release(memory);
    }
}

// Sleeps until messages come that are on their way only when everybody sleeps or has slept.
void sleeping(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    const auto rest = [&](const Operation& operation) {
        while (!operation.finished())
            if (!transport.progress() && !operation.finished()) transport.sleep(std::chrono::seconds(20));
    };
    transport.set_events(true);
    barrier(transport);
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{300'000}})
        for (int round = 0; round < 5; ++round) {  // round the ring: all but one wait
            Operations operations(transport);
            Operation& receive = operations.receive(Rank{(me + ranks - 1) % ranks}, 2, bytes);
            if (me != 0) rest(receive);
            Operation& send = operations.send(Rank{(me + 1) % ranks}, 2, content(bytes, bytes));
            if (me == 0) rest(receive);
            rest(send);
            require(receive.data == content(bytes, bytes), "a message that woke us is another one");
            receive.check();
            send.check();
        }

    std::atomic<bool> ready{false};
    std::thread waker([&] {
        while (!ready) std::this_thread::yield();
        transport.interrupt();
    });
    const auto begin = std::chrono::steady_clock::now();
    ready = true;
    transport.sleep(std::chrono::seconds(30));
    waker.join();
    require(std::chrono::steady_clock::now() - begin < std::chrono::seconds(29), "an interrupt did not wake us");
    transport.set_events(false);
    barrier(transport);
}

void who_is_where(Transport& transport) {
    const auto hosts = transport.hosts();
    require(hosts.size() == transport.size(), "not every rank has a host");
    std::uint32_t next = 0;
    for (const std::uint32_t host : hosts) {
        require(host <= next, "hosts are not numbered in order of appearance");
        next = std::max(next, host + 1);
    }
    const auto ranks = exchange(transport, transport.rank().value);
    for (std::uint32_t i = 0; i < ranks.size(); ++i) require(ranks[i] == i, "ranks are mixed up");
    require(!transport.description().empty() && !transport.name().empty(), "a transport without a name");
    require(!transport.lost(), "a rank is said to be lost");
}

}  // namespace loom::conformance
