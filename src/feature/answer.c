// SPDX-License-Identifier: Apache-2.0
// answer -- see answer.h. Stands behind the access rules: what is protected stays so.
#include "feature/answer.h"

#include "core/exchange.h"
#include "http/header.h"
#include "http/status.h"

#define STATUS_DROP 444 // nginx's number: who reads logs knows it

struct answer {
    int status; // 0: none
    bool has_text;
    struct str text;
};

struct answer_conf {
    struct answer answer;
};

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    uint64_t status;
    if (!key_args_check(key, node, 1, 2, err))
        return false;
    struct answer answer = {.has_text = node->arg_count == 2};
    if (str_eq(node->args[0], STR("off")) && !answer.has_text) {
        *(struct answer *)field = answer;
        return true;
    }
    if (!str_to_u64(node->args[0], &status) || status < 200 || status > 599
        || (status >= 300 && status < 400)) {
        return tree_error(err, node->arg_pos[0],
                          "\"return\" is %.*s, a status from 200 to 299 or 400 to 599 was expected "
                          "(redirects are made with \"redirect\")",
                          STR_ARG(node->args[0]));
    }
    answer.status = (int)status;
    if (answer.has_text) {
        if (!status_has_body(answer.status) || answer.status == STATUS_DROP)
            return tree_error(err, node->arg_pos[1], "an answer with status %d has no text",
                              answer.status);
        answer.text = arena_dup(a, node->args[1]);
    }
    *(struct answer *)field = answer;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct answer *answer = field;
    (void)key;
    if (answer->status == 0) {
        buf_fmt(out, "off");
        return;
    }
    buf_fmt(out, "%d", answer->status);
    if (answer->has_text) {
        buf_fmt(out, " ");
        tree_quote(answer->text, out);
    }
}

static const struct key_type TYPE = {"answer", "STATUS [TEXT]|off", parse, print};

static const struct key KEYS[] = {
    {
        .name = "return",
        .type = &TYPE,
        .offset = offsetof(struct answer_conf, answer),
        .scopes = KEY_SITE | KEY_PATH,
        .def = "off",
        .help = "Answers all requests with this status, and this text if one is given. Without "
                "text, a status from 400 on gets the page that error_page names or the server's "
                "own. What a rule of access refuses is refused before. 444 closes the connection "
                "without an answer.",
        .example = "410 \"The shop has closed.\"",
    },
};

static enum phase_result handle(struct exchange *ex)
{
    const struct answer_conf *conf = module_conf(ex, &answer_module);
    const struct answer *answer = &conf->answer;
    // The page for this very answer may stand in the same path.
    if (answer->status == 0 || exchange_is_diverted(ex))
        return PHASE_NEXT;
    if (answer->status == STATUS_DROP) {
        ex->resp.status = answer->status;
        ex->resp.drop = true;
        exchange_respond(ex);
        return PHASE_DONE;
    }
    if (answer->status >= 400 && !answer->has_text) {
        exchange_refuse(ex, answer->status, NULL, "The directive return says so for this path.");
        return PHASE_DONE;
    }
    ex->resp.status = answer->status;
    if (status_has_body(answer->status)) {
        header_list_set_id(&ex->resp.headers, HEADER_CONTENT_TYPE,
                           STR("text/plain; charset=utf-8"));
        ex->resp.body = body_text(&ex->arena, answer->text);
    }
    exchange_respond(ex);
    return PHASE_DONE;
}

static bool is_idle(const void *arg)
{
    const struct answer_conf *conf = arg;
    return conf->answer.status == 0;
}

struct module answer_module = {
    .name = "return",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct answer_conf),
    .idle = is_idle,
    .hooks = {[PHASE_HANDLE] = handle},
};
