// An ordinary verbs program that checks the device below it: see --help. Links the system's libibverbs and knows
// nothing of what serves it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "hca/kit/endpoint.hpp"
#include "hca/kit/options.hpp"
#include "hca/kit/pattern.hpp"
#include "hca/kit/rendezvous.hpp"
#include "loom/base/error.hpp"

namespace loom::kit {
namespace {

constexpr std::size_t grh = 40;

struct Findings {
    std::uint64_t messages = 0;  // received or read and checked, on this side
    std::uint64_t bytes = 0;
    std::uint64_t lost = 0;
    std::uint64_t completions = 0;
};

// Pages of the process's own, or of a memory file that cannot shrink: others may then map it, too.
class Arena {
public:
    Arena(std::size_t size, bool shared) : size_(size) {
        if (shared) {
            file_ = memfd_create("checker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size)) != 0 ||
                fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
                throw Error("cannot make shared memory");
        }
        void* at =
            mmap(nullptr, size, PROT_READ | PROT_WRITE, shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, file_, 0);
        if (at == MAP_FAILED) throw Error("cannot map memory");
        memory_ = static_cast<std::uint8_t*>(at);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        munmap(memory_, size_);
        if (file_ >= 0) close(file_);
    }
    [[nodiscard]] std::span<std::uint8_t> bytes() const { return {memory_, size_}; }

private:
    std::uint8_t* memory_;
    std::size_t size_;
    int file_ = -1;
};

// All messages of one size.
class Exchange {
public:
    Exchange(const Options& options, Endpoint& endpoint, Rendezvous& rendezvous, std::size_t size, Findings& findings)
        : options_(options),
          endpoint_(endpoint),
          rendezvous_(rendezvous),
          size_(size),
          window_(std::clamp<std::size_t>((std::size_t{32} << 20) / std::max<std::size_t>(size, 1), 1, options.depth)),
          findings_(findings),
          random_(options.seed ^ size),
          initiates_(!options.server.empty() || options.bidirectional),
          responds_(options.server.empty() || options.bidirectional),
          local_(arena_size(), false),
          target_(arena_size(), options.memfd) {
        const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                        (options.transport == Transport::rc ? IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC : 0);
        local_memory_ = endpoint_.register_memory(local_.bytes(), IBV_ACCESS_LOCAL_WRITE);
        target_memory_ = endpoint_.register_memory(target_.bytes(), all);
        cut(local_.bytes(), options.sge, local_slots_);
        // What comes by receive may be in pieces, what is reached from afar may not.
        cut(target_.bytes(), two_sided() && !write() ? options.sge : 1, target_slots_);
        remote_ = exchange_targets();
    }

    void run() {
        for (std::size_t done = 0; done < options_.iterations;) {
            const std::size_t count = std::min(window_, options_.iterations - done);
            round(done, count);
            done += count;
        }
        rendezvous_.meet("end of size " + std::to_string(size_));
    }

private:
    [[nodiscard]] bool atomic() const {
        return options_.operation == Operation::cas || options_.operation == Operation::fadd;
    }
    [[nodiscard]] bool immediate() const {
        return options_.operation == Operation::send_imm || options_.operation == Operation::write_imm;
    }
    [[nodiscard]] bool write() const {
        return options_.operation == Operation::write || options_.operation == Operation::write_imm;
    }
    // The target's program takes part: a receive is consumed.
    [[nodiscard]] bool two_sided() const { return options_.operation == Operation::send || immediate(); }
    [[nodiscard]] std::size_t prefix() const { return options_.transport == Transport::ud ? grh : 0; }
    [[nodiscard]] std::size_t slot_bytes() const { return Slot::footprint(size_ + grh, options_.sge); }
    [[nodiscard]] std::size_t arena_size() const { return slot_bytes() * window_; }
    // The side that sends decides the stream, so that both directions differ.
    [[nodiscard]] Pattern pattern(bool from_client, std::uint64_t message) const {
        return {options_.seed * 2 + (from_client ? 1 : 0), message * 0x1000003 + size_};
    }
    [[nodiscard]] bool client() const { return !options_.server.empty(); }
    [[nodiscard]] std::uint32_t immediate_of(std::uint64_t message) const {
        return static_cast<std::uint32_t>(mixed(options_.seed ^ message ^ size_ << 20));
    }

