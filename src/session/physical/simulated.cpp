#include "session/physical/simulated.hpp"

#include "loom/base/clock.hpp"

namespace loom::session {

Time SimulatedWire::length(std::size_t bytes) const {
    return seconds(static_cast<double>(bytes) * 8 / wire_.bits_per_second);
}

Time SimulatedWire::has_room_at() const {
    return busy_until_ - length(wire_.queue_bytes / 2);
}

void SimulatedWire::arrive(Time at, std::span<const std::byte> segment) {
    arrivals_.emplace(std::pair(at, ++count_), Bytes(segment.begin(), segment.end()));
}

void SimulatedWire::send(Time now, std::span<const std::byte> segment, bool reliable) {
    // All are drawn for each segment, so that its fate does not depend on those before.
    const bool lost = random_.unit() < wire_.loss, twice = random_.unit() < wire_.duplicate;
    const bool held = random_.unit() < wire_.reorder;
    const Time waiting = busy_until_ - now;
    if (!reliable && waiting > length(wire_.queue_bytes)) return;
    busy_until_ = std::max(busy_until_, now) + length(segment.size());
    if (reliable) {
        last_in_order_ = std::max(last_in_order_, busy_until_ + wire_.delay);
        return arrive(last_in_order_, segment);
    }
    if (lost) return;
    const Time at = busy_until_ + wire_.delay + (held ? wire_.reorder_delay : Time{});
    arrive(at, segment);
    if (twice) arrive(at + wire_.delay, segment);
}

Bytes SimulatedWire::take(Time now) {
    if (arrivals_.empty() || arrivals_.begin()->first.first > now) return {};
    return std::move(arrivals_.extract(arrivals_.begin()).mapped());
}

std::span<std::byte> SimulatedPort::block() {
    wanted_ = false;
    if (!out_.sees_queue() || out_.has_room_at() <= now()) return block_;
    wanted_ = true;
    return {};
}

Time SimulatedPort::wake() const {
    const Time at = out_.has_room_at();
    return wanted_ && at > now() ? at : never;
}

void SimulatedPort::push(std::size_t bytes) {
    if (!failure_.empty()) return;
    out_.send(now(), std::span(block_).first(bytes), network_ == Network::infiniband && scheme_ == Scheme::synchronous);
}

std::span<std::byte> SimulatedPort::pop() {
    arrived_ = in_.take(now());
    return arrived_;
}

}  // namespace loom::session
