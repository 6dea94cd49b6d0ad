// Messages between two ranks of a communicator, with types. They never meet those of collectives.
//
// - A receive gets the message that was sent to it by the given rank, on this communicator, with the same tag. Messages
//   of one sender, one receiver and one tag are received in the order in which they were sent, others in any order.
// - The receive must be exactly as long as the message, in bytes. Otherwise it throws Error, and so does the send
//   unless it had already finished.
// - There is no receive from any rank, and none of any tag.
// - A send is finished when its data may change. A short one may finish before the receive starts, a long one waits for
//   it. Where two ranks send to each other, or a rank to itself, start the sends or the receives with isend or
//   ireceive.
// - Any number may be in flight. They fail with transport::RankLost when a rank of the communicator is lost, as
//   collectives do.
#pragma once

#include <cstdint>
#include <span>

#include "loom/coll/request.hpp"
#include "loom/coll/typed/given.hpp"

namespace loom::coll {

template <class Communicator>
class Messages {
public:
    static constexpr std::uint32_t tags = 1u << 24;  // a tag is one of 0 to tags - 1: otherwise UsageError

    // The data must stay unchanged until the request is finished.
    template <class Data>
    [[nodiscard]] Request isend(Data&& data, detail::RankArgument to, std::uint32_t tag = 0) const {
        return send_bytes(Sent<detail::Until::finished, Data>(data, nothing_), to.rank, tag);
    }
    template <class Data>
    void send(Data&& data, detail::RankArgument to, std::uint32_t tag = 0) const {
        send_bytes(Sent<detail::Until::returned, Data>(data, nothing_), to.rank, tag).wait();
    }

    template <class Data>
    [[nodiscard]] Request ireceive(Data&& data, detail::RankArgument from, std::uint32_t tag = 0) const {
        return receive_bytes(Received<detail::Until::finished, Data>(nothing_, data), from.rank, tag);
    }
    template <class Data>
    void receive(Data&& data, detail::RankArgument from, std::uint32_t tag = 0) const {
        receive_bytes(Received<detail::Until::returned, Data>(nothing_, data), from.rank, tag).wait();
    }

private:
    template <detail::Until until, class Data>
    using Sent = detail::Arguments<until, detail::InPlaceAs::none, Data, const detail::Nothing>;
    template <detail::Until until, class Data>
    using Received = detail::Arguments<until, detail::InPlaceAs::none, const detail::Nothing, Data>;
    static constexpr detail::Nothing nothing_{};

    [[nodiscard]] Request send_bytes(const detail::Given& sent, Rank to, std::uint32_t tag) const {
        return self().start_send({sent.buffers.input, sent.inputs * sent.element}, to, tag);
    }
    [[nodiscard]] Request receive_bytes(const detail::Given& received, Rank from, std::uint32_t tag) const {
        return self().start_receive({received.buffers.output, received.outputs * received.element}, from, tag);
    }
    [[nodiscard]] const Communicator& self() const { return static_cast<const Communicator&>(*this); }
};

}  // namespace loom::coll
