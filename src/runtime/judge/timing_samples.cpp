// Samples as bytes (CBOR behind a digest of it), and the text of a key.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "runtime/judge/machine.h"
#include "runtime/judge/timing_cache.h"
#include "runtime/worker/message.h"
#include "runtime/worker/plain_cbor.h"
#include "runtime/worker/requests.h"

namespace isomer {
namespace {

Json to_json(const std::vector<Round>& rounds) {
  Json list = Json::array();
  for (const Round& round : rounds) {
    Json blocks = Json::array();
    for (const BlockTimes& block : round.blocks) {
      std::vector<std::int64_t> numbers{block.a_repetitions, block.b_repetitions};
      for (const auto* legs : {&block.a, &block.b})
        for (const LegTime& leg : *legs) numbers.insert(numbers.end(), {leg.wall_ns, leg.cpu_ns});
      blocks.push_back(numbers);
    }
    list.push_back({{"a_first", round.a_made_first}, {"blocks", std::move(blocks)}});
  }
  return list;
}

// Before the samples: a disk that loses a bit changes a time, which nothing else would notice.
constexpr std::size_t kSeal = 32;
std::string seal_of(std::string_view text) { return Hasher().add(text).digest().hex(); }

constexpr std::size_t kNumbers = 18;  // of a block: two counts, eight legs of two clocks

std::optional<BlockTimes> block_from(const Json& json) {
  if (!json.is_array() || json.size() != kNumbers) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Json& number : json) {
    if (!number.is_number_integer()) return std::nullopt;
    numbers.push_back(number.get<std::int64_t>());
  }
  BlockTimes block;
  block.a_repetitions = numbers[0], block.b_repetitions = numbers[1];
  if (block.a_repetitions < 1 || block.b_repetitions < 1) return std::nullopt;
  std::size_t at = 2;
  for (auto* legs : {&block.a, &block.b})
    for (LegTime& leg : *legs) leg.wall_ns = numbers[at], leg.cpu_ns = numbers[at + 1], at += 2;
  return block;
}

std::optional<std::vector<Round>> rounds_from(const Json& list) {
  std::vector<Round> rounds;
  for (const Json& entry : list) {
    if (!entry.is_object()) return std::nullopt;
    Round round{bool_field(entry, "a_first").value_or(true), {}};
    for (const Json& numbers : array_field(entry, "blocks")) {
      const auto block = block_from(numbers);
      if (!block) return std::nullopt;
      round.blocks.push_back(*block);
    }
    if (round.blocks.empty()) return std::nullopt;
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace

std::string to_bytes(const TimingSamples& samples) {
  const auto bytes =
      Json::to_cbor({{"explored", to_json(samples.explored)}, {"confirmed", to_json(samples.confirmed)}});
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return seal_of(text).append(text);
}

std::optional<TimingSamples> samples_from(const std::string& bytes) {
  const std::string_view all = bytes;
  if (all.size() < kSeal || seal_of(all.substr(kSeal)) != all.substr(0, kSeal)) return std::nullopt;
  const Json json = json_from_cbor(all.substr(kSeal));
  if (!json.is_object()) return std::nullopt;
  auto explored = rounds_from(array_field(json, "explored"));
  auto confirmed = rounds_from(array_field(json, "confirmed"));
  if (!explored || !confirmed || explored->empty()) return std::nullopt;
  return TimingSamples{std::move(*explored), std::move(*confirmed)};
}

std::string target_text(const std::string& runtime, const std::string& version,
                        const RuntimeOptions& options) {
  const MachineName& machine = this_machine();
  return fmt::format("runtime={} {}; options={}; cpu={}; isa={}; protocol={}", runtime, version,
                     options.text(), machine.cpu, machine.isa, kProtocolVersion);
}

std::string TimingKey::text() const {
  const MachineName& machine = this_machine();
  return fmt::format("a={}\nb={}\nfeeds={}\nruntime={} {}\noptions={}\ncpu={}\nisa={}\nprotocol={}\n", a, b,
                     feeds, runtime, version, options.text(), machine.cpu, machine.isa, kProtocolVersion);
}

}  // namespace isomer
