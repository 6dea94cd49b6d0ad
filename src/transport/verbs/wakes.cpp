#include "transport/verbs/wakes.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "loom/base/error.hpp"
#include "transport/verbs/layout.hpp"

namespace loom::transport {

Wakes::Wakes(const Device& device) : device_(device), bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (bell_ < 0) throw Error(std::string("cannot make an eventfd: ") + std::strerror(errno));
}

Wakes::~Wakes() {
    ::close(bell_);
}

void Wakes::turn(bool on) {
    on_ = on;
    armed_ = false;
    watched_ = on_ || expecting_;
}

void Wakes::expect_notifications(bool may_come) {
    expecting_ = may_come;
    watched_ = on_ || expecting_;
}

int Wakes::drain() {
    ibv_wc wakes[32];
    int taken = 0;
    while (true) {
        const int count = ibv_poll_cq(device_.received.get(), 32, wakes);
        if (count <= 0) break;
        taken += count;
        for (const ibv_wc& wake : std::span(wakes, static_cast<std::size_t>(count)))
            if (wake.status == IBV_WC_SUCCESS && ntohl(wake.imm_data) != bell_immediate)
                arrived_.push_back({wake.qp_num, ntohl(wake.imm_data)});
    }
    if (taken != 0) device_.post_receives(static_cast<std::uint32_t>(taken));
    return taken;
}

std::optional<Wakes::Arrival> Wakes::next() {
    if (arrived_.empty()) return {};
    const Arrival first = arrived_.front();
    arrived_.pop_front();
    return first;
}

// Nothing is missed because everything is looked at once more after asking.
bool Wakes::take() {
    if (fired_.exchange(false)) armed_ = false;
    if (drain() != 0) armed_ = false;  // that may be what was asked for
    if (armed_) return false;
    ibv_req_notify_cq(device_.received.get(), 1);
    ibv_req_notify_cq(device_.sent.get(), 0);
    armed_ = true;
    return true;
}

void Wakes::sleep(std::chrono::microseconds most) {
    if (const auto wait = device_.adapter.functions.wait; wait != nullptr) {
        const int why = wait(device_.channel.get(), bell_, static_cast<std::uint64_t>(most.count()) * 1000);
        if (why < 0) throw Error("verbs: the device is gone");
        if ((why & LOOM_WAIT_OTHER) != 0) quieten_bell();
        if ((why & LOOM_WAIT_EVENT) != 0) fired_ = true;
        return;
    }
    pollfd both[2] = {{device_.channel->fd, POLLIN, 0}, {bell_, POLLIN, 0}};
    const timespec limit{most.count() / 1'000'000, most.count() % 1'000'000 * 1000};
    if (ppoll(both, 2, &limit, nullptr) <= 0) return;
    if ((both[1].revents & POLLIN) != 0) quieten_bell();
    if ((both[0].revents & POLLIN) != 0) {
        const verbs::Functions& f = device_.adapter.functions;
        ibv_cq* queue = nullptr;
        void* context = nullptr;
        while (f.get_cq_event(device_.channel.get(), &queue, &context) == 0) {
            f.ack_cq_events(queue, 1);
            fired_ = true;  // another thread may be about to arm: what it notes must not hide this
        }
    }
}

void Wakes::quieten_bell() const {
    std::uint64_t rung = 0;
    [[maybe_unused]] const auto done = ::read(bell_, &rung, sizeof rung);
}

void Wakes::interrupt() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto done = ::write(bell_, &one, sizeof one);
}

}  // namespace loom::transport
