#include "transport/bootstrap.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>

namespace loom::transport {

namespace {

class Alone : public Bootstrap {
public:
    [[nodiscard]] std::string_view name() const override { return "alone"; }
    [[nodiscard]] Rank rank() const override { return Rank{0}; }
    [[nodiscard]] std::uint32_t size() const override { return 1; }

    void put(std::string_view key, std::string_view value) override { values_[std::string(key)] = value; }
    void fence() override {}
    [[nodiscard]] std::string get(Rank of, std::string_view key) override {
        const auto found = values_.find(key);
        if (of != rank() || found == values_.end())
            throw BootstrapError("rank " + std::to_string(of.value) + " has put no " + std::string(key));
        return found->second;
    }

private:
    std::map<std::string, std::string, std::less<>> values_;
};

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

std::string who_started_us() {
    if (is_set("LOOM_BOOTSTRAP")) return std::getenv("LOOM_BOOTSTRAP");
    if (is_set("LOOM_RUN")) return "launcher";
    return "alone";
}

}  // namespace

std::chrono::milliseconds bootstrap_timeout() {
    const char* text = std::getenv("LOOM_BOOTSTRAP_TIMEOUT");
    if (text == nullptr) return std::chrono::seconds(60);
    double seconds = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, seconds);
    if (error != std::errc{} || stop != end || !(seconds > 0 && seconds <= 1e6))
        throw BootstrapError("LOOM_BOOTSTRAP_TIMEOUT=" + std::string(text) + ": expected seconds, more than 0");
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000) + 1);
}

std::unique_ptr<Bootstrap> alone_bootstrap() {
    return std::make_unique<Alone>();
}

std::unique_ptr<Bootstrap> find_bootstrap() {
    const std::string kind = who_started_us();
    if (kind == "launcher") return launcher_bootstrap();
    if (kind == "alone") return alone_bootstrap();
    throw BootstrapError("LOOM_BOOTSTRAP=" + kind + ": expected launcher, pmix, mpi or alone");
}

}  // namespace loom::transport
