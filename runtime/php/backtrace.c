// SPDX-License-Identifier: Apache-2.0
// backtrace -- says on SIGUSR2 where the script stands: Godwit asks so before it kills a worker
// whose request_time is over. See php_runtime.h.
//
// The handler may come at any instruction. It reads the engine's frames, allocates nothing and
// calls only write; what it reads may be half made, so a fault in it just ends the worker, which is
// about to be killed anyway. The line of the innermost frame is that of the last instruction which
// the engine has noted: it may be a few statements old.
#include <php.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "php_runtime.h"

#define FRAMES_MAX 30
#define LINE_BYTES 600
#define NAME_BYTES 250 // of a file, a class, a function

struct line {
    char text[LINE_BYTES];
    size_t len;
};

static void put(struct line *l, const char *text, size_t len)
{
    size_t room = sizeof l->text - 1 - l->len; // one for the newline
    if (len > NAME_BYTES)
        len = NAME_BYTES;
    if (len > room)
        len = room;
    memcpy(l->text + l->len, text, len);
    l->len += len;
}

static void put_text(struct line *l, const char *text)
{
    put(l, text, strlen(text));
}

static void put_name(struct line *l, const zend_string *name)
{
    if (name)
        put(l, ZSTR_VAL(name), ZSTR_LEN(name));
}

static void put_number(struct line *l, uint32_t value)
{
    char digits[10];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put(l, digits + at, sizeof digits - at);
}

static void flush(struct line *l)
{
    l->text[l->len++] = '\n';
    ssize_t sent = write(2, l->text, l->len);
    (void)sent;
    l->len = 0;
}

// "#1 /srv/a.php:12 in Shop::total()"
static void put_frame(struct line *l, uint32_t number, const zend_execute_data *frame)
{
    const zend_function *f = frame->func;
    bool is_script = ZEND_USER_CODE(f->type);
    put_text(l, "#");
    put_number(l, number);
    put_text(l, " ");
    if (is_script) {
        put_name(l, f->op_array.filename);
        put_text(l, ":");
        put_number(l, frame->opline ? frame->opline->lineno : 0);
    } else {
        put_text(l, "PHP");
    }
    if (f->common.function_name) {
        put_text(l, " in ");
        if (f->common.scope) {
            put_name(l, f->common.scope->name);
            put_text(l, "::");
        }
        put_name(l, f->common.function_name);
        put_text(l, "()");
    }
    flush(l);
}

static void on_fault(int signal)
{
    (void)signal;
    _exit(1);
}

static void on_signal(int signal)
{
    static struct line l;
    (void)signal;
    struct sigaction fault = {.sa_handler = on_fault};
    struct sigaction before[2];
    sigaction(SIGSEGV, &fault, &before[0]);
    sigaction(SIGBUS, &fault, &before[1]);
    l.len = 0;
    put_text(&l, engine_request() ? "PHP is here:" : "PHP serves no request");
    flush(&l);
    uint32_t number = 0;
    const zend_execute_data *frame = engine_request() ? EG(current_execute_data) : NULL;
    for (; frame && number < FRAMES_MAX; frame = frame->prev_execute_data)
        if (frame->func)
            put_frame(&l, number++, frame);
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
}

void backtrace_worker_start(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
}
