// Message: between parent and worker: a CBOR object and open files, over a socket.
//
// The parent reads the output of an untrusted process: every length is bounded, every field is read by its
// type, and a message that does not fit is an answer ("garbled"), never an exception.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "io/onnx/descriptor.h"

namespace isomer {

using Json = nlohmann::json;
using wire::Descriptor;

struct Message {
  Json body = Json::object();
  std::vector<Descriptor> files = {};
};

enum class Received : std::uint8_t { Whole, Closed, Late, Garbage };

// False: the other side is gone.
bool send_message(int socket, const Json& body, const std::vector<int>& files = {});
// Whether there is something to read, or the end of it, at that time at the latest, as now_ns() counts.
bool is_readable(int socket, std::int64_t until_ns);
// deadline_ns as now_ns() counts; nullopt: waits for ever.
Received receive_message(int socket, Message& into, std::optional<std::int64_t> deadline_ns);

// A field of an object, if it is there and of the type.
std::optional<std::int64_t> integer_field(const Json& object, const char* key);
std::optional<std::string> text_field(const Json& object, const char* key);
std::optional<bool> bool_field(const Json& object, const char* key);
// Each element of an array of integers; nullopt if any is none.
std::optional<std::vector<std::int64_t>> integers_field(const Json& object, const char* key);
std::vector<std::string> texts_field(const Json& object, const char* key);
const Json& array_field(const Json& object, const char* key);  // an empty one where there is none

}  // namespace isomer
