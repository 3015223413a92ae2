// An LSTM or GRU that was written out step by step, as the operator: a runtime runs its steps without coming
// back to the graph, which for small states is most of the time.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "model/graph/constant.h"
#include "optimizer/propose/runtime_forms/fastpath.h"

namespace isomer {
namespace {

// Columns of a constant that has one number for each.
struct Vector {
  Value constant;
  std::int64_t begin = 0;
};

// x times columns of a matrix, or rows of it if it is transposed.
struct Product {
  Value x, matrix;
  bool transposed = false;
  std::int64_t begin = 0;
};

// The argument of a gate: a sum of products and vectors.
struct Affine {
  std::vector<Product> products;
  std::vector<Vector> vectors;
};

// A step as an operator has it. Its gates are in the order of ONNX; a GRU's last one has two parts, of the
// step's input and of the state.
struct Kind {
  const char* op;
  std::array<bool, 4> reads_input, reads_state;
  // The most steps that a proof follows; longer chains become several.
  std::size_t most_steps;
};
constexpr Kind kLstm{"LSTM", {true, true, true, true}, {true, true, true, true}, 16};
constexpr Kind kGru{"GRU", {true, true, true, false}, {true, true, false, true}, 8};
constexpr std::size_t kGates = 4;
constexpr std::size_t kMostDepth = 12;

struct Cell {
  const Kind* kind = &kLstm;
  NodeId h, c;   // c: of a GRU it is h
  Value before;  // the state c
  std::array<Affine, kGates> gates;
  std::set<NodeId> nodes;  // that compute it
  // For a GRU: the state that the candidate multiplies, if it is reset before it does.
  Value reset = Value::none();
};

struct State {
  Value h, c;
};

class Reader {
 public:
  explicit Reader(const Site& site) : site_(site) {}

  // h = sigmoid(o) · tanh(c), c = sigmoid(f) · before + sigmoid(i) · tanh(g).
  std::optional<Cell> cell(NodeId h) {
    Cell out{.h = h, .c = {}, .before = {}, .gates = {}, .nodes = {h}};
    const auto factors = both(h, "Mul", "Sigmoid", "Tanh");
    if (!factors) return std::nullopt;
    const auto c = site_.made_by(argument(factors->second), "Add");
    if (!c) return std::nullopt;
    out.c = *c;
    const auto& sum = site_.node(*c).inputs;
    for (const auto& [old_part, new_part] : {std::pair(sum[0], sum[1]), std::pair(sum[1], sum[0])}) {
      const auto kept = site_.made_by(old_part, "Mul"), added = site_.made_by(new_part, "Mul");
      if (!kept || !added) continue;
      const auto candidate = both(*added, "Mul", "Sigmoid", "Tanh");
      if (!candidate) continue;
      const auto& product = site_.node(*kept).inputs;
      for (const auto& [gate, before] :
           {std::pair(product[0], product[1]), std::pair(product[1], product[0])}) {
        const auto forget = site_.made_by(gate, "Sigmoid");
        if (!forget) continue;
        out.before = before;
        out.nodes.insert({factors->first, factors->second, *c, *kept, *added, candidate->first,
                          candidate->second, *forget});
        const std::array arguments{argument(candidate->first), argument(factors->first), argument(*forget),
                                   argument(candidate->second)};
        for (std::size_t g = 0; g < kGates; ++g)
          if (!read(arguments[g], 0, out.gates[g], out.nodes, 0)) return std::nullopt;
        return out;
      }
    }
    return std::nullopt;
  }

  // h = (1 - sigmoid(z)) · tanh(n) + sigmoid(z) · before, n = a(x) + sigmoid(r) · b(before) or a(x) +
  // b(sigmoid(r) · before); or tanh(n) + sigmoid(z) · (before - tanh(n)).
  std::optional<Cell> gru_cell(NodeId h) {
    if (!site_.is(h, "Add")) return std::nullopt;
    Cell out{.kind = &kGru, .h = h, .c = h, .before = {}, .gates = {}, .nodes = {h}};
    const auto& sum = site_.node(h).inputs;
    for (const auto& [kept, added] : {std::pair(sum[0], sum[1]), std::pair(sum[1], sum[0])}) {
      const auto product = site_.made_by(kept, "Mul");
      if (!product) continue;
      const auto& factors = site_.node(*product).inputs;
      for (const auto& [gate, before] :
           {std::pair(factors[0], factors[1]), std::pair(factors[1], factors[0])}) {
        const auto update = site_.made_by(gate, "Sigmoid");
        if (!update) continue;
        std::set<NodeId> nodes{h, *product, *update};
        const auto candidate = blend(added, gate, before, nodes);
        if (!candidate) continue;
        out.nodes = nodes;
        out.before = candidate->second;
        out.nodes.insert(candidate->first);
        if (read(argument(*update), 0, out.gates[0], out.nodes, 0) &&
            read_candidate(argument(candidate->first), out))
          return out;
        out.gates = {};
      }
    }
    return std::nullopt;
  }

