#include "cli/collective.hpp"

#include <charconv>
#include <string_view>

#include "loom/base/error.hpp"
#include "loom/coll/uniform.hpp"

namespace loom::cli {

namespace {

coll::UniformCall call_of(coll::Collective what, std::uint32_t ranks, std::uint64_t bytes) {
    coll::UniformShape shape;
    shape.what = what;
    shape.ranks = ranks;
    shape.bytes = bytes;
    shape.per_host = 1;
    return coll::UniformCall(shape);
}

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

coll::UniformCall collective_call(const CollectiveOptions& options, std::uint64_t bytes) {
    std::string_view rest = options.name;
    return call_of(coll::parse_collective(cut(rest)), options.ranks, bytes);
}

coll::Forecast collective_forecast(const CollectiveOptions& options, std::uint64_t bytes,
                                   const coll::Parameters& parameters) {
    std::string_view rest = options.name;
    (void)cut(rest);
    const std::string_view name = cut(rest);
    coll::Tuning tuning;
    tuning.segment = number(cut(rest), options.name);
    tuning.ways = static_cast<std::uint32_t>(number(cut(rest), options.name));
    const coll::UniformCall call = collective_call(options, bytes);
    return coll::forecast(call, name.empty() ? coll::plan_by(call, parameters) : coll::plan_named(call, name, tuning),
                          parameters);
}

std::vector<CollectiveOptions> algorithms_of(const CollectiveOptions& options, std::uint64_t most_bytes) {
    const coll::Collective what = coll::parse_collective(options.name);
    const coll::UniformCall call = call_of(what, options.ranks, most_bytes);
    std::vector<CollectiveOptions> all;
    for (const coll::Algorithm& algorithm : coll::algorithms(what))
        if (algorithm.fits(call.group(), call.calls()[0]))
            all.push_back({std::string(to_string(what)) + ":" + std::string(algorithm.name), options.ranks});
    return all;
}

}  // namespace loom::cli
