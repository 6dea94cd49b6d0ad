// The host's parts by themselves.
#include <gmock/gmock.h>

#include "device/check/shadow.hpp"
#include "device/host/flush.hpp"
#include "device/host/later.hpp"
#include "device/kernels.hpp"
#include "loom/base/random.hpp"

namespace loom::device {
namespace {

TEST(FlushCounter, is_the_number_up_to_which_all_are_complete) {
    FlushCounter counter;

    counter.complete(2);
    counter.complete(3);
    EXPECT_EQ(counter.done(), 0u);
    counter.complete(1);
    EXPECT_EQ(counter.done(), 3u);
    counter.complete(4);
    EXPECT_EQ(counter.done(), 4u);
}

TEST(FlushCounter, equals_a_set_of_numbers_in_any_order) {
    Random random(1);
    for (int round = 0; round < 100; ++round) {
        FlushCounter counter;
        std::vector<std::uint32_t> numbers(50);
        for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i + 1;
        random.shuffle(std::span(numbers));
        std::vector<bool> complete(numbers.size() + 2);

        for (const std::uint32_t number : numbers) {
            counter.complete(number);
            complete[number] = true;
            std::uint32_t expected = 0;
            while (complete[expected + 1]) ++expected;
            ASSERT_EQ(counter.done(), expected);
        }
    }
}

TEST(Later, keeps_the_order_of_what_was_added) {
    Later<int> later;
    std::vector<int> taken;
    later.add({}, {}, 1);
    later.add({}, {}, 2);

    EXPECT_TRUE(later.take_due([&](int each) { taken.push_back(each); }));
    EXPECT_FALSE(later.take_due([&](int each) { taken.push_back(each); }));
    later.add(now(), seconds(3600), 3);
    later.add({}, {}, 4);  // waits behind it
    EXPECT_FALSE(later.take_due([&](int each) { taken.push_back(each); }));

    EXPECT_THAT(taken, testing::ElementsAre(1, 2));
}

struct Queue {
    explicit Queue(std::uint32_t bits) : entries(1u << bits), ring{entries.data(), &tail, nullptr, bits} {}
    std::vector<Entry> entries;
    std::uint32_t tail = 0;
    Ring ring;
};

TEST(Ring, is_a_queue_that_fills_up_and_goes_round) {
    Queue queue(2);
    Producer producer{};
    Consumer consumer{};
    Random random(3);
    std::uint32_t pushed = 0, popped = 0;

    for (int i = 0; i < 10'000; ++i) {
        if (random.below(2) == 0 && has_room(queue.ring, producer)) {
            push(queue.ring, producer, Entry{{pushed++}, 0});
        } else if (has_entry(queue.ring, consumer)) {
            EXPECT_EQ(pop(queue.ring, consumer).word[0], popped++);
        }
        ASSERT_LE(pushed - popped, 4u);
        EXPECT_EQ(has_entry(queue.ring, consumer), popped != pushed);
    }

    EXPECT_GT(popped, 1000u);
}

TEST(Ring, reads_the_tail_only_when_it_seems_full) {
    Queue queue(2);
    Producer producer{};
    Consumer consumer{};
    for (std::uint32_t i = 0; i < 4; ++i) push(queue.ring, producer, Entry{{i}, 0});
    EXPECT_FALSE(has_room(queue.ring, producer));
    (void)pop(queue.ring, consumer);
    EXPECT_FALSE(has_room(queue.ring, producer)) << "the consumer tells every half ring";
    (void)pop(queue.ring, consumer);

    EXPECT_TRUE(has_room(queue.ring, producer));
    EXPECT_EQ(producer.tail, 2u);
}

TEST(Ring, wraps_with_counts_that_overflow) {
    Queue queue(2);
    Producer producer{0xfffffffcu, 0xfffffffcu};
    Consumer consumer{0xfffffffcu};
    for (std::uint32_t i = 0; i < 20; ++i) {
        ASSERT_TRUE(has_room(queue.ring, producer));
        push(queue.ring, producer, Entry{{i}, 0});
        ASSERT_TRUE(has_entry(queue.ring, consumer));
        EXPECT_EQ(pop(queue.ring, consumer).word[0], i);
        EXPECT_FALSE(has_entry(queue.ring, consumer));
    }
}

// Every pair of accesses, one after another: the slow, obvious way.
TEST(Shadow, equals_comparing_every_pair_of_accesses) {
    Random random(5);
    int races = 0;
    for (int round = 0; round < 300; ++round) {
        Shadow shadow;
        struct Access {
            std::uint64_t address, bytes;
            Touch touch;
        };
        std::vector<Access> accesses;
        std::vector<std::uint32_t> times(3, 1);
        std::vector<VectorClock> clocks(3, VectorClock(3));
        for (std::uint32_t i = 0; i < 12; ++i) {
            const std::uint32_t who = random.below(3);
            clocks[who].set(who, times[who]);
            if (random.below(3) == 0) {  // learns of another, who begins something new
                const std::uint32_t other = random.below(3);
                clocks[who].join(clocks[other]);
                clocks[other].set(other, ++times[other]);
                clocks[who].set(who, times[who]);
            }
            const Access access{random.below(24), 1 + random.below(12), {who, times[who], random.below(2) == 0, i}};

            bool expected = false;
            for (const Access& each : accesses)
                expected |= each.address < access.address + access.bytes &&
                            access.address < each.address + each.bytes && (each.touch.write || access.touch.write) &&
                            each.touch.component != who && each.touch.clock > clocks[who][each.touch.component];
            const auto found = shadow.touch(access.address, access.bytes, access.touch, clocks[who]);

            ASSERT_EQ(found.has_value(), expected) << "round " << round << ", access " << i;
            races += expected;
            if (expected) break;
            accesses.push_back(access);
        }
    }
    EXPECT_GT(races, 50);
}

TEST(Delays, of_a_payload_are_direct_or_staged_by_size) {
    Delays delays;
    delays.direct = microseconds(1);
    delays.direct_bytes = 1e9;
    delays.staging = microseconds(10);
    delays.staging_bytes = 10e9;
    delays.staging_from = 100'000;

    EXPECT_EQ(delays.of_payload(0), Time{});
    EXPECT_EQ(delays.of_payload(1000), microseconds(2));
    EXPECT_EQ(delays.of_payload(100'000), microseconds(20));
}

TEST(Options, come_from_settings) {
    const auto options = Options::from_environment();

    EXPECT_FALSE(options.check_races);
    EXPECT_EQ(options.manager, Manager::verbs);
    EXPECT_EQ(options.ranks, 0u);
}

}  // namespace
}  // namespace loom::device
