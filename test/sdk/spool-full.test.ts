import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import fs, { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SpoolError, type TallystickError } from '../../sdk/index.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import type { Notarizer } from '../../sdk/notarizer/notarizer.ts'
import type { AnyTypes } from '../../sdk/typed.ts'
import { fillDisk, smallDisk } from '../helpers/small-disk.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { QUICK, recordedNumbers } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'
import { begin, injectFault, item, namesIn } from './spool-set-up.ts'

const ofTheDisk = (error: TallystickError) => error instanceof SpoolError

function recordUntilFull(ledger: Notarizer<AnyTypes>, group: string): number[] {
  const taken: number[] = []
  for (let i = 0, failures = 0; failures < 50; i++) {
    const refused = i % 20 === 7
    try {
      ledger.record(
        { group, i, pad: 'x'.repeat(i % 7 ? 120 : 3_000) },
        {
          handle: `h${i}`,
          ...(i % 3 === 1 && { parentHandle: `h${i - 1}` }),
          ...(refused && { occurredAt: 'once' }),
        },
      )
      if (!refused) taken.push(i)
    } catch (error) {
      assert.match(`${error}`, /SpoolError.*What to do: the disk is full/)
      failures++
    }
  }
  return taken
}

test('a spool on a full disk is emptied when the server is back, and accepts records again', async (t) => {
  const directory = smallDisk(t, { bytes: 512 * 1024 })
  if (directory === null) return
  const { app, client } = await sharedSdk()
  let isAway = true
  const errors: TallystickError[] = []
  const open = async () =>
    client({
      fetch: (...request) => (isAway ? Promise.reject(new TypeError('fetch failed')) : fetch(...request)),
    }).notarizer({
      ...QUICK,
      recordsPerBatchMax: 100,
      spool: await openSpool(directory),
      onRefused: () => {},
      onError: (error) => void errors.push(error),
    })
  const first = await open()
  const taken = recordUntilFull(first, 'full')
  assert.ok(taken.length > 100, `only ${taken.length} records were taken`)
  fillDisk(directory)
  await first.close({ timeoutMs: 1 }).catch(() => {})
  fillDisk(directory)

  isAway = false
  errors.length = 0
  const second = await open()
  await second.flush()
  assert.deepEqual(await recordedNumbers(app, 'full'), taken)
  assert.deepEqual(errors.filter(ofTheDisk), [], 'no fault of the disk is reported')
  const refused = readFileSync(join(directory, 'refused.ndjson'), 'utf8').trimEnd().split('\n')
  assert.deepEqual(new Set(refused.map((line) => JSON.parse(line).record.payload.i % 20)), new Set([7]))
  second.record({ group: 'full', i: 100_000 })
  await second.close()
  assert.deepEqual(await recordedNumbers(app, 'full'), [...taken, 100_000])
  assert.ok(statSync(join(directory, 'reserve.0')).size >= 8 * 1024, 'the reserve is there again')
})

test('an inbox that used up its disk or inodes is emptied too', async (t) => {
  const { app, client } = await sharedSdk()
  for (const [group, disk] of [
    ['inbox of bytes', { bytes: 512 * 1024 }],
    ['inbox of inodes', { bytes: 8 * 1024 * 1024, inodes: 100 }],
  ] as const) {
    const directory = smallDisk(t, disk)
    if (directory === null) return
    await (await openSpool(directory)).close()
    let count = 0
    for (;;) {
      const put = makeItem({ group, i: count, pad: 'x'.repeat(2_000) }, { handle: `h${count}` }, 0)
      try {
        putInInbox(directory, put, `${count}`.padStart(32, 'inodes' in disk ? 'a' : 'b'))
        count++
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
        break
      }
    }
    assert.ok(count > 50, `only ${count} records were taken`)
    const errors: TallystickError[] = []
    const onError = (error: TallystickError) => void errors.push(error)
    const ledger = client().notarizer({ ...QUICK, onError, spool: await openSpool(directory) })
    while ((await ledger.adopt()) > 0) await ledger.flush()
    await ledger.close()
    assert.deepEqual(errors.filter(ofTheDisk), [])
    assert.deepEqual(
      await recordedNumbers(app, group),
      Array.from({ length: count }, (_, i) => i),
    )
    assert.deepEqual(namesIn(directory), ['handles.ndjson', 'inbox', 'owner.json'])
  }
})

