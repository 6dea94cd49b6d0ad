// A transport some of whose receives are held back: to see what a rank does while a message is on its way for long.
#pragma once

#include <vector>

#include "loom/transport/transport.hpp"

namespace loom::transport {

// Over another, which must outlive it, and by the same rules. Everything passes but the receives that are started
// while it holds: the transport below does not know of them until they are let go.
class HeldTransport final : public Transport {
public:
    explicit HeldTransport(Transport& below) : below_(below) {}

    void hold() { holding_ = true; }           // receives that are started from now on
    void hold_no_more() { holding_ = false; }  // of what is started from now on; what is held stays so
    void let_go();                             // calls `finished` of those whose message has come meanwhile
    // Receives that are held and of whose tag something was sent since: whoever passes on a message before the
    // transport brought it has it from elsewhere.
    [[nodiscard]] std::uint32_t passed_on() const;

    [[nodiscard]] std::string_view name() const override { return below_.name(); }
    [[nodiscard]] std::string description() const override { return below_.description(); }
    [[nodiscard]] Rank rank() const override { return below_.rank(); }
    [[nodiscard]] std::uint32_t size() const override { return below_.size(); }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const override { return below_.hosts(); }
    [[nodiscard]] Waiting waiting() const override { return below_.waiting(); }
    [[nodiscard]] std::uint32_t cores() const override { return below_.cores(); }
    [[nodiscard]] bool send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) override;
    [[nodiscard]] bool receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) override;
    [[nodiscard]] RemoteMemory expose(std::span<std::byte> memory) override { return below_.expose(memory); }
    void unexpose(const RemoteMemory& memory) override { below_.unexpose(memory); }
    [[nodiscard]] bool put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                           Message& message) override {
        return below_.put(to, where, offset, data, message);
    }
    [[nodiscard]] bool put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint64_t value, Message& message) override {
        return below_.put_notify(to, where, offset, data, value, message);
    }
    [[nodiscard]] std::optional<Notification> next_notification() override { return below_.next_notification(); }
    [[nodiscard]] bool get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                           Message& message) override {
        return below_.get(from, where, offset, into, message);
    }
    [[nodiscard]] bool atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                              std::uint64_t& before, Message& message) override {
        return below_.atomic(at, where, offset, what, before, message);
    }
    [[nodiscard]] std::byte* map(Rank owner, const RemoteMemory& memory) override { return below_.map(owner, memory); }
    void unmap(Rank owner, const RemoteMemory& memory, std::byte* mapped) override {
        below_.unmap(owner, memory, mapped);
    }
    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes) override { return below_.allocate(bytes); }
    void release(std::span<std::byte> memory) override { below_.release(memory); }
    bool progress() override { return below_.progress(); }
    void rest() override { below_.rest(); }
    void set_events(bool on) override { below_.set_events(on); }
    void sleep(std::chrono::microseconds most) override { below_.sleep(most); }
    void interrupt() override { below_.interrupt(); }
    void hush(bool on) override { below_.hush(on); }
    [[nodiscard]] Multicast* multicast() override { return below_.multicast(); }
    [[nodiscard]] bool charges_work() const override { return below_.charges_work(); }
    [[nodiscard]] bool work(LocalWork kind, std::uint64_t amount, Message& message) override {
        return below_.work(kind, amount, message);
    }
    [[nodiscard]] std::optional<std::string> parameters_text() const override { return below_.parameters_text(); }
    [[nodiscard]] std::optional<Rank> lost() const override { return below_.lost(); }
    [[nodiscard]] bool is_lost(Rank who) const override { return below_.is_lost(who); }
    [[nodiscard]] std::string_view lost_why() const override { return below_.lost_why(); }

private:
    struct Held {
        Rank from;
        Tag tag;
        std::span<std::byte> into;
        Message* message;
        bool passed_on = false;
    };
    Transport& below_;
    bool holding_ = false;
    std::vector<Held> held_;
};

}  // namespace loom::transport
