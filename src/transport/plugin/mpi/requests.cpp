#include "transport/plugin/mpi/requests.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <functional>

namespace loom::transport::plugin {

namespace {

constexpr int header_tag = 0;
constexpr int first_place = 1;
constexpr std::uint64_t most_at_once = 1u << 30;  // MPI counts in int
constexpr std::size_t posted_receives = 16;

}  // namespace

Requests::Requests(const World& world, Handler& handler)
    : world_(world),
      handler_(handler),
      sent_to_(static_cast<std::size_t>(world.size())),
      slots_(posted_receives, Parcel(sizeof(Header) + eager_limit)),
      slot_requests_(posted_receives, MPI_REQUEST_NULL) {}

void Requests::open() {
    int* most = nullptr;
    int known = 0;
    check(PMPI_Comm_get_attr(world_.comm(), MPI_TAG_UB, &most, &known), "tell its largest tag");
    places_ = static_cast<std::uint64_t>(known != 0 ? *most : 32767) - first_place;
    for (std::size_t slot = 0; slot < posted_receives; ++slot) post_receive(slot);
}

bool Requests::close(bool all_are_there) {
    if (all_are_there) {
        for (MPI_Request& request : slot_requests_) {
            PMPI_Cancel(&request);
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        let_go_of_parcels();
        if (requests_.empty()) return true;
    }
    (void)new std::vector<Parcel>(std::move(slots_));
    (void)new std::vector<Pending>(std::move(pending_));
    return false;
}

// What is still on its way was finished for its owner when it was copied; MPI gets some time to take it.
void Requests::let_go_of_parcels() {
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

void Requests::post_receive(std::size_t slot) {
    check(PMPI_Irecv(slots_[slot].data(), static_cast<int>(slots_[slot].size()), MPI_BYTE, MPI_ANY_SOURCE, header_tag,
                     world_.comm(), &slot_requests_[slot]),
          "receive");
}

void Requests::send_parcel(Rank to, const Header& header, std::span<const std::byte> data) {
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

std::uint64_t Requests::next_place(Rank to) const {
    return first_place + sent_to_[to.value] % places_;
}

void Requests::send_data(Rank to, std::span<const std::byte> data, Message* message) {
    const std::uint64_t place = next_place(to);
    ++sent_to_[to.value];
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
}

std::uint64_t Requests::pieces_of(std::uint64_t bytes) {
    return (bytes + most_at_once - 1) / most_at_once;
}

void Requests::receive_data(Rank from, const Header& header, std::byte* into, const Pending& pending) {
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

void Requests::refuse_data(Rank from, const Header& header, Pending pending) {
    pending.refused = true;
    pending.bytes = std::make_shared<Parcel>(header.bytes);
    receive_data(from, header, pending.bytes->data(), pending);
}

bool Requests::take() {
    const bool came = take_parcels();
    return take_ended() || came;
}

// Receives are served in the order in which they were posted, which is the order in which MPI matched them.
bool Requests::take_parcels() {
    for (std::size_t taken = 0; taken < posted_receives; ++taken) {
        int arrived = 0;
        MPI_Status status;
        check(PMPI_Test(&slot_requests_[next_slot_], &arrived, &status), "receive");
        if (arrived == 0) return taken != 0;
        int bytes = 0;
        check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "count");
        const std::size_t slot = next_slot_;
        next_slot_ = (next_slot_ + 1) % posted_receives;
        Header header;
        if (bytes < static_cast<int>(sizeof header)) throw Error("a parcel is cut short");
        std::memcpy(&header, slots_[slot].data(), sizeof header);
        // Whatever is told to be finished now may start operations, but does not come back here.
        handler_.take_parcel(Rank{static_cast<std::uint32_t>(status.MPI_SOURCE)}, header,
                             std::span(slots_[slot]).first(static_cast<std::size_t>(bytes)).subspan(sizeof header));
        post_receive(slot);
    }
    return true;
}

bool Requests::take_ended() {
    if (requests_.empty()) return false;
    indices_.resize(requests_.size());
    int count = 0;
    check(PMPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                        MPI_STATUSES_IGNORE),
          "finish a message");
    if (count <= 0) return false;
    std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
    std::vector<Pending> over;
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
        over.push_back(std::move(pending_[at]));
        pending_[at] = std::move(pending_.back());
        pending_.pop_back();
        requests_[at] = requests_.back();
        requests_.pop_back();
    }
    for (Pending& pending : over)
        if (pending.what == Pending::What::parcel)
            spare_.push_back(std::move(pending.bytes));
        else
            handler_.take_over(pending);
    return true;
}

void Requests::forget(Rank who, std::vector<Message*>& over) {
    for (Pending& pending : pending_)
        if (pending.peer == who && pending.message != nullptr) {
            if (std::find(over.begin(), over.end(), pending.message) == over.end()) over.push_back(pending.message);
            pending.message = nullptr;
        }
}

}  // namespace loom::transport::plugin
