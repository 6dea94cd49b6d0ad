// Registered memory: keys, bounds and rights, here and as other processes read them. The registrations are the
// program's objects; here they stand by key.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace loom::hca {

struct Engine;
struct Mr;
struct Pd;

class RegisteredMemory {
public:
    explicit RegisteredMemory(Engine& engine) : engine_(engine) {}

    // The memory of [address, address + length) under a key, or null.
    std::uint8_t* local(std::uint32_t key, std::uint64_t address, std::uint64_t length, const Pd* pd,
                        std::uint32_t access);
    // Whether pieces whose addresses are memory of this process by now may still be used: the program may have taken
    // their registration away since. `checked` is the generation() when that was last seen.
    bool still_registered(std::span<const ibv_sge> pieces, const Pd* pd, std::uint32_t access,
                          std::uint64_t& checked) const;
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

    Mr* add(std::unique_ptr<Mr> mr);  // gives it its keys and shows it to others; null: all keys are taken
    void remove(Mr& mr);              // which stays the caller's
    void publish(const Mr& mr);
    void withdraw(const Mr& mr);  // waits until no copy uses it any more
    void remove_all(const ibv_context& context);
    void close_shares();  // in the child of a fork

    [[nodiscard]] const Mr* at(std::uint32_t index) const { return mrs_[index]; }
    void use_next(std::uint32_t index) { next_ = index; }

private:
    Engine& engine_;
    std::vector<Mr*> mrs_;  // by index
    std::vector<std::uint8_t> key_versions_;
    std::uint32_t next_ = 1;
    std::uint64_t generation_ = 1;  // changes whenever registered memory is taken away or changed
};

}  // namespace loom::hca
