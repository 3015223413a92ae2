#include "runtime/worker/message.h"

#include <nlohmann/json.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "runtime/engines/runtime.h"
#include "runtime/worker/plain_cbor.h"

namespace isomer {
namespace {

constexpr std::uint32_t kMagic = 0x524d5349;   // "ISMR"
constexpr std::uint32_t kLongest = 64u << 20;  // tensors travel in files: text of a model's interface
constexpr std::size_t kMostFiles = 4;

struct Head {
  std::uint32_t magic = kMagic;
  std::uint32_t size = 0;
};

union Control {
  char bytes[CMSG_SPACE(kMostFiles * sizeof(int))];
  cmsghdr alignment;
};

bool send_all(int socket, std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

Received wait_readable(int socket, std::optional<std::int64_t> deadline_ns) {
  for (;;) {
    int milliseconds = -1;
    if (deadline_ns) {
      const std::int64_t left = *deadline_ns - now_ns();
      if (left <= 0) return Received::Late;
      milliseconds = static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 1 << 30));
    }
    pollfd entry{socket, POLLIN, 0};
    const int ready = ::poll(&entry, 1, milliseconds);
    if (ready > 0) return Received::Whole;
    if (ready < 0 && errno != EINTR) return Received::Closed;
  }
}

void take_files(msghdr& header, std::vector<Descriptor>& files) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      files.emplace_back(file);
    }
  }
}

Received receive_all(int socket, std::span<std::byte> into, std::vector<Descriptor>& files,
                     std::optional<std::int64_t> deadline_ns) {
  while (!into.empty()) {
    if (const auto waited = wait_readable(socket, deadline_ns); waited != Received::Whole) return waited;
    iovec part{into.data(), into.size()};
    Control control{};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes;
    header.msg_controllen = sizeof control.bytes;
    const ssize_t size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size <= 0) return Received::Closed;
    take_files(header, files);
    into = into.subspan(static_cast<std::size_t>(size));
  }
  return Received::Whole;
}

}  // namespace

bool is_readable(int socket, std::int64_t until_ns) {
  return wait_readable(socket, until_ns) != Received::Late;
}

bool send_message(int socket, const Json& body, const std::vector<int>& files) {
  const std::vector<std::uint8_t> bytes = Json::to_cbor(body);
  ISOMER_CHECK(bytes.size() <= kLongest && files.size() <= kMostFiles);
  Head head{kMagic, static_cast<std::uint32_t>(bytes.size())};
  iovec part{&head, sizeof head};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!files.empty()) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof head) && send_all(socket, bytes);
}

Received receive_message(int socket, Message& into, std::optional<std::int64_t> deadline_ns) {
  Head head;
  into.files.clear();
  auto received = receive_all(socket, std::as_writable_bytes(std::span(&head, 1)), into.files, deadline_ns);
  if (received != Received::Whole) return received;
  if (head.magic != kMagic || head.size > kLongest) return Received::Garbage;
  std::vector<char> bytes(
      head.size);  // not of uint8_t: not every standard library has traits of such characters
  received = receive_all(socket, std::as_writable_bytes(std::span(bytes)), into.files, deadline_ns);
  if (received != Received::Whole) return received;
  into.body = json_from_cbor(bytes);
  return into.body.is_object() ? Received::Whole : Received::Garbage;
}

std::optional<std::int64_t> integer_field(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
}

std::optional<std::string> text_field(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

std::optional<bool> bool_field(const Json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_boolean()) return std::nullopt;
  return at->get<bool>();
}

const Json& array_field(const Json& object, const char* key) {
  static const Json kEmpty = Json::array();
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : kEmpty;
}

std::optional<std::vector<std::int64_t>> integers_field(const Json& object, const char* key) {
  std::vector<std::int64_t> result;
  for (const Json& element : array_field(object, key)) {
    if (!element.is_number_integer()) return std::nullopt;
    result.push_back(element.get<std::int64_t>());
  }
  return result;
}

std::vector<std::string> texts_field(const Json& object, const char* key) {
  std::vector<std::string> result;
  for (const Json& element : array_field(object, key))
    if (element.is_string()) result.push_back(element.get<std::string>());
  return result;
}

}  // namespace isomer
