#include "twin/plugin/bootstrap.hpp"

#include <algorithm>
#include <cstring>

namespace loom::twin {

void TwinBootstrap::fence() {
    const std::string bytes = transport::pack(values_);
    values_.clear();
    std::size_t done = 0;
    do {
        const std::size_t part = std::min(bytes.size() - done, Slot::most_text);
        std::memcpy(client_.slot().text, bytes.data() + done, part);
        done += part;
        client_.ask(Ask::fence, {part, done == bytes.size() ? 1u : 0u});
    } while (done < bytes.size());
}

void TwinBootstrap::write_key(std::string_view key) {
    if (key.size() >= Slot::most_text) throw transport::BootstrapError("a key of more than 8,191 bytes");
    std::memset(client_.slot().text, 0, key.size() + 1);
    std::memcpy(client_.slot().text, key.data(), key.size());
}

std::string TwinBootstrap::get(Rank of, std::string_view key) {
    std::string value;
    while (true) {
        write_key(key);
        const Slot& answer = client_.ask(Ask::get, {of.value, value.size()});
        if (answer.answers[0] == 0)
            throw transport::BootstrapError("rank " + std::to_string(of.value) + " has put no " + std::string(key));
        value.append(answer.text, std::min<std::size_t>(answer.answers[2], Slot::most_text));
        if (value.size() >= answer.answers[1] || answer.answers[2] == 0) return value;
    }
}

std::optional<Rank> TwinBootstrap::first_unlike(std::string_view key) {
    write_key(key);
    const Slot& answer = client_.ask(Ask::unlike);
    if (answer.answers[0] == 0) return {};
    return Rank{static_cast<std::uint32_t>(answer.answers[1])};
}

}  // namespace loom::twin
