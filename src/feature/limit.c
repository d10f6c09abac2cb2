// SPDX-License-Identifier: Apache-2.0
// limit -- see limit.h. Counters live outside of configurations, under the place where the
// directive stands: what a site says is counted for all of its paths together, and goes on over a
// reload.
#include "feature/limit.h"

#include <string.h>

#include "base/hash.h"
#include "core/exchange.h"
#include "feature/limit_body.h"
#include "feature/limit_count.h"
#include "feature/limit_rate.h"
#include "http/header.h"
#include "os/cidr.h"

#define V6_CLIENT_BITS 64u // what one customer of a provider has
#define REQUESTS_MAX   1000000
#define SECOND_US      ((uint64_t)1000000)

// What is compared with a counter, and which one.
struct rate {
    uint64_t requests; // 0: off
    uint64_t per_s;
    uint64_t burst;
    uint64_t place; // 0: set in this scope, not known yet
};

struct connections {
    int64_t most; // 0: off
    uint64_t place;
};

struct bandwidth {
    int64_t bytes_per_s; // 0: off
    uint64_t place;
};

struct limit_conf {
    struct rate rate;
    struct connections connections;
    struct bandwidth bandwidth;
};

static bool is_off(const struct tree_node *node)
{
    return node->arg_count == 1 && !node->has_block && str_eq(node->args[0], STR("off"));
}

static bool read_rate(struct str text, struct rate *out)
{
    struct str unit = text;
    if (!str_to_u64(str_cut(&unit, '/'), &out->requests))
        return false;
    out->per_s = str_eq(unit, STR("s"))   ? 1
                 : str_eq(unit, STR("m")) ? 60
                 : str_eq(unit, STR("h")) ? 3600
                                          : 0;
    return out->per_s > 0 && out->requests > 0 && out->requests <= REQUESTS_MAX;
}

static bool parse_rate(const struct key *key, const struct tree_node *node, struct arena *a,
                       void *field, struct err *err)
{
    struct rate rate = {0};
    (void)a;
    if (is_off(node)) {
        *(struct rate *)field = rate;
        return true;
    }
    if (!key_args_check(key, node, 1, 3, err))
        return false;
    if (!read_rate(node->args[0], &rate)) {
        return tree_error(err, node->arg_pos[0],
                          "\"limit_requests\" is %.*s, a rate such as 10/s, 100/m or 500/h was "
                          "expected",
                          STR_ARG(node->args[0]));
    }
    if (node->arg_count > 1
        && (node->arg_count != 3 || !str_eq(node->args[1], STR("burst"))
            || !str_to_u64(node->args[2], &rate.burst) || rate.burst > REQUESTS_MAX)) {
        return tree_error(err, node->arg_pos[1],
                          "\"limit_requests\" has \"%.*s\", burst and a number of requests was "
                          "expected",
                          STR_ARG(node->args[1]));
    }
    *(struct rate *)field = rate;
    return true;
}

static const char *unit_of(const struct rate *rate)
{
    return rate->per_s == 1 ? "s" : rate->per_s == 60 ? "m" : "h";
}

static void print_rate(const struct key *key, const void *field, struct buf *out)
{
    const struct rate *rate = field;
    (void)key;
    if (!rate->requests) {
        buf_fmt(out, "off");
        return;
    }
    buf_fmt(out, "%llu/%s", (unsigned long long)rate->requests, unit_of(rate));
    if (rate->burst)
        buf_fmt(out, " burst %llu", (unsigned long long)rate->burst);
}

static bool parse_connections(const struct key *key, const struct tree_node *node, struct arena *a,
                              void *field, struct err *err)
{
    struct connections connections = {0};
    if (!is_off(node) && !KEY_INT.parse(key, node, a, &connections.most, err))
        return false;
    *(struct connections *)field = connections;
    return true;
}

static void print_connections(const struct key *key, const void *field, struct buf *out)
{
    const struct connections *connections = field;
    if (connections->most)
        KEY_INT.print(key, &connections->most, out);
    else
        buf_fmt(out, "off");
}

