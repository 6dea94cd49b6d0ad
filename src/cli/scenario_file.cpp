#include "cli/scenario_file.hpp"

#include <filesystem>

#include "loom/base/file.hpp"

namespace loom::cli {

sim::Scenario load_scenario(const std::string& path) {
    sim::Scenario scenario;
    if (path.empty()) return scenario;
    sim::take_text(scenario, read_file(path), path);
    if (path != "-") scenario.folder = std::filesystem::path(path).parent_path();
    return scenario;
}

std::string from_here(const sim::Scenario& scenario, const std::string& path) {
    if (scenario.folder.empty() || path == "-") return path;
    return std::filesystem::absolute(path).string();
}

void use_fabric(sim::Scenario& scenario, const std::string& fabric, const std::string& tables) {
    if (!fabric.empty()) {
        scenario.fabric = fabric::Fabric();
        scenario.fabric_file = from_here(scenario, fabric);
    }
    if (!tables.empty()) {
        scenario.engine.clear();
        scenario.tables_file = from_here(scenario, tables);
    }
}

}  // namespace loom::cli
