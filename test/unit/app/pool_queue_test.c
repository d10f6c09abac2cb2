// SPDX-License-Identifier: Apache-2.0
// pool_queue_test -- whose turn it is: order within an address, turns between addresses, who gives
// way in a full queue; and at random against what must hold.
#include "app/pool_queue.h"

#include <string.h>

// cmocka.h needs the three headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

#include "base/hash.h"

#define TICKETS_MAX 4096
#define PEERS_MAX   512

static struct pool_queue queue;
static struct peer peers[PEERS_MAX];
static struct exchange exchanges[PEERS_MAX];
static struct ticket tickets[TICKETS_MAX];

static struct sock_addr address(const char *text)
{
    struct sock_addr addr;
    assert_true(sock_addr_parse(str_c(text), &addr));
    return addr;
}

static int open_case(void **state)
{
    (void)state;
    hash_key(1, 2);
    memset(tickets, 0, sizeof tickets);
    for (size_t i = 0; i < PEERS_MAX; i++) {
        peers[i].addr = address("10.0.0.0:80");
        peers[i].addr.u.v4.sin_addr.s_addr = (in_addr_t)i;
        exchanges[i].peer = &peers[i];
    }
    pool_queue_init(&queue);
    return 0;
}

static int close_case(void **state)
{
    (void)state;
    while (pool_queue_pop(&queue))
        ;
    pool_queue_check(&queue);
    pool_queue_done(&queue);
    return 0;
}

static struct ticket *push(size_t ticket, size_t peer)
{
    struct ticket *t = &tickets[ticket];
    t->exchange = &exchanges[peer];
    pool_queue_push(&queue, t);
    return t;
}

// Letters are clients; a letter pushes a request of that client, "." takes one out. `order` is what
// comes out, to the end.
static void turns(void **state)
{
    static const struct {
        const char *name, *steps, *order;
    } CASES[] = {
        {"one address: as they came", "AAA", "AAA"},
        {"each its own address: as they came", "ABCD", "ABCD"},
        {"turns", "AAAABBC", "ABCABAA"},
        {"who comes new is not behind those that were served", "AAAA.B", "ABAAA"},
        {"but waits for its turn when it was served", "AAAA.B.B.B", "ABABABA"},
        {"a turn without a request passes", "AAB..", "ABA"},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        char got[64] = "";
        size_t len = 0;
        size_t pushed = 0;
        for (const char *step = CASES[i].steps; *step; step++) {
            if (*step == '.')
                got[len++] = (char)('A' + (pool_queue_pop(&queue)->exchange - exchanges));
            else
                push(pushed++, (size_t)(*step - 'A'));
            pool_queue_check(&queue);
        }
        struct ticket *t;
        while ((t = pool_queue_pop(&queue)) != NULL)
            got[len++] = (char)('A' + (t->exchange - exchanges));
        if (strcmp(got, CASES[i].order) != 0)
            fail_msg("%s: %s", CASES[i].name, got);
    }
    close_case(state);
    open_case(state);
}

static void order_is_kept_for_an_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < 600; i++)
        push(i, i % 3);
    size_t last[3] = {0};
    struct ticket *t;
    while ((t = pool_queue_pop(&queue)) != NULL) {
        size_t peer = (size_t)(t->exchange - exchanges);
        assert_true((size_t)(t - tickets) >= last[peer]);
        last[peer] = (size_t)(t - tickets);
    }
}

static void a_thousand_of_one_address_delay_another_by_one(void **state)
{
    (void)state;
    size_t next = 0;
    for (; next < 1000; next++)
        push(next, 0);
    for (int i = 0; i < 500; i++) {
        struct ticket *mine = push(next++, 1);
        unsigned before = 0;
        while (pool_queue_pop(&queue) != mine)
            before++;
        assert_true(before <= 1);
    }
}

static void ever_new_addresses_do_not_starve_the_others(void **state)
{
    (void)state;
    push(0, 0);
    push(1, 0);
    assert_ptr_equal(pool_queue_pop(&queue), &tickets[0]);
    unsigned before = 0;
    for (size_t i = 2;; i++, before++) {
        push(i, 1 + i % (PEERS_MAX - 1));
        push(i + 2000, 1 + (i + 250) % (PEERS_MAX - 1));
        if (pool_queue_pop(&queue) == &tickets[1])
            break;
        assert_true(before < 1000);
    }
}

static void who_gives_way(void **state)
{
    (void)state;
    for (size_t i = 0; i < 5; i++)
        push(i, 0);
    push(5, 1);
    assert_ptr_equal(pool_queue_excess(&queue, &exchanges[1]), &tickets[4]);
    assert_ptr_equal(pool_queue_excess(&queue, &exchanges[2]), &tickets[4]);
    assert_null(pool_queue_excess(&queue, &exchanges[0])); // itself
    pool_queue_remove(&queue, &tickets[4]);
    pool_queue_remove(&queue, &tickets[3]);
    pool_queue_remove(&queue, &tickets[2]);
    assert_null(pool_queue_excess(&queue, &exchanges[1])); // no clear difference
}

static void addresses(void **state)
{
    static const struct {
        const char *a, *b;
        bool is_same;
    } CASES[] = {
        {"10.0.0.1:1", "10.0.0.1:2", true},
        {"10.0.0.1:1", "10.0.0.2:1", false},
        {"[::ffff:10.0.0.1]:1", "10.0.0.1:1", true},
        {"[2001:db8::1]:1", "[2001:db8::2]:1", true}, // one network
        {"[2001:db8::1]:1", "[2001:db8:0:1::1]:1", false},
        {"unix:/a", "unix:/b", true},
        {"unix:/a", "10.0.0.1:1", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        peers[0].addr = address(CASES[i].a);
        peers[1].addr = address(CASES[i].b);
        push(0, 0);
        push(1, 0);
        push(2, 1);
        assert_ptr_equal(pool_queue_pop(&queue), &tickets[0]);
        if ((pool_queue_pop(&queue) == &tickets[1]) != CASES[i].is_same)
            fail_msg("%s and %s", CASES[i].a, CASES[i].b);
        assert_non_null(pool_queue_pop(&queue));
    }
    close_case(state);
    open_case(state);
}

static void at_random(void **state)
{
    (void)state;
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 50000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        struct ticket *t = &tickets[(seed >> 20) % 300];
        bool waits = list_has(&t->wait);
        if (!waits && i / 1000 % 2)
            push((size_t)(t - tickets), (seed >> 40) % 20);
        else if (waits && (seed >> 50) % 4 == 0)
            pool_queue_remove(&queue, t);
        else
            (void)pool_queue_pop(&queue);
        if (i % 16 == 0)
            pool_queue_check(&queue);
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_case, close_case)
    static const struct CMUnitTest TESTS[] = {
        CASE(turns),
        CASE(order_is_kept_for_an_address),
        CASE(a_thousand_of_one_address_delay_another_by_one),
        CASE(ever_new_addresses_do_not_starve_the_others),
        CASE(who_gives_way),
        CASE(addresses),
        CASE(at_random),
    };
    return cmocka_run_group_tests(TESTS, NULL, NULL);
}
