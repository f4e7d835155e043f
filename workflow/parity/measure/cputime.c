/* cputime BEGIN FIFO PROGRAM…: wait at a FIFO, run a program to its end, tell its CPU time.
 *
 * A FIFO called - is none, and nothing is waited for.
 * It is linked statically, so it is the same bytes in every container. It says on standard error,
 * each in a line that begins with BEGIN, the CPU time of the program and of what that waited for
 * (wait4) in seconds, and when it was let go and when it ended (CLOCK_MONOTONIC) in nanoseconds.
 * It ends as the program did: by the same signal too, or with 128 and its number where it is the
 * first process of a container, which no signal of its own ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int fail(const char *what) {
  fprintf(stderr, "cputime: %s: %s\n", what, strerror(errno));
  return 127;
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
  char go;
  int status, fifo = -1;
  struct rusage used;
  if (argc < 4) return 2;
  if (strcmp(argv[2], "-") != 0) {
    fifo = open(argv[2], O_RDONLY | O_CLOEXEC);
    if (fifo < 0 || read(fifo, &go, 1) != 1) return fail(argv[2]);
  }
  long long began = now();
  pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    // As a shell would: what has no first line to say otherwise is a script.
    execvp(argv[3], argv + 3);
    _exit(fail(argv[3]));
  }
  while (wait4(child, &status, 0, &used) < 0)
    if (errno != EINTR) return fail("wait4");
  long long ended = now();
  fprintf(stderr, "\n%s user_seconds=%lld.%06ld\n%s system_seconds=%lld.%06ld\n", argv[1],
          (long long)used.ru_utime.tv_sec, (long)used.ru_utime.tv_usec, argv[1],
          (long long)used.ru_stime.tv_sec, (long)used.ru_stime.tv_usec);
  fprintf(stderr, "%s began=%lld\n%s ended=%lld\n", argv[1], began, argv[1], ended);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}
