#include "cli/ranks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "loom/base/error.hpp"
#include "loom/transport/launch.hpp"

namespace loom::cli {

namespace {

class Pipe {
public:
    Pipe() {
        if (pipe(ends_.data()) != 0) throw IoError("cannot make a pipe");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    // As much as a pipe holds: nobody reads while the ranks run.
    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t n = ::write(ends_[1], text.data(), text.size());
            if (n <= 0) throw IoError("cannot write to a pipe");
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    [[nodiscard]] std::string read() {
        close_end(1);
        std::string all;
        std::array<char, 4096> part{};
        for (ssize_t n; (n = ::read(ends_[0], part.data(), part.size())) > 0;)
            all.append(part.data(), static_cast<std::size_t>(n));
        return all;
    }

private:
    void close_end(std::size_t end) {
        if (ends_[end] >= 0) ::close(ends_[end]);
        ends_[end] = -1;
    }
    std::array<int, 2> ends_{-1, -1};
};

}  // namespace

std::string ask_ranks(std::uint32_t ranks, const std::function<std::string(Rank)>& body) {
    Pipe pipe;
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::seconds(60);
    job.output = transport::RankOutput::on_error;
    job.remark = [](const std::string& text) { fmt::print(stderr, "loom: {}\n", text); };
    job.body = [&](Rank rank) {
        const std::string said = body(rank);
        if (rank == Rank{0}) pipe.write(said);
        return 0;
    };
    std::fflush(stdout);
    const transport::LaunchOutcome outcome = transport::launch(job);
    if (outcome.timed_out) throw Error("the ranks were not done after a minute");
    if (outcome.exit_code() != 0) throw Error("a rank failed");
    return pipe.read();
}

}  // namespace loom::cli
