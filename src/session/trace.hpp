// A trace as qlog has it (JSON text sequences, qlog 0.3), which qvis and scripts for QUIC read.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "loom/base/time.hpp"

namespace loom::session {

struct Board;
struct Segment;

class Trace {
public:
    // Writes the head. The stream must live as long.
    Trace(std::ostream& out, bool opener, Time begin);

    void sent(const Board& board, const Segment& segment, std::size_t bytes);
    void received(const Board& board, std::size_t bytes);
    void changed(const Board& board, std::string_view composition, std::string_view reason);

private:
    void event(Time when, std::string_view name, const std::string& data);
    void metrics(const Board& board);

    std::ostream& out_;
    Time begin_;
    double window_ = -1;
    Time trip_{-1};
};

// Out of line, so that a stack without a trace pays one branch.
void trace_sent(Trace& trace, const Board& board, const Segment& segment, std::size_t bytes);
void trace_received(Trace& trace, const Board& board, std::size_t bytes);

}  // namespace loom::session
