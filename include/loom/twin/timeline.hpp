// What every rank did when: as a Chrome trace, which Perfetto opens, and as a picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "loom/base/ids.hpp"
#include "loom/base/svg.hpp"
#include "loom/base/time.hpp"
#include "loom/transport/message.hpp"

namespace loom::twin {

inline constexpr Rank no_peer{0xffffffffu};

// Something that took a rank's time. Spans of one rank do not overlap, but for operations, which lie behind the others
// and may overlap each other.
struct Span {
    enum class Kind : std::uint8_t {
        compute,  // declared
        copy,     // these three keep the core busy
        reduce,
        wait,       // for messages or notifications
        send,       // waits for nothing but its own sends
        operation,  // from its start until it was finished
    };
    Kind kind = Kind::compute;
    Time begin, end;
    // Of wait and send: the message that ended it, no_peer where something else did. Of copy, reduce and operation
    // only the bytes.
    Rank peer = no_peer;
    std::uint64_t bytes = 0;
    transport::Tag tag = {};  // of wait and send: within the operation where that is known
    std::uint32_t name = 0;   // of the operation, in Timeline::names; 0: none
    std::uint32_t group = 0;  // communicator of the operation; 0: all ranks

    friend bool operator==(const Span&, const Span&) = default;
};
[[nodiscard]] std::string_view to_string(Span::Kind kind);

struct Arrow {
    Rank from, to;
    Time sent;     // when it was started
    Time arrived;  // when all of it was there
    std::uint64_t bytes = 0;
    transport::Tag tag = {};

    friend bool operator==(const Arrow&, const Arrow&) = default;
};

// The first events of each rank, as many as were asked for. The same for any number of threads.
struct Timeline {
    std::vector<std::vector<Span>> ranks;  // by rank, in the order of their beginnings
    std::vector<Arrow> messages;           // by receiver, in the order of arrival
    std::vector<std::string> names{""};    // of operations
    std::vector<std::uint32_t> hosts;      // by rank
    std::vector<std::string> host_names;
    std::uint64_t left_out = 0;  // events beyond the limit
    Time end{};

    [[nodiscard]] bool empty() const { return ranks.empty(); }
    // "12 more events are not shown: ..."; empty when none were left out.
    [[nodiscard]] std::string remark() const;
};

// JSON that Perfetto and chrome://tracing open: hosts are processes, ranks are threads, messages are arrows. Times in
// microseconds with six digits behind the point: not a picosecond is lost. Operations that overlap others of their rank
// get tracks of their own. Written whole or not at all. About 150 bytes an event, of which a message makes four.
void write_chrome_trace(const Timeline& timeline, const std::filesystem::path& path);
void write_chrome_trace(const Timeline& timeline, std::ostream& out);

struct TimelineFrame {
    std::string title;
    double width = 1100;
    std::size_t most_rows = 128;       // beyond, several ranks share a row, which shows what most of them do
    std::size_t most_messages = 2000;  // beyond, or with more ranks than most_with_messages, no arrows are drawn
    std::size_t most_with_messages = 32;
};

// What is smaller than a pixel is drawn as the kind that takes most of it; of runs with thousands of spans, what is
// smaller than a few pixels. Size: mostly some hundred KiB, never more than a few MiB.
[[nodiscard]] Svg draw_timeline(const Timeline& timeline, const TimelineFrame& frame);

}  // namespace loom::twin
