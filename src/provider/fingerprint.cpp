#include "provider/fingerprint.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/blake2b.h"

namespace isomer::provider {
namespace {

// A digest of parts: each with its length, so that no two lists of parts are the same bytes.
class Parts {
 public:
  explicit Parts(std::string_view kind) { add(kind); }
  Parts& add(const void* data, std::size_t bytes) {
    digest_.add(&bytes, sizeof bytes).add(data, bytes);
    return *this;
  }
  Parts& add(std::string_view text) { return add(text.data(), text.size()); }
  Parts& add(std::int64_t number) { return add(&number, sizeof number); }
  std::string hex() const { return digest_.hex(); }

 private:
  Blake2b digest_;
};

// Domains whose operators are the runtime's own.
bool is_known_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain == "ai.onnx.ml" || domain == "com.microsoft";
}

class GraphDigest {
 public:
  GraphDigest(const Ort& ort, Fingerprint& out) : ort_(ort), api_(ort.api), out_(out) {}

  // `outer`: values of the graphs around it, by name.
  std::string digest(const OrtGraph* graph, std::map<std::string, std::string> values, bool is_main) {
    const Scope scope = initializers_of(graph);
    for (const auto& [name, hides] : scope) values.erase(name);
    Parts whole("graph");
    std::int64_t place = 0;
    std::set<std::string> inputs;
    for (const OrtValueInfo* input :
         ort_.list<OrtValueInfo>(api_.Graph_GetNumInputs, api_.Graph_GetInputs, graph)) {
      const std::string name = name_of(input);
      if (ort_.ask<bool>(api_.ValueInfo_IsConstantInitializer, input)) continue;
      Parts port("input");
      // Inside of a graph that an operator runs, inputs have their places, and names of no meaning.
      port.add(is_main ? std::string_view(name) : std::string_view()).add(place++);
      add_type(port, input);
      if (scope.contains(name)) port.add(initializer(scope.at(name)));
      whole.add(values[name] = port.hex());
      inputs.insert(name);
    }
    const auto nodes = ort_.list<OrtNode>(api_.Graph_GetNumNodes, api_.Graph_GetNodes, graph);
    std::set<std::string> made;
    for (const OrtNode* node : nodes) add_node(node, scope, values, made);
    whole.add(static_cast<std::int64_t>(nodes.size()));
    for (const OrtValueInfo* output :
         ort_.list<OrtValueInfo>(api_.Graph_GetNumOutputs, api_.Graph_GetOutputs, graph)) {
      const std::string name = name_of(output);
      whole.add(is_main ? std::string_view(name) : std::string_view()).add(value(output, scope, values));
      if (is_main && made.contains(name)) out_.outputs.insert(name);
    }
    if (is_main)
      std::ranges::set_intersection(read_, inputs, std::inserter(out_.used_inputs, out_.used_inputs.end()));
    return whole.hex();
  }

 private:
  using Values = std::map<std::string, std::string>;         // the digest of each value, by its name
  using Scope = std::map<std::string, const OrtValueInfo*>;  // the initializers of a graph

  std::string name_of(const OrtValueInfo* info) const {
    return ort_.ask<const char*>(api_.GetValueInfoName, info);
  }

  Scope initializers_of(const OrtGraph* graph) const {
    Scope out;
    for (const OrtValueInfo* info :
         ort_.list<OrtValueInfo>(api_.Graph_GetNumInitializers, api_.Graph_GetInitializers, graph))
      out.emplace(name_of(info), info);
    return out;
  }

  void add_shape(Parts& parts, const OrtTensorTypeAndShapeInfo* shape) const {
    parts.add(ort_.ask<ONNXTensorElementDataType>(api_.GetTensorElementType, shape));
    std::vector<std::int64_t> sizes(ort_.ask<std::size_t>(api_.GetDimensionsCount, shape));
    std::vector<const char*> names(sizes.size());
    ort_.check(api_.GetDimensions(shape, sizes.data(), sizes.size()));
    ort_.check(api_.GetSymbolicDimensions(shape, names.data(), names.size()));
    for (std::size_t k = 0; k < sizes.size(); ++k) parts.add(sizes[k]).add(std::string_view(names[k]));
  }

  void add_type(Parts& parts, const OrtValueInfo* info) const {
    const auto* type = ort_.ask<const OrtTypeInfo*>(api_.GetValueInfoTypeInfo, info);
    parts.add(ort_.ask<ONNXType>(api_.GetOnnxTypeFromTypeInfo, type));
    if (const auto* shape = ort_.ask<const OrtTensorTypeAndShapeInfo*>(api_.CastTypeInfoToTensorInfo, type))
      add_shape(parts, shape);
  }

  std::string tensor(const OrtValue* value) const {
    Parts parts("tensor");
    const auto shape = ort_.own(ort_.ask<OrtTensorTypeAndShapeInfo*>(api_.GetTensorTypeAndShape, value),
                                api_.ReleaseTensorTypeAndShapeInfo);
    add_shape(parts, shape.get());
    const auto count = ort_.ask<std::size_t>(api_.GetTensorShapeElementCount, shape.get());
    if (ort_.ask<ONNXTensorElementDataType>(api_.GetTensorElementType, shape.get()) ==
        ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
      for (std::size_t k = 0; k < count; ++k) {
        std::string text(ort_.ask<std::size_t>(api_.GetStringTensorElementLength, value, k), '\0');
        ort_.check(api_.GetStringTensorElement(value, text.size(), k, text.data()));
        parts.add(text);
      }
    } else if (count > 0) {
      parts.add(ort_.ask<const void*>(api_.GetTensorData, value),
                ort_.ask<std::size_t>(api_.GetTensorSizeInBytes, value));
    }
    return parts.hex();
  }

