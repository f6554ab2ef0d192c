/* resolve_job.c - see resolve_job.h. */
#include "resolve_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "clean_text.h"
#include "errors.h"
#include "files.h"
#include "index_files.h"
#include "mappings.h"

void
resolve_complain(struct resolve_job *job, const char *what, const char *why)
{
    if (job->note[0])
        job->more_notes++;
    else
        snprintf(job->note, sizeof(job->note), "%.90s: %s", what, why);
}

void
resolve_set_module(char *module, const char *path)
{
    struct span text = {mapping_basename(path), 0};

    text.size = strnlen(text.data, MODULE_MAX - 1);
    clean_text(text, module);
}

bool
resolve_same_file(const struct mapping *a, const struct mapping *b)
{
    return a->device == b->device && a->inode == b->inode &&
           strcmp(a->path, b->path) == 0;
}

int
resolve_open(struct resolve_object *object)
{
    const struct resolve_job *job = object->job;
    const struct mapping *mapping = object->mapping;

    object->path = mapping->path;
    if (job->program && resolve_same_file(job->program, mapping)) {
        object->path = job->program_path;
        return fcntl(job->program_fd, F_DUPFD_CLOEXEC, 0);
    }
    if (job->request->open_object)
        return job->request->open_object(job->request->arg, mapping);
    /* A deleted file's path leads to another file now. */
    return mapping->deleted || mapping->path[0] != '/'
               ? -1
               : file_open_regular(mapping->path);
}

void
resolve_open_index(struct resolve_object *object)
{
    const struct symbolizer_indexes *indexes = &object->job->s->indexes;
    struct error ours = {0}, beside = {0};

    if (object->index_fd >= 0)
        return;
    if (indexes->open)
        object->index_fd = indexes->open(indexes->arg, &object->elf, &ours);
    if (object->index_fd < 0)
        object->index_fd =
            index_file_open(&object->elf, NULL, object->path, &beside);
    snprintf(object->passed_over, sizeof(object->passed_over), "%.*s",
             CACHE_WHY_MAX - 1, ours.text[0] ? ours.text : beside.text);
}
