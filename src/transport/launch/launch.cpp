#include "loom/transport/launch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"
#include "loom/transport/bootstrap.hpp"
#include "loom/verbs/functions.hpp"
#include "transport/launch/exchange.hpp"
#include "transport/launch/guard.hpp"
#include "transport/launch/process.hpp"
#include "transport/launch/tagger.hpp"

namespace loom::transport {

namespace {

using namespace launching;
using Clock = std::chrono::steady_clock;

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array passed_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};
constexpr std::chrono::seconds from_term_to_kill{1};

// Our signals come by a descriptor while it lives.
class Signals {
public:
    Signals() {
        sigset_t ours;
        sigemptyset(&ours);
        for (const int signal : passed_signals) sigaddset(&ours, signal);
        sigaddset(&ours, SIGPIPE);  // of our own writing: seen where it happens
        pthread_sigmask(SIG_BLOCK, &ours, &before_);
        descriptor_ = Descriptor(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    ~Signals() {
        while (next() != 0) {
        }
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    [[nodiscard]] int descriptor() const { return descriptor_.number(); }
    [[nodiscard]] const sigset_t& before() const { return before_; }
    [[nodiscard]] int next() const {  // 0: none
        signalfd_siginfo info{};
        return read(descriptor_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
    }

private:
    sigset_t before_{};
    Descriptor descriptor_;
};

// While it lives we inherit the orphans of our ranks, and can wait for their end.
class Heir {
public:
    Heir() {
        prctl(PR_GET_CHILD_SUBREAPER, &before_);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    ~Heir() { prctl(PR_SET_CHILD_SUBREAPER, before_); }
    Heir(const Heir&) = delete;
    Heir& operator=(const Heir&) = delete;

private:
    int before_ = 0;
};

// What a rank prints, on its way to us.
struct Stream {
    Descriptor from;
    Rank rank;
    int to = -1;
    Tagger tagger;
};

struct Member {
    Process process;
    Descriptor socket;
    std::deque<std::string> unsent;
    bool running = false;
};

// False when nobody reads.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t bytes = write(descriptor, text.data(), text.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && errno == EAGAIN) {
            pollfd wanted{descriptor, POLLOUT, 0};
            poll(&wanted, 1, -1);
            continue;
        }
        if (bytes < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(bytes));
    }
    return true;
}

std::vector<int> our_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int core = 0; core < CPU_SETSIZE; ++core)
            if (CPU_ISSET(static_cast<unsigned>(core), &set)) cores.push_back(core);
    return cores;
}

// Where programs that are not beside their libraries can find ours; empty when we have none.
std::string folder_of_libraries() {
    try {
        return verbs::soft_library().parent_path().string();
    } catch (const Error&) {
        return {};
    }
}

class Job {
public:
    explicit Job(const Launch& launch)
        : launch_(launch),
          exchange_(launch.ranks, [this](Rank to, const Packet& packet) { send(to, packet); }),
          members_(launch.ranks) {
        outcome_.ranks.resize(launch.ranks);
        if (launch.timeout) give_up_ = begin_ + *launch.timeout;
    }
    ~Job() {
        signal_all(SIGKILL);
        for (Member& member : members_)
            if (member.running) waitpid(member.process.pid, nullptr, 0);
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    LaunchOutcome run() {
        start_all();
        while (running_ > 0) {
            wait();
            enforce();
        }
        drain_output();
        outcome_.seconds = since_begin();
        return std::move(outcome_);
    }

private:
    [[nodiscard]] double since_begin() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
    void remark(const std::string& text) const {
        if (launch_.remark) launch_.remark(text);
    }

    void start_all();
    void start_rank(std::uint32_t number, const std::vector<int>& cores);
    int stream(std::uint32_t rank, int to, std::vector<Descriptor>& theirs);
    int input_of(std::uint32_t rank, std::vector<Descriptor>& theirs);
    void wait();
    void enforce();
    [[nodiscard]] int milliseconds_left() const;
    void signal_all(int signal);
    void on_signal(int signal);
    void end_within(std::chrono::milliseconds time);
    void read_socket(Rank rank);
    void send(Rank to, const Packet& packet);
    void flush(Member& member);
    [[nodiscard]] bool was_killed(Rank rank) const;
    void reap(Rank rank);
    void fail(Rank rank);
    bool copy_output(Stream& stream);
    bool print(const Stream& stream, const std::string& text);
    void drain_output();
    void copy_input();

    const Launch& launch_;
    Clock::time_point begin_ = Clock::now();
    const std::string libraries_ = folder_of_libraries();
    Signals signals_;
    Heir heir_;
    Guard guard_;
    Exchange exchange_;
    std::vector<Member> members_;
    std::vector<std::unique_ptr<Stream>> streams_;
    Descriptor terminal_to_first_;  // the writing end of rank 0's standard input when ours is a terminal
    std::uint32_t running_ = 0;
    LaunchOutcome outcome_;
    std::vector<char> buffer_ = std::vector<char>(most_packet_bytes);
    std::optional<Clock::time_point> give_up_, terminate_, kill_;
    bool told_to_stop_ = false;
    bool signalled_ = false;  // ranks got a signal from us
};

// A terminal is read by us: only one process group may, and the ranks have their own.
int Job::input_of(std::uint32_t rank, std::vector<Descriptor>& theirs) {
    if (rank == 0 && isatty(STDIN_FILENO) == 0 && fcntl(STDIN_FILENO, F_GETFD) >= 0) return -1;
    if (rank == 0 && tcgetpgrp(STDIN_FILENO) == getpgrp()) {
        Pipe pipe = make_pipe();
        terminal_to_first_ = std::move(pipe.write);
        theirs.push_back(std::move(pipe.read));
    } else {
        theirs.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    return theirs.back().number();
}

int Job::stream(std::uint32_t rank, int to, std::vector<Descriptor>& theirs) {
    Pipe pipe = make_pipe();
    fcntl(pipe.read.number(), F_SETFL, O_NONBLOCK);
    const Tagger tagger = launch_.output == RankOutput::tagged ? Tagger(Rank{rank}) : Tagger();
    streams_.push_back(std::make_unique<Stream>(Stream{std::move(pipe.read), Rank{rank}, to, tagger}));
    theirs.push_back(std::move(pipe.write));
    return theirs.back().number();
}

void Job::start_rank(std::uint32_t number, const std::vector<int>& cores) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw IoError(std::string("cannot make a socket: ") + std::strerror(errno));
    Member& member = members_[number];
    member.socket = Descriptor(ends[0]);
    const Descriptor its(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);

    std::vector<Descriptor> theirs;
    Start start;
    start.program = launch_.program;
    start.body = [this, number] { return launch_.body(Rank{number}); };
    start.socket = ends[1];
    start.environment = {{settings::name(Setting::run), std::to_string(ends[1])},
                         {settings::name(Setting::rank), std::to_string(number)},
                         {settings::name(Setting::size), std::to_string(launch_.ranks)}};
    start.environment.insert(start.environment.end(), launch_.environment.begin(), launch_.environment.end());
    if (!libraries_.empty()) start.environment.emplace_back(settings::name(Setting::libraries), libraries_);
    start.input = input_of(number, theirs);
    if (launch_.output == RankOutput::tagged || launch_.output == RankOutput::handed) {
        start.output = stream(number, STDOUT_FILENO, theirs);
        start.error = stream(number, STDERR_FILENO, theirs);
    } else if (launch_.output == RankOutput::on_error) {
        start.output = STDERR_FILENO;
    }
    if (!cores.empty()) {
        start.core = cores[std::uint64_t{number} * cores.size() / std::max<std::uint64_t>(launch_.ranks, cores.size())];
        // With a core each they need not yield, which their own affinity cannot tell them.
        if (launch_.ranks <= cores.size() && !settings::read(Setting::waiting))
            start.environment.emplace_back(settings::name(Setting::waiting), "spin");
    }
    start.signals = signals_.before();
    for (const Member& other : members_) {
        if (other.socket.open()) start.not_its.push_back(other.socket.number());
        if (other.process.handle.open()) start.not_its.push_back(other.process.handle.number());
    }
    for (const auto& other : streams_) start.not_its.push_back(other->from.number());
    if (terminal_to_first_.open()) start.not_its.push_back(terminal_to_first_.number());
    start.not_its.push_back(signals_.descriptor());
    start.not_its.push_back(guard_.descriptor());

    member.process = launching::start(start);
    guard_.watch(member.process.pid);
    member.running = true;
    ++running_;
}

void Job::start_all() {
    std::vector<int> cores = launch_.bind == Binding::never ? std::vector<int>{} : our_cores();
    if (launch_.bind == Binding::crowded && launch_.ranks <= cores.size()) cores.clear();
    for (std::uint32_t rank = 0; rank < launch_.ranks; ++rank) start_rank(rank, cores);
}

int Job::milliseconds_left() const {
    auto next = Clock::time_point::max();
    for (const auto& time : {give_up_, terminate_, kill_})
        if (time) next = std::min(next, *time);
    if (next == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000'000));
}

void Job::wait() {
    std::vector<Rank> ended;
    std::vector<pollfd> wanted{{signals_.descriptor(), POLLIN, 0}};
    std::vector<std::function<void()>> actions{[this] {
        while (const int signal = signals_.next()) on_signal(signal);
    }};
    const auto watch = [&](int descriptor, short events, std::function<void()> action) {
        wanted.push_back({descriptor, events, 0});
        actions.push_back(std::move(action));
    };
    if (terminal_to_first_.open()) watch(STDIN_FILENO, POLLIN, [this] { copy_input(); });
    for (const auto& stream : streams_)
        if (stream->from.open()) watch(stream->from.number(), POLLIN, [this, &stream] { copy_output(*stream); });
    for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
        Member& member = members_[rank];
        if (!member.running) continue;
        if (member.socket.open())
            watch(member.socket.number(), static_cast<short>(member.unsent.empty() ? POLLIN : POLLIN | POLLOUT),
                  [this, rank] {
                      read_socket(Rank{rank});
                      flush(members_[rank]);
                  });
        watch(member.process.handle.number(), POLLIN, [&ended, rank] { ended.push_back(Rank{rank}); });
    }
    if (poll(wanted.data(), wanted.size(), milliseconds_left()) <= 0) return;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i].revents != 0) actions[i]();
    std::stable_partition(ended.begin(), ended.end(), [this](Rank rank) { return was_killed(rank); });
    for (const Rank rank : ended) reap(rank);
}

