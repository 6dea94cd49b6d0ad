// LOOM_COLL_CHECK: whether all ranks call the same, before anything is moved.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/engine.hpp"
#include "loom/coll/call.hpp"

namespace loom::coll {

// What a rank says of its call: what must be alike on all.
struct CallRecord {
    std::uint32_t what = schedule;
    std::uint32_t root = 0;
    std::uint64_t bytes = 0;
    std::uint32_t element = 0;
    std::uint32_t commutative = 0;

    static constexpr std::uint32_t schedule = ~std::uint32_t{0};  // of somebody's own
    friend bool operator==(const CallRecord&, const CallRecord&) = default;
};
[[nodiscard]] CallRecord record_of(const Call& call);

// "rank 0 calls broadcast of 8 bytes with root 0, rank 2 calls barrier"; empty: all are alike.
[[nodiscard]] std::string differences(std::span<const CallRecord> records);

// An allgather of records before an operation, which begins when all have come. It lives until that has ended.
class Check {
public:
    Check(const CallRecord& mine, std::size_t ranks) : mine_(mine), all_(ranks) {}

    [[nodiscard]] Buffers buffers() {
        return {reinterpret_cast<const std::byte*>(&mine_), reinterpret_cast<std::byte*>(all_.data())};
    }
    [[nodiscard]] std::span<const CallRecord> all() const { return all_; }

    // Of the messages of a check, beside those of the operation that it is for.
    static constexpr std::uint64_t tag_bit = 1u << 23;

private:
    CallRecord mine_;
    std::vector<CallRecord> all_;
};

}  // namespace loom::coll
