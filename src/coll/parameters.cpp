#include "loom/coll/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "coll/measuring.hpp"
#include "coll/parameter_cache.hpp"
#include "coll/talk.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/base/settings.hpp"
#include "loom/model/assumed.hpp"
#include "loom/model/parameters.hpp"
#include "loom/transport/waiting.hpp"

namespace loom::coll {

namespace {

// "measure,L=1us": what to begin with, and what is said over it.
struct Asked {
    bool measure = false;
    bool assumed = false;
    std::string over;
};

Asked asked() {
    Asked result;
    const auto value = settings::read(Setting::coll_parameters);
    if (!value) return result;
    std::string_view text = *value;
    const auto begins = [&](std::string_view word) {
        if (text != word && !text.starts_with(std::string(word) + ",")) return false;
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        return true;
    };
    result.measure = begins("measure");
    result.assumed = !result.measure && begins("assumed");
    result.over = text;
    return result;
}

Parameters put_over(Parameters parameters, const std::string& over) {
    if (over.empty()) return parameters;
    try {
        parameters.charges = model::parse_charges(over, parameters.charges);
    } catch (const UsageError& error) {
        throw UsageError(std::string("LOOM_COLL_PARAMETERS: ") + error.what());
    }
    parameters.origin = "LOOM_COLL_PARAMETERS=" + over + " over " + std::string(to_string(parameters.source)) +
                        (parameters.origin.empty() ? "" : ": " + parameters.origin);
    parameters.source = Parameters::Source::given;
    return parameters;
}

Parameters assume(const transport::Transport& transport) {
    const bool crowded = transport.waiting() == transport::Waiting::yield;
    return {model::assumed_charges(transport.hosts(), crowded ? transport.cores() : transport.size()),
            Parameters::Source::assumed, "nothing was measured"};
}

// Whether more wants to run on this host than our ranks, and one that happens to.
bool others_run(const transport::Transport& transport) {
    const auto hosts = transport.hosts();
    const auto here = std::count(hosts.begin(), hosts.end(), hosts[transport.rank().value]);
    try {
        const std::string load = read_file("/proc/loadavg");  // "0.10 0.20 0.30 RUNNABLE/ALL LAST"
        std::size_t at = 0;
        for (int words = 0; words < 3 && at != std::string::npos; ++words) at = load.find(' ', at) + 1;
        std::int64_t runnable = 0;
        std::from_chars(load.data() + at, load.data() + load.size(), runnable);
        return runnable > here + 1;
    } catch (const IoError&) {
        return false;
    }
}

// In virtual time nothing is measured and nothing read: what comes out is the same every time. Every rank decides for
// itself, without a message.
std::optional<Parameters> given_by(const transport::Transport& transport) {
    const std::optional<std::string> text = transport.parameters_text();
    if (!text && transport.waiting() != transport::Waiting::block) return {};
    const Asked wanted = asked();
    if (wanted.measure)
        throw UsageError("LOOM_COLL_PARAMETERS=measure: nothing is measured over transport " +
                         std::string(transport.name()) + ", which gives its parameters or runs in virtual time");
    if (!text || wanted.assumed) return put_over(assume(transport), wanted.over);
    return put_over({model::parse_charges(*text, {}), Parameters::Source::given,
                     "transport " + std::string(transport.name()) + " gave them"},
                    wanted.over);
}

Parameters assume_for_a_while(Talk& talk, std::string_view why) {
    Parameters parameters = assume(talk.transport());
    parameters.origin = "assumed " + time_of_day() + ": " + std::string(why) + std::string(busy_words);
    return parameters;
}

Parameters measure_now(Talk& talk) {
    const bool busy_before = others_run(talk.transport());
    if (const std::optional<model::Charges> charges = measure(talk)) {
        const bool busy = busy_before || others_run(talk.transport());
        return {*charges, Parameters::Source::measured,
                "measured " + time_of_day() + std::string(busy ? busy_words : "")};
    }
    return assume_for_a_while(talk, "the machine was too busy to measure");
}

// For a program that did not ask to measure. What is measured beside other programs misleads more than it tells: with
// 4.4 us for a receive and no latency, which a compiler at work made of 0.1 and 0.2, an alltoall of 64 KiB on 4 ranks
// took 1,150 us instead of 450.
Parameters measure_if_quiet(Talk& talk) {
    constexpr std::string_view why = "what is measured beside other programs misleads";
    if (others_run(talk.transport())) return assume_for_a_while(talk, why);
    const Parameters parameters = measure_now(talk);
    return parameters.origin.ends_with(busy_words) ? assume_for_a_while(talk, why) : parameters;
}

Parameters decide(Talk& talk, const Asked& asked) {
    if (asked.assumed) return assume(talk.transport());
    const std::string key = parameter_key(talk.transport());
    const std::optional<std::filesystem::path> file = parameter_file(key);
    if (file && !asked.measure)
        if (std::optional<Parameters> kept = load_parameters(*file, key)) return *kept;
    Parameters parameters = asked.measure ? measure_now(talk) : measure_if_quiet(talk);
    // Also what was assumed: jobs that follow within some minutes choose alike.
    if (file) keep_parameters(*file, key, parameters);
    return parameters;
}

// What rank 0 tells: a letter for the source or 'E' for an error, the origin or the error, the charges.
std::string to_message(const Parameters& parameters) {
    return std::string(1, static_cast<char>('0' + static_cast<int>(parameters.source))) + parameters.origin + '\n' +
           model::to_text(parameters.charges);
}

Parameters from_message(std::string_view text) {
    const std::size_t line = text.find('\n');
    if (text.empty() || line == std::string_view::npos) throw Error("rank 0 sent no parameters");
    if (text[0] == 'E') throw UsageError(std::string(text.substr(1, line - 1)));
    Parameters parameters;
    parameters.source = static_cast<Parameters::Source>(text[0] - '0');
    parameters.origin = text.substr(1, line - 1);
    parameters.charges = model::parse_charges(text.substr(line + 1), {});
    return parameters;
}

Parameters hear(Talk& talk) {
    const std::vector<std::byte> content = serve(talk);
    return from_message({reinterpret_cast<const char*>(content.data()), content.size()});
}

// All parameters of some machine, where the file has them: a job's kept ones or the JSON of `loom measure loggp`.
std::optional<Parameters> whole_file(const std::string& path, const std::string& text) {
    if (std::optional<Parameters> kept = read_kept_parameters(path)) return kept;
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object()) return {};
    if (!object.contains("text") || !object["text"].is_string())
        throw ParseError(path, 0, "expected what `loom measure loggp --json` prints, with a text of parameters");
    const std::string said = object.value("origin", "");
    try {
        return Parameters{model::parse_charges(object["text"].get<std::string>(), {}), Parameters::Source::given,
                          said + (said.empty() ? "" : ", ") + "from " + path};
    } catch (const UsageError& error) {
        throw ParseError(path, 0, error.what());
    }
}

Parameters list_over(Parameters base, const std::string& list) {
    base.charges = model::parse_charges(list, base.charges);
    base.origin = list + " over " + origin_of(base);
    base.source = Parameters::Source::given;
    return base;
}

Parameters file_over(const Parameters& base, const std::string& path, const std::optional<model::Link>& link) {
    std::string text = read_file(path);
    if (std::optional<Parameters> whole = whole_file(path, text)) {
        if (link && base.charges.far) whole->charges = model::with_link(whole->charges, *link);
        return *whole;
    }
    std::erase_if(text, [](unsigned char c) { return c <= ' '; });
    try {
        return {model::parse_charges(text, base.charges), Parameters::Source::given, "from " + path};
    } catch (const UsageError& error) {
        throw ParseError(path, 0, error.what());
    }
}

}  // namespace

