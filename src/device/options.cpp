#include "loom/device/options.hpp"

#include <algorithm>
#include <charconv>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

namespace loom::device {

namespace {

std::uint64_t number_of(Setting setting, const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) settings::refuse(setting, text, "a whole number");
    return value;
}

Time at_rate(std::uint64_t bytes, double rate) {
    return rate > 0 ? seconds(static_cast<double>(bytes) / rate) : Time{};
}

}  // namespace

std::uint32_t Occupancy::resident(std::uint32_t threads) const {
    if (threads == 0 || threads > threads_a_block)
        throw UsageError("a block of " + std::to_string(threads) + " threads: expected 1 to " +
                         std::to_string(threads_a_block));
    return std::min(multiprocessors * std::min(blocks_each, threads_each / threads), most_blocks);
}

Time Delays::of_payload(std::uint64_t bytes) const {
    if (bytes == 0) return {};
    if (staging_from != 0 && bytes >= staging_from) return staging + at_rate(bytes, staging_bytes);
    return direct + at_rate(bytes, direct_bytes);
}

Options Options::from_environment() {
    Options options;
    if (const auto check = settings::read_word(Setting::device_check)) options.check_races = *check == "races";
    if (const auto seed = settings::read(Setting::device_seed)) options.seed = number_of(Setting::device_seed, *seed);
    if (const auto manager = settings::read_word(Setting::device_manager))
        options.manager = *manager == "mpi" ? Manager::mpi : Manager::verbs;
    if (const auto ranks = settings::read(Setting::device_ranks)) {
        const std::uint64_t wanted = number_of(Setting::device_ranks, *ranks);
        if (wanted == 0 || wanted > 4096) settings::refuse(Setting::device_ranks, *ranks, "1 to 4096");
        options.ranks = static_cast<std::uint32_t>(wanted);
    }
    return options;
}

}  // namespace loom::device
