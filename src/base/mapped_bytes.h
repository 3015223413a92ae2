// Files in memory: which bytes of a mapped file are holes, zeros that nobody needs to read, and which pages
// may leave memory again. So that weights of hundreds of gigabytes are hashed and compared in little memory,
// and those of a sparse file in little time.
//
// Who maps a file says so here; of all other bytes nothing is known, and nothing is done to them. That a hole
// is one is the file system's word, as all that is read is: it is asked once, when the file is mapped, and
// looked at in some places.
#pragma once

#include <cstddef>
#include <memory>

namespace isomer {

// The mapping of an open file of this size, for reading; null with errno if there is none. It may be closed
// then.
std::shared_ptr<const void> map_file(int descriptor, std::size_t size);

// How many bytes from here on lie in one hole of a mapped file, at most `size`.
std::size_t hole_at(const void* data, std::size_t size);

// The pages of a mapped file that lie inside leave this process's memory until they are read again.
void let_go(const void* data, std::size_t size);

// Whether these are the same bytes. Pages of files are let go on the way if there are many.
bool same_bytes(const void* a, const void* b, std::size_t size);

}  // namespace isomer
