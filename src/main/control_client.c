// SPDX-License-Identifier: Apache-2.0
// control_client -- see control_client.h.
#include "main/control_client.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>

#include "os/fd.h"
#include "os/sock.h"
#include "wire/h1_chunk.h"
#include "wire/h1_resp.h"

#define ANSWER_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define HEADERS_MAX      32
#define WAIT_S           120 // a reload may take its time
#define READ_BYTES       16384

static const struct h1_limits LIMITS = {
    .head_bytes_max = 16384,
    .target_bytes_max = 0, // of requests
    .headers_max = HEADERS_MAX,
};

static int open_socket(const char *path)
{
    char text[SOCK_TEXT_MAX + 8];
    struct sock_addr addr;
    struct wr w = {.ptr = text, .size = sizeof text};
    wr_bytes(&w, STR("unix:"));
    wr_bytes(&w, str_c(path));
    if (!wr_ok(&w) || !sock_addr_parse(wr_view(&w), &addr))
        return -ENAMETOOLONG;
    int fd = sock_connect(&addr);
    struct timeval wait = {.tv_sec = WAIT_S};
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    return fd;
}

static int send_request(int fd, const char *method, const char *target)
{
    struct buf req = {0};
    buf_fmt(&req,
            "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
            "Connection: close\r\nContent-Length: 0\r\n\r\n",
            method, target);
    int rc = fd_write_all(fd, buf_view(&req));
    buf_done(&req);
    return rc;
}

// Reads until the other side closes. 0 or -errno.
static int read_all(int fd, struct buf *out)
{
    for (;;) {
        size_t size;
        char *room = buf_room(out, READ_BYTES, &size);
        if (!room)
            return -EFBIG;
        ssize_t got = fd_read(fd, room, size);
        if (got == -EAGAIN)
            return -ETIMEDOUT;
        // A stop may end the process right after its answer, or before.
        if (got == 0 || got == -ECONNRESET)
            return 0;
        if (got < 0)
            return (int)got;
        buf_added(out, (size_t)got);
    }
}

static bool copy_chunks(struct str rest, struct buf *out)
{
    struct h1_chunk decoder = {0};
    struct str data;
    enum h1_chunk_result result;
    while ((result = h1_chunk_feed(&decoder, &rest, &data)) == H1_CHUNK_DATA)
        if (!buf_put(out, data))
            return false;
    return result == H1_CHUNK_END;
}

static bool read_answer(struct str bytes, int *out_status, struct buf *out_body, struct err *err)
{
    if (bytes.len == 0) {
        *out_status = 0;
        return true;
    }
    struct header headers[HEADERS_MAX];
    struct h1_resp resp = {.headers = headers};
    if (h1_resp_parse(bytes, 0, &LIMITS, false, &resp) != H1_RESP_OK)
        return err_set(err, "the answer is not HTTP");
    struct str rest = str_skip(bytes, resp.head_len);
    bool is_whole = resp.content_length < 0 || (uint64_t)resp.content_length == rest.len;
    if (resp.body == H1_RESP_BODY_CHUNKED)
        is_whole = copy_chunks(rest, out_body);
    else
        is_whole = buf_put(out_body, rest) && is_whole;
    if (!is_whole)
        return err_set(err, "the answer is cut off");
    *out_status = resp.status;
    return true;
}

bool control_client_ask(const char *path, const char *method, const char *target, int *out_status,
                        struct buf *out_body, struct err *err)
{
    int fd = open_socket(path);
    if (fd < 0)
        return err_set(err, "cannot connect to %s: %s", path, strerror(-fd));
    struct buf bytes = {.ceiling_bytes = ANSWER_BYTES_MAX};
    int rc = send_request(fd, method, target);
    if (rc == 0)
        rc = read_all(fd, &bytes);
    fd_close(&fd);
    bool good = rc == 0 ? read_answer(buf_view(&bytes), out_status, out_body, err)
                        : err_set(err, "%s", strerror(-rc));
    if (!good)
        err_prefix(err, "no answer from %s", path);
    buf_done(&bytes);
    return good;
}
