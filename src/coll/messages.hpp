// Messages of programs on a communicator: each runs as a program of one step, which later ones use again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/prepared.hpp"

namespace loom::coll {

class MessagePrograms {
public:
    // A program of one step that sends or receives, free to be changed. It is the next one again until it is taken.
    [[nodiscard]] Prepared& next(Communicator::State& communicator);
    void take_next() { idle_.pop_back(); }
    void put_back(Prepared& prepared) { idle_.push_back(&prepared); }

private:
    std::vector<std::unique_ptr<Prepared>> all_;  // as many as messages ever were in flight at once
    std::vector<Prepared*> idle_;
};

}  // namespace loom::coll
