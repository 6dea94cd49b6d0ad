// Collectives between neighbours of a grid or graph, with types: a block for each, in the order of the lists.
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class Neighbourhood {
public:
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Request ineighbour_allgather(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_allgather,
                                                                           self().neighbours(), in, out));
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    void neighbour_allgather(In&& in, Out&& out) const {
        detail::begin(self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_allgather,
                                                                    self().neighbours(), in, out))
            .wait();
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Persistent persistent_neighbour_allgather(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_allgather,
                                                                          self().neighbours(), in, out));
    }

    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Request ineighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::begin(
            self(), detail::bind_gatherv<Element<Out>>(Collective::neighbour_allgatherv, true, in, out, layout));
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    void neighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        detail::begin(self(),
                      detail::bind_gatherv<Element<Out>>(Collective::neighbour_allgatherv, true, in, out, layout))
            .wait();
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Persistent persistent_neighbour_allgatherv(In&& in, Out&& out, const Layout& layout) const {
        return detail::keep(
            self(), detail::bind_gatherv<Element<Out>>(Collective::neighbour_allgatherv, true, in, out, layout));
    }

    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Request ineighbour_alltoall(In&& in, Out&& out) const {
        return detail::begin(self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_alltoall,
                                                                           self().neighbours(), in, out));
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    void neighbour_alltoall(In&& in, Out&& out) const {
        detail::begin(
            self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_alltoall, self().neighbours(), in, out))
            .wait();
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Persistent persistent_neighbour_alltoall(In&& in, Out&& out) const {
        return detail::keep(self(), detail::bind_neighbours<Element<Out>>(Collective::neighbour_alltoall,
                                                                          self().neighbours(), in, out));
    }

    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Request ineighbour_alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        return detail::begin(
            self(), detail::bind_alltoallv<Element<Out>>(Collective::neighbour_alltoallv, in, sent, out, received));
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    void neighbour_alltoallv(In&& in, const Layout& sent, Out&& out, const Layout& received) const {
        detail::begin(self(),
                      detail::bind_alltoallv<Element<Out>>(Collective::neighbour_alltoallv, in, sent, out, received))
            .wait();
    }
    template <Range In, OutputRange Out>
    requires std::same_as<Element<In>, Element<Out>>
    [[nodiscard]] Persistent persistent_neighbour_alltoallv(In&& in, const Layout& sent, Out&& out,
                                                            const Layout& received) const {
        return detail::keep(
            self(), detail::bind_alltoallv<Element<Out>>(Collective::neighbour_alltoallv, in, sent, out, received));
    }

private:
    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
    [[nodiscard]] std::uint32_t ranks() const { return self().size(); }
    [[nodiscard]] bool at(Rank root) const { return self().rank() == root; }
};

}  // namespace loom::coll
