// SPDX-License-Identifier: Apache-2.0
// assert -- checks for our own bugs; they stay in release builds. Input from outside never asserts.
#pragma once

#include "base/compiler.h"

// ASSERT prints file, line and condition on stderr and aborts when `cond` is false.
#define ASSERT(cond)                         \
 do {                                        \
  if (UNLIKELY(!(cond)))                     \
   assert_failed(__FILE__, __LINE__, #cond); \
 } while (0)

// ASSERT_DEBUG is ASSERT for costly conditions; it vanishes under NDEBUG.
#ifdef NDEBUG
# define ASSERT_DEBUG(cond) ((void)0)
#else
# define ASSERT_DEBUG(cond) ASSERT(cond)
#endif

// assert_failed reports a broken invariant on descriptor 2 and aborts. Any thread.
NORETURN void assert_failed(const char *file, int line, const char *cond);

// assert_note names what this thread works on (an exchange id), printed when an assertion fails.
// `note` is borrowed until the next call; NULL clears it.
void assert_note(const char *note);
