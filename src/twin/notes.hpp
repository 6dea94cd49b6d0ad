// What one rank has worked out for all.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace loom::twin {

// From any thread. The first note of a key stays; beyond `most` of them nothing is noted.
class Notes {
public:
    static constexpr std::size_t most = 65'536;

    void add(std::string_view key, std::string_view text) {
        const std::lock_guard lock(mutex_);
        if (all_.size() < most) all_.try_emplace(std::string(key), text);
    }
    [[nodiscard]] std::optional<std::string> find(std::string_view key) {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(key);
        return found == all_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::string, std::less<>> all_;
};

}  // namespace loom::twin