    void cut(std::span<std::uint8_t> memory, std::size_t pieces, std::vector<Slot>& slots) {
        const bool receives = &slots == &target_slots_;
        for (std::size_t i = 0; i < window_; ++i)
            slots.emplace_back(memory.subspan(i * slot_bytes(), slot_bytes()), size_ + (receives ? prefix() : 0),
                               atomic() ? 1 : pieces, random_, atomic());
        for (Slot& slot : slots) slot.clear();
        if (receives && atomic()) std::memset(slots.front().bytes().data(), 0, 8);
    }

    struct Remote {
        std::vector<std::uint64_t> addresses;
        std::uint32_t rkey = 0;
    };

    Remote exchange_targets() {
        std::string line = std::to_string(target_memory_->rkey);
        for (const Slot& slot : target_slots_) line += " " + std::to_string(slot.address());
        std::istringstream words(rendezvous_.exchange(line));
        Remote remote;
        words >> remote.rkey;
        for (std::uint64_t address = 0; words >> address;) remote.addresses.push_back(address);
        if (remote.addresses.size() != window_) throw Error("the two sides were asked for different things");
        return remote;
    }

    void round(std::size_t first, std::size_t count) {
        if (responds_) prepare_target(first, count);
        rendezvous_.meet("ready");
        if (responds_ && two_sided() && options_.late_receives) post_receives(count);
        if (initiates_) {
            for (std::size_t i = 0; i < count; ++i) issue(first + i, i, i + 1 == count);
        }
        if (responds_ && two_sided() && !options_.may_lose) take_receives(first, count);
        if (initiates_) take_sends(first, count);
        rendezvous_.meet("sent");
        if (responds_ && two_sided() && options_.may_lose) take_receives(first, count);
        if (responds_ && !two_sided()) check_target(first, count);
        if (initiates_) check_initiator(first, count);
        rendezvous_.meet("checked");
    }

    void prepare_target(std::size_t first, std::size_t count) {
        if (options_.operation == Operation::read)
            for (std::size_t i = 0; i < count; ++i) target_slots_[i].fill(pattern(client(), first + i));
        if (options_.operation == Operation::write)
            for (std::size_t i = 0; i < count; ++i) target_slots_[i].clear();
        if (two_sided() && !options_.late_receives) post_receives(count);
    }

    void post_receives(std::size_t count) {
        while (posted_.size() < count) {
            const std::size_t slot = next_slot_;
            next_slot_ = (next_slot_ + 1) % window_;
            // A write with immediate data lands where the writer says; its receive has no buffer.
            std::vector<ibv_sge> list;
            if (!write()) list = target_slots_[slot].gather(target_memory_->lkey);
            endpoint_.post_receive(slot, list);
            posted_.push_back(slot);
        }
    }

    void issue(std::uint64_t message, std::size_t index, bool last) {
        Slot& slot = local_slots_[index];
        if (options_.operation == Operation::read || atomic())
            slot.clear();
        else
            slot.fill(pattern(client(), message));
        std::vector<ibv_sge> list = slot.gather(local_memory_->lkey);
        Request request;
        request.operation = options_.operation;
        request.id = message;
        request.list = list;
        request.signalled = last || (message + 1) % options_.unsignalled == 0;
        request.inline_data = options_.inline_data && size_ <= endpoint_.max_inline() &&
                              options_.operation != Operation::read && !atomic();
        request.imm = immediate_of(message);
        request.remote = remote_.addresses[atomic() ? 0 : index];
        request.rkey = remote_.rkey;
        if (options_.operation == Operation::fadd) {
            request.compare_or_add = addend(message);
        } else if (options_.operation == Operation::cas) {
            request.compare_or_add = cas_hits(message) ? cas_value(message) : ~cas_value(message);
            request.swap = cas_value(message) + 1;
        }
        endpoint_.post(request);
        // The device has taken the bytes: what is now written over them must not be sent.
        if (request.inline_data) slot.clear();
    }

    // Every third comparison fails, and then nothing may change.
    static bool cas_hits(std::uint64_t message) { return message % 3 != 2; }
    static std::uint64_t cas_value(std::uint64_t message) { return message - message / 3; }
    [[nodiscard]] std::uint64_t addend(std::uint64_t message) const { return mixed(options_.seed + message); }
    // What the word holds before the message.
    [[nodiscard]] std::uint64_t word_before(std::uint64_t message) const {
        if (options_.operation == Operation::cas) return cas_value(message);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < message; ++i) sum += addend(i);
        return sum;
    }

