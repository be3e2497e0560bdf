#include <stratum/core/device/memory_limits.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

#include <stratum/core/device/context.hpp>

namespace {

using namespace stratum;

/// A system of one's own.
class MemoryLimits : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("stratum_limits_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    write("proc/meminfo", "MemTotal: 2000 kB\nMemAvailable:    1000 kB\n");
    write("proc/self/cgroup", "");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  [[nodiscard]] std::int64_t available() const { return available_host_memory(folder_ / "proc", folder_ / "groups"); }
  std::filesystem::path folder_;
};

TEST_F(MemoryLimits, WithoutGroupsItIsWhatTheSystemHas) { EXPECT_EQ(available(), 1000 * 1024); }

TEST_F(MemoryLimits, OfTheGroupsOfVersionTwoTheTightestHolds) {
  write("proc/self/cgroup", "0::/batch/job\n");
  write("groups/batch/job/memory.max", "max\n");
  write("groups/batch/job/memory.current", "5000\n");
  EXPECT_EQ(available(), 1000 * 1024);
  write("groups/batch/memory.max", "100000\n");
  write("groups/batch/memory.current", "70000\n");
  EXPECT_EQ(available(), 30000);
  write("groups/batch/memory.stat", "anon 40000\ninactive_file 20000\nactive_file 10000\n");
  EXPECT_EQ(available(), 50000) << "what can be dropped is free";
  write("groups/batch/job/memory.high", "15000\n");
  EXPECT_EQ(available(), 10000);
  // A container sees its own group as the root.
  write("proc/self/cgroup", "0::/\n");
  write("groups/memory.max", "4096\n");
  write("groups/memory.current", "8192\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(MemoryLimits, GroupsOfVersionOne) {
  write("proc/self/cgroup", "12:cpu,cpuacct:/a\n5:memory:/docker/abc\n");
  write("groups/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 1000 * 1024);
  write("groups/memory/docker/abc/memory.limit_in_bytes", "100000\n");
  write("groups/memory/docker/abc/memory.usage_in_bytes", "60000\n");
  write("groups/memory/docker/abc/memory.stat", "cache 5\ninactive_file 1\ntotal_inactive_file 10000\n");
  EXPECT_EQ(available(), 50000);
}

TEST_F(MemoryLimits, TheShellsLimitHolds) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{std::size_t{1} << 40, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  write("proc/self/status", "VmSize:  1073741823 kB\nVmData: 3 kB\n");
  EXPECT_EQ(available(), 1024);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(AvailableMemory, IsSomething) {
  EXPECT_GT(available_memory(Context(Backend::cpu, 1)), std::int64_t{1} << 20);
  EXPECT_LE(available_memory(Context(Backend::cpu, 1)), std::int64_t{1} << 50);
}

}  // namespace
