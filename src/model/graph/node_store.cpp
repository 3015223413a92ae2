#include "model/graph/node_store.h"

#include <algorithm>
#include <bit>

#include "model/graph/content.h"

namespace isomer {

NodeStore::Place NodeStore::place(NodeId id) {
  const std::uint64_t shifted = std::uint64_t{id} + (1u << kFirstBits);
  const auto bit = static_cast<unsigned>(std::bit_width(shifted)) - 1;
  return {bit - kFirstBits, static_cast<std::size_t>(shifted - (std::uint64_t{1} << bit))};
}

const Node& NodeStore::operator[](NodeId id) const {
  ISOMER_CHECK(id < size_.load(std::memory_order_acquire), "no such node");
  const auto [chunk, offset] = place(id);
  return chunks_[chunk][offset];
}

NodeId NodeStore::append(Node node) {
  const std::size_t size = size_.load(std::memory_order_relaxed);
  const auto id = static_cast<NodeId>(size);
  const auto [chunk, offset] = place(id);
  ISOMER_CHECK(chunk < kChunks, "more nodes than ids");
  if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<Node[]>(std::size_t{1} << (chunk + kFirstBits));
  chunks_[chunk][offset] = std::move(node);
  size_.store(size + 1, std::memory_order_release);
  return id;
}

NodeId NodeStore::intern(Node node) {
  const bool acts = std::ranges::all_of(node.outputs, [](const std::string& name) { return name.empty(); });
  const Digest digest = content_digest(node);
  const std::scoped_lock lock(appending_);
  if (acts) return append(std::move(node));
  const auto [begin, end] = by_content_.equal_range(digest);
  for (auto at = begin; at != end; ++at)
    if (same_content((*this)[at->second], node)) return at->second;
  const NodeId id = append(std::move(node));
  by_content_.emplace(digest, id);
  return id;
}

}  // namespace isomer
