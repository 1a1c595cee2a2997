#include "session/machine_info.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "session/proc_parse.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static void copy_text(char *out, size_t capacity, const char *text, size_t length)
{
    size_t n = length < capacity - 1 ? length : capacity - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* The value of the first line that begins with key, past blanks, `separator` and quotes. */
static void find_value(const char *path, const char *key, char separator, char *out, size_t capacity)
{
    char *text;
    size_t length, key_bytes = strlen(key);
    if (file_read_all(path, 1u << 22, &text, &length, NULL) < 0)
        return;
    for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, key_bytes) != 0)
            continue;
        char *at = line + key_bytes;
        at += strspn(at, " \t");
        if (*at != separator)
            continue;
        at++;
        at += strspn(at, " \t\"'");
        copy_text(out, capacity, at, strcspn(at, "\n\"'"));
        break;
    }
    mem_free(text);
}

static void read_machine_id(struct machine_info *info)
{
    char *text;
    size_t length;
    if (file_read_all("/etc/machine-id", 256, &text, &length, NULL) < 0)
        return;
    length = strcspn(text, "\n");
    if (length)
        snprintf(info->machine_id, sizeof info->machine_id, "%016llx",
                 (unsigned long long)hash_bytes_seed(text, length, 0x6c616d656c6c61u));
    mem_free(text);
}

/* The name that the hypervisor gives itself, if there is one. */
static const char *hypervisor(void)
{
#if defined(__x86_64__)
    static const struct {
        const char *signature;
        const char *name;
    } known[] = {
        {"KVMKVMKVM", "kvm"},     {"VMwareVMware", "vmware"}, {"Microsoft Hv", "hyperv"},
        {"TCGTCGTCGTCG", "qemu"}, {"XenVMMXenVMM", "xen"},    {"bhyve bhyve ", "bhyve"},
        {"VBoxVBoxVBox", "vbox"},
    };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return "none";
    char signature[13] = {0};
    __cpuid(0x40000000u, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(signature, known[i].signature) == 0)
            return known[i].name;
    return "other";
#else
    return "";
#endif
}

static const char *virtualisation(void)
{
    if (path_exists("/.dockerenv"))
        return "docker";
    if (path_exists("/run/.containerenv"))
        return "podman";
    return hypervisor();
}

/* Whether the control group of the processor controller that we are in is another one than the root. Version 1 names the
 * controller in its line; with version 2 the group has a weight where the controller is on. */
static bool is_in_cpu_group(void)
{
    char *text, *save = NULL;
    size_t length;
    bool is_in = false;
    if (file_read_all("/proc/self/cgroup", 1u << 16, &text, &length, NULL) < 0)
        return false;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path || strcmp(path, ":/") == 0)
            continue;
        *path++ = '\0';
        if (*++names) {
            char *rest = NULL;
            for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
                is_in = is_in || strcmp(name, "cpu") == 0;
        } else {
            char weight[4096];
            int needed = snprintf(weight, sizeof weight, "/sys/fs/cgroup%s/cpu.weight", path);
            is_in = is_in || (needed < (int)sizeof weight && path_exists(weight));
        }
    }
    mem_free(text);
    return is_in;
}

/* Where control groups share the processors their sessions do not (autogroup is for the root group alone). */
static const char *cpu_shares(const char *virt)
{
    char *text = NULL;
    size_t length = 0;
    if (is_in_cpu_group() || strcmp(virt, "docker") == 0 || strcmp(virt, "podman") == 0)
        return "groups";
    bool by_session =
        file_read_all("/proc/sys/kernel/sched_autogroup_enabled", 64, &text, &length, NULL) >= 0 &&
        length > 0 && text[0] == '1';
    mem_free(text);
    return by_session ? "sessions" : "threads";
}

static uint32_t count_cores(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (uint32_t)CPU_COUNT(&set);
    return online > 0 ? (uint32_t)online : 0; /* more processors than a cpu_set_t holds */
}

static uint64_t memory_bytes(void)
{
    char *text;
    size_t length;
    uint64_t bytes = 0;
    if (file_read_all("/proc/meminfo", 1u << 16, &text, &length, NULL) < 0)
        return 0;
    proc_parse_meminfo(text, length, "MemTotal", &bytes);
    mem_free(text);
    return bytes;
}

void machine_info_read(struct machine_info *info)
{
    struct utsname name;
    *info = (struct machine_info){0};
    if (uname(&name) == 0) {
        copy_text(info->host, sizeof info->host, name.nodename, strlen(name.nodename));
        copy_text(info->kernel, sizeof info->kernel, name.release, strlen(name.release));
        copy_text(info->arch, sizeof info->arch, name.machine, strlen(name.machine));
    }
    read_machine_id(info);
    find_value("/proc/cpuinfo", "model name", ':', info->cpu_model, sizeof info->cpu_model);
    find_value("/etc/os-release", "PRETTY_NAME", '=', info->os, sizeof info->os);
    const char *virt = virtualisation();
    copy_text(info->virt, sizeof info->virt, virt, strlen(virt));
    const char *shares = cpu_shares(virt);
    copy_text(info->cpu_shares, sizeof info->cpu_shares, shares, strlen(shares));
    info->cores = count_cores();
    info->mem_bytes = memory_bytes();
}
