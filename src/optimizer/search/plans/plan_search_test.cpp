#include "optimizer/search/plans/plan_search.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>

#include "base/blake2b.h"
#include "base/temporary_folder.h"
#include "kernel/certify/certificate.h"
#include "kernel/certify/check.h"
#include "kernel/certify/digest.h"
#include "optimizer/plans/places.h"
#include "optimizer/plans/store.h"
#include "optimizer/plans/verify.h"
#include "optimizer/propose/list.h"
#include "optimizer/propose/testing.h"
#include "optimizer/search/plans/found_plans.h"
#include "optimizer/search/search.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using testing::program;

std::string large(const std::string& name, const std::string& shape, int n, int seed) {
  std::string numbers;
  std::minstd_rand random(static_cast<unsigned>(seed));
  for (int i = 0; i < n; ++i)
    numbers += (i ? ", " : "") + std::to_string(static_cast<int>(random() % 2000U) - 1000) + ".25";
  return "float[" + shape + "] " + name + " = {" + numbers + "}";
}

// Blocks of two parallel convolutions that are added: one convolution each. Names begin with `prefix`.
Graph blocks(int count, const std::string& prefix, int seed, int channels = 6, int size = 9) {
  const auto value = [&](const std::string& name, int k) { return prefix + name + std::to_string(k); };
  std::string weights, nodes;
  for (int k = 0; k < count; ++k) {
    const std::string shape = std::to_string(channels) + "," + std::to_string(channels) + ",3,3";
    weights += (k ? ", " : "") + large(value("a", k), shape, channels * channels * 9, seed + 2 * k) + ", " +
               large(value("b", k), shape, channels * channels * 9, seed + 2 * k + 1);
    const std::string in = k == 0 ? prefix + "x" : value("r", k - 1);
    const std::string out = k == count - 1 ? "y" : value("r", k);
    nodes += value("p", k) + " = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" + in + ", " + value("a", k) +
             ") " + value("q", k) + " = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" + in + ", " +
             value("b", k) + ") " + value("s", k) + " = Add(" + value("p", k) + ", " + value("q", k) + ") " +
             out + " = Relu(" + value("s", k) + ") ";
  }
  const std::string type =
      "float[1," + std::to_string(channels) + "," + std::to_string(size) + "," + std::to_string(size) + "] ";
  return program("agraph (" + type + prefix + "x) => (" + type + "y) <" + weights + "> { " + nodes + "}");
}
// The smallest of them, for searches by the thousand.
Graph small_block(const std::string& prefix, int seed) { return blocks(1, prefix, seed, 3, 4); }

struct Searched {
  SearchReport report;
  Draft draft;
};

Searched search_with(const Graph& graph, const std::shared_ptr<PlanStore>& store,
                     const std::set<std::string>& without = {}) {
  Model model;
  model.graph = graph;
  SearchOptions options;
  options.without = without;
  options.plans.store = store;
  options.plans.by = "a test";
  Searched out;
  const auto history = search(options, model, nullptr, out.report);
  EXPECT_TRUE(history.ok());
  out.draft = history->back();
  out.report.plans.kept = keep_plans(options, model, out.draft);
  return out;
}

// Whether the trusted checker takes what a search did.
bool is_accepted(const Graph& before, const Draft& draft) {
  const Certificate certificate =
      with_digests(Certificate{.steps = draft.steps, .notes = {}}, before, draft.graph);
  return check_certificate(before, draft.graph, certificate, 7).accepted;
}

class Plans : public ::testing::Test {
 protected:
  TemporaryFolder folder_{fs::temp_directory_path(), "isomer-plans-test"};
  fs::path path() const { return folder_.path(); }
  std::shared_ptr<PlanStore> store() const { return std::make_shared<PlanStore>(path()); }
  std::vector<fs::path> files(const std::string& kind) const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::recursive_directory_iterator(path() / "v1" / kind))
      if (entry.is_regular_file()) out.push_back(entry.path());
    return out;
  }
};

