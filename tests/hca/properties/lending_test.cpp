// Memory that was announced to its reader: the bytes are those that were there, whatever was lent, read or taken back.
#include <loom/softhca.h>

#include <sys/syscall.h>
#include <sys/uio.h>

#include <csignal>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <utility>

#include "hca/properties/stage.hpp"
#include "loom/base/random.hpp"

namespace {
void (*before_reading)() = nullptr;  // called once, when a loan was found and is about to be read
}

// In place of the C library's, also for the library under test.
extern "C" __attribute__((visibility("default"))) ssize_t readv(int fd, const iovec* pieces, int count) {
    if (void (*const now)() = std::exchange(before_reading, nullptr); now != nullptr) now();
    return syscall(SYS_readv, fd, pieces, count);
}

namespace loom::properties {
namespace {

constexpr std::size_t area_size = 3 << 20;

// Pages of their own, so that there can be others at the same place.
class Pages {
public:
    Pages() : memory_(map(nullptr, 0)) {}
    ~Pages() { munmap(memory_, area_size); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    [[nodiscard]] std::uint8_t* bytes() const { return static_cast<std::uint8_t*>(memory_); }
    [[nodiscard]] std::span<std::uint8_t> span() const { return {bytes(), area_size}; }
    void replace() {
        munmap(memory_, area_size);
        map(memory_, MAP_FIXED_NOREPLACE);
    }

private:
    static void* map(void* where, int flags) {
        void* memory = mmap(where, area_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
        if (memory == MAP_FAILED || (where != nullptr && memory != where)) throw std::runtime_error("mmap");
        return memory;
    }
    void* memory_;
};

void fill(std::span<std::uint8_t> memory, std::uint64_t seed) {
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::uint8_t>((i * 0x9e3779b97f4a7c15u + seed) >> 32);
}

std::uint8_t value_of(unsigned place) {
    return static_cast<std::uint8_t>(place + 1);
}

struct Stage {
    Meeting meeting;
    Address owner, reader;
    std::atomic<std::uint64_t> seed{0}, offset{0}, length{0};
};

// Two processes that are connected. Each role ends with a meeting, so that nobody leaves early.
class Lending : public testing::Test {
protected:
    using OwnerRole = std::function<void(const Node&, Pages&)>;
    using ReaderRole = std::function<void(const Node&, Buffer&)>;

    void play(const OwnerRole& owner, const ReaderRole& reader) {
        company_.start(
            [&] {
                Host host;
                Pages pages;
                const Mr mr(ibv_reg_mr(host.pd.get(), pages.bytes(), area_size, every_access));
                const Node node = host.node();
                stage_->owner = host.address(node);
                stage_->owner.memory = reinterpret_cast<std::uint64_t>(pages.bytes());
                stage_->owner.rkey = mr->rkey;
                stage_->meeting.meet();
                host.join(node, stage_->reader, patient);
                stage_->meeting.meet();
                await(
                    [&] {  // the reader has said hello
                        const std::uint32_t loan = loom_lend(node.qp.get(), pages.bytes(), 1);
                        loom_take_back(node.qp.get(), loan);
                        return loan != 0;
                    },
                    "the reader");
                stage_->meeting.meet();
                owner(node, pages);
                stage_->meeting.meet();
            },
            counters_.environment());
        company_.start(
            [&] {
                Host host;
                Buffer into = host.buffer(area_size);
                const Node node = host.node();
                stage_->reader = host.address(node);
                stage_->meeting.meet();
                host.join(node, stage_->owner, patient);
                stage_->meeting.meet();
                read(node, into, 0, 1);
                stage_->meeting.meet();
                reader(node, into);
                stage_->meeting.meet();
            },
            counters_.environment());
        company_.finish();
    }

    // One RDMA read from the owner's memory to the same place in ours, in up to three pieces.
    void read(const Node& node, Buffer& into, std::uint64_t offset, std::uint64_t length, unsigned pieces = 1) {
        std::vector<ibv_sge> list;
        std::uint64_t at = 0;
        for (unsigned i = 0; i < pieces; ++i) {
            const std::uint64_t take = i + 1 == pieces ? length - at : length / pieces;
            list.push_back(into.piece(offset + at, take));
            at += take;
        }
        Work work(IBV_WR_RDMA_READ, 1, list);
        ASSERT_EQ(work.to(stage_->owner.memory + offset, stage_->owner.rkey).post(node), 0);
        ASSERT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
    }

    Shared<Stage> stage_;
    const Counters counters_;
    Company company_;
};

TEST_F(Lending, AnyReadGetsWhatIsThere) {
    const unsigned count = rounds(1000);
    play(
        [&](const Node& node, Pages& pages) {
            Random random(11);
            for (unsigned round = 0; round < count; ++round) {
                if (random.below(4) == 0) pages.replace();
                const std::uint64_t length = 1 + random.below(random.below(3) == 0 ? 2u << 20 : 80'000u);
                const std::uint64_t offset =
                    random.below(2) == 0 ? 0 : random.below(static_cast<std::uint32_t>(area_size - length));
                fill(pages.span().subspan(offset, length), round);
                std::vector<std::uint32_t> loans;
                for (std::uint64_t i = random.below(6); i > 0; --i) {
                    // What will be read, parts of it that may follow each other, more than that, or something else.
                    const std::uint64_t kind = random.below(6), third = length / 3;
                    const std::uint64_t from = offset + (kind < 3 ? kind * third : 0);
                    const std::uint64_t bytes = kind < 3 ? third : kind == 3 ? length + 5000 : length;
                    loans.push_back(loom_lend(node.qp.get(), pages.bytes() + from, std::min(bytes, area_size - from)));
                }
                stage_->offset = offset;
                stage_->length = length;
                stage_->meeting.meet();
                stage_->meeting.meet();
                for (const std::uint32_t loan : loans) loom_take_back(node.qp.get(), loan);
            }
        },
        [&](const Node& node, Buffer& into) {
            Random random(12);
            std::vector<std::uint8_t> expected(area_size);
            for (unsigned round = 0; round < count; ++round) {
                stage_->meeting.meet();
                const std::uint64_t offset = stage_->offset, length = stage_->length;
                std::fill_n(into.bytes.begin() + static_cast<std::ptrdiff_t>(offset), length, std::uint8_t{0});
                read(node, into, offset, length, 1 + static_cast<unsigned>(random.below(3)));
                fill(std::span(expected).first(length), round);
                ASSERT_TRUE(std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(length),
                                       into.bytes.begin() + static_cast<std::ptrdiff_t>(offset)))
                    << "round " << round << ", " << length << " bytes at " << offset;
                stage_->meeting.meet();
            }
        });
    EXPECT_EQ(counters_.sum("completion_errors"), 0u);
}

// The owner breaks its word and puts other pages in the place of those it has lent: that shows which were read.
TEST_F(Lending, PagesAreThoseThatWereLentUntilTheyAreTakenBack) {
    constexpr std::uint64_t length = 300'000;
    play(
        [&](const Node& node, Pages& pages) {
            std::fill_n(pages.bytes(), length, std::uint8_t{1});
            const std::uint32_t loan = loom_lend(node.qp.get(), pages.bytes(), length);
            EXPECT_NE(loan, 0u);
            pages.replace();
            std::fill_n(pages.bytes(), length, std::uint8_t{2});
            stage_->meeting.meet();
            stage_->meeting.meet();  // the lent ones were read, and after that those in place

            loom_take_back(node.qp.get(), loan);
            const std::uint32_t unread = loom_lend(node.qp.get(), pages.bytes(), length);
            EXPECT_NE(unread, 0u);
            loom_take_back(node.qp.get(), unread);
            pages.replace();
            std::fill_n(pages.bytes(), length, std::uint8_t{3});
            stage_->meeting.meet();
        },
        [&](const Node& node, Buffer& into) {
            stage_->meeting.meet();
            read(node, into, 0, length);
            EXPECT_EQ(std::count(into.bytes.begin(), into.bytes.begin() + length, 1), std::ptrdiff_t{length});
            read(node, into, 0, length);
            EXPECT_EQ(std::count(into.bytes.begin(), into.bytes.begin() + length, 2), std::ptrdiff_t{length});
            stage_->meeting.meet();
            stage_->meeting.meet();
            read(node, into, 0, length);
            EXPECT_EQ(std::count(into.bytes.begin(), into.bytes.begin() + length, 3), std::ptrdiff_t{length});
        });
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Somebody who never reads what is lent costs no descriptors, and after a while no calls either.
TEST_F(Lending, WhoeverDoesNotReadIsSparedForAWhile) {
    play(
        [&](const Node& node, Pages& pages) {
            const std::size_t before = open_descriptors();
            unsigned lent = 0;
            for (unsigned i = 0; i < 3000; ++i) {
                const std::uint32_t loan = loom_lend(node.qp.get(), pages.bytes(), 1'000'000);
                lent += loan != 0;
                loom_take_back(node.qp.get(), loan);
            }
            EXPECT_GE(lent, 15u);
            EXPECT_LE(lent, 25u);
            EXPECT_LE(open_descriptors(), before + 2);
            // It is asked again, and then reads: all of it, the pipes that nobody emptied hold no room back.
            std::fill_n(pages.bytes(), 1'000'000, std::uint8_t{1});
            std::uint32_t loan = 0;
            for (unsigned i = 0; i < 2000 && loan == 0; ++i) loan = loom_lend(node.qp.get(), pages.bytes(), 1'000'000);
            EXPECT_NE(loan, 0u);
            pages.replace();
            stage_->meeting.meet();
            stage_->meeting.meet();
            loom_take_back(node.qp.get(), loan);
            for (unsigned i = 0; i < 3; ++i) {
                loan = loom_lend(node.qp.get(), pages.bytes(), 1'000'000);
                EXPECT_NE(loan, 0u) << "it read the last one";
                loom_take_back(node.qp.get(), loan);
            }
        },
        [&](const Node& node, Buffer& into) {
            stage_->meeting.meet();
            read(node, into, 0, 1'000'000);
            EXPECT_EQ(std::count(into.bytes.begin(), into.bytes.begin() + 1'000'000, 1), 1'000'000);
            stage_->meeting.meet();
        });
}

TEST_F(Lending, IsRefusedWhereItWouldNotHelp) {
    play(
        [&](const Node& node, Pages& pages) {
            ibv_qp* const qp = node.qp.get();
            EXPECT_EQ(loom_lend(qp, pages.bytes(), 0), 0u);
            EXPECT_EQ(loom_lend(qp, reinterpret_cast<const void*>(std::uintptr_t{4096}), 100), 0u) << "not ours";
            std::vector<std::uint32_t> loans;
            while (const std::uint32_t loan = loom_lend(qp, pages.bytes(), 10'000)) loans.push_back(loan);
            EXPECT_EQ(loans.size(), 4u) << "as many as there are places";
            for (const std::uint32_t loan : {0u, 5u, 99u}) loom_take_back(qp, loan);
            EXPECT_EQ(loom_lend(qp, pages.bytes(), 10'000), 0u) << "no place became free";
            for (const std::uint32_t loan : loans) loom_take_back(qp, loan);
            loom_take_back(qp, loans.front());
            const std::uint32_t again = loom_lend(qp, pages.bytes(), 10'000);
            EXPECT_NE(again, 0u);
            loom_take_back(qp, again);
        },
        [](const Node&, Buffer&) {});
}

// A reader that was late: the loan it found is taken back, and the next one, of another place, would be in the same
// pipe.
TEST_F(Lending, ALoanThatIsTakenBackWhileItsReaderIsLateIsNotTheNext) {
    constexpr std::uint64_t place = 200'000;
    static Stage* late;  // for a function without a state
    late = &*stage_;
    play(
        [&](const Node& node, Pages& pages) {
            std::fill_n(pages.bytes(), place, std::uint8_t{1});
            std::fill_n(pages.bytes() + place, place, std::uint8_t{2});
            const std::uint32_t first = loom_lend(node.qp.get(), pages.bytes(), place);
            EXPECT_NE(first, 0u);
            stage_->meeting.meet();
            stage_->meeting.meet();  // it has found the loan
            loom_take_back(node.qp.get(), first);
            const std::uint32_t next_one = loom_lend(node.qp.get(), pages.bytes() + place, place);
            EXPECT_EQ(next_one, first);
            stage_->meeting.meet();
            stage_->meeting.meet();
            loom_take_back(node.qp.get(), next_one);
        },
        [&](const Node& node, Buffer& into) {
            stage_->meeting.meet();
            before_reading = [] {
                late->meeting.meet();
                late->meeting.meet();
            };
            read(node, into, 0, place);
            EXPECT_EQ(before_reading, nullptr) << "it was not read from a pipe";
            EXPECT_EQ(std::count(into.bytes.begin(), into.bytes.begin() + place, 1), std::ptrdiff_t{place});
            stage_->meeting.meet();
        });
}

// Nobody waits for the other: loans come and go while it reads, and a pipe that was for one place is for another next.
TEST_F(Lending, LoansThatComeAndGoDuringReadsDoNoHarm) {
    constexpr std::uint64_t place = 200'000;
    constexpr unsigned places = 5;
    const unsigned count = rounds(1000);
    play(
        [&](const Node& node, Pages& pages) {
            for (unsigned i = 0; i < places; ++i) std::fill_n(pages.bytes() + i * place, place, value_of(i));
            stage_->meeting.meet();
            Random random(31);
            std::array<std::uint32_t, 4> loans{};
            while (stage_->seed.load(std::memory_order_relaxed) == 0) {
                // Stopped anywhere, also between finding a loan and reading it.
                const bool stopped = random.below(4) == 0;
                if (stopped) kill(static_cast<pid_t>(stage_->offset), SIGSTOP);
                for (unsigned i = 0; i < 12; ++i) {
                    std::uint32_t& loan = loans[random.below(4)];
                    loom_take_back(node.qp.get(), std::exchange(loan, 0));
                    const std::uint64_t from = random.below(places) * place;
                    loan = loom_lend(node.qp.get(), pages.bytes() + from, random.below(2) == 0 ? place : place / 2);
                }
                if (stopped) kill(static_cast<pid_t>(stage_->offset), SIGCONT);
            }
            for (const std::uint32_t loan : loans) loom_take_back(node.qp.get(), loan);
        },
        [&](const Node& node, Buffer& into) {
            stage_->offset = static_cast<std::uint64_t>(getpid());
            stage_->meeting.meet();
            Random random(32);
            unsigned wrong = 0;
            for (unsigned round = 0; round < count; ++round) {
                const unsigned which = random.below(places);
                std::fill_n(into.bytes.begin() + which * place, place, std::uint8_t{0});
                read(node, into, which * place, place);
                const auto begin = into.bytes.begin() + which * place;
                wrong += std::count(begin, begin + place, value_of(which)) != std::ptrdiff_t{place};
            }
            stage_->seed = 1;
            EXPECT_EQ(wrong, 0u) << "reads of " << count;
        });
}

// Loans end with their queue pair, and the next one has all places again.
TEST_F(Lending, LoansEndWithTheirQueuePair) {
    play(
        [&](const Node& node, Pages& pages) {
            for (unsigned i = 0; i < 4; ++i) EXPECT_NE(loom_lend(node.qp.get(), pages.bytes(), 10'000), 0u);
            EXPECT_EQ(conformance::to_state(node, IBV_QPS_RESET), 0);
            Host host;  // another context of this process: the engine stays
            const Node next = host.node();
            host.join(next, stage_->reader, patient);
            unsigned lent = 0;
            while (loom_lend(next.qp.get(), pages.bytes(), 10'000) != 0) ++lent;
            EXPECT_EQ(lent, 4u);
            loom_take_back(node.qp.get(), 1);  // not its own
            EXPECT_EQ(loom_lend(next.qp.get(), pages.bytes(), 10'000), 0u);
        },
        [](const Node&, Buffer&) {});
}

constexpr unsigned readers = 6;

struct Crowd {
    Meeting meeting;
    std::array<Address, readers> owner, reader;
};

// Together they want more than there is for one process: after a while each has its part, also who came last.
TEST_F(Lending, PeersShareWhatRoomThereIs) {
    constexpr std::uint64_t length = 1'000'000;
    constexpr std::uint64_t part = 128 * 4096;  // of 8,192 pages for 7 processes with 6 peers each
    constexpr std::uint32_t everybody = readers + 1;
    Shared<Crowd> crowd;
    Company company;
    company.start([&] {
        Host host;
        Pages pages;
        const Mr mr(ibv_reg_mr(host.pd.get(), pages.bytes(), area_size, every_access));
        std::vector<Node> nodes;
        for (unsigned i = 0; i < readers; ++i) {
            nodes.push_back(host.node());
            crowd->owner[i] = host.address(nodes[i]);
            crowd->owner[i].memory = reinterpret_cast<std::uint64_t>(pages.bytes());
            crowd->owner[i].rkey = mr->rkey;
        }
        crowd->meeting.meet(everybody);
        for (unsigned i = 0; i < readers; ++i) host.join(nodes[i], crowd->reader[i], patient);
        crowd->meeting.meet(everybody);
        crowd->meeting.meet(everybody);  // all have said hello
        for (unsigned round = 0; round < 4; ++round) {
            std::fill_n(pages.bytes(), length, std::uint8_t{1});
            std::array<std::uint32_t, readers> loans{};
            for (unsigned i = 0; i < readers; ++i) loans[i] = loom_lend(nodes[i].qp.get(), pages.bytes(), length);
            if (round == 3) {
                EXPECT_EQ(std::count(loans.begin(), loans.end(), 0u), 0);
            }
            pages.replace();
            crowd->meeting.meet(everybody);
            crowd->meeting.meet(everybody);
            for (unsigned i = 0; i < readers; ++i) loom_take_back(nodes[i].qp.get(), loans[i]);
        }
        crowd->meeting.meet(everybody);
    });
    for (unsigned me = 0; me < readers; ++me)
        company.start([&, me] {
            Host host;
            Buffer into = host.buffer(length);
            const Node node = host.node();
            crowd->reader[me] = host.address(node);
            crowd->meeting.meet(everybody);
            host.join(node, crowd->owner[me], patient);
            crowd->meeting.meet(everybody);
            const auto read_all = [&](std::uint64_t bytes) {
                Work work(IBV_WR_RDMA_READ, 1, {into.piece(0, bytes)});
                ASSERT_EQ(work.to(crowd->owner[me].memory, crowd->owner[me].rkey).post(node), 0);
                ASSERT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
            };
            read_all(1);
            crowd->meeting.meet(everybody);
            for (unsigned round = 0; round < 4; ++round) {
                crowd->meeting.meet(everybody);
                read_all(length);
                const std::ptrdiff_t lent = std::count(into.bytes.begin(), into.bytes.end(), 1);
                if (round == 3) {
                    EXPECT_GE(lent, std::ptrdiff_t{part}) << "reader " << me;
                }
                crowd->meeting.meet(everybody);
            }
            crowd->meeting.meet(everybody);
        });
    company.finish();
}

// Nobody is at the other end, or this very process is.
TEST_F(Lending, IsRefusedWithoutAnotherProcess) {
    Company company;
    company.start([] {
        Host host;
        const Node alone = host.node();
        std::vector<std::uint8_t> memory(100'000);
        EXPECT_EQ(loom_lend(alone.qp.get(), memory.data(), memory.size()), 0u);
        const Node one = host.node(), other = host.node();
        host.join(one, host.address(other), patient);
        host.join(other, host.address(one), patient);
        EXPECT_EQ(loom_lend(one.qp.get(), memory.data(), memory.size()), 0u);
        loom_take_back(one.qp.get(), 1);
    });
    company.finish();
}

}  // namespace
}  // namespace loom::properties
