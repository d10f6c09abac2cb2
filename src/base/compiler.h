// SPDX-License-Identifier: Apache-2.0
// compiler -- the few compiler extensions that the program uses, by name.
#pragma once

#define MUST_USE                __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define NORETURN                __attribute__((noreturn))
#define LIKELY(x)               __builtin_expect(!!(x), 1)
#define UNLIKELY(x)             __builtin_expect(!!(x), 0)
#define STATIC_ASSERT(cond)     _Static_assert(cond, #cond)
#define ARRAY_LEN(a)            (sizeof(a) / sizeof((a)[0]))
// The struct of `type` whose `member` is at `ptr`.
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