test('on a full disk, records are refused until a batch is removed', async (t) => {
  const directory = smallDisk(t, { bytes: 300 * 1024 })
  if (directory === null) return
  const spool = await openSpool(directory)
  const batch = begin(spool, [item(0)])
  const large = makeItem({ text: 'x'.repeat(60_000) }, {}, 0)
  for (;;) {
    try {
      batch.append(large, large.bytes)
    } catch (error) {
      assert.match(`${error}`, /the disk is full: free some space/)
      break
    }
  }
  batch.seal()
  const segments = await batch.read()
  fillDisk(directory)
  await batch.replace(segments.map(({ items }) => ({ idempotencyKey: 'f'.repeat(32), items })))
  assert.throws(() => begin(spool, [item(1)]), /the disk is full/)
  await batch.remove()
  begin(spool, [item(1)])
  await spool.close()
})

test('a local file error is a SpoolError with a remedy, and sending continues after it', async (t) => {
  const { app, client } = await sharedSdk()
  for (const code of ['EMFILE', 'EACCES', 'EROFS', 'EDQUOT']) {
    const { directory } = temporaryFiles(t)
    const errors: TallystickError[] = []
    const spool = await openSpool(directory)
    const ledger = client().notarizer({ ...QUICK, spool, onError: (error) => void errors.push(error) })
    ledger.record({ group: code, i: 0 }, { handle: 'h' })
    const mend = injectFault(t, fs.promises, 'open', () => {
      throw Object.assign(new Error(`${code}: as the test says`), { code })
    })
    while (errors.length < 2) await new Promise((resolve) => setTimeout(resolve, 1))
    mend()
    while (ledger.stats.buffered > 0) await ledger.flush().catch(() => {})
    await ledger.close()
    for (const error of errors) {
      assert.ok(error instanceof SpoolError, `${error}`)
      assert.match(error.message, /What to do: /)
      assert.equal(error.retryable, code === 'EMFILE')
    }
    assert.deepEqual(await recordedNumbers(app, code), [0])
  }
})

test('a lock that is unreadable for a moment does not count as another process’s lock', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory, { lockStaleMs: 100 })
  t.after(() => spool.close())
  const { readFileSync: read } = fs
  const mend = injectFault(t, fs, 'readFileSync', (...call: Parameters<typeof read>) => {
    if (`${call[0]}`.endsWith('lock')) throw Object.assign(new Error('too many'), { code: 'EMFILE' })
    return read(...call)
  })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 80)
  assert.throws(() => begin(spool, [item(0)]), /too many files open/)
  mend()
  begin(spool, [item(1)])
})

test('a directory that cannot be created is refused at once with the reason', async (t) => {
  const { directory, write } = temporaryFiles(t)
  write('file', '')
  const deep = join(directory, 'a', 'b', 'c')
  await (await openSpool(deep)).close()
  assert.ok(existsSync(deep))
  assert.equal(statSync(join(directory, 'a')).mode & 0o777, 0o700)
  const impossible = [join(directory, 'file', 'spool')]
  if (existsSync('/proc/self')) impossible.push('/proc/spool', '/proc/spool/deeper', '/proc/self/spool')
  for (const path of impossible) {
    await assert.rejects(openSpool(path), { name: 'SpoolError', message: /ENOENT|EEXIST/ })
    assert.throws(() => putInInbox(path, item(0), 'f'.repeat(32)), /ENOENT|EEXIST/)
  }
})

test('a read-only disk is named in the error', async (t) => {
  const directory = smallDisk(t, { bytes: 64 * 1024 })
  if (directory === null) return
  mkdirSync(join(directory, 'inbox'))
  writeFileSync(join(directory, 'x'), '')
  const remounted = spawnSync('mount', ['-o', 'remount,ro', directory]).status === 0
  assert.ok(remounted, 'the disk could not be made read-only')
  for (const path of [directory, join(directory, 'below', 'it')])
    await assert.rejects(openSpool(path), { name: 'SpoolError', message: /EROFS.*read-only/ })
})
