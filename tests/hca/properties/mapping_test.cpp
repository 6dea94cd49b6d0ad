// Memory of a peer that this process maps: both see each other's stores; what may not be mapped is refused.
#include <fcntl.h>
#include <loom/softhca.h>
#include <sys/mman.h>
#include <unistd.h>

#include <span>

#include "hca/properties/stage.hpp"

namespace loom::properties {
namespace {

constexpr std::size_t area_size = 1 << 16;

// In a memfd, sealed or not.
class Area {
public:
    explicit Area(bool sealed) : file_(memfd_create("area", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
        if (file_ < 0 || ftruncate(file_, area_size) != 0) throw std::runtime_error("memfd");
        if (sealed && fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw std::runtime_error("seal");
        memory_ = mmap(nullptr, area_size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    }
    ~Area() {
        munmap(memory_, area_size);
        close(file_);
    }
    Area(const Area&) = delete;
    Area& operator=(const Area&) = delete;
    [[nodiscard]] std::uint8_t* bytes() const { return static_cast<std::uint8_t*>(memory_); }

private:
    int file_;
    void* memory_ = nullptr;
};

struct Stage {
    Meeting meeting;
    Address owner, other;
    std::atomic<std::uint32_t> key_of_unsealed{0}, key_of_read_only{0};
    std::atomic<std::uint64_t> unsealed{0}, read_only{0};
};

class Mapping : public testing::Test {
protected:
    Company company_;
    Shared<Stage> stage_;
};

TEST_F(Mapping, IsTheOwnersMemoryAndOutlivesItsRegistration) {
    company_.start([&] {
        Host host;
        const Area area(true), unsealed(false), read_only(true);
        Mr mr(ibv_reg_mr(host.pd.get(), area.bytes() + 100, area_size - 100, every_access));
        const Mr of_unsealed(ibv_reg_mr(host.pd.get(), unsealed.bytes(), area_size, every_access));
        const Mr of_read_only(ibv_reg_mr(host.pd.get(), read_only.bytes(), area_size, IBV_ACCESS_REMOTE_READ));
        const Node node = host.node();
        stage_->owner = host.address(node);
        stage_->owner.memory = reinterpret_cast<std::uint64_t>(area.bytes() + 100);
        stage_->owner.rkey = mr->rkey;
        stage_->unsealed = reinterpret_cast<std::uint64_t>(unsealed.bytes());
        stage_->key_of_unsealed = of_unsealed->rkey;
        stage_->read_only = reinterpret_cast<std::uint64_t>(read_only.bytes());
        stage_->key_of_read_only = of_read_only->rkey;
        stage_->meeting.meet();
        host.join(node, stage_->other, patient);
        stage_->meeting.meet();
        area.bytes()[5000] = 7;
        stage_->meeting.meet();  // it maps and writes
        stage_->meeting.meet();
        EXPECT_EQ(area.bytes()[5001], 8);
        mr.reset();
        stage_->meeting.meet();
        stage_->meeting.meet();
        EXPECT_EQ(area.bytes()[5002], 9);
    });
    company_.start([&] {
        Host host;
        Buffer into = host.buffer(64);
        const Node node = host.node();
        stage_->other = host.address(node);
        stage_->meeting.meet();
        host.join(node, stage_->owner, patient);
        stage_->meeting.meet();
        ibv_qp* const qp = node.qp.get();
        // A read brings the connection up.
        const std::vector<ibv_sge> pieces{into.piece(0, 8)};
        Work work(IBV_WR_RDMA_READ, 1, pieces);
        ASSERT_EQ(work.to(stage_->owner.memory, stage_->owner.rkey).post(node), 0);
        ASSERT_EQ(next(node.send_cq).status, IBV_WC_SUCCESS);
        stage_->meeting.meet();
        const std::uint64_t at = stage_->owner.memory, length = area_size - 100;
        const std::uint32_t key = stage_->owner.rkey;
        EXPECT_EQ(loom_map(qp, key, at, length + 1), nullptr) << "too long";
        EXPECT_EQ(loom_map(qp, key, at - 1, 8), nullptr) << "before the beginning";
        EXPECT_EQ(loom_map(qp, key, at + length, 1), nullptr) << "behind the end";
        EXPECT_EQ(loom_map(qp, key, at + 8, SIZE_MAX), nullptr) << "far too long";
        EXPECT_EQ(loom_map(qp, key + 1, at, 8), nullptr) << "another key";
        EXPECT_EQ(loom_map(qp, key, at, 0), nullptr) << "nothing";
        EXPECT_EQ(loom_map(qp, stage_->key_of_unsealed, stage_->unsealed, 8), nullptr) << "a file that may shrink";
        EXPECT_EQ(loom_map(qp, stage_->key_of_read_only, stage_->read_only, 8), nullptr) << "not to be written";
        auto* const mapped = static_cast<std::uint8_t*>(loom_map(qp, key, at, length));
        ASSERT_NE(mapped, nullptr);
        EXPECT_EQ(mapped[4900], 7);
        mapped[4901] = 8;
        stage_->meeting.meet();
        stage_->meeting.meet();
        mapped[4902] = 9;
        loom_unmap(mapped, length);
        EXPECT_EQ(loom_map(qp, key, at, 8), nullptr) << "a key that is gone";
        stage_->meeting.meet();
    });
    company_.finish();
}

}  // namespace
}  // namespace loom::properties
