#include "cli/output.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace loom::cli {

void print_json(const nlohmann::ordered_json& object) {
    fmt::print("{}\n", object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_remarks(const std::vector<std::string>& remarks, const Common& common) {
    if (common.quiet || common.json) return;
    for (const std::string& remark : remarks) fmt::print(stderr, "loom: {}\n", remark);
}

}  // namespace loom::cli
