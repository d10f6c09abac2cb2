// SPDX-License-Identifier: Apache-2.0
// cli -- see cli.h.
#include "main/cli.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define BIT(command) (1u << (command))

enum {
    CONFIGURED = BIT(CLI_SERVE) | BIT(CLI_CHECK),
    CLIENTS = BIT(CLI_RELOAD) | BIT(CLI_STOP) | BIT(CLI_STATUS) | BIT(CLI_APPS) | BIT(CLI_RESTART),
};

static const struct command {
    const char *name;
    enum cli_command command;
    bool has_operand;
    const char *form;
    const char *help;
} COMMANDS[] = {
    {"serve", CLI_SERVE, true, "serve [DIR [-p PORT] | -c FILE]",
     "serve a configuration, or what is in DIR"},
    {"check", CLI_CHECK, true, "check [DIR | -c FILE]", "say all errors of a configuration"},
    {"reload", CLI_RELOAD, false, "reload", "load the configuration again"},
    {"stop", CLI_STOP, false, "stop [--now]", "finish running requests, then end; --now: end"},
    {"status", CLI_STATUS, false, "status [--json]", "show listeners, connections, requests"},
    {"apps", CLI_APPS, false, "apps [--json]", "show the apps and their workers"},
    {"restart", CLI_RESTART, true, "restart APP", "give an app new workers, one after another"},
    {"help", CLI_HELP, true, "help [DIRECTIVE]", "explain the commands, or one directive"},
    {"version", CLI_VERSION, false, "version", "print the version"},
};

// An option sets a string (the next argument, or what follows "=") or a flag.
static const struct option {
    const char *name, *other;
    unsigned commands; // that know it
    bool is_flag;
    size_t offset;
    const char *form;
    const char *help;
} OPTIONS[] = {
    {"-c", "--config", CONFIGURED, false, offsetof(struct cli, file), "-c, --config FILE",
     "the configuration file"},
    {"-p", "--port", CONFIGURED, false, offsetof(struct cli, port), "-p, --port PORT",
     "with DIR: the port on 127.0.0.1, usually 8080"},
    {"-n", "--name", CONFIGURED | CLIENTS, false, offsetof(struct cli, name), "-n, --name NAME",
     "name of the instance, usually that of the file, or of DIR and port"},
    {"--runtime", NULL, BIT(CLI_SERVE) | CLIENTS, false, offsetof(struct cli, runtime),
     "--runtime DIR", "where instances keep their sockets"},
    {"--json", NULL, BIT(CLI_STATUS) | BIT(CLI_APPS), true, offsetof(struct cli, json), "--json",
     "print JSON"},
    {"--now", NULL, BIT(CLI_STOP), true, offsetof(struct cli, now), "--now",
     "do not wait for running requests"},
};

// How many letters must change to make `a` of `b`; texts of up to 31 letters.
static size_t distance(const char *a, const char *b)
{
    size_t row[32];
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len >= ARRAY_LEN(row) || b_len >= ARRAY_LEN(row))
        return SIZE_MAX;
    for (size_t j = 0; j <= b_len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[b_len];
}

static bool fail_command(const char *text, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
        if (distance(text, COMMANDS[i].name) <= 2)
            return err_set(err, "there is no command \"%s\"; did you mean \"%s\"?", text,
                           COMMANDS[i].name);
    }
    return err_set(err,
                   "there is no command \"%s\"; commands are serve, check, reload, stop, "
                   "status, apps, restart, help and version",
                   text);
}

static const struct command *find_command(const char *text)
{
    if (strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0)
        text = "help";
    if (strcmp(text, "--version") == 0 || strcmp(text, "-V") == 0)
        text = "version";
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
        if (strcmp(text, COMMANDS[i].name) == 0)
            return &COMMANDS[i];
    return NULL;
}

// Finds the option; *out_value is what follows "=" in the same argument, NULL without.
static const struct option *find_option(const char *arg, const char **out_value)
{
    struct str name = str_slice(str_c(arg), 0, str_find(str_c(arg), '='));
    for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++) {
        const struct option *o = &OPTIONS[i];
        if (!str_eq(name, str_c(o->name)) && !(o->other && str_eq(name, str_c(o->other))))
            continue;
        *out_value = arg[name.len] ? arg + name.len + 1 : NULL;
        return o;
    }
    return NULL;
}

// Reads the option at argv[*at] and moves *at to the last argument that belongs to it.
static bool take_option(const struct command *command, int argc, char **argv, int *at,
                        struct cli *cli, struct err *err)
{
    const char *arg = argv[*at];
    const char *value;
    const struct option *o = find_option(arg, &value);
    if (!o || !(o->commands & BIT(command->command)))
        return err_set(err, "\"%s\" has no option %s (see \"godwit help\")", command->name, arg);
    char *field = (char *)cli + o->offset;
    if (o->is_flag) {
        if (value)
            return err_set(err, "%s takes no value", o->name);
        *(bool *)field = true;
        return true;
    }
    if (!value && *at + 1 < argc)
        value = argv[++*at];
    if (!value || !*value)
        return err_set(err, "%s needs a value", arg);
    memcpy(field, &value, sizeof value);
    return true;
}

static bool check(const struct command *command, const struct cli *cli, struct err *err)
{
    uint64_t port;
    if (cli->command == CLI_RESTART && !cli->operand)
        return err_set(err, "\"restart\" needs the name of an app; \"godwit apps\" lists them");
    if (cli->operand && cli->file)
        return err_set(err, "\"%s\" takes a directory or -c FILE, not both", command->name);
    if (cli->port && cli->file)
        return err_set(err,
                       "-p goes with a directory; in a configuration file, \"listen\" says it");
    if (cli->port && (!str_to_u64(str_c(cli->port), &port) || port == 0 || port > 65535))
        return err_set(err, "\"%s\" is not a port (1 to 65535)", cli->port);
    return true;
}

bool cli_parse(int argc, char **argv, struct cli *out, struct err *err)
{
    struct cli cli = {.command = CLI_HELP};
    if (argc < 1)
        return err_set(err, "a command is needed; try \"godwit serve\" or \"godwit help\"");
    const struct command *command = find_command(argv[0]);
    if (!command)
        return fail_command(argv[0], err);
    cli.command = command->command;
    bool options_end = false;
    for (int i = 1; i < argc; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1]
                   && command->command != CLI_HELP) {
            if (!take_option(command, argc, argv, &i, &cli, err))
                return false;
        } else if (command->has_operand && !cli.operand) {
            cli.operand = argv[i];
        } else {
            return err_set(err, "\"%s\" does not take \"%s\"", command->name, argv[i]);
        }
    }
    if (!check(command, &cli, err))
        return false;
    *out = cli;
    return true;
}

void cli_usage(void)
{
    puts("godwit serves web sites and runs their applications.\n\nCommands:");
    for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
        printf("  godwit %-32s %s\n", COMMANDS[i].form, COMMANDS[i].help);
    puts("\nOptions:");
    for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++)
        printf("  %-20s %s\n", OPTIONS[i].form, OPTIONS[i].help);
}
