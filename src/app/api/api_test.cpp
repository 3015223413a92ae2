// The public interface, in C++ and in C: what it refuses, and that its answers are those of the parts.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "isomer/isomer.h"
#include "isomer/isomer_c.h"
#include "runtime/judge/testing.h"

namespace isomer::api {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTwice = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  twice (float[N, 3] x) => (float[N, 3] y) { a = Identity(x) b = Identity(a) y = Relu(b) })";
constexpr std::string_view kOther = R"(
  <ir_version: 8, opset_import: ["" : 17]>
  other (float[N, 3] x) => (float[N, 3] y) { a = Neg(x) y = Relu(a) })";

Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  Tensor tensor{.type = ElementType::Float, .shape = std::move(shape)};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

template <class Function>
ErrorKind kind_of(const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    EXPECT_STRNE(e.what(), "");
    return e.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::Internal;
}

OptimizeOptions by_cost() {
  OptimizeOptions options;
  options.judge = Judge::Cost;
  return options;
}

class ApiTest : public ::testing::Test {
 protected:
  const isomer::testing::TemporaryFolder& folder() const { return folder_; }

 private:
  isomer::testing::TemporaryFolder folder_;  // before the models, which are written into it

 protected:
  const std::string twice_ = folder_.model("twice.onnx", kTwice),
                    relu_ = folder_.model("relu.onnx", isomer::testing::kRelu);
};

