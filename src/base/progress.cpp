#include "loom/base/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "loom/base/table.hpp"
#include "loom/base/terminal.hpp"

namespace loom {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double worth_showing_s = 2.0;  // shorter work stays silent
constexpr double first_guess_s = 0.4;    // before that an estimate of the total is noise
constexpr double redraw_s = 0.1;

double seconds_between(Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double>(b - a).count();
}

}  // namespace

struct Progress::State {
    std::mutex mutex;
    std::string label;
    Clock::time_point start = Clock::now();
    Clock::time_point drawn = Clock::now();
    bool enabled = false;
    bool visible = false;
};

Progress::Progress(std::string label, Show show) : state_(std::make_unique<State>()) {
    state_->label = std::move(label);
    state_->enabled = show == Show::automatic && is_terminal(Stream::err);
}

Progress::~Progress() {
    finish();
}

void Progress::update(double fraction) {
    State& state = *state_;
    const auto now = Clock::now();
    const std::lock_guard lock(state.mutex);
    if (!state.enabled || seconds_between(state.drawn, now) < redraw_s) return;
    const double elapsed = seconds_between(state.start, now);
    const double expected = fraction > 0 && elapsed > first_guess_s ? elapsed / fraction : elapsed;
    if (std::max(elapsed, expected) < worth_showing_s) return;
    state.drawn = now;
    state.visible = true;
    const std::string line = progress_line(state.label, fraction, elapsed, terminal_width(Stream::err));
    std::fprintf(stderr, "\r%s\033[K", line.c_str());
    std::fflush(stderr);
}

void Progress::finish() {
    const std::lock_guard lock(state_->mutex);
    if (state_->visible) std::fputs("\r\033[K", stderr);
    state_->visible = false;
    state_->enabled = false;
}

std::function<void(double)> Progress::callback() {
    if (!state_->enabled) return {};
    return [this](double fraction) { update(fraction); };
}

std::string progress_line(const std::string& label, double fraction, double elapsed_seconds, unsigned width) {
    fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
    std::string tail = fmt::format(" {:3.0f} %", std::floor(fraction * 100));
    if (fraction > 0 && fraction < 1) {
        const double left = std::ceil(elapsed_seconds * (1 - fraction) / fraction);
        if (left < 1e6) tail += fmt::format("  {} left", human_seconds(left));
    }
    const std::size_t fixed = display_width(label) + tail.size() + 3;  // blank and brackets
    const std::size_t room = width > fixed + 1 ? std::min<std::size_t>(width - fixed - 1, 40) : 0;
    if (room < 5) return label + tail;
    const auto filled = static_cast<std::size_t>(static_cast<double>(room) * fraction);
    return fmt::format("{} [{}{}]{}", label, std::string(filled, '#'), std::string(room - filled, '.'), tail);
}

}  // namespace loom
