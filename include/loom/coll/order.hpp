// Another numbering of ranks, for the fabric they run on (Hoefler 2008, II.6): found by `loom map`, given as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loom::coll {

// Numbers parted by blanks, lines or commas, '#' begins a comment: the i-th says which rank becomes rank i, as
// `loom map --order` writes them. Throws ParseError with `file` and the line for what is no permutation of 0..ranks-1.
[[nodiscard]] std::vector<std::uint32_t> read_rank_order(std::string_view text, const std::string& file,
                                                         std::uint32_t ranks);

}  // namespace loom::coll
