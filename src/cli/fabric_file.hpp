// Fabric files on the command line: which format, from where, to where.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "loom/fabric/io.hpp"

namespace loom::cli {

// "  json            Loomband's own ..." for --help.
[[nodiscard]] std::string format_list();

// An empty name is no format. Throws UsageError that lists the names there are.
[[nodiscard]] std::optional<fabric::Format> format_named(const std::string& name);

// Reads a fabric, says on standard error what was odd about the file.
[[nodiscard]] fabric::Reading load_fabric(const std::string& path, const std::string& format, const Common& common);

// Where a fabric goes and in which form.
struct FabricOutput {
    std::string path;
    std::string format;     // empty: by the ending of the path, else json
    std::string discovery;  // ibnetdiscover's variant: plain, full, grouped or ports

    // -o and --to (and --as for the variant).
    void add_to(CLI::App& app);
    // --to and --as only.
    void add_format_to(CLI::App& app);
    // The format that will be written. Throws UsageError; call before the work.
    [[nodiscard]] fabric::Format resolve(const Common& common) const;
    [[nodiscard]] fabric::WriteOptions write_options() const;
    // Writes the file, or leaves what was there.
    void save(const fabric::Fabric& fabric, const Common& common) const;
};

}  // namespace loom::cli