TEST_F(Plans, OfOneModelAreThoseOfAnotherOne) {
  const Searched first = search_with(blocks(2, "m", 1), store());
  EXPECT_GE(first.report.plans.kept, 1u);
  EXPECT_EQ(first.report.plans.found, 0u);
  const Graph other = blocks(4, "other", 50);
  const Searched cold = search_with(other, nullptr), warm = search_with(other, store());
  EXPECT_GE(warm.report.plans.taken, 1u);
  EXPECT_EQ(warm.report.plans.places, 4u);
  EXPECT_EQ(warm.report.plans.refused, 0u);
  EXPECT_EQ(warm.draft.graph.operator_count(), cold.draft.graph.operator_count());
  EXPECT_EQ(warm.report.cost_after, cold.report.cost_after);
  EXPECT_TRUE(is_accepted(other, warm.draft));
}

TEST_F(Plans, AreTheSameFilesWhoeverFindsThem) {
  search_with(blocks(2, "m", 1), store());
  const auto before = files("objects");
  search_with(blocks(2, "n", 30), store());
  EXPECT_EQ(files("objects"), before);
}

// Two branches with the same bias: one constant in the region, two names in the claim's program.
TEST_F(Plans, KnowConstantsOfTheSameBytes) {
  const auto model = [](const std::string& prefix, int seed) {
    return program("agraph (float[1,6,9,9] x) => (float[1,6,9,9] y) <" +
                   large(prefix + "a", "6,6,3,3", 324, seed) + ", " +
                   large(prefix + "b", "6,6,3,3", 324, seed + 1) + ", float[6] " + prefix +
                   "c = {1, 2, 3, 4, 5, 6}, float[6] " + prefix +
                   "d = {1, 2, 3, 4, 5, 6}> { p = Conv<pads = "
                   "[1,1,1,1]>(x, " +
                   prefix + "a, " + prefix + "c) q = Conv<pads = [1,1,1,1]>(x, " + prefix + "b, " + prefix +
                   "d) y = Add(p, q) }");
  };
  const Searched first = search_with(model("m", 1), store());
  EXPECT_EQ(first.report.plans.kept, 1u);
  const Searched second = search_with(model("n", 8), store());
  EXPECT_EQ(second.report.plans.taken, 1u);
  EXPECT_EQ(second.draft.graph.operator_count(), 1u);
  EXPECT_TRUE(is_accepted(model("n", 8), second.draft));
}

// A reader of a folded value reads its constant: what makes the value known is of the reader's region, too.
TEST_F(Plans, HaveWhatIsFoldedInTheirRegions) {
  const Graph graph =
      program("agraph (float[2,6] x) => (float[2,6] y) { s = Shape(x) r = Reshape(x, s) y = Relu(r) }");
  const auto piece = Workpiece::of(graph);
  ASSERT_TRUE(piece.ok());
  Draft draft{.graph = graph};
  draft.steps = {FoldStep{{"s"}},
                 Claim{.inputs = {"x"},
                       .outputs = {"r"},
                       .after = program("agraph (float[2,6] x) => (float[2,6] n) { n = Identity(x) }")},
                 FoldStep{}};
  draft.taken = {{.change = {.kind = "simplify"}, .what = "constants", .label = "", .is_claim = false},
                 {.change = {.kind = "simplify"}, .what = "a reshape to what it was", .label = ""}};
  const std::vector<FoundPlan> found = plans_in(*piece, draft, "a test");
  ASSERT_EQ(found.size(), 1u);
  const Plan& plan = found[0].plan;
  EXPECT_EQ(plan.region.graph.operator_count(), 2u);
  EXPECT_EQ(plan.region.graph.inputs().size(), 1u);
  ASSERT_EQ(plan.steps.size(), 3u);
  EXPECT_EQ(std::get<FoldStep>(plan.steps[0]).values.size(), 1u);
  EXPECT_EQ(why_not_proved(plan, 3), std::nullopt);
}

// The plans that a search of one block finds, and one of them with a false claim: the sum of the branches is
// only one of them.
std::vector<FoundPlan> found_in_a_block() {
  const Graph graph = blocks(1, "m", 1);
  const auto piece = Workpiece::of(graph);
  return plans_in(*piece, search_with(graph, nullptr).draft, "a stranger");
}

