// Threads of a compiled model: a team that divides loops. The caller of a run is one of it; the others wait
// for work, first awake, then asleep. Needs pthreads; a module of WebAssembly has one thread.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A file is compiled in IM_SHARES shares, by as many compilers side by side. Share IM_SHARE has the functions
// whose number it is modulo IM_SHARES; the first share has everything else, too. By default there is one.
#if !defined(IM_SHARES)
#define IM_SHARES 1
#define IM_SHARE 0
#endif
#define IM_IN_SHARE(number) ((number) % IM_SHARES == IM_SHARE)
#if IM_SHARES == 1
#define IM_FUNCTION static __attribute__((noinline))
#else
#define IM_FUNCTION __attribute__((visibility("hidden"), noinline))
#endif

// While it lives, denormal numbers are zero on this thread: processors are up to a hundred times slower with
// them.
struct im_flush_denormals {
#if defined(__x86_64__) || defined(__i386__)
  unsigned before = __builtin_ia32_stmxcsr();
  im_flush_denormals() { __builtin_ia32_ldmxcsr(before | 0x8040u); }  // results, and operands
  ~im_flush_denormals() { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
  uint64_t before;
  im_flush_denormals() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before | (uint64_t)1 << 24));
  }
  ~im_flush_denormals() { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
#else
  im_flush_denormals() {}
#endif
};

#if defined(__wasm__)

struct im_team;
static inline im_team* im_team_create(int) { return NULL; }
static inline void im_team_destroy(im_team*) {}
static inline int64_t im_team_size(const im_team*) { return 1; }
static inline im_team* im_team_enter(im_team*) { return NULL; }
static inline void im_team_leave(im_team*) {}
template <class F>
static inline int im_for(im_team*, int64_t count, int64_t, const F& f) {
  return count > 0 ? f((int64_t)0, count, (int64_t)0) : 0;
}

#else
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

// Looks for work that a thread has before it sleeps: about a tenth of a millisecond, longer than most loops
// that are not divided.
enum { IM_SPINS = 2000 };
// Parts for each thread. With one part all threads wait for a thread that the system delays; but with more
// parts, more data is read twice: with two, mobilenet_v2 took a tenth longer on two threads.
#if !defined(IM_PARTS)
#define IM_PARTS 1
#endif

struct im_team {
  int64_t threads;
  // The current work: it does not change while a part of it is open.
  int (*body)(const void* what, int64_t low, int64_t high, int64_t thread);
  const void* what;
  int64_t count, size;           // `size`: of a part
  alignas(64) int64_t open;      // parts that are not taken
  alignas(64) int64_t done;      // parts that are done
  int failed;                    // whether one of them says so
  alignas(64) int is_taken;      // by a run; another one that comes meanwhile does without
  alignas(64) int64_t sleepers;  // that have to be woken
  int ends;
  pid_t owner;  // a child of this process has no threads but its own
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  struct member {
    im_team* team;
    int64_t number;
    pthread_t thread;
  }* members;
};

