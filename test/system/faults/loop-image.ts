import { execFile, spawn, spawnSync } from 'node:child_process'
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * A folder on a tmpfs. A write to an image in this folder is complete at once. So the image has exactly the content
 * that a disk would have.
 */
const PARENT = '/dev/shm'
const IMAGE_BYTES = 1024 * 1024 * 1024
const FREE_BYTES_MIN = 3 * IMAGE_BYTES
const UNMOUNT_MS_MAX = 10_000

/** Returns the reason why this machine cannot make such disks, or null if it can. */
export function whyNoLoopImages(): string | null {
  if (process.platform !== 'linux') return 'loop devices are Linux only'
  if (process.getuid?.() !== 0) return 'mounting needs root'
  for (const command of ['mount', 'umount', 'losetup', 'mkfs.ext4']) {
    if (spawnSync(command, ['--version']).error) return `there is no ${command}`
  }
  try {
    accessSync(PARENT, constants.W_OK)
  } catch {
    return `${PARENT} cannot be written`
  }
  const { bavail, bsize } = statfsSync(PARENT)
  if (bavail * bsize < FREE_BYTES_MIN) return `${PARENT} has less than ${FREE_BYTES_MIN} bytes free`
  if (spawnSync('losetup', ['--find']).status !== 0) return 'there is no free loop device'
  return probeMount()
}

/** Tries to mount. A container may have root and loop devices, but no right to mount. */
function probeMount(): string | null {
  const dir = mkdtempSync(join(PARENT, 'tallystick-probe-'))
  try {
    const image = join(dir, 'image')
    writeFileSync(image, '')
    truncateSync(image, 1024 * 1024)
    spawnSync('mkfs.ext4', ['-q', '-F', image])
    const mounted = spawnSync('mount', ['-o', 'loop', image, mkdirIn(dir, 'disk')], { encoding: 'utf8' })
    if (mounted.status !== 0) return `mounting a loop device fails: ${mounted.stderr.trim()}`
    spawnSync('umount', [join(dir, 'disk')])
    return null
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * A disk whose power can be cut: an ext4 file system on an image file. Written data is in the image only after it was
 * flushed. So a copy of the image has the content that a disk would have after a power cut.
 */
export class LoopDisk {
  readonly dir: string
  /** Mount point, which stays the same after `cutPower`. */
  readonly mountPoint: string
  readonly #image: string
  readonly #letGo: () => void

  private constructor(dir: string, letGo: () => void) {
    this.dir = dir
    this.mountPoint = mkdirIn(dir, 'disk')
    this.#image = join(dir, 'image')
    this.#letGo = letGo
  }

  static async create(): Promise<LoopDisk> {
    const dir = mkdtempSync(join(PARENT, 'tallystick-disk-'))
    chmodSync(dir, 0o711) // The server's user must be able to enter the folder.
    const disk = new LoopDisk(dir, watch(dir))
    writeFileSync(disk.#image, '')
    truncateSync(disk.#image, IMAGE_BYTES)
    await run('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', disk.#image])
    await disk.#mount()
    return disk
  }

  async sync(): Promise<void> {
    await run('sync', ['-f', this.mountPoint])
  }

  /**
   * Cuts the power: everything that is not flushed yet is lost. `killAll` must end every process with open files on
   * this disk. It is called after the image was copied. So data that these processes flush while they end is lost too.
   */
  async cutPower(killAll: () => Promise<void>): Promise<void> {
    const copy = `${this.#image}.after`
    await run('cp', ['--sparse=always', this.#image, copy])
    await killAll()
    await this.#unmount()
    await run('mv', [copy, this.#image])
    await this.#mount()
  }

  async destroy(): Promise<void> {
    await this.#unmount()
    rmSync(this.dir, { recursive: true, force: true })
    this.#letGo()
  }

  /**
   * `commit=600` prevents flushes that no process requested. By default ext4's journal writes data every 5 s. The
   * kernel's write-back need not be changed for the whole machine: it writes only data that is older than 30 s, and
   * each round of the test is shorter.
   */
  async #mount(): Promise<void> {
    await run('mount', ['-o', 'loop,commit=600', this.#image, this.mountPoint])
  }

  async #unmount(): Promise<void> {
    for (const giveUpAt = Date.now() + UNMOUNT_MS_MAX; ; await sleep(50)) {
      try {
        await run('umount', [this.mountPoint])
        return
      } catch (error) {
        if (/not mounted/.test((error as Error).message)) return
        if (Date.now() > giveUpAt) throw error
      }
    }
  }
}

/**
 * Starts a shell that removes the disk when this process ends, however it ends. The shell waits until the kernel closes
 * the shell's input, which happens when this process ends.
 */
function watch(dir: string): () => void {
  const script = `while read -r _; do :; done
    [ -d "$1" ] || exit 0
    waited=0
    while ! umount "$1/disk" 2>/dev/null && mountpoint -q "$1/disk" && [ $waited -lt 100 ]; do
      sleep 0.1; waited=$((waited + 1))
    done
    umount -l "$1/disk" 2>/dev/null
    rm -rf "$1"`
  const watchdog = spawn('/bin/sh', ['-c', script, 'tallystick-disk-watchdog', dir], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watchdog.unref()
  ;(watchdog.stdin as unknown as { unref(): void }).unref()
  return () => watchdog.stdin.end()
}

function mkdirIn(dir: string, name: string): string {
  const path = join(dir, name)
  mkdirSync(path)
  return path
}