// Others fail because one was killed, hardly the other way round: of those that ended together it counts as the first.
bool Job::was_killed(Rank rank) const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(members_[rank.value].process.pid), &info, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid != 0 && info.si_code != CLD_EXITED;
}

void Job::signal_all(int signal) {
    signalled_ = true;
    for (const Member& member : members_)
        if (member.running) kill(-member.process.pid, signal);
}

void Job::end_within(std::chrono::milliseconds time) {
    const auto when = Clock::now() + time;
    if (!terminate_ || when < *terminate_) terminate_ = when;
}

void Job::on_signal(int signal) {
    if (signal == SIGPIPE) return;
    signal_all(signal);
    if (signal == SIGTSTP) raise(SIGSTOP);  // ours; SIGCONT, when it comes, is passed on like the others
    if (std::find(ending_signals.begin(), ending_signals.end(), signal) == ending_signals.end()) return;
    if (std::exchange(told_to_stop_, true))
        kill_ = Clock::now();
    else
        end_within(launch_.grace);
}

void Job::enforce() {
    const auto now = Clock::now();
    if (give_up_ && now >= *give_up_) {
        give_up_.reset();
        outcome_.timed_out = true;
        remark("the time is up: every rank is stopped");
        end_within(std::chrono::milliseconds(0));
    }
    if (terminate_ && now >= *terminate_ && !kill_) {
        signal_all(SIGTERM);
        signal_all(SIGCONT);
        kill_ = now + from_term_to_kill;
    }
    if (terminate_ && now >= *terminate_) terminate_.reset();
    if (kill_ && now >= *kill_) {
        signal_all(SIGKILL);
        kill_.reset();
    }
}

