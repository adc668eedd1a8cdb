import { appendFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const TEST_DIR = resolve(import.meta.dirname, '..')

/** CPU time in ms that the process had used when the tests of the current file began. */
let begunAtMs = 0

export function beginTests(): void {
  begunAtMs = cpuMs()
}

/**
 * Loads a file of a group. Records the file's cost after its tests. The tests of a process run one after another. If a
 * file cannot be loaded, this becomes a failing test, and the other files continue.
 */
export async function loadFile(url: string): Promise<void> {
  const loadedAtMs = cpuMs()
  await import(url).catch((error) => {
    test(url, () => {
      throw error
    })
  })
  const loadMs = cpuMs() - loadedAtMs
  const file = relative(TEST_DIR, fileURLToPath(url))
  test(`the end of ${file}`, () => {
    const endedAtMs = cpuMs()
    const noteFile = process.env['TALLYSTICK_TEST_CPU']
    const cost = { name: file, cpuMs: loadMs + endedAtMs - begunAtMs }
    if (noteFile !== undefined) appendFileSync(noteFile, `${JSON.stringify(cost)}\n`)
    begunAtMs = endedAtMs
  })
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
