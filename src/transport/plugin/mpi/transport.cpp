#include "transport/plugin/mpi/transport.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "loom/transport/access.hpp"

namespace loom::transport::plugin {

namespace {

constexpr std::chrono::microseconds look_up_every{200};

std::string host_name() {
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    check(PMPI_Get_processor_name(name, &length), "tell the name of this host");
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return std::string(name, static_cast<std::size_t>(length)) + " " + boot;
}

}  // namespace

MpiTransport::MpiTransport(Bootstrap& bootstrap)
    : bootstrap_(bootstrap), requests_(world_, *this), puts_(requests_, size()), peers_(size()) {
    if (bootstrap.rank() != rank() || bootstrap.size() != size()) {
        world_.abandon();
        throw Error("MPI says that this is rank " + std::to_string(rank().value) + " of " + std::to_string(size()) +
                    ", the bootstrap " + std::to_string(bootstrap.rank().value) + " of " +
                    std::to_string(bootstrap.size()));
    }
    find_hosts(bootstrap);
    requests_.open();
}

MpiTransport::~MpiTransport() {
    int finalized = 0;
    if (PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
    if (!requests_.close(!lost_)) world_.abandon();
}

std::string MpiTransport::description() const {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    PMPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    version = version.substr(0, version.find_first_of(",\n"));
    std::replace(version.begin(), version.end(), '\t', ' ');
    return version + " point-to-point, eager up to " + std::to_string(eager_limit) + " bytes";
}

void MpiTransport::find_hosts(Bootstrap& bootstrap) {
    bootstrap.put("mpi.host", host_name());
    bootstrap.fence();
    std::map<std::string, std::uint32_t> numbers;
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
        const auto next = static_cast<std::uint32_t>(numbers.size());
        hosts_.push_back(numbers.emplace(bootstrap.get(Rank{rank}, "mpi.host"), next).first->second);
    }
}

// Counts what it allows.
bool MpiTransport::may_give(Peer& peer, std::uint64_t bytes) {
    const std::uint64_t cost = sizeof(Header) + bytes;
    if (peer.given + cost - peer.used > most_early) return false;
    peer.given += cost;
    return true;
}

bool MpiTransport::is_lost(Rank who, Message& message) const {
    if (!peers_[who.value].lost) return false;
    message.outcome = Message::Outcome::lost;
    return true;
}

bool MpiTransport::send(Rank to, Tag tag, std::span<const std::byte> data, Message& message) {
    if (is_lost(to, message)) return true;
    Header header{.kind = Header::Kind::small, .tag = tag.value, .bytes = data.size()};
    if (data.size() <= eager_limit && may_give(peers_[to.value], data.size())) {
        requests_.send_parcel(to, header, data);
        message.outcome = Message::Outcome::done;
        return true;
    }
    message.peer = to;
    message.pieces = 0;
    message.outcome = Message::Outcome::pending;
    header.kind = Header::Kind::large;
    header.place = requests_.next_place(to);
    requests_.send_parcel(to, header, {});
    requests_.send_data(to, data, &message);
    return false;
}

bool MpiTransport::receive(Rank from, Tag tag, std::span<std::byte> into, Message& message) {
    message.peer = from;
    message.tag = tag;
    message.data = into.data();
    message.bytes = into.size();
    message.pieces = 0;
    Peer& peer = peers_[from.value];
    const auto found = std::find_if(peer.unexpected.begin(), peer.unexpected.end(),
                                    [&](const Unexpected& one) { return one.header.tag == tag.value; });
    if (found == peer.unexpected.end()) {
        if (is_lost(from, message)) return true;
        message.outcome = Message::Outcome::pending;
        peer.receives.push(message);
        return false;
    }
    const Unexpected one = std::move(*found);
    peer.unexpected.erase(found);
    if (one.header.kind == Header::Kind::large) {
        message.outcome = Message::Outcome::pending;
        receive_large(from, one.header, message);
        return false;
    }
    use_up(from, one.data.size());
    const bool fits = one.data.size() == into.size();
    if (fits && !into.empty()) std::memcpy(into.data(), one.data.data(), into.size());
    message.outcome = fits ? Message::Outcome::done : Message::Outcome::mismatched;
    return true;
}

// Data of another length than was expected is taken all the same, so that the sender is not left waiting.
void MpiTransport::receive_large(Rank from, const Header& header, Message& message) {
    const Pending pending{
        .what = Pending::What::receive, .peer = from, .message = &message, .bytes = {}, .header = header};
    if (message.bytes == header.bytes)
        requests_.receive_data(from, header, message.data, pending);
    else
        requests_.refuse_data(from, header, pending);
}

bool MpiTransport::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                       Message& message) {
    if (is_lost(to, message)) return true;
    puts_.start(to, where, offset, data, {}, message);
    return false;
}

bool MpiTransport::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                              std::uint64_t value, Message& message) {
    if (is_lost(to, message)) return true;
    puts_.start(to, where, offset, data, value, message);
    return false;
}

bool MpiTransport::get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::span<std::byte> into,
                       Message& message) {
    check_access(where, offset, into.size());
    if (is_lost(from, message)) return true;
    puts_.start_get(from, where, offset, into, message);
    return false;
}

bool MpiTransport::atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const Atomic& what,
                          std::uint64_t& before, Message& message) {
    check_access(where, offset, sizeof before);
    check_alignment(where, offset);
    if (is_lost(at, message)) return true;
    puts_.start_atomic(at, where, offset, what, before, message);
    return false;
}

std::span<std::byte> MpiTransport::allocate(std::size_t bytes) {
    constexpr std::size_t line = 64;
    auto memory = std::make_unique<std::byte[]>(bytes + line);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.get());
    std::byte* const aligned = memory.get() + (line - address % line) % line;
    allocated_[aligned] = std::move(memory);
    return {aligned, bytes};
}

void MpiTransport::release(std::span<std::byte> memory) {
    allocated_.erase(memory.data());
}

void MpiTransport::sleep(std::chrono::microseconds most) {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, std::min(most, look_up_every), [&] { return interrupted_; });
    interrupted_ = false;
}

void MpiTransport::interrupt() {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    woken_.notify_all();
}

}  // namespace loom::transport::plugin
