/* replay.c - replay DIRECTORY: gives every file in it to the fuzz target. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"

static int
replay(const char *directory, const char *name)
{
    char path[4096];
    uint8_t *data;
    long size;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        perror(path);
        exit(1);
    }
    rewind(file);
    data = malloc((size_t)size + !size); /* exact, for the sanitizers */
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

int
main(int argc, char **argv)
{
    DIR *directory = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    int count = 0;

    if (!directory) {
        fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
        return 2;
    }
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            count += replay(argv[1], entry->d_name);
    closedir(directory);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
