// SPDX-License-Identifier: Apache-2.0
// h1_head -- makes an exchange of a request head. The head is parsed where it was read and then
// copied into the exchange's arena, once; its slices move along.
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/conf_path.h"
#include "core/snapshot.h"
#include "front/accept.h"
#include "front/front_limits.h"
#include "front/h1_conn.h"
#include "http/url.h"
#include "os/fd.h"
#include "wire/h1_req.h"

// Some clients leave one behind a body; who sends many wants to keep us busy.
#define EMPTY_LINES_MAX 8

static void respond(struct exchange *ex)
{
    struct h1_conn *conn = ex->front_data;
    conn->answered = true;
    if (!conn->running)
        h1_conn_later(conn);
}

static uint64_t unsent_bytes(const struct exchange *ex)
{
    const struct h1_conn *conn = ex->front_data;
    const struct h1_out *out = &conn->work->out;
    int queued = 0;
    // Room in the socket is told only when there is plenty: the queue tells of each byte.
    if (conn->stream.fd == FD_NONE || ioctl(conn->stream.fd, SIOCOUTQ, &queued) < 0)
        queued = 0;
    return (uint64_t)queued + (out->end - out->start) + out->direct.len + out->file_left;
}

static const struct front_ops OPS = {.respond = respond, .unsent_bytes = unsent_bytes};

static struct h1_limits limits_now(struct h1_home *home)
{
    struct h1_limits limits = {
        .head_bytes_max = (size_t)front_limits_get(FRONT_HEADER_BYTES_MAX),
        .target_bytes_max = (size_t)front_limits_get(FRONT_TARGET_BYTES_MAX),
        .headers_max = (size_t)front_limits_get(FRONT_HEADERS_MAX),
    };
    if (home->header_room_count != limits.headers_max) {
        mem_free(home->header_room);
        home->header_room = mem_array(limits.headers_max, sizeof *home->header_room);
        home->header_room_count = limits.headers_max;
    }
    return limits;
}

static struct exchange *begin(struct h1_conn *conn)
{
    ASSERT(!conn->ex);
    conn->answered = false;
    h1_conn_work(conn);
    conn->ex = exchange_new(conn->home->thread, &conn->work->peer, &OPS, conn);
    conn->served++;
    conn->empty_lines = 0;
    return conn->ex;
}

// A slice of the bytes at `from` as one of their copy at `to`.
static struct str moved(struct str s, const char *from, const char *to)
{
    return s.ptr ? str_n(to + (s.ptr - from), s.len) : s;
}

// Fields that concern this connection only end here (RFC 9110 §7.6.1).
static bool is_passed_on(const struct header *h)
{
    return !header_id_is_hop_by_hop(h->id) && h->id != HEADER_EXPECT;
}

// Returns where the copy of the head begins.
static const char *copy_head(struct request *req, const struct h1_req *head, struct arena *a,
                             struct str bytes)
{
    struct str copy = arena_dup(a, str_slice(bytes, 0, head->head_len));
    req->method = head->method;
    req->method_text = moved(head->method_token, bytes.ptr, copy.ptr);
    req->target = moved(head->target, bytes.ptr, copy.ptr);
    req->line = str_slice(copy, 0, str_find(copy, '\r'));
    req->version = head->version;
    req->content_length = head->content_length;
    req->has_body = head->is_chunked || head->content_length > 0;
    for (size_t i = 0; i < head->header_count; i++) {
        const struct header *h = &head->headers[i];
        if (!is_passed_on(h))
            continue;
        header_list_copy(&req->headers, h, 1);
        struct header *copied = &req->headers.items[req->headers.count - 1];
        copied->name = moved(h->name, bytes.ptr, copy.ptr);
        copied->value = moved(h->value, bytes.ptr, copy.ptr);
    }
    return copy.ptr;
}

// "host:port" of a target in absolute form, as it was sent.
static struct str authority(const struct request *req, const struct url *url)
{
    struct str rest = str_skip(req->target, url->scheme.len + STR("://").len);
    size_t end = str_find(rest, '/');
    size_t mark = str_find(rest, '?');
    return str_slice(rest, 0, end < mark ? end : mark);
}