 private:
  // The candidate and the state before, of which h is a mixture.
  std::optional<std::pair<NodeId, Value>> blend(Value added, Value gate, Value before,
                                                std::set<NodeId>& nodes) const {
    // n + z · (before - n).
    if (const auto n = site_.made_by(added, "Tanh"), sub = site_.made_by(before, "Sub"); n && sub) {
      if (site_.node(*sub).inputs[1] != added) return std::nullopt;
      nodes.insert(*sub);
      return std::pair(*n, site_.node(*sub).inputs[0]);
    }
    const auto product = site_.made_by(added, "Mul");
    if (!product) return std::nullopt;
    const auto& factors = site_.node(*product).inputs;
    for (const auto& [rest, candidate] :
         {std::pair(factors[0], factors[1]), std::pair(factors[1], factors[0])}) {
      const auto sub = site_.made_by(rest, "Sub"), n = site_.made_by(candidate, "Tanh");
      if (!sub || !n || site_.node(*sub).inputs[1] != gate || !site_.is_constant(site_.node(*sub).inputs[0]))
        continue;
      nodes.insert({*product, *sub});
      return std::pair(*n, before);
    }
    return std::nullopt;
  }

  // Gate 1 is the reset gate; 2 and 3 are the candidate's two parts.
  bool read_candidate(Value v, Cell& out) const {
    const auto add = site_.made_by(v, "Add");
    if (!add) return false;
    const auto& terms = site_.node(*add).inputs;
    out.nodes.insert(*add);
    for (const auto& [of_input, of_state] : {std::pair(terms[0], terms[1]), std::pair(terms[1], terms[0])}) {
      Cell tried = out;
      if (const auto product = site_.made_by(of_state, "Mul")) {
        const auto& factors = site_.node(*product).inputs;
        for (const auto& [gate, state] :
             {std::pair(factors[0], factors[1]), std::pair(factors[1], factors[0])}) {
          tried = out;
          const auto reset = site_.made_by(gate, "Sigmoid");
          tried.nodes.insert(*product);
          if (!reset || !read(state, 0, tried.gates[3], tried.nodes, 0)) continue;
          tried.nodes.insert(*reset);
          if (read(of_input, 0, tried.gates[2], tried.nodes, 0) &&
              read(argument(*reset), 0, tried.gates[1], tried.nodes, 0)) {
            out = tried;
            return true;
          }
        }
        continue;
      }
      if (!read(of_input, 0, tried.gates[2], tried.nodes, 0) ||
          !read(of_state, 0, tried.gates[3], tried.nodes, 0) || tried.gates[3].products.size() != 1)
        continue;
      tried.reset = tried.gates[3].products[0].x;
      const auto product = site_.made_by(tried.reset, "Mul");
      if (!product) continue;
      for (const Value& gate : site_.node(*product).inputs) {
        const auto reset = site_.made_by(gate, "Sigmoid");
        if (!reset) continue;
        tried.nodes.insert({*product, *reset});
        if (!read(argument(*reset), 0, tried.gates[1], tried.nodes, 0)) break;
        out = tried;
        return true;
      }
    }
    return false;
  }

  Value argument(NodeId id) const { return site_.node(id).inputs[0]; }

  // The two inputs of a node, if they are made by such operators.
  std::optional<std::pair<NodeId, NodeId>> both(NodeId id, const char* op, const char* first,
                                                const char* second) const {
    if (!site_.is(id, op)) return std::nullopt;
    const auto& in = site_.node(id).inputs;
    for (const auto& [a, b] : {std::pair(in[0], in[1]), std::pair(in[1], in[0])})
      if (const auto x = site_.made_by(a, first), y = site_.made_by(b, second); x && y)
        return std::pair(*x, *y);
    return std::nullopt;
  }

