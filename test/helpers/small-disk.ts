import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/**
 * Mounts a file system with a size limit and unmounts it after the test. Returns null and skips the test if mounting is
 * not permitted.
 */
export function smallDisk(
  t: TestContext,
  { bytes, inodes = 10_000 }: { readonly bytes: number; readonly inodes?: number },
): string | null {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-disk-'))
  const options = `size=${bytes},nr_inodes=${inodes},mode=0700`
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', directory]).status === 0
  t.after(() => {
    if (mounted) spawnSync('umount', ['-l', directory])
    rmSync(directory, { recursive: true, force: true })
  })
  if (mounted) return directory
  t.skip('a small file system is mounted by root on Linux alone')
  return null
}

export function fillDisk(directory: string): void {
  const fd = openSync(join(directory, 'lost+found'), 'a', 0o600)
  try {
    for (let bytes = 64 * 1024; bytes >= 1; ) {
      try {
        if (writeSync(fd, Buffer.alloc(bytes)) < bytes) break
      } catch {
        bytes = Math.floor(bytes / 2)
      }
    }
  } finally {
    closeSync(fd)
  }
}
