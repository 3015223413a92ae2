// Descriptor: an open file that closes itself, and which file it is.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace isomer::wire {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Two names are one file iff these agree.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
inline FileIdentity identity(const struct stat& status) { return {status.st_dev, status.st_ino}; }

}  // namespace isomer::wire
