/*
 * certificate_files.h - reads a node's certificate: from the files that the
 * configuration names, or the node's own from its state directory.
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

/* A line for the log; "": nothing to say. */
struct certificate_note {
    bool is_fault;
    char text[CERTIFICATE_NOTE];
};

/* Follows symbolic links (certbot hands its files out so); refuses a key that
 * others can read. */
int certificate_read(struct certificate *out, const char *cert_path,
                     const char *key_path, struct certificate_note *said,
                     struct error *err);

/* The certificate of an earlier start, or a new one if it is missing, broken or
 * about to expire.  dir: the state directory's descriptor; address: where the
 * node listens, numeric, or "". */
int certificate_own(struct certificate *out, int dir, const char *address,
                    struct certificate_note *said, struct error *err);

#endif
