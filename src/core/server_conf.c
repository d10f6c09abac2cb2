// SPDX-License-Identifier: Apache-2.0
// server_conf -- see server_conf.h.
#include "core/server_conf.h"

#include "log/log.h"

static const char *const LEVELS[] = {"error", "warn", "info", "debug", NULL};
static const char *const FORMATS[] = {"plain", "journald", NULL};

STATIC_ASSERT(LOG_ERROR == 0 && LOG_WARN == 1 && LOG_INFO == 2 && LOG_DEBUG == 3);
STATIC_ASSERT(LOG_PLAIN == 0 && LOG_JOURNALD == 1);

static const struct key KEYS[] = {
    {
        .name = "user",
        .type = &KEY_WORDS,
        .offset = offsetof(struct server_conf, user),
        .scopes = KEY_TOP,
        .max = 2,
        .syntax = "NAME [GROUP]",
        .help =
            "User, and group if it is not the user's own groups, that the process which talks to "
            "the network runs as. Only for an instance that root starts. Apps have a user of their own.",
        .example = "www-data",
        .def_words = "www-data",
        .effect = KEY_RESTART,
    },
    {
        .name = "threads",
        .type = &KEY_INT,
        .offset = offsetof(struct server_conf, threads),
        .scopes = KEY_TOP,
        .def = "0",
        .min = 0,
        .max = 256,
        .unit = "threads",
        .help = "Threads that serve connections. 0 means one for each processor.",
        .example = "4",
        .effect = KEY_RESTART,
    },
    {
        .name = "drain_time",
        .type = &KEY_TIME,
        .offset = offsetof(struct server_conf, drain_ms),
        .scopes = KEY_TOP,
        .def = "30s",
        .min = 0,
        .max = 86400000,
        .unit = "ms",
        .help = "Longest time that a stop waits for requests that are being served.",
        .example = "2m",
    },
    {
        .name = "log_level",
        .type = &KEY_ENUM,
        .offset = offsetof(struct server_conf, log_level),
        .scopes = KEY_TOP,
        .def = "info",
        .words = LEVELS,
        .help =
            "The least important messages that are written to the error log: error (an operator must act), warn "
            "(something is degraded), info (starts, stops, reloads) or debug.",
        .example = "warn",
    },
    {
        .name = "error_log",
        .type = &KEY_LOG,
        .offset = offsetof(struct server_conf, error_log),
        .scopes = KEY_TOP,
        .def = "stderr",
        .help =
            "Where messages for operators go, with what the apps write to their standard error.",
        .example = "/var/log/godwit/error.log",
    },
    {
        .name = "log_format",
        .type = &KEY_ENUM,
        .offset = offsetof(struct server_conf, log_format),
        .scopes = KEY_TOP,
        .def = "plain",
        .words = FORMATS,
        .help =
            "plain begins each message with date and time; journald begins it with a priority that systemd's "
            "journal understands, and leaves the time to it.",
        .example = "journald",
    },
    {
        .name = "development",
        .type = &KEY_FLAG,
        .offset = offsetof(struct server_conf, development),
        .scopes = KEY_TOP,
        .def = "off",
        .help =
            "Shows the cause of an error in the page that the client sees, not only in the log. `godwit serve DIR` "
            "turns it on; a public server must not.",
        .example = "on",
    },
};

struct module server_conf_module = {
    .name = "server",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct server_conf),
};

const struct server_conf *server_conf(const struct snapshot *s)
{
    return module_conf_at(&s->top, &server_conf_module);
}
