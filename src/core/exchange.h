// SPDX-License-Identifier: Apache-2.0
// exchange -- one request and its answer: the meeting point of fronts, backends and features. Knows
// no protocol version and no feature. Lives on one thread.
//
//   front: exchange_new -> fills req -> exchange_start
//     -> PARSED -> (site, path, phases) -> HANDLED -> respond -> SENDING -> exchange_end -> logged,
//     freed
//   abort (client gone, or front cannot go on): exchange_abort; the handler's on_abort lets go,
//   then exchange_end.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/list.h"
#include "base/str.h"
#include "core/body.h"
#include "core/snapshot.h"
#include "core/target.h"
#include "core/thread.h"
#include "http/header.h"
#include "http/method.h"
#include "os/sock.h"

struct exchange;
struct module;

// What a protocol supplies.
struct front_ops {
    // respond: resp is complete but for its body's bytes. The front only takes note: it sends the
    // head, pulls resp.body and calls exchange_end after the caller has returned, so that who
    // answers may touch the exchange to the end of its callback.
    void (*respond)(struct exchange *ex);
    // unsent_bytes: how much of what was pulled has not reached the client. It changes while the
    // client reads, however slowly. NULL: not known.
    uint64_t (*unsent_bytes)(const struct exchange *ex);
};

struct request {
    enum http_method method;
    struct str method_text;
    struct str target; // as received
    struct str path;   // decoded, dot segments removed, begins with "/"
    struct str query;  // without "?", as received
    bool has_query;
    unsigned version;           // 9, 10, 11, 20, 30
    struct str line;            // "GET /x HTTP/1.1" as received or rebuilt
    struct header_list headers; // without hop-by-hop ones the front used up; names as received
    struct str host;            // lower case, without port; empty when none was sent
    unsigned host_port;         // as the client wrote it; 0: none
    int64_t content_length;     // -1: no body or not known in advance
    bool has_body;
    struct body *body; // NULL when there is none; closed by exchange_end
};

struct response {
    int status;
    struct str reason; // empty: the standard text
    struct header_list
        headers; // without Date, Server, Connection, Content-Length, Transfer-Encoding: the front's
    struct body *body; // NULL: none; closed by exchange_end. body->length makes Content-Length
    bool close;        // end the connection after this answer
    bool drop;         // end the connection instead of sending it; status is for the log
};

// Facts for the access log and `status`, filled by whoever knows them.
struct exchange_facts {
    uint64_t start_us; // first byte of the head seen (monotonic)
    int64_t start_wall_us;
    struct str app; // name
    int32_t worker_pid;
    uint64_t queue_us;        // waited for a slot
    uint64_t backend_us;      // from handing over to the last byte of the answer
    uint64_t body_sent_bytes; // of the response body, on the wire's payload
    bool cut;                 // the answer could not be completed
    bool aborted;             // the client left first
    struct str user;          // authenticated
    struct str cause;         // for 5xx of ours: one sentence: limit, value, setting
};

struct peer { // of one connection; outlives its exchanges
    struct sock_addr addr, local;
    char ip[SOCK_TEXT_MAX], local_ip[SOCK_TEXT_MAX];
    unsigned port, local_port;
    bool is_tls;
    bool is_control; // the instance's own Unix socket
};

// What was asked for before the server has put another path in its place.
struct exchange_origin {
    struct str path, query, method;
    int status; // 200: rewritten; else that of the refusal which the path is to explain
};

struct exchange {
    uint32_t magic;
    struct arena arena;
    char id[17];
    struct thread *thread;
    struct snapshot *snapshot;
    const struct site *site;
    const struct path *path;
    const struct peer *peer;
    const struct front_ops *front;
    void *front_data;
    struct request req;
    struct response resp;
    struct target target;                 // what the URL names in the file system, once looked up
    const struct exchange_origin *origin; // of the last rewrite; NULL: the path is the client's
    struct exchange_facts facts;
    // The handler that took it (PHASE_DONE before an answer): told once when the exchange is
    // aborted.
    void (*on_abort)(struct exchange *ex);
    void *handler_data;
    // From when on a client that closes its direction has left, says the handler; 0: it may want
    // its answer all the same.
    uint64_t leaves_after_us;
    // private
    struct list_node node; // in the thread's list
    unsigned phase, rewrites;
    size_t module; // where the walk goes on: an index of module_at
    bool walking, restart, responded, aborted;
    const char *rejected_for; // NULL: it was understood
    void **module_data;       // by module->index; NULL: none has any
    struct loop_task divert;
    struct str divert_path;
    struct str dir_path; // asked for before exchange_narrow; empty: not called
    char scope[24];
};

