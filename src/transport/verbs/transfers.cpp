#include "transport/verbs/transfers.hpp"

namespace loom::transport {

namespace {

TransferId id_of(std::uint32_t slot, std::uint32_t generation) {
    return TransferId{std::uint64_t{generation} << 32 | slot};
}

}  // namespace

Transfer& Transfers::open(Message& message, Transfer::Role role) {
    const bool receive = role == Transfer::Role::receive;
    Registration* const registration =
        message.bytes == 0 ? nullptr
                           : &registrations_.acquire({message.data, message.bytes}, role != Transfer::Role::send);
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(table_.size()));
        table_.emplace_back();
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    Transfer& transfer = table_[slot];
    // Never 0, which no_transfer has.
    const std::uint32_t generation = transfer.generation + 1 != 0 ? transfer.generation + 1 : 1;
    transfer = Transfer{};
    transfer.message = &message;
    transfer.registration = registration;
    transfer.generation = generation;
    transfer.role = role;
    message.transfer = id_of(slot, generation);
    if (receive) ++receives_;
    return transfer;
}

void Transfers::close(Transfer& transfer) {
    if (transfer.registration != nullptr) registrations_.release(*transfer.registration);
    if (transfer.role == Transfer::Role::receive) --receives_;
    free_.push_back(slot_of(transfer.message->transfer));
    transfer.message->transfer = no_transfer;
    transfer.message = nullptr;
}

Transfer* Transfers::find(TransferId id, Transfer::Role role) {
    if (!is_known(id)) return nullptr;
    Transfer& transfer = table_[slot_of(id)];
    const bool is_it = transfer.message != nullptr && transfer.message->transfer == id && transfer.role == role;
    return is_it ? &transfer : nullptr;
}

}  // namespace loom::transport
