// What ended a kernel, with names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loom/base/error.hpp"

namespace loom::device {

// A call of a kernel was wrong. what(): "rank 3: dcuda_put: offset 96 + 64 bytes exceed the 128 of rank 1 (FILE:LINE)".
class DeviceError : public Error {
public:
    DeviceError(std::uint32_t of, std::string in, const std::string& why)
        : Error("rank " + std::to_string(of) + ": " + in + ": " + why), rank(of), function(std::move(in)) {}
    std::uint32_t rank;
    std::string function;  // "dcuda_put"
};

// More blocks than can be resident: they would wait for others that never start.
class TooManyBlocks : public Error {
public:
    using Error::Error;
};

// Nothing moves any more.
class Stall : public Error {
public:
    enum class Kind : std::uint8_t {
        lost,        // nobody would send what a rank waits for
        wrong_tag,   // the same, and another tag lies there unused
        wrong_rank,  // the same, and the tag lies unused at another rank
        circular,    // ranks wait for each other
        collective,  // not all ranks called the same
    };
    struct Waiter {
        std::uint32_t rank = 0;
        std::string function;
        std::uint32_t tag = 0, count = 0, there = 0;
        std::vector<std::uint32_t> senders;  // who would send it, were they let go
        std::string place;
    };
    Stall(Kind what, std::vector<Waiter> who, const std::string& text)
        : Error(text), kind(what), waiters(std::move(who)) {}
    Kind kind;
    std::vector<Waiter> waiters;
};

// Two accesses to the same bytes, one of them a write, that nothing orders.
class Race : public Error {
public:
    struct Access {
        std::uint32_t rank = 0;
        std::string what;   // "put of 8 bytes to rank 1", "read"
        std::string place;  // "halo.cpp:31"
    };
    Race(Access earlier, Access later, const std::string& text)
        : Error(text), first(std::move(earlier)), second(std::move(later)) {}
    Access first, second;
};

}  // namespace loom::device
