import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, utimesSync } from 'node:fs'
import fsPromises from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseHolder, place, startedAtMs } from '../../sdk/node/lock-holder.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { begin, diskFull, injectFault, item, namesIn } from './spool-set-up.ts'

/** A lock of a process that has ended. That process had the pid of this process. */
const GONE = { token: 'x', pid: process.pid, place: place(), startedAtMs: startedAtMs() - 10_000 }

test('a lock without a valid process has no holder', () => {
  assert.deepEqual(parseHolder(JSON.stringify(GONE)), GONE)
  for (const text of [
    'null',
    '7',
    '{',
    '{}',
    ...[
      { token: 1 },
      { place: 7 },
      { startedAtMs: null },
      { pid: '1' },
      { pid: 0 },
      { pid: -1 },
      { pid: 1.5 },
    ].map((wrong) => JSON.stringify({ ...GONE, ...wrong })),
  ])
    assert.equal(parseHolder(text), null, text)
})

test('an unreadable lock counts as in use while its file is touched', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const lock = write('lock', JSON.stringify({ ...GONE, place: 7 }))
  const touching = setInterval(() => utimesSync(lock, new Date(), new Date()), 10)
  await assert
    .rejects(openSpool(directory, { lockStaleMs: 300 }), {
      name: 'SpoolInUseError',
      message: /in use by another process/,
    })
    .finally(() => clearInterval(touching))
})

test('on a full disk, the lock of an ended process can be taken over', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const lock = write('lock', JSON.stringify(GONE))
  const { open } = fsPromises
  injectFault(t, fsPromises, 'open', async (path: string, ...rest: [string, number]) => {
    // Simulates a full disk: no file can be made beside the lock as long as the lock exists.
    if (path.startsWith(`${lock}.`) && existsSync(lock)) throw diskFull()
    return open(path, ...rest)
  })
  const spool = await openSpool(directory, { lockStaleMs: 60_000 })
  t.after(() => spool.close())
  const holder = parseHolder(readFileSync(lock, 'utf8'))
  assert.equal(holder?.pid, process.pid)
  assert.notEqual(holder?.token, GONE.token)
})

test('a full disk leaves no half-written lock, and the error says what to do', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const foreign = JSON.stringify({ ...GONE, place: 'elsewhere' })
  write('lock', foreign)
  const { open } = fsPromises
  injectFault(t, fsPromises, 'open', async (path: string, ...rest: [string, number]) => {
    const file = await open(path, ...rest)
    file.writeFile = async () => {
      await file.write('{')
      throw diskFull()
    }
    return file
  })
  const full = { name: 'SpoolError', message: /What to do: the disk is full: free some space/ }
  await assert.rejects(openSpool(directory, { lockStaleMs: 100 }), full)
  assert.deepEqual(namesIn(directory), ['lock'])
  assert.equal(readFileSync(join(directory, 'lock'), 'utf8'), foreign)
  const empty = temporaryFiles(t).directory
  await assert.rejects(openSpool(empty), full)
  assert.deepEqual(readdirSync(empty), [])
})

test('a lock taken by another process is noticed even after the clock was set back', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const spool = await openSpool(directory, { lockStaleMs: 60_000 })
  t.after(() => spool.close())
  write('lock', JSON.stringify({ ...GONE, place: 'elsewhere' }))
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() - 3_600_000 })
  assert.throws(() => begin(spool, [item(0)]), { name: 'SpoolError', message: /another process has taken/ })
})
