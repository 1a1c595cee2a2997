// One zone of Tracy's client: tracy_cost COUNT THREADS. Without a viewer that connects, "on demand" records nothing.
#include "public/tracy/Tracy.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static void run(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        ZoneScopedN("interval");
        __asm__ volatile("" ::: "memory");
    }
}

int main(int, char **argv)
{
    unsigned long count = std::strtoul(argv[1], nullptr, 10);
    int threads = std::atoi(argv[2]);
    run(count / 100);
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++)
        workers.emplace_back(run, count);
    for (auto &worker : workers)
        worker.join();
    std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    std::printf("interval_ns %.3f\n", took.count() / (double)count / threads);
    std::fflush(stdout);
    std::_Exit(0);
}
