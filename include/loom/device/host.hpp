// dCUDA's host interface: one device a process. Processes are started by `loom run`, mpirun or srun; alone a program
// has one device.
#pragma once

#include <cstddef>
#include <vector>

#include "loom/device/job.hpp"

using dcuda_host_context_handle = struct dcuda_host_context*;

// Finds out how many ranks the kernel gets, and waits until all processes have come. Throws loom::Error, as all of
// them.
void dcuda_host_init(int argc, char* argv[], dcuda_host_context_handle* ctx, dcuda_kernel_t kernel,
                     int threads_per_rank);
void dcuda_host_get_rank_info(dcuda_host_context_handle ctx, dcuda_rank_info* info);
// Copies the data to the device, runs the kernel to its end while it serves it, and copies the data back. Answers the
// kernel's milliseconds.
double dcuda_host_run(dcuda_host_context_handle ctx, void* gpu_data = nullptr, std::size_t gpu_size = 0);
// What each dcuda_stop_cpu_timer measured, in milliseconds.
std::vector<double> dcuda_host_get_timings(dcuda_host_context_handle ctx);
void dcuda_host_finish(dcuda_host_context_handle ctx);

// Instead of cudaMalloc and cudaMemcpy, on both back ends. Freed by dcuda_host_finish at last.
void* dcuda_malloc(dcuda_host_context_handle ctx, std::size_t bytes);
void dcuda_to_device(dcuda_host_context_handle ctx, void* to, const void* from, std::size_t bytes);
void dcuda_from_device(dcuda_host_context_handle ctx, void* to, const void* from, std::size_t bytes);
