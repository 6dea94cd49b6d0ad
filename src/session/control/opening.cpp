#include "session/control/opening.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::session {

namespace {

constexpr std::size_t least_segment = 256;

std::string words_of(Place place, const Hello& own) {
    switch (place) {
        case Place::process:
            return "both ends are one process";
        case Place::host:
            return "both ends are processes of one host";
        case Place::cluster:
            return own.cluster.empty() ? "neither end names a cluster: they count as one"
                                       : "both hosts are in cluster " + own.cluster;
        case Place::elsewhere:
            return "the ends are in different clusters";
    }
    return "";
}

// The adapters of both ends reach each other; or why not.
std::string infiniband_between(const Hello& opener, const Hello& acceptor, bool& reached) {
    const QueuePairs &a = opener.queue_pairs, &b = acceptor.queue_pairs;
    reached = false;
    if (!opener.has_infiniband || !acceptor.has_infiniband)
        return opener.has_infiniband || acceptor.has_infiniband ? "only one end has InfiniBand"
                                                                : "neither end has InfiniBand";
    if (a.link != b.link) return "the adapters of the ends have different links";
    if (a.link == Link::host && opener.host != acceptor.host)
        return "the software HCAs of different hosts have no RoCE";
    if (a.link == Link::infiniband && !std::equal(a.gid.begin(), a.gid.begin() + 8, b.gid.begin()))
        return "the adapters are in different InfiniBand subnets";
    reached = true;
    return "both have InfiniBand";
}

void check(const Hello& peer) {
    if (peer.segment_bytes < least_segment || peer.segment_bytes > 65'507)
        throw Error("the other end has segments of a size that cannot be");
    if (peer.has_infiniband &&
        (peer.queue_pairs.block_bytes < least_segment || peer.queue_pairs.block_bytes > (1u << 30)))
        throw Error("the other end has blocks of a size that cannot be");
}

}  // namespace

std::string host_name() {
    static const std::string boot = [] {
        std::string text = read_file("/proc/sys/kernel/random/boot_id");
        std::erase_if(text, [](char letter) { return letter <= ' '; });
        return text;
    }();
    struct stat network {};
    (void)stat("/proc/thread-self/ns/net", &network);  // sockets are made in the namespace of their thread
    return fmt::format("{}-{}", boot, network.st_ino);
}

std::uint64_t process_number() {
    static const std::uint64_t number = std::uint64_t{random_number()} << 32 | random_number();
    return number;
}

Hello hello_of(const Options& options) {
    if (options.cluster.size() > most_words) throw UsageError("the name of a cluster: expected at most 200 letters");
    Hello hello;
    hello.cluster = options.cluster;
    hello.host = host_name();
    hello.process = process_number();
    hello.port = static_cast<std::uint16_t>(random_number());
    hello.epoch = random_number() / 4;
    hello.most_message = options.most_message;
    hello.scheme = options.scheme;
    hello.controller = options.controller;
    hello.selective = options.selective;
    hello.has_key = !options.key.empty();
    hello.nonce = random_nonce();
    return hello;
}

Place place_of(const Hello& own, const Hello& peer) {
    if (own.cluster != peer.cluster) return Place::elsewhere;
    if (own.host != peer.host) return Place::cluster;
    return own.process == peer.process ? Place::process : Place::host;
}

Start decide(bool opener, const Hello& own, const Hello& peer) {
    const Hello &first = opener ? own : peer, &second = opener ? peer : own;
    Start start;
    start.opener = opener;
    start.place = place_of(own, peer);
    start.why = words_of(start.place, own);
    start.settings.scheme = first.scheme;
    if (first.scheme != second.scheme)
        start.why += fmt::format("; the ends ask for different schemes, and the opener's holds");
    start.settings.controller = first.controller;
    start.settings.selective = first.selective && second.selective;
    bool infiniband = false;
    const std::string found = infiniband_between(first, second, infiniband);
    start.settings.network = infiniband ? Network::infiniband : Network::ethernet;
    start.why += "; " + found;
    start.settings.sealed = start.place == Place::elsewhere && own.has_key && peer.has_key;
    if (start.settings.sealed) start.why += "; between clusters all is sealed with the key";
    start.epoch = own.epoch + peer.epoch;
    start.own_port = own.port;
    start.peer_port = peer.port;
    start.ethernet_bytes = std::min(own.segment_bytes, peer.segment_bytes);
    start.infiniband_bytes = std::min(own.queue_pairs.block_bytes, peer.queue_pairs.block_bytes);
    start.most_message = std::min(own.most_message, peer.most_message);
    return start;
}

Hello greet(ControlSocket& control, bool opener, const Hello& own, const std::string& key, Time deadline) {
    control.say(own);
    const ControlMessage answer = control.hear_until(deadline);
    if (const auto* close = std::get_if<Close>(&answer))
        throw Error("the other end refuses the session: " + close->reason);
    const auto* const peer = std::get_if<Hello>(&answer);
    if (peer == nullptr) throw Error("the other end does not greet");
    check(*peer);
    if (peer->has_key != own.has_key) {
        control.say(Close{"one end has a key and the other has none"});
        throw Error(own.has_key ? "the other end has no key" : "the other end asks for a key");
    }
    if (!own.has_key) return *peer;
    const Nonce &openers = opener ? own.nonce : peer->nonce, &acceptors = opener ? peer->nonce : own.nonce;
    Bytes said = encode(opener ? own : *peer);
    const Bytes second = encode(opener ? *peer : own);
    said.insert(said.end(), second.begin(), second.end());
    const auto bytes = std::as_bytes(std::span(key));
    control.say(KeyProof{prove(bytes, opener, openers, acceptors, said)});
    const ControlMessage shown = control.hear_until(deadline);
    const auto* const proof = std::get_if<KeyProof>(&shown);
    if (proof == nullptr || !same(proof->proof, prove(bytes, !opener, openers, acceptors, said))) {
        control.say(Close{"the keys differ"});
        throw Error("the other end has another key");
    }
    return *peer;
}

}  // namespace loom::session
