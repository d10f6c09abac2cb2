// SPDX-License-Identifier: Apache-2.0
// app_conf_block -- see app_conf_block.h.
#include "app/app_conf_block.h"

#include "app/app_conf.h"
#include "app/php_ini.h"
#include "app/pool.h"
#include "backend/lsapi_backend.h"
#include "base/assert.h"
#include "wire/scoreboard.h"

static const char *const ABORT_WORDS[] = {"stop", "finish", NULL};

STATIC_ASSERT(LSAPI_BACKEND_STOP == 0 && LSAPI_BACKEND_FINISH == 1);

// auto, all or a number, kept as in struct pool_settings.
static bool busy_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    int64_t *out = field;
    if (!key_args_check(key, node, 1, 1, err))
        return false;
    if (!str_eq(node->args[0], STR("auto")) && !str_eq(node->args[0], STR("all")))
        return KEY_INT.parse(key, node, a, field, err);
    *out = str_eq(node->args[0], STR("auto")) ? 0 : (int64_t)POOL_BUSY_ANY;
    return true;
}

static void busy_print(const struct key *key, const void *field, struct buf *out)
{
    const int64_t *max = field;
    if (*max == 0 || *max == (int64_t)POOL_BUSY_ANY)
        buf_fmt(out, "%s", *max ? "all" : "auto");
    else
        KEY_INT.print(key, field, out);
}

static bool setting_parse(const struct key *key, const struct tree_node *node, struct arena *a,
                          void *field, struct err *err)
{
    if (!key_args_check(key, node, 2, 2, err))
        return false;
    if (!php_ini_is_name(node->args[0])) {
        return tree_error(err, node->arg_pos[0],
                          "\"%.*s\" is no name of a setting, letters, digits, \"_\", \".\" and "
                          "\"-\" were expected",
                          STR_ARG(node->args[0]));
    }
    if (!php_ini_is_value(node->args[1])) {
        return tree_error(err, node->arg_pos[1],
                          "the value of \"%.*s\" has a line feed or NUL, one line was expected",
                          STR_ARG(node->args[0]));
    }
    return KEY_PAIRS.parse(key, node, a, field, err);
}

static void setting_print(const struct key *key, const void *field, struct buf *out)
{
    KEY_PAIRS.print(key, field, out);
}

static const struct key_type SETTING = {"setting", "NAME VALUE", setting_parse, setting_print};
static const struct key_type BUSY_TYPE = {"auto|all|int", "auto|all|N", busy_parse, busy_print};

