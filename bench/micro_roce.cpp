// The parts of RoCE: the CRC, packets, and what an endpoint adds to a bare UDP socket. All on the loopback interface,
// one thread.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "hca/roce/gid.hpp"
#include "hca/roce/icrc.hpp"
#include "hca/roce/socket.hpp"

namespace {

using namespace loom::hca;
using namespace loom::hca::roce;

void crc(benchmark::State& state, CrcKind kind) {
    if (!has(kind)) return state.SkipWithError("not on this processor");
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(crc_update(kind, 0, bytes));
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK_CAPTURE(crc, table, CrcKind::table)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(crc, multiply128, CrcKind::multiply128)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK_CAPTURE(crc, multiply512, CrcKind::multiply512)->Arg(64)->Arg(1024)->Arg(4096);

// A packet of a segmentation run: its identification is not 0.
void parse_checked(benchmark::State& state) {
    const Envelope envelope(*parse_address("10.9.0.1"), *parse_address("10.9.0.2"));
    Packet packet;
    packet.op = Op::write_middle;
    const auto datagram = encode(packet, std::vector<std::byte>(static_cast<std::size_t>(state.range(0))), envelope, 7);
    for (auto _ : state) benchmark::DoNotOptimize(parse(datagram, envelope));
}
BENCHMARK(parse_checked)->Arg(8)->Arg(1024)->Arg(4096);

Address loopback() {
    Address address = *parse_address("127.0.0.1");
    address.port = 0;
    return address;
}

class Counter final : public Sink {
public:
    void arrived(const Arrival& arrival) override { bytes += arrival.payload.size(); }
    void foreign(std::uint32_t /*slot*/, const Datagrams& /*datagrams*/) override {}
    std::size_t bytes = 0;
};

// Messages of the first argument in packets of the second.
void endpoint(benchmark::State& state, Offload offload) {
    const auto size = static_cast<std::size_t>(state.range(0));
    const auto mtu = static_cast<std::size_t>(state.range(1));
    Endpoint from(loopback(), {.offload = offload});
    Endpoint to(loopback(), {.offload = offload});
    std::vector<std::byte> memory(size);
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < size; at += mtu) pieces.push_back({memory.data() + at, std::min(mtu, size - at)});
    std::vector<Outgoing> packets;
    for (const iovec& piece : pieces) {
        Packet packet;
        packet.op = Op::write_middle;
        packets.push_back({packet, &piece, 1, static_cast<std::uint32_t>(piece.iov_len)});
    }
    Counter counter;
    for (auto _ : state) {
        from.send({to.local()}, packets);
        while (to.receive(counter, 256) != 0 && counter.bytes % size != 0) {
        }
    }
    if (counter.bytes != size * state.iterations()) state.SkipWithError("packets were lost");
    state.SetBytesProcessed(static_cast<std::int64_t>(counter.bytes));
}
BENCHMARK_CAPTURE(endpoint, offload, Offload::on)->Args({8, 4096})->Args({1 << 18, 1024})->Args({1 << 20, 4096});
BENCHMARK_CAPTURE(endpoint, plain, Offload::off)->Args({8, 4096})->Args({1 << 18, 1024})->Args({1 << 20, 4096});

void bare_datagram(benchmark::State& state) {
    const SocketAddress name = to_socket_address(loopback());
    sockaddr_storage there{};
    socklen_t size = sizeof there;
    const int from = socket(AF_INET, SOCK_DGRAM, 0);
    const int to = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(to, reinterpret_cast<const sockaddr*>(&name.storage), name.size) != 0 ||
        getsockname(to, reinterpret_cast<sockaddr*>(&there), &size) != 0)
        state.SkipWithError("no socket");
    std::byte bytes[24] = {};
    for (auto _ : state) {
        if (sendto(from, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&there), size) < 0 ||
            recv(to, bytes, sizeof bytes, 0) < 0)
            state.SkipWithError("lost");
    }
    close(from);
    close(to);
}
BENCHMARK(bare_datagram);

}  // namespace