// exchange_new begins one on `t` with the current snapshot. Never NULL.
struct exchange *exchange_new(struct thread *t, const struct peer *peer,
                              const struct front_ops *front, void *front_data);

// exchange_start finds site and path and walks the phases. respond may come before it returns.
void exchange_start(struct exchange *ex);

// exchange_reject answers `status` to a request that could not be understood (`reason`: a few
// words, static; the page shows them), in the name of the site of req.host, or of that for unknown
// hosts when it is not known, without walking the phases. Instead of exchange_start. The answer may
// come after it has returned: a module may have a page for it.
void exchange_reject(struct exchange *ex, int status, const char *reason);

// exchange_is_rejected tells whether exchange_reject was called: what of the request is there is
// not to be trusted.
bool exchange_is_rejected(const struct exchange *ex);

// exchange_set_control sets who answers the exchanges of control connections (peer.is_control):
// these have no site and walk no phases. Before threads start.
void exchange_set_control(void (*handle)(struct exchange *ex));

// exchange_resume continues after PHASE_WAIT with the next hook. Never from within the hook that
// waits.
void exchange_resume(struct exchange *ex);

// exchange_rewrite starts the phases again for another path (decoded, of the exchange's arena): at
// most 10 times, then false: the caller refuses. From within a hook, which then returns PHASE_DONE;
// or by a handler before it responds.
bool exchange_rewrite(struct exchange *ex, struct str path, struct str query);

// exchange_narrow goes on with `file_path` (of the exchange's arena), the URL path of a file in the
// directory that was asked for: under the rules of the file's own path, from those of access on.
// To modules and apps it is the same request still, not a rewritten one. False, and nothing is
// changed, when no other rules hold for the file. From within a hook of PHASE_HANDLE, which returns
// PHASE_DONE if it is true.
MUST_USE bool exchange_narrow(struct exchange *ex, struct str file_path);

// exchange_is_rewritten tells whether the path is not the client's any more.
bool exchange_is_rewritten(const struct exchange *ex);

// exchange_divert has the handlers (PHASE_HANDLE only) answer for another path of the site,
// decoded, of the exchange's arena, in place of a refusal with `status`: at the end of this turn,
// when whoever has failed is out of its callback. From module.refuse only.
void exchange_divert(struct exchange *ex, struct str path, int status);

// exchange_is_diverted tells whether the answer is for exchange_divert's path.
bool exchange_is_diverted(const struct exchange *ex);

// exchange_data is what module `m` keeps on the exchange with exchange_set_data; NULL before that.
// Stays through rewrites; memory is of the exchange's arena or deferred there.
void *exchange_data(const struct exchange *ex, const struct module *m);
void exchange_set_data(struct exchange *ex, const struct module *m, void *data);

// exchange_respond sends what resp holds; exactly once per exchange (ASSERT). After an abort it
// does nothing.
void exchange_respond(struct exchange *ex);

// exchange_refuse answers `status` with a short page that shows the status and request id. For 5xx,
// `cause` (a full sentence naming limit, value and setting; printf form) is logged under event
// `event`; NULL event: nothing is logged beyond the access log. Of the headers set so far only
// Allow, Content-Range, Retry-After and WWW-Authenticate stay. 503 gets Retry-After. A module may
// answer in its stead (module.refuse).
PRINTF_LIKE(4, 5)
void exchange_refuse(struct exchange *ex, int status, const char *event, const char *cause, ...);

// exchange_replace puts the same page in place of an answer that turns out not to be sendable, and
// asks for the end of the connection. For fronts, of which nothing has been sent yet: the answer
// was responded, so no module is asked again. `cause` is a sentence's main clause.
void exchange_replace(struct exchange *ex, int status, const char *event, const char *cause);

// exchange_redirect answers `status` (301, 302, 303, 307, 308) with Location.
void exchange_redirect(struct exchange *ex, int status, struct str location);

// exchange_abort tells the handler that the client has gone. The front then calls exchange_end
// itself.
void exchange_abort(struct exchange *ex);

// exchange_end logs, counts, closes bodies and frees. By the front, exactly once.
void exchange_end(struct exchange *ex);

// exchange_log logs a warning about the exchange that names its site, app and worker.
void exchange_log(struct exchange *ex, const char *event, struct str text);

// exchange_scope writes "req ID" for log_write. Returns a text in the exchange.
const char *exchange_scope(struct exchange *ex);
