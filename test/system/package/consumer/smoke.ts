/*
 * A user's program with the installed package, in one file. It is compiled strictly and without Node's types, and
 * runs on every runtime. It prints one line at the end, and throws at the first fault.
 */
import {
  ConflictError,
  type LedgerRecord,
  NotFoundError,
  Tallystick,
  UsageError,
  verify,
  webhooks,
} from '@tallystick/sdk'
import { openSpool } from '@tallystick/sdk/spool'
import { checkpoint as verifyNote } from '@tallystick/sdk/verify'
import { verify as verifyWebhook } from '@tallystick/sdk/webhooks'

declare const process: { readonly env: Readonly<Record<string, string | undefined>> }

type Types = { readonly 'generic/1': { readonly payload: { readonly tool: string; readonly call: number } } }
const CALLS = 500

const tallystick = new Tallystick<Types>()
const performer = new Tallystick({ apiKey: setting('PERFORMER_KEY') })

const first = await tallystick.records.notarize({ payload: { tool: 'search', call: 0 } })
const tool: string | undefined = first.payload?.tool
check(tool === 'search' && first.state === 'RECORDED', 'a record answers what was recorded')

const item = (call: number) => ({ type: 'generic/1' as const, payload: { tool: 'fetch', call } })
const batch = await tallystick.batches.notarize([item(1), item(2), item(3)])
check(batch.records.length === 3, 'a batch answers a record for each of its items')

const ledger = tallystick.notarizer({ spool: await openSpool(setting('SPOOL')) })
for (let call = 0; call < CALLS; call++) {
  await ledger.ready
  ledger.record({ tool: 'loop', call })
}
await ledger.close()
check(ledger.stats.recorded === CALLS, 'the notarizer recorded what it took')

const gated = await settle()
check(gated.state === 'ACCEPTED', 'a gated record is settled')
const late = await caught(performer.records.activate(gated.id))
check(late instanceof ConflictError && late.code === 'state_conflict', 'what has ended stays ended')
check(
  (await caught(
    tallystick.records.get(gated.id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))),
  )) instanceof NotFoundError,
  'no such record',
)
check((await caught(tallystick.records.get(''))) instanceof UsageError, 'an empty id names nothing')

let listed = 0
for await (const record of tallystick.records.list({ limit: 200 }))
  listed += record.id.startsWith('rec_') ? 1 : 0
check(listed === 1 + 3 + CALLS + 1, `all records are listed, not ${listed}`)

const kids = (await tallystick.keyDocument()).keys.map(({ kid }) => kid)
await verify.proof(await tallystick.records.proof(first.id), { record: first, kids })

const whole = await bytesOf(await tallystick.exports.stream())
const report = await verify.export(whole, { kids })
check(report.records === listed, `the export holds ${report.records} records`)
const changed = whole.slice()
changed[changed.indexOf(0x7d, changed.length >> 1) - 9]! ^= 1
check(
  (await caught(verify.export(changed, { kids }))) instanceof verify.VerificationError,
  'a changed bit is found',
)
check(verifyNote === verify.checkpoint, 'the verifier is one, whichever way it is imported')

await receive()
check(verifyWebhook === webhooks.verify, 'so is the receiver of webhooks')

console.log(JSON.stringify({ records: report.records, entries: report.entries }))

/**
 * Takes a gated record from its creation to its verdict. One client creates and judges the record. The other client
 * delivers.
 */
async function settle(): Promise<LedgerRecord> {
  const { id } = await tallystick.records.create({
    payload: { task: 'count' },
    performer: setting('PERFORMER'),
  })
  await performer.records.activate(id)
  await performer.records.complete(id, { evidence: { counted: 42 } })
  const { version } = await tallystick.records.until(id, ['VERIFIED'])
  return tallystick.records.verdict(id, { verdict: 'accept' }, { ifVersion: version })
}

/** Verifies a stored webhook request. The keys that signed the request have no other use. */
async function receive(): Promise<void> {
  const secret = 'whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE='
  const publicKey = 'whpk_gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q='
  const now = new Date('2026-11-20T12:00:00.000Z')
  const body =
    '{"type":"webhook.test","timestamp":"2026-11-20T12:00:00.000Z","data":{"ledger":"led_1","record":null,"entry":null,"webhook":{"id":"whk_1"}}}'
  const headers = new Headers({
    'webhook-id': 'evt_1',
    'webhook-timestamp': `${now.getTime() / 1000}`,
    'webhook-signature':
      'v1,BUYePCxPiKCFGjVM+9MjyiGbR9tjDz+2QXrvDBXT7Cw= ' +
      'v1a,JUSt+kXeCeJrtWSvdlUqN+6QRfp69UgkL7P4ZjvZGv9tL7eTOOuscBKX3RcERn8CCgk76OYf3Q2EYzhwz2OWBw==',
  })
  const event = await verifyWebhook(body, headers, { secret, publicKey, now })
  check(event.type === 'webhook.test' && event.data.webhook.id === 'whk_1', 'a webhook verifies')
  for (const keys of [{ secret }, { publicKey }]) {
    const refused = await caught(verifyWebhook(`${body} `, headers, { ...keys, now }))
    check(
      refused instanceof webhooks.WebhookVerificationError && refused.code === 'signature_mismatch',
      'a changed webhook does not',
    )
  }
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

async function caught(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call.then(() => null)
  } catch (error) {
    return error
  }
}

function setting(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}

function check(condition: boolean, claim: string): void {
  if (!condition) throw new Error(`not so: ${claim}`)
}
