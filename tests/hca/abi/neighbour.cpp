// A library beside a program.
extern "C" int loom_test_neighbour() {
    return 1;
}
