// What the cases that every transport must pass are written with. A case throws when the transport is wrong.
#pragma once

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "loom/transport/transport.hpp"

namespace loom::conformance {

using transport::Message;
using transport::Notification;
using transport::RemoteMemory;
using transport::Tag;
using transport::Transport;
using Outcome = Message::Outcome;
using Bytes = std::vector<std::byte>;

inline void require(bool right, const std::string& what) {
    if (!right) throw std::runtime_error(what);
}

// Content that differs by message and by place in it.
inline Bytes content(std::uint64_t seed, std::size_t bytes) {
    Bytes data(bytes);
    std::uint64_t word = seed * 0x9e3779b97f4a7c15u + 0x123456789abcdefu;
    for (std::size_t i = 0; i < bytes; i += 8) {
        word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9u + i;
        std::memcpy(data.data() + i, &word, std::min<std::size_t>(8, bytes - i));
    }
    return data;
}

template <class T>
Bytes bytes_of(const T& value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// Polls until `done`; throws when that takes longer than a minute.
template <class Done>
void drive(Transport& transport, Done done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (unsigned round = 1; !done(); ++round) {
        if (transport.progress()) continue;
        if (transport.waiting() == transport::Waiting::block) {
            transport.rest();  // where looks take time
            continue;
        }
        sched_yield();
        if (round % 1024 != 0) continue;
        require(std::chrono::steady_clock::now() < deadline, "nothing has arrived for a minute");
    }
}

// One operation with its memory; counts how often it was told to be finished.
struct Operation {
    Message message;
    Bytes data;
    std::uint64_t before = 0;  // of an atomic
    unsigned told = 0;
    bool at_once = false;

    Operation() {
        message.owner = this;
        message.finished = [](Message& m) { ++static_cast<Operation*>(m.owner)->told; };
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    [[nodiscard]] bool finished() const { return at_once || told > 0; }
    void check(Outcome outcome = Outcome::done) const {
        require(finished(), "an operation is not finished");
        require(told == (at_once ? 0u : 1u), "an operation was told to be finished " + std::to_string(told) + " times");
        require(message.outcome == outcome, "an operation ended with outcome " +
                                                std::to_string(static_cast<int>(message.outcome)) + " instead of " +
                                                std::to_string(static_cast<int>(outcome)));
    }
};

// Operations that stay where they are until all are finished.
class Operations {
public:
    explicit Operations(Transport& transport) : transport_(transport) {}

    Operation& send(Rank to, std::uint64_t tag, Bytes data) {
        Operation& operation = all_.emplace_back();
        operation.data = std::move(data);
        operation.at_once = transport_.send(to, Tag{tag}, operation.data, operation.message);
        return operation;
    }
    Operation& receive(Rank from, std::uint64_t tag, std::size_t bytes) {
        Operation& operation = all_.emplace_back();
        operation.data.resize(bytes);
        operation.at_once = transport_.receive(from, Tag{tag}, operation.data, operation.message);
        return operation;
    }
    Operation& put(Rank to, const RemoteMemory& where, std::uint64_t offset, Bytes data) {
        Operation& operation = all_.emplace_back();
        operation.data = std::move(data);
        operation.at_once = transport_.put(to, where, offset, operation.data, operation.message);
        return operation;
    }
    Operation& put_notify(Rank to, const RemoteMemory& where, std::uint64_t offset, Bytes data, std::uint64_t value) {
        Operation& operation = all_.emplace_back();
        operation.data = std::move(data);
        operation.at_once = transport_.put_notify(to, where, offset, operation.data, value, operation.message);
        return operation;
    }

    Operation& get(Rank from, const RemoteMemory& where, std::uint64_t offset, std::size_t bytes) {
        Operation& operation = all_.emplace_back();
        operation.data.resize(bytes);
        operation.at_once = transport_.get(from, where, offset, operation.data, operation.message);
        return operation;
    }
    Operation& atomic(Rank at, const RemoteMemory& where, std::uint64_t offset, const transport::Atomic& what) {
        Operation& operation = all_.emplace_back();
        operation.at_once = transport_.atomic(at, where, offset, what, operation.before, operation.message);
        return operation;
    }

    void wait() {
        std::size_t next = 0;
        drive(transport_, [&] {
            while (next < all_.size() && all_[next].finished()) ++next;
            return next == all_.size();
        });
    }
    void wait_and_check() {
        wait();
        require(!transport_.lost(), "a rank was lost: " + std::string(transport_.lost_why()));
        for (const Operation& operation : all_) operation.check();
    }

private:
    Transport& transport_;
    std::deque<Operation> all_;
};

// Everybody has come here. Dissemination on tags that no case uses.
inline void barrier(Transport& transport) {
    const std::uint32_t ranks = transport.size(), me = transport.rank().value;
    for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
        Operations operations(transport);
        operations.receive(Rank{(me + ranks - distance) % ranks}, ~std::uint64_t{0} - distance, 0);
        operations.send(Rank{(me + distance) % ranks}, ~std::uint64_t{0} - distance, {});
        operations.wait_and_check();
    }
}

// What each rank gives to all.
template <class T>
std::vector<T> exchange(Transport& transport, const T& mine) {
    const Bytes bytes = bytes_of(mine);
    Operations operations(transport);
    std::vector<Operation*> receives;
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank)
        receives.push_back(&operations.receive(Rank{rank}, ~std::uint64_t{0}, sizeof mine));
    for (std::uint32_t rank = 0; rank < transport.size(); ++rank) operations.send(Rank{rank}, ~std::uint64_t{0}, bytes);
    operations.wait_and_check();
    std::vector<T> all(transport.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        std::memcpy(&all[rank], receives[rank]->data.data(), sizeof(T));
    return all;
}

}  // namespace loom::conformance