TEST_F(ApiTest, AModelThatWasOnlyLoadedIsSavedByteByByte) {
  save(load(relu_), folder() / "copy.onnx");
  const auto bytes = [](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(bytes(relu_), bytes(folder() / "copy.onnx"));
}

TEST_F(ApiTest, AModelInMemoryIsTheOneInItsFile) {
  const Model loaded = load(twice_), parsed = parse(serialize(loaded));
  EXPECT_EQ(prove_equal(loaded, parsed).verdict, Verdict::Proved);
  EXPECT_EQ(inspect(parsed).nodes, inspect(loaded).nodes);
  const Optimized found = optimize(parsed, by_cost());
  EXPECT_EQ(found.result, Optimized::Result::Improved);
  EXPECT_EQ(inspect(parse(serialize(found.model))).nodes, 1U);
  std::vector<std::byte> torn = serialize(loaded);
  torn.resize(torn.size() / 2);
  EXPECT_EQ(kind_of([&] { parse(torn); }), ErrorKind::BadInput);
  EXPECT_EQ(kind_of([&] { parse({}, {.sizes = {"N=2"}}); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, AFileThatChangedSinceItWasLoadedIsRefused) {
  const std::string path = folder().model("changing.onnx", kTwice);
  const Model model = load(path);
  fs::remove(path);
  folder().model("changing.onnx", isomer::testing::kRelu);
  EXPECT_EQ(kind_of([&] { save(model, folder() / "out.onnx"); }), ErrorKind::BadInput);
  EXPECT_EQ(inspect(model).nodes, 3U);  // what needs no file is still known
}

TEST_F(ApiTest, AMissingFileIsAnErrorOfTheInput) {
  EXPECT_EQ(kind_of([&] { load(folder() / "missing.onnx"); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, InspectTellsShapesAndNodes) {
  const Inspection seen = inspect(load(relu_));
  ASSERT_EQ(seen.inputs.size(), 1U);
  EXPECT_EQ(seen.inputs[0].name, "x");
  EXPECT_EQ(seen.inputs[0].type, ElementType::Float);
  EXPECT_EQ(seen.inputs[0].shape, (std::vector<std::string>{"N", "3"}));
  EXPECT_EQ(seen.opsets.at(""), 17);
  EXPECT_NE(seen.json.find("\"nodes\": 1"), std::string::npos);
}

TEST_F(ApiTest, AModelAtASizeIsAnotherModel) {
  const Model model = load(relu_, {.sizes = {"N=2"}});
  EXPECT_EQ(inspect(model).inputs[0].shape, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(kind_of([&] { run(model, {{"x", floats({1, 3}, {1, 2, 3})}}); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, RunComputesByTheFormulas) {
  const Tensors outputs = run(load(relu_), {{"x", floats({1, 3}, {-1, 0, 2})}});
  EXPECT_EQ(outputs.at("y").bytes, floats({1, 3}, {0, 0, 2}).bytes);
  EXPECT_EQ(outputs.at("y").shape, (std::vector<std::int64_t>{1, 3}));
}

TEST_F(ApiTest, TensorsThatAreNoneAreRefused) {
  const Model model = load(relu_);
  Tensor tensor = floats({1, 3}, {1, 2, 3});
  tensor.bytes.pop_back();
  EXPECT_EQ(kind_of([&] { run(model, {{"x", tensor}}); }), ErrorKind::BadInput);
  for (const int type : {-1, 0, 8, 29, 100, 257}) {
    tensor.type = static_cast<ElementType>(type);
    EXPECT_EQ(kind_of([&] { run(model, {{"x", tensor}}); }), ErrorKind::BadInput) << type;
  }
  EXPECT_EQ(kind_of([&] { run(model, {}); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, TensorsGoThroughAFile) {
  save_tensors({{"x", floats({2}, {1, 2})}}, folder() / "x.npz");
  EXPECT_EQ(load_tensors(folder() / "x.npz").at("x").bytes, floats({2}, {1, 2}).bytes);
}

TEST_F(ApiTest, NodesAndValuesAreListed) {
  const Structure found = structure(load(twice_), {"N=2"});
  ASSERT_EQ(found.nodes.size(), inspect(load(twice_)).nodes);
  std::set<std::string> known;
  for (const Port& value : found.values) known.insert(value.name);
  for (const GraphNode& node : found.nodes) {
    EXPECT_NE(node.op, "");
    for (const std::string& input : node.inputs) EXPECT_TRUE(known.contains(input)) << input;
    ASSERT_FALSE(node.outputs.empty());
    EXPECT_TRUE(known.contains(node.outputs[0]));
  }
  const auto x = std::ranges::find(found.values, "x", &Port::name);
  ASSERT_NE(x, found.values.end());
  EXPECT_EQ(x->shape, (std::vector<std::string>{"2", "3"}));
}

TEST_F(ApiTest, WhatOptimizeFindsIsCheckedAndProved) {
  const Model model = load(twice_);
  int told = 0;
  OptimizeOptions options = by_cost();
  options.run.progress = [&](std::string_view) { ++told; };
  const Optimized found = optimize(model, options);
  ASSERT_EQ(found.result, Optimized::Result::Improved) << found.reason;
  EXPECT_LT(inspect(found.model).nodes, 3U);
  EXPECT_EQ(found.after.nodes, inspect(found.model).nodes);
  EXPECT_EQ(found.before.nodes, inspect(model).nodes);
  EXPECT_FALSE(found.before.latency_ns) << "nothing was measured";
  ASSERT_FALSE(found.changes.empty());
  EXPECT_NE(found.changes[0].words, "");
  EXPECT_GE(found.changes[0].places, 1);
  EXPECT_GT(found.seconds, 0);
  save(found.model, folder() / "found.onnx");
  EXPECT_EQ(inspect(found.model).nodes, inspect(load(folder() / "found.onnx")).nodes);
  EXPECT_GT(told, 0);
  EXPECT_TRUE(check(model, found.model, found.certificate).accepted);
  EXPECT_FALSE(check(model, load(relu_), "no certificate").accepted);
  const Proof proof = prove_equal(model, found.model);
  EXPECT_EQ(proof.verdict, Verdict::Proved) << proof.why;
  EXPECT_TRUE(check(model, found.model, proof.certificate).accepted);
  // Nothing is left to do, so that the same model comes back.
  EXPECT_EQ(optimize(found.model, by_cost()).result, Optimized::Result::Unchanged);
}

TEST_F(ApiTest, AStopThatCameBeforeLeavesTheModelAsItWas) {
  std::stop_source stop;
  stop.request_stop();
  OptimizeOptions options = by_cost();
  options.run.stop = stop.get_token();
  const Optimized found = optimize(load(twice_), options);
  EXPECT_EQ(found.result, Optimized::Result::Unchanged);
  EXPECT_NE(found.reason, "");
  EXPECT_EQ(found.stopped_by, Optimized::StoppedBy::Interrupt);
}

TEST_F(ApiTest, WhatIsStoppedOnARuntimeGivesNothingBack) {
  std::stop_source stop;
  stop.request_stop();
  const Model model = load(twice_);
  const RunOptions there{.engine = Engine::Runtime, .stop = stop.get_token()};
  EXPECT_EQ(kind_of([&] { run(model, {{"x", floats({1, 3}, {1, 2, 3})}}, there); }), ErrorKind::Stopped);
  const CompareOptions apart{.inputs = {.sizes = {"N=2"}}, .run = {.stop = stop.get_token()}};
  EXPECT_EQ(kind_of([&] { compare(model, model, apart); }), ErrorKind::Stopped);
  const BenchOptions speed{.inputs = {.sizes = {"N=2"}}, .run = {.stop = stop.get_token()}};
  EXPECT_EQ(kind_of([&] { bench({model, model}, speed); }), ErrorKind::Stopped);
}

TEST_F(ApiTest, ModelsThatDifferAreRefutedWithAnInput) {
  const Model a = load(twice_, {.sizes = {"N=1"}});
  const Model b = load(folder().model("other.onnx", kOther), {.sizes = {"N=1"}});
  const Proof proof = prove_equal(a, b);
  ASSERT_EQ(proof.verdict, Verdict::Refuted);
  EXPECT_EQ(proof.certificate, "");
  ASSERT_EQ(proof.outputs.size(), 1U);
  EXPECT_EQ(proof.outputs[0].verdict, Verdict::Refuted);
  EXPECT_EQ(proof.outputs[0].a, proof.outputs[0].b);
  EXPECT_TRUE(proof.counterexample.contains("x"));
}

TEST_F(ApiTest, FromFileToFileBothAreWrittenOrNeither) {
  const OptimizeFiles files{.in = twice_, .out = folder() / "out.onnx"};
  const Optimized found = optimize_file(files, by_cost());
  ASSERT_EQ(found.result, Optimized::Result::Improved) << found.reason;
  const Checked checked = check_files(twice_, files.out, folder() / "out.onnx.cert");
  EXPECT_TRUE(checked.accepted) << checked.text;
  EXPECT_GT(explain(load_certificate(folder() / "out.onnx.cert")).steps, 0U);
  // There is no gain in what is done already.
  const OptimizeFiles again{.in = files.out, .out = folder() / "again.onnx", .require_gain = true};
  EXPECT_EQ(optimize_file(again, by_cost()).result, Optimized::Result::Unchanged);
  EXPECT_FALSE(fs::exists(again.out));
  EXPECT_EQ(kind_of([&] { optimize_file({.in = twice_, .out = twice_}, by_cost()); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, ANodeWithoutAMeaningIsNamed) {
  const Model model = load(folder().model("odd.onnx", R"(
    <ir_version: 8, opset_import: ["" : 17, "nobody" : 1]>
    odd (float[3] x) => (float[3] y) { y = nobody.Odd(x) })"));
  try {
    run(model, {{"x", floats({3}, {1, 2, 3})}});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const NotModelledError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::NotModelled);
    EXPECT_EQ(e.op(), "Odd");
    EXPECT_NE(e.reason(), "");
  }
}

TEST_F(ApiTest, ComparingSaysHowFarApartModelsAre) {
  const Model a = load(twice_), b = load(folder().model("other.onnx", kOther));
  const CompareOptions here{.engine = Engine::Reference, .inputs = {.sizes = {"N=2"}}};
  EXPECT_FALSE(compare(a, a, here).differ);
  const Comparison found = compare(a, b, here);
  EXPECT_TRUE(found.differ);
  ASSERT_EQ(found.outputs.size(), 1U);
  EXPECT_EQ(found.outputs[0].elements, 6U);
  EXPECT_GT(found.outputs[0].largest_absolute, 0);
  EXPECT_NE(found.json.find("first_parting"), std::string::npos);
}

TEST_F(ApiTest, RulesAreDecided) {
  std::ofstream(folder() / "some.rules") << "rule same\ngiven float[N] x\nleft { y = Relu(x) } => y\n"
                                            "right { y = Relu(x) } => y\n";
  const DecidedRules decided = prove_rules(folder() / "some.rules");
  ASSERT_EQ(decided.rules.size(), 1U);
  EXPECT_EQ(decided.rules[0].outcome, DecidedRule::Outcome::Proved);
  EXPECT_EQ(kind_of([&] { prove_rules(folder() / "none.rules"); }), ErrorKind::BadInput);
}

TEST_F(ApiTest, ACacheThatIsNotThereIsEmpty) {
  EXPECT_EQ(cache_state(folder() / "none.sqlite").entries, 0U);
  clear_cache(folder() / "none.sqlite");
  EXPECT_FALSE(fs::exists(folder() / "none.sqlite"));
}

TEST_F(ApiTest, OptionsThatNobodyKnowsAreRefused) {
  const Model model = load(relu_);
  const auto refused = [&](const auto& change) {
    OptimizeOptions options = by_cost();
    change(options);
    return kind_of([&] { optimize(model, options); }) == ErrorKind::BadInput;
  };
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.strategy = "magic"; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.without = {"nobody"}; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.run.runtime.name = "none"; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.run.runtime.optimization_level = "most"; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.seconds = -1; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.min_gain = 0.5; }));
  EXPECT_TRUE(refused([](OptimizeOptions& o) { o.inputs.sizes = {"M=3"}; }));
}

TEST_F(ApiTest, InCNothingIsThrownAndTheReasonIsSaid) {
  isomer_model* model = nullptr;
  EXPECT_EQ(isomer_load("/no/such/file", nullptr, 0, &model), ISOMER_BAD_INPUT);
  EXPECT_EQ(model, nullptr);
  EXPECT_STRNE(isomer_last_error(), "");
  EXPECT_EQ(isomer_load(nullptr, nullptr, 0, &model), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_save(nullptr, "x"), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_optimize(nullptr, nullptr, nullptr, nullptr, nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_bench(nullptr, 1, nullptr, nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_optimize_file("/no/such/file", "/no/such/place", nullptr, nullptr, nullptr),
            ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_compare(nullptr, nullptr, nullptr, nullptr, nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_compile(nullptr, "folder", nullptr, nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_explain("no certificate", nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_prove_rules("/no/such/file", nullptr), ISOMER_BAD_INPUT);
  EXPECT_EQ(isomer_tensors_at(nullptr, 0, nullptr), ISOMER_BAD_INPUT);
  isomer_model_free(nullptr);
  isomer_tensors_free(nullptr);
  isomer_string_free(nullptr);
}

TEST_F(ApiTest, InCOptionsOfOtherVersionsAreCompletedOrRefused) {
  isomer_model* model = nullptr;
  ASSERT_EQ(isomer_load(relu_.c_str(), nullptr, 0, &model), ISOMER_OK);
  isomer_prove_options options;
  isomer_prove_options_init(&options);
  isomer_verdict verdict = ISOMER_UNDECIDED;
  const auto prove = [&] {
    return isomer_prove_equal(model, model, &options, &verdict, nullptr, nullptr, nullptr);
  };
  options.certificate = nullptr;
  EXPECT_EQ(prove(), ISOMER_OK) << isomer_last_error();
  EXPECT_EQ(verdict, ISOMER_PROVED);
  options.struct_size = offsetof(isomer_prove_options, certificate);  // all that an older one knew
  EXPECT_EQ(prove(), ISOMER_OK) << isomer_last_error();
  options.struct_size = sizeof(options) + 8;
  EXPECT_EQ(prove(), ISOMER_BAD_INPUT);
  options.struct_size = 0;
  EXPECT_EQ(prove(), ISOMER_BAD_INPUT);
  isomer_model_free(model);
}

TEST_F(ApiTest, InCAModelIsSimplified) {
  isomer_model* model = nullptr;
  ASSERT_EQ(isomer_load(twice_.c_str(), nullptr, 0, &model), ISOMER_OK);
  isomer_optimize_options options;
  isomer_optimize_options_init(&options);
  options.judge = ISOMER_JUDGE_NODES;
  isomer_model* simple = nullptr;
  char *certificate = nullptr, *json = nullptr;
  ASSERT_EQ(isomer_optimize(model, &options, &simple, &certificate, &json), ISOMER_OK) << isomer_last_error();
  EXPECT_THAT(json, ::testing::HasSubstr(R"("nodes_out": 1,)"));
  int is_accepted = 0;
  EXPECT_EQ(isomer_check(model, simple, certificate, &is_accepted, nullptr), ISOMER_OK);
  EXPECT_EQ(is_accepted, 1);
  isomer_string_free(certificate);
  isomer_string_free(json);
  isomer_model_free(simple);
  isomer_model_free(model);
}

TEST_F(ApiTest, InCAModelIsCompiled) {
  isomer_model* model = nullptr;
  ASSERT_EQ(isomer_load(relu_.c_str(), nullptr, 0, &model), ISOMER_OK);
  isomer_compile_options options;
  isomer_compile_options_init(&options);
  options.seconds = 0;
  options.threads = 2;
  options.compiler = "false";  // a compiler that fails: nothing is left
  const std::string folder = relu_ + ".compiled";
  EXPECT_EQ(isomer_compile(model, folder.c_str(), &options, nullptr), ISOMER_BAD_INPUT);
  EXPECT_NE(std::string(isomer_last_error()).find("false"), std::string::npos) << isomer_last_error();
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(isomer_compile(model, nullptr, &options, nullptr), ISOMER_BAD_INPUT);
  options.threads = 0;
  EXPECT_EQ(isomer_compile(model, folder.c_str(), &options, nullptr), ISOMER_BAD_INPUT);
  EXPECT_NE(std::string(isomer_last_error()).find("threads"), std::string::npos) << isomer_last_error();
  isomer_model_free(model);
}

TEST_F(ApiTest, InCTensorsAreCopiedAndRead) {
  isomer_tensors *feeds = nullptr, *outputs = nullptr;
  isomer_model* model = nullptr;
  const float values[] = {-1, 0, 2};
  const std::int64_t shape[] = {1, 3};
  const isomer_tensor x{"x", 1, shape, 2, values, sizeof values};
  ASSERT_EQ(isomer_load(relu_.c_str(), nullptr, 0, &model), ISOMER_OK);
  ASSERT_EQ(isomer_tensors_new(&feeds), ISOMER_OK);
  EXPECT_EQ(isomer_tensors_add(feeds, &x), ISOMER_OK);
  EXPECT_EQ(isomer_tensors_add(feeds, &x), ISOMER_BAD_INPUT);  // there is one of this name
  ASSERT_EQ(isomer_run(model, feeds, ISOMER_ENGINE_REFERENCE, nullptr, &outputs), ISOMER_OK);
  ASSERT_EQ(isomer_tensors_count(outputs), 1U);
  isomer_tensor y{};
  ASSERT_EQ(isomer_tensors_at(outputs, 0, &y), ISOMER_OK);
  EXPECT_STREQ(y.name, "y");
  ASSERT_EQ(y.byte_count, sizeof values);
  float read[3];
  std::memcpy(read, y.bytes, sizeof read);
  EXPECT_THAT(read, ::testing::ElementsAre(0, 0, 2));
  isomer_tensors_free(feeds);
  isomer_tensors_free(outputs);
  isomer_model_free(model);
}

}  // namespace
}  // namespace isomer::api
