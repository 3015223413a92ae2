// A session of ONNX Runtime inside of one node of another: it runs the model of an entry, on the CPU, with
// the options of the session around it.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "provider/fingerprint.h"
#include "provider/ort.h"

namespace isomer::provider {

// The option that marks sessions that the provider opens itself.
constexpr char kOwnSession[] = "isomer.own_session";

class InnerSession {
 public:
  // `like`: the options of the session around it. `library` "": the model has no kernels.
  InnerSession(const Ort& ort, const OrtSessionOptions* like, const std::filesystem::path& model,
               const std::filesystem::path& library);

  // Throws a Reason if it can't take the place of a graph with such inputs and outputs.
  void check_ports(const Fingerprint& graph) const;

  // The inputs and outputs of the node in whose place it runs, in their order.
  void bind(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);
  void run(OrtKernelContext* context) const;

 private:
  struct Output {
    std::string name;
    std::vector<std::int64_t> sizes;  // as the model declares them
    bool is_tensor = false;           // of numbers
  };
  std::vector<Output> outputs_of(const OrtSession* session) const;
  std::vector<std::string> names(std::size_t count,
                                 OrtStatus*(ORT_API_CALL* name)(const OrtSession*, std::size_t, OrtAllocator*,
                                                                char**) noexcept) const;
  void copy(const OrtValue* from, OrtKernelContext* context, std::size_t place) const;
  // A run's outputs: computed where the session around wants them, once a run has shown that they have the
  // size that the model declares. nullptr: the run makes them.
  std::vector<OrtValue*> places_of_outputs(OrtKernelContext* context) const;

  const Ort& ort_;
  Owned<OrtSession> session_;
  std::vector<std::string> required_, optional_;
  std::vector<Output> made_;
  // The node's values, and those of them that the session takes.
  std::vector<const char*> input_names_, output_names_;
  std::vector<std::size_t> input_places_;
  std::vector<const Output*> bound_;
  std::unique_ptr<std::atomic<bool>[]> has_declared_size_;
};

}  // namespace isomer::provider
