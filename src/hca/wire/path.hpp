// Where a queue pair or an address handle leads.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "hca/device/config.hpp"
#include "hca/wire/wire.hpp"

namespace loom::hca {

struct Context;
struct Peer;

struct Path {
    Wire* wire = nullptr;  // never null once found
    bool global = false;   // with a GRH
    bool multicast = false;
    std::uint16_t slid = 0, dlid = 0;
    Gid sgid{}, dgid{};
    std::uint8_t traffic_class = 0, hop_limit = 64;
    std::shared_ptr<Peer> peer;  // of connected queue pairs inside the host; datagrams find theirs by number
};

// The way to an address; null when it cannot be an address of that HCA's port. connected: to queue pair `dest_qpn`
// alone.
std::shared_ptr<Path> find_path(Engine& engine, Context& context, const ibv_ah_attr& attr, QpNumber dest_qpn,
                                bool connected);

}  // namespace loom::hca
