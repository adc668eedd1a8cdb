import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Tallystick } from '../../../sdk/client.ts'
import { TallystickOperator } from '../../../sdk/operator.ts'
import { agentSigner, makePrivateKey } from '../../../sdk/signing/index.ts'
import { makeIssuer, signStatement } from '../../helpers/signed-statements.ts'
import { startHere } from '../deployment/deployment.ts'

/**
 * A file, with the arguments of the Python verifier (`theirs`) and of ours (`ours`). FILE in an argument is replaced by
 * the file's path.
 */
type Made = { readonly file: string; readonly theirs: readonly string[]; readonly ours: readonly string[] }

const TRIES_MAX = 60
const ERASURE = { code: 'retention', reason: 'its time is over' }

/**
 * Fills a ledger with entries of many kinds, through a server and its worker. Writes the server's answers and an index
 * of them to `dir`.
 */
export async function makeFiles(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true })
  const deployment = await startHere()
  try {
    const operator = new TallystickOperator({
      baseUrl: deployment.url,
      operatorKey: deployment.operatorKey,
    })
    const made = await operator.ledgers.create({ name: 'read by another verifier' })
    const client = new Tallystick({ baseUrl: deployment.url, apiKey: made.key.key })
    const filled = await fill(client, deployment.url)
    const files = await save(dir, client, filled)
    writeFileSync(join(dir, 'index.json'), JSON.stringify(files))
  } finally {
    await deployment.stop()
  }
}

/** `agentKey` is the key of an agent that signs for itself. `statement` is the seq of a registered statement. */
export type Filled = {
  readonly records: readonly string[]
  readonly run: string
  readonly agentKey: string
  readonly statement: number
}

export async function fill(client: Tallystick, baseUrl: string): Promise<Filled> {
  const worker = await client.keys.create({ name: 'worker', scopes: ['records:write', 'records:read'] })
  const performer = new Tallystick({ baseUrl, apiKey: worker.key })
  const notarized = await client.records.notarize({
    payload: { tool: 'search', price: 1.5, of: 'Käse' },
    references: ['erp:order/1'],
  })
  const batch = await client.batches.notarize(
    [1, 2, 3].map((n) => ({ type: 'generic/1' as const, payload: { n }, parent: notarized.id })),
  )
  const judged = await gated(client, performer, worker.agent, notarized.id)
  const own = await signedByItsAgent(client, baseUrl)
  const registered = await statement(client)
  await client.records.erasePayload(batch.records[1]!.id, ERASURE)
  await client.retention.setRule({ days: 400, basis: 'policy_7' })
  const held = await client.records.notarize({ payload: { of: 'a person' }, subject: 'person-1' })
  const { seq: hold } = await client.holds.set({ case: '2027/1', records: [held.id] })
  await client.holds.lift(hold)
  for await (const _ of client.subjects.erase('person-1', { code: 'data_subject_request' }));
  await client.exports.announce({ of: {}, from: 0, documents: 'all' })
  const erased = await client.records.notarize({ payload: { soon: 'gone' } })
  await client.records.erasePayload(erased.id, ERASURE)
  return {
    records: [notarized.id, batch.records[2]!.id, judged, own.id, erased.id],
    run: notarized.id,
    agentKey: own.agentKey,
    statement: registered,
  }
}

async function gated(
  client: Tallystick,
  performer: Tallystick,
  agent: string,
  parent: string,
): Promise<string> {
  const { records } = client
  const order = await records.create({
    type: 'task/1',
    payload: { write: 'a report' },
    performer: agent,
    parent,
  })
  await performer.records.activate(order.id)
  await performer.records.complete(order.id, { evidence: { pages: 3 } })
  await records.until(order.id, ['VERIFIED'])
  await records.requestRevision(order.id, { reason: 'more' })
  await performer.records.complete(order.id, { evidence: { pages: 4 } })
  await records.until(order.id, ['VERIFIED'])
  await records.verdict(order.id, { verdict: 'reject', reason: 'too late' })
  await records.overturn(order.id, { reason: 'it was in time' })
  const undone = await records.create({ type: 'task/1', payload: { call: 'off' }, parent: order.id })
  await records.cancel(undone.id, { reason: 'not needed' })
  return order.id
}