  // Columns of v, from `begin` on.
  bool read(Value v, std::int64_t begin, Affine& out, std::set<NodeId>& nodes, std::size_t depth) const {
    if (!v.exists() || depth > kMostDepth) return false;
    if (site_.is_constant(v)) {
      out.vectors.push_back({v, begin});
      return true;
    }
    const NodeId id = v.node;
    if (site_.node(id).kind != NodeKind::Operator) return false;
    const std::vector<Value>& in = site_.node(id).inputs;
    nodes.insert(id);
    if (site_.is(id, "Add"))
      return read(in[0], begin, out, nodes, depth + 1) && read(in[1], begin, out, nodes, depth + 1);
    if (site_.is(id, "Slice")) {
      if (in.size() < 4 || site_.rank(in[0]) != 2 || (in.size() > 4 && site_.integers(in[4]) != kOne))
        return false;
      const auto start = site_.integers(in[1]), axes = site_.integers(in[3]);
      if (!start || !axes || start->size() != 1 || axes->size() != 1 || (*start)[0] < 0) return false;
      if ((*axes)[0] != 1 && (*axes)[0] != -1) return false;
      return read(in[0], begin + (*start)[0], out, nodes, depth + 1);
    }
    if (site_.is(id, "Split")) {
      if (attribute(site_.node(id), "axis", std::int64_t{0}) % 2 == 0 || site_.rank(in[0]) != 2) return false;
      for (std::uint32_t k = 0; k < v.output; ++k) {
        const auto& shape = site_.inference.of({id, k}).shape;
        if (!shape || !(*shape)[1].is_concrete()) return false;
        begin += (*shape)[1].concrete();
      }
      return read(in[0], begin, out, nodes, depth + 1);
    }
    const Node& node = site_.node(id);
    if (!is_plain_product(node) || !site_.is_constant(in[1]) || site_.rank(in[1]) != 2 ||
        site_.rank(in[0]) != 2 || site_.is_constant(in[0]))
      return false;
    out.products.push_back({in[0], in[1], has_transposed_weights(node), begin});
    return in.size() < 3 || !in[2].exists() || read(in[2], begin, out, nodes, depth + 1);
  }

  static inline const std::vector<std::int64_t> kOne{1};
  const Site& site_;
};

// A gate of one step, its products separated.
struct Weights {
  std::array<Product, kGates> of_input, of_state;
};

// Steps that follow each other with the same weights.
struct Chain {
  std::vector<const Cell*> cells;
  std::vector<Value> inputs;     // of each step
  std::optional<State> initial;  // nullopt: zero
  Weights weights;
  const Kind& kind() const { return *cells[0]->kind; }
};

class Chains {
 public:
  Chains(const Site& site, const std::vector<Cell>& cells) : site_(site) {
    std::map<Value, const Cell*> next;
    std::set<const Cell*> later;
    for (const Cell& cell : cells) next.emplace(cell.before, &cell);
    for (const Cell& cell : cells)
      if (const auto at = next.find({cell.c, 0}); at != next.end()) later.insert(at->second);
    for (const Cell& first : cells) {
      if (later.contains(&first)) continue;
      Chain chain;
      const Cell* last = &first;
      for (auto at = next.find({first.c, 0}); at != next.end(); at = next.find({last->c, 0})) {
        if (!append(chain, *last, *at->second)) break;
        last = at->second;
      }
      if (chain.cells.empty()) continue;
      auto longer = with_first(chain, first);
      all.push_back(longer ? std::move(*longer) : std::move(chain));
    }
  }
  std::vector<Chain> all;

 private:
  bool is_same(const Product& a, const Product& b) const {
    return site_.content(a.matrix) == site_.content(b.matrix) && a.transposed == b.transposed &&
           a.begin == b.begin;
  }

