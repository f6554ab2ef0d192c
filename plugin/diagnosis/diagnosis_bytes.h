/* diagnosis_bytes.h - bytes as people read them: "1.5 GB", "212.0 MB". */
#ifndef HW_DIAGNOSIS_BYTES_H
#define HW_DIAGNOSIS_BYTES_H

enum { BYTES_TEXT = 32 };

struct bytes_text {
    char text[BYTES_TEXT];
};

struct bytes_text bytes_text(double bytes);

#endif