void Job::read_socket(Rank rank) {
    Member& member = members_[rank.value];
    while (member.socket.open()) {
        const ssize_t bytes = recv(member.socket.number(), buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && errno == EAGAIN) return;
        if (bytes <= 0) return member.socket.close();
        try {
            if (static_cast<std::size_t>(bytes) > buffer_.size()) throw BootstrapError("a packet is too long");
            exchange_.handle(rank, decode({buffer_.data(), static_cast<std::size_t>(bytes)}));
        } catch (const BootstrapError& error) {
            send(rank, {.kind = Kind::failed, .value = error.what()});
        }
    }
}

void Job::send(Rank to, const Packet& packet) {
    Member& member = members_[to.value];
    if (!member.socket.open()) return;
    member.unsent.push_back(encode(packet));
    flush(member);
}

void Job::flush(Member& member) {
    while (!member.unsent.empty() && member.socket.open()) {
        const std::string& bytes = member.unsent.front();
        if (::send(member.socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN) member.unsent.clear();
            return;
        }
        member.unsent.pop_front();
    }
}

void Job::reap(Rank rank) {
    Member& member = members_[rank.value];
    kill(-member.process.pid, SIGKILL);  // what it left behind; the number is its own until we have waited
    int status = 0;
    if (waitpid(member.process.pid, &status, 0) != member.process.pid) return;
    while (waitpid(-member.process.pid, nullptr, 0) > 0) {
    }
    guard_.forget(member.process.pid);
    read_socket(rank);  // its last words
    member.running = false;
    member.process.handle.close();
    --running_;

    RankEnd& end = outcome_.ranks[rank.value];
    end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    end.seconds = since_begin();
    end.joined = exchange_.joined(rank);
    end.unfinished = end.joined && !exchange_.finished(rank);
    exchange_.ended(rank, describe(end), !end.failed() && !end.joined);
    if (end.failed() || end.unfinished) remark("rank " + std::to_string(rank.value) + " " + describe(end));
    if (end.failed()) fail(rank);
}

