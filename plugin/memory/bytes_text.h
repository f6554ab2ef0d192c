/*
 * bytes_text.h - bytes and times as people read them: "1.5 GB", "212.0
 * MB"; "40 seconds", "5.5 hours".
 */
#ifndef HW_BYTES_TEXT_H
#define HW_BYTES_TEXT_H

enum { BYTES_TEXT = 32 };

struct bytes_text {
    char text[BYTES_TEXT];
};

struct bytes_text bytes_text(double bytes);
struct bytes_text span_text(double seconds);

#endif
