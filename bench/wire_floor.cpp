#include "wire_floor.hpp"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "loom/base/error.hpp"
#include "statistics.hpp"
#include "work.hpp"

namespace loom::bench {
namespace {

constexpr unsigned most_rounds = 64;
constexpr double patience = 2;                      // seconds until what has not come is lost
constexpr std::size_t segment = 4096;               // of a datagram, as the software HCA sends them
constexpr std::size_t at_once = 15 * segment;       // handed to the kernel in one call
constexpr std::uint64_t sent_by_caller = 64 << 10;  // bytes up to which no thread is woken to send
constexpr int socket_room = 400 << 10;              // what waits for the wire; a sender beyond it sleeps

// Of both processes.
struct Board {
    std::atomic<int> arrived{0};
    std::atomic<int> meeting{0};
    std::atomic<bool> lost{false};
    double alone[2][most_rounds];
    double work[2][most_rounds];
    double together[2][most_rounds];
};

class Side {
public:
    Side(Board& board, int rank, std::uint64_t bytes, Ways ways)
        : board_(board),
          rank_(rank),
          bytes_(bytes),
          sends_(ways == Ways::both || rank == 0),
          receives_(ways == Ways::both || rank == 1),
          out_(bytes, 1) {
        cpu_set_t core;
        CPU_ZERO(&core);
        CPU_SET(static_cast<std::size_t>(rank), &core);
        sched_setaffinity(0, sizeof core, &core);
        open();
        std::thread([this] { receive(); }).detach();
        std::thread([this] {
            for (std::uint64_t one = 0; read(wake_, &one, sizeof one) == sizeof one;) send();
        }).detach();
    }

    void run(unsigned rounds) {
        const double rate = computing_rate();
        std::vector<double> alone;
        for (unsigned round = 0; round < rounds && !board_.lost; ++round) {
            meet();
            alone.push_back(board_.alone[rank_][round] = transfer(0));
        }
        meet();  // everybody's times are there
        double longest = 0;
        for (const auto& times : board_.alone) longest = std::max(longest, median({times, times + rounds}));
        const auto units = static_cast<std::uint64_t>(longest * rate);
        for (unsigned round = 0; round < rounds && !board_.lost; ++round) {
            meet();
            const auto begin = Clock::now();
            compute(units);
            board_.work[rank_][round] = since(begin);
            meet();
            board_.together[rank_][round] = transfer(units);
        }
    }

private:
    void open() {
        const auto address = [](const char* text) {
            sockaddr_in made{};
            made.sin_family = AF_INET;
            made.sin_port = htons(5555);
            inet_pton(AF_INET, text, &made.sin_addr);
            return made;
        };
        const sockaddr_in left = address(test::TwoHosts::left_address), right = address(test::TwoHosts::right_address);
        const sockaddr_in &me = rank_ == 0 ? left : right, &other = rank_ == 0 ? right : left;
        socket_ = socket(AF_INET, SOCK_DGRAM, 0);
        const int on = 1, cut = segment, room = socket_room, all = 8 << 20;
        setsockopt(socket_, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
        setsockopt(socket_, IPPROTO_UDP, UDP_SEGMENT, &cut, sizeof cut);
        setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &all, sizeof all);
        setsockopt(socket_, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
        wake_ = eventfd(0, 0);
        if (bind(socket_, reinterpret_cast<const sockaddr*>(&me), sizeof me) != 0 ||
            connect(socket_, reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0 || wake_ < 0)
            board_.lost = true;
    }
    void receive() {
        std::vector<char> into(65536);
        for (ssize_t n; (n = recv(socket_, into.data(), into.size(), 0)) > 0;) came_ += static_cast<std::uint64_t>(n);
    }
    void send() {
        for (std::size_t at = 0; at < bytes_; at += at_once)
            (void)!::send(socket_, out_.data() + at, std::min(at_once, bytes_ - at), 0);
    }
    // Of two processes, each with a core.
    void meet() {
        const int before = board_.meeting;
        if (board_.arrived.fetch_add(1) == 1) {
            board_.arrived = 0;
            ++board_.meeting;
            return;
        }
        const auto begin = Clock::now();
        while (board_.meeting == before && !board_.lost)
            if (since(begin) > 2 * patience) board_.lost = true;
    }
    // Seconds of starting, computing, and waiting for what must come.
    double transfer(std::uint64_t units) {
        due_ += bytes_;  // counted from the start: what is early must not be missed
        const auto begin = Clock::now();
        if (sends_ && bytes_ <= sent_by_caller) send();
        constexpr std::uint64_t one = 1;
        if (sends_ && bytes_ > sent_by_caller) (void)!write(wake_, &one, sizeof one);
        compute(units);
        while (receives_ && came_ < due_ && !board_.lost)
            if (since(begin) > patience) board_.lost = true;
        return since(begin);
    }

    Board& board_;
    int rank_;
    std::uint64_t bytes_;
    bool sends_, receives_;
    std::vector<char> out_;
    int socket_ = -1, wake_ = -1;
    std::uint64_t due_ = 0;
    std::atomic<std::uint64_t> came_{0};
};

}  // namespace

WireFloor wire_floor(const test::TwoHosts& hosts, std::uint64_t bytes, Ways ways, unsigned rounds) {
    rounds = std::clamp(rounds, 1u, most_rounds);
    WireFloor found;
    if (std::thread::hardware_concurrency() < 2) {
        found.failure = "there is only one core";
        return found;
    }
    void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw IoError("cannot map memory for two processes");
    auto* const board = new (memory) Board;
    pid_t children[2];
    for (int rank = 0; rank < 2; ++rank)
        if ((children[rank] = fork()) == 0) {
            if (setns((rank == 0 ? hosts.left : hosts.right).descriptor(), CLONE_NEWNET) != 0) board->lost = true;
            Side(*board, rank, bytes, ways).run(rounds);
            _exit(0);  // with the threads that still wait
        }
    for (const pid_t child : children)
        if (child < 0 || waitpid(child, nullptr, 0) != child) board->lost = true;
    if (board->lost) {
        found.failure = "datagrams were lost";
    } else {
        for (unsigned round = 0; round < rounds; ++round)
            found.blocking.push_back(std::max(board->alone[0][round], board->alone[1][round]));
        for (unsigned round = 0; round < rounds; ++round) {
            const double together = std::max(board->together[0][round], board->together[1][round]);
            const double work = std::max(board->work[0][round], board->work[1][round]);
            found.freed.push_back(1 - (together - work) / median(found.blocking));
        }
    }
    munmap(memory, sizeof(Board));
    return found;
}

}  // namespace loom::bench
