// Fortran's texts have a length and no end, and are filled up with blanks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace loom::mpi::fortran {

// Without the blanks in front and behind, as MPI has it.
inline std::string text(const char* characters, int length) {
    const std::string all(characters, static_cast<std::size_t>(length));
    const std::size_t first = all.find_first_not_of(' ');
    return first == std::string::npos ? "" : all.substr(first, all.find_last_not_of(' ') - first + 1);
}

// A list of arguments for C. `first` is of `length` characters, and so are all; `stride` texts further on is the next,
// and a blank one is the end.
class Words {
public:
    Words(const char* first, int length, int stride) {
        for (const char* word = first;; word += std::ptrdiff_t{length} * stride) {
            words_.push_back(text(word, length));
            if (words_.back().empty()) break;
        }
        words_.pop_back();
        for (std::string& word : words_) pointers_.push_back(word.data());
        pointers_.push_back(nullptr);
    }
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    [[nodiscard]] char** data() { return pointers_.data(); }

private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

}  // namespace loom::mpi::fortran