  // The products of a cell with this state and with another value, the same for all gates.
  std::optional<std::pair<Weights, Value>> told_apart(const Cell& cell, Value state) const {
    Weights out;
    std::optional<Value> input;
    for (std::size_t g = 0; g < kGates; ++g) {
      const auto& products = cell.gates[g].products;
      const bool reads_input = cell.kind->reads_input[g], reads_state = cell.kind->reads_state[g];
      if (products.size() != std::size_t{reads_input} + std::size_t{reads_state}) return std::nullopt;
      const Value own = g == 3 && cell.reset.exists() ? cell.reset : state;
      const std::size_t which = reads_state && products[0].x != own ? products.size() - 1 : 0;
      if (reads_state) {
        out.of_state[g] = products[which];
        if (out.of_state[g].x != own) return std::nullopt;
      }
      if (!reads_input) continue;
      out.of_input[g] = products[reads_state ? 1 - which : 0];
      if (input && *input != out.of_input[g].x) return std::nullopt;
      input = out.of_input[g].x;
    }
    return std::pair(out, *input);
  }
  bool are_same(const Kind& kind, const Weights& a, const Weights& b) const {
    for (std::size_t g = 0; g < kGates; ++g)
      if ((kind.reads_input[g] && !is_same(a.of_input[g], b.of_input[g])) ||
          (kind.reads_state[g] && !is_same(a.of_state[g], b.of_state[g])))
        return false;
    return true;
  }

  bool append(Chain& chain, const Cell& before, const Cell& cell) const {
    const auto told = cell.kind == before.kind && cell.reset.exists() == before.reset.exists()
                          ? told_apart(cell, {before.h, 0})
                          : std::nullopt;
    if (!told || (!chain.cells.empty() && !are_same(*cell.kind, told->first, chain.weights))) return false;
    if (chain.cells.empty()) {
      chain.initial = State{{before.h, 0}, {before.c, 0}};
      chain.weights = told->first;
    }
    chain.cells.push_back(&cell);
    chain.inputs.push_back(told->second);
    return true;
  }

  bool is_zero(Value v) const {
    const auto tensor = site_.is_constant(v) ? known_constant(site_.graph, v) : std::nullopt;
    const auto values = tensor ? tensor->doubles() : std::nullopt;
    return values && std::ranges::all_of(*values, [](double x) { return x == 0; });
  }

  // The sum of all additions in a gate.
  std::optional<std::vector<double>> total(const Affine& gate, std::size_t hidden) const {
    std::vector<double> out(hidden, 0);
    for (const Vector& v : gate.vectors) {
      const auto values = known_constant(site_.graph, v.constant)->doubles();
      const auto begin = static_cast<std::size_t>(v.begin);
      if (!values || values->size() < begin + hidden) return std::nullopt;
      for (std::size_t k = 0; k < hidden; ++k) out[k] += (*values)[begin + k];
    }
    return out;
  }
  // Whether a state of zero is the only difference between the steps.
  bool have_same_vectors(const Cell& a, const Cell& b) const {
    const auto state = site_.concrete_sizes({a.h, 0});
    if (!state || state->empty()) return false;
    const auto hidden = static_cast<std::size_t>(state->back());
    for (std::size_t g = 0; g < kGates; ++g) {
      const auto x = total(a.gates[g], hidden), y = total(b.gates[g], hidden);
      if (!x || !y || *x != *y) return false;
    }
    return true;
  }

  // With the step before: from states that are given, or from zero, of which only constants are left.
  std::optional<Chain> with_first(const Chain& chain, const Cell& first) const {
    Chain out = chain;
    const auto& products = first.gates[0].products;
    Value input;
    if (products.size() == 1) {
      if (first.kind == &kGru) return std::nullopt;
      for (std::size_t g = 0; g < kGates; ++g) {
        const auto& own = first.gates[g].products;
        if (own.size() != 1 || own[0].x != products[0].x || !is_same(own[0], chain.weights.of_input[g]))
          return std::nullopt;
      }
      if (!is_zero(first.before) || !have_same_vectors(first, *chain.cells[0])) return std::nullopt;
      input = products[0].x;
      out.initial.reset();
    } else {
      std::optional<std::pair<Weights, Value>> told;
      for (const Product& p : products)
        if (!told || !are_same(*first.kind, told->first, chain.weights)) told = told_apart(first, p.x);
      if (!told || !are_same(*first.kind, told->first, chain.weights)) return std::nullopt;
      if (first.kind == &kGru && told->first.of_state[0].x != first.before) return std::nullopt;
      input = told->second;
      out.initial = State{told->first.of_state[0].x, first.before};
    }
    out.cells.insert(out.cells.begin(), &first);
    out.inputs.insert(out.inputs.begin(), input);
    return out;
  }

