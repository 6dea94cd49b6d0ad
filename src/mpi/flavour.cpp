#include "loom/mpi/flavour.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>

#include "loom/base/error.hpp"

namespace loom::mpi {

namespace {

namespace fs = std::filesystem;

// Reads records at offsets that a file claims; everything outside of the file is an end.
class Elf {
public:
    explicit Elf(const fs::path& file) : in_(file, std::ios::binary) {
        in_.seekg(0, std::ios::end);
        const auto end = in_.tellg();
        size_ = in_ && end > 0 ? static_cast<std::uint64_t>(end) : 0;
    }

    template <class Record>
    [[nodiscard]] bool read(std::uint64_t at, Record& record) {
        if (at > size_ || size_ - at < sizeof record) return false;
        in_.seekg(static_cast<std::streamoff>(at));
        in_.read(reinterpret_cast<char*>(&record), sizeof record);
        return in_.good();
    }

    [[nodiscard]] std::string text(std::uint64_t at) {
        constexpr std::size_t longest = 4096;
        std::string text;
        if (at >= size_) return text;
        in_.seekg(static_cast<std::streamoff>(at));
        for (char c = 0; text.size() < longest && in_.get(c) && c != '\0';) text.push_back(c);
        in_.clear();
        return text;
    }

private:
    std::ifstream in_;
    std::uint64_t size_ = 0;
};

bool begins(const std::string& name, std::string_view with) {
    return name.starts_with(with);
}

}  // namespace

std::string_view to_string(Flavour flavour) {
    return flavour == Flavour::openmpi ? "openmpi" : "mpich";
}

Flavour parse_flavour(std::string_view name) {
    for (const Flavour flavour : {Flavour::openmpi, Flavour::mpich})
        if (name == to_string(flavour)) return flavour;
    throw UsageError("expected openmpi or mpich, not '" + std::string(name) + "'");
}

std::vector<std::string> needed_libraries(const fs::path& file) {
    std::error_code hidden;
    if (!fs::is_regular_file(file, hidden)) return {};
    Elf elf(file);
    Elf64_Ehdr header{};
    if (!elf.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64)
        return {};
    // Addresses become offsets through the loaded segments; the string table is named by address.
    std::vector<Elf64_Phdr> loaded;
    Elf64_Phdr dynamic{};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        if (!elf.read(header.e_phoff + std::uint64_t{i} * header.e_phentsize, segment)) return {};
        if (segment.p_type == PT_LOAD) loaded.push_back(segment);
        if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    }
    std::vector<std::uint64_t> names;
    std::uint64_t table = 0;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry{};
        if (!elf.read(dynamic.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
        if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
        if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
    }
    for (const Elf64_Phdr& segment : loaded)
        if (table >= segment.p_vaddr && table - segment.p_vaddr < segment.p_filesz) {
            table = table - segment.p_vaddr + segment.p_offset;
            break;
        }
    std::vector<std::string> libraries;
    for (const std::uint64_t name : names) libraries.push_back(elf.text(table + name));
    return libraries;
}

std::optional<Flavour> flavour_of_program(const fs::path& program) {
    for (const std::string& name : needed_libraries(program)) {
        if (begins(name, "libmpich") || begins(name, "libmpi.so.12")) return Flavour::mpich;
        if (begins(name, "libmpi.so") || begins(name, "libmpi_") || begins(name, "libmpi-")) return Flavour::openmpi;
    }
    return {};
}

std::optional<Flavour> flavour_of_launcher(const fs::path& launcher) {
    std::error_code hidden;
    const fs::path real = fs::canonical(launcher, hidden);
    for (const std::string& name : {launcher.filename().string(), real.filename().string()}) {
        const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
        if (has("openmpi") || has("orterun") || has("prterun")) return Flavour::openmpi;
        if (has("mpich") || has("hydra")) return Flavour::mpich;
    }
    return {};
}

}  // namespace loom::mpi
