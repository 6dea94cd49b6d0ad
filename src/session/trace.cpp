#include "session/trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "session/stack/board.hpp"
#include "session/stack/events.hpp"

namespace loom::session {

namespace {

std::string quoted(std::string_view text) {
    return nlohmann::json(std::string(text)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

Trace::Trace(std::ostream& out, bool opener, Time begin) : out_(out), begin_(begin) {
    out_ << fmt::format(
        "\x1e{{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON-SEQ\",\"title\":\"loomband session\",\"trace\":"
        "{{\"common_fields\":{{\"time_format\":\"relative\",\"reference_time\":0}},\"vantage_point\":{{\"type\":\"{}\"}"
        "}}}}}\n",
        opener ? "client" : "server");
}

void Trace::event(Time when, std::string_view name, const std::string& data) {
    out_ << fmt::format("\x1e{{\"time\":{:.6f},\"name\":\"{}\",\"data\":{{{}}}}}\n",
                        (when - begin_).microseconds() / 1000, name, data);
}

void Trace::sent(const Board& board, const Segment& segment, std::size_t bytes) {
    event(board.now, "transport:packet_sent",
          fmt::format("\"header\":{{\"packet_type\":\"1RTT\",\"packet_number\":{}}},\"raw\":{{\"length\":{}}},"
                      "\"is_retransmission\":{},\"message\":{},\"offset\":{}",
                      segment.sequence, bytes, segment.again, segment.piece.number, segment.piece.offset));
    metrics(board);
}

void Trace::received(const Board& board, std::size_t bytes) {
    event(board.now, "transport:packet_received",
          fmt::format("\"header\":{{\"packet_type\":\"1RTT\"}},\"raw\":{{\"length\":{}}}", bytes));
    metrics(board);
}

void Trace::changed(const Board& board, std::string_view composition, std::string_view reason) {
    event(
        board.now, "loom:composition_changed",
        fmt::format("\"epoch\":{},\"composition\":{},\"reason\":{}", board.epoch, quoted(composition), quoted(reason)));
}

void Trace::metrics(const Board& board) {
    if (board.window.size == window_ && board.trip.smoothed == trip_) return;
    window_ = board.window.size;
    trip_ = board.trip.smoothed;
    event(board.now, "recovery:metrics_updated",
          fmt::format("\"congestion_window\":{:.0f},\"bytes_in_flight\":{},\"smoothed_rtt\":{:.3f},\"min_rtt\":{:.3f}",
                      board.window.size * static_cast<double>(board.segment_bytes), board.flight * board.segment_bytes,
                      trip_.microseconds() / 1000, board.trip.least.microseconds() / 1000));
}

void trace_sent(Trace& trace, const Board& board, const Segment& segment, std::size_t bytes) {
    trace.sent(board, segment, bytes);
}

void trace_received(Trace& trace, const Board& board, std::size_t bytes) {
    trace.received(board, bytes);
}

}  // namespace loom::session
