// The transport of a rank that is a process in virtual time: it asks the simulation for everything.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>

#include "loom/transport/transport.hpp"
#include "twin/plugin/client.hpp"

namespace loom::twin {

class TwinTransport final : public transport::Transport {
public:
    explicit TwinTransport(Client& client) : client_(client) { client_.attach(); }

    [[nodiscard]] std::string_view name() const override { return "twin"; }
    [[nodiscard]] std::string description() const override { return "simulated, each rank a process"; }
    [[nodiscard]] Rank rank() const override { return client_.rank(); }
    [[nodiscard]] std::uint32_t size() const override { return client_.ranks(); }
    [[nodiscard]] std::span<const std::uint32_t> hosts() const override { return client_.hosts(); }
    [[nodiscard]] transport::Waiting waiting() const override { return transport::Waiting::block; }
    [[nodiscard]] std::uint32_t cores() const override { return 1; }
    [[nodiscard]] bool send(Rank to, transport::Tag tag, std::span<const std::byte> data,
                            transport::Message& message) override;
    [[nodiscard]] bool receive(Rank from, transport::Tag tag, std::span<std::byte> into,
                               transport::Message& message) override;
    [[nodiscard]] transport::RemoteMemory expose(std::span<std::byte> memory) override;
    void unexpose(const transport::RemoteMemory& memory) override;
    [[nodiscard]] bool put(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                           std::span<const std::byte> data, transport::Message& message) override;
    [[nodiscard]] bool put_notify(Rank to, const transport::RemoteMemory& where, std::uint64_t offset,
                                  std::span<const std::byte> data, std::uint64_t value,
                                  transport::Message& message) override;
    [[nodiscard]] bool get(Rank from, const transport::RemoteMemory& where, std::uint64_t offset,
                           std::span<std::byte> into, transport::Message& message) override;
    [[nodiscard]] bool atomic(Rank at, const transport::RemoteMemory& where, std::uint64_t offset,
                              const transport::Atomic& what, std::uint64_t& before,
                              transport::Message& message) override;
    [[nodiscard]] std::optional<transport::Notification> next_notification() override;
    [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes) override;
    void release(std::span<std::byte> memory) override;
    bool progress() override;
    void rest() override;
    void set_events(bool) override {}
    void sleep(std::chrono::microseconds most) override;
    void interrupt() override {}
    [[nodiscard]] bool charges_work() const override { return true; }
    [[nodiscard]] bool work(transport::LocalWork kind, std::uint64_t amount, transport::Message& message) override;
    [[nodiscard]] std::optional<std::string> parameters_text() const override;
    [[nodiscard]] std::optional<Rank> lost() const override;
    [[nodiscard]] bool is_lost(Rank who) const override;
    [[nodiscard]] std::string_view lost_why() const override { return "it ended"; }

private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    bool begin(Ask what, std::initializer_list<std::uint64_t> arguments, transport::Message& message);

    Client& client_;
    bool looked_ = false;  // in vain, and nothing was asked or begun since
    std::map<const std::byte*, std::unique_ptr<std::byte[], Free>> allocated_;
};

}  // namespace loom::twin
