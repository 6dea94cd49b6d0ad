#include <span>

#include "device/job_state.hpp"

namespace loom::device {

Turns::Turns(Devices& devices, std::optional<std::uint64_t> seed) : devices_(devices) {
    if (seed) random_.emplace(*seed);
    for (std::uint32_t device = 0; device < devices.size(); ++device)
        for (std::uint32_t role = 0; role < devices[device].tables->size() + 3; ++role)
            actors_.emplace_back(device, role);
}

bool Turns::step(std::size_t actor) {
    Device& device = devices_[actors_[actor].first];
    const std::uint32_t role = actors_[actor].second, blocks = device.blocks->size();
    if (role < blocks) return (*device.blocks)[role].step();
    switch (role - blocks) {
        case 0:
            return device.host->main_step();
        case 1:
            return device.host->receive_step();
        default:
            return device.host->log_step();
    }
}

bool Turns::sweep() {
    bool moved = false;
    if (!random_) {
        for (std::size_t actor = 0; actor < actors_.size(); ++actor) moved |= step(actor);
        return moved;
    }
    random_->shuffle(std::span(actors_));
    const std::uint32_t most = everyone_ ? 0 : random_->below(8);  // how many of eight are left out
    bool skipped = false;
    for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
        if (most != 0 && random_->below(8) < most)
            skipped = true;
        else
            moved |= step(actor);
    }
    everyone_ = !moved;
    return moved || skipped;
}

}  // namespace loom::device
