// Files of nothing: made, asked about, and taken away again, as mdtest does it.
//
// metadata FOLDER FILES: in a new folder, FOLDER/metadata.files. One line for each phase, and one that
// says that the folder was empty afterwards. Names are as long whatever their number.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int at;

static void fail(const char *what) {
  fprintf(stderr, "metadata: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void create(const char *name) {
  int file = openat(at, name, O_CREAT | O_EXCL | O_WRONLY, 0644);
  if (file < 0 || close(file)) fail("create");
}

static void ask(const char *name) {
  struct stat found;
  if (fstatat(at, name, &found, AT_SYMLINK_NOFOLLOW)) fail("stat");
  if (!S_ISREG(found.st_mode) || found.st_size) {
    fprintf(stderr, "metadata: stat: %s is no empty file\n", name);
    exit(1);
  }
}

static void take_away(const char *name) {
  if (unlinkat(at, name, 0)) fail("unlink");
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void phase(const char *what, void (*act)(const char *), long files) {
  char name[32];
  long long begin = now();
  for (long i = 0; i < files; i++) {
    snprintf(name, sizeof name, "file.%010ld", i);
    act(name);
  }
  // What the folder itself has of it is to be on the disk, as after end_fsync of a file.
  if (fsync(at)) fail("fsync");
  long long end = now();
  printf("%s: %ld files in %lld ns, %.3f per second\n", what, files, end - begin,
         files * 1e9 / (end - begin));
}

static long entries(void) {
  int copy = openat(at, ".", O_RDONLY | O_DIRECTORY);
  DIR *folder = copy < 0 ? NULL : fdopendir(copy);
  if (!folder) fail("list");
  long count = 0;
  for (struct dirent *entry; (entry = readdir(folder));)
    count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
  closedir(folder);
  return count;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: metadata FOLDER FILES\n");
    return 2;
  }
  long files = atol(argv[2]);
  char path[4096];
  snprintf(path, sizeof path, "%s/metadata.files", argv[1]);
  if (mkdir(path, 0755)) fail(path);
  at = open(path, O_RDONLY | O_DIRECTORY);
  if (at < 0) fail(path);
  phase("create", create, files);
  if (entries() != files) {
    fprintf(stderr, "metadata: list: not %ld files\n", files);
    return 1;
  }
  phase("stat", ask, files);
  phase("unlink", take_away, files);
  printf("left: %ld files\n", entries());
  return rmdir(path) ? fail(path), 1 : 0;
}
