// Collectives that move data, with types: i... starts one, without a prefix it is also waited for, persistent_... keeps
// it.
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class DataMovement {
public:
    [[nodiscard]] Request ibarrier() const { return detail::begin(self(), detail::Bound{}); }
    void barrier() const { detail::begin(self(), detail::Bound{}).wait(); }
    [[nodiscard]] Persistent persistent_barrier() const { return detail::keep(self(), detail::Bound{}); }

    template <OutputRange Data>
    [[nodiscard]] Request ibroadcast(Data&& data, Rank root) const {
        return detail::begin(self(), detail::bind_broadcast(data, root));
    }
    template <OutputRange Data>
    void broadcast(Data&& data, Rank root) const {
        detail::begin(self(), detail::bind_broadcast(data, root)).wait();
    }
    template <OutputRange Data>
    [[nodiscard]] Persistent persistent_broadcast(Data&& data, Rank root) const {
        return detail::keep(self(), detail::bind_broadcast(data, root));
    }

    // Blocks in the order of ranks. The output matters at the root alone, and may be empty elsewhere.
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request igather(In&& in, Out&& out, Rank root) const {
        return detail::begin(self(),
                             detail::bind_gather<Element<Out>>(Collective::gather, ranks(), at(root), in, out, root));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void gather(In&& in, Out&& out, Rank root) const {
        detail::begin(self(), detail::bind_gather<Element<Out>>(Collective::gather, ranks(), at(root), in, out, root))
            .wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_gather(In&& in, Out&& out, Rank root) const {
        return detail::keep(self(),
                            detail::bind_gather<Element<Out>>(Collective::gather, ranks(), at(root), in, out, root));
    }

    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request igatherv(In&& in, Out&& out, const Layout& layout, Rank root) const {
        return detail::begin(self(),
                             detail::bind_gatherv<Element<Out>>(Collective::gatherv, at(root), in, out, layout, root));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void gatherv(In&& in, Out&& out, const Layout& layout, Rank root) const {
        detail::begin(self(), detail::bind_gatherv<Element<Out>>(Collective::gatherv, at(root), in, out, layout, root))
            .wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_gatherv(In&& in, Out&& out, const Layout& layout, Rank root) const {
        return detail::keep(self(),
                            detail::bind_gatherv<Element<Out>>(Collective::gatherv, at(root), in, out, layout, root));
    }

    // The input matters at the root alone; in_place (at the root) stands in the place of the output.
    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    [[nodiscard]] Request iscatter(In&& in, Out&& out, Rank root) const {
        return detail::begin(self(), detail::bind_scatter<Element<In>>(ranks(), at(root), in, out, root));
    }
    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    void scatter(In&& in, Out&& out, Rank root) const {
        detail::begin(self(), detail::bind_scatter<Element<In>>(ranks(), at(root), in, out, root)).wait();
    }
    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    [[nodiscard]] Persistent persistent_scatter(In&& in, Out&& out, Rank root) const {
        return detail::keep(self(), detail::bind_scatter<Element<In>>(ranks(), at(root), in, out, root));
    }

    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    [[nodiscard]] Request iscatterv(In&& in, const Layout& layout, Out&& out, Rank root) const {
        return detail::begin(self(), detail::bind_scatterv<Element<In>>(at(root), in, layout, out, root));
    }
    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    void scatterv(In&& in, const Layout& layout, Out&& out, Rank root) const {
        detail::begin(self(), detail::bind_scatterv<Element<In>>(at(root), in, layout, out, root)).wait();
    }
    template <Range In, class Out>
    requires OutputFor<Out, Element<In>>
    [[nodiscard]] Persistent persistent_scatterv(In&& in, const Layout& layout, Out&& out, Rank root) const {
        return detail::keep(self(), detail::bind_scatterv<Element<In>>(at(root), in, layout, out, root));
    }

    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request iallgather(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_gather<Element<Out>>(Collective::allgather, ranks(), true, in, out));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void allgather(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_gather<Element<Out>>(Collective::allgather, ranks(), true, in, out)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_allgather(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_gather<Element<Out>>(Collective::allgather, ranks(), true, in, out));
    }

    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request iallgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::begin(self(), detail::bind_gatherv<Element<Out>>(Collective::allgatherv, true, in, out, layout));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void allgatherv(In&& in, Out&& out, const Layout& layout) const {
        detail::begin(self(), detail::bind_gatherv<Element<Out>>(Collective::allgatherv, true, in, out, layout)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::keep(self(), detail::bind_gatherv<Element<Out>>(Collective::allgatherv, true, in, out, layout));
    }

    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request ialltoall(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_alltoall<Element<Out>>(ranks(), in, out));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void alltoall(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_alltoall<Element<Out>>(ranks(), in, out)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_alltoall(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_alltoall<Element<Out>>(ranks(), in, out));
    }

    // In place `sent` is not looked at.
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Request ialltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        return detail::begin(self(),
                             detail::bind_alltoallv<Element<Out>>(Collective::alltoallv, in, sent, out, received));
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    void alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        detail::begin(self(), detail::bind_alltoallv<Element<Out>>(Collective::alltoallv, in, sent, out, received))
            .wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In>
    [[nodiscard]] Persistent persistent_alltoallv(In&& in, const Layout& sent, Out&& out,
                                                  const Layout& received) const {
        return detail::keep(self(),
                            detail::bind_alltoallv<Element<Out>>(Collective::alltoallv, in, sent, out, received));
    }

private:
    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
    [[nodiscard]] std::uint32_t ranks() const { return self().size(); }
    [[nodiscard]] bool at(Rank root) const { return self().rank() == root; }
};

}  // namespace loom::coll