static inline void im_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Takes a part and does it; 0: there is none. While a thread has a part, the rest of the team stays as it is.
static inline int im_take_part(im_team* team, int64_t thread) {
  int64_t open = __atomic_load_n(&team->open, __ATOMIC_RELAXED);
  do {
    if (open == 0) return 0;
  } while (!__atomic_compare_exchange_n(&team->open, &open, open - 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
  const int64_t low = (open - 1) * team->size,
                high = low + team->size < team->count ? low + team->size : team->count;
  if (team->body(team->what, low, high, thread) != 0) __atomic_store_n(&team->failed, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&team->done, 1, __ATOMIC_RELEASE);
  return 1;
}

static inline int im_share(im_team* team, int64_t count, int64_t size, int64_t parts,
                           int (*body)(const void*, int64_t, int64_t, int64_t), const void* what) {
  team->body = body;
  team->what = what;
  team->count = count;
  team->size = size;
  __atomic_store_n(&team->failed, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&team->done, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&team->open, parts, __ATOMIC_SEQ_CST);
  // A thread announces its sleep before its last check.
  if (__atomic_load_n(&team->sleepers, __ATOMIC_SEQ_CST) > 0) {
    pthread_mutex_lock(&team->mutex);
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->mutex);
  }
  while (im_take_part(team, 0)) {
  }
  for (int64_t looks = 0; __atomic_load_n(&team->done, __ATOMIC_ACQUIRE) != parts; ++looks) {
    if (looks < IM_SPINS) im_pause();
    else sched_yield();
  }
  return __atomic_load_n(&team->failed, __ATOMIC_RELAXED);
}

// f(low, high, thread) for parts of 0 to count that begin at multiples of `grain`; what any of them returns
// that is not 0, then 1. team: NULL where there is one thread.
template <class F>
static inline int im_for(im_team* team, int64_t count, int64_t grain, const F& f) {
  if (count <= 0) return 0;
  if (team == NULL) return f((int64_t)0, count, (int64_t)0);
  const int64_t units = (count + grain - 1) / grain, most = IM_PARTS * team->threads;
  const int64_t size = (units + most - 1) / most * grain, parts = (count + size - 1) / size;
  if (parts == 1) return f((int64_t)0, count, (int64_t)0);
  return im_share(
      team, count, size, parts,
      [](const void* what, int64_t low, int64_t high, int64_t thread) {
        return (*(const F*)what)(low, high, thread);
      },
      &f);
}

static inline void* im_work(void* given) {
  const im_team::member* self = (const im_team::member*)given;
  im_team* team = self->team;
  const im_flush_denormals flush;
  for (int64_t looks = 0;;) {
    if (im_take_part(team, self->number)) {
      looks = 0;
    } else if (++looks < IM_SPINS) {
      im_pause();
    } else {
      pthread_mutex_lock(&team->mutex);
      __atomic_fetch_add(&team->sleepers, 1, __ATOMIC_SEQ_CST);
      while (__atomic_load_n(&team->open, __ATOMIC_SEQ_CST) == 0 && !team->ends)
        pthread_cond_wait(&team->wake, &team->mutex);
      __atomic_fetch_sub(&team->sleepers, 1, __ATOMIC_SEQ_CST);
      const int ends = team->ends;
      pthread_mutex_unlock(&team->mutex);
      if (ends) return NULL;
      looks = 0;
    }
  }
}

static inline void im_team_destroy(im_team* team) {
  if (team == NULL) return;
  if (team->owner == getpid()) {
    pthread_mutex_lock(&team->mutex);
    team->ends = 1;
    pthread_cond_broadcast(&team->wake);
    pthread_mutex_unlock(&team->mutex);
    for (int64_t k = 1; k < team->threads; ++k) pthread_join(team->members[k - 1].thread, NULL);
    pthread_cond_destroy(&team->wake);
    pthread_mutex_destroy(&team->mutex);
  }
  free(team->members);
  free(team);
}

// As many threads as there can be, up to `threads`; NULL: one.
static inline im_team* im_team_create(int threads) {
  if (threads <= 1) return NULL;
  im_team* team = (im_team*)aligned_alloc(64, sizeof(im_team));
  if (team == NULL) return NULL;
  memset((void*)team, 0, sizeof(im_team));
  team->members = (im_team::member*)calloc((size_t)threads, sizeof(im_team::member));
  if (team->members == NULL) {
    free(team);
    return NULL;
  }
  team->owner = getpid();
  team->threads = 1;
  pthread_mutex_init(&team->mutex, NULL);
  pthread_cond_init(&team->wake, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)8 << 20);
  sigset_t all, before;  // signals are for the threads of the program
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int k = 1; k < threads; ++k) {
    im_team::member* member = &team->members[k - 1];
    member->team = team;
    member->number = k;
    if (pthread_create(&member->thread, &attributes, im_work, member) != 0) break;
    ++team->threads;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  if (team->threads > 1) return team;
  im_team_destroy(team);
  return NULL;
}
static inline int64_t im_team_size(const im_team* team) { return team == NULL ? 1 : team->threads; }

// A run takes the team, if no other has it.
static inline im_team* im_team_enter(im_team* team) {
  if (team == NULL || __atomic_exchange_n(&team->is_taken, 1, __ATOMIC_ACQUIRE) != 0) return NULL;
  return team;
}
static inline void im_team_leave(im_team* team) {
  if (team != NULL) __atomic_store_n(&team->is_taken, 0, __ATOMIC_RELEASE);
}
#endif
