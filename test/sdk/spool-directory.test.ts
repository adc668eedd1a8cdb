import assert from 'node:assert/strict'
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import fsPromises from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { SpoolError } from '../../sdk/errors.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import type { SpooledBatch } from '../../sdk/notarizer/spool.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import {
  begin,
  contents,
  diskFull,
  injectFault,
  item,
  KEY,
  namesIn,
  PROBLEM,
  recoverAll,
} from './spool-set-up.ts'

const FIRST = '0000000000000001.ndjson'
const BATCH = `{"idempotencyKey":"${KEY}"}\n{"record":${item(0).text}}\n`
const IS_ROOT = process.geteuid?.() === 0
const ONLY_ROOT = { skip: !IS_ROOT && 'only root can give files away' }
const ANOTHER = 4711

test('files of other programs stay', async (t) => {
  const { directory, write } = temporaryFiles(t)
  for (const name of ['report.tmp', 'x0000000000000001.ndjson.tmp', 'owner.json.tmp']) write(name, 'theirs')
  write(`${FIRST}.tmp`, 'of a replacement that was not finished')
  await (await openSpool(directory)).close()
  assert.deepEqual(namesIn(directory), ['owner.json.tmp', 'report.tmp', 'x0000000000000001.ndjson.tmp'])
})

test('an existing empty directory of this user becomes private', async (t) => {
  const { directory } = temporaryFiles(t)
  chmodSync(directory, 0o2775)
  await (await openSpool(directory)).close()
  assert.equal(statSync(directory).mode & 0o777, 0o700)
})

test('an own directory with other files is refused and unchanged', async (t) => {
  const files = temporaryFiles(t)
  files.write('mail', 'of somebody')
  chmodSync(files.directory, 0o755)
  await assert.rejects(openSpool(files.directory), /has other files, .* What to do: use a directory/)
  assert.equal(statSync(files.directory).mode & 0o777, 0o755)
})

test('a directory of another user is refused', async (t) => {
  const { directory } = temporaryFiles(t)
  if (IS_ROOT) chownSync(directory, ANOTHER, ANOTHER)
  else t.mock.method(process, 'geteuid' as never, (() => ANOTHER) as never)
  await assert.rejects(openSpool(directory), {
    name: 'SpoolError',
    message: /belongs to the user \d+, .*What to do: give the directory/,
  })
  assert.deepEqual(readdirSync(directory), [])
})

test('root’s directory, such as a volume, is used unchanged', ONLY_ROOT, async (t) => {
  const { directory } = temporaryFiles(t)
  chmodSync(directory, 0o2775)
  t.mock.method(process, 'geteuid' as never, (() => ANOTHER) as never)
  await (await openSpool(directory)).close()
  assert.equal(statSync(directory).mode & 0o7777, 0o2775)
})

test('a batch that is not a regular file of this user is moved aside and not sent', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const elsewhere = temporaryFiles(t).write('elsewhere', BATCH)
  symlinkSync(elsewhere, join(directory, FIRST))
  mkdirSync(join(directory, '0000000000000002.ndjson'))
  const foreign = write('0000000000000003.ndjson', BATCH)
  if (IS_ROOT) chownSync(foreign, ANOTHER, ANOTHER)
  write('0000000000000004.ndjson', BATCH)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const { batches, errors } = spool.recover()
  assert.equal(batches.length, IS_ROOT ? 1 : 2)
  for (const error of errors) assert.match(error.message, /not a file of this user: the file was renamed/)
  assert.equal(errors.length, IS_ROOT ? 3 : 2)
  assert.ok(existsSync(join(directory, `${FIRST}.damaged`)))
  assert.equal(readFileSync(elsewhere, 'utf8'), BATCH)
})

test('writes do not follow hard or symbolic links in the directory', async (t) => {
  const { directory } = temporaryFiles(t)
  const theirs = temporaryFiles(t).write('theirs', 'theirs')
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const batch = begin(spool, [item(0)])
  batch.seal()
  const segments = await batch.read()
  linkSync(theirs, join(directory, `${FIRST}.tmp`))
  await batch.replace(segments)
  symlinkSync(theirs, join(directory, 'refused.ndjson'))
  await assert.rejects(spool.refuse([{ item: item(1), problem: PROBLEM, idempotencyKey: KEY }]), {
    name: 'SpoolError',
    message: /ELOOP.*What to do/,
  })
  symlinkSync(theirs, join(directory, 'owner.json'))
  await assert.rejects(spool.claim!({ ledger: 'led_1', agent: 'agt_1' }), SpoolError)
  assert.equal(readFileSync(theirs, 'utf8'), 'theirs')
})

