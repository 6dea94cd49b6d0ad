// The last byte of a write lands last, and memory that is deregistered is left alone.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include <loom/softhca.h>
#include "hca/properties/stage.hpp"
#include "loom/base/random.hpp"

namespace loom::properties {
namespace {

// How bytes come into the target's memory.
enum class Passage : std::uint8_t { direct, mapped, past_caches, by_target };

bool is_shared(Passage passage) {
    return passage == Passage::mapped || passage == Passage::past_caches;
}

std::string name_of(const testing::TestParamInfo<Passage>& passage) {
    switch (passage.param) {
        case Passage::direct:
            return "Direct";
        case Passage::mapped:
            return "Mapped";
        case Passage::past_caches:
            return "PastCaches";
        case Passage::by_target:
            break;
    }
    return "ByTarget";
}

const char* counter_of(Passage passage) {
    return passage == Passage::direct ? "direct" : is_shared(passage) ? "store" : "target";
}

// Memory of the kind that goes by that passage.
class Area {
public:
    Area(Passage passage, std::size_t size) : size_(size) {
        if (!is_shared(passage)) {
            memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        } else {
            file_ = memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            const off_t before = sysconf(_SC_PAGESIZE);  // it does not begin where its file does
            if (ftruncate(file_, before + static_cast<off_t>(size)) != 0) throw std::runtime_error("ftruncate");
            memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, before);
            fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK);
        }
        if (memory_ == MAP_FAILED) throw std::runtime_error("mmap");
    }
    ~Area() {
        munmap(memory_, size_);
        if (file_ >= 0) close(file_);
    }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;
    [[nodiscard]] std::uint8_t* bytes() const { return static_cast<std::uint8_t*>(memory_); }
    // Something else at the same place.
    void replace() {
        munmap(memory_, size_);
        void* again =
            mmap(memory_, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (again != memory_) throw std::runtime_error("the place is taken");
    }

private:
    std::size_t size_;
    int file_ = -1;
    void* memory_ = nullptr;
};

// Programs are compiled with the number, or with a copy of it.
static_assert(LOOM_SEND_PAST_CACHES == 1u << 30);

class Landing : public testing::TestWithParam<Passage> {};

struct Round {
    Meeting meeting;
    Address initiator, target;
    std::atomic<std::uint32_t> seen{0};  // rounds that the target has found whole
    std::atomic<std::uint32_t> size{0}, offset{0};
    std::atomic<std::uint32_t> announced{0};
};

constexpr std::size_t area_size = 80 * 1024;

std::uint8_t value_of(std::uint32_t round) {
    return static_cast<std::uint8_t>(round % 251 + 1);
}

TEST_P(Landing, LastByteLandsLast) {
    const Passage passage = GetParam();
    const std::uint32_t count = rounds(passage == Passage::by_target ? 10'000 : 30'000);
    Shared<Round> shared;
    const Counters counters;
    Company company;

    company.start(
        [&] {
            if (passage == Passage::by_target) deny_process_copies();
            Host host;
            const Area area(passage, area_size);
            const Mr mr(ibv_reg_mr(host.pd.get(), area.bytes(), area_size, every_access));
            const Node node = host.node();
            shared->target = host.address(node);
            shared->target.memory = reinterpret_cast<std::uint64_t>(area.bytes());
            shared->target.rkey = mr->rkey;
            shared->meeting.meet();
            host.join(node, shared->initiator, patient);
            shared->meeting.meet();
            std::vector<std::uint8_t> whole(area_size);
            std::uint32_t early = 0;
            for (std::uint32_t round = 1; round <= count; ++round) {
                await([&] { return shared->announced.load(std::memory_order_acquire) == round; }, "a round");
                const std::uint32_t size = shared->size.load(), offset = shared->offset.load();
                const volatile std::uint8_t* last = area.bytes() + offset + size - 1;
                await([&] { return *last == value_of(round); }, "the last byte");
                std::atomic_thread_fence(std::memory_order_acquire);
                std::memcpy(whole.data(), area.bytes() + offset, size);
                if (static_cast<std::size_t>(std::count(whole.begin(), whole.begin() + size, value_of(round))) != size)
                    ++early;
                shared->seen.store(round, std::memory_order_release);
            }
            EXPECT_EQ(early, 0u) << "writes of " << count << " whose last byte was there before others";
            shared->meeting.meet();
        },
        counters.environment());
    company.start(
        [&] {
            if (passage == Passage::by_target) deny_process_copies();
            Host host;
            Buffer source = host.buffer(area_size), read_back = host.buffer(area_size);
            const Node node = host.node();
            shared->initiator = host.address(node);
            shared->meeting.meet();
            host.join(node, shared->target, patient);
            shared->meeting.meet();
            Random random(1);
            for (std::uint32_t round = 1; round <= count; ++round) {
                const std::uint32_t size = (1024u << random.below(7)) - random.below(16), offset = random.below(4096);
                std::memset(source.bytes.data(), value_of(round), size);
                shared->size.store(size);
                shared->offset.store(offset);
                shared->announced.store(round, std::memory_order_release);
                Work work(IBV_WR_RDMA_WRITE, round, {source.piece(0, size)});
                if (passage == Passage::past_caches) work.flags(IBV_SEND_SIGNALED | LOOM_SEND_PAST_CACHES);
                ASSERT_EQ(work.to(shared->target.memory + offset, shared->target.rkey).post(node), 0);
                ASSERT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
                await([&] { return shared->seen.load(std::memory_order_acquire) == round; }, "the target to look");
                if (round % 16 != 0) continue;
                Work back(IBV_WR_RDMA_READ, round, {read_back.piece(offset, size)});
                if (passage == Passage::past_caches) back.flags(IBV_SEND_SIGNALED | LOOM_SEND_PAST_CACHES);
                ASSERT_EQ(back.to(shared->target.memory + offset, shared->target.rkey).post(node), 0);
                ASSERT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
                const auto first = read_back.bytes.begin() + offset;
                ASSERT_EQ(static_cast<std::size_t>(std::count(first, first + size, value_of(round))), size);
            }
            shared->meeting.meet();
        },
        counters.environment());
    company.finish();

    const std::uint64_t bytes = counters.sum("sent_bytes", counter_of(passage));
    EXPECT_GT(bytes, std::uint64_t{count} * 1000);
    EXPECT_EQ(counters.sum("sent_bytes", "direct") + counters.sum("sent_bytes", "store") +
                  counters.sum("sent_bytes", "target") + counters.sum("sent_bytes", "roce"),
              bytes);
}

struct Withdrawal {
    Meeting meeting;
    Address initiator, target;
    std::atomic<std::uint32_t> withdrawn{0};  // rounds whose memory is deregistered
};

// The initiator writes all the time; at some moment the memory is taken away and used for something else.
TEST_P(Landing, DeregisteredMemoryIsLeftAlone) {
    constexpr std::size_t size = 512 * 1024;
    constexpr std::uint8_t theirs = 0x11, ours = 0xa5;
    const Passage passage = GetParam();
    const std::uint32_t count = rounds(200);
    Shared<Withdrawal> shared;
    Company company;

    company.start([&] {
        if (passage == Passage::by_target) deny_process_copies();
        Host host;
        Random random(2);
        std::uint32_t touched = 0;
        for (std::uint32_t round = 1; round <= count; ++round) {
            Area area(passage, size);
            Mr mr(ibv_reg_mr(host.pd.get(), area.bytes(), size, every_access));
            const Node node = host.node();
            shared->target = host.address(node);
            shared->target.memory = reinterpret_cast<std::uint64_t>(area.bytes());
            shared->target.rkey = mr->rkey;
            shared->meeting.meet();
            host.join(node, shared->initiator, patient);
            shared->meeting.meet();
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(1000)));
            ASSERT_EQ(ibv_dereg_mr(mr.release()), 0);
            // The memory file stays what it was: whoever still has it mapped must not write to it either.
            if (!is_shared(passage)) area.replace();
            std::memset(area.bytes(), ours, size);
            shared->withdrawn.store(round);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            shared->meeting.meet();  // the initiator has been refused
            if (static_cast<std::size_t>(std::count(area.bytes(), area.bytes() + size, ours)) != size) ++touched;
            shared->meeting.meet();
        }
        EXPECT_EQ(touched, 0u) << "rounds of " << count << " with writes after the deregistration";
    });
    company.start([&] {
        if (passage == Passage::by_target) deny_process_copies();
        Host host;
        const Buffer source = host.buffer(size, theirs);
        for (std::uint32_t round = 1; round <= count; ++round) {
            const Node node = host.node();
            shared->initiator = host.address(node);
            shared->meeting.meet();
            host.join(node, shared->target, patient);
            shared->meeting.meet();
            ibv_wc_status status = IBV_WC_SUCCESS;
            while (status == IBV_WC_SUCCESS) {
                const bool late = shared->withdrawn.load() == round;
                Work work(IBV_WR_RDMA_WRITE, round, {source.all()});
                if (passage == Passage::past_caches) work.flags(IBV_SEND_SIGNALED | LOOM_SEND_PAST_CACHES);
                ASSERT_EQ(work.to(shared->target.memory, shared->target.rkey).post(node), 0);
                status = next(node.send_cq).status;
                ASSERT_FALSE(late && status == IBV_WC_SUCCESS) << "a write to deregistered memory";
            }
            EXPECT_STREQ(ibv_wc_status_str(status), ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR));
            shared->meeting.meet();
            shared->meeting.meet();
        }
    });

    company.finish();
}

// The program polls memory that its own adapter's thread writes, as an adapter would: a race to the thread sanitizer.
#ifdef __SANITIZE_THREAD__
INSTANTIATE_TEST_SUITE_P(Passages, Landing, testing::Values(Passage::direct, Passage::mapped, Passage::past_caches),
                         name_of);
#else
INSTANTIATE_TEST_SUITE_P(Passages, Landing,
                         testing::Values(Passage::direct, Passage::mapped, Passage::past_caches, Passage::by_target),
                         name_of);
#endif

}  // namespace
}  // namespace loom::properties
