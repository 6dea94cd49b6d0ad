// Verbs objects that are given back when their holder goes.
#pragma once

#include <memory>

namespace loom::kit {

template <class Object, int (*release)(Object*)>
struct Releaser {
    void operator()(Object* object) const { release(object); }
};
template <class Object, int (*release)(Object*)>
using Owned = std::unique_ptr<Object, Releaser<Object, release>>;

}  // namespace loom::kit
