// libloom-twin.so: preloaded into programs by `loom twin run`, and a plug-in of the transport room in them.
#include <memory>

#include "loom/base/clock.hpp"
#include "loom/base/error.hpp"
#include "loom/transport/plugin.hpp"
#include "twin/plugin/bootstrap.hpp"
#include "twin/plugin/transport.hpp"

#define LOOM_EXPORT extern "C" __attribute__((visibility("default")))

namespace loom::twin {
namespace {

Client& client() {
    Client* const found = Client::get();
    if (found == nullptr) throw transport::BootstrapError("this process was not started by loom twin run");
    return *found;
}

class ProgramClock final : public Clock {
public:
    explicit ProgramClock(Client& client) : client_(client) {}
    [[nodiscard]] Time now() override { return client_.now(); }
    void sleep_until(Time when) override { client_.sleep_until(when); }
    void compute(Time duration) override { client_.compute(duration); }

private:
    Client& client_;
};

}  // namespace
}  // namespace loom::twin

LOOM_EXPORT const char* loom_plugin_version() {
    return loom::transport::plugin::version;
}

LOOM_EXPORT loom::transport::Bootstrap* loom_open_bootstrap(const loom::transport::plugin::Settings&) {
    return std::make_unique<loom::twin::TwinBootstrap>(loom::twin::client()).release();
}

LOOM_EXPORT loom::transport::Transport* loom_open_transport(loom::transport::Bootstrap&,
                                                            const loom::transport::plugin::Settings&) {
    return std::make_unique<loom::twin::TwinTransport>(loom::twin::client()).release();
}

// The clock of the whole process, which base looks for (src/base/clock.cpp). Null: the machine's.
LOOM_EXPORT loom::Clock* loom_process_clock() {
    static loom::Clock* const clock = []() -> loom::Clock* {
        loom::twin::Client* const found = loom::twin::Client::get();
        return found == nullptr ? nullptr : new loom::twin::ProgramClock(*found);
    }();
    return clock;
}
