// Collectives that move data, with types: i... starts one, without a prefix it is also waited for, persistent_... keeps
// it. Data are ranges or single variables (given.hpp).
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class DataMovement {
public:
    [[nodiscard]] Request ibarrier() const { return detail::begin(self(), detail::Bound{}); }
    void barrier() const { detail::begin(self(), detail::Bound{}).wait(); }
    [[nodiscard]] Persistent persistent_barrier() const { return detail::keep(self(), detail::Bound{}); }

    template <class Data>
    [[nodiscard]] Request ibroadcast(Data&& data, detail::RankArgument root) const {
        return detail::begin(self(),
                             detail::bind_broadcast(Later<const detail::Nothing, Data>(nothing_, data), root.rank));
    }
    template <class Data>
    void broadcast(Data&& data, detail::RankArgument root) const {
        detail::begin(self(), detail::bind_broadcast(Now<const detail::Nothing, Data>(nothing_, data), root.rank))
            .wait();
    }
    template <class Data>
    [[nodiscard]] Persistent persistent_broadcast(Data&& data, detail::RankArgument root) const {
        return detail::keep(self(),
                            detail::bind_broadcast(Later<const detail::Nothing, Data>(nothing_, data), root.rank));
    }

    // Blocks in the order of ranks. The output matters at the root alone, and may be empty elsewhere.
    template <class In, class Out>
    [[nodiscard]] Request igather(In&& in, Out&& out, detail::RankArgument root) const {
        return detail::begin(self(), detail::bind_gather(Collective::gather, ranks(), at(root.rank),
                                                         Later<In, Out>(in, out), root.rank));
    }
    template <class In, class Out>
    void gather(In&& in, Out&& out, detail::RankArgument root) const {
        detail::begin(self(),
                      detail::bind_gather(Collective::gather, ranks(), at(root.rank), Now<In, Out>(in, out), root.rank))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_gather(In&& in, Out&& out, detail::RankArgument root) const {
        return detail::keep(self(), detail::bind_gather(Collective::gather, ranks(), at(root.rank),
                                                        Later<In, Out>(in, out), root.rank));
    }

    template <class In, class Out>
    [[nodiscard]] Request igatherv(In&& in, Out&& out, const Layout& layout, detail::RankArgument root) const {
        return detail::begin(self(), detail::bind_gatherv(Collective::gatherv, at(root.rank), Later<In, Out>(in, out),
                                                          layout, root.rank));
    }
    template <class In, class Out>
    void gatherv(In&& in, Out&& out, const Layout& layout, detail::RankArgument root) const {
        detail::begin(
            self(), detail::bind_gatherv(Collective::gatherv, at(root.rank), Now<In, Out>(in, out), layout, root.rank))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_gatherv(In&& in, Out&& out, const Layout& layout,
                                                detail::RankArgument root) const {
        return detail::keep(self(), detail::bind_gatherv(Collective::gatherv, at(root.rank), Later<In, Out>(in, out),
                                                         layout, root.rank));
    }

    // The input matters at the root alone; in_place (at the root) stands in the place of the output.
    template <class In, class Out>
    [[nodiscard]] Request iscatter(In&& in, Out&& out, detail::RankArgument root) const {
        return detail::begin(self(),
                             detail::bind_scatter(ranks(), at(root.rank), LaterScattered<In, Out>(in, out), root.rank));
    }
    template <class In, class Out>
    void scatter(In&& in, Out&& out, detail::RankArgument root) const {
        detail::begin(self(), detail::bind_scatter(ranks(), at(root.rank), NowScattered<In, Out>(in, out), root.rank))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_scatter(In&& in, Out&& out, detail::RankArgument root) const {
        return detail::keep(self(),
                            detail::bind_scatter(ranks(), at(root.rank), LaterScattered<In, Out>(in, out), root.rank));
    }

    template <class In, class Out>
    [[nodiscard]] Request iscatterv(In&& in, const Layout& layout, Out&& out, detail::RankArgument root) const {
        return detail::begin(self(),
                             detail::bind_scatterv(at(root.rank), LaterScattered<In, Out>(in, out), layout, root.rank));
    }
    template <class In, class Out>
    void scatterv(In&& in, const Layout& layout, Out&& out, detail::RankArgument root) const {
        detail::begin(self(), detail::bind_scatterv(at(root.rank), NowScattered<In, Out>(in, out), layout, root.rank))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_scatterv(In&& in, const Layout& layout, Out&& out,
                                                 detail::RankArgument root) const {
        return detail::keep(self(),
                            detail::bind_scatterv(at(root.rank), LaterScattered<In, Out>(in, out), layout, root.rank));
    }

    template <class In, class Out>
    [[nodiscard]] Request iallgather(In&& in, Out&& out) const {
        return detail::begin(self(),
                             detail::bind_gather(Collective::allgather, ranks(), true, Later<In, Out>(in, out)));
    }
    template <class In, class Out>
    void allgather(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_gather(Collective::allgather, ranks(), true, Now<In, Out>(in, out))).wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_allgather(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_gather(Collective::allgather, ranks(), true, Later<In, Out>(in, out)));
    }

    template <class In, class Out>
    [[nodiscard]] Request iallgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::begin(self(),
                             detail::bind_gatherv(Collective::allgatherv, true, Later<In, Out>(in, out), layout));
    }
    template <class In, class Out>
    void allgatherv(In&& in, Out&& out, const Layout& layout) const {
        detail::begin(self(), detail::bind_gatherv(Collective::allgatherv, true, Now<In, Out>(in, out), layout)).wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::keep(self(),
                            detail::bind_gatherv(Collective::allgatherv, true, Later<In, Out>(in, out), layout));
    }

    template <class In, class Out>
    [[nodiscard]] Request ialltoall(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_alltoall(ranks(), Later<In, Out>(in, out)));
    }
    template <class In, class Out>
    void alltoall(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_alltoall(ranks(), Now<In, Out>(in, out))).wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_alltoall(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_alltoall(ranks(), Later<In, Out>(in, out)));
    }

    // In place `sent` is not looked at.
    template <class In, class Out>
    [[nodiscard]] Request ialltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        return detail::begin(self(),
                             detail::bind_alltoallv(Collective::alltoallv, Later<In, Out>(in, out), sent, received));
    }
    template <class In, class Out>
    void alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        detail::begin(self(), detail::bind_alltoallv(Collective::alltoallv, Now<In, Out>(in, out), sent, received))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_alltoallv(In&& in, const Layout& sent, Out&& out,
                                                  const Layout& received) const {
        return detail::keep(self(),
                            detail::bind_alltoallv(Collective::alltoallv, Later<In, Out>(in, out), sent, received));
    }

private:
    template <class In, class Out>
    using Now = detail::Arguments<detail::Until::returned, detail::InPlaceAs::input, In, Out>;
    template <class In, class Out>
    using Later = detail::Arguments<detail::Until::finished, detail::InPlaceAs::input, In, Out>;
    template <class In, class Out>
    using NowScattered = detail::Arguments<detail::Until::returned, detail::InPlaceAs::output, In, Out>;
    template <class In, class Out>
    using LaterScattered = detail::Arguments<detail::Until::finished, detail::InPlaceAs::output, In, Out>;
    static constexpr detail::Nothing nothing_{};

    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
    [[nodiscard]] std::uint32_t ranks() const { return self().size(); }
    [[nodiscard]] bool at(Rank root) const { return self().rank() == root; }
};

}  // namespace loom::coll
