// SPDX-License-Identifier: Apache-2.0
// help_manual -- see help_manual.h.
#include "main/help_manual.h"

#include <stdio.h>
#include <string.h>

#include "main/help_text.h"

// How a document writes its parts.
struct form {
    void (*group)(const struct help_group *group);
    void (*directive)(const struct key *key);
    void (*fact)(const char *name, struct str value, bool is_code);
    void (*end)(void);
};

static void put(struct str text)
{
    (void)fwrite(text.ptr, 1, text.len, stdout);
}

static void write_fact(const struct form *form, const char *name, bool is_code, struct buf *value)
{
    if (buf_len(value))
        form->fact(name, buf_view(value), is_code);
    buf_take(value, buf_len(value));
}

static void write_directive(const struct form *form, const struct key *key)
{
    struct buf value = {0};
    char scopes[64];
    form->directive(key);
    help_text_values(key, &value);
    write_fact(form, "Value", false, &value);
    bool is_directive = help_text_default(key, &value);
    write_fact(form, "Default", is_directive, &value);
    buf_fmt(&value, "%s%s", key_scopes_text(key->scopes, scopes),
            key->repeats ? "; more than once" : "");
    write_fact(form, "May stand in", false, &value);
    buf_fmt(&value, "%s", help_text_effect(key));
    write_fact(form, "A change needs", false, &value);
    (void)help_text_example(key, &value);
    write_fact(form, "Example", true, &value);
    form->end();
    buf_done(&value);
}

static void write_all(const struct form *form)
{
    struct help_group groups[HELP_GROUPS_MAX];
    size_t count = help_text_groups(groups);
    for (size_t i = 0; i < count; i++) {
        form->group(&groups[i]);
        for (size_t j = 0; j < groups[i].count; j++)
            write_directive(form, &groups[i].keys[j]);
    }
}

static void markdown_group(const struct help_group *group)
{
    if (group->title) {
        (void)printf("## %s: %s\n\n", group->name, group->title);
    } else {
        (void)printf("## %s\n\n", group->name);
    }
}

// Text in which Markdown sees no marks.
static void markdown_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (memchr("*_<>`\\", text.ptr[i], 6))
            put(STR("\\"));
        put(str_n(text.ptr + i, 1));
    }
}

static void markdown_directive(const struct key *key)
{
    struct buf syntax = {0};
    help_text_syntax(key, &syntax);
    (void)printf("### %s\n\n    %.*s\n\n", key->name, STR_ARG(buf_view(&syntax)));
    markdown_text(str_c(key->help));
    (void)printf("\n\n");
    buf_done(&syntax);
}

static void markdown_fact(const char *name, struct str value, bool is_code)
{
    const char *tick = is_code ? "`" : "";
    (void)printf("- %s: %s%.*s%s\n", name, tick, STR_ARG(value), tick);
}

static void markdown_end(void)
{
    (void)puts("");
}

void help_manual_markdown(void)
{
    static const struct form FORM = {markdown_group, markdown_directive, markdown_fact,
                                     markdown_end};
    (void)puts(
        "# Directives\n\n"
        "Made from the program's own table by `godwit help --markdown`; do not edit.\n"
        "`godwit help DIRECTIVE` says the same.\n\n"
        "A configuration is a list of directives: a name, arguments, and `;` or a block in\n"
        "`{ }`. Arguments with white space, `;`, `{`, `}` or quotes stand in quotes; `#` begins a\n"
        "comment. What a site or a path does not say holds as outside of it. Relative paths\n"
        "begin at the directory of the file they stand in.\n");
    write_all(&FORM);
}

// Text in which roff sees no commands: a backslash, and a dot or quote that begins a line.
static void man_text(struct str text)
{
    bool begins = true;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (begins && (c == '.' || c == '\''))
            put(STR("\\&"));
        if (c == '\\') {
            put(STR("\\e"));
        } else if (c == '-') {
            put(STR("\\-"));
        } else {
            put(str_n(&c, 1));
        }
        begins = c == '\n';
    }
}

static void man_group(const struct help_group *group)
{
    (void)printf(".SH ");
    for (const char *c = group->name; *c; c++)
        (void)putchar(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    if (group->title)
        (void)printf(": %s", group->title);
    (void)puts("");
}

static void man_directive(const struct key *key)
{
    struct buf syntax = {0};
    help_text_syntax(key, &syntax);
    (void)printf(".TP\n.B ");
    man_text(buf_view(&syntax));
    (void)puts("");
    man_text(str_c(key->help));
    (void)puts("");
    buf_done(&syntax);
}

static void man_fact(const char *name, struct str value, bool is_code)
{
    (void)printf(".br\n%s: %s", name, is_code ? "\\fB" : "");
    man_text(value);
    (void)printf("%s\n", is_code ? "\\fR" : "");
}

static void man_end(void)
{
}

void help_manual_man(void)
{
    static const struct form FORM = {man_group, man_directive, man_fact, man_end};
    (void)puts(
        ".\\\" Made from the program's own table by \"godwit help --man\".\n"
        ".TH GODWIT.CONF 5 \"\" \"godwit " GODWIT_VERSION "\" \"File formats\"\n"
        ".SH NAME\ngodwit.conf \\- configuration of the godwit web and application server\n"
        ".SH DESCRIPTION\n"
        "A configuration is a list of directives: a name, arguments, and\n.B ;\nor a block in\n.BR \"{ }\" .\n"
        "Arguments with white space, semicolons, braces or quotes stand in quotes; # begins a comment.\n"
        "In double quotes \\e\\e, \\e\\(dq, \\e\\(aq, \\en and \\et are escapes; single quotes keep all as it is.\n"
        "What a site or a path does not say holds as outside of it.\n"
        "Relative paths begin at the directory of the file they stand in.");
    write_all(&FORM);
    (void)puts(".SH SEE ALSO\n.BR godwit (8)");
}
