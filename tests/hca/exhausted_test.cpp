// No function of the C interface lets an exception out, whichever of its allocations fails.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <new>

#include "hca/engine_bed.hpp"

namespace {

thread_local int allocations_left = -1;  // until one fails; negative: none does

// Out of line: the compiler does not see that what is deleted came from malloc.
[[gnu::noinline]] void* allocate(std::size_t bytes) {
    if (allocations_left == 0) return nullptr;
    if (allocations_left > 0) --allocations_left;
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void release(void* memory) {
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) {
    if (void* const memory = allocate(bytes); memory != nullptr) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    release(memory);
}

namespace loom::hca {
namespace {

class Exhausted : public EngineTest {
protected:
    // Lets the first allocation fail, then the second, and so on until the call gets through. Returns how many failed.
    static int try_until_done(const std::function<int()>& call) {
        for (int failing = 0;; ++failing) {
            allocations_left = failing;
            const int error = call();
            allocations_left = -1;
            if (error == 0) return failing;
            EXPECT_EQ(error, ENOMEM) << "allocation " << failing;
            if (failing == 1000) return failing;
        }
    }
    template <class Object>
    static int made(Object*& object, Object* result) {
        object = result;
        return result != nullptr ? 0 : errno;
    }
};

TEST_F(Exhausted, ObjectsAreMadeWholeOrNotAtAll) {
    ibv_pd* pd = nullptr;
    EXPECT_GT(try_until_done([&] { return made(pd, api::alloc_pd(context_)); }), 0);
    ibv_comp_channel* channel = nullptr;
    EXPECT_GT(try_until_done([&] { return made(channel, api::create_channel(context_)); }), 0);
    Cq* cq = nullptr;
    EXPECT_GT(try_until_done([&] { return made(cq, api::create_cq(context_, 16, nullptr, channel, 0)); }), 0);
    auto* const cq_abi = reinterpret_cast<ibv_cq*>(&cq->abi);
    EXPECT_GT(try_until_done([&] { return api::resize_cq(cq_abi, 100); }), 0);
    ibv_mr* mr = nullptr;
    EXPECT_GT(try_until_done([&] { return made(mr, api::reg_mr(pd, memory_.data(), 64, 0, IBV_ACCESS_LOCAL_WRITE)); }),
              0);
    ibv_srq* srq = nullptr;
    ibv_srq_init_attr shared{};
    shared.attr = {8, 1, 0};
    EXPECT_GT(try_until_done([&] { return made(srq, api::create_srq(pd, &shared)); }), 0);
    ibv_srq_attr larger{64, 1, 0};
    EXPECT_GT(try_until_done([&] { return api::modify_srq(srq, &larger, IBV_SRQ_MAX_WR); }), 0);
    ibv_ah_attr address{};
    address.port_num = 1;
    address.dlid = context_.hca->lid;
    ibv_ah* ah = nullptr;
    EXPECT_GT(try_until_done([&] { return made(ah, api::create_ah(pd, &address)); }), 0);
    ibv_qp_init_attr pair{};
    pair.qp_type = IBV_QPT_UD;
    pair.send_cq = pair.recv_cq = cq_abi;
    pair.cap = {8, 8, 1, 1, 64};
    Qp* qp = nullptr;
    EXPECT_GT(try_until_done([&] { return made(qp, api::create_qp(pd, &pair)); }), 0);
    ibv_gid group{};
    group.raw[0] = 0xff;
    group.raw[15] = 9;
    EXPECT_GT(try_until_done([&] { return api::attach_mcast(&qp->abi.qp_base, &group, 0); }), 0);

    // What failed has left nothing behind that would keep these from going.
    EXPECT_EQ(api::detach_mcast(&qp->abi.qp_base, &group, 0), 0);
    EXPECT_EQ(api::destroy_qp(&qp->abi.qp_base), 0);
    EXPECT_EQ(api::destroy_ah(ah), 0);
    EXPECT_EQ(api::destroy_srq(srq), 0);
    EXPECT_EQ(api::dereg_mr(mr), 0);
    EXPECT_EQ(api::destroy_cq(cq_abi), 0);
    EXPECT_EQ(api::destroy_channel(channel), 0);
    EXPECT_EQ(api::dealloc_pd(pd), 0);
}

TEST_F(Exhausted, ADeviceThatCannotBeOpenedIsNot) {
    Context other;
    other.verbs.context.num_comp_vectors = 1;

    try_until_done([&] { return api::open(other, config().hcas.front()); });

    EXPECT_EQ(api::close(other), 0);
}

}  // namespace
}  // namespace loom::hca
