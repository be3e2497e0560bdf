#pragma once

// The memory that the host can still provide: the least of the free or reclaimable memory, the limits of control groups
// (versions 1 and 2, every group from the process's own up to the root; file pages that can be dropped count as free) and the
// shell's limits (ulimit -v and -d). The system kills a process that exceeds any of them.

#include <cstdint>
#include <string>

namespace stratum {

/// Bytes. `proc` and `groups` are where the system shows them; tests give folders of their own.
[[nodiscard]] std::int64_t available_host_memory(const std::string& proc = "/proc",
                                                 const std::string& groups = "/sys/fs/cgroup");

}  // namespace stratum
