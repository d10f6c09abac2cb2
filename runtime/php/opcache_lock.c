// SPDX-License-Identifier: Apache-2.0
// opcache_lock -- opcache's read lock without system calls. See php_runtime.h.
//
// Who uses opcache's shared memory holds a read lock on byte 1 of a nameless file from the first
// script of a request to its end, so that nobody empties the memory meanwhile: two calls of fcntl
// in each request, an eighth of what hello.php costs. Here a flag in memory that the workers share
// stands for that lock. The other locks, taken rarely, stay the kernel's:
//
//   byte 0          opcache's write lock
//   byte 2          opcache's restart
//   byte FIRST + n  held by the worker that owns flag n until its end, however it ends: a flag of
//                   which nobody holds the byte was left by a dead worker and does not count
//
// opcache calls fcntl by its name, and a program's definition comes before a library's. Calls that
// are not about that file pass through. Where opcache is bound to the C library's all the same,
// everything works as without this file.
#include <build-defs.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <php.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "php_runtime.h"

#define USERS_MAX 1024 // further workers use the kernel's lock
#define FIRST     1000
#define NOBODY    (-1)

// A cache line each: workers do not disturb each other.
struct flag {
    _Alignas(64) atomic_bool is_held;
};

static struct flag *flags; // NULL: this file does nothing
static int (*real_fcntl)(int fd, int cmd, ...);
static int lock_file = NOBODY;    // opcache's
static int refused_file = NOBODY; // looked at last, another one
static int own = NOBODY;
static bool is_full;      // all flags were taken when this worker looked for one
static bool holds_others; // perhaps: locks of the kernel's

static int set_lock(short type, off_t start, off_t len)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
    return real_fcntl(lock_file, F_SETLK, &lock);
}

// A lock that opcache takes of a file of this name is the lock in question.
static bool is_opcaches(int fd)
{
    char link[64];
    char name[512];
    // There is one; a later file with such a name is a script's.
    if (lock_file != NOBODY || fd == refused_file)
        return fd == lock_file;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof name - 1);
    name[len > 0 ? len : 0] = '\0';
    if (!strstr(name, "/.ZendSem.") && !strstr(name, "opcache_lock")) {
        refused_file = fd;
        return false;
    }
    lock_file = fd;
    return true;
}

static bool find_flag(void)
{
    for (int i = 0; own == NOBODY && !is_full && i < USERS_MAX; i++) {
        if (set_lock(F_WRLCK, FIRST + i, 1) == 0) {
            atomic_store(&flags[i].is_held, false);
            own = i;
        }
    }
    is_full = own == NOBODY;
    return !is_full;
}

// As F_GETLK answers whether byte 1 is locked by another process.
static int look_for_users(struct flock *lock)
{
    struct flock found = *lock;
    int rc = real_fcntl(lock_file, F_GETLK, &found);
    for (int i = 0; rc == 0 && found.l_type == F_UNLCK && i < USERS_MAX; i++) {
        if (i == own || !atomic_load(&flags[i].is_held))
            continue;
        found = (struct flock){
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = FIRST + i, .l_len = 1};
        rc = real_fcntl(lock_file, F_GETLK, &found);
    }
    if (rc == 0) {
        lock->l_type = found.l_type;
        lock->l_pid = found.l_pid;
    }
    return rc;
}

static int release_all(void)
{
    if (own != NOBODY)
        atomic_store(&flags[own].is_held, false);
    if (!holds_others)
        return 0;
    holds_others = false;
    return set_lock(F_UNLCK, 0, FIRST);
}

static bool is_span(const struct flock *lock, off_t start, off_t len)
{
    return lock->l_whence == SEEK_SET && lock->l_start == start && lock->l_len == len;
}

// True when the call is answered, in *out.
static bool answer(int fd, int cmd, struct flock *lock, int *out)
{
    if (!is_opcaches(fd))
        return false;
    if (cmd == F_GETLK && is_span(lock, 1, 1)) {
        *out = look_for_users(lock);
        return true;
    }
    if (cmd == F_SETLK && lock->l_type == F_RDLCK && is_span(lock, 1, 1) && find_flag()) {
        atomic_store(&flags[own].is_held, true);
        *out = 0;
        return true;
    }
    if (cmd == F_SETLK && lock->l_type == F_UNLCK && is_span(lock, 0, 0)) {
        *out = release_all();
        return true;
    }
    if (cmd != F_GETLK && lock->l_type != F_UNLCK)
        holds_others = true;
    return false;
}

// The C library has two names for it, the same where offsets have 64 bits. Its header turns one
// into the other, so the names are given to the linker.
int opcache_lock_fcntl(int fd, int cmd, void *arg) __asm__("fcntl");
int opcache_lock_fcntl64(int fd, int cmd, void *arg) __asm__("fcntl64");

__attribute__((visibility("default"))) int opcache_lock_fcntl(int fd, int cmd, void *arg)
{
    int result;
    if (!real_fcntl) {
        void *found = dlsym(RTLD_NEXT, "fcntl");
        memcpy(&real_fcntl, &found, sizeof found);
    }
    if (flags && (cmd == F_SETLK || cmd == F_SETLKW || cmd == F_GETLK)
        && answer(fd, cmd, arg, &result))
        return result;
    return real_fcntl(fd, cmd, arg);
}

__attribute__((visibility("default"))) int opcache_lock_fcntl64(int fd, int cmd, void *arg)
{
    return opcache_lock_fcntl(fd, cmd, arg);
}

// Locks are not inherited.
static void on_forked(void)
{
    own = NOBODY;
    is_full = holds_others = false;
}

void opcache_lock_start(void)
{
    if (pthread_atfork(NULL, NULL, on_forked) != 0)
        return;
    void *memory = mmap(NULL, USERS_MAX * sizeof *flags, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    flags = memory;
    // PHP loads extensions in a way that prefers the C library's definitions (RTLD_DEEPBIND); one
    // that is loaded already stays bound as it is. Whether it gets used is for php.ini to say.
    dlopen(PHP_EXTENSION_DIR "/opcache.so", RTLD_NOW | RTLD_GLOBAL);
}
