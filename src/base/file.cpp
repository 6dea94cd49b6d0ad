#include "loom/base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "loom/base/byte_order_mark.hpp"
#include "loom/base/error.hpp"
#include "loom/base/table.hpp"

namespace loom {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing) {
    throw IoError(path.string() + ": cannot " + doing + ": " + std::strerror(errno));
}

// What does not say how long it is may never end.
constexpr std::size_t longest_stream = std::size_t{4} << 30;
constexpr std::size_t longest_of_device = std::size_t{64} << 20;

bool is_device(const std::filesystem::path& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

std::string read_to_end(std::istream& in, const std::string& name, std::size_t most) {
    constexpr std::size_t piece = 1 << 18;
    std::string text;
    for (std::size_t have = 0;; have = text.size()) {
        text.resize(have + piece);
        in.read(text.data() + have, piece);
        text.resize(have + static_cast<std::size_t>(in.gcount()));
        if (text.size() > most) throw IoError(name + ": is too long, expected at most " + human_bytes(most));
        if (!in) return text;
    }
}

// Removes the temporary unless the rename succeeded.
class Temporary {
public:
    explicit Temporary(const std::filesystem::path& target)
        : path_(target.string() + ".tmp" + std::to_string(::getpid())) {}
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;
    ~Temporary() {
        if (!kept_) ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    void become(const std::filesystem::path& target) {
        if (std::rename(path_.c_str(), target.c_str()) != 0) fail(target, "write");
        kept_ = true;
    }

private:
    std::string path_;
    bool kept_ = false;
};

}  // namespace

std::string read_file(const std::filesystem::path& path) {
    if (path == "-") return read_to_end(std::cin, "standard input", longest_stream);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        throw IoError(path.string() + ": is a directory, expected a file");
    errno = 0;
    std::ifstream in(path, std::ios::binary);
    if (!in) fail(path, "read");
    std::string text;
    in.seekg(0, std::ios::end);
    if (const auto size = in.tellg(); size > 0) {
        text.resize(static_cast<std::size_t>(size));
        in.seekg(0);
        in.read(text.data(), size);
        text.resize(static_cast<std::size_t>(in.gcount()));
    } else {  // a pipe, or a file that does not know its size
        in.clear();
        in.seekg(0);
        in.clear();
        text = read_to_end(in, path.string(), is_device(path) ? longest_of_device : longest_stream);
    }
    return text;
}

FileText::FileText(const std::filesystem::path& path, std::size_t map_from) {
    const int descriptor = path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
        struct stat status {};
        if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
            static_cast<std::size_t>(status.st_size) >= map_from) {
            const auto size = static_cast<std::size_t>(status.st_size);
            if (void* const mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
                mapping != MAP_FAILED) {
                mapping_ = mapping;
                text_ = {static_cast<const char*>(mapping), size};
                ::madvise(mapping, size, MADV_SEQUENTIAL);
            }
        }
        ::close(descriptor);
    }
    if (mapping_ == nullptr) {
        copy_ = read_file(path);
        text_ = copy_;
    }
}

FileText::~FileText() {
    if (mapping_ != nullptr) ::munmap(mapping_, text_.size());
}

void write_file(const std::filesystem::path& path, std::string_view content) {
    write_file(path, [content](std::ostream& out) {
        out.write(content.data(), static_cast<std::streamsize>(content.size()));
    });
}

void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill) {
    if (path == "-") {
        fill(std::cout);
        std::cout.flush();
        if (!std::cout) throw IoError("standard output: cannot write");
        return;
    }
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
        if (std::filesystem::is_directory(path, ignored))
            throw IoError(path.string() + ": is a directory, expected a file");
        errno = 0;
        std::ofstream out(path, std::ios::binary);  // a device or pipe: there is nothing to rename
        if (!out) fail(path, "write");
        fill(out);
        out.flush();
        if (!out) fail(path, "write");
        return;
    }
    Temporary temporary(path);
    {
        errno = 0;
        std::ofstream out(temporary.path(), std::ios::binary | std::ios::trunc);
        if (!out) fail(path, "write");
        fill(out);
        out.flush();
        if (!out) fail(path, "write");
    }
    temporary.become(path);
}

bool Lines::next(std::string_view& line) {
    if (number_ == 0) rest_ = without_byte_order_mark(rest_);
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number_;
    return true;
}

}  // namespace loom
