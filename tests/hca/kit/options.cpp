#include "hca/kit/options.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "loom/base/error.hpp"

namespace loom::kit {
namespace {

const std::map<std::string, Transport> transports = {
    {"rc", Transport::rc}, {"uc", Transport::uc}, {"ud", Transport::ud}};
const std::map<std::string, Operation> operations = {{"send", Operation::send},   {"send_imm", Operation::send_imm},
                                                     {"write", Operation::write}, {"write_imm", Operation::write_imm},
                                                     {"read", Operation::read},   {"cas", Operation::cas},
                                                     {"fadd", Operation::fadd}};

// "0,1,64K,8M", and "1-8M" for all powers of two between.
std::vector<std::size_t> parse_sizes(const std::string& text) {
    const auto one = [&](const std::string& word) {
        std::size_t end = 0;
        std::size_t value = 0;
        try {
            value = std::stoul(word, &end);
        } catch (const std::exception&) {
            throw UsageError("expected a size, not '" + word + "'");
        }
        const std::string unit = word.substr(end);
        if (unit == "K") return value << 10;
        if (unit == "M") return value << 20;
        if (!unit.empty()) throw UsageError("expected K or M behind the size in '" + word + "'");
        return value;
    };
    std::vector<std::size_t> sizes;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, ',');) {
        const std::size_t dash = part.find('-');
        if (dash == std::string::npos) {
            sizes.push_back(one(part));
        } else {
            const std::size_t last = one(part.substr(dash + 1));
            for (std::size_t size = one(part.substr(0, dash)); size != 0 && size <= last; size *= 2)
                sizes.push_back(size);
        }
    }
    return sizes;
}

template <class Value>
const char* name_in(const std::map<std::string, Value>& names, Value value) {
    for (const auto& [text, candidate] : names)
        if (candidate == value) return text.c_str();
    return "?";
}

void check(const Options& options) {
    const bool one_sided = options.operation != Operation::send && options.operation != Operation::send_imm;
    const bool atomic = options.operation == Operation::cas || options.operation == Operation::fadd;
    if (options.transport == Transport::ud && one_sided) throw UsageError("UD only sends");
    if (options.transport == Transport::uc && (atomic || options.operation == Operation::read))
        throw UsageError("UC neither reads nor does atomics");
    if (options.transport == Transport::rc && options.may_lose) throw UsageError("RC may not lose");
    if (options.transport != Transport::rc && options.late_receives) throw UsageError("only RC waits for receives");
    if (options.depth == 0 || options.sge == 0 || options.unsignalled == 0 || options.iterations == 0)
        throw UsageError("counts begin at 1");
    if (options.unsignalled > options.depth) throw UsageError("a window needs a completion");
}

}  // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    std::string sizes = "0,1-64K,1M,8M";
    CLI::App app{
        "Checks a verbs device: every byte, guard, completion and immediate value of the messages between two "
        "processes. Without SERVER it waits for one client; both print one JSON line and leave with 0 when all was "
        "as it should be."};
    app.add_option("SERVER", options.server, "address of the server");
    app.add_option("--bind", options.bind_address, "address the server listens on");
    app.add_option("-p,--port", options.port, "TCP port");
    app.add_option("-d,--device", options.device);
    app.add_option("-x,--gid-index", options.gid_index, "address by this GID instead of the LID");
    app.add_option("--transport", options.transport)->transform(CLI::Transformer(transports));
    app.add_option("--operation", options.operation)->transform(CLI::Transformer(operations));
    app.add_option("--sizes", sizes, "such as 0,1,64K or 1-8M (powers of two)");
    app.add_option("-n,--iterations", options.iterations, "messages of each size");
    app.add_option("--depth", options.depth, "messages under way");
    app.add_option("--sge", options.sge, "pieces of each local buffer");
    app.add_option("--unsignalled", options.unsignalled, "only every n-th request asks for a completion");
    app.add_flag("-e,--events", options.events, "sleep on completion channels instead of polling");
    app.add_flag("--srq", options.srq);
    app.add_flag("--inline", options.inline_data, "as far as the device takes it");
    app.add_flag("--extended", options.extended, "ibv_create_cq_ex, ibv_create_qp_ex and ibv_wr_*");
    app.add_flag("-b,--bidirectional", options.bidirectional);
    app.add_flag("--late-receives", options.late_receives, "receives are posted after sending began");
    app.add_flag("--may-lose", options.may_lose, "losses of UC and UD are counted, not an error");
    app.add_flag("--memfd", options.memfd, "target memory is a shared mapping");
    app.add_option("--mtu", options.mtu, "path MTU in bytes");
    app.add_option("--timeout", options.timeout, "local ACK timeout exponent");
    app.add_option("--patience", options.patience, "seconds to wait for anything to happen");
    app.add_option("--seed", options.seed);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        std::exit(app.exit(help));
    } catch (const CLI::ParseError& error) {
        throw UsageError(error.what());
    }
    options.sizes = parse_sizes(sizes);
    check(options);
    return options;
}

const char* name(Transport transport) {
    return name_in(transports, transport);
}

const char* name(Operation operation) {
    return name_in(operations, operation);
}

}  // namespace loom::kit
