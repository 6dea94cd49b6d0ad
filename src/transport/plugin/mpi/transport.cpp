#include "transport/plugin/mpi/transport.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <fstream>
#include <map>

namespace loom::transport::plugin {

namespace {

constexpr int header_tag = 0;
constexpr int first_place = 1;
constexpr std::uint64_t most_at_once = 1u << 30;  // MPI counts in int
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
    : bootstrap_(bootstrap),
      peers_(static_cast<std::size_t>(world_.size())),
      slots_(posted_receives, Parcel(sizeof(Header) + eager_limit)),
      slot_requests_(posted_receives, MPI_REQUEST_NULL) {
    if (bootstrap.rank() != rank() || bootstrap.size() != size()) {
        world_.abandon();
        throw Error("MPI says that this is rank " + std::to_string(rank().value) + " of " + std::to_string(size()) +
                    ", the bootstrap " + std::to_string(bootstrap.rank().value) + " of " +
                    std::to_string(bootstrap.size()));
    }
    int* most = nullptr;
    int known = 0;
    check(PMPI_Comm_get_attr(world_.comm(), MPI_TAG_UB, &most, &known), "tell its largest tag");
    places_ = static_cast<std::uint64_t>(known != 0 ? *most : 32767) - first_place;
    find_hosts(bootstrap);
    for (std::size_t slot = 0; slot < posted_receives; ++slot) post_receive(slot);
}

MpiTransport::~MpiTransport() {
    int finalized = 0;
    if (PMPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
    if (!lost_) {
        for (MPI_Request& request : slot_requests_) {
            PMPI_Cancel(&request);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        let_go_of_parcels();
    }
    if (!lost_ && requests_.empty()) return;
    // MPI may still touch memory that it was given: it stays, and so does the communicator.
    world_.abandon();
    (void)new std::vector<Parcel>(std::move(slots_));
    (void)new std::vector<Pending>(std::move(pending_));
}

// What is still on its way was finished for its owner when it was copied; MPI gets some time to take it.
void MpiTransport::let_go_of_parcels() {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(std::uncaught_exceptions() > 0 ? 0 : 5);
    int done = 0;
    do {
        if (PMPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE) !=
            MPI_SUCCESS)
            return;
        if (done != 0) return requests_.clear();
        sched_yield();
    } while (std::chrono::steady_clock::now() < deadline);
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

void MpiTransport::finish(Message& message, Message::Outcome outcome) {
    message.outcome = outcome;
    message.finished(message);
}

void MpiTransport::post_receive(std::size_t slot) {
    check(PMPI_Irecv(slots_[slot].data(), static_cast<int>(slots_[slot].size()), MPI_BYTE, MPI_ANY_SOURCE, header_tag,
                     world_.comm(), &slot_requests_[slot]),
          "receive");
}

void MpiTransport::send_parcel(Rank to, const Header& header, std::span<const std::byte> data) {
    std::shared_ptr<Parcel> parcel;
    if (spare_.empty()) {
        parcel = std::make_shared<Parcel>();
        parcel->reserve(sizeof(Header) + eager_limit);
    } else {
        parcel = std::move(spare_.back());
        spare_.pop_back();
    }
    parcel->resize(sizeof header + data.size());
    std::memcpy(parcel->data(), &header, sizeof header);
    if (!data.empty()) std::memcpy(parcel->data() + sizeof header, data.data(), data.size());
    MPI_Request request = MPI_REQUEST_NULL;
    check(PMPI_Isend(parcel->data(), static_cast<int>(parcel->size()), MPI_BYTE, static_cast<int>(to.value), header_tag,
                     world_.comm(), &request),
          "send");
    requests_.push_back(request);
    pending_.push_back({.what = Pending::What::parcel, .peer = to, .bytes = std::move(parcel), .header = {}});
}

// The place where the data will be. Each piece of 1 GiB finishes for itself; the message counts them.
std::uint64_t MpiTransport::send_data(Rank to, std::span<const std::byte> data, Message* message) {
    const std::uint64_t place = first_place + peers_[to.value].larges++ % places_;
    // MPI must not take early what we keep back.
    const auto start = data.size() <= eager_limit ? PMPI_Issend : PMPI_Isend;
    std::uint64_t done = 0;
    do {
        const std::uint64_t now = std::min(most_at_once, data.size() - done);
        MPI_Request request = MPI_REQUEST_NULL;
        check(start(data.data() + done, static_cast<int>(now), MPI_BYTE, static_cast<int>(to.value),
                    static_cast<int>(place), world_.comm(), &request),
              "send");
        if (message != nullptr) ++message->pieces;
        requests_.push_back(request);
        pending_.push_back({.what = Pending::What::send, .peer = to, .message = message, .bytes = {}, .header = {}});
        done += now;
    } while (done < data.size());
    return place;
}

std::uint64_t MpiTransport::pieces_of(std::uint64_t bytes) {
    return (bytes + most_at_once - 1) / most_at_once;
}

void MpiTransport::receive_data(Rank from, const Header& header, std::byte* into, const Pending& pending) {
    std::uint64_t done = 0;
    do {
        const std::uint64_t now = std::min(most_at_once, header.bytes - done);
        MPI_Request request = MPI_REQUEST_NULL;
        check(PMPI_Irecv(into + done, static_cast<int>(now), MPI_BYTE, static_cast<int>(from.value),
                         static_cast<int>(header.place), world_.comm(), &request),
              "receive");
        if (pending.message != nullptr) ++pending.message->pieces;
        requests_.push_back(request);
        pending_.push_back(pending);
        done += now;
    } while (done < header.bytes);
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
    Header header{.kind = Kind::small, .tag = tag.value, .bytes = data.size()};
    if (data.size() <= eager_limit && may_give(peers_[to.value], data.size())) {
        send_parcel(to, header, data);
        message.outcome = Message::Outcome::done;
        return true;
    }
    message.peer = to;
    message.pieces = 0;
    message.outcome = Message::Outcome::pending;
    header.kind = Kind::large;
    header.place = first_place + peers_[to.value].larges % places_;
    send_parcel(to, header, {});
    send_data(to, data, &message);
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
    if (one.header.kind == Kind::large) {
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
    Pending pending{.what = Pending::What::receive, .peer = from, .message = &message, .bytes = {}, .header = header};
    pending.refused = message.bytes != header.bytes;
    std::byte* into = message.data;
    if (pending.refused) {
        pending.bytes = std::make_shared<Parcel>(header.bytes);
        into = pending.bytes->data();
    }
    receive_data(from, header, into, pending);
}

RemoteMemory MpiTransport::expose(std::span<std::byte> memory) {
    const std::uint64_t key = next_key_++;
    exposed_[key] = {memory.data(), memory.size()};
    return {reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), key};
}

void MpiTransport::unexpose(const RemoteMemory& memory) {
    exposed_.erase(memory.key);
}

bool MpiTransport::put(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                       Message& message) {
    return put_anyhow(to, where, offset, data, 0, false, message);
}

bool MpiTransport::put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                              std::uint32_t value, Message& message) {
    return put_anyhow(to, where, offset, data, value, true, message);
}

bool MpiTransport::put_anyhow(Rank to, const RemoteMemory& where, std::uint64_t offset, std::span<const std::byte> data,
                              std::uint32_t value, bool notifies, Message& message) {
    if (is_lost(to, message)) return true;
    message.peer = to;
    message.outcome = Message::Outcome::pending;
    Header header{.kind = Kind::small_put,
                  .value = value,
                  .bytes = data.size(),
                  .reference = next_reference_++,
                  .key = where.key,
                  .offset = offset,
                  .notifies = notifies};
    puts_[header.reference] = &message;
    if (data.size() <= eager_limit) {
        send_parcel(to, header, data);
        return false;
    }
    header.kind = Kind::large_put;
    header.place = first_place + peers_[to.value].larges % places_;
    send_parcel(to, header, {});
    send_data(to, data, nullptr);
    return false;
}

std::optional<Notification> MpiTransport::next_notification() {
    if (notifications_.empty()) return {};
    const Notification next = notifications_.front();
    notifications_.pop_front();
    return next;
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