FoundPlan false_plan() {
  FoundPlan out = found_in_a_block().at(0);
  Plan& plan = out.plan;
  std::string input, output;
  for (const Value& v : plan.region.graph.inputs())
    if (!plan.region.constants.contains(plan.region.graph.name_of(v))) input = plan.region.graph.name_of(v);
  output = plan.region.graph.name_of(plan.region.graph.outputs()[0]);
  Graph after = plan.region.graph.without_nodes();
  Node in;
  in.kind = NodeKind::Input;
  in.outputs = {input};
  const Value read{after.add(in), 0};
  after.add_input(read);
  Node relu;
  relu.op = "Relu";
  relu.inputs = {read};
  relu.outputs = {"n0"};
  after.add_output({after.add(relu), 0});
  plan.steps = {Claim{.inputs = {input}, .outputs = {output}, .after = after}, FoldStep{}};
  plan.about = {{"collapse", "a lie"}};
  return out;
}

TEST_F(Plans, AreProvedByThemselves) {
  const std::vector<FoundPlan> found = found_in_a_block();
  ASSERT_FALSE(found.empty());
  for (const FoundPlan& f : found) EXPECT_EQ(why_not_proved(f.plan, 5), std::nullopt);
  EXPECT_TRUE(why_not_proved(false_plan().plan, 5).has_value());
}

TEST_F(Plans, ThatAreFalseAreRefused) {
  const Searched honest = search_with(blocks(1, "m", 1), nullptr);
  const FoundPlan lie = false_plan();
  ASSERT_TRUE(store()->keep(lie.anchor, lie.plan, "", 9));
  const Searched deceived = search_with(blocks(1, "n", 20), store());
  EXPECT_EQ(deceived.report.plans.found, 1u);
  EXPECT_EQ(deceived.report.plans.refused, 1u);
  EXPECT_EQ(deceived.report.plans.taken, 0u);
  EXPECT_EQ(deceived.draft.graph.operator_count(), honest.draft.graph.operator_count());
  EXPECT_TRUE(is_accepted(blocks(1, "n", 20), deceived.draft));
}

TEST_F(Plans, ThatCostMoreAreNotTaken) {
  const Graph graph = program("agraph (float[4,9] x) => (float[4,9] y) { a = Exp(x) y = Add(a, x) }");
  const auto piece = Workpiece::of(graph);
  const auto region = piece->region({"x"}, {"y"});
  auto known = known_region(*region);
  ASSERT_TRUE(known.ok());
  Plan plan{
      .key = key_of(known->region), .region = known->region, .steps = {}, .about = {}, .by = "a stranger"};
  const std::string y = known->names.at("y");
  const Graph after = program(
      "agraph (float[4,9] x0) => (float[4,9] n3) { n0 = Exp(x0) n1 = Neg(x0) n2 = Neg(n1) n3 = Add(n0, n2) "
      "}");
  plan.steps = {Claim{.inputs = {"x0"}, .outputs = {y}, .after = after}, FoldStep{}};
  plan.about = {{"collapse", "true, and slower"}};
  const std::string anchor = anchor_of(piece->graph(), piece->inference(), piece->graph().outputs()[0].node);
  ASSERT_TRUE(store()->keep(anchor, plan, "", 9));
  const Searched run = search_with(graph, store());
  EXPECT_EQ(run.report.plans.found, 1u);
  EXPECT_EQ(run.report.plans.refused, 0u);
  EXPECT_EQ(run.report.plans.taken, 0u);
  EXPECT_EQ(run.draft.graph.operator_count(), 2u);
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

// The text cut short, changed in a byte, grown, or something else.
std::string damaged(const std::string& good, std::mt19937& random) {
  std::string bad = good;
  switch (random() % 5) {
    case 0: bad.resize(random() % bad.size()); break;
    case 1: bad[random() % bad.size()] ^= static_cast<char>(1U << (random() % 7)); break;
    case 2: bad += std::string(random() % 4096, '{'); break;
    case 3: {
      const std::size_t from = random() % bad.size(), to = random() % bad.size();
      bad = bad.substr(0, from) + bad.substr(to);
      break;
    }
    default: bad = std::string(static_cast<std::size_t>(random() % 3), '\0');
  }
  return bad;
}

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}
// In the long form (tests/evidence/damaged_plans.py) more of them, and others.
int damaged_cases() { return number_of("ISOMER_DAMAGED_PLANS", 120); }
std::mt19937 damage(unsigned kind) {
  return std::mt19937(kind + 2U * static_cast<unsigned>(number_of("ISOMER_DAMAGED_SEED", 0)));
}

