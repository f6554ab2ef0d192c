/* mem_hook.c - malloc and its like, given on to a jemalloc with a prefix and
 * counted, as StarRocks and Doris do. */
#include <stdatomic.h>
#include <stddef.h>

#define PASTE(prefix, name) prefix##name
#define WITH(prefix, name)  PASTE(prefix, name)
#define JE(name)            WITH(PREFIX, name)

void *JE(malloc)(size_t size);
void *JE(calloc)(size_t count, size_t size);
void *JE(realloc)(void *block, size_t size);
void *JE(aligned_alloc)(size_t align, size_t size);
void *JE(valloc)(size_t size);
int JE(posix_memalign)(void **block, size_t align, size_t size);
void JE(free)(void *block);
size_t JE(malloc_usable_size)(void *block);

static atomic_llong tracked;

static void *
consume(void *block)
{
    if (block)
        tracked += (long long)JE(malloc_usable_size)(block);
    return block;
}

static void
release(void *block)
{
    if (block)
        tracked -= (long long)JE(malloc_usable_size)(block);
}

void *
my_malloc(size_t size)
{
    return consume(JE(malloc)(size));
}

void *
my_calloc(size_t count, size_t size)
{
    return consume(JE(calloc)(count, size));
}

void *
my_realloc(void *block, size_t size)
{
    release(block);
    return consume(JE(realloc)(block, size));
}

void
my_free(void *block)
{
    release(block);
    JE(free)(block);
}

void *
my_aligned_alloc(size_t align, size_t size)
{
    return consume(JE(aligned_alloc)(align, size));
}

int
my_posix_memalign(void **block, size_t align, size_t size)
{
    int error = JE(posix_memalign)(block, align, size);

    if (error == 0)
        consume(*block);
    return error;
}

void *
my_valloc(size_t size)
{
    return consume(JE(valloc)(size));
}

size_t
my_malloc_usable_size(void *block)
{
    return JE(malloc_usable_size)(block);
}

#define ALIAS(name) __attribute__((alias(#name), used))
void *malloc(size_t size) ALIAS(my_malloc);
void *calloc(size_t count, size_t size) ALIAS(my_calloc);
void *realloc(void *block, size_t size) ALIAS(my_realloc);
void free(void *block) ALIAS(my_free);
void *aligned_alloc(size_t align, size_t size) ALIAS(my_aligned_alloc);
void *memalign(size_t align, size_t size) ALIAS(my_aligned_alloc);
int posix_memalign(void **block, size_t align, size_t size)
    ALIAS(my_posix_memalign);
void *valloc(size_t size) ALIAS(my_valloc);
void *pvalloc(size_t size) ALIAS(my_valloc);
size_t malloc_usable_size(void *block) ALIAS(my_malloc_usable_size);
