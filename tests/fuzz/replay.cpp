// Runs a fuzz target on the files named on the command line and in the directories named there.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "target.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int k = 1; k < argc; ++k)
    if (fs::is_directory(argv[k]))
      std::copy(fs::directory_iterator(argv[k]), {}, std::back_inserter(files));
    else
      files.emplace_back(argv[k]);
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::printf("%s\n", file.c_str());
    (void)std::fflush(stdout);
    std::ifstream in(file, std::ios::binary);
    require(in.good(), "the file can be read");
    const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
    const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
    (void)LLVMFuzzerTestOneInput(data.data(), data.size());
  }
  return files.empty() ? 1 : 0;
}
