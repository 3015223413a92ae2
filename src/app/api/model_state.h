// The state behind a public Model, and how a runtime gets the model.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/api/errors.h"
#include "app/api/try_inputs.h"
#include "app/inputs/model_feeds.h"
#include "app/inputs/runtime_request.h"
#include "io/onnx/model.h"
#include "isomer/isomer.h"
#include "optimizer/search/trials.h"

namespace isomer::api {

// Which file it was, and when it was last written.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t written_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
  static FileStamp of(const std::filesystem::path& path);  // throws
};

struct Model::State {
  isomer::Model model;
  std::filesystem::path file = {};  // that it was read from, absolute; "": it was made here
  std::string given = {};           // the file as the user named it
  FileStamp stamp = {};
  std::vector<std::string> fixed = {};  // sizes that it was read at; none: as the file has it
  bool is_whole_file() const { return !file.empty() && fixed.empty(); }
};

// Throws if the file that it was read from is another one by now.
void check_file(const Model::State& state);

// The model as a file: its own, or one that goes with this object.
class RunnableFile {
 public:
  RunnableFile(const Model::State& state, const std::filesystem::path& scratch);
  std::filesystem::path path() const { return scratch_ ? scratch_->path() : file_; }
  ModelSource source() const { return ModelSource::file(path().string()); }

 private:
  std::filesystem::path file_;
  std::optional<ScratchModel> scratch_;
};

// A name whose neighbours may be written; the folder of temporary files if none is given.
std::filesystem::path scratch_name(const std::filesystem::path& folder);

RuntimeRequest request_of(const RuntimeOptions& options);

NamedTensors to_internal(const Tensors& tensors);  // throws, if a tensor is none
Tensors to_public(const NamedTensors& tensors);    // throws, if one is of strings
isomer::Clock internal_clock(Clock clock);
Interval to_public(const isomer::Interval& interval);
double checked_seconds(double seconds);  // throws, if that is no time

constexpr double kSecondsOfInputs = 60;  // to look for inputs that run

inline bool has_feeds(const Inputs& inputs) { return inputs.feeds || !inputs.file.empty(); }
inline bool guesses_sizes(const Inputs& inputs) { return inputs.sizes.empty() && !has_feeds(inputs); }

// Inputs for models that have the same. Made-up ones are tried: the first model must run on them.
FeedsForModels feeds_of(const Inputs& inputs, const Run& run, const std::vector<Model>& models,
                        double seconds = kSecondsOfInputs);
// The same without a runtime: made-up ones are not tried.
FeedsForModels untried_feeds(const Inputs& inputs, const std::vector<Model>& models);

}  // namespace isomer::api