static bool parse_bandwidth(const struct key *key, const struct tree_node *node, struct arena *a,
                            void *field, struct err *err)
{
    struct bandwidth bandwidth = {0};
    if (!is_off(node) && !KEY_SIZE.parse(key, node, a, &bandwidth.bytes_per_s, err))
        return false;
    *(struct bandwidth *)field = bandwidth;
    return true;
}

static void print_bandwidth(const struct key *key, const void *field, struct buf *out)
{
    const struct bandwidth *bandwidth = field;
    if (bandwidth->bytes_per_s)
        KEY_SIZE.print(key, &bandwidth->bytes_per_s, out);
    else
        buf_fmt(out, "off");
}

static const struct key_type RATE_TYPE = {"rate", "RATE [burst NUMBER]|off", parse_rate,
                                          print_rate};
static const struct key_type CONNECTIONS_TYPE = {"number or off", "NUMBER|off", parse_connections,
                                                 print_connections};
static const struct key_type BANDWIDTH_TYPE = {"size in bytes or with k, m, g, or off", "SIZE|off",
                                               parse_bandwidth, print_bandwidth};

static const struct key KEYS[] = {
    {
        .name = "limit_requests",
        .type = &RATE_TYPE,
        .offset = offsetof(struct limit_conf, rate),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .unit = "requests",
        .help = "Requests that one client may make in a second, minute or hour (10/s, 100/m, "
                "500/h), evenly; burst says how many more may come at once after a pause. Others "
                "get 429 and Retry-After. Counted for all that lies below the directive together. "
                "A client is an IPv4 address or an IPv6 network of 64 bits; Unix sockets are not "
                "counted. Behind a proxy see trusted_proxies.",
        .example = "10/s burst 40",
    },
    {
        .name = "limit_connections",
        .type = &CONNECTIONS_TYPE,
        .offset = offsetof(struct limit_conf, connections),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .min = 1,
        .max = REQUESTS_MAX,
        .unit = "connections",
        .help = "Connections on which one client may have a request being served at a time; "
                "further requests get 429 and Retry-After. Idle connections do not count.",
        .example = "20",
    },
    {
        .name = "limit_bandwidth",
        .type = &BANDWIDTH_TYPE,
        .offset = offsetof(struct limit_conf, bandwidth),
        .scopes = KEY_TOP | KEY_SITE | KEY_PATH,
        .def = "off",
        .min = 1024,
        .max = (int64_t)1 << 40,
        .unit = "bytes",
        .help = "Bytes a second that one client is sent at most; answers on several connections "
                "take turns. Counted for all that lies below the directive together, clients as "
                "for limit_requests; on a Unix socket it holds for each answer.",
        .example = "2m",
    },
};

// A directive of this scope is counted under the scope's place.
static bool check(void *arg, unsigned scope, struct tree_pos pos, struct arena *a, struct err *err)
{
    struct limit_conf *conf = arg;
    (void)scope;
    (void)err;
    struct str text = arena_fmt(a, "%s:%u:%u", pos.file, pos.line, pos.column);
    uint64_t place = hash_fixed(text) | 1;
    if (conf->rate.requests && !conf->rate.place)
        conf->rate.place = place;
    if (conf->connections.most && !conf->connections.place)
        conf->connections.place = place;
    if (conf->bandwidth.bytes_per_s && !conf->bandwidth.place)
        conf->bandwidth.place = place;
    return true;
}

// What the exchange has been counted for; a path that it is sent on to may count it elsewhere.
struct counted {
    uint64_t rate_place;
    uint64_t connections_place;
};

static struct counted *counted_of(struct exchange *ex)
{
    struct counted *counted = exchange_data(ex, &limit_module);
    if (!counted) {
        counted = arena_new(&ex->arena, struct counted);
        exchange_set_data(ex, &limit_module, counted);
    }
    return counted;
}

// False: the client has no address.
static bool key_of(const struct exchange *ex, uint64_t place, uint64_t *out_key)
{
    struct cidr client;
    if (!cidr_of(&ex->peer->addr, V6_CLIENT_BITS, &client))
        return false;
    char bytes[sizeof client.address + sizeof place + 1];
    memcpy(bytes, client.address, sizeof client.address);
    memcpy(bytes + sizeof client.address, &place, sizeof place);
    bytes[sizeof bytes - 1] = client.is_v6;
    *out_key = hash_str(str_n(bytes, sizeof bytes));
    return true;
}

