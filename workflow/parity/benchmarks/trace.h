/* What programs of ours share that write down what happens to them: how they end, the CPU limit
 * that they are under, the work they do, and the file that they leave.
 *
 * What the program's own control group, of version 1 or 2, lets it have of the CPUs is read from
 * inside, and how often a limit was enforced, and what CPU time it got, while entries were written
 * down.
 *
 * A file is little-endian: a head, entries, CRC-32 (as zlib's) of both. Of an entry there is how long
 * after the one before it starts, and its length, seven bits in a byte, the last of them first; in all
 * bytes of a number but its last one the eighth bit is set (LEB128). Sixteen bytes become five.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { WRONG_WORDS = 2, NO_COUNTER, NO_MEMORY, FULL, NOT_WRITTEN, OTHER_WORLD };

struct entry { uint64_t start, length; }; /* since the begin of the measurement; in ns in the end */
struct limit {
    int64_t quota_us; /* -1 without a limit, 0 where it is not to be seen */
    uint64_t period_us, periods, throttled;
    uint64_t burst_us, shares, weight, cpus, cpu_ns; /* shares of version 1, weight of version 2 */
};

static void stop(int status, const char *why)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, why);
    exit(status);
}

/* The text of a file of our control group in the CPU's hierarchy; empty if there is none. */
static void read_group(const char *name, char *text, size_t size)
{
    char line[4096], path[8192], *fields, *controllers, *group;
    FILE *groups = fopen("/proc/self/cgroup", "r"), *file = NULL;
    while (!file && groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = 0;
        fields = line;
        strsep(&fields, ":");
        controllers = strsep(&fields, ":");
        group = fields;
        if (!group)
            continue;
        /* Version 2 has no controllers here, and may lie beside version 1. */
        const char *version_2[] = {"", "unified"}, *version_1[] = {controllers, "cpu"};
        const char **folders = *controllers ? version_1 : version_2;
        if (*controllers && strcmp(controllers, "cpu") && strncmp(controllers, "cpu,", 4)
            && !strstr(controllers, ",cpu,"))
            continue;
        /* A container may see its own group as the root of the hierarchy. */
        for (int choice = 0; choice < 4 && !file; choice++) {
            snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/%s", folders[choice % 2],
                     choice < 2 ? group : "", name);
            file = fopen(path, "r");
        }
    }
    text[file ? fread(text, 1, size - 1, file) : 0] = 0;
    if (file)
        fclose(file);
    if (groups)
        fclose(groups);
}

/* The number that follows a key in a file of our control group; 0 where it is not to be seen. */
static uint64_t told(const char *name, const char *key)
{
    char text[4096];
    read_group(name, text, sizeof text);
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0; /* -1 becomes itself */
}

/* Adds how often the limit was looked at, and how often enforced, `times` 1 or -1. */
static void count_throttling(struct limit *limit, uint64_t times)
{
    limit->periods += times * told("cpu.stat", "nr_periods ");
    limit->throttled += times * told("cpu.stat", "nr_throttled ");
}

static void read_limit(struct limit *limit)
{
    cpu_set_t allowed;
    uint64_t quota = told("cpu.max", ""), period = told("cpu.max", " "); /* or "max", for none */
    limit->quota_us = (int64_t)(!period ? told("cpu.cfs_quota_us", "") : quota ? quota : UINT64_MAX);
    limit->period_us = period ? period : told("cpu.cfs_period_us", "");
    limit->burst_us = told(period ? "cpu.max.burst" : "cpu.cfs_burst_us", "");
    limit->shares = told("cpu.shares", "");
    limit->weight = told("cpu.weight", "");
    limit->cpus = sched_getaffinity(0, sizeof allowed, &allowed) ? 0 : (uint64_t)CPU_COUNT(&allowed);
}

static uint64_t ns_of(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Each multiplication waits for the one before it, so the compiler can leave out none. */
static uint64_t work(uint64_t quantum, uint64_t x)
{
    for (uint64_t step = 0; step < quantum; step++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Memory for so many entries that is there from the beginning, locked if that is allowed. */
static struct entry *room_for(uint64_t capacity, uint64_t *locked)
{
    size_t bytes = capacity * sizeof(struct entry);
    struct entry *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (entries == MAP_FAILED)
        stop(NO_MEMORY, "there is no memory for so many entries");
    *locked = mlock(entries, bytes) == 0;
    return entries;
}

static uint32_t crc32_of(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (crc = ~crc; bytes; bytes--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static unsigned char *packed(unsigned char *at, uint64_t number)
{
    for (; number > 127; number >>= 7)
        *at++ = (unsigned char)(number | 128);
    *at++ = (unsigned char)number;
    return at;
}

static void write_all(const char *path, const void *head, size_t head_bytes,
                      const struct entry *entries, uint64_t count)
{
    unsigned char *begin = malloc(20 * count + 1), *end = begin; /* no number has more than ten bytes */
    if (!begin)
        stop(NO_MEMORY, "there is no memory for what is to be written");
    for (uint64_t number = 0; number < count; number++) {
        uint64_t before = number ? entries[number - 1].start : 0;
        end = packed(packed(end, entries[number].start - before), entries[number].length);
    }
    size_t bytes = (size_t)(end - begin);
    uint32_t crc = crc32_of(crc32_of(0, head, head_bytes), begin, bytes);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(head, head_bytes, 1, file) != 1
        || fwrite(begin, 1, bytes, file) != bytes || fwrite(&crc, sizeof crc, 1, file) != 1
        || fclose(file) != 0)
        stop(NOT_WRITTEN, strerror(errno));
    free(begin);
}
