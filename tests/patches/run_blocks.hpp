#pragma once

// The blocks of threads by which a GPU relaxes lines across patches, run for one thread after another.

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include <stratum/smoothers/patches/line_thread.hpp>

namespace test {

using stratum::LineNumbers;
using stratum::LineThread;
using stratum::PatchLineBlock;
using stratum::PatchLineBlocks;
using stratum::PatchLineLaunch;

template <class T, int nodes>
void run_block(const LineNumbers<T>& numbers, const PatchLineBlocks& blocks, const PatchLineBlock& block, int threads) {
  std::vector<T> memory(static_cast<std::size_t>(LineThread<T, nodes>::arrays) * static_cast<std::size_t>(threads),
                        std::numeric_limits<T>::quiet_NaN());
  std::vector<LineThread<T, nodes>> all;
  for (int k = 0; k < threads; ++k) all.emplace_back(numbers, blocks.pieces.data(), block, memory.data(), threads, k);
  for (auto& t : all) t.begin([] {});
  for (auto& t : all) t.assemble();
  for (auto& t : all) t.publish(0);
  int buffer = 0;
  for (int distance = 1; distance < all.front().distances(); distance *= 2, buffer = 1 - buffer)
    for (auto& t : all) t.reduce(distance, buffer);
  for (auto& t : all) t.solve(buffer);
  for (auto& t : all) t.correct(buffer);
}

template <class T>
void run_blocks(const LineNumbers<T>& numbers, const PatchLineBlocks& blocks, const PatchLineLaunch& phase) {
  for (int k = phase.blocks_begin; k < phase.blocks_end; ++k) {
    const auto& block = blocks.blocks[static_cast<std::size_t>(k)];
    // Threads that take pieces of rows load 16 bytes at once.
    for (int p = block.pieces_begin; block.lanes == 0 && p < block.pieces_begin + block.pieces; ++p) {
      const auto& piece = blocks.pieces[static_cast<std::size_t>(p)];
      const auto address = [&](const T* of) {
        return reinterpret_cast<std::uintptr_t>(of + piece.first[0] + block.first_line * piece.across);
      };
      EXPECT_EQ(address(numbers.b) % 16, 0U);
      EXPECT_EQ(address(numbers.a.excess) % 16, 0U);
      EXPECT_EQ(piece.pitch[0] % 4, 0);
      EXPECT_EQ(block.step * piece.across % 4, 0);
    }
    if (phase.piece == 4) run_block<T, 4>(numbers, blocks, block, phase.threads);
    if (phase.piece == 8) run_block<T, 8>(numbers, blocks, block, phase.threads);
    if (phase.piece == 16) run_block<T, 16>(numbers, blocks, block, phase.threads);
  }
}

}  // namespace test
