// All a program needs:
//
//   auto world = loom::coll::World::open();
//   auto comm = world->communicator();
//   auto request = comm.iallreduce(in, out, std::plus<>{});
//   compute();
//   request.wait();
//
// Data are ranges of trivially copyable elements (loom/coll/typed/data.hpp), operations function objects
// (loom/coll/typed/operation.hpp).
#pragma once

#include "loom/coll/communicator.hpp"
#include "loom/coll/world.hpp"
