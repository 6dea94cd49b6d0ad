// This process as others of its host see it: its slot among them, and the directory of its queue pairs and memory.
#pragma once

#include <cstdint>

#include "hca/device/config.hpp"
#include "hca/host/shared.hpp"

namespace loom::hca {

struct Qp;

class Home {
public:
    Home() = default;
    Home(const Home&) = delete;
    ~Home();

    int open(const Config& config);  // the slot is taken; 0 or errno
    void close_descriptor();         // in the child of a fork
    void publish(const Qp& qp);
    void withdraw(const Qp& qp);

    std::uint32_t slot = 0;
    std::uint64_t nonce = 0;
    int descriptor = -1;
    Directory* directory = nullptr;
    bool reached_by_barriers = false;  // of other processes
};

}  // namespace loom::hca
