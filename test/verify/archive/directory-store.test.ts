import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { directoryStore } from '../../../src/verify/archive/directory-store.ts'

const run = promisify(execFile)

test('put makes missing directories, for the owner and its group only, and overwrites nothing', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-store-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const store = directoryStore(join(directory, 'a', 'b'))
  assert.equal(await store.put('c/d/one', Buffer.from('1')), 'written')
  assert.equal(await store.put('c/d/one', Buffer.from('2')), 'exists')
  await store.replace('e/two', Buffer.from('3'))
  assert.equal(readFileSync(join(directory, 'a/b/c/d/one'), 'utf8'), '1')
  assert.equal(readFileSync(join(directory, 'a/b/e/two'), 'utf8'), '3')
  for (const made of ['a', 'a/b', 'a/b/c', 'a/b/c/d', 'a/b/e'])
    assert.equal(statSync(join(directory, made)).mode & 0o027, 0, made)
})

// Runs in a separate process, because an endless mkdir could not be stopped in the process of the test.
test('put below /proc, where no directory can be made, fails at once', async () => {
  const program = `
    import { directoryStore } from './src/verify/archive/directory-store.ts'
    const failed = await directoryStore('/proc/tallystick').put('a/b', Buffer.from('1')).catch((error) => error)
    process.stdout.write(failed.message)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: join(import.meta.dirname, '../../..'),
    timeout: 10_000,
    killSignal: 'SIGKILL',
  })
  assert.match(stdout, /^a\/b: ENOENT/)
})
