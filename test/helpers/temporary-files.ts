import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

type Test = { after(cleanup: () => void): void }

/** Makes a directory that is removed after the test, and returns a function that writes files into it. */
export function temporaryFiles(t: Test): {
  directory: string
  write(name: string, content: string | Uint8Array): string
} {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return {
    directory,
    write(name, content) {
      const path = join(directory, name)
      writeFileSync(path, content)
      return path
    },
  }
}
