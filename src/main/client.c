// SPDX-License-Identifier: Apache-2.0
// client -- see client.h.
#include "main/client.h"

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "main/control_client.h"
#include "main/instance.h"
#include "main/report.h"

#define STATUS_OK       200
#define STATUS_ACCEPTED 202

struct request {
    const char *method;
    const char *target;
};

static struct request request_of(const struct cli *cli, struct arena *a)
{
    switch (cli->command) {
    case CLI_RELOAD:
        return (struct request){"POST", "/api/reload"};
    case CLI_STOP:
        return (struct request){"POST", cli->now ? "/api/stop?now=1" : "/api/stop?now=0"};
    case CLI_APPS:
        return (struct request){"GET", "/api/apps"};
    case CLI_RESTART:
        return (struct request){"POST", arena_fmt(a, "/api/restart?app=%s", cli->operand).ptr};
    case CLI_STATUS:
    case CLI_SERVE:
    case CLI_CHECK:
    case CLI_HELP:
    case CLI_VERSION:
        break;
    }
    return (struct request){"GET", "/api/status"};
}

// Prints the texts of {"NAME": [text, ...]} and returns their count.
static size_t print_texts(struct str body, const char *name, const char *prefix)
{
    json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
    const json_t *texts = json_object_get(root, name);
    size_t count = json_array_size(texts);
    for (size_t i = 0; i < count; i++)
        if (json_is_string(json_array_get(texts, i)))
            fprintf(stderr, "%s%s\n", prefix, json_string_value(json_array_get(texts, i)));
    json_decref(root);
    return count;
}

// Prints what went wrong, or the answer as it came.
static int print_errors(int status, struct str body)
{
    if (print_texts(body, "errors", "") == 0)
        fprintf(stderr, "godwit: the instance answered %d: %.*s\n", status, STR_ARG(body));
    return 1;
}

static int print_answer(const struct cli *cli, struct str body)
{
    if (cli->command == CLI_RELOAD)
        puts("The new configuration is in force.");
    print_texts(body, "warnings", "warning: ");
    if (cli->command == CLI_STOP)
        puts(cli->now ? "The instance ends."
                      : "The instance ends when running requests are finished.");
    if (cli->command == CLI_RESTART)
        printf("App %s has new workers.\n", cli->operand);
    if (cli->command != CLI_STATUS && cli->command != CLI_APPS)
        return 0;
    json_t *root = json_loadb(body.ptr, body.len, 0, NULL);
    if (!json_is_object(root)) {
        (void)fputs("godwit: the answer is not JSON\n", stderr);
        json_decref(root);
        return 1;
    }
    if (cli->json) {
        json_dumpf(root, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        report_print(root);
    }
    json_decref(root);
    return 0;
}

int client_run(const struct cli *cli)
{
    struct arena a = {0};
    struct buf body = {0};
    struct err err = {0};
    struct request req = request_of(cli, &a);
    int exit_status = 1;
    int status;
    const char *base = instance_base(&a, cli->runtime, &err);
    const char *path = base ? instance_find(&a, base, cli->name, &err) : NULL;
    if (!path || !control_client_ask(path, req.method, req.target, &status, &body, &err))
        fprintf(stderr, "godwit: %s\n", err_text(&err));
    else if (status == 0 && !(cli->command == CLI_STOP && cli->now))
        (void)fputs("godwit: the server process ended without an answer\n", stderr);
    else if (status != 0 && status != STATUS_OK && status != STATUS_ACCEPTED)
        exit_status = print_errors(status, buf_view(&body));
    else
        exit_status = print_answer(cli, buf_view(&body));
    err_done(&err);
    buf_done(&body);
    arena_done(&a);
    return exit_status;
}
