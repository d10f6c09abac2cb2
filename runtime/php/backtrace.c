// SPDX-License-Identifier: Apache-2.0
// backtrace -- says on SIGUSR2 where the script stands: Godwit asks so before it kills a worker
// whose request_time is over. See php_runtime.h.
//
// The handler may come at any instruction. It reads the engine's frames, allocates nothing and
// calls only write; what it reads may be half made, so that a fault in it ends the dump, not the
// worker.
//
// Where a frame stands the engine notes only when it calls something. Until then there is chance in
// the innermost one's note, and its instruction pointer is in a register. What does not point into
// the function's own instructions is not followed: the dump says "near" and where the function
// begins. A note that does may be a few statements old.
#include <php.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "php_runtime.h"

// Of a deep recursion the innermost and the outermost frames are shown.
#define INNER_MAX  24
#define OUTER_MAX  6
#define WALK_MAX   1000000 // frames; what is behind them is not looked for
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

// Where the engine keeps the innermost frame and its instruction, if that is what runs now.
struct registers {
    uintptr_t frame, instruction;
};

static struct registers read_registers(const void *context)
{
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    return (struct registers){(uintptr_t)machine->gregs[REG_R14],
                              (uintptr_t)machine->gregs[REG_R15]};
#elif defined(__aarch64__)
    return (struct registers){(uintptr_t)machine->regs[27], (uintptr_t)machine->regs[28]};
#else
    (void)machine;
    return (struct registers){0};
#endif
}

// The line of an instruction of the function, 0: it is none.
static uint32_t line_at(const zend_op_array *function, uintptr_t instruction)
{
    uintptr_t first = (uintptr_t)function->opcodes;
    uintptr_t offset = instruction - first;
    if (instruction < first || offset >= (uintptr_t)function->last * sizeof(zend_op)
        || offset % sizeof(zend_op))
        return 0;
    return function->opcodes[offset / sizeof(zend_op)].lineno;
}

static uint32_t line_of(const zend_execute_data *frame, const struct registers *now)
{
    const zend_op_array *function = &frame->func->op_array;
    uint32_t line = 0;
    if (now->frame == (uintptr_t)frame)
        line = line_at(function, now->instruction);
    if (!line)
        line = line_at(function, (uintptr_t)frame->opline);
    if (!line && frame->opline == EG(exception_op))
        line = line_at(function, (uintptr_t)EG(opline_before_exception));
    return line;
}

// "#1 /srv/a.php:12 in Shop::total()"
static void put_frame(struct line *l, uint32_t number, const zend_execute_data *frame,
                      const struct registers *now)
{
    const zend_function *f = frame->func;
    bool is_script = ZEND_USER_CODE(f->type);
    put_text(l, "#");
    put_number(l, number);
    put_text(l, " ");
    if (is_script) {
        uint32_t line = line_of(frame, now);
        put_text(l, line ? "" : "near ");
        put_name(l, f->op_array.filename);
        put_text(l, ":");
        put_number(l, line ? line : f->op_array.line_start);
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

static sigjmp_buf way_out; // of a fault

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(way_out, 1);
}

// "... 975 more frames"
static void put_left_out(struct line *l, uint32_t count, bool is_all)
{
    put_text(l, is_all ? "... " : "... more than ");
    put_number(l, count);
    put_text(l, count == 1 ? " more frame" : " more frames");
    flush(l);
}

static void put_frames(struct line *l, const struct registers *now)
{
    static const zend_execute_data *outer[OUTER_MAX]; // the last ones, in turn
    uint32_t number = 0;
    const zend_execute_data *frame = EG(current_execute_data);
    for (; frame && number < WALK_MAX; frame = frame->prev_execute_data) {
        if (!frame->func)
            continue;
        if (number < INNER_MAX)
            put_frame(l, number, frame, now);
        else
            outer[number % OUTER_MAX] = frame;
        number++;
    }
    if (number <= INNER_MAX)
        return;
    uint32_t left = number - INNER_MAX;
    uint32_t shown = left < OUTER_MAX ? left : OUTER_MAX;
    if (frame)
        shown = 0; // they are not the outermost
    if (left > shown)
        put_left_out(l, left - shown, !frame);
    for (uint32_t at = number - shown; at < number; at++)
        put_frame(l, at, outer[at % OUTER_MAX], now);
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
    static struct line l;
    static struct sigaction before[2];
    (void)signal;
    (void)info;
    struct sigaction fault = {.sa_handler = on_fault};
    struct registers now = read_registers(context);
    sigemptyset(&fault.sa_mask);
    sigaction(SIGSEGV, &fault, &before[0]);
    sigaction(SIGBUS, &fault, &before[1]);
    l.len = 0;
    put_text(&l, engine_request() ? "PHP is here:" : "PHP serves no request");
    flush(&l);
    if (sigsetjmp(way_out, 1) == 0) {
        if (engine_request())
            put_frames(&l, &now);
    } else {
        l.len = 0;
        put_text(&l, "the rest can't be read");
        flush(&l);
    }
    sigaction(SIGSEGV, &before[0], NULL);
    sigaction(SIGBUS, &before[1], NULL);
}

void backtrace_worker_start(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR2, &action, NULL);
}
