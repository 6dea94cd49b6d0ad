// Multicast groups. Who is a member stands in each process's directory; a process that joins makes itself known to all
// others, and one that sends for the first time looks for all others: whichever comes second finds the first.
// Here are the members among our own queue pairs.
#pragma once

#include <infiniband/verbs.h>

#include <span>
#include <vector>

#include "hca/device/config.hpp"
#include "hca/protocol/arrival.hpp"

namespace loom::hca {

struct Engine;
struct Qp;
struct SendWqe;

class Groups {
public:
    explicit Groups(Engine& engine) : engine_(engine) {}

    int attach(Qp& qp, const ibv_gid& gid);  // 0 or errno
    int detach(Qp& qp, const ibv_gid& gid);
    void forget(Qp& qp);
    // One copy to each process with members. False: some are still to be met, or the wire has no room, and the queue
    // pair runs again then; what a process has no room for is lost, as datagrams may be.
    bool send(Qp& qp, const SendWqe& wqe, const Packet& packet, std::span<const ibv_sge> sges);
    void arrived(const Arrival& arrival);

private:
    struct Group {
        Gid gid;
        std::vector<Qp*> members;
    };

    Engine& engine_;
    std::vector<Group> groups_;
    bool looked_for_members_ = false;
};

}  // namespace loom::hca
