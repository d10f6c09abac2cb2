// SPDX-License-Identifier: Apache-2.0
// rig -- a keeper in a process of its own, with children that the test plays: the server's messages
// come here. All waits have a deadline; what is not as expected fails the test.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "keeper/plan.h"
#include "os/fd.h"
#include "os/sock.h"
#include "wire/ipc.h"

#define RIG_LISTENERS_MAX 4
#define RIG_APPS_MAX      4
#define RIG_WAIT_MS       10000 // longest wait for what must come

struct rig {
    char dir[64];
    char runtime[96]; // runtime directory of the instance
    pid_t keeper;
    int keeper_pidfd;
    int test_fd;      // where servers connect
    int notify_fd;    // where the keeper tells its state
    int terminal_fd;  // master of a terminal to start the keeper at; FD_NONE
    int inherited_fd; // a listening socket to start the keeper with; FD_NONE

    // What the loader will send; written by rig_write_plan.
    struct plan plan;
    struct plan_listener listeners[RIG_LISTENERS_MAX];
    struct plan_log logs[1];
    struct plan_app apps[RIG_APPS_MAX];
    char texts[RIG_LISTENERS_MAX][128];
    const char *argvs[RIG_APPS_MAX][4];

    // The server, when one is connected.
    int server_fd;
    pid_t server;
    uint32_t gen, threads;               // of the last PREPARE
    int listener_fds[RIG_LISTENERS_MAX]; // of that generation, in the order of the plan
    size_t listener_count;
    int control_fd;

    // The last message of rig_expect.
    char room[IPC_BYTES_MAX];
    struct ipc_msg msg;
    int fds[FD_TAKE_MAX];
    size_t fd_count;
};

// rig_setup makes a rig with a plan of one listener (127.0.0.1, any port) and no app: a cmocka
// fixture.
int rig_setup(void **state);

// rig_teardown ends everything that is left, by force.
int rig_teardown(void **state);

// rig_listen adds an address to the plan.
void rig_listen(struct rig *r, const char *address);

// rig_app adds an app to the plan whose spawner behaves as `mode` says (fake_role.c); returns it.
struct plan_app *rig_app(struct rig *r, const char *name, const char *mode);

// rig_write_plan makes the plan what the next loader sends.
void rig_write_plan(struct rig *r);

// rig_order makes the next loader do something else: "crash", "hang", or report this text as
// errors. NULL: send the plan again.
void rig_order(struct rig *r, const char *order);

// rig_start writes the plan and starts the keeper.
void rig_start(struct rig *r);

// rig_start_serving is rig_start, and a server that has prepared and was told to commit.
void rig_start_serving(struct rig *r);

// rig_accept waits for a server to connect and takes its messages up to PREPARE.
void rig_accept(struct rig *r);

// rig_prepare takes messages up to PREPARE.
void rig_prepare(struct rig *r);

// rig_commit says PREPARED and expects COMMIT.
void rig_commit(struct rig *r);

// rig_expect takes the next message, which must be of this type; APP_LOG and APP_INFO are passed
// over unless asked for.
void rig_expect(struct rig *r, enum ipc_type type);

// rig_expect_text expects the last message's text to hold `part`.
void rig_expect_text(const struct rig *r, const char *part);

// rig_send sends a message as the server.
void rig_send(struct rig *r, const struct ipc_msg *msg);

// rig_start_worker asks for a worker of the app.
void rig_start_worker(struct rig *r, const char *app, uint32_t id);

// rig_notified waits until the keeper has told its manager a line.
void rig_notified(struct rig *r, const char *line);

// rig_port is the port of a listening socket.
unsigned rig_port(int fd);

// rig_connects tells whether somebody listens at 127.0.0.1:`port`.
bool rig_connects(unsigned port);

// rig_echoes tells whether the worker at the other end of `fd` answers.
bool rig_echoes(int fd);

// rig_wait_gone waits until a process (not a child of the test) has ended.
void rig_wait_gone(pid_t pid);

// rig_wait_end waits for the keeper's exit and expects that nothing is left: no process, no file.
// Returns its exit status.
int rig_wait_end(struct rig *r);

// rig_stop ends the keeper with SIGTERM and a server that obeys; expects a clean end.
void rig_stop(struct rig *r);

// rig_log_has tells whether the keeper's log holds `part`.
bool rig_log_has(const struct rig *r, const char *part);

// rig_path returns DIR/name, in memory that lasts until the next call.
const char *rig_path(const struct rig *r, const char *name);