// A search with only the proposers that find the plan of a block.
Searched quick_search(const Graph& graph, const std::shared_ptr<PlanStore>& store) {
  std::set<std::string> without;
  for (const Proposer* p : proposers())
    if (p != &kCollapse && p != &kSimplify) without.emplace(p->name);
  return search_with(graph, store, without);
}

// Whether the checker accepts the results of searches of one graph; it checks each result once.
class Accepted {
 public:
  explicit Accepted(Graph graph) : graph_(std::move(graph)) {}
  bool operator()(const Draft& draft) {
    const std::string text =
        to_text(with_digests(Certificate{.steps = draft.steps, .notes = {}}, graph_, draft.graph));
    if (!known_.contains(text)) known_.emplace(text, is_accepted(graph_, draft));
    return known_.at(text);
  }

 private:
  Graph graph_;
  std::map<std::string, bool> known_;
};

TEST_F(Plans, ThatAreDamagedDoNoHarm) {
  quick_search(small_block("m", 1), store());
  const Graph graph = small_block("n", 20);
  const Searched cold = quick_search(graph, nullptr);
  Accepted accepted(graph);
  std::vector<fs::path> all = files("objects");
  for (const fs::path& file : files("index")) all.push_back(file);
  std::mt19937 random = damage(1);
  for (int k = 0; k < damaged_cases() / 2; ++k) {
    const fs::path& file = all[random() % all.size()];
    const std::string good = read(file);
    write(file, damaged(good, random));
    const Searched run = quick_search(graph, store());
    ASSERT_EQ(run.report.cost_after, cold.report.cost_after);
    ASSERT_EQ(run.report.plans.refused, 0u);
    ASSERT_TRUE(accepted(run.draft));
    write(file, good);
  }
}

// The same with correctly named files, so that only their content is wrong.
TEST_F(Plans, ThatAreForgedDoNoHarm) {
  quick_search(small_block("m", 1), store());
  const Graph graph = small_block("n", 20);
  Accepted accepted(graph);
  const fs::path object = files("objects")[0], entry = files("index")[0];
  const std::string plan = read(object), told = read(entry), folder = entry.parent_path().filename().string();
  const auto digest = [](const std::string& text) {
    Blake2b hash;
    hash.add(text.data(), text.size());
    return hash.hex();
  };
  std::mt19937 random = damage(2);
  std::size_t found = 0, refused = 0;
  for (int k = 0; k < damaged_cases() / 2; ++k) {
    fs::remove_all(path() / "v1");
    // Numbers, names and programs of a plan that is still one: others are damaged, which is another test.
    std::string forged = damaged(plan, random);
    if (k % 2 == 0) {
      forged = plan;
      for (int change = 0; change < 3; ++change) {
        const std::size_t at = plan.find("\"by\":\"", plan.find("replace")) + 6 + random() % 1500;
        if (at < forged.size() && std::isalnum(static_cast<unsigned char>(forged[at])) != 0)
          forged[at] = static_cast<char>('A' + random() % 26);
      }
    }
    const std::string name = digest(forged);
    write(path() / "v1" / "objects" / name.substr(0, 2) / name, forged);
    std::string line = told;
    line.replace(line.find("\"object\":\"") + 10, 64, name);
    write(path() / "v1" / "index" / folder / digest(line), line);
    const Searched run = quick_search(graph, store());
    found += run.report.plans.found;
    refused += run.report.plans.refused;
    ASSERT_TRUE(accepted(run.draft)) << forged;
  }
  EXPECT_GT(found, 0u);
  RecordProperty("found", std::to_string(found));
  RecordProperty("refused", std::to_string(refused));
}