  const Site& site_;
};

class Writer {
 public:
  Writer(const Site& site, const Chain& chain)
      : site_(site), chain_(chain), b_(site.graph, site.name({chain.cells.back()->h, 0})) {}

  std::optional<Proposal> proposal() {
    const auto& state = site_.inference.of({chain_.cells[0]->h, 0}).shape;
    // For an empty batch it is unknown whether a runtime runs these operators.
    if (!state || state->size() != 2 || !(*state)[0].is_concrete() || !(*state)[1].is_concrete())
      return std::nullopt;
    hidden_ = (*state)[1].concrete();
    const bool is_gru = &chain_.kind() == &kGru;
    const Kind& kind = chain_.kind();
    std::vector<Value> inputs{sequence(), matrices(chain_.weights.of_input, kind.reads_input),
                              matrices(chain_.weights.of_state, kind.reads_state)};
    const auto vectors = biases();
    if (!vectors) return std::nullopt;
    inputs.push_back(*vectors);
    if (chain_.initial) {
      inputs.push_back(Value::none());
      for (const Value v : {chain_.initial->h, chain_.initial->c}) {
        const auto& shape = site_.inference.of(v).shape;
        if (!shape || *shape != *state) return std::nullopt;
        inputs.push_back(b_.unsqueeze(b_.input(site_.name(v)), {0}));
        if (is_gru) break;
      }
    }
    Node node;
    node.op = chain_.kind().op;
    node.attributes.set("hidden_size", hidden_);
    if (is_gru && !chain_.cells[0]->reset.exists())
      node.attributes.set("linear_before_reset", std::int64_t{1});
    node.outputs.resize(is_gru ? 2 : 3);
    const NodeId lstm = b_.copy(std::move(node), inputs).node;
    std::vector<Value> replaced, by;
    for (std::size_t t = 0; t < chain_.cells.size(); ++t) {
      const Value h{chain_.cells[t]->h, 0}, c{chain_.cells[t]->c, 0};
      const bool is_last = t + 1 == chain_.cells.size();
      if (!is_gru && is_read(c) && !is_last) return std::nullopt;
      if (is_read(h)) {
        replaced.push_back(h);
        by.push_back(is_last ? b_.squeeze({lstm, 1}, {0}) : at_time({lstm, 0}, t));
      }
      if (!is_gru && is_last && is_read(c)) {
        replaced.push_back(c);
        by.push_back(b_.squeeze({lstm, 2}, {0}));
      }
    }
    if (replaced.empty()) return std::nullopt;
    return propose(site_, "fastpath",
                   fmt::format("{} steps as one {}, to {}", chain_.cells.size(), chain_.kind().op,
                               site_.name({chain_.cells.back()->h, 0})),
                   b_, replaced, by);
  }

 private:
  // By another node than the steps.
  bool is_read(Value v) const {
    return site_.is_output(v) || std::ranges::any_of(site_.readers(v), [&](NodeId reader) {
             return std::ranges::none_of(chain_.cells,
                                         [&](const Cell* c) { return c->nodes.contains(reader); });
           });
  }

  Value at_time(Value all, std::size_t t) {
    const Value one =
        b_.op("Gather", {all, b_.scalar_integer(static_cast<std::int64_t>(t))});  // [1, batch, hidden]
    return b_.squeeze(one, {0});
  }

  // [steps, batch, input].
  Value sequence() {
    if (const auto whole = gathered_from()) return *whole;
    std::vector<Value> steps;
    steps.reserve(chain_.inputs.size());
    for (const Value& x : chain_.inputs) steps.push_back(b_.unsqueeze(b_.input(site_.name(x)), {0}));
    return b_.concat(steps, 0);
  }