Parameters imagined_parameters(const Imagined& group) {
    const auto ranks = static_cast<std::uint32_t>(group.hosts.size());
    Parameters base{model::assumed_charges(group.hosts, group.cores == 0 ? ranks : group.cores),
                    Parameters::Source::assumed, "nothing was measured"};
    if (group.link && base.charges.far) base.charges = model::with_link(base.charges, *group.link);
    base = put_over(base, asked().over);
    return group.parameters.empty() ? base : read_parameters(group.parameters, base, group.link);
}

Parameters read_parameters(const std::string& text, const Parameters& base, const std::optional<model::Link>& link) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(text, ignored)) return file_over(base, text, link);
    if (text.find('=') == std::string::npos)
        throw UsageError("parameters '" + text + "': expected a list such as L=1us,copy=80ps, or a file of them");
    return list_over(base, text);
}

std::string origin_of(const Parameters& parameters) {
    return parameters.source == Parameters::Source::assumed ? std::string("assumed") : parameters.origin;
}

std::string_view to_string(Parameters::Source source) {
    constexpr std::string_view names[] = {"assumed", "measured", "cached", "given"};
    return names[static_cast<std::size_t>(source)];
}

Parameters agree_parameters(transport::Transport& transport) {
    if (std::optional<Parameters> given = given_by(transport)) return *std::move(given);
    // Nothing to measure, or nothing worth it: threads of one process are for tests. They share an environment.
    if (transport.size() == 1 || (transport.name() == "local" && !asked().measure))
        return put_over(assume(transport), asked().over);
    Talk talk(transport);
    if (transport.rank() != Rank{0}) return hear(talk);
    try {
        const Asked wanted = asked();
        const Parameters parameters = put_over(decide(talk, wanted), wanted.over);
        tell_all(talk, to_message(parameters));
        return parameters;
    } catch (const UsageError& error) {
        tell_all(talk, "E" + std::string(error.what()) + "\n");
        throw;
    }
}

Parameters measure_parameters(transport::Transport& transport) {
    if (std::optional<Parameters> given = given_by(transport)) return *std::move(given);
    if (transport.size() == 1) return assume(transport);
    Talk talk(transport);
    if (transport.rank() != Rank{0}) return hear(talk);
    const Parameters parameters = measure_now(talk);
    tell_all(talk, to_message(parameters));
    return parameters;
}

}  // namespace loom::coll
