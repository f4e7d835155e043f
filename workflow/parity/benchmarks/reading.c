/* Runs a program and reads all files of a folder again and again until it ends, on other CPUs.
 *
 *     reading CPUS FOLDER FILE PROGRAM WORD…
 *
 * The program keeps the CPUs that it was given; this goes to CPUS (`0,2`). What was read is given
 * back by the page cache, so that each round asks the file system anew. Without a FOLDER (an empty
 * word) it only waits. It ends with the program, and by the program's status.
 *
 * FILE has one line: how much was read, and the CPU time of this and of the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRONG = 120 };

static volatile sig_atomic_t has_ended;
static unsigned long long files, bytes;

static void stop(const char *what)
{
    fprintf(stderr, "reading: %s: %s\n", what, strerror(errno));
    exit(WRONG);
}

static void end(int signal)
{
    (void)signal;
    has_ended = 1;
}

static int read_file(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    static char buffer[1 << 17];
    (void)about, (void)place;
    int file = kind == FTW_F ? open(path, O_RDONLY | O_NONBLOCK) : -1;
    if (file < 0)
        return has_ended;
    for (ssize_t got; !has_ended && (got = read(file, buffer, sizeof buffer)) > 0;)
        bytes += (unsigned long long)got;
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
    files++;
    return has_ended;
}

static void go_to(char *cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (char *cpu; (cpu = strsep(&cpus, ","));)
        CPU_SET(strtoul(cpu, NULL, 10), &set);
    if (sched_setaffinity(0, sizeof set, &set))
        stop("CPUS");
}

static double cpu_seconds(int whose)
{
    struct rusage used;
    getrusage(whose, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec)
           + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char **words)
{
    if (argc < 5 || (*words[2] && access(words[2], R_OK | X_OK)))
        stop("CPUS FOLDER FILE PROGRAM WORD...");
    const struct sigaction when_it_ends = {.sa_handler = end, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &when_it_ends, NULL);
    cpu_set_t given;
    sched_getaffinity(0, sizeof given, &given);
    go_to(words[1]);
    pid_t program = fork();
    if (!program) {
        sched_setaffinity(0, sizeof given, &given);
        execv(words[4], words + 4);
        stop(words[4]);
    }
    if (program < 0)
        stop("fork");
    while (*words[2] && !has_ended && !nftw(words[2], read_file, 32, FTW_PHYS | FTW_MOUNT))
        ;
    int status = 0;
    while (waitpid(program, &status, 0) < 0 && errno == EINTR)
        ;
    FILE *file = fopen(words[3], "w");
    if (!file
        || fprintf(file, "%llu files, %llu bytes, CPU %.6f s, program's CPU %.6f s\n", files, bytes,
                   cpu_seconds(RUSAGE_SELF), cpu_seconds(RUSAGE_CHILDREN)) < 0
        || fclose(file))
        stop(words[3]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
