// A collective under way, and one kept to be started again.
#pragma once

namespace loom::coll {

class Execution;  // of a plan; private

// Move-only. A request that is destroyed while its operation is pending waits for it first and says so on standard
// error: buffers would otherwise be written after their end. detach() is the way to not wait.
class [[nodiscard]] Request {
public:
    Request() = default;  // finished
    Request(Request&& other) noexcept;
    Request& operator=(Request&& other) noexcept;
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    ~Request();

    // Moves everything forward; true when this operation is finished. Throws transport::RankLost.
    [[nodiscard]] bool test();
    void wait();
    // Whether it is finished, without moving anything forward.
    [[nodiscard]] bool finished() const;
    // The operation goes on by itself (with progress of others); buffers must live until then.
    void detach();

    explicit Request(Execution* execution) : execution_(execution) {}

private:
    Execution* execution_ = nullptr;
};

// Move-only; must not be destroyed while started. start() costs the first messages and nothing else.
class [[nodiscard]] Persistent {
public:
    Persistent(Persistent&& other) noexcept;
    Persistent& operator=(Persistent&& other) noexcept;
    ~Persistent();

    void start();
    [[nodiscard]] bool test();
    void wait();
    [[nodiscard]] bool finished() const;

    explicit Persistent(Execution* execution) : execution_(execution) {}

private:
    Execution* execution_ = nullptr;
};

}  // namespace loom::coll
