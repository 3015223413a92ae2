// What a Worker keeps; only worker*.cpp include this.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/child.h"
#include "runtime/requests.h"
#include "runtime/shared_tensors.h"
#include "runtime/worker.h"

namespace isomer {

// A folder that is removed with its owner: for workers that can have no file system of their own.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failure;
    std::string name = (std::filesystem::temp_directory_path(failure) / "isomer-XXXXXX").string();
    if (::mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code failure;
    if (!path_.empty()) std::filesystem::remove_all(path_, failure);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct SharedFeeds::State {
  SharedTensors tensors;
};

struct Worker::State {
  WorkerOptions options;
  std::unique_ptr<TemporaryFolder> scratch;
  Descriptor socket;
  std::unique_ptr<Child> child;
  std::string runtime, version;
  NetworkGuard guard = NetworkGuard::None;
  std::int64_t runtime_ns = 0;

  Outcome<Done> send(const Json& request, const std::vector<int>& files = {});
  Outcome<Message> receive();
  Outcome<Message> call(const Json& request, const std::vector<int>& files = {});
  Failure bury(Failure otherwise);
};

}  // namespace isomer
