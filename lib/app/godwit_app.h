/* SPDX-License-Identifier: Apache-2.0
 *
 * libgodwit-app -- serve web requests from a C program, under Godwit or under any other server that
 * speaks LSAPI, the LiteSpeed server API.
 *
 * A program fills in struct godwit_app_hooks and calls godwit_app_main, which returns when the
 * process is to end. How requests reach it depends on how it was started:
 *
 *   by Godwit             it loads once (preload), then forks a worker whenever Godwit asks
 *   descriptor 0 listens  it accepts connections itself, with LSAPI_CHILDREN processes
 *   descriptor 0 is a
 *   connection            it serves that one and ends with it
 *
 * A worker serves one request at a time. All functions are for the thread that is inside `serve`,
 * and all text is borrowed until `serve` returns.
 *
 * A program may fork while it serves. The exchange stays with the worker: what the copy writes is
 * dropped, and when it returns from `serve` it leaves in the orderly way.
 */
#ifndef GODWIT_APP_H
#define GODWIT_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
# define GODWIT_APP_API __attribute__((visibility("default")))
#else
# define GODWIT_APP_API
#endif

/* A run of bytes; not NUL-terminated unless said. */
struct godwit_app_text {
    const char *ptr;
    size_t len;
};

struct godwit_app_pair {
    struct godwit_app_text name, value;
};

/* One request, from the call of `serve` to its return. */
struct godwit_app_request;

/* What the program does. `arg` is passed through; each function may be NULL, save serve. */
struct godwit_app_hooks {
    const char *name; /* shown by ps and by Godwit; NULL: "godwit: app" */
    void *arg;

    /* preload runs once, before any fork: load here what workers may share. Non-zero: the program
     * ends with that exit status; say why on descriptor 2. */
    int (*preload)(void *arg);

    /* describe returns a JSON object for "godwit apps", valid until the next call. The path of the
     * program is added to it unless it has a member "program". */
    const char *(*describe)(void *arg);

    /* boot runs once in each worker, before its first request: open connections here. Non-zero as
     * in preload. */
    int (*boot)(void *arg);

    /* serve answers one request. */
    void (*serve)(void *arg, struct godwit_app_request *req);

    /* leave runs before a worker ends in an orderly way. */
    void (*leave)(void *arg);
};

/* godwit_app_main serves until there is nothing more to do; returns the exit status for main. It
 * removes the variables meant for it (GODWIT_*, LSAPI_*, PHP_LSAPI_*) from the environment and puts
 * /dev/null on descriptor 0. The text of argv is overwritten by the process title after preload. */
GODWIT_APP_API int godwit_app_main(const struct godwit_app_hooks *hooks, int argc, char **argv);

/* godwit_app_is_started tells that the process was started in one of the three ways above, before
 * godwit_app_main is called: a program may do something else when it was not. */
GODWIT_APP_API bool godwit_app_is_started(void);

/* godwit_app_listen makes a listening socket for `address` ("127.0.0.1:9000", "unix:/path") and
 * puts it on descriptor 0, for starting by hand before godwit_app_main. 0 or a negative errno. */
GODWIT_APP_API int godwit_app_listen(const char *address);

/* ---- what was asked. These four are NUL-terminated, "" when missing. */
GODWIT_APP_API struct godwit_app_text godwit_app_method(const struct godwit_app_request *req);
GODWIT_APP_API struct godwit_app_text godwit_app_script_file(const struct godwit_app_request *req);
GODWIT_APP_API struct godwit_app_text godwit_app_script_name(const struct godwit_app_request *req);
GODWIT_APP_API struct godwit_app_text godwit_app_query(const struct godwit_app_request *req);

/* godwit_app_env_next walks the CGI variables: start with *at = 0; false at the end. Name and value
 * are NUL-terminated. Request headers are not among them. */
GODWIT_APP_API bool godwit_app_env_next(const struct godwit_app_request *req, size_t *at,
                                        struct godwit_app_pair *out);

/* A request header. `cgi_name` is "HTTP_..." (or CONTENT_TYPE, CONTENT_LENGTH), NUL-terminated, for
 * the usual headers; for others it is empty: derive it. */
struct godwit_app_header {
    struct godwit_app_text name, cgi_name, value;
};

/* godwit_app_header_next walks the request's headers: start with *at = 0; false at the end. */
GODWIT_APP_API bool godwit_app_header_next(const struct godwit_app_request *req, size_t *at,
                                           struct godwit_app_header *out);

/* godwit_app_header finds a header by its name, letter case folded. False when absent. */
GODWIT_APP_API bool godwit_app_header(const struct godwit_app_request *req, const char *name,
                                      struct godwit_app_text *out);

/* A setting that the server gives for this request (php_admin_value and php_value). */
struct godwit_app_setting {
    struct godwit_app_text name, value; /* NUL-terminated */
    bool is_final;                      /* the application must not change it */
};

/* godwit_app_setting_next walks them: start with *at = 0; false at the end. */
GODWIT_APP_API bool godwit_app_setting_next(const struct godwit_app_request *req, size_t *at,
                                            struct godwit_app_setting *out);

/* godwit_app_body_bytes is the whole length of the request's body. */
GODWIT_APP_API int64_t godwit_app_body_bytes(const struct godwit_app_request *req);

/* godwit_app_read takes the next bytes of the body: a count up to `size`, 0 at its end, or a
 * negative errno when the server stopped sending. */
GODWIT_APP_API long godwit_app_read(struct godwit_app_request *req, void *room, size_t size);

/* ---- the answer */

/* godwit_app_status sets the status; without it the server takes 200 (or a Status header).
 * One that is not of three digits counts as 500. */
GODWIT_APP_API void godwit_app_status(struct godwit_app_request *req, int status);

/* What one head can hold: lines, and their bytes with one more for each. */
#define GODWIT_APP_HEADERS_MAX       1000
#define GODWIT_APP_HEADER_BYTES_MAX  64000
#define GODWIT_APP_HEADER_LENGTH_MAX 32766 /* of one line */

/* godwit_app_header_add adds a response header. False, and nothing added, when the head was sent
 * already, nobody listens any more, a byte is not allowed there, or the head has no room left. */
GODWIT_APP_API bool godwit_app_header_add(struct godwit_app_request *req,
                                          struct godwit_app_text name,
                                          struct godwit_app_text value);

/* godwit_app_header_line adds "Name: value" as one text, by the same rules. */
GODWIT_APP_API bool godwit_app_header_line(struct godwit_app_request *req,
                                           struct godwit_app_text line);

/* godwit_app_write appends to the body. It is collected and sent in large pieces. 0, or -EPIPE once
 * nobody listens any more. */
GODWIT_APP_API int godwit_app_write(struct godwit_app_request *req, const void *bytes, size_t len);

/* godwit_app_flush sends what was collected, the head included, now. 0 or -EPIPE. */
GODWIT_APP_API int godwit_app_flush(struct godwit_app_request *req);

/* godwit_app_finish completes the answer and lets go of the server; `serve` may go on working. What
 * is written afterwards is dropped. The worker takes no further request until `serve` returns;
 * under other servers than Godwit, and when they start it, none on that connection. */
GODWIT_APP_API int godwit_app_finish(struct godwit_app_request *req);

/* godwit_app_is_open tells that somebody still listens. */
GODWIT_APP_API bool godwit_app_is_open(const struct godwit_app_request *req);

/* godwit_app_log writes to the server's error log at once. NULL for `req`: to descriptor 2. */
GODWIT_APP_API void godwit_app_log(struct godwit_app_request *req, const char *text, size_t len);

#ifdef __cplusplus
}
#endif

#endif
