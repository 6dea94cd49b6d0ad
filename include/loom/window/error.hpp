// What can be wrong with remote memory access, by name. A rank that is gone is transport::RankLost.
#pragma once

#include "loom/base/error.hpp"

namespace loom::window {

class WindowFreed : public UsageError {  // it was freed, or its world was closed
public:
    using UsageError::UsageError;
};

class OutOfBounds : public UsageError {  // beyond the bytes that the target opened
public:
    using UsageError::UsageError;
};

class NoSuchRank : public UsageError {  // not one of the team
public:
    using UsageError::UsageError;
};

class NoSuchTag : public UsageError {  // not below the window's number of tags, or a match that nothing can meet
public:
    using UsageError::UsageError;
};

// A wait's patience is over. what() says which notifications are missing, which others nobody has taken, and what the
// ranks that could send them wait for.
class Stalled : public Error {
public:
    using Error::Error;
};

}  // namespace loom::window
