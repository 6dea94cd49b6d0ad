// Blocking messages between two ranks, before there are collectives.
#pragma once

#include <span>
#include <vector>

#include "loom/coll/communicator.hpp"
#include "loom/transport/transport.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::coll {

class Talk {
public:
    // No communicator's: tags of this context and those of collectives never meet.
    static constexpr std::uint32_t context = 15;
    static_assert(context < Communicator::first_context);

    enum class About : std::uint32_t { command, content, ready, data, answer };

    explicit Talk(transport::Transport& transport) : transport_(transport) {}

    [[nodiscard]] static transport::Tag tag(About about) {
        return transport::Tag{std::uint64_t{context} << 44 | static_cast<std::uint32_t>(about)};
    }
    // True: it is already over.
    bool start_send(Rank to, About about, std::span<const std::byte> data, transport::Message& message) {
        message.finished = [](transport::Message&) {};
        return transport_.send(to, tag(about), data, message);
    }
    bool start_receive(Rank from, About about, std::span<std::byte> into, transport::Message& message) {
        message.finished = [](transport::Message&) {};
        return transport_.receive(from, tag(about), into, message);
    }
    // Throws transport::RankLost when its rank is gone.
    void finish(const transport::Message& message, Rank with) {
        transport::Pauses pauses(transport_.waiting(), transport_);
        while (message.outcome == transport::Message::Outcome::pending)
            if (!transport_.progress()) pauses.next();
        if (message.outcome == transport::Message::Outcome::lost) throw transport::loss_of(with, transport_);
        if (message.outcome != transport::Message::Outcome::done)
            throw Error("rank " + std::to_string(with.value) +
                        " speaks of something else: its Loomband may be another");
    }
    void send(Rank to, About about, std::span<const std::byte> data) {
        transport::Message message;
        start_send(to, about, data, message);
        finish(message, to);
    }
    void receive(Rank from, About about, std::span<std::byte> into) {
        transport::Message message;
        start_receive(from, about, into, message);
        finish(message, from);
    }

    [[nodiscard]] transport::Transport& transport() { return transport_; }

private:
    transport::Transport& transport_;
};

}  // namespace loom::coll
