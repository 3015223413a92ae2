// The content of a node, as a digest and as an equality: the key of hash-consing, and the parts of it that
// the canonical hash and the interpreter's cache of programs share.
//
// Small tensors count by their elements; large ones by the address of their bytes, so that eight gigabytes of
// mapped weights are never read. A digest with an address is valid only as long as those bytes are kept
// alive.
#pragma once

#include "base/hash.h"
#include "model/graph/graph.h"

namespace isomer {

// Transform matrices, biases, shapes and similar small constants: a page is read in a microsecond.
constexpr std::size_t kSmallTensorBytes = 4096;

bool is_small(const Tensor& tensor);

enum class ContentDigests : std::uint8_t {
  Identity,  // large tensors by the place of their bytes
  Full,      // large tensors by their elements: reads every byte
};

void add_content(Hasher& hasher, const Tensor& tensor, ContentDigests digests = ContentDigests::Identity);
void add_content(Hasher& hasher, const Attributes& attributes,
                 ContentDigests digests = ContentDigests::Identity);
void add_content(Hasher& hasher, const DeclaredType& type);
void add_content(Hasher& hasher, const Dim& dim);
Digest content_digest(const Node& node);

bool same_content(const Tensor& a, const Tensor& b);
bool same_content(const Attributes& a, const Attributes& b);
bool same_content(const Node& a, const Node& b);

}  // namespace isomer