  // The source of the steps' inputs, taken one after the other.
  std::optional<Value> gathered_from() {
    std::optional<Position> first;
    for (std::size_t t = 0; t < chain_.inputs.size(); ++t) {
      const auto now = position_of(site_, chain_.inputs[t]);
      if (!now || site_.rank(now->whole) != 3 || now->axis > 1) return std::nullopt;
      if (!first) first = now;
      if (now->whole != first->whole || now->axis != first->axis ||
          now->at != first->at + static_cast<std::int64_t>(t))
        return std::nullopt;
    }
    const auto steps = static_cast<std::int64_t>(chain_.inputs.size());
    const Dims& shape = *site_.inference.of(first->whole).shape;
    Value x = b_.input(site_.name(first->whole));
    if (!shape[static_cast<std::size_t>(first->axis)].is(steps))
      x = b_.slice(x, first->axis, first->at, first->at + steps);
    return first->axis == 0 ? x : b_.transpose(x, {1, 0, 2});
  }

  // [1, gates · hidden, columns].
  Value matrices(const std::array<Product, kGates>& products, const std::array<bool, kGates>& are_there) {
    std::vector<Value> rows;
    for (std::size_t g = 0; g < kGates; ++g) {
      if (!are_there[g]) continue;
      const Product& p = products[g];
      const Value part =
          b_.slice(b_.input(site_.name(p.matrix)), p.transposed ? 0 : 1, p.begin, p.begin + hidden_);
      rows.push_back(p.transposed ? part : b_.transpose(part, {1, 0}));
    }
    return b_.unsqueeze(b_.concat(rows, 0), {0});
  }

  // [1, 2 · gates · hidden]; nullopt: a vector is none.
  std::optional<Value> biases() {
    std::vector<Value> of_input, of_state;
    const Kind& kind = chain_.kind();
    for (std::size_t g = 0; g < kGates; ++g) {
      const auto sum = vectors(chain_.cells.back()->gates[g]);
      if (!sum) return std::nullopt;
      if (kind.reads_input[g]) of_input.push_back(*sum);
      if (kind.reads_state[g]) of_state.push_back(kind.reads_input[g] ? b_.zeros({hidden_}) : *sum);
    }
    of_input.insert(of_input.end(), of_state.begin(), of_state.end());
    return b_.unsqueeze(b_.concat(of_input, 0), {0});
  }

  // All additions of a gate.
  std::optional<Value> vectors(const Affine& gate) {
    std::optional<Value> sum;
    for (const Vector& v : gate.vectors) {
      const auto sizes = site_.concrete_sizes(v.constant);
      if (!sizes || sizes->empty() || sizes->size() > 2 || sizes->back() < v.begin + hidden_)
        return std::nullopt;
      if (sizes->size() == 2 && (*sizes)[0] != 1) return std::nullopt;
      const auto axis = static_cast<std::int64_t>(sizes->size()) - 1;
      Value part = b_.slice(b_.input(site_.name(v.constant)), axis, v.begin, v.begin + hidden_);
      if (axis == 1) part = b_.squeeze(part, {0});
      sum = sum ? b_.op("Add", {*sum, part}) : part;
    }
    return sum ? sum : b_.zeros({hidden_});
  }

  const Site& site_;
  const Chain& chain_;
  ProgramBuilder b_;
  std::int64_t hidden_ = 0;
};

// Each has at most the number of steps that a proof can follow.
std::vector<Chain> pieces(const Chain& chain) {
  std::vector<Chain> out;
  const std::size_t most = chain.kind().most_steps;
  for (std::size_t t = 0; t < chain.cells.size(); ++t) {
    if (t % most == 0) {
      out.push_back({.cells = {}, .inputs = {}, .initial = chain.initial, .weights = chain.weights});
      if (t > 0) out.back().initial = State{{chain.cells[t - 1]->h, 0}, {chain.cells[t - 1]->c, 0}};
    }
    out.back().cells.push_back(chain.cells[t]);
    out.back().inputs.push_back(chain.inputs[t]);
  }
  return out;
}

}  // namespace

void propose_recurrence(const Site& site, Proposals& out) {
  std::vector<Cell> cells;
  Reader reader(site);
  for (const NodeId id : site.graph.order())
    if (auto cell = reader.cell(id)) cells.push_back(std::move(*cell));
    else if (auto gru = reader.gru_cell(id)) cells.push_back(std::move(*gru));
  for (const Chain& chain : Chains(site, cells).all)
    for (const Chain& piece : pieces(chain))
      if (piece.cells.size() > 1) out.add(Writer(site, piece).proposal());
}

}  // namespace isomer
