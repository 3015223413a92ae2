#include "search/plan_search.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <random>

#include "base/blake2b.h"
#include "base/temporary_folder.h"
#include "certify/certificate.h"
#include "certify/check.h"
#include "certify/digest.h"
#include "plans/places.h"
#include "plans/store.h"
#include "propose/testing.h"
#include "search/found_plans.h"
#include "search/search.h"

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
Graph blocks(int count, const std::string& prefix, int seed) {
  const auto value = [&](const std::string& name, int k) { return prefix + name + std::to_string(k); };
  std::string weights, nodes;
  for (int k = 0; k < count; ++k) {
    weights += (k ? ", " : "") + large(value("a", k), "6,6,3,3", 324, seed + 2 * k) + ", " +
               large(value("b", k), "6,6,3,3", 324, seed + 2 * k + 1);
    const std::string in = k == 0 ? prefix + "x" : value("r", k - 1);
    const std::string out = k == count - 1 ? "y" : value("r", k);
    nodes += value("p", k) + " = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" + in + ", " + value("a", k) +
             ") " + value("q", k) + " = Conv<kernel_shape = [3,3], pads = [1,1,1,1]>(" + in + ", " +
             value("b", k) + ") " + value("s", k) + " = Add(" + value("p", k) + ", " + value("q", k) + ") " +
             out + " = Relu(" + value("s", k) + ") ";
  }
  return program("agraph (float[1,6,9,9] " + prefix + "x) => (float[1,6,9,9] y) <" + weights + "> { " +
                 nodes + "}");
}

struct Searched {
  SearchReport report;
  Draft draft;
};

Searched search_with(const Graph& graph, const std::shared_ptr<PlanStore>& store) {
  Model model;
  model.graph = graph;
  SearchOptions options;
  options.plans.store = store;
  options.plans.by = "a test";
  Searched out;
  const auto history = search(options, model, nullptr, out.report);
  EXPECT_TRUE(history.ok());
  out.draft = history->back();
  out.report.plans.kept = keep_plans(options, model, out.draft, out.report.stopped_by == StoppedBy::Done);
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

TEST_F(Plans, AModelThatWasSearchedIsSettled) {
  const Searched first = search_with(blocks(3, "m", 1), store());
  EXPECT_FALSE(first.report.plans.is_settled);
  const Searched second = search_with(blocks(3, "n", 90), store());
  EXPECT_TRUE(second.report.plans.is_settled);
  EXPECT_LT(second.report.proofs, first.report.proofs + 1);
  EXPECT_EQ(second.report.cost_after, first.report.cost_after);
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

TEST_F(Plans, ThatAreFalseAreRefused) {
  const Graph graph = blocks(1, "m", 1);
  const auto piece = Workpiece::of(graph);
  ASSERT_TRUE(piece.ok());
  const Searched honest = search_with(graph, nullptr);
  std::vector<FoundPlan> found = plans_in(*piece, honest.draft, "a stranger");
  ASSERT_FALSE(found.empty());
  // The sum of the branches is only one of them.
  Plan& plan = found[0].plan;
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
  ASSERT_TRUE(store()->keep(found[0].anchor, plan, "", 9));
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

// $ISOMER_DAMAGED_PLANS: how many, in the long form.
int damaged_cases() {
  const char* count = std::getenv("ISOMER_DAMAGED_PLANS");
  return count == nullptr ? 120 : std::atoi(count);
}

TEST_F(Plans, ThatAreDamagedDoNoHarm) {
  search_with(blocks(1, "m", 1), store());
  const Graph graph = blocks(1, "n", 20);
  const Searched cold = search_with(graph, nullptr);
  std::vector<fs::path> all = files("objects");
  for (const std::string kind : {"index", "settled"})
    for (const fs::path& file : files(kind)) all.push_back(file);
  std::mt19937 random(1);
  for (int k = 0; k < damaged_cases() / 2; ++k) {
    const fs::path file = all[random() % all.size()];
    const std::string good = read(file);
    write(file, damaged(good, random));
    const Searched run = search_with(graph, store());
    EXPECT_EQ(run.report.cost_after, cold.report.cost_after);
    EXPECT_EQ(run.report.plans.refused, 0u);
    write(file, good);
  }
}

// The same by somebody who names the files right, so that only what they say is wrong.
TEST_F(Plans, ThatAreForgedDoNoHarm) {
  search_with(blocks(1, "m", 1), store());
  const Graph graph = blocks(1, "n", 20);
  const fs::path object = files("objects")[0], entry = files("index")[0];
  const std::string plan = read(object), told = read(entry), folder = entry.parent_path().filename().string();
  const auto digest = [](const std::string& text) {
    Blake2b hash;
    hash.add(text.data(), text.size());
    return hash.hex();
  };
  std::mt19937 random(2);
  std::size_t found = 0;
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
    const Searched run = search_with(graph, store());
    found += run.report.plans.found;
    ASSERT_TRUE(is_accepted(graph, run.draft)) << forged;
  }
  EXPECT_GT(found, 0u);
}

TEST_F(Plans, AreCopiedAndCleaned) {
  search_with(blocks(2, "m", 1), store());
  const PlanStore::Contents whole = store()->contents();
  EXPECT_GE(whole.plans, 1u);
  EXPECT_EQ(whole.invalid + whole.orphans, 0u);
  PlanStore copy(path() / "copy");
  EXPECT_EQ(copy.take_from(*store()), whole.plans + whole.entries + whole.settled);
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
