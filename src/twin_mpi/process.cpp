#include "twin_mpi/process.hpp"

#include <algorithm>
#include <utility>

#include "loom/base/clock.hpp"
#include "loom/base/table.hpp"

namespace loom::twin_mpi {

using transport::Message;

namespace {

// Handles of what programs make count from here on, so that none is a predefined one's.
constexpr std::uintptr_t made = 1000;
constexpr std::uintptr_t world_number = 1, self_number = 2;
constexpr std::uintptr_t predefined_operations = mpi::arithmetics;

template <class Handle>
std::uintptr_t number_of_handle(Handle handle) {
    return reinterpret_cast<std::uintptr_t>(handle);
}

// The place in a list; its size where there is none.
template <class Handle, class List>
std::size_t place_of(Handle handle, const List& list) {
    const std::uintptr_t number = number_of_handle(handle);
    return number < made ? list.size() : std::min<std::size_t>(number - made, list.size());
}

template <class Handle>
Handle handle_at(std::size_t place) {
    return reinterpret_cast<Handle>(made + place);
}

template <class List, class Value>
std::size_t put(List& list, Value&& value) {
    const auto free = std::find_if(list.begin(), list.end(), [](const auto& each) { return !each; });
    const auto place = static_cast<std::size_t>(free - list.begin());
    if (free == list.end())
        list.push_back(std::forward<Value>(value));
    else
        *free = std::forward<Value>(value);
    return place;
}

twin::Matching& matching_or_refuse(transport::Transport& transport) {
    twin::Matching* const found = twin::matching_of(transport);
    if (found == nullptr) throw UsageError("MPI programs need a transport of twin::run");
    return *found;
}

}  // namespace

int Comm::number_of(Rank world) const {
    if (is_world_like) return static_cast<int>(world.value);
    for (std::uint32_t i = 0; i < size(); ++i)
        if (group.world_rank(Rank{i}) == world) return static_cast<int>(i);
    return MPI_UNDEFINED;
}

Process::Process(transport::Transport& given) : transport(given), matching(matching_or_refuse(given)) {
    current_clock()->local = this;
}

// Where an exception is on its way out nobody waits for anything.
Process::~Process() {
    for (const auto& each : requests_)
        if (!each->operation.finished()) each->operation.detach();
    current_clock()->local = nullptr;
}

void Process::initialise() {
    require(phase == Phase::before, MPI_ERR_OTHER, "MPI was initialised before");
    world = std::make_unique<coll::World>(transport, nullptr);
    phase = Phase::active;
    auto all = std::make_unique<Comm>(world->communicator(), next_context);
    all->is_world_like = true;
    for (std::uint32_t i = 0; i < all->size(); ++i) all->is_world_like &= all->group.world_rank(Rank{i}) == Rank{i};
    comms_.resize(2);
    comms_[0] = std::move(all);
    next_context += 2;
    transport.operation_begins({.what = {}, .bytes = 0, .group = 0, .first = first_tag(*comms_[0]), .tags = tags});
}

void Process::finalise() {
    const auto open = std::count_if(requests_.begin(), requests_.end(),
                                    [](const auto& each) { return each->active && !each->freed; });
    if (open != 0) throw Failure(MPI_ERR_REQUEST, std::to_string(open) + " requests were not finished");
    for (const auto& each : requests_)
        while (each->active && !each->finished()) look_or_rest(false);
    requests_.clear();
    comms_.clear();
    freed_comms_.clear();
    world->close();
    world.reset();
    phase = Phase::after;
}

Comm& Process::comm(MPI_Comm handle) {
    const std::uintptr_t number = number_of_handle(handle);
    const std::size_t place =
        number == world_number || number == self_number ? number - world_number : place_of(handle, comms_);
    if (number == self_number && comms_[1] == nullptr) {
        const Rank me = transport.rank();
        constexpr std::uint32_t context = coll::Communicator::first_context + 1;
        comms_[1] =
            std::make_unique<Comm>(coll::Communicator::with_context(*world, std::span(&me, 1), context), context);
    }
    if (place >= comms_.size() || comms_[place] == nullptr)
        throw Failure(MPI_ERR_COMM,
                      number == 0 ? "the communicator is MPI_COMM_NULL" : "there is no such communicator");
    return *comms_[place];
}

const Type& Process::type(MPI_Datatype handle, bool committed) {
    if (const Type* found = predefined_type(number_of_handle(handle))) return *found;
    const std::size_t place = place_of(handle, types_);
    if (place == types_.size() || types_[place] == nullptr)
        throw Failure(MPI_ERR_TYPE,
                      handle == nullptr ? "the datatype is MPI_DATATYPE_NULL" : "there is no such datatype");
    if (committed && !types_[place]->committed) throw Failure(MPI_ERR_TYPE, "the datatype was not committed");
    return *types_[place];
}

void Process::commit(MPI_Datatype handle) {
    (void)type(handle, false);
    if (const std::size_t place = place_of(handle, types_); place < types_.size()) types_[place]->committed = true;
}

Operation Process::operation(MPI_Op handle) const {
    const std::uintptr_t number = number_of_handle(handle);
    if (number >= 1 && number <= predefined_operations)
        return {static_cast<mpi::Arithmetic>(number - 1), nullptr, true};
    const std::size_t place = place_of(handle, operations_);
    if (place == operations_.size() || !operations_[place])
        throw Failure(MPI_ERR_OP, number == 0 ? "the operation is MPI_OP_NULL" : "there is no such operation");
    return *operations_[place];
}

Request& Process::request(MPI_Request handle) {
    const std::size_t place = place_of(handle, requests_);
    if (place == requests_.size() || requests_[place]->freed ||
        (!requests_[place]->active && !requests_[place]->persistent))
        throw Failure(MPI_ERR_REQUEST,
                      handle == nullptr ? "the request is MPI_REQUEST_NULL" : "there is no such request");
    return *requests_[place];
}

MPI_Comm Process::add(std::unique_ptr<Comm> comm) {
    transport.operation_begins(
        {.what = {}, .bytes = 0, .group = comm->context, .first = first_tag(*comm), .tags = tags});
    return handle_at<MPI_Comm>(put(comms_, std::move(comm)));
}

MPI_Datatype Process::add(Type type) {
    return handle_at<MPI_Datatype>(put(types_, std::make_unique<Type>(std::move(type))));
}

MPI_Op Process::add(const Operation& operation) {
    return handle_at<MPI_Op>(put(operations_, std::optional(operation)));
}

void Process::remove(MPI_Comm handle) {
    (void)comm(handle);
    const std::size_t place = place_of(handle, comms_);
    require(place < comms_.size(), MPI_ERR_COMM, "MPI_COMM_WORLD and MPI_COMM_SELF stay");
    const bool in_use = std::any_of(requests_.begin(), requests_.end(), [&](const auto& each) {
        return (each->active || each->persistent) && each->comm == comms_[place].get();
    });
    if (in_use) freed_comms_.push_back(std::move(comms_[place]));
    comms_[place].reset();
}

void Process::remove(MPI_Datatype handle) {
    (void)type(handle, false);
    const std::size_t place = place_of(handle, types_);
    require(place < types_.size(), MPI_ERR_TYPE, "predefined datatypes stay");
    types_[place].reset();
}

void Process::remove(MPI_Op handle) {
    (void)operation(handle);
    const std::size_t place = place_of(handle, operations_);
    require(place < operations_.size(), MPI_ERR_OP, "predefined operations stay");
    operations_[place].reset();
}

Request& Process::new_request() {
    if (free_requests_.empty()) {
        requests_.push_back(std::make_unique<Request>());
        requests_.back()->number = static_cast<std::uint32_t>(requests_.size() - 1);
        return *requests_.back();
    }
    Request& request = *requests_[free_requests_.back()];
    free_requests_.pop_back();
    return request;
}

MPI_Request Process::handle_of(const Request& request) const {
    return handle_at<MPI_Request>(request.number);
}

void Process::release(Request& request) {
    request.active = request.persistent = request.freed = false;
    request.baggage.reset();
    request.packed.reset();
    request.type.reset();
    free_requests_.push_back(request.number);
}

void Process::look_or_rest(bool for_any) {
    if (transport.progress()) return;
    if (const auto lost = transport.lost()) throw transport::loss_of(*lost, transport);
    if (for_any)
        matching.rest_until_any();
    else
        transport.rest();
}

void Process::wait_for(const Request& request) {
    while (!request.finished()) look_or_rest(false);
}

Process& current() {
    Clock* const clock = current_clock();
    if (clock == nullptr || clock->local == nullptr) throw Error("MPI was called outside of a run in virtual time");
    return *static_cast<Process*>(clock->local);
}

int failed(const char* function, MPI_Comm comm, const Failure& failure) {
    Process& me = current();
    if (me.phase == Process::Phase::active) {
        bool returns = false;
        try {
            returns = me.comm(comm).returns_errors;
        } catch (const Failure&) {
            returns = me.comm(MPI_COMM_WORLD).returns_errors;
        }
        if (returns) return failure.code;
    }
    throw Error("rank " + std::to_string(me.rank()) + ": " + function + ": " + failure.what());
}

transport::Tag first_tag(const Comm& comm) {
    // Contexts below coll's first are nobody's but those of Talk (15) and of recovery (14).
    constexpr std::uint64_t of_messages = 13;
    static_assert(of_messages < coll::Communicator::first_context && coll::Communicator::contexts <= 1u << 20);
    return transport::Tag{of_messages << 44 | std::uint64_t{comm.context} << 24};
}

MPI_Status empty_status() {
    return {.MPI_SOURCE = MPI_ANY_SOURCE,
            .MPI_TAG = MPI_ANY_TAG,
            .MPI_ERROR = MPI_SUCCESS,
            .loom_cancelled = 0,
            .loom_bytes = 0};
}

}  // namespace loom::twin_mpi
