// loom_bare: what the machine itself gives, without any library between: the peers that ucx_perftest does not have.
//   loom_bare write-lat BYTES ROUNDS            two processes write into each other (process_vm_writev) and poll memory
//   loom_bare write-bw|read-bw BYTES ROUNDS     one process copies into or out of another (process_vm_writev/readv)
//   loom_bare tcp-bw|udp-lat BYTES ROUNDS serve|ADDRESS PORT    over the kernel's sockets; the side with ADDRESS prints
// Latencies are half the median round trip in microseconds, bandwidths are in MB/s of 10^6 bytes; one number on stdout.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bare/bare.hpp"

int main(int argc, char** argv) {
    using namespace loom::bench;
    const auto usage = [] {
        std::fputs(
            "usage: loom_bare write-lat|write-bw|read-bw BYTES ROUNDS\n"
            "       loom_bare tcp-bw|udp-lat BYTES ROUNDS serve|ADDRESS PORT\n",
            stderr);
        return 2;
    };
    if (argc < 4) return usage();
    const std::string what = argv[1];
    const std::size_t bytes = std::strtoull(argv[2], nullptr, 10), rounds = std::strtoull(argv[3], nullptr, 10);
    if (bytes == 0 || rounds == 0) return usage();
    double result = -1;
    if (argc == 4 && what == "write-lat")
        result = bare_write_latency(bytes, rounds);
    else if (argc == 4 && what == "write-bw")
        result = bare_copy_bandwidth(bytes, rounds, Direction::write);
    else if (argc == 4 && what == "read-bw")
        result = bare_copy_bandwidth(bytes, rounds, Direction::read);
    else if (argc == 6 && what == "tcp-bw")
        result = tcp_bandwidth(bytes, rounds, argv[4], argv[5]);
    else if (argc == 6 && what == "udp-lat")
        result = udp_latency(bytes, rounds, argv[4], argv[5]);
    else
        return usage();
    if (result < 0) {
        std::fprintf(stderr, "loom_bare: %s: %s\n", what.c_str(), std::strerror(errno));
        return 1;
    }
    std::printf("%.4f\n", result);
    return 0;
}
