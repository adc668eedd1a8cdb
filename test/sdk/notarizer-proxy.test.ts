import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TallystickError, UnexpectedAnswerError } from '../../sdk/index.ts'
import { openSpool } from '../../sdk/node/spool.ts'
import { startPickyProxy } from '../helpers/picky-proxy.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { numbers, QUICK, recordedNumbers, recordsOfGroup } from './notarizer-set-up.ts'
import { sharedSdk } from './set-up.ts'

const COUNT = 600
const KINDS = [
  {
    group: 'contents',
    status: 403,
    refuse: (body: string) => (body.includes('<script>') ? 403 : null),
    payload: (i: number) => ({ page: i === 234 ? '<script>' : 'text' }),
    says: /answers 403 to this record \(\d+ bytes\).*What to do: let the firewall pass/,
  },
  {
    group: 'size',
    status: 413,
    refuse: (body: string) => (body.length > 20_000 ? 413 : null),
    payload: (i: number) => ({ text: 'x'.repeat(i === 234 ? 30_000 : 10) }),
    says: /answers 413 to this record \(\d+ bytes\).*What to do: let the proxy accept bodies of 1\.1 MB/,
  },
]

for (const { group, status, refuse, payload, says } of KINDS)
  test(`a proxy refuses 1 of ${COUNT} records for its ${group}: that record is set aside, the others are notarized`, async (t) => {
    const { app, baseUrl, client } = await sharedSdk()
    const proxy = await startPickyProxy(t, baseUrl, refuse)
    const { directory } = temporaryFiles(t)
    const refused: [unknown, TallystickError][] = []
    const errors: TallystickError[] = []
    const ledger = client({ baseUrl: proxy.url }).notarizer({
      ...QUICK,
      spool: await openSpool(directory),
      onRefused: (record, error) => void refused.push([record.payload, error]),
      onError: (error) => void errors.push(error),
    })
    for (const i of numbers(COUNT)) {
      await ledger.ready
      const parent = i === 235 ? 234 : i === 400 ? 10 : null
      ledger.record(
        { group, i, ...payload(i) },
        { handle: `h${i}`, ...(parent !== null && { parentHandle: `h${parent}` }) },
      )
    }
    await ledger.close()
    assert.deepEqual(
      await recordedNumbers(app, group),
      numbers(COUNT).filter((i) => i !== 234),
    )
    assert.deepEqual([ledger.stats.recorded, ledger.stats.refused], [COUNT - 1, 1])
    const [[record, error]] = refused as [[unknown, TallystickError]]
    assert.deepEqual(record, { group, i: 234, ...payload(234) })
    assert.ok(error instanceof UnexpectedAnswerError)
    assert.match(error.message, says)
    const halved = errors.filter(({ message }) => message.includes('sent in halves'))
    assert.equal(halved.length, status === 413 ? 1 : 0, 'a proxy with a small limit is reported once')
    const line = JSON.parse(readFileSync(join(directory, 'refused.ndjson'), 'utf8'))
    assert.deepEqual([line.problem.status, line.record.payload.i], [status, 234])
    const found = await recordsOfGroup(app, group)
    const parentOf = (i: number) => found.find(({ payload }) => payload.i === i)!.parentId
    assert.equal(parentOf(235), null)
    assert.equal(parentOf(400), found.find(({ payload }) => payload.i === 10)!.recordId)
  })

test('while a firewall blocks everything, no record is set aside; later all are notarized', async (t) => {
  const { app, baseUrl, client } = await sharedSdk()
  for (const [group, refuse] of Object.entries({
    'all of it': () => 403,
    'all writes': (body: string) => (body === '' ? null : 404),
  })) {
    let isMended = false
    const proxy = await startPickyProxy(t, baseUrl, (body) => (isMended ? null : refuse(body)))
    const { directory } = temporaryFiles(t)
    const spool = group === 'all of it' ? undefined : await openSpool(directory)
    const ledger = client({ baseUrl: proxy.url }).notarizer({ ...QUICK, spool })
    for (const i of numbers(50)) ledger.record({ group, i })
    await assert.rejects(
      ledger.flush(),
      /requests without records are refused too, so all records wait: .* 40[34] /,
    )
    await sleep(50)
    assert.equal(ledger.stats.refused, 0)
    isMended = true
    while (ledger.stats.buffered > 0) await ledger.flush().catch(() => {})
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, group), numbers(50))
  }
})

test('a temporary status is retried after a short delay', async (t) => {
  const { app, baseUrl, client } = await sharedSdk()
  for (const status of [408, 425, 429, 500, 502, 520, 522, 524, 530, 598]) {
    const group = `${status}`
    let times = 0
    const proxy = await startPickyProxy(t, baseUrl, () => (times++ === 0 ? status : null))
    const ledger = client({ baseUrl: proxy.url }).notarizer({ ...QUICK, blockedDelayMs: 600_000 })
    ledger.record({ group, i: 0 })
    await ledger.close()
    assert.deepEqual(await recordedNumbers(app, group), [0])
  }
})
