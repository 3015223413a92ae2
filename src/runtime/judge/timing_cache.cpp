#include "runtime/judge/timing_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/hash.h"
#include "io/onnx/descriptor.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr int kApplication = 0x49736f6d;  // "Isom": whose file this is
constexpr int kSchema = 1;
constexpr int kPatienceMs = 20'000;  // for another process's transaction

constexpr const char* kCreate =
    "CREATE TABLE IF NOT EXISTS timing(key TEXT PRIMARY KEY, description TEXT NOT NULL, samples BLOB NOT "
    "NULL, "
    "made INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS note(key TEXT PRIMARY KEY, text TEXT NOT NULL, made INTEGER NOT NULL) "
    "WITHOUT "
    "ROWID;";

bool means_damage(int code) {
  code &= 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_FORMAT;
}

std::string digest_of(const std::string& text) { return Hasher().add(std::string_view(text)).digest().hex(); }

wire::FileIdentity identity_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? wire::identity(status) : wire::FileIdentity{};
}

// One process at a time decides what becomes of the file.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : file_(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_.is_open()) (void)::flock(file_.get(), LOCK_EX);
  }

 private:
  wire::Descriptor file_;
};

}  // namespace

struct TimingCache::Database {
  sqlite3* handle = nullptr;
  sqlite3_stmt* find = nullptr;
  sqlite3_stmt* store = nullptr;
  wire::FileIdentity file = {};
  ~Database() {
    sqlite3_finalize(find);
    sqlite3_finalize(store);
    sqlite3_close(handle);
  }
  int run(const char* sql) { return sqlite3_exec(handle, sql, nullptr, nullptr, nullptr); }
  // The integer that a statement answers, or the code of its failure.
  std::pair<int, std::int64_t> ask(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(handle, sql, -1, &statement, nullptr);
    std::int64_t value = 0;
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    if (code == SQLITE_ROW) value = sqlite3_column_int64(statement, 0), code = SQLITE_OK;
    sqlite3_finalize(statement);
    return {code, value};
  }
  int open(const std::string& path) {
    int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    if (code != SQLITE_OK) return code;
    sqlite3_busy_timeout(handle, kPatienceMs);
    const auto [asked, tables] = ask("SELECT count(*) FROM sqlite_master");
    if (asked != SQLITE_OK) return asked;
    const std::int64_t application = ask("PRAGMA application_id").second;
    const std::int64_t schema = ask("PRAGMA user_version").second;
    if (tables > 0 && (application != kApplication || schema != kSchema)) return SQLITE_NOTADB;  // not ours
    const std::string mark =
        fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id={}; PRAGMA user_version={}; COMMIT;", kCreate,
                    kApplication, kSchema);
    for (const std::string& statement :
         {std::string("PRAGMA journal_mode=WAL"),
          std::string("PRAGMA synchronous=FULL"),        // acknowledged is on the disk
          tables == 0 ? mark : std::string(kCreate)}) {  // a file may be from before there were notes
      code = run(statement.c_str());
      if (code != SQLITE_OK) return code;
    }
    code = sqlite3_prepare_v2(handle, "SELECT samples, description FROM timing WHERE key = ?", -1, &find,
                              nullptr);
    if (code != SQLITE_OK) return code;
    return sqlite3_prepare_v2(handle, "INSERT OR REPLACE INTO timing VALUES(?, ?, ?, ?)", -1, &store,
                              nullptr);
  }
};

TimingCache::TimingCache() = default;
TimingCache::~TimingCache() = default;

std::unique_ptr<TimingCache> TimingCache::open(const std::string& path) {
  std::unique_ptr<TimingCache> cache(new TimingCache);
  cache->path_ = path;
  std::error_code failure;
  fs::create_directories(fs::path(path).parent_path(), failure);
  const FileLock lock(path);
  cache->connect();
  return cache;
}

bool TimingCache::connect() {
  for (const bool is_last : {false, true}) {
    database_ = std::make_unique<Database>();
    const int code = database_->open(path_);
    if (code == SQLITE_OK) {
      database_->file = identity_of(path_);
      return true;
    }
    const char* why = sqlite3_errstr(code);
    database_.reset();
    if (!means_damage(code) || is_last) {
      trouble_ = fmt::format("{}: {}; nothing is kept", path_, why);
      return false;
    }
    set_aside(why);
  }
  return false;
}

// Under the lock: a second process finds a new file and leaves it.
void TimingCache::set_aside(const char* why) {
  const std::string aside = fmt::format("{}.set-aside-{}-{}", path_, std::time(nullptr), ::getpid());
  std::error_code failure;
  fs::rename(path_, aside, failure);
  for (const char* ending : {"-wal", "-shm"}) fs::rename(path_ + ending, aside + ending, failure);
  trouble_ =
      fmt::format("{} was damaged or no cache of Isomer ({}); it was renamed to {}", path_, why, aside);
}

