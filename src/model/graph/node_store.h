// NodeStore: the append-only memory of nodes that graphs share. Equal nodes are one.
//
// Appending takes a lock; reading takes none and never moves: a chunk of nodes stays where it was made. Nodes
// refer to each other by number, so that the longest chain is destroyed without recursion.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/hash.h"
#include "model/graph/graph.h"

namespace isomer {

class NodeStore {
 public:
  // The id of the node with this content, appended if there is none yet.
  NodeId intern(Node node);
  const Node& operator[](NodeId id) const;

 private:
  // Chunk k holds 2^(k + kFirstBits) nodes: a small graph costs little, a large one few chunks.
  static constexpr unsigned kFirstBits = 4;
  static constexpr unsigned kChunks = 28;
  struct Place {
    unsigned chunk;
    std::size_t offset;
  };
  static Place place(NodeId id);
  NodeId append(Node node);

  std::array<std::unique_ptr<Node[]>, kChunks> chunks_;
  std::atomic<std::size_t> size_ = 0;  // raised after the node is in place
  std::mutex appending_;
  std::unordered_multimap<Digest, NodeId> by_content_;
};

}  // namespace isomer
