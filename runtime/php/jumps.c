// SPDX-License-Identifier: Apache-2.0
// jumps -- PHP's calls of its own functions without a detour. See php_runtime.h.
//
// PHP's own programs hold the engine. The library, each of whose functions might be replaced, calls
// them by stubs: `jmp *slot`, where the slot holds the address. A page of a large application takes
// half a million such jumps, for which the processor needs a slot and a prediction each: two or
// three hundredths of its time. Once the library is loaded the slots are final, so the stubs become
// `jmp address`.
//
// Only what is a stub beyond doubt is touched: it names its number, and its slot is the one that
// the library's table has under that number. Linkers put the stubs right behind the library's first
// function, or at the start of its text; they are looked for there only, as the rest of the text
// would come from the disk page by page for nothing.
//
// The pages are replaced as a whole by a copy. What a system may forbid, memory that was written
// and is to be run, is done to the copy first: then all stays as it was, and works. Only when the
// kernel fails in the middle of the replacement, as it may without memory, the pages are gone, and
// the program ends with a word about it.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "php_runtime.h"

#ifdef __x86_64__

# define STUB_BYTES   16
# define SEARCH_BYTES 65536 // without a stub: there are none
# define GAP_BYTES    4096  // without a stub, behind one: there are no more

// The library, as it lies in memory.
struct library {
    const void *inside; // an address in its text
    uintptr_t base, text, text_end;
    uintptr_t first; // its first function, 0: unknown
    const ElfW(Rela) * slots;
    size_t slot_count;
};

// What the loader says in numbers.
static void *at_address(uintptr_t address)
{
    void *pointer;
    memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

static void read_table(struct library *lib, const ElfW(Dyn) * entry)
{
    uintptr_t table = 0;
    size_t bytes = 0;
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_JMPREL)
            table = entry->d_un.d_ptr;
        else if (entry->d_tag == DT_PLTRELSZ)
            bytes = entry->d_un.d_val;
        else if (entry->d_tag == DT_INIT)
            lib->first = lib->base + entry->d_un.d_ptr;
    }
    lib->slots = at_address(table); // the loader has made it an address
    lib->slot_count = table > lib->base ? bytes / sizeof *lib->slots : 0;
}

// For dl_iterate_phdr: 1 when this is the library.
static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct library *lib = arg;
    uintptr_t inside = (uintptr_t)lib->inside;
    const ElfW(Dyn) *dynamic = NULL;
    (void)size;
    lib->base = info->dlpi_addr;
    lib->text_end = 0;
    lib->first = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC)
            dynamic = at_address(start);
        if (part->p_type != PT_LOAD || inside < start || inside >= start + part->p_memsz)
            continue;
        lib->text = start;
        lib->text_end = start + part->p_memsz;
    }
    if (!lib->text_end || !dynamic)
        return 0;
    read_table(lib, dynamic);
    return 1;
}

// jmp *slot; push number; jmp to the loader. True when the slot's address is within a jump's reach.
static bool read_stub(const struct library *lib, uintptr_t at, int32_t *out_distance)
{
    const unsigned char *code = at_address(at);
    int32_t to_slot;
    uint32_t number;
    if (code[0] != 0xff || code[1] != 0x25 || code[6] != 0x68 || code[11] != 0xe9)
        return false;
    memcpy(&to_slot, code + 2, sizeof to_slot);
    memcpy(&number, code + 7, sizeof number);
    uintptr_t slot = at + 6 + (uintptr_t)(intptr_t)to_slot;
    if (number >= lib->slot_count || slot != lib->base + lib->slots[number].r_offset)
        return false;
    uintptr_t target;
    memcpy(&target, at_address(slot), sizeof target);
    intptr_t distance = (intptr_t)(target - (at + 5));
    *out_distance = (int32_t)distance;
    // One that leads back to its stub has not been looked up yet.
    return target != at + 6 && distance == *out_distance;
}

// Writes what stands for the stubs from `first` on to `last`; the copy begins with the page at
// `start`.
static void write_jumps(const struct library *lib, uintptr_t first, uintptr_t last, char *copy,
                        uintptr_t start)
{
    for (uintptr_t at = first; at <= last; at += STUB_BYTES) {
        int32_t distance;
        if (!read_stub(lib, at, &distance))
            continue;
        char *to = copy + (at - start);
        *to = (char)0xe9;
        memcpy(to + 1, &distance, sizeof distance);
    }
}

static bool is_mapped(uintptr_t start, size_t len)
{
    return msync(at_address(start), len, MS_ASYNC) == 0;
}

// Puts the copy in place of the text at `start`. The kernel takes away what is there, and may then
// fail.
static void move_over(char *copy, uintptr_t start, size_t len)
{
    if (mremap(copy, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at_address(start)) != MAP_FAILED)
        return;
    if (!is_mapped(start, len)) {
        (void)dprintf(STDERR_FILENO, "godwit-php: no memory to replace pages of PHP's library\n");
        _exit(EXIT_FAILURE); // without the library's own end, for which the pages may be needed
    }
    (void)munmap(copy, len);
}

static void replace(const struct library *lib, uintptr_t first, uintptr_t last)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = first & ~(page - 1);
    size_t len = (last + STUB_BYTES - start + page - 1) & ~(page - 1);
    char *copy = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return;
    memcpy(copy, at_address(start), len);
    write_jumps(lib, first, last, copy, start);
    if (mprotect(copy, len, PROT_READ | PROT_EXEC) < 0)
        (void)munmap(copy, len);
    else
        move_over(copy, start, len);
}

// Finds the first and the last stub; false: there are none.
static bool find_stubs(const struct library *lib, uintptr_t *out_first, uintptr_t *out_last)
{
    bool is_inside = lib->first >= lib->text && lib->first < lib->text_end;
    uintptr_t start = is_inside ? lib->first : lib->text;
    uintptr_t end = start + SEARCH_BYTES; // moves on with each stub
    *out_first = 0;
    start = (start + STUB_BYTES - 1) & ~(uintptr_t)(STUB_BYTES - 1);
    for (uintptr_t at = start; at < end && at + STUB_BYTES <= lib->text_end; at += STUB_BYTES) {
        int32_t distance;
        if (!read_stub(lib, at, &distance))
            continue;
        *out_first = *out_first ? *out_first : at;
        *out_last = at;
        end = at + GAP_BYTES;
    }
    return *out_first != 0;
}

void jumps_make_direct(void)
{
    struct library lib = {.inside = dlsym(RTLD_DEFAULT, "php_execute_script")};
    uintptr_t first;
    uintptr_t last;
    if (lib.inside && dl_iterate_phdr(look_at, &lib) && find_stubs(&lib, &first, &last))
        replace(&lib, first, last);
}

#else

void jumps_make_direct(void)
{
}

#endif
