// SPDX-License-Identifier: Apache-2.0
// static_body -- see static_body.h.
#include "feature/static_body.h"

#include "os/fd.h"

struct part {
    struct str text; // before the bytes
    struct range range;
};

struct static_body {
    struct body body;
    const struct static_file *file;
    const struct part *part; // in progress
    size_t left;             // parts, with that one
    uint64_t done;           // of its text and bytes
    struct part only;
};

static struct body_chunk piece_of(const struct static_file *file, uint64_t first, uint64_t len)
{
    if (file->fd == FD_NONE)
        return (struct body_chunk){.bytes = str_n(file->content.ptr + first, (size_t)len),
                                   .file = FD_NONE};
    return (struct body_chunk){.file = file->fd, .offset = (off_t)first, .file_bytes = len};
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct static_body *s = CONTAINER_OF(body, struct static_body, body);
    while (s->left > 0 && s->done == s->part->text.len + s->part->range.len) {
        s->part++;
        s->left--;
        s->done = 0;
    }
    if (s->left == 0)
        return BODY_END;
    const struct part *part = s->part;
    bool is_text = s->done < part->text.len;
    uint64_t first = is_text ? s->done : s->done - part->text.len;
    uint64_t len = (is_text ? part->text.len : part->range.len) - first;
    len = len < max_bytes ? len : max_bytes;
    if (is_text) {
        *out = (struct body_chunk){.bytes = str_n(part->text.ptr + first, (size_t)len),
                                   .file = FD_NONE};
    } else {
        *out = piece_of(s->file, part->range.first + first, len);
    }
    s->done += len;
    return BODY_DATA;
}

static void close_body(struct body *body)
{
    CONTAINER_OF(body, struct static_body, body)->left = 0;
}

static const struct body_ops OPS = {pull, close_body};

static struct static_body *new_body(struct arena *a, const struct static_file *file)
{
    struct static_body *s = arena_new(a, struct static_body);
    *s = (struct static_body){.body = {.ops = &OPS}, .file = file};
    return s;
}

struct body *static_body_range(struct arena *a, const struct static_file *file,
                               const struct range *range)
{
    struct static_body *s = new_body(a, file);
    s->only = (struct part){.range = *range};
    s->part = &s->only;
    s->left = 1;
    s->body.length = (int64_t)range->len;
    return &s->body;
}

struct body *static_body_ranges(struct arena *a, const struct static_file *file,
                                const struct range_set *set, struct str content_type,
                                struct str boundary)
{
    struct static_body *s = new_body(a, file);
    struct part *parts = arena_array(a, struct part, set->count + 1);
    for (size_t i = 0; i < set->count; i++) {
        const struct range *r = &set->ranges[i];
        parts[i].range = *r;
        parts[i].text = arena_fmt(
            a, "%s--%.*s\r\nContent-Type: %.*s\r\nContent-Range: bytes %llu-%llu/%lld\r\n\r\n",
            i ? "\r\n" : "", STR_ARG(boundary), STR_ARG(content_type), (unsigned long long)r->first,
            (unsigned long long)(r->first + r->len - 1), (long long)file->facts.size);
        s->body.length += (int64_t)(parts[i].text.len + r->len);
    }
    parts[set->count].text = arena_fmt(a, "\r\n--%.*s--\r\n", STR_ARG(boundary));
    s->body.length += (int64_t)parts[set->count].text.len;
    s->part = parts;
    s->left = set->count + 1;
    return &s->body;
}
