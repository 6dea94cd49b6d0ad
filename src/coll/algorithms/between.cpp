#include "loom/coll/between.hpp"

#include "coll/algorithms/trees.hpp"
#include "loom/base/error.hpp"

namespace loom::coll {
namespace {

Team ranks_from(std::uint32_t begin, std::uint32_t number, Rank me) {
    Team team;
    team.ranks.reserve(number);
    for (std::uint32_t i = 0; i < number; ++i) {
        if (begin + i == me.value) team.me = i;
        team.ranks.emplace_back(begin + i);
    }
    return team;
}

bool rooted(Collective what) {
    return what == Collective::broadcast || what == Collective::gather || what == Collective::gatherv ||
           what == Collective::scatter || what == Collective::scatterv || what == Collective::reduce;
}

class Between {
public:
    Between(const TwoGroups& groups, const Call& call)
        : groups_(groups), call_(call), writer_(groups.size, groups.me), is_root_(groups.me == call.root) {}

    Plan write() {
        if (call_.in_place) throw UsageError("between two groups nothing is in place");
        if (rooted(call_.what)) {
            if (call_.root.value >= groups_.size) throw UsageError("the root is in neither of the two groups");
            if (!is_root_ && groups_.together(call_.root, groups_.me)) return writer_.finish();
        }
        parts();
        return writer_.finish();
    }

private:
    void parts() {
        switch (call_.what) {
            case Collective::barrier:
                disseminate(writer_, ranks_from(0, groups_.size, groups_.me), 1, {}, 0);
                return;
            case Collective::broadcast:
                return broadcast();
            case Collective::gather:
                return is_root_ ? receive_all(BlockPieces::even(call_.bytes, groups_.theirs()))
                                : send_root(call_.bytes);
            case Collective::gatherv:
                return is_root_ ? receive_all(blocks(call_.received)) : send_root(first(call_.sent));
            case Collective::scatter:
                return is_root_ ? send_all(BlockPieces::even(call_.bytes, groups_.theirs()))
                                : receive_root(call_.bytes);
            case Collective::scatterv:
                return is_root_ ? send_all(blocks(call_.sent)) : receive_root(first(call_.received));
            case Collective::allgatherv:
                receive_all(blocks(call_.received));
                return send_all(BlockPieces::given({alike(first(call_.sent)), alike(0)}));
            case Collective::alltoallv:
                receive_all(blocks(call_.received));
                return send_all(blocks(call_.sent));
            case Collective::reduce:
                return reduce();
            case Collective::allreduce:
                return allreduce();
            case Collective::reduce_scatter:
                if (call_.received.bytes.size() != groups_.ours()) throw UsageError(few_blocks);
                return reduce_scatter(BlockPieces::packed(call_.received.bytes));
            case Collective::reduce_scatter_block:
                return reduce_scatter(BlockPieces::even(call_.bytes, groups_.ours()));
            default:
                throw UsageError("there is no " + std::string(to_string(call_.what)) + " between two groups");
        }
    }

    static constexpr const char* few_blocks = "blocks are missing: there is one for each rank";

    [[nodiscard]] BlockPieces blocks(const Blocks& given) const {
        if (given.bytes.size() != groups_.theirs() || given.at.size() != groups_.theirs()) throw UsageError(few_blocks);
        return BlockPieces::given(given);
    }
    static std::uint64_t first(const Blocks& given) {
        if (given.bytes.empty()) throw UsageError(few_blocks);
        return given.bytes[0];
    }
    std::span<const std::uint64_t> alike(std::uint64_t value) { return kept_.emplace_back(groups_.theirs(), value); }

