// SPDX-License-Identifier: Apache-2.0
// listing -- see listing.h. The directory is read on a job thread; the page is made piece by piece
// as the client takes it, so that a hundred thousand files cost the memory of their names.
//
//   handle --(job thread: listing_entries_read)--> on_read --> respond --> pull: head, rows, tail
//
// The names are held as long as the client takes for its page. Clients that take nothing must not
// fill the memory: beyond HELD_BYTES_MAX what was read is not kept, but refused.
#include "feature/listing.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/exchange.h"
#include "core/target.h"
#include "feature/listing_entries.h"
#include "http/date.h"
#include "http/escape.h"
#include "http/header.h"
#include "os/fd.h"

#define READS_MAX      16                           // at once for a thread
#define PIECE_BYTES    ((size_t)(16 * 1024))        // made at a time, about
#define HELD_BYTES_MAX ((size_t)(64 * 1024 * 1024)) // of a thread's pages under way together

struct listing_conf {
    bool on;
};

static const struct key KEYS[] = {
    {
        .name = "listing",
        .type = &KEY_FLAG,
        .offset = offsetof(struct listing_conf, on),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Shows what is in a directory that has no index file, to be sorted by name, size "
                "or date. Names that begin with a dot are left out.",
        .example = "on",
    },
};

enum part { PART_HEAD, PART_ROWS, PART_TAIL, PART_END };

// The page and what it is made from. Held by the job and by the exchange.
struct listing {
    struct body body;
    struct job job;
    struct exchange *ex; // NULL: gone
    struct thread *thread;
    bool is_reading;
    struct listing_order order;
    int error;
    struct listing_entries entries;
    size_t held_bytes; // by the entries, once they are counted
    struct buf piece;
    size_t given; // of the piece, by the last pull
    enum part part;
    size_t next; // entry
    struct str url_path;
    char room[]; // the directory
};

// What all listings of a thread use.
struct use {
    unsigned reads;
    size_t held_bytes;
};

static const char USE_OWNER;

static struct use *use_of(struct thread *t)
{
    struct use *use = thread_attached(t, &USE_OWNER);
    if (!use) {
        use = mem_new(struct use);
        thread_attach(t, &USE_OWNER, use, mem_free);
    }
    return use;
}

static void put(struct buf *b, struct str s)
{
    bool ok = buf_put(b, s);
    ASSERT(ok); // no ceiling
}

static void put_html(struct buf *b, struct str s)
{
    bool ok = escape_html(b, s);
    ASSERT(ok);
}

// "./" in front: a name with a colon would be taken for a scheme.
static void put_link(struct buf *b, struct str name, bool is_dir)
{
    struct buf path = {0};
    bool ok = escape_path(&path, name);
    ASSERT(ok);
    put(b, STR("<a href=\"./"));
    put_html(b, buf_view(&path));
    put(b, is_dir ? STR("/\">") : STR("\">"));
    put_html(b, name);
    put(b, is_dir ? STR("/</a>") : STR("</a>"));
    buf_done(&path);
}

static void put_column(const struct listing *l, struct buf *b, enum listing_sort sort,
                       const char *word, const char *title)
{
    bool is_up = l->order.sort == sort && !l->order.descending;
    buf_fmt(b, "<th><a href=\"?sort=%s&amp;order=%s\">%s</a></th>", word, is_up ? "desc" : "asc",
            title);
}

static void put_head(const struct listing *l, struct buf *b)
{
    put(b, STR("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width\"><title>Index of "));
    put_html(b, l->url_path);
    put(b, STR("</title><style>body{font-family:sans-serif}th{text-align:left}"
               "td,th{padding:0 1em 0 0}td+td{white-space:nowrap}</style></head>\n<body><h1>Index "
               "of "));
    put_html(b, l->url_path);
    put(b, STR("</h1>\n<table><tr>"));
    put_column(l, b, LISTING_NAME, "name", "Name");
    put_column(l, b, LISTING_SIZE, "size", "Size");
    put_column(l, b, LISTING_DATE, "date", "Date");
    put(b, STR("</tr>\n"));
    if (l->url_path.len > 1)
        put(b, STR("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n"));
}