// Tells whether the rules that hold for a path with kept slashes hold, too, for what an app makes
// of it that takes them for slashes: else rules for the one would let through the other. A path
// that is written with "%2F" in the configuration is meant so, for what stays below it and has no
// rules of its own there.
static bool holds_decoded(const struct site *site, struct str kept, struct str decoded,
                          struct arena *a)
{
    const struct path *path = snapshot_path(site, url_merge_slashes(a, kept));
    struct str other = url_merge_slashes(a, decoded);
    const struct path *other_path = snapshot_path(site, other);
    struct str prefix;
    if (path == other_path)
        return true;
    return conf_path_has_slash(path->prefix) && url_decode(path->prefix, a, &prefix)
           && snapshot_is_below(prefix, other) && other_path->prefix.len <= prefix.len;
}

// Reads the target once more, now that it is known whose rule for %2F holds. NULL, or what is wrong
// with it.
static const char *read_slashes(struct exchange *ex, struct str host, struct url *url)
{
    const struct request *req = &ex->req;
    struct arena *a = &ex->arena;
    const struct site *site = ex->snapshot ? snapshot_site(ex->snapshot, host) : NULL;
    if (ex->peer->is_control || !site)
        return url_result_text(URL_ENCODED_SLASH);
    const struct front_limits *conf = module_conf_at(&site->scope, &front_module);
    bool rejects = conf->encoded_slash == URL_SLASH_REJECT;
    struct url decoded;
    enum url_result result = url_parse(req->target, req->method,
                                       rejects ? URL_SLASH_REJECT : URL_SLASH_DECODE, a, &decoded);
    if (result != URL_OK)
        return url_result_text(result);
    if (conf->encoded_slash == URL_SLASH_DECODE)
        *url = decoded;
    else if (!holds_decoded(site, url->path, decoded.path, a))
        return "an encoded slash in the path leads past rules of the configuration";
    return NULL;
}

static void set_host(struct request *req, struct url_host host)
{
    req->host = host.name;
    req->host_port = host.port < 0 ? 0 : (unsigned)host.port;
}

// Reads what target and Host (its parts, as they were sent) say. NULL, or what is wrong with them.
static const char *locate(struct exchange *ex, struct url_host host)
{
    struct request *req = &ex->req;
    struct arena *a = &ex->arena;
    struct url url;
    enum url_result result = url_parse(req->target, req->method, URL_SLASH_KEEP, a, &url);
    if (result != URL_OK) {
        // The site of the field explains it.
        set_host(req, (struct url_host){url_host_fold(host.name, a), host.port});
        return url_result_text(result);
    }
    struct url_host where = url.host;
    if (!where.name.len)
        where = (struct url_host){url_host_fold(host.name, a), host.port};
    set_host(req, where);
    const char *fault = url.has_encoded_slash ? read_slashes(ex, where.name, &url) : NULL;
    if (fault)
        return fault;
    // A target in absolute form stands above the Host field (RFC 9112 §3.2.2): who reads the field
    // later must not see another host than the one whose site answers.
    if (url.form == URL_ABSOLUTE)
        header_list_set_id(&req->headers, HEADER_HOST, authority(req, &url));
    req->path = url.path;
    req->query = url.query;
    req->has_query = url.has_query;
    return NULL;
}

// Keeps `bytes` that were read into the scratch; those in `in` are there already.
static void keep(struct h1_conn *conn, struct str bytes)
{
    // Ceiling: what one read of the scratch and one head can hold, so it never refuses.
    if (buf_len(&conn->in) == 0 && bytes.len > 0 && !buf_put(&conn->in, bytes))
        ASSERT(false);
}

// Takes the head off; what follows it stays in `in`.
static void take_off(struct h1_conn *conn, struct str bytes, size_t len)
{
    if (buf_len(&conn->in) > 0)
        buf_take(&conn->in, len);
    else
        keep(conn, str_skip(bytes, len));
    conn->in_seen = 0;
}

static void refuse(struct h1_conn *conn, struct exchange *ex, int status, const char *reason)
{
    conn->keep_alive = false;
    // Nobody knows where the next request would begin.
    conn->work->body = (struct h1_body){.failed = true};
    exchange_reject(ex, status, reason);
}

