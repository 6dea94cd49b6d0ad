#include "hca/device/config.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "hca/device/host_id.hpp"
#include "hca/roce/gid.hpp"
#include "loom/base/error.hpp"
#include "loom/hca/settings.hpp"

namespace loom::hca {

namespace {

using settings::refuse;

constexpr std::uint32_t most_hcas = 256;

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = text.find(separator, begin);
        parts.push_back(text.substr(begin, end - begin));
        if (end == std::string::npos) return parts;
        begin = end + 1;
    }
}

template <class Number>
bool parse_number(const std::string& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// Whether a program here can receive on it: asks the kernel, which also knows all of 127.0.0.0/8.
bool is_local(roce::Address address) {
    address.port = 0;
    const roce::SocketAddress name = roce::to_socket_address(address);
    const int fd = ::socket(name.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&name.storage), name.size) == 0;
    close(fd);
    return bound;
}

// The first IPv4 address of an interface that is no loopback, then the first global IPv6 one, then 127.0.0.1.
roce::Address first_address(roce::LocalAddresses& known) {
    for (const roce::Family family : {roce::Family::ipv4, roce::Family::ipv6})
        for (const roce::Interface& each : known.all())
            if (!each.loopback && roce::family(each.ip) == family && !roce::is_link_local(each.ip)) return {each.ip};
    return *roce::parse_address("127.0.0.1");
}

// The interface that has the address; loopback for the rest of 127.0.0.0/8; an unknown one when none has.
roce::Interface interface_of(const Gid& ip, roce::LocalAddresses& known) {
    if (const auto found = known.find(ip)) return *found;
    for (const roce::Interface& each : known.all())
        if (each.loopback && roce::family(ip) == roce::Family::ipv4 && ip[12] == 127) return each;
    roce::Interface unknown;
    unknown.mtu = 1500;
    return unknown;
}

HcaConfig numbered(std::uint32_t index) {
    HcaConfig hca;
    hca.index = index;
    hca.name = "loom" + std::to_string(index);
    hca.guid = local_guid(index);
    return hca;
}

HcaConfig infiniband(std::uint32_t index) {
    HcaConfig hca = numbered(index);
    hca.lid = static_cast<std::uint16_t>(index + 1);
    hca.gids.push_back({link_local_gid(hca.guid), GidType::ib});
    return hca;
}

HcaConfig ethernet(std::uint32_t index, const Gid& ip, roce::LocalAddresses& known) {
    const roce::Interface interface = interface_of(ip, known);
    HcaConfig hca = numbered(index);
    hca.link = LinkLayer::ethernet;
    hca.gids.push_back({ip, GidType::roce_v2});
    hca.interface_name = interface.name;
    hca.interface = interface.index;
    hca.mtu =
        static_cast<std::uint32_t>(std::max(roce::infiniband_mtu(interface.mtu, roce::family(ip)), roce::smallest_mtu));
    return hca;
}

constexpr const char* hcas_expected = "a number of HCAs, or a list like ib,ib or roce:10.9.0.1,roce:fd00::1";

HcaConfig hca_of(const std::string& word, std::uint32_t index, const std::string& value, roce::LocalAddresses& known) {
    if (word == "ib") return infiniband(index);
    if (word == "roce") return ethernet(index, first_address(known).ip, known);
    if (!word.starts_with("roce:")) refuse(Setting::verbs_hcas, value, hcas_expected);
    const std::string text = word.substr(5);
    const std::optional<roce::Address> address = roce::parse_address(text);
    if (!address || address->scope != 0)
        refuse(Setting::verbs_hcas, value, "an IPv4 or IPv6 address instead of '" + text + "'");
    if (!is_local(*address)) refuse(Setting::verbs_hcas, value, "an address of this host; " + text + " is none");
    return ethernet(index, address->ip, known);
}

std::vector<HcaConfig> parse_hcas(const std::string& value) {
    roce::LocalAddresses known;
    std::vector<HcaConfig> hcas;
    std::uint32_t count = 0;
    if (parse_number(value, count)) {
        if (count > most_hcas) refuse(Setting::verbs_hcas, value, "at most " + std::to_string(most_hcas) + " HCAs");
        for (std::uint32_t index = 0; index < count; ++index) hcas.push_back(infiniband(index));
        return hcas;
    }
    const std::vector<std::string> words = split(value, ',');
    if (words.size() > most_hcas) refuse(Setting::verbs_hcas, "...", "at most " + std::to_string(most_hcas) + " HCAs");
    for (const std::string& word : words)
        hcas.push_back(hca_of(word, static_cast<std::uint32_t>(hcas.size()), value, known));
    return hcas;
}

