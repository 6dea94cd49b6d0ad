// Collectives between neighbours of a grid or graph, with types: a block for each, in the order of the lists.
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class Neighbourhood {
public:
    template <class In, class Out>
    [[nodiscard]] Request ineighbour_allgather(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_neighbours(Collective::neighbour_allgather, self().neighbours(),
                                                             Later<In, Out>(in, out)));
    }
    template <class In, class Out>
    void neighbour_allgather(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_neighbours(Collective::neighbour_allgather, self().neighbours(),
                                                      Now<In, Out>(in, out)))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_neighbour_allgather(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_neighbours(Collective::neighbour_allgather, self().neighbours(),
                                                            Later<In, Out>(in, out)));
    }

    template <class In, class Out>
    [[nodiscard]] Request ineighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::begin(
            self(), detail::bind_gatherv(Collective::neighbour_allgatherv, true, Later<In, Out>(in, out), layout));
    }
    template <class In, class Out>
    void neighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        detail::begin(self(),
                      detail::bind_gatherv(Collective::neighbour_allgatherv, true, Now<In, Out>(in, out), layout))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_neighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::keep(
            self(), detail::bind_gatherv(Collective::neighbour_allgatherv, true, Later<In, Out>(in, out), layout));
    }

    template <class In, class Out>
    [[nodiscard]] Request ineighbour_alltoall(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_neighbours(Collective::neighbour_alltoall, self().neighbours(),
                                                             Later<In, Out>(in, out)));
    }
    template <class In, class Out>
    void neighbour_alltoall(In&& in, Out&& out) const {
        detail::begin(
            self(), detail::bind_neighbours(Collective::neighbour_alltoall, self().neighbours(), Now<In, Out>(in, out)))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_neighbour_alltoall(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_neighbours(Collective::neighbour_alltoall, self().neighbours(),
                                                            Later<In, Out>(in, out)));
    }

    template <class In, class Out>
    [[nodiscard]] Request ineighbour_alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        return detail::begin(
            self(), detail::bind_alltoallv(Collective::neighbour_alltoallv, Later<In, Out>(in, out), sent, received));
    }
    template <class In, class Out>
    void neighbour_alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        detail::begin(self(),
                      detail::bind_alltoallv(Collective::neighbour_alltoallv, Now<In, Out>(in, out), sent, received))
            .wait();
    }
    template <class In, class Out>
    [[nodiscard]] Persistent persistent_neighbour_alltoallv(In&& in, const Layout& sent, Out&& out,
                                                            const Layout& received) const {
        return detail::keep(
            self(), detail::bind_alltoallv(Collective::neighbour_alltoallv, Later<In, Out>(in, out), sent, received));
    }

private:
    template <class In, class Out>
    using Now = detail::Arguments<detail::Until::returned, detail::InPlaceAs::none, In, Out>;
    template <class In, class Out>
    using Later = detail::Arguments<detail::Until::finished, detail::InPlaceAs::none, In, Out>;

    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
};

}  // namespace loom::coll
