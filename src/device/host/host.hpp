// The host of one device: what its main, receive and log threads do, a step at a time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/bell.hpp"
#include "device/host/collectives.hpp"
#include "device/host/flush.hpp"
#include "device/host/later.hpp"
#include "device/host/network.hpp"
#include "device/host/tables.hpp"

namespace loom::device {

// Where ranks live.
struct Shape {
    std::vector<std::uint32_t> starts;  // the first rank of each process, and the number of all ranks at the end
    [[nodiscard]] std::uint32_t process_of(std::uint32_t rank) const;
};

// The same failure as another device has, which knows more of it.
class FailedElsewhere : public Error {
public:
    using Error::Error;
};

// Each step does what there is to do and returns at once; true: there was something. Steps of different roles may run
// in different threads.
class Host {
public:
    Host(const Options& options, Network& network, Tables& tables, const Shape& shape, Bell& bell, Observer* observer);

    bool main_step();     // commands, collectives, completions
    bool receive_step();  // notifications of other devices
    bool log_step();      // lines of the log

    // What was wrong first, of this device or of others; the kernel is then to end everywhere.
    void fail(std::exception_ptr why);
    [[nodiscard]] std::exception_ptr failure() const;
    [[nodiscard]] bool failed() const { return failed_.load(); }
    [[nodiscard]] bool has_told() const { return told_.load(); }  // the others, of the failure
    [[nodiscard]] bool is_finished() const { return collectives_.is_finished(); }
    // Nothing was asked for that is not done; of the main thread.
    [[nodiscard]] bool is_quiet() const;
    [[nodiscard]] bool has_delayed() const { return delayed_.load() != 0 || on_the_bus_.load(); }
    [[nodiscard]] std::vector<double> timings() const { return timings_; }
    [[nodiscard]] std::mutex& network_mutex() { return network_mutex_; }
    [[nodiscard]] const Collectives& collectives() const { return collectives_; }
    // Where a rank's kernel stands, if set.
    std::function<std::string(std::uint32_t rank)> place_of;
    // What a kernel threw, if set.
    std::function<std::exception_ptr()> thrown;

private:
    struct Outgoing {
        Function function;
        std::uint32_t rank, number;  // of the device; of the operation
        std::uint32_t to;            // a process
        std::uint64_t offset;
        std::span<const std::byte> data;
        std::optional<std::uint32_t> value;
    };
    struct Write {  // into device memory, by the host
        std::uint32_t* to;
        std::uint32_t value;
    };
    struct Log {
        std::string line;
    };

    bool take_command(std::uint32_t rank);
    void handle(std::uint32_t rank, const Entry& first, const Entry* second, Time when);
    void handle_put(std::uint32_t rank, const Entry& first, const Entry& second, Time when);
    void handle_fault(std::uint32_t rank, const Entry& first, const Entry& second);
    void issue(const Outgoing& operation);
    bool complete();
    bool settle();
    bool log_entry(std::uint32_t rank);
    void print(std::uint32_t rank);
    template <class What>
    void put_off(Later<What>& list, Time from, Time delay, What what);

    const Options& options_;
    Network& network_;
    Tables& tables_;
    const Shape& shape_;
    Bell& bell_;
    Observer* observer_;
    Collectives collectives_;

    // Of the main thread.
    std::vector<std::optional<Entry>> first_;  // of a command whose second entry has not come yet, by rank
    std::vector<FlushCounter> flushes_;
    Later<Outgoing> outgoing_;
    Later<Write> main_writes_;
    Later<std::uint32_t> acks_;
    std::uint64_t started_ = 0, completed_ = 0;  // puts
    std::optional<Time> timer_;
    std::vector<double> timings_;

    // Of the receive thread.
    Later<Write> received_;
    // Of the log thread.
    std::vector<Log> logs_;

    std::atomic<int> delayed_{0};
    std::atomic<bool> on_the_bus_{false};  // a command
    std::atomic<bool> failed_{false}, told_{false};
    mutable std::mutex failure_mutex_;
    std::exception_ptr failure_;
    std::mutex network_mutex_;
};

}  // namespace loom::device
