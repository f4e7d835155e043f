/* Bulk-synchronous steps: every rank does the same work, then all wait for the last, again and
 * again. Each step is written down with the time that it took.
 *
 *     steps RANKS STEPS WORK_US IDLE_US FILE
 *
 * The work is so many dependent multiplications as rank 0 does in WORK_US when nothing holds it
 * up, which is found first; from then on it is fixed. A step lasts from the begin of the work
 * until the barrier lets rank 0 go. With an IDLE_US all ranks sleep so long after each step, and
 * meet before the next one begins.
 *
 * A single rank waits for nobody: it starts no MPI, and needs no launcher. Rank 0 writes FILE, as
 * trace.h says, and nothing is written before the end.
 */
#define _GNU_SOURCE
#include "trace.h"
#include <mpi.h>

#define FIND_NS 100000000u /* how long the shortest time of a piece of work is looked for */
#define PIECE 50000u       /* multiplications, some fifty microseconds */

struct head {
    char magic[8]; /* begins with a byte that no text begins with, as PNG does */
    uint32_t version, ranks;
    double work_ns; /* of each step, on rank 0, where nothing holds it up */
    uint64_t duration_ns, quantum, idle_us, locked, count;
    struct limit limit;
};

static uint64_t now(void)
{
    return ns_of(CLOCK_MONOTONIC_RAW);
}

static double shortest_piece(void)
{
    uint64_t first = now(), least = UINT64_MAX, x = first;
    for (uint64_t begin = first; begin - first < FIND_NS;) {
        x = work(PIECE, x);
        uint64_t end = now();
        least = end - begin < least ? end - begin : least;
        begin = end;
    }
    return (double)least;
}

static void wait_for_all(uint32_t ranks)
{
    if (ranks > 1)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void step(const struct head *head)
{
    work(head->quantum, head->quantum);
    wait_for_all(head->ranks);
}

static void all_steps(struct head *head, struct entry *entries)
{
    const struct timespec idle = {(time_t)(head->idle_us / 1000000),
                                  (long)(head->idle_us % 1000000) * 1000};
    uint64_t first = now(), end = first;
    for (uint64_t number = 0; number < head->count; number++) {
        uint64_t begin = end;
        if (head->idle_us) {
            nanosleep(&idle, NULL);
            wait_for_all(head->ranks);
            begin = now();
        }
        step(head);
        end = now();
        entries[number] = (struct entry){begin - first, end - begin};
    }
    head->duration_ns = end - first;
}

int main(int argc, char **words)
{
    if (argc != 6)
        stop(WRONG_WORDS, "RANKS STEPS WORK_US IDLE_US FILE");
    uint32_t ranks = (uint32_t)strtoul(words[1], NULL, 10);
    uint64_t count = strtoull(words[2], NULL, 10), work_us = strtoull(words[3], NULL, 10);
    if (!ranks || !count || !work_us || count > SIZE_MAX / sizeof(struct entry))
        stop(WRONG_WORDS, "a number is none, or out of range");
    int rank = 0, world = 1;
    if (ranks > 1) {
        MPI_Init(&argc, &words);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world);
    }
    if ((uint32_t)world != ranks)
        stop(OTHER_WORLD, "there are other ranks than was said");

    struct head head = {.magic = "\x89" "steps", .version = 2, .ranks = ranks, .count = count,
                        .idle_us = strtoull(words[4], NULL, 10)};
    struct entry *entries = room_for(count, &head.locked);
    double pace = shortest_piece() / PIECE;
    head.quantum = (uint64_t)(1e3 * (double)work_us / pace);
    head.work_ns = (double)head.quantum * pace;
    if (ranks > 1)
        MPI_Bcast(&head.quantum, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    step(&head); /* the first barrier has more to do than all others */

    read_limit(&head.limit);
    count_throttling(&head.limit, (uint64_t)-1);
    uint64_t cpu_before = ns_of(CLOCK_THREAD_CPUTIME_ID);
    all_steps(&head, entries);
    head.limit.cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    count_throttling(&head.limit, 1);
    if (!rank)
        write_all(words[5], &head, sizeof head, entries, count);
    if (ranks > 1)
        MPI_Finalize();
    return 0;
}
