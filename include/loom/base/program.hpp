// Programs of others: where they are, and how a library gets into them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace loom {

// The file that execvp would run; a name with a slash is the file itself. Folders of `beyond` ("/usr/sbin:/sbin") are
// looked into after those of PATH. Empty when there is no such program.
[[nodiscard]] std::filesystem::path find_program(const std::string& name, std::string_view beyond = {});

// The same. Throws UsageError when there is none, or when a library cannot be preloaded into it: static programs,
// programs that change their user, group or capabilities, and those of other machines. A script is judged by its
// interpreter.
[[nodiscard]] std::filesystem::path preloadable_program(const std::string& name);

// LD_PRELOAD with `library` in front of what it holds already. Throws UsageError for a path that the dynamic linker
// does not take there.
[[nodiscard]] std::string preload_list(const std::filesystem::path& library);

}  // namespace loom
