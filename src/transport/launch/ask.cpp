#include "loom/transport/ask.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "loom/base/descriptor.hpp"
#include "loom/base/error.hpp"

namespace loom::transport {

namespace {

// Memory with a descriptor, which a forked process fills and we read when it has ended: unlike a pipe it holds an
// answer of any length while nobody reads.
class Answer {
public:
    Answer() : memory_(memfd_create("loom-answer", MFD_CLOEXEC)) {
        if (!memory_.open()) fail("keep");
    }
    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t bytes = ::write(memory_.number(), text.data(), text.size());
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes <= 0) fail("write");
            text.remove_prefix(static_cast<std::size_t>(bytes));
        }
    }
    [[nodiscard]] std::string read() const {
        struct stat about {};
        if (fstat(memory_.number(), &about) != 0) fail("read");
        std::string text(static_cast<std::size_t>(about.st_size), '\0');
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t bytes =
                pread(memory_.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
            if (bytes < 0 && errno == EINTR) continue;
            if (bytes <= 0) fail("read");
            done += static_cast<std::size_t>(bytes);
        }
        return text;
    }

private:
    [[noreturn]] static void fail(const char* what) {
        throw IoError(std::string("cannot ") + what + " an answer of the ranks: " + std::strerror(errno));
    }
    Descriptor memory_;
};

}  // namespace

std::string ask_ranks(Launch job, const std::function<std::string(Rank)>& body) {
    const Answer answer;
    job.program.clear();
    job.body = [&](Rank rank) {
        const std::string said = body(rank);
        if (rank == Rank{0}) answer.write(said);
        return 0;
    };
    const LaunchOutcome outcome = launch(job);
    if (outcome.timed_out) throw Error("the ranks were not done after " + std::to_string(job.timeout->count()) + " ms");
    if (outcome.first_failed)
        throw Error("rank " + std::to_string(outcome.first_failed->value) + " " +
                    describe(outcome.ranks[outcome.first_failed->value]));
    return answer.read();
}

}  // namespace loom::transport
