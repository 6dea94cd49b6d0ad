// Where a rank's time goes, each moment once, and what becomes of it in the timeline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "loom/transport/transport.hpp"
#include "loom/twin/run.hpp"
#include "loom/twin/timeline.hpp"

namespace loom::twin {

// The operations that a rank has begun and not finished.
class OpenOperations {
public:
    struct Open {
        transport::OperationName operation;
        std::string what;  // the name may go with the program that gave it
        Time begin{};
    };
    void begin(const transport::OperationName& operation, Time now);
    // What ended, of the name that it was begun with.
    [[nodiscard]] Open end(transport::Tag first);
    // The one that messages with this tag belong to; null when none does.
    [[nodiscard]] const Open* of(transport::Tag tag) const;

private:
    std::vector<Open> open_;
};

// One rank's events, as many as it may have.
class Events {
public:
    explicit Events(std::size_t most) : most_(most) {}
    void add(const Span& span, std::string_view name);
    void add(const Arrow& arrow);
    // Hands all over, names and what was left out too.
    void move_to(Timeline& timeline, std::vector<Span>& spans);

private:
    [[nodiscard]] bool has_room();

    std::size_t most_;
    std::uint64_t left_out_ = 0;
    std::vector<Span> spans_;
    std::vector<Arrow> arrows_;
    std::vector<std::string> names_{""};
};

// The core is busy at times of its own, which are known when they end; meanwhile the program rests. What it rests while
// the core is busy counts as computing.
class Account {
public:
    // What ended a rest.
    struct Reason {
        Span::Kind kind = Span::Kind::wait;
        Rank peer = no_peer;
        std::uint64_t bytes = 0;
        transport::Tag tag;
        std::string name;
        std::uint32_t group = 0;
    };

    // `events` may be null.
    explicit Account(Events* events) : events_(events) {}

    // Work that will end by work_ended(), first in, first out.
    void work_begins(Span::Kind kind, Time duration, std::uint64_t bytes);
    void work_ended(Time now);
    void rested(Time since, Time now, Reason reason);
    // Nothing of this rank lies before `now` that was not said. Cheap where the core is not busy.
    void settle(Time now);
    // It ends, or will never go on. Work that it did not wait for is forgotten.
    void close(Time now);

    [[nodiscard]] Time computing() const { return computing_; }
    [[nodiscard]] Time waiting() const { return waiting_; }
    [[nodiscard]] Time sending() const { return sending_; }

private:
    struct Work {
        Span::Kind kind;
        Time duration;
        std::uint64_t bytes;
    };
    struct Rest {
        Time begin, end;
        Reason reason;
    };
    struct Busy {
        Time begin, end;
    };
    void busy(Time begin, Time end, const Work& work);
    void count(Time begin, Time end, const Reason& reason);

    Events* events_;
    std::vector<Work> under_way_;
    std::size_t ended_ = 0;    // of those
    std::vector<Rest> rests_;  // not counted yet
    std::vector<Busy> busy_;   // that those may overlap
    Time last_busy_{};
    Time computing_{}, waiting_{}, sending_{};
};

}  // namespace loom::twin
