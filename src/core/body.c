// SPDX-License-Identifier: Apache-2.0
// body -- see body.h.
#include "core/body.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/assert.h"
#include "os/fd.h"

struct text_body {
    struct body body;
    struct str left;
};

struct file_body {
    struct body body;
    int fd;
    off_t offset;
    uint64_t left;
};

static enum body_result pull_text(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct text_body *text = CONTAINER_OF(body, struct text_body, body);
    if (text->left.len == 0)
        return BODY_END;
    size_t len = max_bytes < text->left.len ? (size_t)max_bytes : text->left.len;
    *out = (struct body_chunk){.bytes = str_n(text->left.ptr, len), .file = FD_NONE};
    text->left = str_skip(text->left, len);
    return BODY_DATA;
}

static void close_text(struct body *body)
{
    CONTAINER_OF(body, struct text_body, body)->left = (struct str){0};
}

static enum body_result pull_file(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct file_body *file = CONTAINER_OF(body, struct file_body, body);
    if (file->left == 0)
        return BODY_END;
    uint64_t bytes = max_bytes < file->left ? max_bytes : file->left;
    *out = (struct body_chunk){.file = file->fd, .offset = file->offset, .file_bytes = bytes};
    file->offset += (off_t)bytes;
    file->left -= bytes;
    return BODY_DATA;
}

static void close_file(struct body *body)
{
    fd_close(&CONTAINER_OF(body, struct file_body, body)->fd);
}

static const struct body_ops TEXT_OPS = {pull_text, close_text};
static const struct body_ops FILE_OPS = {pull_file, close_file};

enum body_result body_pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    ASSERT(max_bytes > 0);
    return body->ops->pull(body, max_bytes, out);
}

void body_close(struct body *body)
{
    if (body)
        body->ops->close(body);
}

void body_more(struct body *body)
{
    if (body && body->on_more)
        body->on_more(body->on_more_arg);
}

struct body *body_text(struct arena *a, struct str text)
{
    struct text_body *body = arena_new(a, struct text_body);
    *body = (struct text_body){{.ops = &TEXT_OPS, .length = (int64_t)text.len}, text};
    return &body->body;
}

struct body *body_file(struct arena *a, int fd, off_t offset, uint64_t bytes)
{
    struct file_body *body = arena_new(a, struct file_body);
    *body = (struct file_body){{.ops = &FILE_OPS, .length = (int64_t)bytes}, fd, offset, bytes};
    return &body->body;
}
