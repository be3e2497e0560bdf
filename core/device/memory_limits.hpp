#pragma once

// How much memory the host may still give: the least of what is free or reclaimable, what control groups leave (versions 1 and
// 2, every group from the process's own up to the root; pages of files that can be dropped count as free) and what the shell's
// limits leave (ulimit -v and -d). Going beyond any of them ends in a process that is killed.

#include <cstdint>
#include <string>

namespace stratum {

/// Bytes. `proc` and `groups` are where the system shows them; tests give folders of their own.
[[nodiscard]] std::int64_t available_host_memory(const std::string& proc = "/proc",
                                                 const std::string& groups = "/sys/fs/cgroup");

}  // namespace stratum
