#include "loom/coll/order.hpp"

#include <fmt/format.h>

#include <charconv>

#include "loom/base/error.hpp"
#include "loom/base/file.hpp"

namespace loom::coll {

std::vector<std::uint32_t> read_rank_order(std::string_view text, const std::string& file, std::uint32_t ranks) {
    std::vector<std::uint32_t> order;
    std::vector<bool> seen(ranks);
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
        line = line.substr(0, line.find('#'));
        for (std::size_t at = 0; (at = line.find_first_not_of(" \t,", at)) != std::string_view::npos;) {
            const std::size_t end = std::min(line.find_first_of(" \t,", at), line.size());
            const std::string_view word = line.substr(at, end - at);
            std::uint32_t rank = 0;
            const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
            if (error != std::errc{} || stop != word.data() + word.size() || rank >= ranks)
                throw ParseError(file, lines.number(), fmt::format("'{}': expected a rank below {}", word, ranks));
            if (seen[rank])
                throw ParseError(file, lines.number(), fmt::format("rank {} is there twice: expected each once", rank));
            seen[rank] = true;
            order.push_back(rank);
            at = end;
        }
    }
    if (order.size() != ranks)
        throw ParseError(file, 0, fmt::format("expected {} ranks, there are {}", ranks, order.size()));
    return order;
}

}  // namespace loom::coll
