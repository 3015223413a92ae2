// consumer MODEL.onnx OUT.onnx [runtime]
// Rewrites a model by the analytic cost, which needs no runtime, and proves the result equal in two ways.
// With "runtime": also runs both on ONNX Runtime and compares.
#include <isomer/isomer.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace api = isomer::api;

// A tensor of ones for every input; the sizes must be numbers.
api::Tensors ones_for(const api::Model& model) {
  api::Tensors feeds;
  for (const api::Port& port : api::inspect(model).inputs) {
    api::Tensor tensor{.type = api::ElementType::Float};
    std::size_t count = 1;
    for (const std::string& extent : port.shape.value()) {
      tensor.shape.push_back(std::stoll(extent));
      count *= static_cast<std::size_t>(tensor.shape.back());
    }
    const std::vector<float> ones(count, 1);
    tensor.bytes.resize(count * sizeof(float));
    std::memcpy(tensor.bytes.data(), ones.data(), tensor.bytes.size());
    feeds.emplace(port.name, std::move(tensor));
  }
  return feeds;
}

double largest_difference(const api::Tensors& a, const api::Tensors& b) {
  double largest = 0;
  for (const auto& [name, tensor] : a) {
    const api::Tensor& other = b.at(name);
    for (std::size_t i = 0; i + sizeof(float) <= tensor.bytes.size(); i += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, tensor.bytes.data() + i, sizeof x);
      std::memcpy(&y, other.bytes.data() + i, sizeof y);
      largest = std::max(largest, std::abs(double{x} - double{y}));
    }
  }
  return largest;
}

int consume(const char* in, const char* out, bool on_runtime) {
  std::cout << "isomer " << api::version() << '\n';
  const api::Model model = api::load(in);
  std::cout << api::inspect(model).nodes << " nodes\n";

  api::OptimizeOptions options;
  options.judge = api::Judge::Cost;
  options.seconds = 60;
  const api::Optimized found = api::optimize(model, options);
  if (found.result != api::Optimized::Result::Improved) {
    std::cout << "unchanged: " << found.reason << '\n';
    return 1;
  }
  api::save(found.model, out);
  std::cout << api::inspect(found.model).nodes << " nodes in " << out << '\n';

  const api::Model written = api::load(out);
  const api::Checked checked = api::check(model, written, found.certificate);
  const api::Proof proof = api::prove_equal(model, written);
  std::cout << "check: " << (checked.accepted ? "accepted" : checked.reason) << '\n'
            << "prove: " << (proof.verdict == api::Verdict::Proved ? "equal" : proof.why) << '\n';
  if (!checked.accepted || proof.verdict != api::Verdict::Proved) return 1;

  if (on_runtime) {
    const api::Tensors feeds = ones_for(model);
    const api::RunOptions runtime{.engine = api::Engine::Runtime};
    const double apart =
        largest_difference(api::run(model, feeds, runtime), api::run(found.model, feeds, runtime));
    std::cout << "on the runtime: " << apart << " apart\n";
    if (!(apart < 1e-3)) return 1;
  }

  try {
    api::load(std::string(in) + ".missing");
  } catch (const api::Error& error) {
    std::cout << "as expected: " << error.what() << '\n';
    return 0;
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: consumer MODEL.onnx OUT.onnx [runtime]\n";
    return 2;
  }
  try {
    return consume(argv[1], argv[2], argc > 3 && std::string_view(argv[3]) == "runtime");
  } catch (const api::Error& error) {
    std::cerr << "consumer: " << error.what() << '\n';
    return 2;
  }
}
