// SPDX-License-Identifier: Apache-2.0
// prefork -- see prefork.h.
//
// A manager and its children share the listening socket. The manager forks for a connection only
// when no child waits for one; a child whose connection has ended waits for the next until it has
// idled too long. Other than stock programs the manager never ends a child that idles on an open
// connection: keeping connections is the server's choice.
#include "prefork.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "os/sock.h"
#include "quit.h"
#include "worker.h"

#define CHILDREN_MAX  10000
#define TICK_MS       1000    // how often parent, limits and idle times are looked at
#define YIELD_US      400     // for a waiting child to take the connection
#define FULL_MS       100     // before looking again when all children are taken
#define KILL_AFTER_US 7000000 // from SIGTERM to SIGKILL for an overdue request
#define STOP_US       5000000 // children's time to leave when the manager ends

// What the manager knows of a child; the child writes all but the pid.
struct seat {
    pid_t pid; // 0: free
    _Atomic bool is_waiting;
    _Atomic uint64_t busy_since_us; // 0: no request
};

struct manager {
    const struct godwit_app_hooks *hooks;
    const struct prefork_settings *set;
    struct seat *seats;
    uint32_t seat_count, child_count;
    uint64_t empty_since_us;
    int listener;
    bool said_full;
};

static volatile sig_atomic_t stopping;

// The process at hand, for the worker's callbacks, which have no argument.
static struct {
    const struct prefork_settings *set;
    struct seat *seat; // NULL: no manager
    pid_t parent;
    uint32_t idle_ticks;
} self;

// ---- settings

static uint64_t env_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value;
    return text && str_to_u64(str_c(text), &value) && value <= UINT32_MAX ? value : otherwise;
}

void prefork_settings_read(struct prefork_settings *out)
{
    uint64_t children = env_number("PHP_LSAPI_CHILDREN", env_number("LSAPI_CHILDREN", 0));
    if (children > CHILDREN_MAX)
        children = CHILDREN_MAX;
    const char *avoid = getenv("LSAPI_AVOID_FORK");
    bool avoid_fork = avoid && strcmp(avoid, "0") != 0;
    uint64_t extra = env_number("LSAPI_EXTRA_CHILDREN", avoid_fork ? 0 : children / 3);
    *out = (struct prefork_settings){
        .children = (uint32_t)children,
        .extra = (uint32_t)(extra < CHILDREN_MAX ? extra : CHILDREN_MAX),
        .idle_s = (uint32_t)env_number("LSAPI_MAX_IDLE", 300),
        .all_idle_s = (uint32_t)env_number("LSAPI_PGRP_MAX_IDLE", 0),
        .requests_max = env_number("PHP_LSAPI_MAX_REQUESTS", env_number("LSAPI_MAX_REQS", 0)),
        .process_s = (uint32_t)env_number("LSAPI_MAX_PROCESS_TIME", 3600),
        .keep_listening = env_number("LSAPI_KEEP_LISTEN", 1) != 0,
        .notify = env_number("LSAPI_ACCEPT_NOTIFY", 0) != 0,
        .follow_parent = !getenv("LSAPI_PPID_NO_CHECK"),
    };
}

// ---- a process that serves

static bool parent_is_here(void)
{
    return !self.set->follow_parent || getppid() == self.parent;
}

static bool keep_waiting(void)
{
    return ++self.idle_ticks < self.set->idle_s && parent_is_here();
}

static void on_busy(bool busy)
{
    self.idle_ticks = 0;
    if (self.seat)
        atomic_store(&self.seat->busy_since_us, busy ? clock_mono_us() : 0);
}

static void worker_init(struct worker *w, const struct godwit_app_hooks *hooks)
{
    *w = (struct worker){.hooks = hooks,
                         .requests_max = self.set->requests_max,
                         .keep_waiting = keep_waiting,
                         .on_busy = on_busy};
}

// Makes reads return now and then, so that an idle process sees its parent's end.
static void use_ticks(int fd)
{
    struct timeval tick = {.tv_sec = TICK_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
}

// Waits for a connection: descriptor, or FD_NONE when the process is to end.
static int wait_for_connection(int listener)
{
    self.idle_ticks = 0;
    while (!quit_wanted() && parent_is_here()) {
        struct pollfd entry = {.fd = listener, .events = POLLIN};
        int ready = poll(&entry, 1, TICK_MS);
        if (ready == 0 && ++self.idle_ticks >= self.set->idle_s)
            break;
        if (ready <= 0)
            continue;
        struct sock_addr peer;
        int fd = sock_accept(listener, &peer);
        if (fd >= 0) {
            fd_set_nonblock(fd, false);
            use_ticks(fd);
            return fd;
        }
    }
    return FD_NONE;
}

// Takes connections one after another until told to end.
static void serve_connections(struct worker *w, int listener)
{
    for (;;) {
        if (self.seat)
            atomic_store(&self.seat->is_waiting, true);
        int fd = wait_for_connection(listener);
        if (self.seat)
            atomic_store(&self.seat->is_waiting, false);
        if (fd == FD_NONE)
            return;
        w->ack = self.set->notify ? WORKER_ACK_ONCE : WORKER_ACK_EACH;
        if (!worker_serve(w, fd))
            return;
    }
}

int prefork_connected(const struct godwit_app_hooks *hooks, const struct prefork_settings *set,
                      int fd)
{
    struct worker worker;
    self.set = set;
    self.parent = getppid();
    worker_init(&worker, hooks);
    if (worker_boot(&worker) != 0)
        return 1;
    worker.ack = set->notify ? WORKER_ACK_NEVER : WORKER_ACK_EACH;
    use_ticks(fd);
    worker_serve(&worker, fd);
    worker_leave(&worker);
    return 0;
}

// ---- a child

static int child_run(struct manager *m, struct seat *seat, pid_t manager, int fd)
{
    struct worker worker;
    self.seat = seat;
    self.parent = manager;
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    (void)signal(SIGUSR1, SIG_DFL);
    if (m->set->follow_parent && !proc_die_with_parent(SIGTERM, manager))
        return 1;
    worker_init(&worker, m->hooks);
    if (worker_boot(&worker) != 0)
        return 1;
    worker.ack = m->set->notify ? WORKER_PID_ONLY : WORKER_PID_THEN_ACK;
    if (worker_serve(&worker, fd) && m->set->keep_listening)
        serve_connections(&worker, m->listener);
    worker_leave(&worker);
    return 0;
}

// ---- the manager

static void on_stop(int signal)
{
    (void)signal;
    stopping = 1;
}

static void nap_us(long us)
{
    struct timespec span = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&span, NULL);
}