// Damage that shows only when a page is read. The file may have been set aside by another process meanwhile.
bool TimingCache::reconnect_after(int code) {
  if (!means_damage(code)) return false;
  const FileLock lock(path_);
  const bool is_same = database_ && database_->file == identity_of(path_);
  database_.reset();
  if (is_same) set_aside(sqlite3_errstr(code));
  return connect();
}

std::optional<TimingSamples> TimingCache::find(const TimingKey& key) {
  const std::scoped_lock alone(one_at_a_time_);
  if (!database_) return std::nullopt;
  const std::string text = key.text(), digest = digest_of(text);
  sqlite3_stmt* statement = database_->find;
  sqlite3_bind_text(statement, 1, digest.data(), static_cast<int>(digest.size()), SQLITE_STATIC);
  const int code = sqlite3_step(statement);
  std::optional<TimingSamples> found;
  if (code == SQLITE_ROW) {
    const auto column = [&](int i) {
      return std::string(static_cast<const char*>(sqlite3_column_blob(statement, i)),
                         static_cast<std::size_t>(sqlite3_column_bytes(statement, i)));
    };
    if (column(1) == text) found = samples_from(column(0));  // the whole key, not only its digest
  }
  sqlite3_reset(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) reconnect_after(code);
  return found;
}

bool TimingCache::store(const TimingKey& key, const TimingSamples& samples) {
  const std::string text = key.text(), digest = digest_of(text), bytes = to_bytes(samples);
  const std::scoped_lock alone(one_at_a_time_);
  for (const bool is_last : {false, true}) {
    if (!database_) return false;
    sqlite3_stmt* statement = database_->store;
    sqlite3_bind_text(statement, 1, digest.data(), static_cast<int>(digest.size()), SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, std::time(nullptr));
    const int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    if (code == SQLITE_DONE) return true;
    if (is_last || !reconnect_after(code)) {
      if (trouble_.empty()) trouble_ = fmt::format("{}: {}", path_, sqlite3_errstr(code));
      return false;
    }
  }
  return false;
}

std::optional<std::string> TimingCache::note(const std::string& key) {
  const std::scoped_lock alone(one_at_a_time_);
  if (!database_) return std::nullopt;
  sqlite3_stmt* statement = nullptr;
  std::optional<std::string> found;
  if (sqlite3_prepare_v2(database_->handle, "SELECT text FROM note WHERE key = ?", -1, &statement, nullptr) ==
      SQLITE_OK) {
    sqlite3_bind_text(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW)
      found = std::string(static_cast<const char*>(sqlite3_column_blob(statement, 0)),
                          static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
  }
  sqlite3_finalize(statement);
  return found;
}

bool TimingCache::keep_note(const std::string& key, const std::string& text) {
  const std::scoped_lock alone(one_at_a_time_);
  if (!database_) return false;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(database_->handle, "INSERT OR REPLACE INTO note VALUES(?, ?, ?)", -1,
                                &statement, nullptr);
  if (code == SQLITE_OK) {
    sqlite3_bind_text(statement, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, std::time(nullptr));
    code = sqlite3_step(statement);
  }
  sqlite3_finalize(statement);
  return code == SQLITE_DONE;
}

std::uint64_t TimingCache::bytes() const {
  std::uint64_t all = 0;
  for (const char* ending : {"", "-wal"}) {
    std::error_code failure;
    const auto size = fs::file_size(path_ + ending, failure);
    if (!failure) all += size;
  }
  return all;
}

void TimingCache::shrink_to(std::uint64_t bytes) {
  const std::scoped_lock alone(one_at_a_time_);
  constexpr int kRounds = 20;  // a quarter of all goes in each
  for (int round = 0; database_ && round<kRounds&& this->bytes()> bytes; ++round) {
    const bool is_done =
        database_->run(
            "DELETE FROM timing WHERE key IN (SELECT key FROM timing ORDER BY made LIMIT (SELECT "
            "count(*) / 4 + 1 FROM timing));"
            "DELETE FROM note WHERE key IN (SELECT key FROM note ORDER BY made LIMIT (SELECT "
            "count(*) / 4 + 1 FROM note));"
            "VACUUM; PRAGMA wal_checkpoint(TRUNCATE);") == SQLITE_OK;
    const bool is_empty =
        database_->ask("SELECT (SELECT count(*) FROM timing) + (SELECT count(*) FROM note)").second == 0;
    if (!is_done || is_empty) return;
  }
}

std::size_t TimingCache::size() {
  const std::scoped_lock alone(one_at_a_time_);
  return database_ ? static_cast<std::size_t>(database_->ask("SELECT count(*) FROM timing").second) : 0;
}

}  // namespace isomer
