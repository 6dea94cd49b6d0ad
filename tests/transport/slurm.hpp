// A Slurm of one node for a test: its own folder, ports and processes, no munge, no systemd, gone with the object. Runs
// as whoever runs the test: with one user there is nothing for Slurm to be root for.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "support/process.hpp"
#include "transport/launch/process.hpp"

namespace loom::test {

class Slurm {
public:
    Slurm() {
        prctl(PR_SET_CHILD_SUBREAPER, 1);  // Slurm's step daemons leave their parents: we bury them
        write_configuration();
        controller_ = start({"slurmctld", "-D"});
        daemon_ = start({"slurmd", "-D"});
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (shell(prefix() + "sinfo --noheader -o %T").out != "idle\n") {
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error("Slurm does not come up:\n" + slurp(folder_.file("slurmctld.log")) +
                                         slurp(folder_.file("slurmd.log")));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
    ~Slurm() {
        stop(daemon_);
        stop(controller_);
        while (waitpid(-1, nullptr, WNOHANG) > 0) {
        }
        prctl(PR_SET_CHILD_SUBREAPER, 0);
    }
    Slurm(const Slurm&) = delete;
    Slurm& operator=(const Slurm&) = delete;

    // srun with these arguments, for a minute at most.
    [[nodiscard]] Outcome srun(const std::string& arguments) const {
        return shell(prefix() + "timeout -k 5 60 srun " + arguments);
    }

private:
    [[nodiscard]] std::string prefix() const { return "SLURM_CONF='" + folder_.file("slurm.conf") + "' "; }

    // One that is free now.
    static int free_port() {
        const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        const bool known = bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                           getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
        close(socket);
        if (!known) throw std::runtime_error("no port is free");
        return ntohs(address.sin_port);
    }

    void write_configuration() const {
        std::array<char, 256> host{};
        gethostname(host.data(), host.size() - 1);
        const std::string full(host.data()), name = full.substr(0, full.find('.'));
        const passwd* user = getpwuid(geteuid());
        if (user == nullptr) throw std::runtime_error("this user has no name, which Slurm needs");
        const std::string folder = folder_.path().string();
        std::filesystem::create_directory(folder_.path() / "state");
        std::filesystem::create_directory(folder_.path() / "spool");
        std::ofstream(folder_.file("slurm.conf"))
            << "ClusterName=loom\nSlurmctldHost=" << name << "(127.0.0.1)\nSlurmctldPort=" << free_port()
            << "\nSlurmdPort=" << free_port() << "\nSlurmUser=" << user->pw_name << "\nSlurmdUser=" << user->pw_name
            << "\nAuthType=auth/none\nCredType=cred/none\nStateSaveLocation=" << folder
            << "/state\nSlurmdSpoolDir=" << folder << "/spool\nSlurmctldPidFile=" << folder
            << "/slurmctld.pid\nSlurmdPidFile=" << folder << "/slurmd.pid\nSlurmctldLogFile=" << folder
            << "/slurmctld.log\nSlurmdLogFile=" << folder
            << "/slurmd.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/linear\n"
               "SwitchType=switch/none\nJobAcctGatherType=jobacct_gather/none\n"
               "AccountingStorageType=accounting_storage/none\nMpiDefault=none\nReturnToService=2\nKillWait=2\n"
               "SlurmdParameters=config_overrides\nNodeName="
            << name
            << " NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN\n"
               "PartitionName=all Nodes=ALL Default=YES MaxTime=5 State=UP\n";
    }

    // Killed with this process, should it die.
    [[nodiscard]] transport::launching::Process start(const std::vector<std::string>& program) const {
        transport::launching::Start what;
        what.program = program;
        what.environment = {{"SLURM_CONF", folder_.file("slurm.conf")},
                            {"PATH", std::string(std::getenv("PATH")) + ":/usr/sbin:/sbin"}};
        const transport::launching::Pipe nothing = transport::launching::make_pipe();
        what.socket = nothing.read.number();
        const Descriptor said(::open(folder_.file("said").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
        what.output = what.error = said.number();
        sigemptyset(&what.signals);
        return transport::launching::start(what);
    }

    static void stop(const transport::launching::Process& process) {
        kill(process.pid, SIGTERM);
        for (int tries = 0; tries < 100; ++tries) {
            if (waitpid(process.pid, nullptr, WNOHANG) == process.pid) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        kill(-process.pid, SIGKILL);
        waitpid(process.pid, nullptr, 0);
    }

    TemporaryFolder folder_;
    transport::launching::Process controller_, daemon_;
};

}  // namespace loom::test
