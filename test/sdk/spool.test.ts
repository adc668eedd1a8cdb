import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { appendFileSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SpoolError, UsageError } from '../../sdk/errors.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { begin, contents, injectFault, item, KEY, namesIn, PROBLEM, recoverAll } from './spool-set-up.ts'

const FIRST = '0000000000000001.ndjson'

test('the next process recovers the records in order, with their keys and tags', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  const other = 'f'.repeat(32)
  begin(spool, [item(0), item(1, 'a "tag"\n')])
  begin(spool, [item(2)], other).seal()
  const used = spool.usedBytes
  await spool.close()
  const next = await openSpool(directory)
  t.after(() => next.close())
  assert.equal(next.usedBytes, used)
  const [first, second, ...none] = recoverAll(next)
  assert.deepEqual(none, [])
  assert.equal(first!.records, 2)
  assert.deepEqual(await contents(first!), [[KEY, [0, 1]]])
  assert.deepEqual(await contents(second!), [[other, [2]]])
  const [segment] = await first!.read()
  assert.deepEqual(
    segment!.items.map(({ tag, text }) => [tag, text]),
    [item(0), item(1, 'a "tag"\n')].map(({ tag, text }) => [tag, text]),
  )
  begin(next, [item(3)])
  assert.ok(readdirSync(directory).includes('0000000000000003.ndjson'), 'a number is not used twice')
})

test('a batch file holds the key, then a line for each record', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  begin(spool, [item(0), item(1, 'order 7')])
  const record = (i: number) =>
    `{"type":"generic/1","payload":{"i":${i}},"occurredAt":"1970-01-01T00:00:00.000Z"}`
  assert.equal(
    readFileSync(join(directory, FIRST), 'utf8'),
    `{"idempotencyKey":"${KEY}"}\n{"record":${record(0)}}\n{"tag":"order 7","record":${record(1)}}\n`,
  )
})

test('recovery drops a half-written last line and a batch without a record', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const spool = await openSpool(directory)
  begin(spool, [item(0)])
  await spool.close()
  appendFileSync(join(directory, FIRST), '{"record":{"type":"generic/1","payload":{"i":1}')
  write('0000000000000002.ndjson', `{"idempotencyKey":"${KEY}"}\n`)
  write('0000000000000003.ndjson', '{"idempot')
  write('0000000000000001.ndjson.tmp', 'of a replacement that was not finished')
  const next = await openSpool(directory)
  t.after(() => next.close())
  const batches = recoverAll(next)
  assert.deepEqual(await Promise.all(batches.map(contents)), [[[KEY, [0]]]])
  assert.deepEqual(namesIn(directory), [FIRST, 'lock'])
})

test('a file that no spool has written is renamed and reported; other batches are recovered', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const good = '{"record":{"type":"generic/1","payload":{}}}\n'
  const damaged = [
    good,
    `{"idempotencyKey":"${KEY}"}\n${good.slice(0, 9)}\n${good}`,
    `{"idempotencyKey":"${KEY}"}\n{"record":{"type":"generic/1","payload":{}}},{"record":{}}\n`,
    `{"idempotencyKey":"short"}\n${good}`,
    `\0\0\0\n`,
  ]
  for (const [i, text] of damaged.entries()) write(`000000000000000${i + 1}.ndjson`, text)
  write('0000000000000009.ndjson', `{"idempotencyKey":"${KEY}"}\n${good}`)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const { batches, errors } = spool.recover()
  assert.equal(batches.length, 1)
  assert.equal(errors.length, damaged.length)
  for (const error of errors)
    assert.match(error.message, /ndjson: line \d was not written by a spool.* renamed to/)
  assert.equal(
    readdirSync(directory).filter((name) => name.endsWith('.ndjson.damaged')).length,
    damaged.length,
  )
})

