#include "io/onnx/read_scope.h"

#include <fmt/format.h>

#include "io/onnx/read_bodies.h"
#include "io/onnx/read_text.h"

namespace isomer::wire {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// The names visible at one point of the walk, each with the depth at which it is defined. Leaving a body
// forgets what it defined. A sorted map: names are the attacker's, and hash tables can be made slow.
class Scope {
 public:
  static constexpr int kNowhere = -1;

  int depth() const { return static_cast<int>(marks_.size()) - 1; }
  void enter() { marks_.push_back(undo_.size()); }
  void leave() {
    for (; undo_.size() > marks_.back(); undo_.pop_back()) {
      const auto& [name, depth] = undo_.back();
      if (depth == kNowhere) depth_of_.erase(name);
      else depth_of_[name] = depth;
    }
    marks_.pop_back();
  }
  int depth_of(std::string_view name) const {
    const auto found = depth_of_.find(name);
    return found == depth_of_.end() ? kNowhere : found->second;
  }
  void define(std::string_view name) {
    undo_.emplace_back(name, depth_of(name));
    depth_of_[name] = depth();
  }

 private:
  std::map<std::string_view, int> depth_of_;
  std::vector<std::pair<std::string_view, int>> undo_;
  std::vector<std::size_t> marks_;
};

class NameWalk {
 public:
  explicit NameWalk(const NodeContext& context) : context_(context) {}

  Status enter(const onnx::GraphProto& graph);
  Status enter(const onnx::FunctionProto& function);
  Status run();
  Captures take_captures() { return std::move(captures_); }

 private:
  struct Frame {
    const Nodes* nodes = nullptr;
    std::vector<std::string_view> outputs;
    int node = 0;
    std::vector<const onnx::GraphProto*> bodies = {};  // of the current node
    std::size_t body = 0;                              // the next of them
    bool has_begun = false;                            // the current node's inputs are checked
  };

  Status use(std::string_view name, const std::string& reader);
  Status begin(Frame& frame, const onnx::NodeProto& node);
  Status end(const onnx::NodeProto& node);
  Status finish(const Frame& frame);

  const NodeContext& context_;
  Scope scope_;
  std::vector<Frame> frames_;
  Captures captures_;
};

Status NameWalk::enter(const onnx::GraphProto& graph) {
  scope_.enter();
  for (const auto& input : graph.input()) {
    if (input.name().empty())
      return Error{fmt::format("graph {} has an input without a name", shown(graph.name()))};
    ISOMER_TRY_DO(check_name(input.name(), "graph input"));
    if (scope_.depth_of(input.name()) == scope_.depth()) {
      return Error{fmt::format("graph {} has two inputs {}", shown(graph.name()), shown(input.name()))};
    }
    scope_.define(input.name());
  }
  std::set<std::string_view> initializers;
  const auto define = [&](const std::string& name) -> Status {
    if (name.empty())
      return Error{fmt::format("graph {} has an initializer without a name", shown(graph.name()))};
    ISOMER_TRY_DO(check_name(name, "initializer"));
    if (!initializers.insert(name).second)
      return Error{fmt::format("there are two initializers {}", shown(name))};
    // One that is an input already gives that input its default.
    if (scope_.depth_of(name) != scope_.depth()) scope_.define(name);
    return Done{};
  };
  for (const auto& tensor : graph.initializer()) ISOMER_TRY_DO(define(tensor.name()));
  for (const auto& tensor : graph.sparse_initializer()) ISOMER_TRY_DO(define(tensor.values().name()));
  Frame frame{&graph.node(), {}};
  for (const auto& output : graph.output()) frame.outputs.emplace_back(output.name());
  frames_.push_back(std::move(frame));
  return Done{};
}

Status NameWalk::enter(const onnx::FunctionProto& function) {
  scope_.enter();
  for (const std::string& input : function.input()) {
    ISOMER_TRY_DO(check_name(input, "function input"));
    if (input.empty() || scope_.depth_of(input) == scope_.depth()) {
      return Error{fmt::format("has two inputs {}, or one without a name", shown(input))};
    }
    scope_.define(input);
  }
  frames_.push_back({&function.node(), {function.output().begin(), function.output().end()}});
  return Done{};
}

Status NameWalk::use(std::string_view name, const std::string& reader) {
  const int depth = scope_.depth_of(name);
  if (depth == Scope::kNowhere) {
    return Error{fmt::format(
        "{} reads {}, which nothing before it defines: a missing node, a cycle, or nodes that are not "
        "in topological order",
        reader, shown(name))};
  }
  if (depth == 0 && frames_.size() > 1) captures_[frames_.front().node].insert(name);
  return Done{};
}

Status NameWalk::begin(Frame& frame, const onnx::NodeProto& node) {
  ISOMER_TRY_DO(check_node(node, context_));
  for (const std::string& input : node.input()) {
    if (input.empty() || scope_.depth_of(input) == scope_.depth()) continue;  // absent; the ordinary case
    if (const auto used = use(input, describe(node)); !used.ok())
      return Error{used.error().message, printable(node.name())};
  }
  frame.bodies = bodies_of(node);
  frame.body = 0;
  frame.has_begun = true;
  return Done{};
}

Status NameWalk::end(const onnx::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    ISOMER_TRY_DO(check_name(output, "value"));
    // ONNX's single static assignment holds across bodies: an output may not hide an outer name either.
    if (scope_.depth_of(output) != Scope::kNowhere) {
      return fault(node, fmt::format("defines {}, which is defined already", shown(output)));
    }
    scope_.define(output);
  }
  return Done{};
}

Status NameWalk::finish(const Frame& frame) {
  for (const std::string_view output : frame.outputs) {
    if (scope_.depth_of(output) == Scope::kNowhere) {
      return Error{fmt::format("output {} is defined by no node, input or initializer", shown(output))};
    }
    ISOMER_TRY_DO(use(output, "an output"));
  }
  scope_.leave();
  return Done{};
}

Status NameWalk::run() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.node == frame.nodes->size()) {
      ISOMER_TRY_DO(finish(frame));
      frames_.pop_back();
      continue;
    }
    const onnx::NodeProto& node = frame.nodes->Get(frame.node);
    if (!frame.has_begun) ISOMER_TRY_DO(begin(frame, node));
    if (frame.body < frame.bodies.size()) {
      ISOMER_TRY_DO(enter(*frame.bodies[frame.body++]));  // `frame` may have moved after this
      continue;
    }
    ISOMER_TRY_DO(end(node));
    ++frame.node;
    frame.has_begun = false;
  }
  return Done{};
}

}  // namespace

Result<Captures> check_graph_names(const onnx::GraphProto& graph, const NodeContext& context) {
  NameWalk walk(context);
  ISOMER_TRY_DO(walk.enter(graph));
  ISOMER_TRY_DO(walk.run());
  return walk.take_captures();
}

Status check_function_names(const onnx::FunctionProto& function, const NodeContext& context) {
  NameWalk walk(context);
  ISOMER_TRY_DO(walk.enter(function));
  return walk.run();
}

}  // namespace isomer::wire
