// Messages of programs on a communicator: each runs as a program of one step, which later ones use again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coll/prepared.hpp"

namespace loom::coll {

class MessagePrograms {
public:
    // A program of one step that sends or receives, free to be changed until it is given back.
    [[nodiscard]] Prepared& take(Communicator::State& communicator);
    void put_back(Prepared& prepared) { idle_.push_back(&prepared); }

private:
    std::shared_ptr<const Plan> plan_;
    std::vector<std::unique_ptr<Prepared>> all_;  // as many as messages ever were in flight at once
    std::vector<Prepared*> idle_;
};

}  // namespace loom::coll
