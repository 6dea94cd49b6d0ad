// All a program needs:
//
//   auto world = loom::coll::World::open();
//   auto comm = world->communicator();
//   auto request = comm.iallreduce(in, out, std::plus<>{});
//   compute();
//   request.wait();
//
// Data are ranges of trivially copyable elements or single variables (loom/coll/typed/given.hpp), operations function
// objects (loom/coll/typed/operation.hpp).
#pragma once

// First: a compiler's complaint about an argument names every header on the way to the check.
#include "loom/coll/typed/data.hpp"
#include "loom/coll/typed/given.hpp"

#include "loom/coll/communicator.hpp"
#include "loom/coll/world.hpp"
