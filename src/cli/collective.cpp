#include "cli/collective.hpp"

#include <charconv>
#include <string_view>

#include "loom/base/error.hpp"

namespace loom::cli {

namespace {

// A call with all the blocks that any collective asks for, each of the same length.
struct Given {
    Given(std::uint32_t ranks, coll::Collective what, std::uint64_t each)
        : hosts(ranks), bytes(ranks, each), at(ranks) {
        if (to_string(what).starts_with("neighbour"))
            throw UsageError(std::string(to_string(what)) + " needs a topology; it cannot be named alone");
        for (std::uint32_t i = 0; i < ranks; ++i) at[i] = i * each;
        group.size = ranks;
        group.hosts = hosts;
        call.what = what;
        call.bytes = each;
        call.sent = call.received = {bytes, at};
    }
    Given(const Given&) = delete;
    Given& operator=(const Given&) = delete;
    std::vector<std::uint32_t> hosts;
    std::vector<std::uint64_t> bytes, at;
    coll::Group group;
    coll::Call call;
};

std::string_view cut(std::string_view& text) {
    const std::size_t colon = text.find(':');
    const std::string_view head = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    return head;
}

std::uint64_t number(std::string_view text, const std::string& whole) {
    std::uint64_t value = 0;
    if (text.empty()) return value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > UINT32_MAX)
        throw UsageError(whole + ": expected COLLECTIVE:ALGORITHM:SEGMENT:WAYS with whole numbers at the end");
    return value;
}

}  // namespace

traffic::Schedule collective_schedule(const CollectiveOptions& options, std::uint64_t bytes) {
    std::string_view rest = options.name;
    const coll::Collective what = coll::parse_collective(cut(rest));
    const std::string_view name = cut(rest);
    coll::Tuning tuning;
    tuning.segment = number(cut(rest), options.name);
    tuning.ways = static_cast<std::uint32_t>(number(cut(rest), options.name));
    const Given given(options.ranks, what, bytes);
    const coll::Algorithm& algorithm = name.empty() ? coll::algorithms(what).front() : coll::find_algorithm(what, name);
    return whole_schedule(algorithm, given.group, std::span(&given.call, 1), tuning);
}

std::vector<CollectiveOptions> algorithms_of(const CollectiveOptions& options, std::uint64_t most_bytes) {
    const coll::Collective what = coll::parse_collective(options.name);
    const Given given(options.ranks, what, most_bytes);
    std::vector<CollectiveOptions> all;
    for (const coll::Algorithm& algorithm : coll::algorithms(what))
        if (algorithm.fits(given.group, given.call))
            all.push_back({std::string(to_string(what)) + ":" + std::string(algorithm.name), options.ranks});
    return all;
}

}  // namespace loom::cli
