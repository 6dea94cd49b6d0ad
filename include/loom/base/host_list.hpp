// Host lists as Slurm writes them: "node[001-018,020],login1".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loom {

// "a[01-03],b" is a01, a02, a03, b; zeros in front are kept, several brackets in a name multiply, the last
// one fastest. Throws Error for brackets or ranges that make no sense and beyond `most` names.
[[nodiscard]] std::vector<std::string> expand_host_list(std::string_view text, std::size_t most = 1'000'000);

// The shortest list of this kind that expands to the same names, each once, sorted by what stands before and
// after the last number, then by the number. Names with brackets or commas are not for this.
[[nodiscard]] std::string compress_host_list(std::span<const std::string> names);

}  // namespace loom
