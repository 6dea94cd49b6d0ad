#include "loom/coll/request.hpp"

#include <cstdio>
#include <utility>

#include "coll/world_state.hpp"

namespace loom::coll {
namespace {

World::State& world_of(const Execution& execution) {
    return execution.prepared().communicator.world;
}

// The execution is not needed any more by whoever waited for it. Throws what it failed with.
void settle(Execution& execution) {
    World::State& world = world_of(execution);
    const World::State::Hold hold(world);
    if (!execution.failed()) return execution.prepared().communicator.put_back(execution);
    const std::exception_ptr error = execution.error();
    execution.detached = true;  // the transport may still know messages of it; the last one takes it away
    if (!execution.in_use_by_transport()) execution.prepared().communicator.put_back(execution);
    std::rethrow_exception(error);
}

}  // namespace

Request::Request(Request&& other) noexcept : execution_(std::exchange(other.execution_, nullptr)) {}

Request& Request::operator=(Request&& other) noexcept {
    std::swap(execution_, other.execution_);
    return *this;
}

Request::~Request() {
    if (execution_ == nullptr) return;
    if (!execution_->finished())
        std::fprintf(stderr, "loom: a request was destroyed while its operation was pending; waiting for it\n");
    try {
        wait();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom: %s\n", error.what());
    }
}

bool Request::test() {
    if (execution_ == nullptr) return true;
    if (!execution_->finished()) {
        world_of(*execution_).poll_for_test();
        if (!execution_->finished()) return false;
    }
    settle(*std::exchange(execution_, nullptr));
    return true;
}

void Request::wait() {
    if (execution_ == nullptr) return;
    world_of(*execution_).wait(*execution_);
    settle(*std::exchange(execution_, nullptr));
}

bool Request::finished() const {
    return execution_ == nullptr || execution_->finished();
}

void Request::detach() {
    if (execution_ == nullptr) return;
    const World::State::Hold hold(world_of(*execution_));
    Execution& execution = *std::exchange(execution_, nullptr);
    execution.detached = true;
    if (execution.finished() && !execution.in_use_by_transport()) execution.prepared().communicator.put_back(execution);
}

Persistent::Persistent(Persistent&& other) noexcept : execution_(std::exchange(other.execution_, nullptr)) {}

Persistent& Persistent::operator=(Persistent&& other) noexcept {
    std::swap(execution_, other.execution_);
    return *this;
}

Persistent::~Persistent() {
    if (execution_ == nullptr) return;
    if (!execution_->finished() && execution_->started())
        std::fprintf(stderr, "loom: a persistent operation was destroyed while it was pending; waiting for it\n");
    try {
        wait();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "loom: %s\n", error.what());
    }
    const World::State::Hold hold(world_of(*execution_));
    execution_->detached = true;
    if (!execution_->in_use_by_transport()) execution_->prepared().communicator.put_back(*execution_);
}

void Persistent::start() {
    const World::State::Hold hold(world_of(*execution_));
    if (execution_->started() && !execution_->finished())
        throw UsageError("a persistent operation was started again before it was finished");
    if (execution_->failed()) std::rethrow_exception(execution_->error());
    const Prepared& prepared = execution_->prepared();
    prepared.communicator.refuse_after_loss(prepared);
    execution_->prepared().communicator.start(*execution_);
}

bool Persistent::test() {
    if (!execution_->started()) return true;
    if (!execution_->finished()) {
        world_of(*execution_).poll_for_test();
        if (!execution_->finished()) return false;
    }
    if (execution_->failed()) std::rethrow_exception(execution_->error());
    return true;
}

void Persistent::wait() {
    if (!execution_->started()) return;
    world_of(*execution_).wait(*execution_);
    if (execution_->failed()) std::rethrow_exception(execution_->error());
}

bool Persistent::finished() const {
    return !execution_->started() || execution_->finished();
}

}  // namespace loom::coll
