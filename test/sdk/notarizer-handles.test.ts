import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import { HandleFile } from '../../sdk/node/handle-file.ts'
import { putInInbox } from '../../sdk/node/inbox.ts'
import { Reserve } from '../../sdk/node/reserve.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { HANDLES_MAX } from '../../sdk/notarizer/handles.ts'
import { makeItem } from '../../sdk/notarizer/items.ts'
import type { TestApp } from '../helpers/app.ts'
import { startTcpProxy } from '../helpers/tcp-proxy.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { until } from '../helpers/wait.ts'
import { numbers, QUICK, recordsOfGroup } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'

/** Returns, for each record of a group, the number `i` of the record and the number `i` of its parent. */
async function lineage(app: Pick<TestApp, 'sql' | 'ledgerId'>, group: string) {
  const records = await recordsOfGroup(app, group)
  const numberOf = new Map(records.map(({ recordId, payload }) => [recordId, payload.i as number]))
  return records.map(({ payload, parentId }) => [
    payload.i,
    parentId === null ? null : numberOf.get(parentId),
  ])
}

test('a record may name a parent whose id is not known yet', async (t) => {
  const { app, baseUrl, client } = await sharedSdk()
  const tallystick = client()

  await t.test('a parent in the same batch, in an earlier batch, or in a batch in flight', async () => {
    const ledger = tallystick.notarizer({ ...QUICK, recordsPerBatchMax: 3, inFlightMax: 4 })
    for (const i of numbers(20)) {
      ledger.record({ group: 'near', i }, { handle: `near-${i}` })
      ledger.record({ group: 'near', i: i + 100 }, { parentHandle: `near-${i}` })
    }
    await ledger.flush()
    ledger.record({ group: 'near', i: 200 }, { parentHandle: 'near-0' })
    await ledger.close()
    const found = await lineage(app, 'near')
    assert.deepEqual(
      found.filter(([i]) => i! >= 100).sort(([a], [b]) => a! - b!),
      [...numbers(20).map((i) => [i + 100, i]), [200, 0]],
    )
    assert.equal(ledger.stats.refused, 0)
  })

  await t.test('with a refused or unknown parent, the record is notarized without a parent', async () => {
    const ledger = tallystick.notarizer({ ...QUICK, onRefused: () => {} })
    ledger.record({ group: 'lost', i: 0 }, { handle: 'lost', onBehalfOf: 'agt_01m8ten1x0e1xfmh8cvzvfr3zx' })
    ledger.record({ group: 'lost', i: 1 }, { parentHandle: 'lost' })
    ledger.record({ group: 'lost', i: 2 }, { parentHandle: 'never' })
    await ledger.close()
    assert.deepEqual(await lineage(app, 'lost'), [
      [1, null],
      [2, null],
    ])
  })

  await t.test('a parent recorded by an earlier process on the same spool', async (t) => {
    const { directory } = temporaryFiles(t)
    const first = tallystick.notarizer({ ...QUICK, spool: await openSpool(directory) })
    first.record({ group: 'spool', i: 0 }, { handle: 'spool-0' })
    await first.close()
    const second = tallystick.notarizer({ ...QUICK, spool: await openSpool(directory) })
    second.record({ group: 'spool', i: 1 }, { parentHandle: 'spool-0', tag: 'a "tag"' })
    await second.close()
    assert.deepEqual(await lineage(app, 'spool'), [
      [0, null],
      [1, 0],
    ])
  })

  await t.test('after a lost answer, the next process sends the same request', async (t) => {
    const { directory } = temporaryFiles(t)
    const proxy = await startTcpProxy(t, baseUrl)
    const lossy = client({ baseUrl: proxy.url })
    const first = lossy.notarizer({
      ...QUICK,
      delayMsMin: 60_000,
      delayMsMax: 60_000,
      spool: await openSpool(directory),
    })
    first.record({ group: 'again', i: 0 }, { handle: 'again-0' })
    await first.flush()
    proxy.hold()
    first.record({ group: 'again', i: 1 }, { parentHandle: 'again-0', handle: 'again-1' })
    first.record({ group: 'again', i: 2 }, { parentHandle: 'again-1' })
    await first.flush({ timeoutMs: 1 }).catch(() => {})
    await until(async () => (await lineage(app, 'again')).length === 3)
    proxy.cut()
    proxy.resume()
    await first.close({ timeoutMs: 1 }).catch(() => {})
    const file = readdirSync(directory).find((name) => /^\d{16}\.ndjson$/.test(name))!
    assert.match(
      readFileSync(join(directory, file), 'utf8'),
      /"parent":"rec_/,
      'the id is kept before it is sent',
    )
    const second = tallystick.notarizer({ ...QUICK, spool: await openSpool(directory) })
    await second.close()
    assert.deepEqual(await lineage(app, 'again'), [
      [0, null],
      [1, 0],
      [2, 1],
    ])
    assert.equal(second.stats.refused, 0)
  })
})