async function signedByItsAgent(
  client: Tallystick,
  baseUrl: string,
): Promise<{ id: string; agentKey: string }> {
  const { agent, key } = await client.keys.create({
    name: 'signing',
    scopes: ['records:write', 'records:read'],
  })
  const { id: ledger } = await client.ledger.get()
  const signer = await agentSigner({ pkcs8: await makePrivateKey('EdDSA') })
  await client.agents.registerSigningKey(
    agent,
    await signer.registration({ ledger, agent }, { required: true }),
  )
  const other = await agentSigner({ pkcs8: await makePrivateKey('ES256') })
  await client.agents.registerSigningKey(
    agent,
    await other.registration({ ledger, agent }, { required: true, endorsedBy: signer }),
  )
  const [first, second] = [signer, other].map(
    (each) => new Tallystick({ baseUrl, apiKey: key, signer: each }),
  )
  await first!.records.notarize({ payload: { by: 'Ed25519' } })
  await client.types.register({ name: 'deed', version: 1, payloadSchema: true, agentSigned: true })
  await first!.batches.notarize([1, 2].map((n) => ({ type: 'deed/1' as const, payload: { n } })))
  const { id } = await second!.records.notarize({ type: 'deed/1', payload: { by: 'P-256' } })
  return { id, agentKey: `${agent}=${signer.kid}` }
}

async function statement(client: Tallystick): Promise<number> {
  const issuer = makeIssuer()
  await client.statements.setPolicy({ issuers: [{ issuer: issuer.issuer, keys: [issuer.key] }] })
  return (await client.statements.register(signStatement(issuer))).seq
}

async function save(dir: string, client: Tallystick, filled: Filled): Promise<Made[]> {
  const { records, run, agentKey, statement } = filled
  const { noteVerifierKey } = await client.ledger.get()
  const files: Made[] = []
  const add = (file: string, data: string | Uint8Array, theirs: string[], ours: string[]) => {
    writeFileSync(join(dir, file), data)
    files.push({ file, theirs, ours })
  }
  const size = await covered(client)
  for (const id of records) {
    const proof = JSON.stringify(await client.records.proof(id))
    add(`${id}.proof`, proof, ['verify', '--proof', 'FILE'], ['FILE', '--as', 'proof'])
    const key = ['--note-key', noteVerifierKey]
    const receipt = await client.records.receipt(id, { statement: 'true' })
    add(`${id}.receipt`, receipt, ['verify', 'receipt', 'FILE', ...key], ['FILE', '--as', 'receipt', ...key])
    add(`${id}.bundle`, await text(client.bundles.record(id)), ...BUNDLE)
  }
  add('run.bundle', await text(client.bundles.run(run)), ...BUNDLE)
  add('range.bundle', await text(client.bundles.range(3, size - 2)), ...BUNDLE)
  const ofType = { from: 3, to: size - 2, type: 'generic/1' }
  add('selection.bundle', await text(client.bundles.filter(ofType, { tool: 'a test' })), ...BUNDLE)
  // The statement's registration policy precedes the range, and the bundle includes it.
  const judged = await text(client.bundles.range(statement, size - 2))
  add(
    'judged.bundle',
    judged,
    ...(BUNDLE.map((asked) => [...asked, '--agent-key', agentKey]) as typeof BUNDLE),
  )
  const whole = await new Response(await client.exports.stream()).text()
  add('export', whole, ['verify', 'FILE'], ['FILE', '--as', 'export'])
  const known = ['--agent-key', agentKey]
  add('known.export', whole, ['verify', 'FILE', ...known], ['FILE', '--as', 'export', ...known])
  return files
}

const BUNDLE: [string[], string[]] = [
  ['verify', 'bundle', 'FILE'],
  ['FILE', '--as', 'bundle'],
]

async function text(pieces: AsyncIterable<string>): Promise<string> {
  let whole = ''
  for await (const piece of pieces) whole += piece
  return whole
}

/** Returns the size of the newest checkpoint once it covers the ledger. */
async function covered(client: Tallystick): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { size } = await client.ledger.get()
    const proof = await client.entries.proof(size - 1).catch(() => null)
    if (proof !== null) return size
    await sleep(250)
  }
  throw new Error('no checkpoint covers the ledger')
}

if (process.argv[1] === import.meta.filename) await makeFiles(process.argv[2]!)
