// The state of a Worker; only worker*.cpp include this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "runtime/worker/child.h"
#include "runtime/worker/requests.h"
#include "runtime/worker/shared_tensors.h"
#include "runtime/worker/worker.h"

namespace isomer {

struct SharedFeeds::State {
  SharedTensors tensors;
};

struct Worker::State {
  WorkerOptions options;
  std::unique_ptr<TemporaryFolder> scratch;  // for workers that can have no file system of their own
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
