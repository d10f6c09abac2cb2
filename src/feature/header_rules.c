// SPDX-License-Identifier: Apache-2.0
// header_rules -- see header_rules.h.
#include "feature/header_rules.h"

#include "core/exchange.h"
#include "http/header.h"

enum action { SET, ADD, REMOVE };

static const char *const ACTIONS[] = {[SET] = "set", [ADD] = "add", [REMOVE] = "remove"};

struct rule {
    enum action action;
    struct str name, value;
    bool always; // for errors too
};

struct header_rules_conf {
    struct rule *rules; // in order, those of outside first
    size_t count;
};

// What tells where a message ends, or how long the connection lives, is made from the facts.
static bool is_ours(enum header_id id)
{
    return header_id_is_hop_by_hop(id) || id == HEADER_CONTENT_LENGTH || id == HEADER_DATE
           || id == HEADER_SERVER;
}

static bool read_action(struct str word, enum action *out)
{
    for (size_t i = 0; i < ARRAY_LEN(ACTIONS); i++) {
        if (str_eq(word, str_c(ACTIONS[i]))) {
            *out = (enum action)i;
            return true;
        }
    }
    return false;
}

static bool read_rule(const struct tree_node *node, struct rule *rule, struct err *err)
{
    if (!read_action(node->args[0], &rule->action)) {
        return tree_error(err, node->arg_pos[0],
                          "\"header\" is to \"%.*s\", set, add or remove was expected",
                          STR_ARG(node->args[0]));
    }
    size_t named = rule->action == REMOVE ? 2 : 3;
    rule->always = node->arg_count == named + 1 && str_eq(node->args[named], STR("always"));
    if (node->arg_count != named + rule->always) {
        return tree_error(err, node->pos,
                          "\"header %s\" was expected with NAME%s and perhaps always",
                          ACTIONS[rule->action], rule->action == REMOVE ? "" : " VALUE");
    }
    rule->name = node->args[1];
    if (!header_is_token(rule->name))
        return tree_error(err, node->arg_pos[1], "\"%.*s\" is no name of a header field",
                          STR_ARG(rule->name));
    if (is_ours(header_id_find(rule->name))) {
        return tree_error(err, node->arg_pos[1],
                          "%.*s is made by the server itself, another header field was expected",
                          STR_ARG(rule->name));
    }
    if (rule->action == REMOVE)
        return true;
    rule->value = str_trim(node->args[2]);
    if (!header_value_ok(rule->value)) {
        return tree_error(err, node->arg_pos[2],
                          "the value of %.*s has a control byte, text was expected",
                          STR_ARG(rule->name));
    }
    return true;
}

static bool parse(const struct key *key, const struct tree_node *node, struct arena *a, void *field,
                  struct err *err)
{
    struct header_rules_conf *conf = field;
    struct rule rule = {0};
    if (!key_args_check(key, node, 2, 4, err) || !read_rule(node, &rule, err))
        return false;
    rule.name = arena_dup(a, rule.name);
    rule.value = arena_dup(a, rule.value);
    conf->rules = arena_append(a, conf->rules, conf->count, sizeof rule);
    conf->rules[conf->count++] = rule;
    return true;
}

static void print(const struct key *key, const void *field, struct buf *out)
{
    const struct header_rules_conf *conf = field;
    (void)key;
    for (size_t i = 0; i < conf->count; i++) {
        const struct rule *rule = &conf->rules[i];
        buf_fmt(out, "%s%s ", i ? "\n" : "", ACTIONS[rule->action]);
        tree_quote(rule->name, out);
        if (rule->action != REMOVE) {
            buf_fmt(out, " ");
            tree_quote(rule->value, out);
        }
        buf_fmt(out, "%s", rule->always ? " always" : "");
    }
}

static const struct key_type TYPE = {"header", "set|add|remove NAME [VALUE] [always]", parse,
                                     print};

static const struct key KEYS[] = {
    {
        .name = "header",
        .type = &TYPE,
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .help = "Changes a header field of answers, also of those that an app makes: set leaves "
                "exactly one with this value, add puts one more, remove takes all out. It holds "
                "for answers with status 200 to 399, with always for errors too. All rules hold, "
                "those of outside first.",
        .example = "set X-Content-Type-Options nosniff always",
        .repeats = true,
        .def_words = "answers stay as they are",
    },
};

static void respond(struct exchange *ex)
{
    const struct header_rules_conf *conf = module_conf(ex, &header_rules_module);
    bool is_good = ex->resp.status >= 200 && ex->resp.status < 400;
    for (size_t i = 0; i < conf->count; i++) {
        const struct rule *rule = &conf->rules[i];
        if (!is_good && !rule->always)
            continue;
        switch (rule->action) {
        case SET:
            header_list_set(&ex->resp.headers, rule->name, rule->value);
            break;
        case ADD:
            header_list_add(&ex->resp.headers, rule->name, rule->value);
            break;
        case REMOVE:
            header_list_remove(&ex->resp.headers, rule->name);
            break;
        }
    }
}

static bool is_idle(const void *arg)
{
    const struct header_rules_conf *conf = arg;
    return conf->count == 0;
}

struct module header_rules_module = {
    .name = "header",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct header_rules_conf),
    .idle = is_idle,
    .respond = respond,
};