test('a handle that a spool cannot store is refused, and so are parent and parentHandle together', async () => {
  const refuses = (options: object) => assert.throws(() => makeItem({}, options, 0), UsageError)
  for (const handle of ['', 'a"b', 'a\\b', 'a b', 'ä', 'x'.repeat(256)]) {
    refuses({ handle })
    refuses({ parentHandle: handle })
  }
  refuses({ parentHandle: 'x', parent: 'rec_01m8ten1x0e1xfmh8cvzvfr3zx' })
})

test('the handle file keeps the newest handles, skips a torn line, and stays bounded', async (t) => {
  const path = join(temporaryFiles(t).directory, 'handles.ndjson')
  const id = 'rec_01m8ten1x0e1xfmh8cvzvfr3zx'
  const reserve = new Reserve(dirname(path))
  const handles = await HandleFile.load(path, reserve)
  for (const from of [0, 8_000, 16_000])
    await handles.keep(numbers(8_000, from).map((i) => [`h${i}`, id] as const))
  assert.ok(readFileSync(path, 'utf8').trimEnd().split('\n').length <= HANDLES_MAX)
  appendFileSync(path, '["half","rec_')
  const next = await HandleFile.load(path, reserve)
  await next.keep([['last', id]])
  const third = await HandleFile.load(path, reserve)
  assert.deepEqual(
    ['h13999', 'h14001', 'h23999', 'last', 'half'].map((handle) => third.find(handle)),
    [undefined, id, id, id, undefined],
  )
})

test('records put into a spool by any number of processes are each sent once, in order', async (t) => {
  const { app, client } = await sharedSdk()
  const { directory, write } = temporaryFiles(t)
  const put = (i: number) => {
    const item = makeItem({ group: 'inbox', i }, { handle: `in-${i}`, parentHandle: `in-${i >> 1}` }, 0)
    putInInbox(directory, item, `${i}`.padStart(32, '0'))
  }
  put(0)
  const spool = await openSpool(directory)
  const ledger = client().notarizer({ ...QUICK, spool })
  assert.equal(await ledger.adopt(), 1)
  for (const i of numbers(30, 1)) put(i)
  mkdirSync(join(directory, 'inbox', 'a folder'))
  write(join('inbox', '0000000000000-000000-no-key.ndjson'), 'of somebody else')
  assert.equal(await ledger.adopt(), 30)
  await ledger.close()
  assert.deepEqual(
    await lineage(app, 'inbox'),
    numbers(31).map((i) => [i, i === 0 ? null : i >> 1]),
  )
  const batches = new Set((await recordsOfGroup(app, 'inbox')).map(({ seq }) => seq))
  assert.equal(batches.size, 2, 'what lies there together is one batch')
  assert.deepEqual(readdirSync(join(directory, 'inbox')).length, 2, 'what it does not know it leaves')
  assert.equal(existsSync(join(directory, '0000000000000001.ndjson')), false)
})

test('a crash while a batch is made of the inbox neither loses nor duplicates records', async (t) => {
  const { app, client } = await sharedSdk()
  for (const isMerged of [false, true]) {
    const group = `parts-${isMerged}`
    const { directory, write } = temporaryFiles(t)
    for (const i of numbers(3)) putInInbox(directory, makeItem({ group, i }, {}, 0), `${i}`.padStart(32, 'a'))
    renameSync(join(directory, 'inbox'), join(directory, '0000000000000007.parts'))
    write(join('0000000000000007.parts', '0000000000000-000000-damaged.ndjson'), 'damaged\n')
    if (isMerged) {
      const lines = numbers(3).map((i) => `{"record":${makeItem({ group, i }, {}, 0).text}}\n`)
      write('0000000000000007.ndjson', `{"idempotencyKey":"${'b'.repeat(32)}"}\n${lines.join('')}`)
    }
    const errors: Error[] = []
    const onError = (error: Error) => void errors.push(error)
    const ledger = client().notarizer({ ...QUICK, onError, spool: await openSpool(directory) })
    await ledger.close()
    assert.deepEqual(
      (await lineage(app, group)).map(([i]) => i),
      numbers(3),
    )
    assert.equal(errors.length, isMerged ? 0 : 1)
    assert.ok(!readdirSync(directory).some((name) => name.endsWith('.parts')))
  }
})