    void expect_success(const Completion& done, const char* what) const {
        if (done.status != IBV_WC_SUCCESS)
            throw Error(std::string(what) + " " + std::to_string(done.wr_id) + " of " + std::to_string(size_) +
                        " bytes failed: " + ibv_wc_status_str(done.status));
        if (done.qp_num != endpoint_.qpn()) throw Error("a completion of another queue pair");
    }

    void take_sends(std::size_t first, std::size_t count) {
        std::vector<std::uint64_t> expected;
        for (std::size_t i = 0; i < count; ++i)
            if (i + 1 == count || (first + i + 1) % options_.unsignalled == 0) expected.push_back(first + i);
        const auto done =
            endpoint_.wait(Queue::send, expected.size(), std::chrono::duration<double>(options_.patience));
        for (std::size_t i = 0; i < done.size(); ++i) {
            expect_success(done[i], "request");
            if (done[i].wr_id != expected[i])
                throw Error("request " + std::to_string(done[i].wr_id) + " completed in place of " +
                            std::to_string(expected[i]));
            if (done[i].opcode != expected_opcode()) throw Error("a completion has the wrong operation");
        }
        findings_.completions += done.size();
    }

    [[nodiscard]] ibv_wc_opcode expected_opcode() const {
        switch (options_.operation) {
            case Operation::send:
            case Operation::send_imm:
                return IBV_WC_SEND;
            case Operation::write:
            case Operation::write_imm:
                return IBV_WC_RDMA_WRITE;
            case Operation::read:
                return IBV_WC_RDMA_READ;
            case Operation::cas:
                return IBV_WC_COMP_SWAP;
            case Operation::fadd:
                return IBV_WC_FETCH_ADD;
        }
        return IBV_WC_SEND;
    }

