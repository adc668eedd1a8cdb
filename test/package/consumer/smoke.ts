/*
 * What a stranger writes with the installed package, and all of it at once: compiled strictly, without the types of Node, then
 * run on every runtime. Ends with a line of what it did; throws where something is not as it should be.
 */
import {
  ConflictError,
  type LedgerRecord,
  NotFoundError,
  Tallystick,
  UsageError,
  verify,
} from '@tallystick/sdk'
import { openSpool } from '@tallystick/sdk/spool'
import { checkpoint as verifyNote } from '@tallystick/sdk/verify'

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

console.log(JSON.stringify({ records: report.records, entries: report.entries }))

/** The life of a gated record: commissioned here, delivered there, judged here. */
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