test('a replaced batch has only the new records, also for the next process', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  const batch = begin(spool, [item(0), item(1), item(2)])
  batch.seal()
  const [segment] = await batch.read()
  const keys = ['a'.repeat(32), 'b'.repeat(32)]
  await batch.replace([
    { idempotencyKey: keys[0]!, items: segment!.items.slice(0, 1) },
    { idempotencyKey: keys[1]!, items: segment!.items.slice(2) },
  ])
  assert.equal(batch.records, 2)
  assert.equal(spool.usedBytes, statSync(join(directory, FIRST)).size)
  await spool.close()
  const next = await openSpool(directory)
  t.after(() => next.close())
  assert.deepEqual(await contents(recoverAll(next)[0]!), [
    [keys[0], [0]],
    [keys[1], [2]],
  ])
})

test('the directory has mode 0700 and its files 0600', async (t) => {
  const directory = join(temporaryFiles(t).directory, 'new')
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const batch = begin(spool, [item(0)])
  batch.seal()
  await batch.replace(await batch.read())
  await spool.refuse([{ item: item(1), problem: PROBLEM, idempotencyKey: KEY }])
  assert.equal(statSync(directory).mode & 0o777, 0o700)
  for (const name of [FIRST, 'refused.ndjson', 'lock'])
    assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name)
})

test('refused records are stored with the problem, also behind a half-written line', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const path = write('refused.ndjson', '{"refusedAt":"2026')
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  await spool.refuse([
    { item: item(0, 'tag'), problem: PROBLEM, idempotencyKey: KEY },
    { item: item(1), problem: PROBLEM, idempotencyKey: KEY },
  ])
  const [half, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  assert.equal(half, '{"refusedAt":"2026')
  const [first, second] = lines.map((line) => JSON.parse(line))
  assert.deepEqual(first.problem, PROBLEM)
  assert.equal(first.tag, 'tag')
  assert.equal(first.idempotencyKey, KEY)
  assert.deepEqual(first.record.payload, { i: 0 })
  assert.deepEqual(second.record.payload, { i: 1 })
  assert.equal(spool.usedBytes, 0, 'what was refused takes no room from what is to be sent')
})

test('a full refused.ndjson refuses more records with SpoolError until it is removed', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory, { bytesMax: 160_000, refusedBytesMax: 500 })
  t.after(() => spool.close())
  const refuse = (i: number) => spool.refuse([{ item: item(i), problem: PROBLEM, idempotencyKey: KEY }])
  await refuse(0)
  await refuse(1)
  await assert.rejects(refuse(2), {
    name: 'SpoolError',
    retryable: false,
    message: /refused\.ndjson has \d+ bytes .* What to do: .* move the file away/,
  })
  assert.ok(spool.hasRoom)
  rmSync(join(directory, 'refused.ndjson'))
  await refuse(2)
  await assert.rejects(openSpool(temporaryFiles(t).directory, { refusedBytesMax: 0 }), UsageError)
})

test('records refused by an earlier process do not count toward bytesMax', async (t) => {
  const { directory, write } = temporaryFiles(t)
  write('refused.ndjson', 'x'.repeat(160_000))
  const spool = await openSpool(directory, { bytesMax: 160_000 })
  t.after(() => spool.close())
  assert.ok(spool.hasRoom)
})

test('a record whose write failed is not sent, even if its whole line is in the file', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const batch = begin(spool, [item(0)])
  const { writeSync } = fs
  const mend = injectFault(t, fs, 'writeSync', (fd: number, bytes: Buffer) => {
    writeSync(fd, bytes)
    throw Object.assign(new Error('the disk fails'), { code: 'EIO' })
  })
  assert.throws(() => batch.append(item(1), 1), SpoolError)
  mend()
  assert.match(readFileSync(join(directory, FIRST), 'utf8'), /"i":1/, 'the test shows nothing')
  batch.seal()
  assert.deepEqual(await contents(batch), [[KEY, [0]]])
  assert.equal(batch.records, 1)
  assert.doesNotMatch(readFileSync(join(directory, FIRST), 'utf8'), /"i":1/)
})

test('a spool has no room at bytesMax, and has room again after a removal', async (t) => {
  const spool = await openSpool(temporaryFiles(t).directory, { bytesMax: 160_000 })
  t.after(() => spool.close())
  const large = { ...item(0), text: item(0).text.replace('0', `"${'x'.repeat(60_000)}"`) }
  const batches = []
  for (; spool.hasRoom; batches.push(begin(spool, [large])));
  assert.equal(batches.length, 2)
  batches[0]!.seal()
  await batches[0]!.remove()
  assert.ok(spool.hasRoom)
  await assert.rejects(openSpool(temporaryFiles(t).directory, { bytesMax: 1_000 }), UsageError)
})

