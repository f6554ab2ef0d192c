/*
 * recorded_new.cc - each kind of operator new and delete, for recorder.py.
 *
 * Of every site's blocks one of three is deleted again, by the operator that
 * belongs to it; one allocation of each throwing kind throws.
 */
#include <cstdint>
#include <cstdlib>
#include <new>
#include <unistd.h>

#include "recorded_sites.h"

static const std::align_val_t ALIGN{64};

SITE(plain, ::operator new(size))
SITE(array, ::operator new[](size))
SITE(nothrow, ::operator new(size, std::nothrow))
SITE(nothrow_array, ::operator new[](size, std::nothrow))
SITE(aligned, ::operator new(size, ALIGN))
SITE(aligned_array, ::operator new[](size, ALIGN))
SITE(aligned_nothrow, ::operator new(size, ALIGN, std::nothrow))
SITE(aligned_nothrow_array, ::operator new[](size, ALIGN, std::nothrow))

static site *const sites[] = {
    &site_plain,           &site_array,           &site_nothrow,
    &site_nothrow_array,   &site_aligned,         &site_aligned_array,
    &site_aligned_nothrow, &site_aligned_nothrow_array,
};

static void
drop(int kind, void *block, size_t size, bool sized)
{
    switch (kind) {
    case 0:
        return sized ? ::operator delete(block, size) : ::operator delete(block);
    case 1:
        return sized ? ::operator delete[](block, size)
                     : ::operator delete[](block);
    case 2:
        return ::operator delete(block, std::nothrow);
    case 3:
        return ::operator delete[](block, std::nothrow);
    case 4:
        return sized ? ::operator delete(block, size, ALIGN)
                     : ::operator delete(block, ALIGN);
    case 5:
        return sized ? ::operator delete[](block, size, ALIGN)
                     : ::operator delete[](block, ALIGN);
    case 6:
        return ::operator delete(block, ALIGN, std::nothrow);
    default:
        return ::operator delete[](block, ALIGN, std::nothrow);
    }
}

int
main()
{
    volatile std::size_t impossible = SIZE_MAX / 4;
    int thrown = 0;

    for (int kind = 0; kind < 8; kind++) {
        for (std::size_t i = 0; i < 120; i++) {
            /* libstdc++ rounds what it aligns. */
            const std::size_t size = kind < 4 ? 1 + i * 37 : (1 + i) * 64;
            void *block = site_take(sites[kind], size);

            if (i % 3 == 0) {
                drop(kind, block, size, i % 2 == 0);
                site_gone(sites[kind], size);
            }
        }
        try {
            if (!site_take(sites[kind], impossible))
                thrown++; /* nothrow */
        } catch (const std::bad_alloc &) {
            thrown++;
        }
    }
    if (thrown != 8)
        abort();
    sites_say(sites, sizeof(sites) / sizeof(sites[0]));
    pause();
}
