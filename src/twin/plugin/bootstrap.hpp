// How ranks that are processes in virtual time find each other: the simulation keeps what they put.
#pragma once

#include <string>

#include "loom/transport/bootstrap.hpp"
#include "loom/transport/values.hpp"
#include "twin/plugin/client.hpp"

namespace loom::twin {

class TwinBootstrap final : public transport::Bootstrap {
public:
    explicit TwinBootstrap(Client& client) : client_(client) { client_.attach(); }

    [[nodiscard]] std::string_view name() const override { return "twin"; }
    [[nodiscard]] Rank rank() const override { return client_.rank(); }
    [[nodiscard]] std::uint32_t size() const override { return client_.ranks(); }
    void put(std::string_view key, std::string_view value) override { values_[std::string(key)] = value; }
    // Takes virtual time: as many messages of no bytes as a dissemination has.
    void fence() override;
    [[nodiscard]] std::string get(Rank of, std::string_view key) override;
    [[nodiscard]] std::optional<Rank> first_unlike(std::string_view key) override;
    void finished() override { client_.finished(); }

private:
    void write_key(std::string_view key);

    Client& client_;
    transport::Values values_;
};

}  // namespace loom::twin
