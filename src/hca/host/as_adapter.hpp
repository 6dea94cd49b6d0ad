// What an adapter does to a program's memory, done by a thread of ours.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" {
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace loom::hca {

// While it lives, the thread sanitizer takes what this thread writes for an adapter's doing, of which it sees nothing:
// programs may poll such memory, and rely on the order in which adapters write.
class AsAdapter {
public:
#if defined(__SANITIZE_THREAD__)
    AsAdapter() {
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~AsAdapter() {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    }
#else
    AsAdapter() {}  // not trivial, so that nobody is told that it is unused
#endif
    AsAdapter(const AsAdapter&) = delete;
    AsAdapter& operator=(const AsAdapter&) = delete;
};

}  // namespace loom::hca
