// What was given to MPI: parcels and data on their way, and the receives that wait for parcels.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "loom/base/ids.hpp"
#include "transport/plugin/mpi/library.hpp"
#include "transport/plugin/mpi/parcels.hpp"

namespace loom::transport::plugin {

// What a request of MPI stands for, and what is to be done when it is over.
struct Pending {
    enum class What : std::uint8_t { parcel, send, receive, put_data } what = What::parcel;
    Rank peer;
    Message* message = nullptr;     // of send and receive
    std::shared_ptr<Parcel> bytes;  // of parcel, and where the data of a refused message goes
    std::uint64_t number = 0;       // of put_data
    Header header;                  // of put_data
    bool refused = false;
};

// Owns the requests of MPI and the memory that they need.
class Requests {
public:
    // Who takes in what has come and what has ended. May start others, but does not look again.
    class Handler {
    public:
        virtual void take_parcel(Rank from, const Header& header, std::span<const std::byte> data) = 0;
        virtual void take_over(Pending& pending) = 0;

    protected:
        ~Handler() = default;
    };

    Requests(const World& world, Handler& handler);
    void open();  // receives parcels from now on

    void send_parcel(Rank to, const Header& header, std::span<const std::byte> data);
    // The MPI tag that the data of the next send_data() to the rank will have: it is said in a parcel before.
    [[nodiscard]] std::uint64_t next_place(Rank to) const;
    // Each piece of 1 GiB finishes for itself; the message, if there is one, counts them.
    void send_data(Rank to, std::span<const std::byte> data, Message* message);
    // Of the header's length, in as many pieces; each ends as `pending` says.
    void receive_data(Rank from, const Header& header, std::byte* into, const Pending& pending);
    // The same where nobody wants the data any more: the sender must not be left waiting.
    void refuse_data(Rank from, const Header& header, Pending pending);
    [[nodiscard]] static std::uint64_t pieces_of(std::uint64_t bytes);

    bool take();  // what has come and what has ended; false: nothing
    // Messages to and from the rank, which will not end any more.
    void forget(Rank who, std::vector<Message*>& over);
    // At the end of the transport. MPI gets some time for what is still on its way, unless a rank is gone. False: it
    // may still touch memory that it was given, and that stays.
    [[nodiscard]] bool close(bool all_are_there);

private:
    void post_receive(std::size_t slot);
    bool take_parcels();
    bool take_ended();
    void let_go_of_parcels();

    const World& world_;
    Handler& handler_;
    std::uint64_t places_ = 0;            // MPI tags that there are for data
    std::vector<std::uint64_t> sent_to_;  // by rank, how many data we sent: the place of the next
    std::vector<Parcel> slots_;
    std::vector<MPI_Request> slot_requests_;
    std::size_t next_slot_ = 0;
    std::vector<MPI_Request> requests_;  // side by side with pending_
    std::vector<Pending> pending_;
    std::vector<std::shared_ptr<Parcel>> spare_;
    std::vector<int> indices_;  // kept for its memory
};

}  // namespace loom::transport::plugin
