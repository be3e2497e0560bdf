#include <stratum/core/device/memory_limits.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

#include <stratum/core/errors.hpp>

namespace stratum {

namespace {

constexpr auto unlimited = std::numeric_limits<std::int64_t>::max();

/// The number behind `key` in a file of lines "KEY NUMBER"; without a key the number that the file holds. Empty where there is
/// none, as in "max".
std::optional<std::int64_t> number_in(const std::string& path, const std::string& key = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    std::int64_t number = 0;
    if (rest >> number) return number;
    return std::nullopt;
  }
  return std::nullopt;
}

/// The names that the two versions have for the same.
struct GroupFiles {
  const char *limit, *soft_limit, *used, *droppable;
};
constexpr GroupFiles version_1{"memory.limit_in_bytes", "", "memory.usage_in_bytes", "total_inactive_file "};
constexpr GroupFiles version_2{"memory.max", "memory.high", "memory.current", "inactive_file "};

std::int64_t left_in_group(const std::string& folder, const GroupFiles& files) {
  std::int64_t limit = number_in(folder + "/" + files.limit).value_or(unlimited);
  if (*files.soft_limit != '\0')
    limit = std::min(limit, number_in(folder + "/" + files.soft_limit).value_or(unlimited));
  if (limit == unlimited) return unlimited;
  const auto used = number_in(folder + "/" + files.used).value_or(0);
  const auto droppable = number_in(folder + "/memory.stat", files.droppable).value_or(0);
  return std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used - droppable));
}

/// Of the group at `path` below `root` and all above it. A container may see its own group as the root.
std::int64_t left_in_groups(const std::string& root, std::string path, const GroupFiles& files) {
  std::int64_t least = left_in_group(root, files);
  while (path.size() > 1) {
    least = std::min(least, left_in_group(root + path, files));
    path = path.substr(0, path.rfind('/'));
  }
  return least;
}

std::int64_t left_by_groups(const std::string& proc, const std::string& groups) {
  std::int64_t least = unlimited;
  std::ifstream file(proc + "/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // NUMBER:CONTROLLERS:PATH
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = message(",", line.substr(first + 1, second - first - 1), ","),
                      path = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, left_in_groups(groups, path, version_2));
    if (controllers.find(",memory,") != std::string::npos)
      least = std::min(least, left_in_groups(groups + "/memory", path, version_1));
  }
  return least;
}

std::int64_t left_by_shell(const std::string& proc) {
  const auto left = [&proc](int resource, const std::string& used) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
      return unlimited;
    const std::int64_t kib = number_in(proc + "/self/status", used).value_or(0);
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - 1024 * kib);
  };
  return std::min(left(RLIMIT_AS, "VmSize:"), left(RLIMIT_DATA, "VmData:"));
}

}  // namespace

std::int64_t available_host_memory(const std::string& proc, const std::string& groups) {
  // Free pages alone, which sysconf knows, would leave out the page cache.
  const auto kib = number_in(proc + "/meminfo", "MemAvailable:");
  const std::int64_t there = kib ? *kib * 1024 : std::int64_t{sysconf(_SC_AVPHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return std::min({there, left_by_groups(proc, groups), left_by_shell(proc)});
}

}  // namespace stratum
