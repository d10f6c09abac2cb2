// SPDX-License-Identifier: Apache-2.0
// help -- `godwit help DIRECTIVE`: what a directive does, on a terminal.
#include <stdio.h>
#include <string.h>

#include "core/module_block.h"
#include "main/help_manual.h"
#include "main/help_text.h"
#include "main/modules.h"
#include "main/roles.h"

#define LINE_MAX_BYTES 78
#define NAME_BYTES     22 // column of names in the overview

static struct str first_sentence(const char *help)
{
    const char *end = strstr(help, ". ");
    return end ? str_n(help, (size_t)(end - help) + 1) : str_c(help);
}

// Prints the words in lines that begin with `indent` spaces; the first line has `used` bytes
// already.
static void print_wrapped(struct str text, size_t indent, size_t used)
{
    size_t column = used;
    while (text.ptr) {
        struct str word = str_cut(&text, ' ');
        if (column > indent && column + 1 + word.len > LINE_MAX_BYTES) {
            (void)printf("\n");
            column = 0;
        }
        if (column < indent) {
            column += (size_t)printf("%*s", (int)(indent - column), "");
        } else if (column > indent) {
            column += (size_t)printf(" ");
        }
        column += (size_t)printf("%.*s", STR_ARG(word));
    }
    (void)printf("\n");
}

static int print_overview(void)
{
    struct help_group groups[HELP_GROUPS_MAX];
    size_t count = help_text_groups(groups);
    (void)printf("Directives of a configuration; `godwit help DIRECTIVE` explains one:\n");
    for (size_t i = 0; i < count; i++) {
        (void)printf("\n%s%s%s\n", groups[i].name, groups[i].title ? ", " : "",
                     groups[i].title ? groups[i].title : "");
        for (size_t j = 0; j < groups[i].count; j++) {
            const struct key *key = &groups[i].keys[j];
            size_t used = (size_t)printf("    %-*s", NAME_BYTES - 5, key->name);
            print_wrapped(first_sentence(key->help), NAME_BYTES, used);
        }
    }
    return 0;
}

static void print_fact(const char *name, struct buf *value)
{
    if (buf_len(value)) {
        size_t used = (size_t)printf("    %-15s", name);
        print_wrapped(buf_view(value), 20, used);
    }
    buf_take(value, buf_len(value));
}

static void print_key(const struct key *key)
{
    struct buf text = {0};
    char scopes[64];
    help_text_syntax(key, &text);
    (void)printf("%.*s\n\n", STR_ARG(buf_view(&text)));
    buf_take(&text, buf_len(&text));
    print_wrapped(str_c(key->help), 4, 0);
    (void)printf("\n");
    help_text_values(key, &text);
    print_fact("value", &text);
    (void)help_text_default(key, &text);
    print_fact("default", &text);
    buf_fmt(&text, "%s%s", key_scopes_text(key->scopes, scopes),
            key->repeats ? "; more than once" : "");
    print_fact("may stand in", &text);
    buf_fmt(&text, "%s", help_text_effect(key));
    print_fact("a change needs", &text);
    (void)help_text_example(key, &text);
    print_fact("example", &text);
    buf_done(&text);
}

// A name may be a directive in more than one place: all are shown.
static int print_directive(const char *name)
{
    struct help_group groups[HELP_GROUPS_MAX];
    size_t count = help_text_groups(groups);
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct key *key = key_find(groups[i].keys, groups[i].count, str_c(name));
        if (!key)
            continue;
        if (found++)
            (void)printf("\n");
        print_key(key);
    }
    if (found)
        return 0;
    const struct key *near = module_block_suggest(str_c(name));
    if (near) {
        (void)fprintf(stderr, "godwit: there is no directive \"%s\"; did you mean \"%s\"?\n", name,
                      near->name);
    } else {
        (void)fprintf(stderr, "godwit: there is no directive \"%s\"; `godwit help` lists all\n",
                      name);
    }
    return 1;
}

int help_print(const char *directive)
{
    modules_register();
    if (!directive)
        return print_overview();
    if (strcmp(directive, "--markdown") == 0) {
        help_manual_markdown();
    } else if (strcmp(directive, "--man") == 0) {
        help_manual_man();
    } else {
        return print_directive(directive);
    }
    return 0;
}
