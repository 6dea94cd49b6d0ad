#!/usr/bin/env bash
# The installed program works without its build tree, and finds the library beside it. usage: install.sh CMAKE BUILD
set -euo pipefail
cmake=$1 build=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder" >/dev/null
"$folder/bin/loom" verbs devices | grep -q loom0
test "$("$folder/bin/loom" verbs run --json -- sh | grep -c "$folder/lib/libloom-verbs.so")" -ge 1
# LibNBC's interface can be compiled and linked against, as docs/mpi.md has it.
printf '#include <loom/nbc.h>\n#include <nbc.h>\nint main(void) { return NBC_OK; }\n' > "$folder/nbc.c"
for mpi in openmpi mpich; do
  mpicc.$mpi -I"$folder/include" -I"$folder/include/loom" "$folder/nbc.c" -o "$folder/nbc" -L"$folder/lib" -lloom-mpi-$mpi -Wl,-rpath,"$folder/lib"
done
# A program of somebody else finds the package, is built against it and runs.
mkdir "$folder/user"
cat > "$folder/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user CXX)
find_package(Loomband REQUIRED)
add_executable(user main.cpp)
target_link_libraries(user PRIVATE loom::coll loom::report)
END
cat > "$folder/user/main.cpp" <<'END'
#include <cstdio>
#include <loom/coll/typed.hpp>
int main() {
    const auto world = loom::coll::World::open();
    int one = 1, all = 0;
    world->communicator().allreduce(one, all, std::plus<>{});
    if (world->rank() == loom::Rank{0}) std::printf("%d ranks\n", all);
    world->close();
}
END
"$cmake" -G Ninja -S "$folder/user" -B "$folder/user/a/build" -DCMAKE_PREFIX_PATH="$folder" -DCMAKE_CXX_FLAGS="$(sed -n 's/^LOOM_SANITIZE:STRING=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")" >/dev/null
"$cmake" --build "$folder/user/a/build" >/dev/null
user=$folder/user/a/build/user
test "$("$folder/bin/loom" run -n 2 "$user")" = "2 ranks"
test "$("$user")" = "1 ranks"
# Ranks in virtual time, where the room twin was built.
if grep -q loom::twin "$folder"/lib*/cmake/Loomband/LoombandTargets.cmake; then
  sed -i 's/loom::coll/loom::twin &/' "$folder/user/CMakeLists.txt"
  cat > "$folder/user/main.cpp" <<'END'
#include <cstdio>
#include <loom/coll/typed.hpp>
#include <loom/twin/run.hpp>
int main() {
    loom::twin::Options options;
    options.ranks = 100;
    int all = 0;
    loom::twin::run(options, [&](loom::transport::Transport& transport) {
        loom::coll::World world(transport, nullptr);
        int one = 1, sum = 0;
        world.communicator().allreduce(one, sum, std::plus<>{});
        if (world.rank() == loom::Rank{0}) all = sum;
    });
    std::printf("%d ranks\n", all);
}
END
  "$cmake" -G Ninja -S "$folder/user" -B "$folder/user/twin" -DCMAKE_PREFIX_PATH="$folder" -DCMAKE_CXX_FLAGS="$(sed -n 's/^LOOM_SANITIZE:STRING=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")" >/dev/null
  "$cmake" --build "$folder/user/twin" >/dev/null
  test "$("$folder/user/twin/user")" = "100 ranks"
  test "$("$folder/bin/loom" twin run -q -n 3 "$user")" = "3 ranks"
fi
# Plug-ins, too, whoever starts the ranks.
test "$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe -n 2 "$user")" = "2 ranks"
# The installation has moved: the program's run path leads nowhere, but `loom run` tells ranks where its libraries are.
mkdir "$folder/moved"
mv "$folder/bin" "$folder/lib" "$folder/moved"
test "$("$folder/moved/bin/loom" run -n 2 "$user")" = "2 ranks"
if "$user" 2>"$folder/why"; then exit 1; fi
grep -q "cannot find libloom-verbs.so" "$folder/why"