test('a spool belongs to the first agent that sends from it', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const owner = { ledger: 'led_1', agent: 'agt_1' }
  const first = await openSpool(directory)
  await first.claim!(owner)
  await first.claim!(owner)
  assert.equal(readFileSync(join(directory, 'owner.json'), 'utf8'), '{"ledger":"led_1","agent":"agt_1"}\n')
  assert.equal(statSync(join(directory, 'owner.json')).mode & 0o777, 0o600)
  await first.close()
  const second = await openSpool(directory)
  t.after(() => second.close())
  for (const other of [
    { ...owner, agent: 'agt_2' },
    { ...owner, ledger: 'led_2' },
  ])
    await assert.rejects(second.claim!(other), {
      name: 'SpoolError',
      retryable: false,
      message:
        /records of the agent agt_1 of the ledger led_1, but the key belongs to agt_\d of led_\d.*What to do/,
    })
  await second.claim!(owner)
  write('owner.json', '{"led')
  await assert.rejects(second.claim!(owner), /does not name the agent/)
})

test('a leftover temporary file does not prevent a replacement', async (t) => {
  const { directory, write } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const batch = begin(spool, [item(0), item(1)])
  batch.seal()
  const [segment] = await batch.read()
  write(`${FIRST}.tmp`, 'half of')
  await batch.replace([{ idempotencyKey: KEY, items: segment!.items.slice(1) }])
  assert.deepEqual(await contents(batch), [[KEY, [1]]])
  assert.deepEqual(recoverAll(spool), [])
})

test('records added while the inbox is adopted go into batches of their own', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  for (const count of [1, 3]) {
    for (let i = 0; i < count; i++) putInInbox(directory, item(i), `${i}`.padStart(32, 'a'))
    let isOver = false
    const adopting = [spool.adopt!(), spool.adopt!()]
    const all = Promise.all(adopting).finally(() => {
      isOver = true
    })
    const taken: SpooledBatch[] = []
    while (!isOver) {
      taken.push(begin(spool, [item(8), item(9)]))
      await new Promise(setImmediate)
    }
    for (const batch of taken) batch.seal()
    const found = await all
    assert.deepEqual(
      found.flatMap(({ errors }) => errors),
      [],
    )
    const numbersOf = async (batches: readonly SpooledBatch[]) =>
      (await Promise.all(batches.map(contents))).flat().flatMap(([, numbers]) => numbers)
    assert.deepEqual(await numbersOf(found.flatMap(({ batches }) => batches)), [0, 1, 2].slice(0, count))
    assert.deepEqual(
      await numbersOf(taken),
      taken.flatMap(() => [8, 9]),
    )
  }
  await spool.close()
})

test('inbox files that a full disk left over become a batch in the next process', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  for (const i of [0, 1]) putInInbox(directory, item(i), `${i}`.padStart(32, 'a'))
  const mend = injectFault(t, fsPromises, 'rename', (from: string, to: string) => {
    if (to.endsWith('.ndjson') && from.endsWith('.tmp')) throw diskFull()
    fs.renameSync(from, to)
  })
  const { errors } = await spool.adopt!()
  assert.match(errors[0]!.message, /free some space/)
  mend()
  begin(spool, [item(2)]).seal()
  await spool.close()
  const next = await openSpool(directory)
  t.after(() => next.close())
  const numbers = await Promise.all(recoverAll(next).map(contents))
  assert.deepEqual(
    numbers.flat().flatMap(([, of]) => of),
    [0, 1, 2],
  )
})

test('close() waits until a running adoption of the inbox has finished', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  for (const i of [0, 1]) putInInbox(directory, item(i), `${i}`.padStart(32, 'a'))
  const adopting = spool.adopt!()
  while (!existsSync(join(directory, '0000000000000001.parts'))) await new Promise(setImmediate)
  await spool.close()
  const left = readdirSync(directory).sort()
  await adopting
  assert.deepEqual(readdirSync(directory).sort(), left)
})

test('concurrent batches store handles and refused records without conflicts', async (t) => {
  const { directory } = temporaryFiles(t)
  const spool = await openSpool(directory)
  t.after(() => spool.close())
  const long = makeItem({ text: 'x'.repeat(60_000) }, {}, 0)
  const refused = Array.from({ length: 20 }, () => ({ item: long, problem: PROBLEM, idempotencyKey: KEY }))
  const lines = (name: string) => readFileSync(join(directory, name), 'utf8').trimEnd().split('\n')
  await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      if (i < 4) await spool.refuse(refused)
      for (let n = 0; n < 20; n++) {
        for (let turns = 0; turns < (i * n) % 5; turns++) await new Promise(setImmediate)
        await spool.handles.keep([[`${i}-${n}`, `rec_${'0'.repeat(26)}`]])
      }
    }),
  )
  assert.equal(lines('handles.ndjson').length, 160)
  assert.equal(lines('refused.ndjson').map((line) => JSON.parse(line)).length, 80)
})
