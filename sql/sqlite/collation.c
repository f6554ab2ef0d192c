/* collation.c - see collation.h. */
#include "collation.h"

#include "collate.h"

static int
compare(void *arg, int a_size, const void *a, int b_size, const void *b)
{
    (void)arg;
    return collate_compare((struct span){a, (size_t)a_size},
                           (struct span){b, (size_t)b_size});
}

static int
compare_bin(void *arg, int a_size, const void *a, int b_size, const void *b)
{
    (void)arg;
    return collate_compare_bin((struct span){a, (size_t)a_size},
                               (struct span){b, (size_t)b_size});
}

int
collation_add(sqlite3 *db)
{
    static const struct {
        const char *name;
        int (*compare)(void *, int, const void *, int, const void *);
    } all[] = {{"BINARY", compare},
               {COLLATION_TEXT, compare},
               {COLLATION_BIN, compare_bin}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (sqlite3_create_collation(db, all[i].name, SQLITE_UTF8, NULL,
                                     all[i].compare) != SQLITE_OK)
            return -1;
    return 0;
}
