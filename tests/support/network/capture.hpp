// Everything that passes an interface, in a pcap file for other programs to take apart. Needs CAP_NET_RAW.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace loom::test {

class Capture {
public:
    // `interface` is one of the calling thread's namespace. Returns once frames are seen. Throws Error.
    Capture(const std::string& interface, const std::filesystem::path& file);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture();

    // What arrived before is in the file then. Returns the number of frames; `missed` of them the kernel dropped.
    struct Seen {
        std::size_t frames = 0;
        std::size_t missed = 0;
    };
    Seen stop();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace loom::test