// Rows of the block, in the order of the manual.
const struct key app_conf_block_keys[APP_CONF_BLOCK_COUNT] = {
    {
        .name = "user",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, user),
        .scopes = KEY_APP,
        .max = 2,
        .help =
            "User, and group if it is not the user's own groups, that the app runs as. Only for an instance "
            "that root starts.",
        .example = "blog",
        .def_words =
            "the owner of the site's root directory; the user of the server where that is root",
        .effect = KEY_WORKERS,
    },
    {
        .name = "workers",
        .type = &KEY_RANGE,
        .offset = offsetof(struct app_conf, workers),
        .scopes = KEY_APP,
        .min = 0,
        .max = SCOREBOARD_RECORDS_MAX,
        .unit = "workers",
        .help =
            "Least and most worker processes, each of which serves one request at a time. Workers are started "
            "when requests wait and leave when they were idle for the time of `idle`.",
        .example = "1..8",
        .def_words = "0 to four for each processor",
    },
    {
        .name = "busy_max",
        .type = &BUSY_TYPE,
        .offset = offsetof(struct app_conf, busy_max),
        .scopes = KEY_APP,
        .def = "auto",
        .min = 1,
        .max = SCOREBOARD_RECORDS_MAX,
        .unit = "workers",
        .help =
            "Most workers that have a request at the same time. Pages that only compute are served faster when "
            "no more of them run than there are processors; pages that wait, for a database say, need more. With "
            "auto this is measured ten times a second while requests wait: as many workers are busy as can "
            "keep all processors busy, and one; requests that run for more than a second are not counted. "
            "all: every worker. `godwit apps` shows the number in force as busy_max.",
        .example = "all",
    },
    {
        .name = "command",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, command),
        .scopes = KEY_APP,
        .help =
            "Program, with arguments, that serves the app's requests over LSAPI: needed for the type lsapi, in "
            "place of the PHP that would be found for the type php. There a name that begins with lsphp or php-cgi "
            "means that. A program without \"/\" is looked for in PATH.",
        .example = "/usr/local/bin/guestbook --fast",
        .effect = KEY_WORKERS,
    },
    {
        .name = "version",
        .type = &KEY_STR,
        .offset = offsetof(struct app_conf, version),
        .scopes = KEY_APP,
        .help =
            "Version of PHP, for app php: the best program of that version is taken. Several can be in use at "
            "once, one for each app.",
        .example = "8.2",
        .def_words = "whatever is there: godwit-php, else lsphp, else php-cgi",
        .effect = KEY_WORKERS,
    },
    {
        .name = "directory",
        .type = &KEY_FILE,
        .offset = offsetof(struct app_conf, directory),
        .scopes = KEY_APP,
        .help =
            "Directory that the app's processes start in; / when it is not given. PHP changes to "
            "the directory of the script for each request.",
        .example = "/srv/shop",
        .effect = KEY_WORKERS,
    },
    {
        .name = "env",
        .type = &KEY_PAIRS,
        .offset = offsetof(struct app_conf, env),
        .scopes = KEY_APP,
        .repeats = true,
        .help =
            "A variable of the app's environment. Besides these it has only PATH, HOME, USER and LANG: nothing "
            "of the environment that Godwit was started in.",
        .example = "APP_ENV production",
        .effect = KEY_WORKERS,
    },
    {
        .name = "ini",
        .type = &SETTING,
        .offset = offsetof(struct app_conf, ini),
        .scopes = KEY_APP,
        .repeats = true,
        .help =
            "A setting of php.ini for this app. A script may change it where PHP allows that. Switches and "
            "expressions of error levels are evaluated as in php.ini, every other value is taken as it stands.",
        .example = "upload_max_filesize 64M",
        .effect = KEY_WORKERS,
    },
    {
        .name = "admin_ini",
        .type = &SETTING,
        .offset = offsetof(struct app_conf, admin_ini),
        .scopes = KEY_APP,
        .repeats = true,
        .help =
            "A setting of php.ini for this app that no script can change: values as for `ini`. PHP has it from its "
            "start, so that disable_functions and the like work.",
        .example = "open_basedir /srv/blog:/tmp",
        .effect = KEY_WORKERS,
    },
    {
        .name = "extensions",
        .type = &KEY_WORDS,
        .offset = offsetof(struct app_conf, extensions),
        .scopes = KEY_APP,
        .def = ".php .phtml .phar",
        .max = 16,
        .help = "Ends of the names of files that are PHP scripts. They are run, and never sent.",
        .example = ".php .inc",
    },
    {
        .name = "request_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, request_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help =
            "Longest time that a worker may spend on one request, the time that it waits for a slow client left "
            "out. Then it is killed; the client gets status 504, or a broken off answer if it has begun. Its end is "
            "the same for a client that has left meanwhile.",
        .example = "5m",
    },
    {
        .name = "queue",
        .type = &KEY_INT,
        .offset = offsetof(struct app_conf, queue_max),
        .scopes = KEY_APP,
        .def = "10000",
        .min = 0,
        .max = 1000000,
        .unit = "requests",
        .help =
            "Most requests that wait for a worker; the next one gets status 503 at once, before its body is read. "
            "Client addresses (IPv6: networks of 64 bits) take turns, and when the queue is full the newest "
            "request of the address that has the most of them makes room for another address's.",
        .example = "200",
    },
    {
        .name = "queue_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, queue_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help = "Longest time that a request waits for a worker; then it gets status 503.",
        .example = "10s",
    },
    {
        .name = "requests",
        .type = &KEY_INT,
        .offset = offsetof(struct app_conf, requests_max),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = 1000000000,
        .unit = "requests",
        .help =
            "Requests after which a worker is replaced, a tenth more or less so that not all are replaced at once. "
            "It serves until the new one is ready, but at most another tenth: then requests wait for that. Only "
            "if none can be started it serves on. 0: never.",
        .example = "5000",
    },
    {
        .name = "memory",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, memory_max_bytes),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "Memory of its own, not shared with the process that starts the workers, above which a worker is "
            "replaced. It is measured after a request, once a second, more often while it grows; the "
            "worker serves until the new one is ready, and no request is cut. 0: never.",
        .example = "256m",
    },
    {
        .name = "idle",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, idle_ms),
        .scopes = KEY_APP,
        .def = "60s",
        .min = 100,
        .max = 604800000,
        .unit = "ms",
        .help =
            "Time without a request after which a worker above the least count leaves, and with "
            "the last one the process that starts them.",
        .example = "10m",
    },
    {
        .name = "start_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, start_ms),
        .scopes = KEY_APP,
        .def = "30s",
        .min = 100,
        .max = 3600000,
        .unit = "ms",
        .help = "Longest time that loading the app, and then starting a worker, may take.",
        .example = "2m",
    },
    {
        .name = "stop_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, stop_ms),
        .scopes = KEY_APP,
        .def = "10s",
        .min = 100,
        .max = 3600000,
        .unit = "ms",
        .help = "Time that a worker has to end after it was asked to, before it is killed.",
        .example = "30s",
        .effect = KEY_WORKERS,
    },
    {
        .name = "detached_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct app_conf, detached_ms),
        .scopes = KEY_APP,
        .def = "10m",
        .min = 100,
        .max = 86400000,
        .unit = "ms",
        .help =
            "Longest time that a worker may go on after it has finished its answer (litespeed_finish_request, "
            "fastcgi_finish_request) before it is killed. It counts as one of `workers` meanwhile.",
        .example = "1h",
    },
    {
        .name = "abort",
        .type = &KEY_ENUM,
        .offset = offsetof(struct app_conf, abort),
        .scopes = KEY_APP,
        .def = "stop",
        .words = ABORT_WORDS,
        .help =
            "What happens to a request whose client leaves. While it waits for a worker it is dropped. While it "
            "runs, stop closes the connection to the worker, so that PHP ends the script at its next output unless "
            "it has called ignore_user_abort; finish reads the answer to its end and drops it. A client whose "
            "connection breaks has left. One that closes its own direction only, which is all that can be seen of a "
            "browser that gives up, has left if it does so later than a second after its request, with finish only "
            "while that waits for a worker. Else it is served, as HTTP allows it to wait and some programs ask for "
            "work that they do not wait for.",
        .example = "finish",
    },
    {
        .name = "response_buffer",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, response_buffer_bytes),
        .scopes = KEY_APP,
        .def = "256k",
        .min = 16384,
        .max = 64 * 1024 * 1024,
        .unit = "bytes",
        .help =
            "How much of an answer is kept in memory for a slow client. An answer up to this size sets its worker "
            "free at once; what is longer goes to a temporary file if the client does not keep pace.",
        .example = "1m",
    },
    {
        .name = "response_spool_max",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, response_spool_bytes),
        .scopes = KEY_APP,
        .def = "1g",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "How much of an answer is kept in a temporary file (in `spool_dir`) for a slow client, so that its "
            "worker is free. Beyond it, and with 0, the worker waits for the client; one that reads nothing for 5 s "
            "is cut if other requests wait for a worker. Event streams (text/event-stream) and answers with "
            "X-Accel-Buffering: no are never kept in a file, and not cut.",
        .example = "4g",
    },
    {
        .name = "spool_quota",
        .type = &KEY_SIZE,
        .offset = offsetof(struct app_conf, spool_quota_bytes),
        .scopes = KEY_APP,
        .def = "0",
        .min = 0,
        .max = INT64_MAX,
        .unit = "bytes",
        .help =
            "What all temporary files of the app may hold together. Beyond it, a request body that needs a file is "
            "refused with 503 (with 413 if it is larger than all of this), and an answer waits for its client in "
            "the worker; a client that reads nothing for 5 s is cut if other requests wait for a worker. 0: no "
            "limit but `spool_max`.",
        .example = "2g",
    },
    {
        .name = "stream_request",
        .type = &KEY_FLAG,
        .offset = offsetof(struct app_conf, stream_request),
        .scopes = KEY_APP,
        .def = "off",
        .help =
            "Whether a request body is passed on to the worker as it comes, if the client has said its length; "
            "otherwise a worker gets the request when the body is complete. A slow client then holds a worker; "
            "`request_time` does not count while the worker waits for it. Such a request is not tried on "
            "a second worker.",
        .example = "on",
    },
    {
        .name = "keep_children",
        .type = &KEY_FLAG,
        .offset = offsetof(struct app_conf, keep_children),
        .scopes = KEY_APP,
        .def = "on",
        .help =
            "Whether programs that a worker has started in the background live on when the worker ends by itself. "
            "When it is killed they are killed in any case.",
        .example = "off",
        .effect = KEY_WORKERS,
    },
};
