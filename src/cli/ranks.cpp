#include "cli/ranks.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "loom/transport/ask.hpp"

namespace loom::cli {

std::string ask_ranks(std::uint32_t ranks, const std::function<std::string(Rank)>& body) {
    transport::Launch job;
    job.ranks = ranks;
    job.timeout = std::chrono::minutes(1);
    job.output = transport::RankOutput::on_error;
    job.remark = [](const std::string& text) { fmt::print(stderr, "loom: {}\n", text); };
    return transport::ask_ranks(job, body);
}

}  // namespace loom::cli
