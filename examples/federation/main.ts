/*
 * npm run example -- federation
 *
 * Two organisations on this machine, each with its own server, database and keys. Acme commissions work from an agent
 * of Bolt. The example prints each step. At the end it shows both chains side by side, and reconciles them offline
 * from two exports. All files are in a temporary folder that is removed at the end.
 */
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drawChains, readChain } from './chains.ts'
import { Organisation, runTallystick } from './organisation.ts'

const dataDir = mkdtempSync(join(existsSync('/var/tmp') ? '/var/tmp' : tmpdir(), 'tallystick-demo-'))
// If root runs the example, Postgres runs as another user, who must be able to enter this folder.
chmodSync(dataDir, 0o711)
const organisations: Organisation[] = []
const interrupted = new AbortController()
let told = 0
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())

try {
  await Promise.race([play(), whenAborted(interrupted.signal)])
} catch (error) {
  console.error(interrupted.signal.aborted ? 'interrupted' : (error as Error).message)
  process.exitCode = interrupted.signal.aborted ? 130 : 1
} finally {
  await Promise.all(organisations.map((organisation) => organisation.stop()))
  rmSync(dataDir, { recursive: true, force: true })
}
// Exits without waiting for requests that are in progress after an interruption.
process.exit()

async function play(): Promise<void> {
  title('Two organisations')
  const [acme, bolt] = (await Promise.all(['Acme', 'Bolt'].map(open))) as [Organisation, Organisation]
  for (const { name, url, ledger } of [acme, bolt])
    tell(`${name} serves ${ledger} at ${url}, with a database and keys of its own`)

  title('Peering')
  const { id: peer, invitation } = await acme.ask('POST', '/v1/peers', { body: { name: 'Bolt' } })
  tell(`Acme invites: ${invitation.slice(0, 24)}…, a secret that goes to Bolt's administrator once`)
  await bolt.ask('POST', '/v1/peers', { body: { name: 'Acme', invitation } })
  tell('Bolt accepts, and its worker shakes hands with Acme’s server')
  for (const side of [acme, bolt])
    await side.until(`/v1/peers/${peer}`, ({ state }) => state === 'active', interrupted.signal)
  tell(`both sides have signed the same handshake: ${peer} is active`)

  title('Work that crosses')
  const { agent, key } = await bolt.ask('POST', '/v1/keys', {
    body: { name: 'supplier', scopes: ['records:write', 'records:read'] },
  })
  tell(`Bolt has an agent, supplier: ${agent}`)
  const { id } = await acme.ask('POST', '/v1/records', {
    body: {
      type: 'task/1',
      payload: { deliver: '100 boxes', to: 'dock 4' },
      performer: `${bolt.ledger}/${agent}`,
      share: [{ peer, documents: 'whole' }],
    },
  })
  tell(`Acme orders 100 boxes of it: ${id}, created in Acme’s chain, shared with Bolt`)
  const record = `/v1/records/${id}`
  const untilAt = (side: Organisation, state: string) => side.untilRecord(id, state, interrupted.signal)
  await untilAt(bolt, 'CREATED')
  tell('Bolt has received it: its own chain names Acme’s entry by its leaf')

  const activated = await bolt.ask('POST', `${record}/activate`, { key, body: {} })
  tell(`supplier activates it at its own server: an offer, ${activated.gated.offer.state}, in Bolt’s chain`)
  await untilAt(bolt, 'ACTIVE')
  tell('Acme’s chain has taken the offer; the state is ACTIVE on both sides')
  await bolt.ask('POST', `${record}/completions`, {
    key,
    body: { evidence: { delivered: 100, signedBy: 'dock 4' } },
  })
  tell('supplier delivers, with evidence: another offer')
  await untilAt(acme, 'VERIFIED')
  tell('Acme has taken it, and Acme’s worker has held the evidence to the order: VERIFIED')
  await acme.ask('POST', `${record}/verdict`, { body: { verdict: 'accept' } })
  const { gated } = await untilAt(bolt, 'ACCEPTED')
  tell(`Acme accepts; Bolt reads the signed signal in its own copy: ${JSON.stringify(gated.verdict.signal)}`)

  await showChains(acme, bolt)
}

async function showChains(acme: Organisation, bolt: Organisation): Promise<void> {
  title('Both chains: in a row what one side signed, and the entry by which the other one received it')
  const sides = [acme, bolt] as const
  const exports = await Promise.all(sides.map((side) => side.export()))
  const [left, right] = exports.map(readChain) as [ReturnType<typeof readChain>, ReturnType<typeof readChain>]
  for (const line of drawChains(
    { name: 'Acme, the home', entries: left },
    { name: 'Bolt, the guest', entries: right },
  ))
    console.log(line)

  title('Offline: two exports, and the key of each server as its operator tells it')
  const files = sides.map(({ name }, i) => {
    const file = join(dataDir, `${name.toLowerCase()}.export`)
    writeFileSync(file, exports[i]!)
    return file
  })
  const kids = await Promise.all(sides.map((side) => side.firstKid()))
  const { code, output } = await runTallystick([
    'reconcile',
    ...files,
    ...kids.flatMap((kid) => ['--key', kid]),
  ])
  console.log(output.trimEnd())
  if (code !== 0) throw new Error('the two ledgers do not match')
}

async function open(name: string): Promise<Organisation> {
  const organisation = await Organisation.start(name, join(dataDir, name.toLowerCase()))
  organisations.push(organisation)
  await organisation.ready()
  return organisation
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}

function title(text: string): void {
  console.log(`\n${text}\n`)
}

function tell(text: string): void {
  console.log(`${String(++told).padStart(3)}  ${text}`)
}
