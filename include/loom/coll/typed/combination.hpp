// Collectives that combine data, with types. An operation with state must have a name and outlive the request.
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class Combination {
public:
    // The output matters at the root alone, and may be empty elsewhere.
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request ireduce(In&& in, Out&& out, Op&& op, Rank root) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(),
                             detail::bind_reduction<Element<Out>>(Collective::reduce, at(root), in, out, op, root));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void reduce(In&& in, Out&& out, Op&& op, Rank root) const {
        detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::reduce, at(root), in, out, op, root))
            .wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_reduce(In&& in, Out&& out, Op&& op, Rank root) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(),
                            detail::bind_reduction<Element<Out>>(Collective::reduce, at(root), in, out, op, root));
    }

    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request iallreduce(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::allreduce, true, in, out, op));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void allreduce(In&& in, Out&& out, Op&& op) const {
        detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::allreduce, true, in, out, op)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_allreduce(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(), detail::bind_reduction<Element<Out>>(Collective::allreduce, true, in, out, op));
    }

    // Rank i gets the counts[i] elements behind those of the ranks before.
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request ireduce_scatter(In&& in, Out&& out, std::span<const std::size_t> counts, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(),
                             detail::bind_reduce_scatter<Element<Out>>(self().rank().value, in, out, counts, op));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void reduce_scatter(In&& in, Out&& out, std::span<const std::size_t> counts, Op&& op) const {
        detail::begin(self(), detail::bind_reduce_scatter<Element<Out>>(self().rank().value, in, out, counts, op))
            .wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_reduce_scatter(In&& in, Out&& out, std::span<const std::size_t> counts,
                                                       Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(),
                            detail::bind_reduce_scatter<Element<Out>>(self().rank().value, in, out, counts, op));
    }

    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request ireduce_scatter_block(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(), detail::bind_reduce_scatter_block<Element<Out>>(ranks(), in, out, op));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void reduce_scatter_block(In&& in, Out&& out, Op&& op) const {
        detail::begin(self(), detail::bind_reduce_scatter_block<Element<Out>>(ranks(), in, out, op)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_reduce_scatter_block(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(), detail::bind_reduce_scatter_block<Element<Out>>(ranks(), in, out, op));
    }

    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request iscan(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::scan, true, in, out, op));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void scan(In&& in, Out&& out, Op&& op) const {
        detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::scan, true, in, out, op)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_scan(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(), detail::bind_reduction<Element<Out>>(Collective::scan, true, in, out, op));
    }

    // Rank 0's output is left alone.
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Request iexscan(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::exscan, true, in, out, op));
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    void exscan(In&& in, Out&& out, Op&& op) const {
        detail::begin(self(), detail::bind_reduction<Element<Out>>(Collective::exscan, true, in, out, op)).wait();
    }
    template <OutputRange Out, InputFor<Element<Out>> In, class Op>
    [[nodiscard]] Persistent persistent_exscan(In&& in, Out&& out, Op&& op) const {
        detail::check_lifetime<Op>();
        return detail::keep(self(), detail::bind_reduction<Element<Out>>(Collective::exscan, true, in, out, op));
    }

private:
    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
    [[nodiscard]] std::uint32_t ranks() const { return self().size(); }
    [[nodiscard]] bool at(Rank root) const { return self().rank() == root; }
};

}  // namespace loom::coll
