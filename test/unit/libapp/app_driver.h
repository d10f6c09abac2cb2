// SPDX-License-Identifier: Apache-2.0
// app_driver -- plays Godwit for an application program: starts it with a channel and a scoreboard,
// orders workers, and speaks LSAPI with them. Every wait has a limit, after which the step fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/str.h"
#include "wire/ipc.h"
#include "wire/lsapi.h"
#include "wire/scoreboard.h"

#define DRIVER_WAIT_MS 20000

struct driver {
    int channel;
    pid_t spawner;
    struct scoreboard_record *board;
    char room[IPC_BYTES_MAX];
};

struct driver_worker {
    pid_t pid;
    int conn;   // LSAPI
    int errors; // its stderr
};

// A request; what is left out gets a usual value.
struct driver_request {
    const char *method, *script_file, *script_name, *query;
    const struct lsapi_pair *env; // besides the four and REQUEST_URI, SERVER_*, DOCUMENT_ROOT ...
    size_t env_count;
    const struct lsapi_pair *special;
    size_t special_count;
    const struct header *headers;
    size_t header_count;
    struct str body;
};

struct driver_answer {
    int status;
    struct buf head; // header lines, "Name: value\n"
    struct buf body, log;
    bool received, has_head, ended, closed;
    bool eof;        // the app closed the connection
    int32_t pid;     // pid notice; 0: none
    const char *why; // protocol error
};

// driver_start starts the program; envp is completed with GODWIT_*. False when it cannot.
MUST_USE bool driver_start(struct driver *d, const char *const *argv, const char *const *envp);

// driver_expect waits for the next packet; false when it is of another type (the real one is in
// *out then), or at end of file or after the time. out_fd may be NULL.
MUST_USE bool driver_expect(struct driver *d, enum ipc_type type, struct ipc_msg *out, int *out_fd);

// driver_order sends an order.
MUST_USE bool driver_order(struct driver *d, enum ipc_type type, uint32_t id, uint32_t index);

// driver_fork asks for a worker and waits for FORKED; *out_errors is the end to read its stderr.
bool driver_fork(struct driver *d, uint32_t id, struct ipc_msg *out_forked, int *out_errors);

// driver_worker_start orders a worker and waits until it is ready.
MUST_USE bool driver_worker_start(struct driver *d, uint32_t id, struct driver_worker *out);

// driver_wait collects the process `pid`; its wait status, -1 after the time or when it is no
// child.
int driver_wait(pid_t pid);

// driver_send writes the request; false when that fails.
MUST_USE bool driver_send(int conn, const struct driver_request *req);

// driver_receive reads until the answer has ended or the connection has; false after the time.
MUST_USE bool driver_receive(int conn, struct driver_answer *out);

// driver_exchange is both. Free *out with driver_answer_done.
MUST_USE bool driver_exchange(int conn, const struct driver_request *req,
                              struct driver_answer *out);

// driver_answer_done frees.
void driver_answer_done(struct driver_answer *a);

// driver_body_is / driver_head_has / driver_body_has look into the answer.
bool driver_body_is(const struct driver_answer *a, const char *text);
bool driver_body_has(const struct driver_answer *a, const char *text);
bool driver_head_has(const struct driver_answer *a, const char *line);

// driver_read_all reads a descriptor to its end into `out`.
MUST_USE bool driver_read_all(int fd, struct buf *out);

// driver_worker_stop closes its descriptors and collects it: wait status.
int driver_worker_stop(struct driver_worker *w);

// driver_stop tells the spawner to leave and collects it: wait status.
int driver_stop(struct driver *d);
