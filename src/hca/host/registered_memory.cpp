#include "hca/host/registered_memory.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include "hca/engine.hpp"
#include "hca/service/clock.hpp"
#include "loom/base/mapping.hpp"

namespace loom::hca {

namespace {

constexpr std::uint64_t patience_ns = 2'000'000'000;  // with a copy that does not end: its process is stopped or broken

}  // namespace

std::uint8_t* RegisteredMemory::local(std::uint32_t key, std::uint64_t address, std::uint64_t length, const Pd* pd,
                                      std::uint32_t access) {
    const std::uint32_t index = key >> 8;
    if (index >= mrs_.size()) return nullptr;
    const Mr* mr = mrs_[index];
    if (mr == nullptr || mr->abi.lkey != key || mr->abi.pd != &pd->abi || (mr->access & access) != access)
        return nullptr;
    const std::uint64_t offset = address - mr->iova;
    if (address < mr->iova || offset > mr->abi.length || length > mr->abi.length - offset) return nullptr;
    return static_cast<std::uint8_t*>(mr->abi.addr) + offset;
}

bool RegisteredMemory::still_registered(std::span<const ibv_sge> pieces, const Pd* pd, std::uint32_t access,
                                        std::uint64_t& checked) const {
    if (checked == generation_) return true;
    for (const ibv_sge& piece : pieces) {
        if (piece.length == 0) continue;
        const std::uint32_t index = piece.lkey >> 8;
        const Mr* mr = index < mrs_.size() ? mrs_[index] : nullptr;
        if (mr == nullptr || mr->abi.lkey != piece.lkey || mr->abi.pd != &pd->abi || (mr->access & access) != access)
            return false;
        const std::uint64_t offset = piece.addr - reinterpret_cast<std::uint64_t>(mr->abi.addr);
        if (offset > mr->abi.length || piece.length > mr->abi.length - offset) return false;
    }
    checked = generation_;
    return true;
}

void RegisteredMemory::publish(const Mr& mr) {
    MrEntry& entry = engine_.home.directory->mrs[mr.index];
    entry.iova.store(mr.iova, std::memory_order_relaxed);
    entry.length.store(mr.abi.length, std::memory_order_relaxed);
    entry.address.store(reinterpret_cast<std::uint64_t>(mr.abi.addr), std::memory_order_relaxed);
    entry.pd.store(Pd::of(mr.abi.pd).id, std::memory_order_relaxed);
    std::uint64_t inode = 0;
    if (mr.share_fd >= 0) {
        const auto range = mapping_at(reinterpret_cast<std::uint64_t>(mr.abi.addr));
        if (range) {
            inode = range->inode;
            entry.share_offset.store(range->offset + (reinterpret_cast<std::uint64_t>(mr.abi.addr) - range->start),
                                     std::memory_order_relaxed);
        }
    }
    entry.share_fd.store(static_cast<std::uint64_t>(mr.share_fd), std::memory_order_relaxed);
    entry.share_inode.store(inode, std::memory_order_relaxed);
    entry.key.store(mr.abi.rkey | std::uint64_t{mr.access & remote_rights} << 32, std::memory_order_release);
}

// A copy counts itself in before it looks at the key, and the key is gone before we look at the counts: one of the two
// sees the other. Two counts, by epoch, so that copies which begin later do not make us wait.
void RegisteredMemory::withdraw(const Mr& mr) {
    ++generation_;
    engine_.home.directory->mrs[mr.index].key.store(0, std::memory_order_seq_cst);
    // Whoever has our words copies already, while its own may still lie unread: then we could not see its counts.
    for (const auto& peer : engine_.peers.all())
        if (const std::shared_ptr<Peer> keep = peer; keep != nullptr && keep->state == Peer::State::connecting)
            engine_.peers.hear(*keep);
    const auto wait_for = [&](std::uint32_t parity) {
        const std::uint64_t until = now_ns() + patience_ns;
        for (std::size_t i = 0; i < engine_.peers.up().size(); ++i) {
            Peer& peer = *engine_.peers.up()[i];
            if (peer.self) continue;
            for (unsigned tries = 0; peer.in->copying[parity].load(std::memory_order_seq_cst) != 0; ++tries) {
                if (tries < 100) continue;
                char probe = 0;
                if (recv(peer.socket, &probe, 1, MSG_PEEK | MSG_DONTWAIT) == 0 || now_ns() > until) {
                    engine_.peers.lose(peer);
                    --i;
                    break;
                }
                usleep(20);
            }
        }
    };
    const std::uint32_t epoch = engine_.home.directory->epoch.load(std::memory_order_relaxed);
    wait_for(~epoch & 1);
    engine_.home.directory->epoch.store(epoch + 1, std::memory_order_seq_cst);
    wait_for(epoch & 1);
}

Mr* RegisteredMemory::add(std::unique_ptr<Mr> mr) {
    std::uint32_t index = 0;
    for (std::uint32_t tried = 0; tried < mrs_per_process && index == 0; ++tried) {
        const std::uint32_t candidate = next_;
        next_ = next_ + 1 == mrs_per_process ? 1 : next_ + 1;
        if (candidate >= mrs_.size()) {
            key_versions_.resize(candidate + 1, static_cast<std::uint8_t>(engine_.random()));
            mrs_.resize(candidate + 1, nullptr);
        }
        if (mrs_[candidate] == nullptr) index = candidate;
    }
    if (index == 0) return nullptr;
    mr->index = index;
    mr->abi.handle = index;
    mr->abi.lkey = mr->abi.rkey = index << 8 | ++key_versions_[index];
    publish(*mr);
    return mrs_[index] = mr.release();
}

void RegisteredMemory::remove(Mr& mr) {
    withdraw(mr);
    mrs_[mr.index] = nullptr;
}

void RegisteredMemory::remove_all(const ibv_context& context) {
    for (Mr* mr : mrs_)
        if (mr != nullptr && mr->abi.context == &context) remove(*mr);
}

void RegisteredMemory::close_shares() {
    for (Mr* mr : mrs_)
        if (mr != nullptr) mr->close_share();
}

}  // namespace loom::hca