static enum h1_head_result refuse_head(struct h1_conn *conn, struct str bytes,
                                       const struct h1_req *head, enum h1_req_result result)
{
    int status;
    const char *reason = h1_req_refusal(result, &status);
    struct exchange *ex = begin(conn);
    // What is known of it is for the log only. Its page is that of the site for unknown hosts:
    // which Host counts, if any, is just what may be unclear.
    struct request *req = &ex->req;
    req->method = head->method;
    req->method_text = arena_dup(&ex->arena, head->method_token);
    req->version = head->version ? head->version : 11;
    size_t line_end = str_find(bytes, '\n');
    if (line_end > 0 && line_end < bytes.len && bytes.ptr[line_end - 1] == '\r')
        line_end--;
    req->line = arena_dup(&ex->arena, str_slice(bytes, 0, line_end < 1024 ? line_end : 1024));
    refuse(conn, ex, status, reason);
    return H1_HEAD_REFUSED;
}

static enum h1_head_result accept_head(struct h1_conn *conn, struct str bytes,
                                       const struct h1_req *head)
{
    struct exchange *ex = begin(conn);
    const char *copy = copy_head(&ex->req, head, &ex->arena, bytes);
    struct url_host host = head->host_parts;
    host.name = moved(host.name, bytes.ptr, copy);
    const char *wrong = locate(ex, host);
    int64_t requests_max = front_limits_get(FRONT_REQUESTS_MAX);
    conn->keep_alive =
        head->keep_alive && (requests_max == 0 || conn->served < (uint64_t)requests_max);
    take_off(conn, bytes, head->head_len);
    if (wrong) {
        refuse(conn, ex, 400, wrong);
        return H1_HEAD_REFUSED;
    }
    conn->work->body = (struct h1_body){.finished = true};
    if (ex->req.has_body) {
        h1_body_begin(conn, head->is_chunked ? -1 : head->content_length, head->expects_continue);
        ex->req.body = &conn->work->body.source;
    }
    return H1_HEAD_REQUEST;
}

enum h1_head_result h1_head_take(struct h1_conn *conn, struct str bytes)
{
    struct h1_limits limits = limits_now(conn->home);
    // Robustness that RFC 9112 §2.2 asks for: empty lines left behind a former body.
    while (str_starts(bytes, STR("\r\n"))) {
        bytes = str_skip(bytes, 2);
        if (buf_len(&conn->in) > 0)
            buf_take(&conn->in, 2);
        conn->in_seen = 0;
        if (conn->empty_lines++ == EMPTY_LINES_MAX) {
            h1_head_refuse(conn, 400, "There are too many empty lines before the request.");
            return H1_HEAD_REFUSED;
        }
    }
    if (bytes.len == 0)
        return H1_HEAD_MORE;
    if (str_eq(bytes, STR("\r"))) {
        keep(conn, bytes);
        conn->in_seen = bytes.len;
        return H1_HEAD_MORE;
    }
    struct h1_req head = {.headers = conn->home->header_room};
    enum h1_req_result result = h1_req_parse(bytes, conn->in_seen, &limits, &head);
    switch (result) {
    case H1_REQ_OK:
        return accept_head(conn, bytes, &head);
    case H1_REQ_AGAIN:
        keep(conn, bytes);
        conn->in_seen = bytes.len;
        return H1_HEAD_MORE;
    case H1_REQ_BARE_LF:
    case H1_REQ_BAD_METHOD:
    case H1_REQ_BAD_TARGET:
    case H1_REQ_BAD_LINE:
    case H1_REQ_FOLDED:
    case H1_REQ_SPACE_COLON:
    case H1_REQ_BAD_NAME:
    case H1_REQ_CONTROL:
    case H1_REQ_BAD_LENGTH:
    case H1_REQ_BAD_TRANSFER:
    case H1_REQ_LENGTH_AND_TRANSFER:
    case H1_REQ_TRANSFER_IN_10:
    case H1_REQ_NO_HOST:
    case H1_REQ_TWO_HOSTS:
    case H1_REQ_BAD_HOST:
    case H1_REQ_TARGET_TOO_LONG:
    case H1_REQ_BAD_EXPECT:
    case H1_REQ_HEAD_TOO_LARGE:
    case H1_REQ_TOO_MANY_HEADERS:
    case H1_REQ_UNKNOWN_TRANSFER:
    case H1_REQ_BAD_VERSION:
        break;
    }
    return refuse_head(conn, bytes, &head, result);
}

void h1_head_refuse(struct h1_conn *conn, int status, const char *reason)
{
    struct exchange *ex = begin(conn);
    ex->req.version = 11;
    refuse(conn, ex, status, reason);
}
