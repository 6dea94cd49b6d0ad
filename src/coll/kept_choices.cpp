#include "coll/kept_choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "coll/measuring.hpp"
#include "coll/parameter_cache.hpp"
#include "coll/talk.hpp"
#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/model/parameters.hpp"

namespace loom::coll {

namespace {

constexpr std::string_view title = "loomband choices 1";
constexpr std::uint32_t most_ways = 64;              // of any algorithm, with room
constexpr std::uint64_t longest_segment = 64 << 20;  // likewise

std::string_view next_word(std::string_view& text, char separator) {
    const std::size_t at = text.find(separator);
    const std::string_view word = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return word;
}

template <class Number>
Number number(std::string_view word, int base, Number most) {
    Number value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc{} || end != word.data() + word.size() || value > most)
        throw UsageError(fmt::format("'{}' is no number that belongs here", word));
    return value;
}

Kept parse_kept(Collective what, std::string_view text) {
    Kept kept;
    kept.algorithm = &find_algorithm(what, next_word(text, ':'));
    kept.tuning.segment = number(next_word(text, ':'), 10, longest_segment);
    kept.tuning.ways = number(text, 10, most_ways);
    return kept;
}

// The last word of a key has the operation in it, as Ranking puts it together.
Collective collective_of(const KeptChoices::Key& key) {
    if (key[3] >> 1 >= collectives) throw UsageError("no such collective");
    return static_cast<Collective>(key[3] >> 1);
}

// Ranks of one process are for tests. In virtual time what is chosen must not depend on what ran before.
bool keeps_nothing(const transport::Transport& transport) {
    return transport.size() == 1 || transport.name() == "local" || transport.waiting() == transport::Waiting::block;
}

std::string header(const Parameters& parameters) {
    return fmt::format("{} by rules {:016x} and parameters {:016x}\n", title, rules_version,
                       digest(model::to_text(parameters.charges)));
}

}  // namespace

const std::vector<Kept>* KeptChoices::find(const Key& key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
}

void KeptChoices::add(const Key& key, const std::vector<Kept>& best) {
    if (known_.size() >= most || best.empty()) return;
    known_.try_emplace(key, best.begin(), best.begin() + std::min<std::ptrdiff_t>(most_each, std::ssize(best)));
}

void KeptChoices::take(const KeptChoices& others) {
    for (const auto& [key, best] : others.known_) add(key, best);
}

std::string KeptChoices::to_text() const {
    std::string text;
    for (const auto& [key, best] : known_) {
        text += fmt::format("{:x} {:x} {:x} {:x}", key[0], key[1], key[2], key[3]);
        for (const Kept& each : best)
            text += fmt::format(" {}:{}:{}", each.algorithm->name, each.tuning.segment, each.tuning.ways);
        text += '\n';
    }
    return text;
}

KeptChoices KeptChoices::from_text(std::string_view text) {
    KeptChoices all;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        Key key;
        for (std::uint64_t& word : key) word = number(next_word(line, ' '), 16, UINT64_MAX);
        const Collective what = collective_of(key);
        std::vector<Kept> best;
        while (!line.empty()) best.push_back(parse_kept(what, next_word(line, ' ')));
        all.add(key, best);
    }
    return all;
}

std::optional<std::filesystem::path> choice_file(const transport::Transport& transport, const Parameters& parameters) {
    if (keeps_nothing(transport) || parameters.source == Parameters::Source::given) return {};
    std::optional<std::filesystem::path> file = parameter_file(parameter_key(transport));
    std::error_code ignored;
    if (!file || !std::filesystem::exists(*file, ignored)) return {};
    std::string name = file->filename().string();
    name.replace(0, name.find('-'), "choices");
    return file->replace_filename(name);
}

KeptChoices load_choices(const std::filesystem::path& file, const Parameters& parameters) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return {};
    try {
        const std::string text = read_file(file);
        const std::string first = header(parameters);
        const std::size_t last = text.rfind("check ");
        if (!text.starts_with(first) || last == std::string::npos || last < first.size()) return {};
        const std::string_view before = std::string_view(text).substr(0, last);
        if (text.substr(last) != fmt::format("check {:016x}\n", digest(before))) return {};
        return KeptChoices::from_text(before.substr(first.size()));
    } catch (const std::exception&) {  // choices are made anew then
        return {};
    }
}

void keep_choices(const std::filesystem::path& file, const Parameters& parameters, const KeptChoices& fresh) {
    KeptChoices all = load_choices(file, parameters);
    all.take(fresh);
    std::string text = header(parameters) + all.to_text();
    text += fmt::format("check {:016x}\n", digest(text));
    try {
        write_file(file, text);
    } catch (const IoError&) {
    }
}

KeptChoices agree_choices(transport::Transport& transport, const Parameters& parameters) {
    if (keeps_nothing(transport)) return {};
    Talk talk(transport);
    if (transport.rank() != Rank{0}) {
        const std::vector<std::byte> content = serve(talk);
        return KeptChoices::from_text({reinterpret_cast<const char*>(content.data()), content.size()});
    }
    KeptChoices kept;
    if (const auto file = choice_file(transport, parameters)) kept = load_choices(*file, parameters);
    tell_all(talk, kept.to_text());
    return kept;
}

}  // namespace loom::coll