    // The other group's i-th rank, beginning with another one on every rank so that not all send to the same.
    template <class Visit>
    void each_there(Visit&& visit) const {
        const std::uint32_t number = groups_.theirs();
        for (std::uint32_t k = 0; k < number; ++k) {
            const std::uint32_t i = (k + groups_.me.value) % number;
            visit(i, Rank(groups_.there() + i));
        }
    }
    void send_all(const BlockPieces& layout) {
        each_there([&](std::uint32_t i, Rank rank) {
            if (layout[i].bytes > 0) writer_.send(rank, input(layout[i].at), layout[i].bytes);
        });
    }
    void receive_all(const BlockPieces& layout) {
        each_there([&](std::uint32_t i, Rank rank) {
            if (layout[i].bytes > 0) writer_.receive(rank, output(layout[i].at), layout[i].bytes);
        });
    }
    void send_root(std::uint64_t bytes) {
        if (bytes > 0) writer_.send(call_.root, input(), bytes);
    }
    void receive_root(std::uint64_t bytes) {
        if (bytes > 0) writer_.receive(call_.root, output(), bytes);
    }

    [[nodiscard]] std::vector<Piece> cuts(std::uint64_t bytes) const {
        return segments(bytes, call_.element, usual_segment);
    }
    [[nodiscard]] Team our_team() const { return ranks_from(groups_.here(), groups_.ours(), groups_.me); }

    void broadcast() {
        Team team;
        team.ranks.push_back(call_.root);
        const Team others = is_root_ ? ranks_from(groups_.there(), groups_.theirs(), groups_.me) : our_team();
        team.ranks.insert(team.ranks.end(), others.ranks.begin(), others.ranks.end());
        team.me = is_root_ ? 0 : others.me + 1;
        send_down(writer_, team, binomial_node(team.me, team.size()), output(), cuts(call_.bytes), {});
    }

    // What the own group gave, from its first rank to `to`.
    void give(std::uint64_t bytes, Rank to) {
        const Team team = our_team();
        const auto pieces = cuts(bytes);
        const Place sum = team.me == 0 ? writer_.take_scratch(bytes) : Place{};
        const auto ready = reduce_up(writer_, team, binomial_node(team.me, team.size()), own_value(input()), sum,
                                     pieces, call_.commutative);
        if (team.me != 0) return;
        for (std::uint32_t i = 0; i < pieces.size(); ++i)
            writer_.send(to, sum + pieces[i].at, pieces[i].bytes, ready[i], i);
    }
    // What the other group gave.
    std::vector<Waits> get(std::uint64_t bytes, Place at) {
        std::vector<Waits> here;
        std::uint32_t tag = 0;
        for (const Piece& piece : cuts(bytes))
            here.emplace_back(writer_.receive(Rank(groups_.there()), at + piece.at, piece.bytes, {}, tag++));
        return here;
    }

    void reduce() {
        if (is_root_)
            get(call_.bytes, output());
        else
            give(call_.bytes, call_.root);
    }

    void allreduce() {
        give(call_.bytes, Rank(groups_.there()));
        const Team team = our_team();
        std::vector<Waits> here;
        if (team.me == 0) here = get(call_.bytes, output());
        const auto pieces = cuts(call_.bytes);
        send_down(writer_, team, binomial_node(team.me, team.size()), output(), pieces, here,
                  static_cast<std::uint32_t>(pieces.size()));
    }

    void reduce_scatter(const BlockPieces& layout) {
        give(layout.total(), Rank(groups_.there()));
        const Team team = our_team();
        const auto tag = static_cast<std::uint32_t>(cuts(layout.total()).size());
        if (team.me != 0) {
            if (layout[team.me].bytes > 0) writer_.receive(team[0], output(), layout[team.me].bytes, {}, tag);
            return;
        }
        const Place all = writer_.take_scratch(layout.total());
        Waits here;
        for (const Waits& piece : get(layout.total(), all)) here.add(piece);
        here = joined(writer_, here);
        for (std::uint32_t i = 1; i < team.size(); ++i)
            if (layout[i].bytes > 0) writer_.send(team[i], all + layout[i].at, layout[i].bytes, here, tag);
        if (layout[0].bytes > 0) writer_.copy(all, output(), layout[0].bytes, here);
    }

    const TwoGroups& groups_;
    const Call& call_;
    Writer writer_;
    bool is_root_;
    std::vector<std::vector<std::uint64_t>> kept_;
};

}  // namespace

Plan plan_between(const TwoGroups& groups, const Call& call) {
    return Between(groups, call).write();
}

}  // namespace loom::coll
