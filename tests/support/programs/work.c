#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
double work(long);
static int fits(void) {
  static char page[65536];
  int file = open("/dev/shm/parity-diagnosed", O_CREAT | O_RDWR, 0600), whole = 1;
  for (int i = 0; i < 16; i++) whole &= write(file, page, sizeof page) == sizeof page;
  close(file);
  unlink("/dev/shm/parity-diagnosed");
  return whole;
}
static int crowds(void) {
  for (int i = 0; i < 40; i++) {
    int child = fork();
    if (child < 0) return 0;
    if (!child) { prctl(PR_SET_PDEATHSIG, SIGKILL); pause(); _exit(0); }
  }
  return 1;
}
static int takes(int size) {
  int how;
  if (!fork()) {
    for (volatile char *at = malloc(size), *end = at + size; at < end; at += 4096) *at = 1;
    _exit(0);
  }
  wait(&how);
  return !how;
}
int main(int count, char **words) {
  long n = atol(words[2]);
  if (!strcmp(words[1], "calls")) while (n--) syscall(SYS_getppid, 0);
  else if (!strcmp(words[1], "memory")) work(fits() ? n : 5 * n);
  else if (!strcmp(words[1], "crowd")) work(crowds() ? n : 5 * n);
  else if (!strcmp(words[1], "large")) work(takes(1 << 27) ? n : 5 * n);
  else if (!strcmp(words[1], "priority")) work(setpriority(PRIO_PROCESS, 0, -5) ? 5 * n : n);
  else if (!strcmp(words[1], "two")) {
    if (fork()) { work(n); wait(0); } else { work(n); _exit(0); }
  } else work(n);
  return 0;
}