static void put_row(const struct listing *l, struct buf *b, size_t at)
{
    const struct listing_entry *entry = &l->entries.items[at];
    struct date_parts d = date_split(entry->mtime_s);
    put(b, STR("<tr><td>"));
    put_link(b, listing_entries_name(&l->entries, at), entry->is_dir);
    if (entry->is_dir)
        put(b, STR("</td><td></td>"));
    else
        buf_fmt(b, "</td><td>%lld</td>", (long long)entry->size);
    buf_fmt(b, "<td>%04d-%02d-%02d %02d:%02d</td></tr>\n", d.year, d.month, d.day, d.hour,
            d.minute);
}

static void put_tail(const struct listing *l, struct buf *b)
{
    put(b, STR("</table>\n"));
    if (l->entries.is_cut)
        buf_fmt(b, "<p>There are more; only %d are shown.</p>\n", LISTING_ENTRIES_MAX);
    put(b, STR("</body></html>\n"));
}

static void make_piece(struct listing *l)
{
    switch (l->part) {
    case PART_HEAD:
        put_head(l, &l->piece);
        l->part = PART_ROWS;
        break;
    case PART_ROWS:
        while (l->next < l->entries.count && buf_len(&l->piece) < PIECE_BYTES)
            put_row(l, &l->piece, l->next++);
        if (l->next == l->entries.count)
            l->part = PART_TAIL;
        break;
    case PART_TAIL:
        put_tail(l, &l->piece);
        l->part = PART_END;
        break;
    case PART_END:
        break;
    }
}

static enum body_result pull(struct body *body, uint64_t max_bytes, struct body_chunk *out)
{
    struct listing *l = CONTAINER_OF(body, struct listing, body);
    buf_take(&l->piece, l->given);
    l->given = 0;
    while (buf_len(&l->piece) == 0 && l->part != PART_END)
        make_piece(l);
    size_t len = buf_len(&l->piece);
    if (len == 0)
        return BODY_END;
    if (len > max_bytes)
        len = (size_t)max_bytes;
    l->given = len;
    struct str piece = buf_view(&l->piece);
    *out = (struct body_chunk){.bytes = str_slice(piece, 0, len), .file = FD_NONE};
    return BODY_DATA;
}

static void free_if_unused(struct listing *l)
{
    if (l->ex || l->is_reading)
        return;
    if (l->held_bytes > 0)
        use_of(l->thread)->held_bytes -= l->held_bytes;
    listing_entries_done(&l->entries);
    buf_done(&l->piece);
    mem_free(l);
}

// Counts the entries as held. False: there is no room for them beside others.
static bool hold(struct listing *l)
{
    struct use *use = use_of(l->thread);
    size_t bytes = listing_entries_bytes(&l->entries);
    if (use->held_bytes > 0 && use->held_bytes + bytes > HELD_BYTES_MAX)
        return false;
    l->held_bytes = bytes;
    use->held_bytes += bytes;
    return true;
}

static void refuse_busy(struct exchange *ex, const char *why)
{
    header_list_set_id(&ex->resp.headers, HEADER_RETRY_AFTER, STR("5"));
    exchange_refuse(ex, 503, NULL, "%s", why);
}

// The exchange is over, whether the page was sent or not.
static void on_exchange_gone(void *arg)
{
    struct listing *l = arg;
    l->ex = NULL;
    free_if_unused(l);
}

// All of it goes with the exchange's arena.
static void close_body(struct body *body)
{
    (void)body;
}

static const struct body_ops OPS = {pull, close_body};

