// Files in memory: which bytes of a mapped file are holes, zeros that need not be read, and which pages may
// leave memory again. So weights of hundreds of gigabytes are hashed and compared in little memory, and those
// of a sparse file in little time.
//
// Code that maps a file registers it here; other bytes are unknown and left alone. Holes are trusted as the
// file system reports them, like all bytes that are read: they are queried once, when the file is mapped, and
// checked in some places.
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
