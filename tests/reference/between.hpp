// Collectives between two groups: random calls, and what they mean. Slow and obvious.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "loom/coll/between.hpp"
#include "reference/collective_cases.hpp"

namespace loom::reference {

// calls[r], before[r] of all ranks of both groups.
struct BetweenCase {
    coll::TwoGroups groups;  // me is for whoever uses it to set
    std::vector<coll::Call> calls;
    std::vector<RankData> before;
    coll::Reduction op;
    std::vector<CollectiveCase::Lists> sent, received;

    [[nodiscard]] coll::TwoGroups seen_by(std::uint32_t rank) const {
        coll::TwoGroups groups_there = groups;
        groups_there.me = Rank{rank};
        return groups_there;
    }
};

inline std::unique_ptr<BetweenCase> random_case_between(std::uint64_t seed, coll::Collective what, std::uint32_t first,
                                                        std::uint32_t second, std::uint64_t most) {
    using coll::Collective;
    Random random(seed);
    auto made = std::make_unique<BetweenCase>();
    BetweenCase& one = *made;
    const std::uint32_t n = first + second;
    one.groups = {first, n, {}};
    one.op = random.below(2) == 0 ? affine() : sum();
    const bool reduces = what >= Collective::reduce && what <= Collective::exscan;
    const std::uint32_t element = reduces ? one.op.element : 1;
    const auto some = [&] { return cases::random_size(random, most, element); };
    coll::Call call;
    call.what = what;
    call.root = Rank{random.below(n)};
    call.element = element;
    call.commutative = one.op.commutative;
    call.bytes = some();
    one.calls.assign(n, call);
    one.sent.resize(n);
    one.received.resize(n);
    std::vector<std::uint64_t> in(n, 0), out(n, 0);
    const std::uint64_t whole = call.bytes * first * second;  // divisible on both sides
    for (std::uint32_t r = 0; r < n; ++r) {
        const coll::TwoGroups groups = one.seen_by(r);
        switch (what) {
            case Collective::broadcast:
            case Collective::reduce:
            case Collective::allreduce:
                in[r] = out[r] = call.bytes;
                break;
            case Collective::gather:
            case Collective::scatter:
                in[r] = out[r] = call.bytes * groups.theirs();
                break;
            case Collective::reduce_scatter_block:
                one.calls[r].bytes = whole / groups.ours();
                in[r] = whole;
                out[r] = one.calls[r].bytes;
                break;
            case Collective::reduce_scatter: {
                // All but the last of a group get some of what is left.
                std::vector<std::uint64_t>& bytes = one.received[groups.here()].bytes;
                if (r == groups.here())
                    for (std::uint64_t i = 0, left = whole; i < groups.ours(); ++i) {
                        bytes.push_back(i + 1 == groups.ours() ? left : left / 3 / element * element);
                        left -= bytes.back();
                    }
                one.received[r].bytes = bytes;
                in[r] = whole;
                out[r] = bytes[r - groups.here()];
                break;
            }
            default: {  // with lists
                const bool gives_one = what == Collective::gatherv || what == Collective::allgatherv;
                one.sent[r].bytes.resize(gives_one ? 1 : groups.theirs());
                for (std::uint64_t& bytes : one.sent[r].bytes) bytes = some();
                in[r] = cases::lay_out(random, one.sent[r]);
                if (gives_one) one.sent[r].at = {0};
            }
        }
    }
    if (what == Collective::gatherv || what == Collective::scatterv || what == Collective::allgatherv ||
        what == Collective::alltoallv)
        for (std::uint32_t r = 0; r < n; ++r) {
            const coll::TwoGroups groups = one.seen_by(r);
            for (std::uint32_t i = 0; i < groups.theirs(); ++i) {
                const auto& theirs = one.sent[groups.there() + i].bytes;
                one.received[r].bytes.push_back(theirs.size() == 1 ? theirs[0] : theirs[r - groups.here()]);
            }
            if (what == Collective::scatterv)
                one.received[r].bytes = {
                    groups.together(groups.me, call.root) ? 0 : one.sent[call.root.value].bytes[r - groups.here()]};
            out[r] = cases::lay_out(random, one.received[r]);
            if (what == Collective::scatterv) one.received[r].at = {0};
        }
    for (std::uint32_t r = 0; r < n; ++r) {
        one.calls[r].sent = {one.sent[r].bytes, one.sent[r].at};
        one.calls[r].received = {one.received[r].bytes, one.received[r].at};
        one.before.push_back({cases::random_data(random, in[r]), cases::random_data(random, out[r])});
    }
    return made;
}

// Every rank's output afterwards.
inline std::vector<Data> run_between(const BetweenCase& one) {
    using coll::Collective;
    using namespace collective;
    std::vector<Data> after;
    for (const RankData& data : one.before) after.push_back(data.output);
    const Collective what = one.calls[0].what;
    const std::uint32_t root = one.calls[0].root.value;
    const bool rooted = what == Collective::broadcast || what == Collective::gather || what == Collective::gatherv ||
                        what == Collective::scatter || what == Collective::scatterv || what == Collective::reduce;
    for (std::uint32_t r = 0; r < one.groups.size; ++r) {
        const coll::TwoGroups groups = one.seen_by(r);
        const coll::Call& call = one.calls[r];
        const bool gets =
            !rooted || (what == Collective::gather || what == Collective::gatherv || what == Collective::reduce
                            ? r == root
                            : !groups.together(groups.me, call.root));
        if (!gets || what == Collective::barrier) continue;
        if (what >= Collective::reduce) {
            std::vector<Data> given;
            for (std::uint32_t i = 0; i < groups.theirs(); ++i) given.push_back(one.before[groups.there() + i].input);
            Data sum = fold(given, 0, given.size() - 1, one.op);
            std::uint64_t at = 0;
            for (std::uint32_t i = groups.here(); i < r; ++i)
                at += what == Collective::reduce_scatter         ? call.received.bytes[i - groups.here()]
                      : what == Collective::reduce_scatter_block ? call.bytes
                                                                 : 0;
            put(after[r], 0, piece(sum, at, after[r].size()));
            continue;
        }
        for (std::uint32_t i = 0; i < groups.theirs(); ++i) {
            const std::uint32_t from = groups.there() + i, mine = r - groups.here();
            const RankData& data = one.before[from];
            const coll::Blocks& sent = one.calls[from].sent;
            const bool from_root = from == root;
            if (what == Collective::broadcast && from_root) put(after[r], 0, data.output);
            if (what == Collective::scatter && from_root)
                put(after[r], 0, piece(data.input, mine * call.bytes, call.bytes));
            if (what == Collective::scatterv && from_root)
                put(after[r], 0, piece(data.input, sent.at[mine], sent.bytes[mine]));
            if (what == Collective::gather) put(after[r], i * call.bytes, piece(data.input, 0, call.bytes));
            if (what == Collective::gatherv || what == Collective::allgatherv)
                put(after[r], call.received.at[i], piece(data.input, 0, sent.bytes[0]));
            if (what == Collective::alltoallv)
                put(after[r], call.received.at[i], piece(data.input, sent.at[mine], sent.bytes[mine]));
        }
    }
    return after;
}

}  // namespace loom::reference
