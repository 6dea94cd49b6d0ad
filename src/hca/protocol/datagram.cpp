// Datagrams that arrive, for one queue pair or for a group.
#include <cstring>

#include "hca/engine.hpp"
#include "hca/protocol/receiving.hpp"
#include "hca/roce/gid.hpp"
#include "hca/wire/roce_wire.hpp"

namespace loom::hca {

namespace {

constexpr std::uint32_t grh_bytes = 40;
constexpr std::uint8_t roce_ipv6 = 9, roce_ipv4 = 10;  // in the place of the service level: UDP on that

bool on_ipv4(const Gid& from, const Gid& to) {
    return roce::family(from) == roce::Family::ipv4 && roce::family(to) == roce::Family::ipv4;
}

// Gives the receiver what a global routing header would show: IPv4 in the last 20 bytes for mapped addresses.
void write_grh(std::uint8_t* out, const Gid& sgid, const Gid& dgid, std::uint8_t traffic_class, std::uint32_t payload) {
    std::memset(out, 0, grh_bytes);
    const auto length = static_cast<std::uint16_t>(payload + 24);  // BTH, DETH, CRC
    if (on_ipv4(sgid, dgid)) {
        std::uint8_t* ip = out + 20;
        ip[0] = 0x45;
        ip[1] = traffic_class;
        const auto total = static_cast<std::uint16_t>(length + 28);
        ip[2] = static_cast<std::uint8_t>(total >> 8);
        ip[3] = static_cast<std::uint8_t>(total);
        ip[6] = 0x40;
        ip[8] = 64;
        ip[9] = 17;
        std::memcpy(ip + 12, sgid.data() + 12, 4);
        std::memcpy(ip + 16, dgid.data() + 12, 4);
        std::uint32_t sum = 0;
        for (int i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(ip[i] << 8 | ip[i + 1]);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = ~((sum & 0xffff) + (sum >> 16));
        ip[10] = static_cast<std::uint8_t>(sum >> 8);
        ip[11] = static_cast<std::uint8_t>(sum);
        return;
    }
    out[0] = static_cast<std::uint8_t>(0x60 | traffic_class >> 4);
    out[1] = static_cast<std::uint8_t>(traffic_class << 4);
    out[4] = static_cast<std::uint8_t>(length >> 8);
    out[5] = static_cast<std::uint8_t>(length);
    out[6] = 0x1b;
    out[7] = 64;
    std::memcpy(out + 8, sgid.data(), 16);
    std::memcpy(out + 24, dgid.data(), 16);
}

}  // namespace

void Responder::on_datagram(Qp& qp, const Arrival& arrival) {
    PortCounters& counters = counters_of(*qp.context);
    const Packet& packet = arrival.packet;
    const ibv_qp_state state = qp.state();
    const bool ready = state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
    if (!ready || packet.qkey != qp.attr.qkey || (packet.op != Op::send_only && packet.op != Op::send_only_imm) ||
        arrival.payload.size() > 4096) {
        add(counters.dropped);
        return;
    }
    const Taken taken = take_receive(engine_, qp, false);
    if (taken == Taken::none) {
        add(counters.dropped);
        return;
    }
    const auto length = static_cast<std::uint32_t>(arrival.payload.size());
    std::uint64_t room = 0;
    for (const ibv_sge& piece : qp.recv_sges) room += piece.length;
    if (taken == Taken::bad_memory || room < length + grh_bytes) {
        const ibv_wc_status status = taken == Taken::bad_memory ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR;
        engine_.completions.complete(*qp.recv_cq, receive_completion(qp, status, IBV_WC_RECV, 0), true);
        engine_.queue_pairs.to_error(qp);
        return;
    }
    if (arrival.sgid != nullptr) {
        std::uint8_t grh[grh_bytes];
        write_grh(grh, *arrival.sgid, *arrival.dgid, arrival.traffic_class, length);
        scatter(qp.recv_sges, 0, grh);
    }
    scatter(qp.recv_sges, grh_bytes, arrival.payload);
    add(counters.received_bytes[static_cast<std::size_t>(arrival.from == nullptr ? Way::roce : Way::store)], length);
    ibv_wc wc = receive_completion(qp, IBV_WC_SUCCESS, IBV_WC_RECV, length + grh_bytes);
    wc.src_qp = packet.src_qpn.value;
    wc.slid = arrival.slid;
    if (arrival.sgid != nullptr) {
        wc.wc_flags |= IBV_WC_GRH;
        // Ethernet has no service level; adapters tell here which header stands in the buffer, and UCX looks at it.
        if (qp.context->hca->link == LinkLayer::ethernet)
            wc.sl = on_ipv4(*arrival.sgid, *arrival.dgid) ? roce_ipv4 : roce_ipv6;
    }
    if (has_immediate(packet.op)) {
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.imm_data = packet.imm;
    }
    engine_.completions.complete(*qp.recv_cq, wc, packet.solicited);
}

}  // namespace loom::hca
