#include "hca/properties/stage.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace loom::properties {

void await(const std::function<bool()>& condition, const char* what, std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (std::uint32_t tries = 0; !condition(); ++tries) {
        if (tries > 200) std::this_thread::yield();
        if (tries > 2000) std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (tries % 64 == 0 && std::chrono::steady_clock::now() > deadline)
            throw std::runtime_error(std::string("waited in vain: ") + what);
    }
}

void Meeting::meet(std::uint32_t count) {
    const std::uint32_t all = (arrived.fetch_add(1) / count + 1) * count;
    await([&] { return arrived.load() >= all; }, "the others to come", std::chrono::seconds(60));
}

Company::~Company() {
    for (const pid_t process : running_) {
        kill(process, SIGKILL);
        waitpid(process, nullptr, 0);
    }
}

pid_t Company::start(const std::function<void()>& role, const Environment& environment) {
    std::fflush(nullptr);
    const pid_t parent = getpid(), process = fork();
    if (process < 0) throw std::runtime_error("fork");
    if (process != 0) {
        running_.push_back(process);
        return process;
    }
    running_.clear();  // they are the parent's
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    alarm(static_cast<unsigned>(limit_.count()));
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    try {
        role();
    } catch (const std::exception& error) {
        ADD_FAILURE() << "process " << getpid() << ": " << error.what();
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
}

int Company::wait(pid_t process) {
    std::erase(running_, process);
    int status = 0;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void Company::finish() {
    bool failed = false;
    while (!running_.empty()) {
        int status = 0;
        const pid_t process = waitpid(-1, &status, 0);
        if (std::erase(running_, process) == 0) continue;
        if (failed) continue;
        failed = status != 0;
        if (failed)  // the others may wait for it in vain
            for (const pid_t other : running_) kill(other, SIGKILL);
        if (WIFSIGNALED(status))
            ADD_FAILURE() << "a process ended by signal " << WTERMSIG(status);
        else if (WEXITSTATUS(status) != 0)
            ADD_FAILURE() << "a process ended with status " << WEXITSTATUS(status);
    }
}

Host::Host(int device) {
    ibv_device** list = ibv_get_device_list(nullptr);
    for (int i = 0; i < device && list[i] != nullptr; ++i)
        if (list[i + 1] == nullptr) throw std::runtime_error("not as many devices");
    context.reset(ibv_open_device(list[device]));
    ibv_free_device_list(list);
    if (!context) throw std::runtime_error(std::string("ibv_open_device: ") + std::strerror(errno));
    pd.reset(ibv_alloc_pd(context.get()));
    if (!pd || ibv_query_port(context.get(), 1, &port) != 0 || ibv_query_gid(context.get(), 1, 0, &gid) != 0)
        throw std::runtime_error("the device does not answer");
}

Node Host::node(const NodeOptions& options) {
    return conformance::make_node(options.pd != nullptr ? options.pd : pd.get(), options, next_psn_++);
}

Buffer Host::buffer(std::size_t size, std::uint8_t value, int access) {
    return conformance::make_buffer(pd.get(), size, value, access);
}

Address Host::address(const Node& node) const {
    return {node.qp->qp_num, node.psn, port.lid, gid, 0, 0};
}

Address Host::address(const Node& node, const Buffer& memory) const {
    Address result = address(node);
    result.memory = memory.address();
    result.rkey = memory.mr->rkey;
    return result;
}

ibv_ah_attr Host::path(const Address& to) const {
    ibv_ah_attr result{};
    result.port_num = 1;
    if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
        result.is_global = 1;
        result.grh.dgid = to.gid;
        result.grh.hop_limit = 64;
    } else {
        result.dlid = to.lid;
    }
    return result;
}

void Host::join(const Node& node, const Address& other, const Tuning& tuning) const {
    const ibv_qp_type type = node.qp->qp_type;
    EXPECT_EQ(conformance::to_init(node, type, tuning.access), 0);
    EXPECT_EQ(conformance::to_rtr(node, type, path(other), other.qpn, other.psn, tuning), 0);
    EXPECT_EQ(conformance::to_rts(node, type, tuning), 0);
}

void deny_process_copies() {
    const sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(rules)), const_cast<sock_filter*>(rules)};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        throw std::runtime_error(std::string("seccomp: ") + std::strerror(errno));
}

Counters::Counters() {
    char name[] = "/tmp/loom-properties-XXXXXX";
    const int fd = mkstemp(name);
    if (fd < 0) throw std::runtime_error("mkstemp");
    close(fd);
    file_ = name;
}

Counters::~Counters() {
    unlink(file_.c_str());
}

std::uint64_t Counters::sum(const std::string& name, const std::string& way) const {
    std::uint64_t total = 0;
    std::ifstream lines(file_);
    for (std::string line; std::getline(lines, line);) {
        const auto process = nlohmann::json::parse(line);
        for (const auto& hca : process.at("hcas"))
            total += way.empty() ? hca.at(name).get<std::uint64_t>() : hca.at(name).at(way).get<std::uint64_t>();
    }
    return total;
}

}  // namespace loom::properties