static void refuse(struct exchange *ex, uint64_t wait_us, struct str cause)
{
    uint64_t wait_s = (wait_us + SECOND_US - 1) / SECOND_US;
    header_list_set_id(&ex->resp.headers, HEADER_RETRY_AFTER,
                       arena_fmt(&ex->arena, "%llu", (unsigned long long)(wait_s ? wait_s : 1)));
    exchange_refuse(ex, 429, NULL, "%.*s", STR_ARG(cause));
}

static bool is_too_fast(struct exchange *ex, const struct rate *rate)
{
    struct counted *counted = counted_of(ex);
    uint64_t key;
    uint64_t wait_us = 0;
    if (counted->rate_place == rate->place || !key_of(ex, rate->place, &key))
        return false;
    counted->rate_place = rate->place;
    uint64_t interval_us = rate->per_s * SECOND_US / rate->requests;
    if (limit_rate_take(key, interval_us ? interval_us : 1, rate->burst,
                        loop_now_us(ex->thread->loop), &wait_us))
        return false;
    metrics_add(&ex->thread->metrics, limited_requests, 1);
    refuse(ex, wait_us,
           arena_fmt(&ex->arena, "%s has used up limit_requests (%llu/%s, burst %llu).",
                     ex->peer->ip, (unsigned long long)rate->requests, unit_of(rate),
                     (unsigned long long)rate->burst));
    return true;
}

static void give_back(void *arg)
{
    limit_count_give(*(const uint64_t *)arg);
}

static bool has_too_many(struct exchange *ex, const struct connections *connections)
{
    struct counted *counted = counted_of(ex);
    uint64_t key;
    if (counted->connections_place == connections->place || !key_of(ex, connections->place, &key))
        return false;
    counted->connections_place = connections->place;
    if (limit_count_take(key, (uint64_t)connections->most)) {
        uint64_t *held = arena_new(&ex->arena, uint64_t);
        *held = key;
        arena_defer(&ex->arena, give_back, held);
        return false;
    }
    metrics_add(&ex->thread->metrics, limited_connections, 1);
    refuse(ex, 0,
           arena_fmt(&ex->arena, "%s has limit_connections (%lld) requests being served.",
                     ex->peer->ip, (long long)connections->most));
    return true;
}

// Before passwords are checked: guessing them is what is to be limited most.
static enum phase_result access(struct exchange *ex)
{
    const struct limit_conf *conf = module_conf(ex, &limit_module);
    if (conf->rate.requests && is_too_fast(ex, &conf->rate))
        return PHASE_DONE;
    if (conf->connections.most && has_too_many(ex, &conf->connections))
        return PHASE_DONE;
    return PHASE_NEXT;
}

// What is only pulled to be dropped, for HEAD, need not be slow.
static void respond(struct exchange *ex)
{
    const struct limit_conf *conf = module_conf(ex, &limit_module);
    const struct bandwidth *bandwidth = &conf->bandwidth;
    uint64_t key;
    if (!bandwidth->bytes_per_s || !ex->resp.body || ex->req.method == HTTP_HEAD)
        return;
    if (!key_of(ex, bandwidth->place, &key))
        key = (uintptr_t)ex;
    ex->resp.body = limit_body_new(&ex->arena, ex->thread->loop, ex->resp.body, key,
                                   (uint64_t)bandwidth->bytes_per_s);
}

static bool is_idle(const void *arg)
{
    const struct limit_conf *conf = arg;
    return !conf->rate.requests && !conf->connections.most && !conf->bandwidth.bytes_per_s;
}

struct module limit_module = {
    .name = "limit",
    .keys = KEYS,
    .key_count = ARRAY_LEN(KEYS),
    .conf_size = sizeof(struct limit_conf),
    .idle = is_idle,
    .check = check,
    .hooks = {[PHASE_ACCESS] = access},
    .respond = respond,
};
