import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDir } from './postgres.ts'

/** Makes a pipe that is open at both ends and that nobody reads. `fd` is for a child's standard output or error. */
export function makeUnreadPipe() {
  const path = join(temporaryDir(), 'pipe')
  execFileSync('mkfifo', [path])
  const kept = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const fd = openSync(path, constants.O_WRONLY)
  return {
    fd,
    fill() {
      const bytes = Buffer.alloc(4_096)
      for (const size of [bytes.length, 1]) untilEagain(() => writeSync(kept, bytes, 0, size))
    },
    read(): string {
      const bytes = Buffer.alloc(65_536)
      let text = ''
      untilEagain(() => {
        text += bytes.toString('latin1', 0, readSync(kept, bytes))
      })
      return text
    },
    close() {
      closeSync(kept)
      closeSync(fd)
    },
  }
}

function untilEagain(work: () => void): void {
  try {
    for (;;) work()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
  }
}
