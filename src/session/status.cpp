#include "session/status.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <tuple>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"
#include "loom/session/status.hpp"

namespace loom::session {

namespace {

using nlohmann::json;

constexpr std::size_t longest_file = 64 << 10;

Status parse(const json& entry) {
    Status status;
    status.process = entry.at("process").get<int>();
    status.opener = entry.at("opener").get<bool>();
    status.peer = entry.at("peer").get<std::string>();
    status.text = entry.at("composition").get<std::string>();
    status.reason = entry.at("reason").get<std::string>();
    status.epoch = entry.at("epoch").get<std::uint32_t>();
    status.counters.messages_sent = entry.at("messages_sent").get<std::uint64_t>();
    status.counters.messages_received = entry.at("messages_received").get<std::uint64_t>();
    status.counters.segments_again = entry.at("segments_again").get<std::uint64_t>();
    status.counters.changes = entry.at("changes").get<std::uint64_t>();
    status.alive = status.process > 0 && (kill(status.process, 0) == 0 || errno == EPERM);
    return status;
}

}  // namespace

StatusFile::StatusFile(const std::string& folder, std::string peer, bool opener)
    : peer_(std::move(peer)), opener_(opener) {
    static std::atomic<unsigned> count{0};
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    path_ = std::filesystem::path(folder) / fmt::format("{}-{}.session", getpid(), ++count);
}

StatusFile::~StatusFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

void StatusFile::write(const Composition& composition, const Counters& counters, const std::string& reason) {
    const json entry{{"process", getpid()},
                     {"opener", opener_},
                     {"peer", peer_},
                     {"composition", to_string(composition)},
                     {"reason", reason},
                     {"epoch", composition.epoch},
                     {"messages_sent", counters.messages_sent},
                     {"messages_received", counters.messages_received},
                     {"segments_again", counters.segments_again},
                     {"changes", counters.changes}};
    try {
        write_file(path_, entry.dump(1) + '\n');
    } catch (const Error&) {
        return;  // whoever watches sees the one before
    }
}

std::vector<Status> read_statuses(const std::filesystem::path& folder) {
    std::vector<Status> all;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder, error)) {
        if (file.path().extension() != ".session") continue;
        try {
            const std::string text = read_file(file.path());
            if (text.size() <= longest_file) all.push_back(parse(json::parse(text)));
        } catch (const json::exception&) {
            continue;
        } catch (const Error&) {
            continue;  // gone between the listing and the reading
        }
    }
    std::sort(all.begin(), all.end(), [](const Status& a, const Status& b) {
        return std::tie(a.process, a.peer, a.opener) < std::tie(b.process, b.peer, b.opener);
    });
    return all;
}

}  // namespace loom::session