// The first in time counts, unless another was killed (SIGKILL) by somebody else: peers hear of a killed rank from
// their adapters, sometimes before the system has taken all of it down, and end with an exit code of their own. Other
// signals may themselves be a consequence, such as the abort() of an exception that nobody catches.
void Job::fail(Rank rank) {
    const auto first = outcome_.first_failed;
    const auto killed_by_others = [&](Rank which) {
        return outcome_.ranks[which.value].signal == SIGKILL && !signalled_;
    };
    if (!first || (outcome_.ranks[first->value].signal == 0 && killed_by_others(rank))) outcome_.first_failed = rank;
    if (!first) end_within(launch_.grace);
}

// False when there will be no more.
bool Job::copy_output(Stream& stream) {
    std::array<char, 65536> text;
    for (;;) {
        const ssize_t bytes = read(stream.from.number(), text.data(), text.size());
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes < 0 && errno == EAGAIN) return true;
        if (bytes <= 0 || !print(stream, stream.tagger.add({text.data(), static_cast<std::size_t>(bytes)})))
            break;  // where nobody reads us we close the pipe, and the rank learns of it as if it were alone
    }
    print(stream, stream.tagger.rest());
    stream.from.close();
    return false;
}

// That nobody reads is somebody's wish; that it cannot be written is not.
bool Job::print(const Stream& stream, const std::string& text) {
    if (launch_.output == RankOutput::handed) {
        if (!text.empty()) launch_.print(stream.rank, stream.to == STDERR_FILENO, text);
        return true;
    }
    if (write_all(stream.to, text)) return true;
    if (errno != EPIPE && !outcome_.output_lost) {
        outcome_.output_lost = true;
        remark(std::string("cannot write what the ranks print: ") + std::strerror(errno));
    }
    return false;
}

// All ranks have ended and so have their process groups; what is in the pipes is all there will be.
void Job::drain_output() {
    for (const auto& stream : streams_)
        if (stream->from.open() && copy_output(*stream)) print(*stream, stream->tagger.rest());
}

void Job::copy_input() {
    std::array<char, 4096> text;
    const ssize_t bytes = read(STDIN_FILENO, text.data(), text.size());
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (bytes <= 0) return terminal_to_first_.close();
    if (!write_all(terminal_to_first_.number(), {text.data(), static_cast<std::size_t>(bytes)}))
        terminal_to_first_.close();
}

void check(const Launch& job) {
    if (job.ranks == 0 || job.ranks > Launch::most_ranks)
        throw UsageError(std::to_string(job.ranks) + " ranks: expected 1 to " + std::to_string(Launch::most_ranks));
    if (job.program.empty() != static_cast<bool>(job.body)) throw UsageError("expected a program to run");
    if (job.output == RankOutput::handed && !job.print) throw UsageError("expected somebody to hand the output to");
}

}  // namespace

std::string describe(const RankEnd& end) {
    if (end.signal != 0)
        return "was killed by signal " + std::to_string(end.signal) + " (" + strsignal(end.signal) + ")";
    if (end.exit_code != 0) return "ended with exit code " + std::to_string(end.exit_code);
    return end.unfinished ? "ended before it was finished" : "has ended";
}

int LaunchOutcome::exit_code() const {
    if (timed_out) return 124;
    if (first_failed) return ranks[first_failed->value].exit_code;
    return output_lost ? 2 : 0;
}

LaunchOutcome launch(const Launch& job) {
    check(job);
    return Job(job).run();
}

}  // namespace loom::transport
