#include "loom/base/program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "loom/base/error.hpp"
#include "loom/base/settings.hpp"

namespace loom {

namespace {

namespace fs = std::filesystem;

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half own_machine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr Elf64_Half own_machine = EM_PPC64;
#else
#error "which machine is this?"
#endif

bool is_program(const fs::path& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), X_OK) == 0;
}

// One sentence: what the program is, and that the library cannot be preloaded into it.
[[noreturn]] void refuse(const fs::path& path, const std::string& what) {
    throw UsageError(path.string() + " " + what + ": the dynamic linker preloads no library into it");
}

void check_privileges(const fs::path& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) throw UsageError("cannot look at " + path.string());
    if ((status.st_mode & S_ISUID) != 0) refuse(path, "changes its user (setuid)");
    if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0) refuse(path, "changes its group (setgid)");
    std::array<char, 64> capabilities{};
    if (getxattr(path.c_str(), "security.capability", capabilities.data(), capabilities.size()) > 0)
        refuse(path, "has capabilities of its own");
}

template <class Record>
bool read_record(std::ifstream& in, std::uint64_t offset, Record& record) {
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(reinterpret_cast<char*>(&record), sizeof record);
    return in.gcount() == sizeof record;
}

void check_elf(std::ifstream& in, const fs::path& path) {
    Elf64_Ehdr header{};
    if (!read_record(in, 0, header)) refuse(path, "is cut short");
    if (header.e_ident[EI_CLASS] != ELFCLASS64) refuse(path, "is a 32-bit program");
    if (header.e_machine != own_machine) refuse(path, "is a program for another machine");
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr part{};
        if (!read_record(in, header.e_phoff + std::uint64_t{i} * header.e_phentsize, part))
            refuse(path, "is cut short");
        if (part.p_type == PT_INTERP) return;
    }
    refuse(path, "is a static program");
}

// The interpreter that the first line of a script names.
std::string interpreter_of(const std::string& line) {
    const std::size_t begin = line.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_first_of(" \t\r\n", begin) - begin);
}

void check_program(const fs::path& path, int depth) {
    check_privileges(path);
    std::ifstream in(path, std::ios::binary);
    if (!in) return;  // may be run, not read: nothing to be said about it
    std::array<char, 256> start{};
    in.read(start.data(), start.size());
    const std::string text(start.data(), static_cast<std::size_t>(in.gcount()));
    in.clear();
    if (text.starts_with(ELFMAG)) return check_elf(in, path);
    if (!text.starts_with("#!") || depth == 4) return;  // the shell's business
    const std::string interpreter = interpreter_of(text.substr(0, text.find('\n')));
    if (!is_program(interpreter)) throw UsageError(path.string() + ": no such interpreter: " + interpreter);
    check_program(interpreter, depth + 1);
}

}  // namespace

fs::path find_program(const std::string& name, std::string_view beyond) {
    if (name.find('/') != std::string::npos) return is_program(name) ? fs::path(name) : fs::path();
    std::string folders = settings::variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin") + ':';
    if (!beyond.empty()) folders.append(beyond) += ':';
    for (std::size_t begin = 0, end = 0; (end = folders.find(':', begin)) != std::string::npos; begin = end + 1) {
        const fs::path folder = end == begin ? "." : folders.substr(begin, end - begin);
        if (is_program(folder / name)) return folder / name;
    }
    return {};
}

fs::path preloadable_program(const std::string& name) {
    if (name.empty()) throw UsageError("expected a PROGRAM to run");
    const fs::path path = find_program(name);
    if (path.empty()) {
        const bool is_file = name.find('/') != std::string::npos && fs::exists(name);
        throw UsageError(is_file ? name + " is not a program that can be run" : "no such program: " + name);
    }
    check_program(path, 0);
    return path;
}

std::string preload_list(const fs::path& library) {
    const std::string own = library.string();
    if (own.find_first_of(": ") != std::string::npos)
        throw UsageError(own + ": the dynamic linker takes no path with a blank or a colon in LD_PRELOAD");
    const std::string others = settings::variable("LD_PRELOAD").value_or("");
    if ((others + ':').starts_with(own + ':')) return others;  // a run inside of a run
    return others.empty() ? own : own + ':' + others;
}

}  // namespace loom
