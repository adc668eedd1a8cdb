import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Returns the niceness after `raiseNiceness(() => target)` in a process that starts at `niceness` and may not lower
 * it.
 */
function raisedFrom(niceness: number, target: number): number {
  const script = `
    import { getPriority, setPriority } from 'node:os'
    import { raiseNiceness } from ${JSON.stringify(join(ROOT, 'src/niceness.ts'))}
    setPriority(0, Math.max(getPriority(0), ${niceness}))
    if (process.getuid() === 0) process.setuid(65534)
    raiseNiceness(() => ${target})
    console.log(getPriority(0))`
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

test('raises the niceness, never lowers it, and ignores a refusal', () => {
  assert.equal(raisedFrom(15, 10), 15)
  assert.equal(raisedFrom(19, 10), 19)
  assert.equal(raisedFrom(15, 40), 19)
  assert.equal(raisedFrom(15, Number.NaN), 15)
})

test('only src/niceness.ts calls setPriority', () => {
  const files = globSync('{src,worker,cli,sdk}/**/*.ts', { cwd: ROOT })
  const found = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('setPriority('))
  assert.deepEqual(found, ['src/niceness.ts'])
})