// The files of a store as an OCI image layout has them.
void write_layout(const fs::path& from, const fs::path& to) {
  std::string layers;
  int number = 0;
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    std::string hash = std::to_string(number++);
    hash.insert(0, 64 - hash.size(), '0');
    fs::create_directories(to / "blobs" / "sha256");
    fs::copy_file(entry.path(), to / "blobs" / "sha256" / hash);
    layers += std::string(layers.empty() ? "" : ",") + R"({"digest":"sha256:)" + hash +
              R"(","annotations":{"org.opencontainers.image.title":")" +
              fs::relative(entry.path(), from).generic_string() + R"("}})";
  }
  const std::string manifest(64, 'e');
  write(to / "blobs" / "sha256" / manifest, R"({"layers":[)" + layers + "]}");
  write(to / "index.json", R"({"manifests":[{"digest":"sha256:)" + manifest + R"("}]})");
}

TEST_F(Plans, AreReadFromAnOciLayout) {
  search_with(blocks(2, "m", 1), store());
  const fs::path layout = path() / "layout";
  write_layout(path(), layout);
  const auto packed = std::make_shared<PlanStore>("oci:" + layout.string());
  const PlanStore::Contents whole = store()->contents(), there = packed->contents();
  EXPECT_EQ(there.plans, whole.plans);
  EXPECT_EQ(there.entries, whole.entries);
  EXPECT_EQ(there.invalid + there.orphans, 0u);
  const Searched run = search_with(blocks(2, "n", 30), packed);
  EXPECT_GE(run.report.plans.taken, 1u);
  EXPECT_EQ(run.report.plans.kept, 0u);  // it is for reading
  PlanStore copy(path() / "copy");
  EXPECT_EQ(copy.take_from(*packed), whole.plans + whole.entries);
  for (const std::string bad : {"", "{", "[]", R"({"manifests":[]})", R"({"manifests":[{"digest":5}]})",
                                R"({"manifests":[{"digest":"sha256:../../../etc/passwd"}]})"}) {
    write(layout / "index.json", bad);
    EXPECT_EQ(PlanStore("oci:" + layout.string()).contents().plans, 0u) << bad;
  }
}

TEST_F(Plans, AreCopiedAndCleaned) {
  search_with(blocks(2, "m", 1), store());
  const PlanStore::Contents whole = store()->contents();
  EXPECT_GE(whole.plans, 1u);
  EXPECT_EQ(whole.invalid + whole.orphans, 0u);
  PlanStore copy(path() / "copy");
  EXPECT_EQ(copy.take_from(*store()), whole.plans + whole.entries);
  EXPECT_EQ(copy.contents().bytes, whole.bytes);
  EXPECT_EQ(copy.take_from(*store()), 0u);
  // A plan without its entry, and a file that is not what its name says.
  fs::remove_all(path() / "v1" / "index");
  const fs::path odd = files("objects")[0].parent_path() / std::string(64, 'a');
  std::ofstream(odd) << "nothing";
  EXPECT_EQ(store()->contents().orphans, whole.plans);
  EXPECT_EQ(store()->contents().invalid, 1u);
  EXPECT_EQ(store()->clean(0), whole.plans + 1);
  EXPECT_EQ(store()->contents().plans, 0u);
  EXPECT_GT(copy.clean(1), 0u);
  EXPECT_EQ(copy.contents().plans + copy.contents().entries, 0u);
}

TEST_F(Plans, OfADirectoryThatCantBeWrittenAreReadAllTheSame) {
  search_with(blocks(1, "m", 1), store());
  const auto missing = std::make_shared<PlanStore>("/proc/isomer_nowhere");
  const Searched run = search_with(blocks(1, "n", 20), missing);
  EXPECT_EQ(run.report.plans.kept, 0u);
  EXPECT_EQ(run.report.plans.found, 0u);
}

}  // namespace
}  // namespace isomer
