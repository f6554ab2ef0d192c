/*
 * certificate_files.h - where a node's certificate comes from: the files that
 * the configuration names, or the node's own in its state directory.
 */
#ifndef HW_CERTIFICATE_FILES_H
#define HW_CERTIFICATE_FILES_H

#include <stdbool.h>

struct certificate;
struct error;

#define CERTIFICATE_OWN     "server-cert.pem"
#define CERTIFICATE_OWN_KEY "server-key.pem"
#define CERTIFICATE_NEW     "server-cert.pem.new"
#define CERTIFICATE_NEW_KEY "server-key.pem.new"

enum { CERTIFICATE_FILE_MAX = 256 * 1024, CERTIFICATE_NOTE = 1280 };

/* What the log is to tell; "" nothing. */
struct certificate_note {
    bool is_fault;
    char text[CERTIFICATE_NOTE];
};

/* Symbolic links are followed (how certbot hands its files out); a key that
 * strangers can read is refused. */
int certificate_read(struct certificate *out, const char *cert_path,
                     const char *key_path, struct certificate_note *said,
                     struct error *err);

/* Those of an earlier start, or new ones where they are missing, broken or
 * about to expire.  dir: the state directory's descriptor; address: where the
 * node listens, numeric, or "". */
int certificate_own(struct certificate *out, int dir, const char *address,
                    struct certificate_note *said, struct error *err);

#endif