    void take_receives(std::size_t first, std::size_t count) {
        const auto done = options_.may_lose
                              ? endpoint_.wait(Queue::receive, count, std::chrono::milliseconds(100),
                                               Endpoint::Shortfall::is_returned)
                              : endpoint_.wait(Queue::receive, count, std::chrono::duration<double>(options_.patience));
        std::uint64_t next = first;
        for (const Completion& received : done) {
            expect_success(received, "receive");
            if (posted_.empty() || received.wr_id != posted_.front())
                throw Error("receives completed in another order than they were posted");
            posted_.pop_front();
            if (received.byte_len != size_ + prefix())
                throw Error("a receive says " + std::to_string(received.byte_len) + " bytes, not " +
                            std::to_string(size_ + prefix()));
            if (received.opcode != (write() ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
                throw Error("a receive has the wrong operation");
            next = check_received(received, next, first + count) + 1;
        }
        findings_.completions += done.size();
        findings_.lost += count - done.size();
    }

    // Returns the message that it was: the next one, or a later one when some may be lost.
    std::uint64_t check_received(const Completion& received, std::uint64_t next, std::uint64_t end) {
        std::string wrong = "there is one too many";
        for (std::uint64_t message = next; message < end; ++message) {
            Slot& slot = target_slots_[write() ? message % window_ : received.wr_id];
            wrong = slot.check(pattern(!client(), message), prefix(), size_);
            if (wrong.empty() && immediate() &&
                ((received.flags & IBV_WC_WITH_IMM) == 0 || received.imm != immediate_of(message)))
                wrong = "its immediate data are wrong";
            if (wrong.empty() && !immediate() && (received.flags & IBV_WC_WITH_IMM) != 0)
                wrong = "it has immediate data that nobody sent";
            if (wrong.empty()) {
                slot.clear();
                note_message();
                return message;
            }
            if (!options_.may_lose) break;
        }
        throw Error("message " + std::to_string(next) + " of " + std::to_string(size_) + " bytes: " + wrong);
    }

    void check_target(std::size_t first, std::size_t count) {
        if (atomic()) {
            // Atomically, as the HCA's thread changed it: what orders the two goes through another process.
            const auto* target = reinterpret_cast<const std::uint64_t*>(target_slots_.front().bytes().data());
            const std::uint64_t word = __atomic_load_n(target, __ATOMIC_ACQUIRE);
            if (word != word_before(first + count)) throw Error("the word is not what the operations make of it");
            const std::string wrong = target_slots_.front().check_guards();
            if (!wrong.empty()) throw Error("atomics: " + wrong);
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            // A read leaves its source as it was.
            const bool reading = options_.operation == Operation::read;
            const Pattern expected = pattern(reading ? client() : !client(), first + i);
            std::string wrong = target_slots_[i].check(expected, 0, size_);
            // UC tells its program that a write has left, not that it has arrived.
            if (options_.transport == Transport::uc) await_arrival(i, expected, wrong);
            if (!wrong.empty() && options_.may_lose) {
                ++findings_.lost;
                continue;
            }
            if (!wrong.empty())
                throw Error("target of message " + std::to_string(first + i) + " of " + std::to_string(size_) +
                            " bytes: " + wrong);
            if (!reading) note_message();
        }
    }

    void await_arrival(std::size_t slot, const Pattern& expected, std::string& wrong) const {
        const double patience = options_.may_lose ? 0.1 : options_.patience;
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
        while (!wrong.empty() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            wrong = target_slots_[slot].check(expected, 0, size_);
        }
    }

    void check_initiator(std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const Slot& slot = local_slots_[i];
            std::string wrong = slot.check_guards();
            if (wrong.empty() && options_.operation == Operation::read) {
                wrong = slot.check(pattern(!client(), first + i), 0, size_);
                note_message();
            }
            if (wrong.empty() && atomic()) {
                std::uint64_t before = 0;
                std::memcpy(&before, slot.bytes().data(), sizeof before);
                if (before != word_before(first + i)) wrong = "the value before the operation is wrong";
                note_message();
            }
            if (!wrong.empty())
                throw Error("message " + std::to_string(first + i) + " of " + std::to_string(size_) +
                            " bytes, our side: " + wrong);
        }
    }

    void note_message() {
        ++findings_.messages;
        findings_.bytes += size_;
    }

    const Options& options_;
    Endpoint& endpoint_;
    Rendezvous& rendezvous_;
    std::size_t size_;
    std::size_t window_;
    Findings& findings_;
    Random random_;
    bool initiates_;
    bool responds_;
    Arena local_;
    Arena target_;
    Memory local_memory_;
    Memory target_memory_;
    std::vector<Slot> local_slots_;
    std::vector<Slot> target_slots_;
    Remote remote_;
    std::deque<std::size_t> posted_;  // receives, in their order
    std::size_t next_slot_ = 0;
};

std::vector<std::size_t> sizes_for(const Options& options, const Endpoint& endpoint) {
    if (options.operation == Operation::cas || options.operation == Operation::fadd) return {8};
    std::vector<std::size_t> sizes;
    for (const std::size_t size : options.sizes)
        if (options.transport != Transport::ud || size <= endpoint.mtu_bytes()) sizes.push_back(size);
    return sizes;
}

void check(const Options& options, Findings& findings) {
    Rendezvous rendezvous = options.server.empty()
                                ? Rendezvous::as_server(options.bind_address, options.port, options.patience)
                                : Rendezvous::as_client(options.server, options.port, options.patience);
    auto endpoint = std::make_unique<Endpoint>(options);
    const auto connect = [&] {
        endpoint->connect(Address::parse(rendezvous.exchange(endpoint->address().text())));
        rendezvous.meet("connected");
    };
    connect();
    bool first = true;
    for (const std::size_t size : sizes_for(options, *endpoint)) {
        // Receives for what was lost are still posted to the last one.
        if (!first && options.may_lose) {
            endpoint = std::make_unique<Endpoint>(options);
            connect();
        }
        first = false;
        Exchange(options, *endpoint, rendezvous, size, findings).run();
    }
}

int main_of(int argc, char** argv) {
    nlohmann::json answer;
    Findings findings;
    int code = 0;
    try {
        const Options options = parse_options(argc, argv);
        answer["transport"] = name(options.transport);
        answer["operation"] = name(options.operation);
        check(options, findings);
    } catch (const UsageError& error) {
        std::fprintf(stderr, "verbs_checker: %s\n", error.what());
        return 2;
    } catch (const Error& error) {
        answer["error"] = error.what();
        code = 1;
    }
    answer["ok"] = code == 0;
    answer["messages"] = findings.messages;
    answer["bytes"] = findings.bytes;
    answer["lost"] = findings.lost;
    answer["completions"] = findings.completions;
    std::puts(answer.dump().c_str());
    return code;
}

}  // namespace
}  // namespace loom::kit

int main(int argc, char** argv) {
    return loom::kit::main_of(argc, argv);
}
