// Large messages whose data is under way, in either direction: one table. The other rank names a transfer by its place
// here and a generation, so that a late answer cannot reach another.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "loom/transport/message.hpp"
#include "transport/verbs/memory.hpp"

namespace loom::transport {

struct Transfer {
    enum class Role : std::uint8_t { receive, send, get };  // a put is a send, an atomic a get
    static constexpr std::size_t most_pieces_lent = 4;

    Message* message = nullptr;            // null: the place is free
    Registration* registration = nullptr;  // of its memory; null when it has no bytes
    std::uint32_t generation = 0;
    Role role = Role::receive;

    // Of a receive. Its message counts the parts still to come: what is written, and what is read here.
    bool met = false;         // its message has been named: what comes next with its tag is for the next receive
    std::uint32_t reads = 0;  // RDMA reads under way
    TransferId loan;          // whose end is to be told

    // Of a send. Its message counts the ways on which its data leaves: each write, and a loan.
    bool lent = false;                                     // the receiver reads it, or a first part of it
    bool in_advance = false;                               // and was told so before it had asked
    std::uint64_t number = 0;                              // of an advance, among the large ones to its peer
    TransferId claimed_by;                                 // in advance: the receive whose `ready` has come
    std::array<std::uint32_t, most_pieces_lent> pieces{};  // what the HCA calls them; 0: it was not told
};

// Owns the table, and holds the registrations of what is in it.
class Transfers {
public:
    explicit Transfers(Registrations& registrations) : registrations_(registrations) {}

    // Registers the message's memory and names it. Throws Error when the memory cannot be registered.
    Transfer& open(Message& message, Transfer::Role role);
    // Gives the registration back; the message has no transfer any more.
    void close(Transfer& transfer);

    // Null when it is over, or was never there in this role.
    [[nodiscard]] Transfer* find(TransferId id, Transfer::Role role);
    [[nodiscard]] Transfer& of(const Message& message) { return table_[slot_of(message.transfer)]; }
    [[nodiscard]] Transfer& at(std::uint32_t slot) { return table_[slot]; }
    [[nodiscard]] static std::uint32_t slot_of(TransferId id) { return static_cast<std::uint32_t>(id.value); }
    // Whether there was ever a transfer at this place.
    [[nodiscard]] bool is_known(TransferId id) const { return slot_of(id) < table_.size(); }
    [[nodiscard]] std::uint32_t receives() const { return receives_; }

private:
    Registrations& registrations_;
    std::deque<Transfer> table_;
    std::vector<std::uint32_t> free_;
    std::uint32_t receives_ = 0;
};

}  // namespace loom::transport