static void work(struct job *job)
{
    struct listing *l = CONTAINER_OF(job, struct listing, job);
    l->error = listing_entries_read(&l->order, &l->entries);
}

static void answer(struct exchange *ex, struct listing *l)
{
    if (l->error == -EACCES || l->error == -EPERM) {
        exchange_refuse(ex, 403, NULL, "The server may not read this directory.");
        return;
    }
    if (l->error < 0) {
        exchange_refuse(ex, 500, "listing.failed", "A directory could not be read (%s).",
                        strerrordesc_np(-l->error));
        return;
    }
    if (ex->req.method == HTTP_HEAD)
        l->part = PART_END; // nobody would see the rows
    else if (!hold(l)) {
        refuse_busy(ex, "Too many listings of large directories are under way already.");
        return;
    }
    struct header_list *headers = &ex->resp.headers;
    header_list_set_id(headers, HEADER_CONTENT_TYPE, STR("text/html; charset=utf-8"));
    // Names are strangers' text: should one get through, nothing of it runs.
    header_list_set(headers, STR("Content-Security-Policy"),
                    STR("default-src 'none'; style-src 'unsafe-inline'"));
    header_list_set(headers, STR("X-Content-Type-Options"), STR("nosniff"));
    ex->resp.status = 200;
    ex->resp.body = &l->body;
    exchange_respond(ex);
}

static void on_read(struct job *job)
{
    struct listing *l = CONTAINER_OF(job, struct listing, job);
    l->is_reading = false;
    use_of(l->thread)->reads--;
    if (l->ex)
        answer(l->ex, l);
    free_if_unused(l);
}

static void read_order(struct str query, struct listing_order *order)
{
    while (query.len) {
        struct str pair = str_cut(&query, '&');
        if (str_eq(pair, STR("sort=size")))
            order->sort = LISTING_SIZE;
        else if (str_eq(pair, STR("sort=date")))
            order->sort = LISTING_DATE;
        else if (str_eq(pair, STR("order=desc")))
            order->descending = true;
    }
}

static void begin(struct exchange *ex)
{
    struct str dir = ex->target.file;
    struct listing *l = mem_alloc(sizeof *l + dir.len + 1);
    l->body = (struct body){.ops = &OPS, .length = -1};
    l->job = (struct job){.work = work, .on_done = on_read};
    l->ex = ex;
    l->thread = ex->thread;
    l->is_reading = true;
    l->url_path = ex->req.path; // of the exchange, which lives as long as it is used
    memcpy(l->room, dir.ptr, dir.len + 1);
    l->order.dir = l->room;
    l->order.root_len = ex->target.root.len;
    l->order.links = (enum look_links)target_links(ex);
    read_order(ex->req.query, &l->order);
    arena_defer(&ex->arena, on_exchange_gone, l);
    use_of(ex->thread)->reads++;
    jobs_submit(ex->thread->jobs, ex->thread->loop, &l->job);
}

static enum phase_result handle(struct exchange *ex)
{
    const struct listing_conf *conf = module_conf(ex, &listing_module);
    if (!conf->on || target_need(ex) != TARGET_DIR || ex->target.slash_missing)
        return PHASE_NEXT;
    if (ex->req.method != HTTP_GET && ex->req.method != HTTP_HEAD) {
        header_list_add_id(&ex->resp.headers, HEADER_ALLOW, STR("GET, HEAD"));
        exchange_refuse(ex, 405, NULL, "A directory can only be read.");
    } else if (use_of(ex->thread)->reads >= READS_MAX) {
        refuse_busy(ex, "Too many directories are being read for listings already.");
    } else {
        begin(ex);
    }
    return PHASE_DONE;
}

static bool is_idle(const void *arg)
{
    const struct listing_conf *conf = arg;
    return !conf->on;
}

struct module listing_module = {
    .name = "listing",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct listing_conf),
    .idle = is_idle,
    .hooks = {[PHASE_HANDLE] = handle},
};
