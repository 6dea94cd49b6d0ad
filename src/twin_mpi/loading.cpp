#include "twin_mpi/loading.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::twin_mpi {

namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

Descriptor file_in_memory(const std::vector<std::byte>& image) {
    Descriptor file(memfd_create("loom-rank", MFD_CLOEXEC));
    if (!file.open()) throw IoError(std::string("no file in memory for a rank: ") + std::strerror(errno));
    for (std::size_t written = 0; written < image.size();) {
        const ssize_t now = ::write(file.number(), image.data() + written, image.size() - written);
        if (now <= 0) throw IoError(std::string("no memory for a rank's program: ") + std::strerror(errno));
        written += static_cast<std::size_t>(now);
    }
    return file;
}

// The loader opens no name twice, and descriptors get the same numbers again: each name says so in another way.
std::string path_of(const Descriptor& file) {
    static std::atomic<std::uint32_t> loads{0};
    std::string path = "/proc/self/fd/";
    for (std::uint32_t load = ++loads; load != 0; load >>= 1) path += (load & 1) != 0 ? ".//" : "./";
    return path + std::to_string(file.number());
}

// The loader names the file in memory; people know the program's name.
std::string why_not(const std::string& name, const std::string& path) {
    std::string text = dlerror();
    if (text.starts_with(path + ": ")) text.erase(0, path.size() + 2);
    constexpr std::string_view missing = "undefined symbol: ";
    if (const auto at = text.find(missing); at != std::string::npos) {
        std::string symbol = text.substr(at + missing.size());
        return name + " needs " + symbol + ", which is not there: was it made by loom twin cc?";
    }
    return name + " cannot be loaded: " + text;
}

}  // namespace

std::vector<std::byte> loaded_part(const std::filesystem::path& file) {
    const std::string content = read_file(file);
    const auto refuse = [&] {
        throw UsageError(file.string() + " is no program for ranks in one process: make it with loom twin cc");
    };
    Header header{};
    if (content.size() < sizeof header) refuse();
    std::memcpy(&header, content.data(), sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN ||
        header.e_phentsize != sizeof(Segment))
        refuse();
    if (header.e_phoff > content.size() || header.e_phnum > (content.size() - header.e_phoff) / sizeof(Segment))
        refuse();
    std::size_t end = header.e_phoff + header.e_phnum * sizeof(Segment);
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        Segment segment{};
        std::memcpy(&segment, content.data() + header.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_INTERP) refuse();
        if (segment.p_type != PT_LOAD) continue;
        if (segment.p_offset > content.size() || segment.p_filesz > content.size() - segment.p_offset) refuse();
        end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
    }
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;  // they stand behind
    std::vector<std::byte> image(end);
    std::memcpy(image.data(), content.data(), end);
    std::memcpy(image.data(), &header, sizeof header);
    return image;
}

LoadedProgram::LoadedProgram(const std::vector<std::byte>& image, const Program& program) : words_(program.arguments) {
    const Descriptor file = file_in_memory(image);
    const std::string path = path_of(file);
    const std::string name = program.file.string();
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw UsageError(why_not(name, path));
    main_ = reinterpret_cast<int (*)(int, char**, char**)>(dlsym(library_, "main"));
    if (main_ == nullptr) {
        dlclose(library_);
        throw UsageError(name + " has no main()");
    }
    words_.insert(words_.begin(), name);
}

LoadedProgram::LoadedProgram(LoadedProgram&& other) noexcept
    : library_(std::exchange(other.library_, nullptr)), main_(other.main_), words_(std::move(other.words_)) {}

LoadedProgram::~LoadedProgram() {
    if (library_ != nullptr) dlclose(library_);
}

int LoadedProgram::main() {
    arguments_.clear();
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
    return main_(static_cast<int>(words_.size()), arguments_.data(), environ);
}

}  // namespace loom::twin_mpi
