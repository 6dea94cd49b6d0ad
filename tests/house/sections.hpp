// Section maps: comments in a class that begin with the name of the file where the functions below them are, up to the
// next such comment, `public:` or `private:`.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace loom::house {

// What is wrong with those of the header at `path`, one sentence each. `sources` has the text of every file of the
// tree. A name is that of a file anywhere in the header's room.
[[nodiscard]] std::vector<std::string> wrong_sections(const std::string& path,
                                                      const std::map<std::string, std::string>& sources);

}  // namespace loom::house
