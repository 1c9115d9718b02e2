"""A memory that runs out for the core when told to: malloc, mmap and their like. Linux with a C compiler only."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

# Only the core and the C++ library are refused anything: NumPy 2.4 crashes where it has no memory to convert an index.
# And only large blocks, arrays: nanobind gives up where it has no memory for a few bytes.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CALLER __builtin_return_address(0)
static long allowed = -1;
static size_t smallest = 1024;
static long asked = 0;

void allow_blocks(long count, size_t size) { allowed = count; smallest = size; asked = 0; }
long blocks_asked(void) { return asked; }

static int refused(size_t size, void *caller) {
  Dl_info from;
  if (size < smallest || allowed < 0) return 0;
  if (!dladdr(caller, &from) || !from.dli_fname) return 0;
  if (!strstr(from.dli_fname, "/_core.") && !strstr(from.dli_fname, "libstdc++")) return 0;
  ++asked;
  if (allowed-- > 0) return 0;
  allowed = -1;  /* this one only: what clears up after it has memory again */
  errno = ENOMEM;
  return 1;
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return refused(size, CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return refused(n * size, CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return refused(size, CALLER) ? NULL : __libc_realloc(p, size); }
void *aligned_alloc(size_t a, size_t size) { return refused(size, CALLER) ? NULL : __libc_memalign(a, size); }
int posix_memalign(void **p, size_t a, size_t size) {
  if (refused(size, CALLER)) return ENOMEM;
  *p = __libc_memalign(a, size);
  return *p ? 0 : ENOMEM;
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  static void *(*next)(void *, size_t, int, int, int, off_t);
  if (!next) next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  return refused(size, CALLER) ? MAP_FAILED : next(at, size, protection, flags, file, offset);
}
"""

PRELUDE = """
import ctypes, faulthandler, os
faulthandler.enable()
memory = ctypes.CDLL(os.environ["FAILING_MALLOC"])
memory.allow_blocks.argtypes = [ctypes.c_long, ctypes.c_size_t]

def refuse(number, smallest=1024):
    memory.allow_blocks(number, smallest)

def refuse_none():
    memory.allow_blocks(-1, 1024)
    return None
"""


def compiler() -> str | None:
    """Give the C compiler, where all this is possible."""
    is_musl = "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "")
    if sys.platform != "linux" or is_musl or os.environ.get("LD_PRELOAD"):
        return None
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def run_with_failing_malloc(script: str, folder: Path, *arguments: str) -> str:
    """Run a Python script that calls `refuse(k)`, after which block k (from 0) of a certain size is refused, once."""
    library = folder / "failing_malloc.so"
    (folder / "failing_malloc.c").write_text(SOURCE, encoding="utf-8")
    command = [str(compiler()), "-O1", "-shared", "-fPIC", "-o", str(library), str(folder / "failing_malloc.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "FAILING_MALLOC": str(library), "PYTHONMALLOC": "pymalloc"}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + script, *arguments],
        env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