double parse_probability(const std::string& text, const std::string& whole, const std::string& key) {
    double probability = 0;
    if (!parse_number(text, probability) || !(probability >= 0 && probability <= 1))
        refuse(Setting::verbs_fault, whole, key + " from 0 to 1");
    return probability;
}

FaultConfig parse_faults(const std::string& value) {
    FaultConfig faults;
    for (const std::string& part : split(value, ',')) {
        const std::size_t equals = part.find('=');
        const std::string key = part.substr(0, equals);
        const std::string text = equals == std::string::npos ? "" : part.substr(equals + 1);
        if (key == "seed") {
            if (!parse_number(text, faults.seed)) refuse(Setting::verbs_fault, value, "seed to be a whole number");
        } else if (key == "drop") {
            faults.drop = parse_probability(text, value, key);
        } else if (key == "datagrams") {
            faults.datagrams = parse_probability(text, value, key);
        } else if (key == "error") {
            faults.error = parse_probability(text, value, key);
        } else if (key == "delay") {
            if (!parse_duration(text, faults.delay)) refuse(Setting::verbs_fault, value, "delay like 50us, 2ms or 1s");
        } else {
            refuse(Setting::verbs_fault, value, "a list like seed=1,drop=0.01,datagrams=0.01,delay=50us,error=0.001");
        }
    }
    return faults;
}

}  // namespace

bool parse_duration(const std::string& text, std::chrono::nanoseconds& duration) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || !(number >= 0)) return false;
    const std::string unit(end, text.data() + text.size());
    const double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    if (scale == 0 || !(number * scale <= 3.6e12)) return false;  // an hour: surely a mistake
    duration = std::chrono::nanoseconds(static_cast<std::int64_t>(number * scale + 0.5));
    return true;
}

const char* firmware_version() {
    return LOOM_VERSION;
}

Gid link_local_gid(std::uint64_t guid) {
    Gid gid{0xfe, 0x80};
    for (int i = 0; i < 8; ++i) gid[static_cast<std::size_t>(8 + i)] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
    return gid;
}

std::uint64_t local_guid(std::uint32_t index) {
    constexpr std::uint64_t locally_administered = std::uint64_t{0x024c} << 48;
    return locally_administered | (host_id() >> 32) << 16 | (index & 0xffff);
}

Config read_config(const Environment& environment) {
    Config config;
    const auto read_switch = [&](Setting setting, bool& on) {
        if (const auto value = environment(setting)) on = settings::as_switch(setting, *value);
    };
    config.hcas = parse_hcas(environment(Setting::verbs_hcas).value_or("ib"));
    const std::string trace = environment(Setting::verbs_trace).value_or("0");
    config.trace = trace != "0";
    if (config.trace && trace != "1" && trace != "stderr") config.trace_file = trace;
    if (const auto faults = environment(Setting::verbs_fault)) config.faults = parse_faults(*faults);
    if (const auto port = environment(Setting::verbs_roce_port))
        if (!parse_number(*port, config.roce_port) || config.roce_port == 0)
            refuse(Setting::verbs_roce_port, *port, "a UDP port from 1 to 65535");
    read_switch(Setting::verbs_gso, config.gso);
    read_switch(Setting::verbs_shared, config.shared_memory);
    read_switch(Setting::verbs_ptracer, config.ptracer);
    read_switch(Setting::verbs_realtime, config.realtime);
    config.stats_file = environment(Setting::verbs_stats).value_or("");
    return config;
}

void check_environment() {
    (void)read_config(settings::read);
}

namespace {

// On misspelled names that were meant for us. Others are remarked on by the part of Loomband that they were meant for.
void remark_on_settings() {
    for (const settings::Unknown& each : settings::unknown())
        if (settings::info(each.nearest).room == std::string_view("hca"))
            std::fprintf(stderr, "loom-verbs: %s\n", settings::remark(each).c_str());
}

}  // namespace

const Config& config() noexcept {
    // Never destroyed: threads of the program may still ask while it exits.
    static const Config* const known = []() -> const Config* {
        try {
            remark_on_settings();
            return new Config(read_config(settings::read));
        } catch (const std::exception& error) {
            std::fprintf(stderr, "loom-verbs: %s; no device is listed\n", error.what());
        }
        return new Config();
    }();
    return *known;
}

}  // namespace loom::hca