static void reap(struct manager *m)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        for (uint32_t i = 0; i < m->seat_count; i++) {
            if (m->seats[i].pid == pid) {
                m->seats[i].pid = 0;
                m->child_count--;
                break;
            }
        }
    }
    if (m->child_count)
        m->empty_since_us = clock_mono_us();
}

static bool some_child_waits(const struct manager *m)
{
    for (uint32_t i = 0; i < m->seat_count; i++)
        if (m->seats[i].pid && atomic_load(&m->seats[i].is_waiting))
            return true;
    return false;
}

static void end_overdue(const struct manager *m)
{
    uint64_t now_us = clock_mono_us();
    uint64_t limit_us = (uint64_t)m->set->process_s * 1000000;
    for (uint32_t i = 0; i < m->seat_count; i++) {
        uint64_t since_us = atomic_load(&m->seats[i].busy_since_us);
        if (!m->seats[i].pid || !since_us || now_us < since_us + limit_us)
            continue;
        kill(m->seats[i].pid, now_us < since_us + limit_us + KILL_AFTER_US ? SIGTERM : SIGKILL);
    }
}

static void say_full(struct manager *m)
{
    char text[96];
    if (m->said_full)
        return;
    m->said_full = true;
    int len = snprintf(text, sizeof text, "godwit-app: all %u children are taken\n", m->seat_count);
    godwit_app_log(NULL, text, (size_t)len);
}

// Forks for a connection, if there is a seat. True in the child, whose exit status is *out_status.
static bool fork_child(struct manager *m, int *out_status)
{
    struct sock_addr peer;
    struct seat *seat = m->seats;
    while (seat->pid) // the caller knows that one is free
        seat++;
    int fd = sock_accept(m->listener, &peer);
    if (fd < 0)
        return false;
    fd_set_nonblock(fd, false);
    use_ticks(fd);
    atomic_store(&seat->is_waiting, false);
    atomic_store(&seat->busy_since_us, 0);
    pid_t manager = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        *out_status = child_run(m, seat, manager, fd);
        return true;
    }
    fd_close(&fd);
    if (pid < 0) {
        nap_us(FULL_MS * 1000);
        return false;
    }
    seat->pid = pid;
    m->child_count++;
    m->said_full = false;
    return false;
}

static void stop_children(struct manager *m)
{
    uint64_t until_us = clock_mono_us() + STOP_US;
    for (int sig = SIGTERM; m->child_count; sig = 0) {
        bool late = clock_mono_us() > until_us;
        for (uint32_t i = 0; i < m->seat_count; i++)
            if (m->seats[i].pid && (sig || late))
                kill(m->seats[i].pid, late ? SIGKILL : sig);
        nap_us(FULL_MS * 100);
        reap(m);
    }
}

static bool manager_goes_on(const struct manager *m)
{
    if (stopping || !parent_is_here())
        return false;
    return !m->set->all_idle_s || m->child_count
           || clock_mono_us() - m->empty_since_us < (uint64_t)m->set->all_idle_s * 1000000;
}

static int manage(struct manager *m)
{
    static const int STOP_SIGNALS[] = {SIGTERM, SIGINT, SIGQUIT, SIGUSR1};
    struct sigaction action = {.sa_handler = on_stop};
    int status;
    for (size_t i = 0; i < ARRAY_LEN(STOP_SIGNALS); i++)
        sigaction(STOP_SIGNALS[i], &action, NULL);
    m->empty_since_us = clock_mono_us();
    while (manager_goes_on(m)) {
        struct pollfd entry = {.fd = m->listener, .events = POLLIN};
        int ready = poll(&entry, 1, TICK_MS);
        reap(m);
        end_overdue(m);
        if (ready <= 0)
            continue;
        if (some_child_waits(m)) {
            nap_us(YIELD_US);
        } else if (m->child_count == m->seat_count) {
            say_full(m);
            nap_us(FULL_MS * 1000);
        } else if (fork_child(m, &status)) {
            return status;
        }
    }
    stop_children(m);
    return 0;
}

int prefork_listening(const struct godwit_app_hooks *hooks, const struct prefork_settings *set,
                      int fd)
{
    self.set = set;
    self.parent = getppid();
    if (sock_adopt(fd) < 0)
        return 1;
    if (set->children <= 1) {
        struct worker worker;
        worker_init(&worker, hooks);
        if (worker_boot(&worker) != 0)
            return 1;
        serve_connections(&worker, fd);
        worker_leave(&worker);
        return 0;
    }
    struct manager m = {
        .hooks = hooks, .set = set, .seat_count = set->children + set->extra, .listener = fd};
    m.seats = mmap(NULL, m.seat_count * sizeof *m.seats, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return m.seats == MAP_FAILED ? 1 : manage(&m);
}
