// What earlier jobs chose, kept beside the parameters they chose by: ranking the algorithms of one call takes 100 us on
// 4 ranks, as long as an exchange of 16 KiB, and 20 ms on 256.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loom/coll/algorithm.hpp"
#include "loom/coll/parameters.hpp"

namespace loom::coll {

struct Kept {
    const Algorithm* algorithm = nullptr;
    Tuning tuning;
    friend bool operator==(const Kept&, const Kept&) = default;
};

// The first of a ranking, by what the ranking depends on beside the parameters.
class KeptChoices {
public:
    using Key = std::array<std::uint64_t, 4>;
    static constexpr std::size_t most = 4096;  // calls
    static constexpr std::size_t most_each = 4;

    // Nothing when nobody has ranked such a call.
    [[nodiscard]] const std::vector<Kept>* find(const Key& key) const;
    // The first most_each of them; nothing where there are `most` calls already, or the key is known.
    void add(const Key& key, const std::vector<Kept>& best);
    [[nodiscard]] bool empty() const { return known_.empty(); }
    void take(const KeptChoices& others);

    // One line for each call. from_text takes what it can use and throws ParseError at the first line that it cannot.
    [[nodiscard]] std::string to_text() const;
    [[nodiscard]] static KeptChoices from_text(std::string_view text);

private:
    std::map<Key, std::vector<Kept>> known_;
};

// Where choices by parameters of this origin are kept: nothing when they were given or nothing is to be kept.
[[nodiscard]] std::optional<std::filesystem::path> choice_file(const transport::Transport& transport,
                                                               const Parameters& parameters);
// Nothing when there is no such file, it is damaged, or was made by other parameters or other rules of choosing.
[[nodiscard]] KeptChoices load_choices(const std::filesystem::path& file, const Parameters& parameters);
// Together with what others have kept meanwhile. Whole or not at all. A folder that cannot be written to is no error.
void keep_choices(const std::filesystem::path& file, const Parameters& parameters, const KeptChoices& fresh);

// Collective: what rank 0 finds, on every rank. Cost: a message from rank 0 to each other.
[[nodiscard]] KeptChoices agree_choices(transport::Transport& transport, const Parameters& parameters);

// Of the table of choices that a test compares with the rules (tests/coll/golden/choices.txt): what was chosen by other
// rules is not used.
inline constexpr std::uint64_t rules_version = 0x7c382cbc1557307d;

}  // namespace loom::coll
