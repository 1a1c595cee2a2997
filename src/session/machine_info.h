/* What the machine is, for session.json and `lamella doctor`. */
#ifndef LAMELLA_SESSION_MACHINE_INFO_H
#define LAMELLA_SESSION_MACHINE_INFO_H

#include <stdint.h>

struct machine_info {    /* a text that could not be found out is empty, a number 0 */
    char machine_id[17]; /* hash of /etc/machine-id: tells machines apart and names none */
    char host[256];
    char cpu_model[128];
    char kernel[128];
    char os[128];
    char arch[32];
    char virt[32]; /* "none", "kvm", "docker", … */
    char cpu_shares[16]; /* to whom the kernel gives equal parts of a processor: "groups", "sessions", "threads" */
    uint32_t cores; /* processors that we, and so the command, may use */
    uint64_t mem_bytes;
};

void machine_info_read(struct machine_info *info);

#endif
