// A transport around another, for tests that look at what passes.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "loom/transport/transport.hpp"

namespace loom::coll {

class Wrapped : public transport::Transport {
public:
    explicit Wrapped(transport::Transport& inner) : inner_(inner) {}

    bool send(Rank to, transport::Tag tag, std::span<const std::byte> data, transport::Message& message) override {
        return inner_.send(to, tag, data, message);
    }
    bool receive(Rank from, transport::Tag tag, std::span<std::byte> into, transport::Message& message) override {
        return inner_.receive(from, tag, into, message);
    }
    std::string_view name() const override { return inner_.name(); }
    std::string description() const override { return inner_.description(); }
    Rank rank() const override { return inner_.rank(); }
    std::uint32_t size() const override { return inner_.size(); }
    std::span<const std::uint32_t> hosts() const override { return inner_.hosts(); }
    transport::RemoteMemory expose(std::span<std::byte> memory) override { return inner_.expose(memory); }
    void unexpose(const transport::RemoteMemory& memory) override { inner_.unexpose(memory); }
    bool put(Rank to, const transport::RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
             transport::Message& message) override {
        return inner_.put(to, where, offset, data, message);
    }
    bool put_notify(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                    std::span<const std::byte> data, std::uint64_t value, transport::Message& message) override {
        return inner_.put_notify(to, where, offset, data, value, message);
    }
    bool get(Rank from, const transport::RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
             transport::Message& message) override {
        return inner_.get(from, where, offset, into, message);
    }
    bool atomic(Rank at, const transport::RemoteMemory& where, std::uint64_t offset, const transport::Atomic& what,
                std::uint64_t& before, transport::Message& message) override {
        return inner_.atomic(at, where, offset, what, before, message);
    }
    std::optional<transport::Notification> next_notification() override { return inner_.next_notification(); }
    std::span<std::byte> allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
    void release(std::span<std::byte> memory) override { inner_.release(memory); }
    bool progress() override { return inner_.progress(); }
    void set_events(bool on) override { inner_.set_events(on); }
    void sleep(std::chrono::microseconds most) override { inner_.sleep(most); }
    void interrupt() override { inner_.interrupt(); }
    std::optional<Rank> lost() const override { return inner_.lost(); }

private:
    transport::Transport& inner_;
};

}  // namespace loom::coll