test('a record that cannot be written throws SpoolError with the cause and takes no room', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  rmSync(directory, { recursive: true })
  assert.throws(() => begin(spool, [item(0)]), { name: 'SpoolError', message: /ENOENT/ })
  assert.equal(spool.usedBytes, 0)
})

test('on a full disk no half record is stored, and a new batch begins once there is room', async (t) => {
  const { directory } = temporaryFiles(t)
  // A limit of the file size simulates a full disk. As on a full disk, only a part of the last write reaches the file.
  const child = spawn('sh', [
    '-c',
    `ulimit -f 32; exec "$0" "$1" "$2" full`,
    process.execPath,
    CHILD,
    directory,
  ])
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  await once(child, 'exit')
  const { taken, message, retaken } = JSON.parse(printed.toString()) as {
    taken: number
    message: string
    retaken: number
  }
  assert.match(message, /What to do: the disk is full|EFBIG/)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const found = await Promise.all(recoverAll(spool).map(contents))
  assert.deepEqual(
    found.map(([segment]) => segment![1].length),
    [taken, retaken],
  )
  assert.ok(taken > 0)
})

const CHILD = new URL('./spool-child.ts', import.meta.url).pathname

test('a second process is refused while the first runs; a killed process leaves no obstacle', async (t) => {
  const { directory } = temporaryFiles(t)
  const child = spawn(process.execPath, [CHILD, directory, 'hold'], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  await assert.rejects(openSpool(directory, { lockStaleMs: 500 }), (error) => {
    assert.ok(error instanceof SpoolError)
    assert.match(error.message, new RegExp(`in use by process ${child.pid} .*What to do`))
    return true
  })
  child.kill('SIGKILL')
  await once(child, 'exit')
  const startedAt = performance.now()
  const spool = await openSpool(directory, { lockStaleMs: 60_000 })
  assert.ok(performance.now() - startedAt < 2_000)
  assert.equal(recoverAll(spool).length, 1)
  await assert.rejects(openSpool(directory), /this process, which opened it before/)
  await spool.close()
  await (await openSpool(directory)).close()
})

test('a lock from an unknown place is respected while touched, and stale when untouched', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const foreign = { token: 'x', pid: process.pid, place: 'another-container', startedAtMs: 1 }
  const lock = write('lock', JSON.stringify(foreign))
  const touching = setInterval(() => utimesSync(lock, new Date(), new Date()), 20)
  await assert
    .rejects(openSpool(directory, { lockStaleMs: 300 }), SpoolError)
    .finally(() => clearInterval(touching))
  const startedAt = performance.now()
  const spool = await openSpool(directory, { lockStaleMs: 200 })
  assert.ok(performance.now() - startedAt >= 200)
  await spool.close()
})

test('a lock with our own pid but an earlier start is stale', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const spool = await openSpool(directory)
  const ours = JSON.parse(readFileSync(join(directory, 'lock'), 'utf8'))
  await spool.close()
  write('lock', JSON.stringify({ ...ours, token: 'x', startedAtMs: ours.startedAtMs - 1_000 }))
  const startedAt = performance.now()
  await (await openSpool(directory, { lockStaleMs: 60_000 })).close()
  assert.ok(performance.now() - startedAt < 2_000)
})

test('a blocked process that lost its lock throws SpoolError and leaves the new lock alone', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const spool = await openSpool(directory, { lockStaleMs: 200 })
  const batch = begin(spool, [item(0)])
  const foreign = JSON.stringify({ token: 'x', pid: 1, place: 'elsewhere', startedAtMs: 1 })
  write('lock', foreign)
  // Blocks the thread, so that the timer that refreshes the lock cannot run.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 120)
  assert.throws(() => batch.append(item(1), 1), { name: 'SpoolError', message: /another process has taken/ })
  assert.throws(() => begin(spool, [item(1)]), SpoolError)
  await spool.close()
  assert.equal(readFileSync(join(directory, 'lock'), 'utf8'), foreign)
})