  std::string initializer(const OrtValueInfo* info) const {
    const auto* found = ort_.ask<const OrtValue*>(api_.ValueInfo_GetInitializerValue, info);
    if (!found) throw Reason("the weights '" + name_of(info) + "' are not shown to providers");
    return tensor(found);
  }

  // Weights are read when a node needs them: a graph may have more.
  const std::string& value(const OrtValueInfo* info, const Scope& scope, Values& values) {
    static const std::string kNone;
    if (!info) return kNone;  // an optional input that is left out
    const std::string name = name_of(info);
    if (name.empty()) return kNone;
    read_.insert(name);
    if (const auto known = values.find(name); known != values.end()) return known->second;
    const auto weights = scope.find(name);
    // Weights of a graph around this one: the runtime shows them as this graph's values, too.
    return values[name] = initializer(weights == scope.end() ? info : weights->second);
  }

  void add_attribute(Parts& parts, const OrtOpAttr* attribute, const std::string& where) const {
    const auto type = ort_.ask<OrtOpAttrType>(api_.OpAttr_GetType, attribute);
    const std::string name = ort_.ask<const char*>(api_.OpAttr_GetName, attribute);
    parts.add(name).add(type);
    if (type == ORT_OP_ATTR_GRAPH) return;  // shown apart
    if (type == ORT_OP_ATTR_TENSOR) {
      const auto found = ort_.own(ort_.ask<OrtValue*>(api_.OpAttr_GetTensorAttributeAsOrtValue, attribute),
                                  api_.ReleaseValue);
      parts.add(tensor(found.get()));
      return;
    }
    if (type == ORT_OP_ATTR_UNDEFINED)
      throw Reason(where + ": the attribute '" + name + "' is not shown to providers");
    std::size_t bytes = 0;
    if (OrtStatus* too_short = api_.ReadOpAttr(attribute, type, nullptr, 0, &bytes))
      api_.ReleaseStatus(too_short);
    std::vector<char> data(bytes);
    if (bytes > 0) ort_.check(api_.ReadOpAttr(attribute, type, data.data(), data.size(), &bytes));
    parts.add(data.data(), data.size());
  }

  void add_node(const OrtNode* node, const Scope& scope, Values& values, std::set<std::string>& made) {
    const std::string operation = ort_.ask<const char*>(api_.Node_GetOperatorType, node);
    const std::string domain = ort_.ask<const char*>(api_.Node_GetDomain, node);
    if (!is_known_domain(domain))
      throw UnknownOperator(domain + "." + operation + " is not ONNX Runtime's own operator");
    Parts parts("node");
    parts.add(operation).add(domain).add(ort_.ask<int>(api_.Node_GetSinceVersion, node));
    std::map<std::string, const OrtOpAttr*> attributes;
    for (const OrtOpAttr* attribute :
         ort_.list<OrtOpAttr>(api_.Node_GetNumAttributes, api_.Node_GetAttributes, node))
      attributes.emplace(ort_.ask<const char*>(api_.OpAttr_GetName, attribute), attribute);
    for (const auto& [name, attribute] : attributes) add_attribute(parts, attribute, operation);
    for (const OrtValueInfo* input :
         ort_.list<OrtValueInfo>(api_.Node_GetNumInputs, api_.Node_GetInputs, node))
      parts.add(value(input, scope, values));
    // Read here, so that they are known inside, by the names that they have there.
    for (const OrtValueInfo* input :
         ort_.list<OrtValueInfo>(api_.Node_GetNumImplicitInputs, api_.Node_GetImplicitInputs, node))
      value(input, scope, values);
    std::vector<const OrtGraph*> graphs(ort_.ask<std::size_t>(api_.Node_GetNumSubgraphs, node));
    std::vector<const char*> names(graphs.size());
    if (!graphs.empty()) ort_.check(api_.Node_GetSubgraphs(node, graphs.data(), graphs.size(), names.data()));
    std::map<std::string, const OrtGraph*> bodies;
    for (std::size_t k = 0; k < graphs.size(); ++k) bodies.emplace(names[k], graphs[k]);
    for (const auto& [name, body] : bodies) parts.add(name).add(digest(body, values, false));
    const std::string whole = parts.hex();
    std::int64_t place = 0;
    for (const OrtValueInfo* output :
         ort_.list<OrtValueInfo>(api_.Node_GetNumOutputs, api_.Node_GetOutputs, node)) {
      ++place;
      if (!output) continue;
      const std::string name = name_of(output);
      values[name] = Parts("output").add(whole).add(place).hex();
      made.insert(name);
    }
  }

  const Ort& ort_;
  const OrtApi& api_;
  Fingerprint& out_;
  std::set<std::string> read_;
};

}  // namespace

Fingerprint fingerprint_of(const Ort& ort, const OrtGraph* graph) {
  Fingerprint out;
  out.digest = GraphDigest(ort, out).digest(graph, {}, true);
  return out;
}

}  // namespace isomer::provider
