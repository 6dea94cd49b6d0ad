// Collectives that combine data, with types. An operation with state must have a name and outlive the request.
#pragma once

#include "loom/coll/typed/start.hpp"

namespace loom::coll {

template <class Communicator>
class Combination {
public:
    // The output matters at the root alone, and may be empty elsewhere.
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request ireduce(In&& in, Out&& out, Op&& op = Op{},
                                  detail::RankArgument root = detail::no_rank_after<Op>()) const {
        return detail::begin(self(), detail::bind_reduction(Collective::reduce, at(root.rank),
                                                            Later<In, Out, Op>(in, out, op), root.rank));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void reduce(In&& in, Out&& out, Op&& op = Op{}, detail::RankArgument root = detail::no_rank_after<Op>()) const {
        detail::begin(
            self(), detail::bind_reduction(Collective::reduce, at(root.rank), Now<In, Out, Op>(in, out, op), root.rank))
            .wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_reduce(In&& in, Out&& out, Op&& op = Op{},
                                               detail::RankArgument root = detail::no_rank_after<Op>()) const {
        return detail::keep(self(), detail::bind_reduction(Collective::reduce, at(root.rank),
                                                           Later<In, Out, Op>(in, out, op), root.rank));
    }

    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request iallreduce(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::begin(self(),
                             detail::bind_reduction(Collective::allreduce, true, Later<In, Out, Op>(in, out, op)));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void allreduce(In&& in, Out&& out, Op&& op = Op{}) const {
        detail::begin(self(), detail::bind_reduction(Collective::allreduce, true, Now<In, Out, Op>(in, out, op)))
            .wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_allreduce(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::keep(self(),
                            detail::bind_reduction(Collective::allreduce, true, Later<In, Out, Op>(in, out, op)));
    }

    // Rank i gets the counts[i] elements behind those of the ranks before.
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request ireduce_scatter(In&& in, Out&& out, const Counts& counts, Op&& op = Op{}) const {
        return detail::begin(self(),
                             detail::bind_reduce_scatter(self().rank().value, Later<In, Out, Op>(in, out, op), counts));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void reduce_scatter(In&& in, Out&& out, const Counts& counts, Op&& op = Op{}) const {
        detail::begin(self(), detail::bind_reduce_scatter(self().rank().value, Now<In, Out, Op>(in, out, op), counts))
            .wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_reduce_scatter(In&& in, Out&& out, const Counts& counts, Op&& op = Op{}) const {
        return detail::keep(self(),
                            detail::bind_reduce_scatter(self().rank().value, Later<In, Out, Op>(in, out, op), counts));
    }

    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request ireduce_scatter_block(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::begin(self(), detail::bind_reduce_scatter_block(ranks(), Later<In, Out, Op>(in, out, op)));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void reduce_scatter_block(In&& in, Out&& out, Op&& op = Op{}) const {
        detail::begin(self(), detail::bind_reduce_scatter_block(ranks(), Now<In, Out, Op>(in, out, op))).wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_reduce_scatter_block(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::keep(self(), detail::bind_reduce_scatter_block(ranks(), Later<In, Out, Op>(in, out, op)));
    }

    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request iscan(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::begin(self(), detail::bind_reduction(Collective::scan, true, Later<In, Out, Op>(in, out, op)));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void scan(In&& in, Out&& out, Op&& op = Op{}) const {
        detail::begin(self(), detail::bind_reduction(Collective::scan, true, Now<In, Out, Op>(in, out, op))).wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_scan(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::keep(self(), detail::bind_reduction(Collective::scan, true, Later<In, Out, Op>(in, out, op)));
    }

    // Rank 0's output is left alone.
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Request iexscan(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::begin(self(), detail::bind_reduction(Collective::exscan, true, Later<In, Out, Op>(in, out, op)));
    }
    template <class In, class Out, class Op = detail::Omitted>
    void exscan(In&& in, Out&& out, Op&& op = Op{}) const {
        detail::begin(self(), detail::bind_reduction(Collective::exscan, true, Now<In, Out, Op>(in, out, op))).wait();
    }
    template <class In, class Out, class Op = detail::Omitted>
    [[nodiscard]] Persistent persistent_exscan(In&& in, Out&& out, Op&& op = Op{}) const {
        return detail::keep(self(), detail::bind_reduction(Collective::exscan, true, Later<In, Out, Op>(in, out, op)));
    }

private:
    template <class In, class Out, class Op>
    using Now = detail::Arguments<detail::Until::returned, detail::InPlaceAs::input, In, Out, Op>;
    template <class In, class Out, class Op>
    using Later = detail::Arguments<detail::Until::finished, detail::InPlaceAs::input, In, Out, Op>;

    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
    [[nodiscard]] std::uint32_t ranks() const { return self().size(); }
    [[nodiscard]] bool at(Rank root) const { return self().rank() == root; }
};

}  // namespace loom::coll
