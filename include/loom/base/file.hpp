// Files read whole; files written whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace loom {

// The whole file as bytes; "-" reads standard input. Throws IoError with the path and the reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

// The same for large files: from `map_from` bytes on, a regular file is mapped and not copied, so that its
// text takes no memory that the system could not have back. Whoever cuts a mapped file short while it is
// being read ends this program; small files are safe. Views into the text live as long as the object.
class FileText {
public:
    explicit FileText(const std::filesystem::path& path, std::size_t map_from = std::size_t{64} << 20);
    FileText(const FileText&) = delete;
    FileText& operator=(const FileText&) = delete;
    ~FileText();

    [[nodiscard]] std::string_view text() const noexcept { return text_; }

private:
    std::string copy_;
    std::string_view text_;
    void* mapping_ = nullptr;
};

// Writes through a temporary file in the same folder and renames it over `path`, so that a reader
// sees the old content or the new, never a part. "-" writes to standard output. Throws IoError and
// leaves no temporary behind.
void write_file(const std::filesystem::path& path, std::string_view content);

// The same for content too large to hold: `fill` is called once with the open stream. What it
// throws is passed on and nothing is written.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);

// Walks the lines of a text without copying; strips a trailing '\r'.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}

    // The next line, or false at the end. number() is then its 1-based number.
    bool next(std::string_view& line);
    [[nodiscard]] std::size_t number() const noexcept { return number_; }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

}  // namespace loom
